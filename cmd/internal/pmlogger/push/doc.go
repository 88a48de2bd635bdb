// Package push sends archives to a pmproxy that keeps them, over HTTP, as
// pmlogpush(1) does and pmlogger(1) for archives whose names are URLs.
//
//	p, err := push.New(push.Config{URL: "http://collector:44322"})
//	if err != nil {
//		return err
//	}
//	err = p.Push(ctx, "/var/log/pcp/pmlogger/www/20261124")
//
// Files go in the order in which each can be used when it is there: metadata,
// volumes, the index. A pmproxy of this project is asked to go on where an
// earlier push of the same archive ended; others begin a new archive.
package push
