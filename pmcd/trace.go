package pmcd

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// Flags of the event trace, of Config.Trace and Server.SetTraceFlags (TR_MASK_*).
const (
	TraceConn       = 1 << 0 // clients and agents that come and go, and what goes wrong
	TracePDU        = 1 << 1 // PDUs exchanged with them
	TraceUnbuffered = 1 << 8 // each event goes to the log at once
)

const (
	// traceDebug is set with the others while PDUs are shown by DebugPDU.
	traceDebug = 1 << 31

	defaultTraceBuffers = 20
	// maxTraceBuffers is how many events are kept at most; more are refused
	// with pcp.ErrTooBig.
	maxTraceBuffers = 1 << 16
)

// A tracer keeps the latest events. While it is off, an event costs one load of
// mask.
type tracer struct {
	mask atomic.Uint32

	mu    sync.Mutex
	size  int          // how many events are kept
	ring  []traceEvent // allocated with the first event
	count int          // events since the last dump
	out   io.Writer
}

// A traceEvent is one event. What its numbers mean depends on its type.
type traceEvent struct {
	at     time.Time
	kind   traceKind
	who    int // a client's number, an agent's domain, or a file descriptor
	p1, p2 int32
	text   string
}

type traceKind uint8

// Types of events (TR_*).
const (
	traceAddClient traceKind = iota
	traceDelClient
	traceAddAgent
	traceDelAgent
	traceEOF
	traceWrongPDU
	traceXmitErr
	traceRecvTimeout
	traceRecvErr
	traceXmitPDU
	traceRecvPDU
)

// needs is the flag that has events of the kind recorded.
func (k traceKind) needs() uint32 {
	if k == traceXmitPDU || k == traceRecvPDU {
		return TracePDU
	}
	return TraceConn
}

// on reports whether anything is traced.
func (t *tracer) on() bool { return t.mask.Load() != 0 }

// add records an event, if events of its kind are traced.
func (t *tracer) add(ev traceEvent) {
	mask := t.mask.Load()
	if mask&ev.kind.needs() == 0 {
		return
	}
	ev.at = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ring == nil {
		t.ring = make([]traceEvent, t.size)
	}
	t.ring[t.count%t.size] = ev
	t.count++
	if mask&TraceUnbuffered != 0 {
		t.dumpLocked()
	}
}

// dump writes the events that are kept, and forgets them.
func (t *tracer) dump() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dumpLocked()
}

func (t *tracer) dumpLocked() {
	events := make([]traceEvent, 0, min(t.count, t.size))
	for i := max(0, t.count-t.size); i < t.count; i++ {
		events = append(events, t.ring[i%t.size])
	}
	t.count = 0
	t.out.Write(appendTrace(nil, events, t.mask.Load()&TraceUnbuffered == 0))
}

// resize forgets the events that are kept, and keeps n from now on.
func (t *tracer) resize(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size, t.ring, t.count = n, nil, 0
}

// TraceFlags says what is traced.
func (s *Server) TraceFlags() uint32 { return s.events.mask.Load() &^ traceDebug }

// SetTraceFlags changes it: TraceConn, TracePDU and TraceUnbuffered, or'ed.
func (s *Server) SetTraceFlags(flags uint32) {
	s.events.setMask(TraceConn|TracePDU|TraceUnbuffered, flags)
}

// setMask sets the flags that are in which to those of flags, and keeps the
// others.
func (t *tracer) setMask(which, flags uint32) {
	for {
		old := t.mask.Load()
		if t.mask.CompareAndSwap(old, old&^which|flags&which) {
			return
		}
	}
}

// TraceBuffers is how many events are kept for DumpTrace.
func (s *Server) TraceBuffers() int {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	return s.events.size
}

