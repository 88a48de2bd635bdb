package wire

// ReaderCap returns how much memory r holds.
func ReaderCap(r *Reader) int { return cap(r.buf) }
