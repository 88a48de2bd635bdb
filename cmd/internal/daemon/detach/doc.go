// Package detach has a program go on as a daemon: it is started again with the same arguments, in a session of
// its own and away from the terminal, and finds out that it is the daemon by its environment.
//
//	if !detach.Done(env.Getenv) {
//		return detach.Start(detach.Config{Stderr: os.Stderr})
//	}
//	// serve
package detach
