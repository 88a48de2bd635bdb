package pmcd

import (
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

// A fetchJob is a fetch on its way: the metrics asked for, and each agent's
// share of them. Its memory is reused.
type fetchJob struct {
	highRes bool
	ids     []pcp.PMID
	parts   []*part // of this fetch, in the order of their first metrics
	at      int     // the part whose agent is being asked in this goroutine
	where   []int32 // by domain: 1 + index in parts; nil until there are several
	spare   []*part
	merged  []pcp.ValueSet
	out     []byte  // the client's, while no client has the job
	asked   bool    // agents in other processes have been asked
	crowded bool    // the server's crowd counts it
	sent    []*part // to agents that were idle; not those of others
	remotes sync.WaitGroup
}

// fetch answers a request for values.
func (c *client) fetch(highRes bool, body []byte) error {
	req := &c.req.fetch
	req.HighRes = highRes
	j := c.job
	big := len(body) > fetchHead+4*keepMetrics
	if big {
		j = c.s.bigJob()
		req.PMIDs = j.ids
	}
	profile, err := c.decodeFetch(body)
	if err != nil {
		if big {
			j.ids, req.PMIDs = req.PMIDs, nil
			c.s.bigJobs.Put(j)
		}
		return err
	}
	c.job = j
	j.highRes, j.ids, j.at, j.asked = highRes, req.PMIDs, 0, false
	c.split(req.Context, profile)
	return c.finishFetch()
}

// fetchHead is how long a request for values is without any metrics.
const fetchHead = 16

// decodeFetch decodes a request into c.req.fetch and returns its profile.
func (c *client) decodeFetch(body []byte) (*pcp.Profile, error) {
	req := &c.req.fetch
	if err := decode(req, body); err != nil {
		return nil, err
	}
	if len(req.PMIDs) > maxMetrics {
		return nil, pcp.ErrTooBig
	}
	profile := c.profileFor(req.Context)
	if profile == nil {
		return nil, pcp.ErrNoProfile
	}
	return profile, nil
}

// bigJob returns memory for a fetch of many metrics, which no client keeps: few
// such fetches are under way at a time.
func (s *Server) bigJob() *fetchJob {
	if j, ok := s.bigJobs.Get().(*fetchJob); ok {
		return j
	}
	return new(fetchJob)
}

// smallJob returns memory for the fetches of a client that comes.
func (s *Server) smallJob() *fetchJob {
	if j, ok := s.smallJobs.Get().(*fetchJob); ok {
		return j
	}
	return new(fetchJob)
}

// releaseJob leaves the memory of a client that goes to the next that comes.
// It holds no values of a long reply: finishFetch sees to that.
func (c *client) releaseJob() {
	if c.hung {
		return
	}
	j := c.job
	c.job = nil
	j.ids = nil
	j.spare = append(j.spare, j.parts...)
	j.parts = j.parts[:0]
	for _, p := range j.spare {
		p.forget()
	}
	j.out, c.out = c.out[:0], nil
	c.s.smallJobs.Put(j)
}

// maxKeepJob is how long a reply may be for the memory of its values to be
// kept for another fetch.
const maxKeepJob = 4 << 20

// split deals the metrics out to their agents.
func (c *client) split(context int32, profile *pcp.Profile) {
	j := c.job
	j.spare = append(j.spare, j.parts...)
	j.parts = j.parts[:0]
	one := true
	for _, id := range j.ids[min(1, len(j.ids)):] {
		if id.Domain() != j.ids[0].Domain() {
			one = false
			break
		}
	}
	if one {
		if len(j.ids) > 0 {
			p := c.addPart(j.ids[0].Domain(), context, profile)
			p.ids = j.ids
		}
		return
	}
	j.needWhere()
	for _, id := range j.ids {
		domain := id.Domain()
		if j.where[domain] == 0 {
			p := c.addPart(domain, context, profile)
			p.ids = p.own[:0]
			j.where[domain] = int32(len(j.parts))
		}
		p := j.parts[j.where[domain]-1]
		p.ids = append(p.ids, id)
	}
	for _, p := range j.parts {
		p.own = p.ids
	}
	for _, id := range j.ids {
		j.where[id.Domain()] = 0
	}
}

func (j *fetchJob) needWhere() {
	if j.where == nil {
		j.where = make([]int32, pcp.MaxDomain+1)
	}
}

func (c *client) addPart(domain int, context int32, profile *pcp.Profile) *part {
	j := c.job
	var p *part
	if n := len(j.spare); n > 0 {
		p, j.spare = j.spare[n-1], j.spare[:n-1]
	} else {
		p = new(part)
	}
	p.reset()
	p.ag, p.domain, p.context, p.profile = c.s.table.Load().byDomain[domain], domain, context, profile
	if p.ag == nil {
		p.err = pcp.ErrNoAgent
	} else {
		p.err = p.ag.usable()
		p.remote = p.ag.spec.Kind != conf.DSO
		c.makeRoom(p.ag) // before several agents are asked at once
	}
	j.parts = append(j.parts, p)
	return p
}

// finishFetch asks the agents from j.at on and sends the result. Where there
// are several, those in other processes work at the same time.
func (c *client) finishFetch() error {
	j := c.job
	if !j.asked {
		j.asked = true
		if len(j.parts) > 1 {
			c.askRemotes()
		}
	}
	if len(j.parts) == 1 {
		p := j.parts[0]
		p.alone, p.relay.HighRes = p.remote, j.highRes
	}
	for ; j.at < len(j.parts); j.at++ {
		p := j.parts[j.at]
		if p.remote && len(j.parts) > 1 {
			continue
		}
		if p.err == nil {
			if err := p.ag.be.fetch(c, p); err != nil {
				return err
			}
		}
	}
	j.remotes.Wait()
	if j.crowded {
		j.crowded = false
		c.s.backend.crowd.leave()
	}
	if c.last > maxKeep || len(j.ids) > keepMetrics {
		c.borrowOut()
	}
	c.putResult()
	reply := c.reply.Type()
	if len(j.ids) > keepMetrics || len(c.out) > keepReply {
		if len(c.out) < maxKeepJob { // with j.ids, which are those of the request
			c.s.bigJobs.Put(j)
		}
		c.job, c.reply, c.req.fetch = new(fetchJob), wire.Result{}, wire.Fetch{}
	}
	return c.sendOut(reply)
}

// lose replaces a part that a hanging agent may still write to.
func (c *client) lose(p *part) {
	j := c.job
	i := slices.Index(j.parts, p)
	if len(j.parts) == 1 {
		c.req.fetch.PMIDs = slices.Clone(j.ids)
		j.ids = c.req.fetch.PMIDs
	}
	j.parts[i] = &part{ag: p.ag, domain: p.domain, ids: slices.Clone(p.ids), err: pcp.ErrAgain}
}

// putResult merges the agents' shares in the order of the request. A change
// of state that the client does not know of yet goes before it.
func (c *client) putResult() {
	j := c.job
	reply := &c.reply
	reply.HighRes = j.highRes
	reply.Time = pcp.TimestampOf(time.Now())
	if len(j.parts) == 1 && j.parts[0].err == nil {
		reply.Sets = j.parts[0].res.Sets
	} else {
		reply.Sets = c.merge()
	}
	if changes := c.changes.Swap(0); changes != 0 {
		c.s.events.Out.Add(wire.TypeError)
		c.out = wire.Append(c.out, wire.FromAnon, &wire.Error{Code: pcp.Error(changes)})
	}
	if len(j.parts) == 1 && j.parts[0].relayed {
		c.putRelay(&j.parts[0].relay)
		return
	}
	c.put(reply)
}

// putRelay is put for the result of an agent that goes on as it is.
func (c *client) putRelay(p *wire.Relay) {
	p.Time = c.reply.Time
	c.s.events.Out.Add(c.reply.Type())
	c.out, c.tail = p.Append(c.out, wire.FromAnon)
	*p = wire.Relay{}
	if c.s.events.On() {
		c.s.events.Sent(c.file(), &wire.Result{HighRes: c.reply.HighRes})
	}
}

func (c *client) merge() []pcp.ValueSet {
	j := c.job
	j.merged = j.merged[:0]
	j.needWhere()
	for i, p := range j.parts {
		j.where[p.domain] = int32(i + 1)
	}
	for _, id := range j.ids {
		p := j.parts[j.where[id.Domain()]-1]
		if p.err != nil {
			j.merged = append(j.merged, pcp.ValueSet{PMID: id, Err: pcp.Code(p.err)})
			continue
		}
		j.merged = append(j.merged, p.res.Sets[p.next])
		p.next++
	}
	for _, p := range j.parts {
		j.where[p.domain] = 0
	}
	return j.merged
}
