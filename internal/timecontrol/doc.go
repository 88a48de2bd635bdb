// Package timecontrol moves tools through time together (pmtime(1), pmTime(3)):
// a controller sets the moment to show, and each tool that follows it shows
// that moment.
//
//	c, err := timecontrol.Dial(ctx, timecontrol.DefaultPort, timecontrol.Message{
//		Source:   timecontrol.Archive,
//		Delta:    10 * time.Second,
//		Position: start, Start: start, End: end,
//		Zone:     "UTC", ZoneLabel: "archive",
//	})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	f := timecontrol.NewFollower(c, 10*time.Second, timecontrol.Handlers{})
//	for {
//		step, err := f.Next(ctx)
//		if err != nil {
//			return err // the controller is gone, or ctx is done
//		}
//		show(step.Position)
//		if err := f.Ack(); err != nil {
//			return err
//		}
//	}
//
// A [Server] is a controller without a window: its methods are what the buttons of
// pmtime do, and each step waits until all followers have shown the one before.
//
// The protocol is spoken between programs of one machine. A message is the C
// struct pmTime of 64-bit systems as in memory, in the machine's byte order,
// followed in some by the name of a time zone and its label:
//
//	 0  magic "TIME", length, command, source, state, mode   4 bytes each
//	24  delta, position, start, end    seconds and microseconds, 8 bytes each
//	88  zone NUL label NUL
//
// A follower begins with Set and gets an Ack. It acknowledges each Step, with the
// position that the step had.
package timecontrol
