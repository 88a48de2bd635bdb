package backend

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A Caller is a client as agents see it, in the hands of one goroutine, which has
// agents asked for it.
//
// An agent in this process that hangs keeps the goroutine that called it, and
// the Caller with it. The Caller is abandoned then, and the client continues in
// another goroutine with the Caller's successor. When the call returns after
// all, it returns pcp.ErrAgain, and so does every further call with that Caller,
// without reaching an agent. The goroutine may use it freely, but must check
// Abandoned before it touches data shared with the client.
type Caller struct {
	client *pmda.Client
	name   string // for the log
	who    string // see identity
	hung   func()

	seen      []*Agent // by index: agents that know of the client
	turn      *turn    // in the queue of at most one agent; nil means to use first
	first     turn
	abandoned bool // belongs to the goroutine of the Caller
}

// NewCaller returns the Caller of a client; name is what the log calls it.
//
// If an agent hangs, hung is called, once for a Caller. It starts a goroutine
// that continues with the client, and returns at once. The Caller must not be
// copied after a call with it.
func NewCaller(client *pmda.Client, name string, hung func()) Caller {
	return Caller{client: client, name: name, hung: hung}
}

// Successor returns the Caller for the goroutine that continues.
func (c *Caller) Successor() Caller {
	return Caller{client: c.client, name: c.name, who: c.who, hung: c.hung, seen: c.seen}
}

// Abandoned reports whether c has a successor.
func (c *Caller) Abandoned() bool { return c.abandoned }

// Client is the client.
func (c *Caller) Client() *pmda.Client { return c.client }

// alive returns the error for calls with a Caller that was abandoned.
func (c *Caller) alive() error {
	if c.abandoned {
		return pcp.ErrAgain
	}
	return nil
}

// Meet introduces the client to an agent before it has asked for anything, if the
// agent wants that. It waits for no agent: if it returns false, that must be
// tried again.
func (c *Caller) Meet(ag *Agent) bool { return ag.greet(c) }

// Leave notifies the agents that know of the client that it is gone. If c is
// abandoned meanwhile, its successor must notify the rest.
func (c *Caller) Leave() {
	for i, ag := range c.seen {
		if c.seen[i] = nil; ag == nil || !ag.connected.Load() {
			continue
		}
		if ag.endContext(c); c.abandoned {
			return
		}
	}
}

// meet reports whether ag does not know of the client yet, and records it as
// known.
func (c *Caller) meet(ag *Agent) bool {
	c.makeRoom(ag)
	if c.seen[ag.index] == ag {
		return false
	}
	c.seen[ag.index] = ag
	return true
}

// knows reports whether ag has been introduced to the client.
func (c *Caller) knows(ag *Agent) bool { return ag.index < len(c.seen) && c.seen[ag.index] == ag }

// makeRoom makes c.seen long enough for ag, so that several goroutines can meet
// agents.
func (c *Caller) makeRoom(ag *Agent) {
	if n := ag.index + 1 - len(c.seen); n > 0 {
		c.seen = append(c.seen, make([]*Agent, n)...)
	}
}
