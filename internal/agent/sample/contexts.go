package sample

import (
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// contexts count the requests of each client and the answers to it.
type contexts struct {
	active     map[*pmda.Client]*pdus
	gone       pdus // of clients that have left, and of no client in particular
	most       int  // one more than the highest number of a context
	start, end int32
	last       *pmda.Client // the client that fetched last, with its profile
	lastFor    *pcp.Profile
}

type pdus struct{ recv, xmit int32 }

// of returns the counts of a client, new ones for a new client.
func (c *contexts) of(a *Agent, client *pmda.Client) *pdus {
	if client == nil {
		return &c.gone
	}
	p := c.active[client]
	if p == nil {
		p = &pdus{}
		if c.active == nil {
			c.active = map[*pmda.Client]*pdus{}
		}
		c.active[client] = p
		c.most = max(c.most, client.ID+1)
		c.start++
		a.debug(debugAppl1, "sample_inc_recv(%d) [new context, num_ctx=%d]", client.ID, c.most)
	}
	return p
}

// request counts a request and its result.
func (c *contexts) request(a *Agent, client *pmda.Client) {
	p := c.of(a, client)
	p.recv++
	p.xmit++
}

// profile counts the profile that a collector sends before the fetch of a
// client if the last one was of another client or has changed. Agents do not
// receive it.
func (c *contexts) profile(a *Agent, req *pmda.FetchRequest) {
	if c.last == req.Client && sameProfile(c.lastFor, req.Profile) {
		return
	}
	c.last, c.lastFor = req.Client, nil
	if req.Profile != nil {
		c.lastFor = req.Profile.Clone()
	}
	c.of(a, req.Client).recv++
}

func sameProfile(p, q *pcp.Profile) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.State == q.State && slices.EqualFunc(p.InDoms, q.InDoms, func(x, y pcp.ProfileInDom) bool {
		return x.InDom == y.InDom && x.State == y.State && slices.Equal(x.Insts, y.Insts)
	})
}

// finish drops a client.
func (c *contexts) finish(a *Agent, client *pmda.Client) {
	if c.last == client {
		c.last = nil
	}
	p := c.active[client]
	switch {
	case p != nil:
		a.debug(debugAppl1, "sample_ctx_end(%d) [context is active]", client.ID)
	case client.ID >= c.most:
		a.debug(debugAppl1, "sample_ctx_end(%d) [context is unknown, num_ctx=%d]", client.ID, c.most)
		return
	default:
		a.debug(debugAppl1, "sample_ctx_end(%d) [context is inactive]", client.ID)
		return
	}
	c.end++
	c.gone.recv += p.recv
	c.gone.xmit += p.xmit
	delete(c.active, client)
}

func (c *contexts) total() (sum pdus) {
	sum = c.gone
	for _, p := range c.active {
		sum.recv += p.recv
		sum.xmit += p.xmit
	}
	return sum
}

func (c *contexts) clear(recv, xmit bool) {
	all := []*pdus{&c.gone}
	for _, p := range c.active {
		all = append(all, p)
	}
	for _, p := range all {
		if recv {
			p.recv = 0
		}
		if xmit {
			p.xmit = 0
		}
	}
}

func (a *Agent) contextRows() []row {
	c := &a.contexts
	mine := func(name string, item int, sem pcp.Sem, oneline string, value func(p *pdus) int32) row {
		return row{Metric: pmda.Metric{
			Name: "percontext." + name, Item: item, Type: pcp.Type32, Sem: sem, Units: count,
			OneLine: oneline, Help: "Each client sees another value.",
			Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(value(c.of(a, a.req.Client))), nil },
		}}
	}
	ctl := func(name string, item int, oneline, help string, value func() int32) row {
		return row{Metric: pmda.Metric{
			Name: "percontext.control." + name, Item: item, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count,
			OneLine: oneline, Help: help,
			Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(value()), nil },
		}}
	}
	return []row{
		{Metric: pmda.Metric{
			Name: "pdu", Item: 40, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count,
			OneLine: "requests to the agent, and answers",
			Help:    "The sum of sample.recv_pdu and sample.xmit_pdu. A store of any value clears both.",
			Value: func(int32, int) (pcp.Value, error) {
				t := c.total()
				return pcp.Uint64Value(uint64(int64(t.recv) + int64(t.xmit))), nil
			},
		}, set: func(pcp.Value) error { c.clear(true, true); return nil }},
		{Metric: pmda.Metric{
			Name: "recv_pdu", Item: 41, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count,
			OneLine: "requests to the agent",
			Help:    "A store of any value clears it.",
			Value:   func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(uint32(c.total().recv)), nil },
		}, set: func(pcp.Value) error { c.clear(true, false); return nil }},
		{Metric: pmda.Metric{
			Name: "xmit_pdu", Item: 42, Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: count,
			OneLine: "answers of the agent",
			Help:    "A store of any value clears it.",
			Value:   func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(uint32(c.total().xmit)), nil },
		}, set: func(pcp.Value) error { c.clear(false, true); return nil }},
		mine("pdu", 43, pcp.SemCounter, "requests of this client, and answers to it", func(p *pdus) int32 { return p.recv + p.xmit }),
		mine("recv_pdu", 44, pcp.SemCounter, "requests of this client", func(p *pdus) int32 { return p.recv }),
		mine("xmit_pdu", 45, pcp.SemCounter, "answers to this client", func(p *pdus) int32 { return p.xmit }),
		ctl("ctx", 122, "one more than the highest number of a client context so far",
			"The size that a table of clients indexed by their context needs. It never\nbecomes less.",
			func() int32 { return int32(c.most) }),
		ctl("active", 123, "clients of the agent",
			"Those that have come and not gone: sample.percontext.control.start less\nsample.percontext.control.end.",
			func() int32 { return int32(len(c.active)) }),
		ctl("start", 124, "clients that have come",
			"A client counts with its first request to this agent.",
			func() int32 { return c.start }),
		ctl("end", 125, "clients that have gone",
			"The collector notifies the agent when a client's connection ends.",
			func() int32 { return c.end }),
	}
}
