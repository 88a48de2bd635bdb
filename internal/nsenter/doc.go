// Package nsenter runs functions in the name spaces of another process, a
// container's for instance.
//
//	err := nsenter.Run(pid, nsenter.UTS, func() error { return unix.Uname(&u) })
//
// A function runs on a thread of its own, which is thrown away afterwards: what
// other goroutines see does not change. It must not start goroutines and expect
// them to be in the same place. User name spaces cannot be entered: the kernel
// lets no process do so that has several threads.
package nsenter
