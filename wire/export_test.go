package wire

// New returns an empty PDU.
func New(t Type) PDU { return newPDU(t) }

// ReaderCap returns the size of r's memory.
func ReaderCap(r *Reader) int { return cap(r.buf) }

// AppendBody returns the encoding of the body of a PDU.
func AppendBody(p PDU) []byte { return p.appendBody(nil) }
