package backend

import (
	"errors"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/wire"
)

// patience is how long a fetch keeps several agents to itself while it waits
// for one of them. After that it waits for each in a goroutine of its own, so
// that a client that asks one agent does not wait for another.
const patience = time.Millisecond

// Fetch has agents fill the parts of f. Where there are several, those in other
// processes work at the same time. If c is abandoned meanwhile f is its
// successor's, which continues with Resume.
func (c *Caller) Fetch(f *Fetch) {
	if len(f.Parts) > 1 {
		c.askRemotes(f)
	} else if len(f.Parts) == 1 {
		p := f.Parts[0]
		p.alone, p.Relay.HighRes = p.remote, f.highRes
	}
	c.askInTurn(f)
}

// Resume continues a Fetch in which an agent hangs, without that agent.
func (c *Caller) Resume(f *Fetch) {
	f.lose()
	c.askInTurn(f)
}

// askInTurn has the agents in this process asked one after the other, from the
// part f.at on, and waits for the others.
func (c *Caller) askInTurn(f *Fetch) {
	for f.at < len(f.Parts) {
		p := f.Parts[f.at]
		switch {
		case p.remote && len(f.Parts) > 1: // it may be under way
			f.at++
		case p.Err != nil:
			f.at++
		case p.ag.fetch(c, p):
			f.at++
		case c.abandoned:
			return // f is its successor's
		default:
			f.lose()
		}
	}
	f.remotes.Wait()
	if f.crowd != nil {
		f.crowd.leave()
		f.crowd = nil
	}
}

// askRemotes asks those of several agents that are in other processes. For a
// fetch that is alone they get their requests before any answer is looked at,
// and usually have answered when the last of them has: that costs fewer
// wake-ups than a goroutine for each. Where fetches meet they would wait for
// each other like that; there, and for an agent that is busy, a goroutine waits.
func (c *Caller) askRemotes(f *Fetch) {
	f.sent = f.sent[:0]
	here, alone := true, false
	var start time.Time
	for _, p := range f.Parts {
		switch {
		case !p.remote:
			here = false
		case p.Err != nil:
		default:
			if start.IsZero() {
				start = time.Now()
				h := p.ag.host
				alone, f.crowd = h.crowd.enter(h.now()), &h.crowd
			}
			if !alone || !p.ag.sendFetch(c, f, p, start) {
				f.remotes.Go(func() { c.fetchRemote(p) })
			}
		}
	}
	switch {
	case len(f.sent) == 0:
	case here:
		c.collect(f, start)
	default: // an agent in process could keep us from it
		f.remotes.Go(func() { c.collect(f, start) })
	}
}

// sendFetch implements link. The slot that it acquires is p's until finish. A
// request that is not taken at once is finished in another goroutine.
func (r *remote) sendFetch(c *Caller, f *Fetch, p *Part, start time.Time) bool {
	if !r.slot.tryAcquire() {
		return false
	}
	if p.Err = r.ag.Usable(); p.Err == nil && r.conn == nil {
		p.Err = pcp.ErrNoAgent
	}
	if p.Err != nil {
		r.slot.release()
		return true
	}
	p.sentTo = r
	r.introduce(c)
	r.sendProfile(c, p.context, p.profile)
	r.queue(int32(c.client.ID), &wire.Fetch{Context: p.context, PMIDs: p.PMIDs})
	r.asked = wire.TypeFetch
	n := 0
	err := r.conn.SetWriteDeadline(start.Add(patience))
	if err == nil {
		n, err = r.conn.Write(r.out)
	}
	if r.out = r.out[:copy(r.out, r.out[n:])]; err == nil {
		if cap(r.out) > maxKeep {
			r.out = nil
		}
		f.sent = append(f.sent, p)
		return true
	}
	// An error occurs again there.
	f.remotes.Go(func() { c.finishPart(p, start) })
	return true
}

// collect waits for the answers to the parts that sendFetch sent, the last first:
// the others have most likely answered by then.
func (c *Caller) collect(f *Fetch, start time.Time) {
	sent := f.sent
	end := time.Now().Add(patience)
	for i := len(sent) - 1; i >= 0; i-- {
		p := sent[i]
		r := p.sentTo
		err := r.conn.SetReadDeadline(end)
		if err == nil {
			var h wire.Header
			var body []byte
			h, body, err = r.pdus.Next()
			if err == nil {
				r.finish(p, h, body, nil)
				continue
			}
		}
		f.remotes.Go(func() { c.finishPart(p, start) })
	}
}

// finishPart sends the rest of a request and waits for the answer up to the
// agents' time limit.
func (c *Caller) finishPart(p *Part, start time.Time) {
	r := p.sentTo
	err := r.setDeadlinesFrom(start)
	if err == nil && len(r.out) > 0 {
		if err = r.send(int32(c.client.ID), nil); err != nil {
			r.traceError(trace.XmitErr, wire.TypeFetch, err)
		}
	}
	if err != nil {
		r.take(p, wire.Header{}, nil, r.judge(err))
		p.unlink()
		return
	}
	h, body, err := r.pdus.Next()
	r.finish(p, h, body, err)
}

// finish makes the outcome of a read that of p, and lets others have the agent.
func (r *remote) finish(p *Part, h wire.Header, body []byte, err error) {
	defer p.unlink()
	h, body, err = r.received(h, body, err)
	h, body, err = r.answered(wire.TypeFetch, h, body, err)
	r.take(p, h, body, r.judge(err))
	p.forSeveral()
}

// unlink releases the slot of the agent that p was sent to.
func (p *Part) unlink() {
	r := p.sentTo
	p.sentTo = nil
	r.slot.release()
}

// fetchRemote asks one of several agents that is busy.
func (c *Caller) fetchRemote(p *Part) {
	p.ag.fetch(c, p) // returns true, as the agent is not in this process
	p.forSeveral()
}

// forSeveral adjusts the outcome of p to a fetch from several agents: an agent
// that has never answered in time already counts as gone for this request.
func (p *Part) forSeveral() {
	if errors.Is(p.Err, pcp.ErrTimeout) {
		p.Err = pcp.ErrNoAgent
	}
}
