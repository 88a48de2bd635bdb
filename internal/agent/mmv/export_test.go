package mmv

import "time"

// SetClock has the agent take the time, for how long a file is in flux, from
// elsewhere.
func (a *Agent) SetClock(now func() time.Time) { a.clock = now }
