package pmcd

import (
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/wire"
)

// send writes the bytes already in c.out, and then one PDU.
func (c *client) send(p wire.PDU) error {
	c.put(p)
	return c.sendOut(p.Type())
}

// put appends a PDU to the bytes that sendOut will send.
func (c *client) put(p wire.PDU) {
	c.s.events.Out.Add(p.Type())
	c.out = wire.Append(c.out, wire.FromAnon, p)
	if c.s.events.On() {
		c.s.events.Sent(c.file(), p)
	}
}

// sendOut writes c.out, whose last PDU is of type t.
func (c *client) sendOut(t wire.Type) error {
	err := c.flush()
	if err != nil && c.s.events.On() {
		c.s.events.Add(trace.Event{Kind: trace.XmitErr, Who: c.file(), P1: int32(t), P2: int32(pcp.Code(err))})
	}
	return err
}

// flush writes c.out. A client that does not take it in time is dropped. The
// deadline is moved once a second, which is cheaper than for each reply.
func (c *client) flush() error {
	if now := c.s.now(); now >= c.writeEnd {
		c.writeEnd = now + int64(time.Second)
		if err := c.conn.SetWriteDeadline(time.Now().Add(pduTimeout + time.Second)); err != nil {
			return err
		}
	}
	tail := c.tail
	c.tail = nil
	c.last = len(c.out) + len(tail)
	c.turn.leave(c.last)
	if c.last > maxKeep {
		held := cap(c.out) + cap(tail)
		c.turn.sending(held)
		defer c.turn.sending(-held)
	}
	_, err := c.stream.Write(c.out)
	if err == nil && tail != nil {
		_, err = c.stream.Write(tail)
	}
	if cap(c.out) > maxKeep {
		c.s.spares.leaveReply(c.out)
		c.out = nil
	}
	c.out = c.out[:0]
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// maxKeep is how much memory a client keeps for its replies between requests.
const maxKeep = 1 << 16

// borrowOut makes c.out use the memory of another client's long reply, if there
// is any and c.out is empty.
func (c *client) borrowOut() {
	if len(c.out) > 0 || cap(c.out) > maxKeep {
		return
	}
	if b := c.s.spares.reply(); b != nil {
		c.out = b
	}
}

// A writeError is a failure to write to the client, as opposed to one to answer
// its request.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// A dropError ends a connection after the error was sent.
type dropError struct{ error }

func (e *dropError) Unwrap() error { return e.error }

// refuse sends the client the reason, and returns the error that ends it.
func (c *client) refuse(err error) error {
	if werr := c.send(&wire.Error{Code: pcp.Code(err)}); werr != nil {
		return werr
	}
	return &dropError{err}
}

// putResult puts the reply to a fetch into the output, and returns its type.
// Large memory is passed on to other clients.
func (c *client) putResult(r *request) wire.Type {
	j := r.job
	if len(j.fetch.Parts) == 1 { // what the agent was lent, unless it hangs
		j.ids = j.fetch.Parts[0].PMIDs
		r.values.PMIDs = j.ids
	}
	if c.last > maxKeep || len(j.ids) > keepMetrics {
		c.borrowOut()
	}
	c.merge(r)
	reply := r.result.Type()
	if len(j.ids) > keepMetrics || len(c.out) > keepReply {
		if len(c.out) < maxKeepJob { // with j.ids, which are those of the request
			c.s.spares.leaveBig(j)
		}
		r.job, r.result, r.values = new(fetchJob), wire.Result{}, wire.Fetch{}
	}
	return reply
}

// merge puts the agents' parts in the order of the request. A change of state
// that the client does not know of yet precedes them.
func (c *client) merge(r *request) {
	j := r.job
	reply := &r.result
	reply.HighRes = j.highRes
	reply.Time = pcp.TimestampOf(time.Now())
	one := len(j.fetch.Parts) == 1
	if one && j.fetch.Parts[0].Err == nil {
		reply.Sets = j.fetch.Parts[0].Result.Sets
	} else {
		reply.Sets = j.merge()
	}
	if changes := c.changes.Swap(0); changes != 0 {
		c.s.events.Out.Add(wire.TypeError)
		c.out = wire.Append(c.out, wire.FromAnon, &wire.Error{Code: pcp.Error(changes)})
	}
	if one && j.fetch.Parts[0].Relayed {
		c.putRelay(reply, &j.fetch.Parts[0].Relay)
		return
	}
	c.put(reply)
}

// putRelay is put for the result of an agent that is relayed unchanged.
func (c *client) putRelay(reply *wire.Result, p *wire.Relay) {
	p.Time = reply.Time
	c.s.events.Out.Add(reply.Type())
	c.out, c.tail = p.Append(c.out, wire.FromAnon)
	*p = wire.Relay{}
	if c.s.events.On() {
		c.s.events.Sent(c.file(), &wire.Result{HighRes: reply.HighRes})
	}
}
