package timecontrol

import (
	"time"

	"github.com/go-pcp/pcp"
)

// A Status is what a control does.
type Status struct {
	Source     Source
	State      State
	Mode       Mode
	Delta      time.Duration
	Speed      float64 // of archives: how much faster than time passed
	Position   pcp.Timestamp
	Start, End pcp.Timestamp // of archives
	Zone       string        // as of SetZone, or of the first follower
	ZoneLabel  string
	Followers  int
	Waiting    bool // followers have a step to show, or more is to come
}

// A Control is what the buttons of pmtime(1) are for: it moves the followers of
// archives, or of hosts. Its methods may be called from many goroutines.
type Control struct {
	s *Server

	// The server's mutex guards these.
	Status
	joined bool // a follower has described its view
	timer  *time.Timer
	ticks  int       // counts the timers, to recognize a timer that was stopped too late
	due    bool      // a step is due, and waits for followers
	since  time.Time // of when on
}

// Report returns what the control does.
func (c *Control) Report() Status {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	st := c.Status
	for _, f := range c.s.followers {
		if f.c == c && f.ready {
			st.Followers++
		}
	}
	st.Waiting = c.waiting() || c.due || c.State != Stopped && c.Mode != StepMode
	return st
}

// do changes something under the server's mutex.
func (c *Control) do(fn func()) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.closed {
		return
	}
	fn()
	c.s.changed()
}

// Play goes forward from now on, the first step at once, or when the first follower
// comes. In StepMode it is a single step.
func (c *Control) Play() { c.do(func() { c.run(Forward) }) }

// Back goes backward. Time that passes only goes forward: Back stops hosts.
func (c *Control) Back() {
	c.do(func() {
		if c.Source == Host {
			c.stop()
			return
		}
		c.run(Backward)
	})
}

// Stop stops.
func (c *Control) Stop() { c.do(c.stop) }

// SetMode stops, and chooses how Play and Back go from then on.
func (c *Control) SetMode(m Mode) {
	c.do(func() {
		c.stop()
		c.Mode = m
	})
}

// SetDelta changes the time between two steps, which is at least a millisecond.
func (c *Control) SetDelta(d time.Duration) {
	c.do(func() {
		c.Delta = max(d, minTick)
		c.announce(Change)
		c.restart()
	})
}

// SetSpeed changes how fast an archive goes in NormalMode, up to MaxSpeed; 1 is as fast as time passed.
// A speed that is not above 0 changes nothing.
func (c *Control) SetSpeed(speed float64) {
	c.do(func() {
		if speed > 0 {
			c.Speed = min(speed, MaxSpeed)
			c.restart()
		}
	})
}

// SetPosition moves to a time of archives, or to the nearest that they have.
// Followers show it with the next step.
func (c *Control) SetPosition(t pcp.Timestamp) {
	c.do(func() {
		if c.Source == Host {
			return
		}
		c.Position = c.within(micros(t))
		c.announce(Change)
	})
}

// SetZone makes followers show times in another zone. The label is its origin.
func (c *Control) SetZone(zone, label string) {
	c.do(func() {
		c.Zone, c.ZoneLabel = zone, label
		m := c.message(Zone)
		m.Zone, m.ZoneLabel = zone, label
		c.tell(m)
	})
}

// within returns t, or the end of the archives that it is beyond.
func (c *Control) within(t pcp.Timestamp) pcp.Timestamp {
	if t.Compare(c.End) > 0 {
		t = c.End
	}
	if t.Compare(c.Start) < 0 {
		t = c.Start
	}
	return t
}

// join takes over the view of the first follower, and extends it for those of
// others.
func (c *Control) join(m Message) {
	if c.joined {
		if m.Source == Archive {
			c.extend(m)
		}
		return
	}
	c.joined = true
	c.Zone, c.ZoneLabel = m.Zone, m.ZoneLabel
	if m.Delta > 0 {
		c.Delta = max(m.Delta, minTick)
	}
	c.Position = m.Position
	if m.Source == Archive {
		c.Start, c.End = m.Start, m.End
		c.Position = c.within(m.Position)
		if c.State != Stopped {
			c.after(c.wait()) // it was started before there was anything to show
		}
		return
	}
	c.restart()
}

