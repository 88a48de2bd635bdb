package backend

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A remote is an agent behind a pair of pipes or a socket. One exchange runs at a
// time. An agent that breaks off, sends an answer that does not match the request,
// or does not answer at all is dropped: its connection is closed and its metrics
// are pcp.ErrNoAgent from then on. An agent that only answers late is not; see
// late.go.
type remote struct {
	ag    *Agent
	h     *Host
	flags wire.Features // of its credentials; set before the first request

	slot    slot      // held during an exchange; guards the following fields
	conn    agentConn // nil: dropped
	pdus    *wire.Reader
	out     []byte
	result  wire.Result
	profile sentProfile
	unsent  bool      // the connection broke at a request that the agent did not take
	answers bool      // it has answered a request
	asked   wire.Type // the last request; 0 for one without a reply
	// toldReady is set if the agent reported unasked that it is ready.
	toldReady bool

	link        atomic.Pointer[agentConn] // conn, for callers that cannot wait for slot
	inFD, outFD int                       // the files to and from the agent; -1 for none

	proc    agentProcess
	exited  chan struct{} // closed when proc has been waited for; nil without one
	ending  error         // how proc ended; set before exited is closed
	killed  atomic.Bool   // proc was not given time to end by itself
	waiting sync.WaitGroup
}

// An agentConn is a connection to an agent.
type agentConn interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// A pipePair is the connection to a pipe agent.
type pipePair struct {
	in  *os.File // to the agent's standard input
	out *os.File // from its standard output
}

func (p pipePair) Read(b []byte) (int, error)            { return p.out.Read(b) }
func (p pipePair) Write(b []byte) (int, error)           { return p.in.Write(b) }
func (p pipePair) SyscallConn() (syscall.RawConn, error) { return p.out.SyscallConn() }

func (p pipePair) Close() error                       { return errors.Join(p.in.Close(), p.out.Close()) }
func (p pipePair) SetReadDeadline(t time.Time) error  { return p.out.SetReadDeadline(t) }
func (p pipePair) SetWriteDeadline(t time.Time) error { return p.in.SetWriteDeadline(t) }

// A sentProfile is the profile that the agent has at the moment.
type sentProfile struct {
	client  *pmda.Client
	context int32
	profile *pcp.Profile
}

func newRemote(h *Host, ag *Agent) *remote {
	return &remote{h: h, ag: ag, slot: make(slot, 1), inFD: -1, outFD: -1}
}

// maxKeep is how much memory is kept of a long request.
const maxKeep = 1 << 16

// A slot is the right to use the connection to an agent. Unlike a mutex it
// belongs to no goroutine: sendFetch acquires it for a part, and finish, in
// the goroutine that reads the answer, releases it for that part. All other
// functions that acquire it release it before they return.
type slot chan struct{}

func (s slot) acquire() { s <- struct{}{} }

func (s slot) release() { <-s }

// tryAcquire acquires s if it is free, and reports whether it was.
func (s slot) tryAcquire() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

// connected makes conn the connection. Called by the holder of r.slot, or before
// other goroutines know r.
func (r *remote) connected(conn agentConn) {
	r.conn, r.toldReady = conn, false
	r.link.Store(&conn)
	if p, ok := conn.(pipePair); ok {
		r.inFD, r.outFD = trace.File(p.in), trace.File(p.out)
		return
	}
	r.inFD = trace.File(conn)
	r.outFD = r.inFD
}

// A protocolError means that an agent broke the protocol, and must be dropped.
type protocolError struct{ error }

func (e *protocolError) Unwrap() error { return e.error }

// errAgentEOF means that an agent ended the connection between two PDUs.
var errAgentEOF = fmt.Errorf("agent closed its connection: %w", pcp.ErrIPC)

func broken(code pcp.Error, format string, args ...any) error {
	return &protocolError{fmt.Errorf(format+": %w", append(args, code)...)}
}

