package backend

import "github.com/go-pcp/pcp"

// Reasons for an agent not being connected: the low byte of pmcd.agent.status
// (REASON_*); an exit status or signal stands above it.
const (
	statusNotReady = 1
	reasonExit     = 2
	reasonNoStart  = 4
	reasonProtocol = 8
)

// Connected reports whether a is up.
func (a *Agent) Connected() bool { return a.connected.Load() }

// Fenced reports whether requests are kept from a.
func (a *Agent) Fenced() bool { return a.fenced.Load() }

// Fence keeps requests from a, or lets them through again. It returns whether
// that is a change.
func (a *Agent) Fence(on bool) bool { return a.fenced.Swap(on) != on }

// Usable returns the error for a request that cannot go to a, or nil if it can.
func (a *Agent) Usable() error {
	switch {
	case !a.connected.Load():
		return pcp.ErrNoAgent
	case a.fenced.Load():
		return pcp.ErrPMDAFenced
	case a.notReady.Load():
		return pcp.ErrAgain
	}
	return nil
}

// askable returns the error for a request of c that cannot go to a, or nil if it
// can.
func (a *Agent) askable(c *Caller) error {
	if err := c.alive(); err != nil {
		return err
	}
	return a.Usable()
}

// WasUp reports whether a is not connected now, but was.
func (a *Agent) WasUp() bool {
	if a.connected.Load() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason != reasonNoStart
}

// Status is the value of pmcd.agent.status.
func (a *Agent) Status() int {
	if a.connected.Load() {
		if a.notReady.Load() {
			return statusNotReady
		}
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason
}
