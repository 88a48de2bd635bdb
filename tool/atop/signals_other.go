//go:build !unix

package atop

import "os"

// wakeSignals are those that ask for a sample.
func wakeSignals() []os.Signal { return nil }

// isLast reports whether a signal asks for the last sample.
func isLast(os.Signal) bool { return false }
