// Package packaging holds the files that make install adds to the program: systemd units,
// sample configuration and pcp.env for scripts. Its tests install and uninstall.
package packaging
