package detach

import (
	"errors"
	"os"
)

// Variable is set in the environment of a program that is already detached.
const Variable = "PCP_DETACHED"

// Done reports whether the program is already the daemon.
func Done(getenv func(string) string) bool { return getenv(Variable) != "" }

// A Config configures a daemon's streams and its start.
type Config struct {
	// Stdin, Stdout and Stderr are its standard streams; nil is the null device.
	Stdin, Stdout, Stderr *os.File
	// Wait makes Start wait until the daemon has called Ready, has ended, or takes too long.
	Wait bool
}

// ErrUnsupported is the error on systems without such daemons.
var ErrUnsupported = errors.New("becoming a daemon is not supported on this system")
