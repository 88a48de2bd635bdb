package trace

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp/wire"
)

// Flags of a Tracer (TR_MASK_*).
const (
	Conn       = 1 << 0 // clients and agents that come and go, and failures
	PDU        = 1 << 1 // PDUs exchanged with them
	Unbuffered = 1 << 8 // each event is logged at once

	// shown is set with the others while PDUs are shown.
	shown = 1 << 31
)

// DefaultSize is how many events a new Tracer keeps.
const DefaultSize = 20

// A Tracer keeps the latest events, and counts PDUs. While nothing is traced, an
// event costs one load of mask.
type Tracer struct {
	In, Out Counts // PDUs received and sent

	mask atomic.Uint32

	mu    sync.Mutex
	size  int     // how many events are kept
	ring  []Event // allocated with the first event
	count int     // events since the last dump
	log   io.Writer
}

// New returns a Tracer that writes its events to log.
func New(log io.Writer) *Tracer { return &Tracer{size: DefaultSize, log: log} }

// Flags returns the traced events.
func (t *Tracer) Flags() uint32 { return t.mask.Load() &^ shown }

// SetFlags changes it: Conn, PDU and Unbuffered, or'ed.
func (t *Tracer) SetFlags(flags uint32) { t.setMask(Conn|PDU|Unbuffered, flags) }

// Show sets whether each PDU is shown in hexadecimal, with its meaning.
func (t *Tracer) Show(on bool) {
	flags := uint32(0)
	if on {
		flags = shown
	}
	t.setMask(shown, flags)
}

// Showing reports whether PDUs are shown.
func (t *Tracer) Showing() bool { return t.mask.Load()&shown != 0 }

// setMask sets the flags that are in which to those of flags, and keeps the
// others.
func (t *Tracer) setMask(which, flags uint32) {
	for {
		old := t.mask.Load()
		if t.mask.CompareAndSwap(old, old&^which|flags&which) {
			return
		}
	}
}

// On reports whether anything is traced.
func (t *Tracer) On() bool { return t.mask.Load() != 0 }

// Add records an event, if events of its kind are traced.
func (t *Tracer) Add(ev Event) {
	mask := t.mask.Load()
	if mask&ev.Kind.needs() == 0 {
		return
	}
	ev.at = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ring == nil {
		t.ring = make([]Event, t.size)
	}
	t.ring[t.count%t.size] = ev
	t.count++
	if mask&Unbuffered != 0 {
		t.dumpLocked()
	}
}

// Dump writes the events that are kept, and forgets them.
func (t *Tracer) Dump() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dumpLocked()
}

func (t *Tracer) dumpLocked() {
	events := make([]Event, 0, min(t.count, t.size))
	for i := max(0, t.count-t.size); i < t.count; i++ {
		events = append(events, t.ring[i%t.size])
	}
	t.count = 0
	t.log.Write(appendEvents(nil, events, t.mask.Load()&Unbuffered == 0))
}

// Size is how many events are kept.
func (t *Tracer) Size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

// Resize forgets the events that are kept, and keeps n from now on.
func (t *Tracer) Resize(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size, t.ring, t.count = n, nil, 0
}

// pduKinds is how many types of PDUs are counted (PDU_MAX + 1).
const pduKinds = 0x18

// Counts counts PDUs by their type.
type Counts [pduKinds]atomic.Uint64

// Add counts a PDU.
func (c *Counts) Add(t wire.Type) {
	if i := uint32(t) - uint32(wire.TypeError); i < pduKinds {
		c[i].Add(1)
	}
}

// Sent traces a PDU that leaves by a file descriptor.
func (t *Tracer) Sent(fd int, p wire.PDU) {
	if t.Showing() {
		t.show("Xmit", fd, wire.Append(nil, wire.FromAnon, p))
	}
	ev := Event{Kind: XmitPDU, Who: fd, P1: int32(p.Type())}
	switch p := p.(type) {
	case *wire.Error:
		ev.P2 = int32(p.Code)
	case *wire.TextReq:
		ev.P2 = int32(p.Ident)
	case *wire.Text:
		ev.P2 = int32(p.Ident)
	case *wire.DescReq:
		ev.P2 = int32(p.PMID)
	case *wire.Desc:
		ev.P2 = int32(p.Desc.PMID)
	case *wire.InstanceReq:
		ev.P2 = int32(p.InDom)
	case *wire.Instance:
		ev.P2 = int32(p.InDom)
	case *wire.PMNSNames:
		ev.P2 = int32(len(p.Names))
	case *wire.PMNSIDs:
		ev.P2 = int32(len(p.PMIDs))
	case *wire.Fetch:
		ev.P2 = int32(len(p.PMIDs))
	case *wire.Result:
		ev.P2 = int32(len(p.Sets))
	case *wire.Descs:
		ev.P2 = int32(len(p.Descs))
	case *wire.Creds:
		ev.P2 = int32(len(p.Creds))
	}
	t.Add(ev)
}

// Received traces a PDU that came.
func (t *Tracer) Received(fd int, h wire.Header, body []byte) {
	if t.Showing() {
		t.show("Recv", fd, append(wire.AppendHeader(nil, h), body...))
	}
	t.Add(Event{Kind: RecvPDU, Who: fd, P1: int32(h.Type), P2: int32(wire.HeaderSize + len(body))})
}

// show writes a PDU in hexadecimal, with its meaning.
func (t *Tracer) show(what string, fd int, pdu []byte) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: fd=%d\n", what, fd)
	wire.Dump(&b, pdu)
	t.log.Write(b.Bytes())
}
