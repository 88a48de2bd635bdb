package mmv_test

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody returns a function that calls another with the file permissions of the
// user nobody, in one thread.
func asNobody(*testing.T) func(func()) {
	return func(f func()) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const nobody = 65534
		old, _ := unix.SetfsuidRetUid(nobody)
		defer unix.SetfsuidRetUid(old)
		f()
	}
}
