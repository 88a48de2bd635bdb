package pmcd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/peercred"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/wire"
)

// start is the life of a client's first goroutine.
func (c *client) start() {
	defer c.s.clients.done()
	if err := c.handshake(); err != nil {
		c.end(c.req, err)
		return
	}
	c.serve(c.req, nil, nil)
}

// serve answers requests until the client is gone or must go, beginning with
// one whose outcome, if there is any, is reply or err.
//
// Agents are asked by methods of r, which do not have c. If one hangs, takeOver
// has another goroutine serve c, with r's successor. When the call returns after
// all, the rest of the method has no effect, and serve returns.
func (c *client) serve(r *request, reply wire.PDU, err error) {
	for !r.Abandoned() {
		err = c.answer(r, reply, err)
		var h wire.Header
		var body []byte
		if err == nil {
			h, body, err = c.await()
		}
		if err != nil {
			c.end(r, err)
			return
		}
		reply, err = c.handle(r, h, body)
	}
}

// takeOver has another goroutine continue with c, as an agent hangs in a call of
// the present goroutine. A fetch is answered with the values of the other
// agents, any other request with pcp.ErrAgain, and a client that leaves is
// forgotten.
func (c *client) takeOver() {
	c.s.clients.more()
	go func() {
		defer c.s.clients.done()
		old := c.req
		r := old.successor()
		c.req = r
		switch old.doing {
		case fetching:
			r.Resume(&r.job.fetch)
			c.serve(r, &r.result, nil)
		case leaving:
			c.leave(r)
		default:
			c.serve(r, nil, c.send(&wire.Error{Code: pcp.ErrAgain}))
		}
	}()
}

// await reads the next request of a client that may stay.
func (c *client) await() (wire.Header, []byte, error) {
	if err := c.admission.ended(); err != nil {
		return wire.Header{}, nil, err
	}
	h, body, err := c.next()
	if err == nil && c.meetMore.Load() {
		c.meetAgents()
	}
	return h, body, err
}

// answer sends the outcome of a request: a reply, if there is any, or an error. The
// error that it returns ends the connection.
func (c *client) answer(r *request, reply wire.PDU, err error) error {
	switch {
	case err != nil:
	case reply == &r.result:
		err = c.sendOut(c.putResult(r))
	case reply != nil:
		err = c.send(reply)
	}
	c.turn.leave(0) // after a request that has no reply
	if err == nil {
		return nil
	}
	var m *malformedError
	if errors.As(err, &m) {
		err = c.refuse(fmt.Errorf("%v PDU: %w", r.pdu, m.error))
	}
	var w *writeError
	var d *dropError
	if errors.As(err, &w) || errors.As(err, &d) {
		return err
	}
	c.s.journal.request(c, r.pdu, err)
	return c.send(&wire.Error{Code: pcp.Code(err)})
}

// handle does the work of one request. There may be no reply.
func (c *client) handle(r *request, h wire.Header, body []byte) (reply wire.PDU, err error) {
	r.pdu, r.doing = h.Type, asking
	need := access.OpFetch
	if h.Type == wire.TypeResult {
		need = access.OpStore
	}
	if c.admission.denied()&need != 0 && h.Type != wire.TypeCreds {
		return nil, pcp.ErrPermission
	}
	c.turn.enter(len(body), c.last, c.s.closing)
	switch h.Type {
	case wire.TypeProfile:
		return nil, c.profiles.set(body, c.s.cfg.MaxContexts, &c.s.clients)
	case wire.TypeCreds:
		return nil, c.credentials(body)
	case wire.TypeFetch, wire.TypeHighResFetch:
		return r.fetch(h.Type == wire.TypeHighResFetch, body, &c.profiles)
	case wire.TypeDescReq:
		return r.desc(body)
	case wire.TypeDescIDs:
		return r.descIDs(body)
	case wire.TypeInstanceReq:
		return r.instances(body)
	case wire.TypeTextReq:
		return r.text(body)
	case wire.TypeLabelReq:
		return r.labels(body)
	case wire.TypePMNSIDs:
		return r.names(body)
	case wire.TypePMNSNames:
		return r.ids(body)
	case wire.TypePMNSChild:
		return r.children(body)
	case wire.TypePMNSTraverse:
		return r.traverse(body)
	case wire.TypeResult:
		return r.store(body)
	}
	return nil, pcp.ErrIPC // and the client may continue
}

// meetAgents introduces c to the agents that want to know of clients, before
// it asks them for anything, as C collectors do. It waits for no agent: an
// agent that is busy, or is added later, learns of c at c's next request to
// any agent.
func (c *client) meetAgents() {
	c.meetMore.Store(false)
	if len(c.pub.Attrs) == 0 || c.admission.denied() == access.OpAll {
		return
	}
	for _, ag := range c.s.agents.list() {
		if !c.req.Meet(ag.Agent) {
			c.meetMore.Store(true)
		}
	}
}

// end logs why c is dropped, unless the client left by itself, and forgets it.
func (c *client) end(r *request, err error) {
	c.turn.leave(0)
	if why := c.admission.ended(); why != nil {
		c.send(&wire.Error{Code: pcp.Code(why)}) // if it still listens
		err = why
	}
	if c.s.stopping() {
		err = nil
	}
	switch {
	case err == nil, errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), peercred.IsReset(err):
		c.s.journal.client("client left", c)
	default:
		kind := "dropped " + strconv.Itoa(int(pcp.Code(err)))
		c.s.lines.write(slog.LevelWarn, kind, "client dropped", "client", c.name, "err", err)
	}
	if c.s.events.On() {
		ev := trace.Event{Kind: trace.DelClient, Who: c.pub.ID, P1: int32(c.file())}
		if err != nil && !errors.Is(err, io.EOF) {
			ev.P2 = int32(pcp.Code(err))
		}
		c.s.events.Add(ev)
	}
	c.admission.depart() // before the client knows that it is gone, and may come again
	c.stream.Close()
	c.leave(r)
}

// leave notifies the agents that know of c that it is gone, and forgets c.
func (c *client) leave(r *request) {
	r.doing = leaving
	r.Leave()
	if r.Abandoned() {
		return // see takeOver
	}
	c.admission.depart()
	c.s.clients.forget(c)
	// The memory for fetches goes to the next client. It holds no values of a long
	// reply: putResult ensures that.
	j := r.job
	r.job = nil
	j.ids = nil
	j.fetch.Forget()
	j.out, c.out = c.out[:0], nil
	c.s.spares.leaveSmall(j)
}