// SetTraceBuffers changes it, and forgets what was kept.
func (s *Server) SetTraceBuffers(n int) error {
	switch {
	case n < 0:
		return pcp.ErrSign
	case n == 0: // the C collector divides by it
		return pcp.ErrBadStore
	case n > maxTraceBuffers:
		return pcp.ErrTooBig
	}
	s.events.resize(n)
	return nil
}

// DumpTrace writes the events that are kept to Config.Report, and forgets them.
func (s *Server) DumpTrace() { s.events.dump() }

// sent traces a PDU that leaves by a file descriptor.
func (t *tracer) sent(fd int, p wire.PDU) {
	if t.mask.Load()&traceDebug != 0 {
		t.show("Xmit", fd, wire.Append(nil, wire.FromAnon, p))
	}
	ev := traceEvent{kind: traceXmitPDU, who: fd, p1: int32(p.Type())}
	switch p := p.(type) {
	case *wire.Error:
		ev.p2 = int32(p.Code)
	case *wire.TextReq:
		ev.p2 = int32(p.Ident)
	case *wire.Text:
		ev.p2 = int32(p.Ident)
	case *wire.DescReq:
		ev.p2 = int32(p.PMID)
	case *wire.Desc:
		ev.p2 = int32(p.Desc.PMID)
	case *wire.InstanceReq:
		ev.p2 = int32(p.InDom)
	case *wire.Instance:
		ev.p2 = int32(p.InDom)
	case *wire.PMNSNames:
		ev.p2 = int32(len(p.Names))
	case *wire.PMNSIDs:
		ev.p2 = int32(len(p.PMIDs))
	case *wire.Fetch:
		ev.p2 = int32(len(p.PMIDs))
	case *wire.Result:
		ev.p2 = int32(len(p.Sets))
	case *wire.Descs:
		ev.p2 = int32(len(p.Descs))
	case *wire.Creds:
		ev.p2 = int32(len(p.Creds))
	}
	t.add(ev)
}

// received traces a PDU that came.
func (t *tracer) received(fd int, h wire.Header, body []byte) {
	if t.mask.Load()&traceDebug != 0 {
		t.show("Recv", fd, append(wire.AppendHeader(nil, h), body...))
	}
	t.add(traceEvent{kind: traceRecvPDU, who: fd, p1: int32(h.Type), p2: int32(wire.HeaderSize + len(body))})
}

// show writes a PDU in hexadecimal, with its meaning.
func (t *tracer) show(what string, fd int, pdu []byte) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: fd=%d\n", what, fd)
	wire.Dump(&b, pdu)
	t.out.Write(b.Bytes())
}

// appendTrace appends events in the layout of the C collector's log, all at
// once or, if they are written as they come, one by one.
func appendTrace(b []byte, events []traceEvent, all bool) []byte {
	if len(events) == 0 {
		if all {
			b = append(b, "\n->PMCD event trace: "...)
		}
		b = append(b, "<empty>\n"...)
		if all {
			b = append(b, '\n')
		}
		return b
	}
	last := ""
	if all {
		b = append(b, "\n->PMCD event trace: starting at "...)
		b = append(b, events[0].at.Format(time.ANSIC)...)
		b = append(b, '\n')
		last = events[0].at.Format(time.TimeOnly)
	}
	for i := range events {
		b = append(b, "->"...)
		if now := events[i].at.Format(time.TimeOnly); now != last {
			b = append(b, now+" "...)
			last = now
		} else {
			b = append(b, "         "...)
		}
		b = events[i].append(b)
		b = append(b, '\n')
	}
	if all {
		b = append(b, '\n')
	}
	return b
}

