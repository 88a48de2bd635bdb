// Package push sends archives over HTTP to a pmproxy that stores them, as
// pmlogpush(1) does, and pmlogger(1) for archives whose names are URLs.
//
//	p, err := push.New(push.Config{URL: "http://collector:44322"})
//	if err != nil {
//		return err
//	}
//	err = p.Push(ctx, "/var/log/pcp/pmlogger/www/20261124")
//
// A [Sender] pushes the archives of a directory while they are recorded, to one of
// several servers. A [Pusher] pushes one archive.
//
// Files are sent in an order in which each is usable on arrival: metadata,
// volumes, the index. A pmproxy of this project can resume an earlier push of
// the same archive; others begin a new archive.
package push
