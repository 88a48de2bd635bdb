//go:build !unix

package atop

import "os"

// wakeSignals are those that ask for a sample.
func wakeSignals() []os.Signal { return nil }

// isLast reports whether a signal asks for the last sample.
func isLast(os.Signal) bool { return false }

// resizeSignals are the signals for a change of the window size.
func resizeSignals() []os.Signal { return nil }

// kill sends a signal to a process: here it can only end it.
func kill(pid, _ int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
