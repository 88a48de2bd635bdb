// Package nsenter runs functions in the name spaces of another process, a
// container's for instance.
//
//	err := nsenter.Run(pid, nsenter.UTS, func() error { return unix.Uname(&u) })
//
// A function runs on its own thread, which is thrown away afterwards: the name
// spaces of other goroutines do not change. It must not start goroutines and
// expect them to be in the same name spaces. User name spaces cannot be
// entered: the kernel forbids it to a process with several threads.
package nsenter
