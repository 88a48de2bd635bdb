// Package control is how a running pmlogger is told what to record: the protocol of pmlc, which
// changes and shows the state of metrics, begins volumes, and asks for a status. A client:
//
//	var d control.Dialer
//	c, err := d.Dial(ctx, "local:", &control.Target{PID: control.Primary, Port: control.NoPort})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	volume, err := c.NewVolume(ctx)
//
// And the other end, with the files by which clients find it:
//
//	ends, err := control.Listen(control.Ports{Tmp: tmp, Run: run})
//	if err != nil {
//		return err
//	}
//	defer ends.Close()
//	s, err := control.New(control.Config{Recorder: r, Listeners: ends.Listeners})
//	if err != nil {
//		return err
//	}
//	if err := ends.Publish(r.Host(), r.Archive(), ""); err != nil {
//		return err
//	}
//	go s.Run(ctx)
//	return r.Run(ctx)
//
// The server says its version in an ERROR with the number of its process; the client answers
// with its own in CREDS, and asks. There is one client at a time; another one is told
// EADDRINUSE. Clients never hold up the recorder: it is asked between two samples, and what is
// read and written takes place elsewhere.
//
// A map file below PCP_TMP_DIR, named after the process, has the port, the host that is
// recorded, the archive, and a note. The primary logger has a link there and one to its socket.
package control
