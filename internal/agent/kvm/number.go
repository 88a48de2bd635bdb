package kvm

import (
	"bytes"

	"github.com/go-pcp/pcp/internal/ctext"
)

// maxLine is the number of bytes that the C agent reads of a file.
const maxLine = 255

// number reads the number at the start of the first line, as strtoull with base 0 does: 0x1f
// and 017 are 31 and 15, and anything else is 0.
func number(b []byte) uint64 {
	line, _, _ := bytes.Cut(b[:min(len(b), maxLine)], []byte("\n"))
	v, _, _ := ctext.Strtoull(line, 0)
	return v
}
