// Package packaging holds what make install puts beside the program: units of
// the service manager and sample configuration. Its test installs and uninstalls.
package packaging
