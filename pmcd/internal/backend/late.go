package backend

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// lateFactor is the number of time limits after which an agent that answered earlier requests is dropped: five minutes at
// the usual limit. Reading all of 2,000 processes takes a minute on two processors with a load of 60.
const lateFactor = 60

// An agent that has answered requests and now does not answer in time is overdue: its request gets pcp.ErrAgain,
// and so do those that follow, if they do not get the last known answer. The connection stays as it is. When the answer
// comes it is read, so that the next one is taken for the next request, and dropped: its client has an answer already.
// If it does not come within lateFactor times the time limit, the agent is dropped and its process ended, as an agent
// is that has never answered any request.

// overdue makes the agent overdue if err means that it did not answer, or take its request, in time, and reports whether it
// did. Called by the holder of r.slot.
func (r *remote) overdue(err error) bool {
	if !r.answers || r.conn == nil || !errors.Is(err, pcp.ErrTimeout) || r.h.stopping() {
		return false
	}
	limit := r.h.Timeout()
	if limit <= 0 {
		limit = time.Minute // the limit was taken away just now
	}
	// The unread rest continues from the byte where it stopped.
	rest := r.out
	r.out = nil
	r.unsent = false
	r.ag.late.Store(true)
	r.h.Log.Warn("agent does not answer in time; its requests are refused until it does",
		"agent", r.ag.Name(), "timeout", limit, "dropped after", lateFactor*limit)
	conn, asked := r.conn, r.asked
	began := time.Now().Add(-limit)
	r.waiting.Go(func() { r.awaitLate(conn, asked, rest, began, lateFactor*limit) })
	return true
}

// awaitLate waits for an answer that is overdue. Until it is done no other goroutine reads or writes, as requests
// are refused.
func (r *remote) awaitLate(conn agentConn, asked wire.Type, rest []byte, began time.Time, limit time.Duration) {
	end := began.Add(limit)
	err := errors.Join(conn.SetReadDeadline(end), conn.SetWriteDeadline(end))
	if err == nil && len(rest) > 0 {
		_, err = conn.Write(rest)
	}
	var h wire.Header
	var body []byte
	if err == nil && asked != 0 {
		h, body, err = r.pdus.Next()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("agent did not answer within %v: %w", limit, pcp.ErrTimeout)
	} else if asked != 0 {
		h, body, err = r.received(h, body, err)
	}
	r.slot.acquire()
	defer r.slot.release()
	if r.conn == nil {
		return // dropped or stopped meanwhile
	}
	if err == nil && asked != 0 {
		if h, body, err = r.answered(asked, h, body, nil); err == nil && h.Type != replyType(asked) && h.Type != wire.TypeError {
			err = fmt.Errorf("agent answered a %v PDU with a %v PDU, late", asked, h.Type)
			r.dropLocked(err)
			return
		}
		var code pcp.Error
		if errors.As(err, &code) && !errors.As(err, new(*protocolError)) {
			err = nil // the answer is an error
		}
	}
	if err != nil {
		r.dropLocked(err)
		return
	}
	if h.Type == wire.TypeResult {
		var res wire.Result
		if res.DecodeBody(body) == nil {
			r.noteChanges(res.Time)
		}
	}
	r.ag.late.Store(false)
	r.h.Log.Warn("agent answers again", "agent", r.ag.Name(), "after", time.Since(began).Round(time.Millisecond))
}
