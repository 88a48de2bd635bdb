// Package detach turns a program into a daemon: it starts the program again with the same arguments, in its
// own session and without the terminal. A variable in the environment identifies the daemon.
//
//	if !detach.Done(env.Getenv) {
//		return detach.Start(detach.Config{Stderr: os.Stderr})
//	}
//	// serve
package detach
