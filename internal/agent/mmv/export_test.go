package mmv

import "time"

// SetClock sets the clock by which the agent measures how long a file is in flux.
func (a *Agent) SetClock(now func() time.Time) { a.clock = now }