// exchange sends the bytes in r.out and then p, and reads the reply. Called by the
// holder of r.slot. The body is valid until the next exchange. After a *protocolError
// the agent has been dropped.
func (r *remote) exchange(from int32, p wire.PDU) (wire.Header, []byte, error) {
	h, body, err := r.tryExchange(from, p)
	return h, body, r.judge(err)
}

// judge drops the agent if err is a *protocolError, unless the agent is only late, and returns the error for the
// client. Called by the holder of r.slot.
func (r *remote) judge(err error) error {
	var broke *protocolError
	if errors.As(err, &broke) {
		if r.overdue(err) {
			return pcp.ErrAgain
		}
		r.dropLocked(broke.error)
		return pcp.Code(err)
	}
	return err
}

func (r *remote) tryExchange(from int32, p wire.PDU) (wire.Header, []byte, error) {
	if r.conn == nil {
		r.out = r.out[:0]
		return wire.Header{}, nil, pcp.ErrNoAgent
	}
	r.asked = p.Type()
	if err := r.setDeadlines(); err != nil {
		return wire.Header{}, nil, err
	}
	if err := r.send(from, p); err != nil {
		r.traceError(trace.XmitErr, p.Type(), err)
		return wire.Header{}, nil, err
	}
	h, body, err := r.receive()
	return r.answered(p.Type(), h, body, err)
}

// answered looks at the outcome of receive, after a request of type t.
func (r *remote) answered(t wire.Type, h wire.Header, body []byte, err error) (wire.Header, []byte, error) {
	if err != nil {
		switch code := pcp.Code(err); {
		case code == pcp.ErrTimeout:
			r.traceError(trace.RecvTimeout, replyType(t), nil)
		case errors.Is(err, errAgentEOF):
			r.traceError(trace.EOF, replyType(t), nil)
		default:
			r.traceError(trace.RecvErr, replyType(t), err)
		}
		return h, nil, err
	}
	before := r.answers
	r.answers = true
	if h.Type != wire.TypeError {
		return h, body, nil
	}
	var e wire.Error
	if err := e.DecodeBody(body); err != nil {
		return h, nil, &protocolError{err}
	}
	switch e.Code {
	case pcp.ErrPMDANotReady:
		if r.ag.notReady.Swap(true) {
			return h, nil, broken(pcp.ErrIPC, "agent reported twice that it is not ready")
		}
		r.waiting.Go(r.awaitReady)
		return h, nil, pcp.ErrAgain
	case pcp.ErrPMDAReady:
		if r.toldReady {
			return h, nil, broken(pcp.ErrIPC, "agent reported twice that it is ready")
		}
		// An agent made for the word notready reports this unasked.
		r.toldReady, r.answers = true, before // it does not answer the request
		r.h.Log.Warn("agent reports that it is ready, which its line of pmcd.conf does not expect: add the word notready behind binary", "agent", r.ag.Name())
		h, body, err = r.receive()
		return r.answered(t, h, body, err)
	}
	if e.Code >= 0 {
		return h, body, nil // the reply to a store
	}
	r.traceError(trace.RecvErr, replyType(t), e.Code)
	return h, nil, e.Code
}

// traceError traces an error with a PDU of a type.
func (r *remote) traceError(kind trace.Kind, t wire.Type, err error) {
	if !r.h.Trace.On() {
		return
	}
	ev := trace.Event{Kind: kind, Who: r.outFD, P1: int32(t)}
	if kind == trace.XmitErr {
		ev.Who = r.inFD
	}
	if err != nil {
		ev.P2 = int32(pcp.Code(err))
	}
	r.h.Trace.Add(ev)
}

