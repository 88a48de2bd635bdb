package pmcd

import (
	"github.com/go-pcp/pcp/pmcd/internal/backend"
	"github.com/go-pcp/pcp/wire"
)

// A request is the part of a client that one goroutine owns while it asks
// agents: the right to ask them, the client's PDU, and memory. An agent that
// hangs keeps it; the client continues with its successor.
//
// Its methods answer one kind of request each. They return the reply; serve sends
// it, or the error in its place, if the request is not abandoned by then.
type request struct {
	backend.Caller
	s     *Server
	pdu   wire.Type // the client's PDU
	doing work
	job   *fetchJob

	// PDUs that come and go often enough to be worth reusing.
	values wire.Fetch
	descs  wire.DescIDs
	result wire.Result // filled from job when it is sent
}

// A work is the work to be finished if an agent hangs; see takeOver.
type work int

const (
	asking work = iota
	fetching
	leaving
)

// successor returns a request for the goroutine that continues.
func (r *request) successor() *request {
	return &request{s: r.s, Caller: r.Caller.Successor(), pdu: r.pdu, job: r.job}
}

// A malformedError means that a request could not be decoded.
type malformedError struct{ error }

func (e *malformedError) Unwrap() error { return e.error }

// decode decodes a request.
func decode(p wire.PDU, body []byte) error {
	if err := p.DecodeBody(body); err != nil {
		return &malformedError{err}
	}
	return nil
}
