// Package housekeeping is shared by the commands that a timer, not a person, runs once a
// day. It has the log that takes their output, the stamp that records today's run, the
// lock on a directory of archives, and callbacks.
//
//	l, err := housekeeping.OpenLog(env, path)
//	if err != nil {
//		return env.Fatalf("%v", err)
//	}
//	defer l.Close()
package housekeeping