// append writes what happened.
func (ev *traceEvent) append(b []byte) []byte {
	expected := func() string {
		if ev.p1 == -1 {
			return "NO"
		}
		return wire.Type(ev.p1).String()
	}
	switch ev.kind {
	case traceAddClient:
		return fmt.Appendf(b, "New client: [%d] addr=%s, fd=%d, seq=%d", ev.who, ev.text, ev.p1, ev.p2)
	case traceDelClient:
		b = fmt.Appendf(b, "End client: [%d] fd=%d", ev.who, ev.p1)
		if ev.p2 != 0 {
			b = fmt.Appendf(b, ", err=%d: %v", ev.p2, pcp.Error(ev.p2))
		}
		return b
	case traceAddAgent, traceDelAgent:
		what := "Add"
		if ev.kind == traceDelAgent {
			what = "Drop"
		}
		b = fmt.Appendf(b, "%s PMDA: domain=%d, ", what, ev.who)
		if ev.p1 == -1 && ev.p2 == -1 {
			return append(b, "DSO"...)
		}
		return fmt.Appendf(b, "infd=%d, outfd=%d", ev.p1, ev.p2)
	case traceEOF:
		return fmt.Appendf(b, "Premature EOF: expecting %s PDU, fd=%d", expected(), ev.who)
	case traceWrongPDU:
		return fmt.Appendf(b, "Wrong PDU type: expecting %s PDU, fd=%d, got %v PDU", expected(), ev.who, wire.Type(ev.p2))
	case traceXmitErr:
		return fmt.Appendf(b, "Send %v PDU failed: fd=%d, err=%d: %v", wire.Type(ev.p1), ev.who, ev.p2, pcp.Error(ev.p2))
	case traceRecvTimeout:
		return fmt.Appendf(b, "Recv timeout: expecting %s PDU, fd=%d", expected(), ev.who)
	case traceRecvErr:
		return fmt.Appendf(b, "Recv error: expecting %s PDU, fd=%d, err=%d: %v", expected(), ev.who, ev.p2, pcp.Error(ev.p2))
	case traceRecvPDU:
		return fmt.Appendf(b, "Recv: %v PDU, fd=%d, len=%d", wire.Type(ev.p1), ev.who, ev.p2)
	}
	b = fmt.Appendf(b, "Xmit: %v PDU, fd=%d", wire.Type(ev.p1), ev.who)
	switch wire.Type(ev.p1) {
	case wire.TypeError:
		b = fmt.Appendf(b, ", err=%d: %v", ev.p2, pcp.Error(ev.p2))
	case wire.TypeTextReq, wire.TypeText:
		b = fmt.Appendf(b, ", id=0x%x", uint32(ev.p2))
	case wire.TypeDescReq, wire.TypeDesc:
		b = fmt.Appendf(b, ", pmid=%v", pcp.PMID(ev.p2))
	case wire.TypeInstanceReq, wire.TypeInstance:
		b = fmt.Appendf(b, ", indom=%v", pcp.InDom(ev.p2))
	case wire.TypePMNSNames, wire.TypePMNSIDs, wire.TypeFetch, wire.TypeHighResFetch,
		wire.TypeResult, wire.TypeHighResResult, wire.TypeDescs:
		b = fmt.Appendf(b, ", numpmid=%d", ev.p2)
	case wire.TypeCreds:
		b = fmt.Appendf(b, ", numcreds=%d", ev.p2)
	}
	return b
}

// fileOf returns the file descriptor of a connection, or of what it wraps. If
// there is none, it returns -1.
func fileOf(conn any) int {
	if w, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = w.NetConn()
	}
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return -1
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1
	}
	n := -1
	raw.Control(func(fd uintptr) { n = int(fd) })
	return n
}

// descriptorOf is fileOf as it stands in the log's tables.
func descriptorOf(conn any) string {
	if n := fileOf(conn); n >= 0 {
		return strconv.Itoa(n)
	}
	return ""
}

// DumpClients writes the table of clients to Config.Report.
func (s *Server) DumpClients() {
	var b strings.Builder
	fmt.Fprintf(&b, "\n->Current PMCD clients at %s\n", time.Now().Format(time.ANSIC))
	s.listClients(&b)
	io.WriteString(s.cfg.Report, b.String())
}
