package detach

import (
	"errors"
	"os"
)

// Variable is set in the environment of a daemon that has no need to detach itself any more.
const Variable = "PCP_DETACHED"

// Done reports whether the program is the daemon already.
func Done(getenv func(string) string) bool { return getenv(Variable) != "" }

// A Config says what a daemon has of the program that starts it.
type Config struct {
	// Stdin, Stdout and Stderr are its standard streams; nil is the null device.
	Stdin, Stdout, Stderr *os.File
	// Wait has Start return when the daemon has called Ready, has ended, or takes too long.
	Wait bool
}

// ErrUnsupported is that this system has no daemons of this kind.
var ErrUnsupported = errors.New("becoming a daemon is not supported on this system")
