package timecontrol

import (
	"context"
	"time"

	"github.com/go-pcp/pcp"
)

// Handlers are called for the messages of a controller except steps forward
// (pmTimeControls). Nil handlers are not called.
type Handlers struct {
	Resume   func()                                            // it continues after a stop
	Rewind   func()                                            // it goes back
	Boundary func()                                            // the end of the archives is reached
	Position func(at pcp.Timestamp)                            // it is somewhere else in the archives
	Interval func(delta time.Duration)                         // steps have another length
	Stepped  func(delta time.Duration)                         // it goes forward from now on
	NewZone  func(zone, label string)                          // times must be shown in another zone
	Seek     func(at pcp.Timestamp, delta time.Duration) error // values of archives are wanted from here on
}

// A Follower follows a controller, as simple tools do (pmTimeStateVector(3)): only
// steps forward count, the others are acknowledged and skipped.
type Follower struct {
	c     *Client
	h     Handlers
	phase phase
	delta time.Duration
	last  pcp.Timestamp // position of the last step
	shown bool          // the controller was asked to show itself
}

// A phase is the state of a follower.
type phase int

const (
	starting phase = iota
	stopped
	forward
	backward
	moving  // the position is being changed
	changed // something was changed on the way
	ended   // at the end of the archives
)

// NewFollower returns a follower for a connection. Delta is the interval that the
// follower had in its first message.
func NewFollower(c *Client, delta time.Duration, h Handlers) *Follower {
	return &Follower{c: c, h: h, delta: delta}
}

// Next waits for the next step forward and returns it. The caller shows values of that
// time, and then calls Ack, or AtEnd if there are none any more. Next returns io.EOF when
// the controller is gone, and the error of Handlers.Seek.
func (f *Follower) Next(ctx context.Context) (Message, error) {
	if !f.shown {
		f.shown = true
		if err := f.c.ShowGUI(true); err != nil {
			return Message{}, err
		}
	}
	for {
		m, err := f.c.Receive(ctx)
		if err != nil {
			return Message{}, err
		}
		switch m.Command {
		case Set:
			switch f.phase {
			case ended:
				f.phase = stopped
			case forward:
				f.phase = changed
			}
		case Step:
			f.last = m.Position
			if m.State == Backward {
				f.rewind()
			} else if err := f.advance(m); err != nil {
				return Message{}, err
			}
			if f.phase == forward {
				return m, nil
			}
			if err := f.Ack(); err != nil {
				return Message{}, err
			}
		case Zone:
			if f.h.NewZone != nil {
				f.h.NewZone(m.Zone, m.ZoneLabel)
			}
		case Drag:
			f.phase = moving
		case Change:
			f.phase = changed
			if m.State == Stopped {
				f.phase = stopped
			}
		}
	}
}

func (f *Follower) rewind() {
	if f.phase != backward {
		call(f.h.Rewind)
		f.phase = backward
	}
}

// advance takes a step forward. After the end of the archives it does nothing
// until the controller is set again.
func (f *Follower) advance(m Message) error {
	if f.phase == forward || f.phase == ended {
		return nil
	}
	archive := f.c.source == Archive
	switch {
	case f.phase == starting:
	case archive && f.phase != stopped:
		if f.h.Position != nil {
			f.h.Position(m.Position)
		}
	default:
		call(f.h.Resume)
	}
	if f.phase != starting && m.Delta != f.delta && f.h.Interval != nil {
		f.h.Interval(m.Delta)
	}
	f.delta = m.Delta
	if archive && f.h.Seek != nil {
		if err := f.h.Seek(m.Position, m.Delta); err != nil {
			return err
		}
	}
	if f.h.Stepped != nil {
		f.h.Stepped(m.Delta)
	}
	f.phase = forward
	return nil
}

func call(fn func()) {
	if fn != nil {
		fn()
	}
}

// Ack acknowledges that the last step was shown.
func (f *Follower) Ack() error { return f.c.Ack(f.last) }

// AtEnd reports that there was nothing to show for the last step, as the archives
// end there. Further steps forward are skipped until the controller has moved.
func (f *Follower) AtEnd() error {
	err := f.Ack()
	if f.phase != ended {
		call(f.h.Boundary)
	}
	f.phase = ended
	return err
}
