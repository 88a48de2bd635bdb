package pmcd

import (
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
)

// Flags of the event trace, of Config.Trace (TR_MASK_*).
const (
	TraceConn       = trace.Conn       // clients and agents that come and go, and failures
	TracePDU        = trace.PDU        // PDUs exchanged with them
	TraceUnbuffered = trace.Unbuffered // each event is logged at once
)

// maxTraceBuffers is how many events are kept at most; more are refused with
// pcp.ErrTooBig.
const maxTraceBuffers = 1 << 16

// TraceFlags returns the traced events.
func (s control) TraceFlags() uint32 { return s.events.Flags() }

// SetTraceFlags changes it: TraceConn, TracePDU and TraceUnbuffered, or'ed.
func (s control) SetTraceFlags(flags uint32) { s.events.SetFlags(flags) }

// TraceBuffers is how many events are kept for DumpTrace.
func (s control) TraceBuffers() int { return s.events.Size() }

// SetTraceBuffers changes it, and forgets the kept events.
func (s control) SetTraceBuffers(n int) error {
	switch {
	case n < 0:
		return pcp.ErrSign
	case n == 0: // the C collector divides by it
		return pcp.ErrBadStore
	case n > maxTraceBuffers:
		return pcp.ErrTooBig
	}
	s.events.Resize(n)
	return nil
}

// DumpTrace writes the events that are kept to Config.Report, and forgets them.
func (s control) DumpTrace() { s.events.Dump() }

// descriptorOf is trace.File as it appears in the log's tables.
func descriptorOf(conn any) string {
	if n := trace.File(conn); n >= 0 {
		return strconv.Itoa(n)
	}
	return ""
}
