package pmapi

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/go-pcp/pcp/wire"
)

// PDUCounts are the numbers of PDUs of each type; the index is the type less
// wire.TypeError (__pmPDUCntIn, __pmPDUCntOut).
type PDUCounts [wire.TypeDescs - wire.TypeError + 1]uint64

// A pduCounter counts PDUs in one direction.
type pduCounter [len(PDUCounts{})]atomic.Uint64

func (n *pduCounter) count(t wire.Type) {
	if i := t - wire.TypeError; i < wire.Type(len(n)) {
		n[i].Add(1)
	}
}

// countAll counts the PDUs that b consists of, which we encoded.
func (n *pduCounter) countAll(b []byte) {
	for len(b) >= wire.HeaderSize {
		n.count(wire.Type(binary.BigEndian.Uint32(b[4:])))
		b = b[binary.BigEndian.Uint32(b):]
	}
}

func (n *pduCounter) load() (counts PDUCounts) {
	for i := range n {
		counts[i] = n[i].Load()
	}
	return counts
}
