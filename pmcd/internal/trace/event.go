package trace

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A Event is one event. The meaning of its numbers depends on its type.
type Event struct {
	Kind   Kind
	Who    int // a client's number, an agent's domain, or a file descriptor
	P1, P2 int32
	Text   string

	at time.Time
}

// A Kind is a type of event (TR_*).
type Kind uint8

// Kinds of events.
const (
	AddClient Kind = iota
	DelClient
	AddAgent
	DelAgent
	EOF
	WrongPDU
	XmitErr
	RecvTimeout
	RecvErr
	XmitPDU
	RecvPDU
)

// needs is the flag that has events of the kind recorded.
func (k Kind) needs() uint32 {
	if k == XmitPDU || k == RecvPDU {
		return PDU
	}
	return Conn
}

// appendEvents appends events in the layout of the C collector's log, all at
// once or, if they are written as they come, one by one.
func appendEvents(b []byte, events []Event, all bool) []byte {
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

// append writes the event.
func (ev *Event) append(b []byte) []byte {
	expected := func() string {
		if ev.P1 == -1 {
			return "NO"
		}
		return wire.Type(ev.P1).String()
	}
	switch ev.Kind {
	case AddClient:
		return fmt.Appendf(b, "New client: [%d] addr=%s, fd=%d, seq=%d", ev.Who, ev.Text, ev.P1, ev.P2)
	case DelClient:
		b = fmt.Appendf(b, "End client: [%d] fd=%d", ev.Who, ev.P1)
		if ev.P2 != 0 {
			b = fmt.Appendf(b, ", err=%d: %v", ev.P2, pcp.Error(ev.P2))
		}
		return b
	case AddAgent, DelAgent:
		what := "Add"
		if ev.Kind == DelAgent {
			what = "Drop"
		}
		b = fmt.Appendf(b, "%s PMDA: domain=%d, ", what, ev.Who)
		if ev.P1 == -1 && ev.P2 == -1 {
			return append(b, "DSO"...)
		}
		return fmt.Appendf(b, "infd=%d, outfd=%d", ev.P1, ev.P2)
	case EOF:
		return fmt.Appendf(b, "Premature EOF: expecting %s PDU, fd=%d", expected(), ev.Who)
	case WrongPDU:
		return fmt.Appendf(b, "Wrong PDU type: expecting %s PDU, fd=%d, got %v PDU", expected(), ev.Who, wire.Type(ev.P2))
	case XmitErr:
		return fmt.Appendf(b, "Send %v PDU failed: fd=%d, err=%d: %v", wire.Type(ev.P1), ev.Who, ev.P2, pcp.Error(ev.P2))
	case RecvTimeout:
		return fmt.Appendf(b, "Recv timeout: expecting %s PDU, fd=%d", expected(), ev.Who)
	case RecvErr:
		return fmt.Appendf(b, "Recv error: expecting %s PDU, fd=%d, err=%d: %v", expected(), ev.Who, ev.P2, pcp.Error(ev.P2))
	case RecvPDU:
		return fmt.Appendf(b, "Recv: %v PDU, fd=%d, len=%d", wire.Type(ev.P1), ev.Who, ev.P2)
	}
	b = fmt.Appendf(b, "Xmit: %v PDU, fd=%d", wire.Type(ev.P1), ev.Who)
	switch wire.Type(ev.P1) {
	case wire.TypeError:
		b = fmt.Appendf(b, ", err=%d: %v", ev.P2, pcp.Error(ev.P2))
	case wire.TypeTextReq, wire.TypeText:
		b = fmt.Appendf(b, ", id=0x%x", uint32(ev.P2))
	case wire.TypeDescReq, wire.TypeDesc:
		b = fmt.Appendf(b, ", pmid=%v", pcp.PMID(ev.P2))
	case wire.TypeInstanceReq, wire.TypeInstance:
		b = fmt.Appendf(b, ", indom=%v", pcp.InDom(ev.P2))
	case wire.TypePMNSNames, wire.TypePMNSIDs, wire.TypeFetch, wire.TypeHighResFetch,
		wire.TypeResult, wire.TypeHighResResult, wire.TypeDescs:
		b = fmt.Appendf(b, ", numpmid=%d", ev.P2)
	case wire.TypeCreds:
		b = fmt.Appendf(b, ", numcreds=%d", ev.P2)
	}
	return b
}

// File returns the file descriptor of a connection, or of the connection it
// wraps. If there is none, it returns -1.
func File(conn any) int {
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
