package dbpmda

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/go-pcp/pcp/wire"
)

// traceSent prints a request being sent, if debug pdu is set: as bytes, or for an agent
// of this process as the function that it would call in C.
func (s *session) traceSent(p wire.PDU, from int32) {
	switch {
	case !s.debug["pdu"]:
	case s.conn.InProc:
		switch p.Type() {
		case wire.TypeDescReq:
			s.errorf("DSO desc()\n")
		case wire.TypeProfile:
			s.errorf("DSO profile()\n")
		case wire.TypeFetch:
			s.errorf("DSO fetch()\n")
		case wire.TypeInstanceReq:
			s.errorf("DSO instance()\n")
		}
	default:
		pdu := wire.Append(nil, from, p)
		s.errorf("[%d]pmXmitPDU: %v fd=%d len=%d%s\n", os.Getpid(), p.Type(), s.conn.Descriptor(), len(pdu), pduWords(pdu))
	}
}

// traceReceived shows an answer.
func (s *session) traceReceived(h wire.Header, body []byte) {
	if s.debug["pdu"] && !s.conn.InProc {
		pdu := append(wire.AppendHeader(nil, h), body...)
		s.errorf("[%d]pmGetPDU: %v fd=%d len=%d from=%d%s\n", os.Getpid(), h.Type, s.conn.Descriptor(), h.Len, h.From, pduWords(pdu))
	}
}

// pduWords formats the words of a PDU, eight a line, as the C library does: those of
// the header in host order, the others as in memory. The last is padded.
func pduWords(pdu []byte) string {
	for len(pdu)%4 != 0 {
		pdu = append(pdu, '~')
	}
	var b bytes.Buffer
	for i := 0; i < len(pdu); i += 4 {
		w := binary.NativeEndian.Uint32(pdu[i:])
		if i < wire.HeaderSize {
			w = binary.BigEndian.Uint32(pdu[i:])
		}
		if i%32 == 0 {
			fmt.Fprintf(&b, "\n%03d: ", i/4)
		}
		fmt.Fprintf(&b, "%8x ", w)
	}
	return b.String()
}
