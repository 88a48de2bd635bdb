// Package housekeeping has what the commands share that run once a day, started by a
// timer and not by a person: the log that takes their output, the stamp by which they know
// that they have run today, the lock on a directory of archives, and callbacks.
//
//	l, err := housekeeping.OpenLog(env, path)
//	if err != nil {
//		return env.Fatalf("%v", err)
//	}
//	defer l.Close()
package housekeeping
