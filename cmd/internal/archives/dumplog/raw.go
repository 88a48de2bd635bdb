package dumplog

import (
	"bufio"
	"encoding/binary"
	"io"
)

// raw dumps the records of a file in hex, as far as its lengths make sense.
func (d *dumper) raw(f io.Reader) {
	const digits = "0123456789abcdef"
	in := bufio.NewReaderSize(f, 1<<16)
	off := int64(0)
	var word [4]byte
	for {
		if _, err := io.ReadFull(in, word[:]); err != nil {
			return
		}
		n := int32(binary.BigEndian.Uint32(word[:]))
		d.printf("Dump ... record len: %d @ offset: %d", n, off)
		off += 4
		for i := int32(0); i < n-8; i++ {
			c, err := in.ReadByte()
			if err != nil {
				d.printf("Unexpected EOF\n")
				break
			}
			off++
			if i%32 == 0 {
				d.b = append(d.b, '\n')
			}
			if i%4 == 0 {
				d.b = append(d.b, ' ')
			}
			d.b = append(d.b, digits[c>>4], digits[c&15])
			d.flush(d.writeAt)
		}
		d.b = append(d.b, '\n')
		k, err := io.ReadFull(in, word[:])
		if err != nil {
			if k == 0 {
				d.printf("Unexpected EOF\n")
			}
			return
		}
		off += 4
		if tail := int32(binary.BigEndian.Uint32(word[:])); tail != n {
			d.printf("Trailer botch: %d != %d\n", tail, n)
			return
		}
	}
}
