package wire

// New returns an empty PDU.
func New(t Type) PDU { return newPDU(t) }

// ReaderCap returns how much memory r holds.
func ReaderCap(r *Reader) int { return cap(r.buf) }
