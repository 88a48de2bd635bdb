// Package packaging holds what make install puts beside the program: units of
// the service manager, sample configuration and pcp.env for scripts. Its test installs and uninstalls.
package packaging
