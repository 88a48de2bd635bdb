//go:build unix

package atop

import (
	"os"
	"syscall"
)

// wakeSignals are those that ask for a sample.
func wakeSignals() []os.Signal { return []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2} }

// isLast reports whether a signal asks for the last sample.
func isLast(sig os.Signal) bool { return sig == syscall.SIGUSR2 }

// resizeSignals are the signals for a change of the window size.
func resizeSignals() []os.Signal { return []os.Signal{syscall.SIGWINCH} }

// kill sends a signal to a process.
func kill(pid, sig int) error { return syscall.Kill(pid, syscall.Signal(sig)) }