// replyType is the type of the reply to a request.
func replyType(t wire.Type) wire.Type {
	switch t {
	case wire.TypeFetch:
		return wire.TypeResult
	case wire.TypeDescReq:
		return wire.TypeDesc
	case wire.TypeInstanceReq:
		return wire.TypeInstance
	case wire.TypeTextReq:
		return wire.TypeText
	case wire.TypeLabelReq:
		return wire.TypeLabel
	case wire.TypePMNSNames:
		return wire.TypePMNSIDs
	case wire.TypePMNSIDs, wire.TypePMNSChild, wire.TypePMNSTraverse:
		return wire.TypePMNSNames
	}
	return wire.TypeError
}

func (r *remote) setDeadlines() error { return r.setDeadlinesFrom(time.Now()) }

// setDeadlinesFrom gives the agent its time for an exchange that began at start.
func (r *remote) setDeadlinesFrom(start time.Time) error {
	var end time.Time
	if timeout := r.h.Timeout(); timeout > 0 {
		end = start.Add(timeout)
	}
	if err := errors.Join(r.conn.SetReadDeadline(end), r.conn.SetWriteDeadline(end)); err != nil {
		return &protocolError{err}
	}
	return nil
}

// send writes the bytes in r.out and then p.
func (r *remote) send(from int32, p wire.PDU) error {
	if p != nil {
		r.queue(from, p)
	}
	n, err := r.conn.Write(r.out)
	if r.out = r.out[:copy(r.out, r.out[n:])]; len(r.out) == 0 && cap(r.out) > maxKeep {
		r.out = nil
	}
	if err == nil {
		return nil
	}
	r.unsent = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return broken(pcp.ErrTimeout, "agent does not take a request")
	}
	return broken(pcp.ErrIPC, "send to agent: %v", err)
}

// queue puts a PDU before the PDU that exchange will send.
func (r *remote) queue(from int32, p wire.PDU) {
	r.h.Trace.Out.Add(p.Type())
	if r.h.Trace.On() && (p.Type() != wire.TypeAttr || r.h.Trace.Showing()) {
		// As in C attributes are not traced: each client brings some to all agents.
		r.h.Trace.Sent(r.inFD, p)
	}
	r.out = wire.Append(r.out, from, p)
}

func (r *remote) receive() (wire.Header, []byte, error) { return r.received(r.pdus.Next()) }

// received interprets the outcome of a read.
func (r *remote) received(h wire.Header, body []byte, err error) (wire.Header, []byte, error) {
	switch {
	case err == nil:
		r.h.Trace.In.Add(h.Type)
		if r.h.Trace.On() {
			r.h.Trace.Received(r.outFD, h, body)
		}
		return h, body, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return h, nil, broken(pcp.ErrTimeout, "agent did not answer within %v", r.h.Timeout())
	case errors.Is(err, io.EOF):
		return h, nil, &protocolError{errAgentEOF}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return h, nil, broken(pcp.ErrIPC, "agent broke off in the middle of a PDU")
	}
	return h, nil, broken(pcp.ErrIPC, "read from agent: %v", err)
}

// ask makes one exchange for a client and decodes the reply into answer.
func (r *remote) ask(c *Caller, req, answer wire.PDU) error {
	r.slot.acquire()
	defer r.slot.release()
	if err := r.ag.askable(c); err != nil {
		return err
	}
	r.introduce(c)
	h, body, err := r.exchange(int32(c.client.ID), req)
	if err != nil {
		return lost(err)
	}
	return r.decode(h, body, req, answer)
}

// lost returns the error for a client whose request, other than a fetch, was not answered in time by
// an agent that has never answered any. As in C the error is that the agent broke the protocol: the
// C library would take a time-out for one of the collector, and reconnect.
func lost(err error) error {
	if errors.Is(err, pcp.ErrTimeout) {
		return pcp.ErrIPC
	}
	return err
}

