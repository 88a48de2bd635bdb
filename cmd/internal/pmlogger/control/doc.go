// Package control implements the control protocol of a running pmlogger, which pmlc uses to
// change and show the state of metrics, to begin volumes, and to request a status. A client:
//
//	var d control.Dialer
//	c, err := d.Dial(ctx, "local:", &control.Target{PID: control.Primary, Port: control.NoPort})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	volume, err := c.NewVolume(ctx)
//
// The server end, with the files by which clients find it:
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
// The server sends its version in an ERROR with the number of its process; the client answers
// with its own in CREDS, and sends requests. There is one client at a time; other clients get
// EADDRINUSE. Clients never hold up the recorder: it executes requests between two samples,
// and all input and output is in other goroutines.
//
// A map file below PCP_TMP_DIR, named after the process, has the port, the recorded host, the
// archive, and a note. The primary logger has links there to its map file and its socket.
package control
