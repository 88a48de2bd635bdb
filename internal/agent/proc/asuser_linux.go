package proc

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// asUser calls fn with the effective identity of a user, and without further groups, on a
// separate thread that ends afterwards. The real identity stays that of the agent, so
// that the user can neither signal nor trace the thread. If fn panics, asUser does.
func asUser(uid, gid int, fn func() error) error {
	var err error
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err = become(uid, gid); err == nil {
			err = fn()
		}
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// become gives this thread the effective identity of a user.
func become(uid, gid int) error {
	const keep = 1<<32 - 1 // -1: keep the identity
	for _, call := range [...]struct {
		what       string
		number     uintptr
		a1, a2, a3 uintptr
	}{
		{"groups", unix.SYS_SETGROUPS, 0, 0, 0},
		{"group", unix.SYS_SETRESGID, keep, uintptr(gid), keep},
		{"user", unix.SYS_SETRESUID, keep, uintptr(uid), keep},
	} {
		// Package syscall would change all threads.
		if _, _, errno := unix.RawSyscall(call.number, call.a1, call.a2, call.a3); errno != 0 {
			return fmt.Errorf("become user %d: %s: %w", uid, call.what, errno)
		}
	}
	return nil
}