// extend makes room for other archives.
func (c *Control) extend(m Message) {
	if c.Source == Host {
		return
	}
	if m.Start.Compare(c.Start) < 0 {
		c.Start = m.Start
	}
	if m.End.Compare(c.End) > 0 {
		c.End = m.End
	}
	c.announce(Change)
}

func (c *Control) message(cmd Command) Message {
	return Message{
		Command: cmd, Source: c.Source, State: c.State, Mode: c.Mode,
		Delta: c.Delta, Position: c.Position, Start: c.Start, End: c.End,
	}
}

func (c *Control) announce(cmd Command) { c.tell(c.message(cmd)) }

// tell sends a message to all followers. Any message except a step replaces a step
// that was not acknowledged.
func (c *Control) tell(m Message) {
	for _, f := range c.s.followers {
		if f.c != c || !f.ready {
			continue
		}
		if m.Command == Step {
			if f.pending {
				continue // it is late: see patience
			}
			f.pending, f.at = true, m.Position
		}
		f.send(m)
	}
}

// run moves in a direction.
func (c *Control) run(dir State) {
	if c.State == dir && c.Mode != StepMode {
		return
	}
	c.halt()
	c.State = dir
	if c.Source == Host {
		c.Position = micros(pcp.TimestampOf(time.Now()))
		c.announce(Change)
		c.start()
		return
	}
	if c.joined {
		c.step()
	}
}

func (c *Control) stop() {
	c.halt()
	if c.State == Stopped {
		return
	}
	c.State = Stopped
	if c.Source == Host {
		c.Position = micros(pcp.TimestampOf(time.Now()))
	}
	c.announce(Change)
}

// step makes a step, or waits for followers that have not done the last one.
func (c *Control) step() {
	if !c.due {
		c.due, c.since = true, time.Now()
	}
	if c.Source == Archive && c.waiting() && time.Since(c.since) < c.s.patience {
		c.after(c.s.patience - time.Since(c.since))
		return
	}
	c.halt() // the wait is over, and so is its timer
	switch {
	case c.Source == Host:
		c.Position = micros(pcp.TimestampOf(time.Now()))
	default:
		delta := c.Delta
		if c.State == Backward {
			delta = -delta
		}
		next := c.Position.Add(delta)
		if next.Compare(c.End) > 0 || next.Compare(c.Start) < 0 {
			c.announce(Boundary)
			c.stop()
			return
		}
		c.Position = next
	}
	c.announce(Step)
	if c.Mode != StepMode || c.Source == Host {
		c.start()
	}
}

// waiting reports whether a follower has a step to acknowledge, or has just come.
func (c *Control) waiting() bool {
	for _, f := range c.s.followers {
		if f.c == c && (f.pending || !f.ready) {
			return true
		}
	}
	return false
}

// proceed is called when a follower has come, has acknowledged a step, or has left.
func (c *Control) proceed() {
	if c.due && !c.waiting() && !c.s.closed {
		c.step()
		c.s.changed()
	}
}

// start starts the timer of the next step.
func (c *Control) start() {
	if c.State == Stopped {
		return
	}
	c.after(c.wait())
}

// wait returns how long to wait for the next step.
func (c *Control) wait() time.Duration {
	wait := c.Delta
	if c.Source == Archive {
		wait = time.Duration(float64(wait) / c.Speed)
		if c.Mode == FastMode {
			wait = 0
		}
	}
	return max(wait, minTick)
}

func (c *Control) after(d time.Duration) {
	c.ticks++
	tick := c.ticks
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(d, func() {
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if tick == c.ticks && !c.s.closed {
			c.step()
			c.s.changed()
		}
	})
}

// halt stops the timer.
func (c *Control) halt() {
	c.ticks++
	c.due = false
	if c.timer != nil {
		c.timer.Stop()
	}
}

// restart gives a timer that runs its new length.
func (c *Control) restart() {
	if c.joined && c.State != Stopped && (c.Source == Host || c.Mode != StepMode) && !c.due {
		c.start()
	}
}