func (r *remote) decode(h wire.Header, body []byte, req, answer wire.PDU) error {
	if h.Type != answer.Type() {
		r.h.Trace.Add(trace.Event{Kind: trace.WrongPDU, Who: r.outFD, P1: int32(answer.Type()), P2: int32(h.Type)})
		r.dropLocked(fmt.Errorf("agent answered a %v PDU with a %v PDU", req.Type(), h.Type))
		return pcp.ErrIPC
	}
	if err := answer.DecodeBody(body); err != nil {
		r.dropLocked(fmt.Errorf("agent's %v PDU: %w", h.Type, err))
		return pcp.ErrIPC
	}
	return nil
}

// introduce queues the attributes of a client that the agent has not seen.
func (r *remote) introduce(c *Caller) {
	if !c.meet(r.ag) {
		return
	}
	if r.flags&(wire.FeatureAuth|wire.FeatureContainer) == 0 {
		return
	}
	for key, value := range c.client.Attributes() {
		r.queue(int32(c.client.ID), &wire.Attr{Attr: key, Value: append([]byte(value), 0)})
	}
}

// greet implements link, if the agent is idle.
func (r *remote) greet(c *Caller) bool {
	if !r.ag.connected.Load() {
		return true // flags are not known before it is
	}
	if r.flags&(wire.FeatureAuth|wire.FeatureContainer) == 0 || c.knows(r.ag) {
		return true
	}
	if !r.slot.tryAcquire() {
		return false
	}
	defer r.slot.release()
	if r.conn == nil || r.ag.Usable() != nil {
		return r.conn == nil
	}
	r.introduce(c)
	r.asked = 0
	err := r.setDeadlines()
	if err == nil {
		err = r.send(int32(c.client.ID), nil)
	}
	r.judge(err)
	return true
}

// sendProfile queues a profile that the agent does not have.
func (r *remote) sendProfile(c *Caller, context int32, profile *pcp.Profile) {
	want := sentProfile{c.client, context, profile}
	if r.profile == want {
		return
	}
	r.queue(int32(c.client.ID), &wire.Profile{Context: context, Profile: *profile})
	r.profile = want
}

func (r *remote) Features() wire.Features { return r.flags }

// NameSpace implements link: names of agents in other processes are in files.
func (r *remote) NameSpace() *pmns.Tree { return nil }

// Waiting implements link: there is no queue to look into.
func (r *remote) Waiting() int { return 0 }

// rename implements link: nothing of the agent knows its name.
func (r *remote) rename(string) {}

// endContext sends the notice, which has no reply.
func (r *remote) endContext(c *Caller) {
	r.slot.acquire()
	defer r.slot.release()
	if r.profile.client == c.client {
		r.profile = sentProfile{}
	}
	if r.conn == nil || r.ag.notReady.Load() {
		return
	}
	if r.ag.late.Load() { // it learns of that before the next request
		r.queue(int32(c.client.ID), &wire.Error{Code: pcp.ErrNotConn})
		return
	}
	r.asked = 0
	err := r.setDeadlines()
	if err == nil {
		err = r.send(int32(c.client.ID), &wire.Error{Code: pcp.ErrNotConn})
	}
	r.judge(err)
}

// awaitReady waits until an agent that is not ready reports that it is.
func (r *remote) awaitReady() {
	r.slot.acquire()
	conn := r.conn
	r.slot.release()
	if conn == nil {
		return
	}
	conn.SetReadDeadline(time.Time{})
	h, body, err := r.receive() // no other goroutine reads meanwhile
	r.slot.acquire()
	defer r.slot.release()
	var e wire.Error
	switch {
	case r.conn == nil:
		return
	case err != nil:
	case h.Type != wire.TypeError:
		err = fmt.Errorf("agent that is not ready sent a %v PDU", h.Type)
	default:
		err = e.DecodeBody(body)
		if err == nil && e.Code != pcp.ErrPMDAReady {
			err = fmt.Errorf("agent that is not ready sent error %d", e.Code)
		}
	}
	if err != nil {
		r.dropLocked(err)
		return
	}
	r.ag.notReady.Store(false)
	r.h.Log.Info("agent is ready", "agent", r.ag.Name())
}
