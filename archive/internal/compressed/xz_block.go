package compressed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"slices"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/compressed/internal/lzma2"
)

// xzMaxDict is the largest dictionary of a block.
const xzMaxDict = 256 << 20

// xzStep is the number of bytes decoded before others can use them.
const xzStep = 256 << 10

func errXZ(off int64, format string, args ...any) error {
	return fmt.Errorf("xz: offset %d: %s: %w", off, fmt.Sprintf(format, args...), pcp.ErrLogRec)
}

// An xzDecoder decodes one block, bit by bit.
type xzDecoder struct {
	f       io.ReaderAt
	b       *xzBlock
	lz      lzma2.Decoder
	dict    int
	sum     hash.Hash // nil if there is no known check
	sumSize int
	done    int64 // decoded length of the contents
}

// open starts a block.
func (d *xzDecoder) open(f io.ReaderAt, b *xzBlock) error {
	size, dict, err := b.header(f)
	if err != nil {
		return err
	}
	d.f, d.b, d.done = f, b, 0
	d.sum, d.sumSize = xzCheck(b.check)
	n := b.size - int64(size) - int64(d.sumSize)
	if n <= 0 {
		return errXZ(b.off, "block of %d bytes", b.size)
	}
	// A dictionary larger than the contents is useless.
	d.dict = int(max(1, min(dict, b.length)))
	d.lz.Reset(io.NewSectionReader(f, b.off+int64(size), n), d.dict)
	return nil
}

// room returns the number of bytes that the next step may write.
func (d *xzDecoder) room() (int, error) {
	n, err := d.lz.Next()
	if err == io.EOF {
		return 0, errXZ(d.b.off, "block ends after %d of %d bytes", d.done, d.b.length)
	}
	if err != nil {
		return 0, errXZ(d.b.off, "after %d bytes: %v", d.done, err)
	}
	if int64(n) > d.b.length-d.done {
		return 0, errXZ(d.b.off, "block of more than %d bytes", d.b.length)
	}
	return n, nil
}

// step decodes some more behind the first n bytes of buf, which end with the
// dictionary, which must have the room returned by room. It returns the new
// length. It returns the last bytes of a block only if the check matches.
func (d *xzDecoder) step(buf []byte, n int) (int, error) {
	got, err := d.lz.Decode(buf, n, n+min(xzStep, int(d.b.length-d.done)))
	if err != nil {
		return n, errXZ(d.b.off, "after %d bytes: %v", d.done, err)
	}
	if d.sum != nil {
		d.sum.Write(buf[n:got])
	}
	d.done += int64(got - n)
	if d.done == d.b.length {
		if err := d.verify(); err != nil {
			return n, err
		}
	}
	return got, nil
}

func (d *xzDecoder) verify() error {
	if err := d.lz.End(); err != nil {
		return errXZ(d.b.off, "after %d bytes: %v", d.done, err)
	}
	if d.sum == nil {
		return nil
	}
	want := make([]byte, d.sumSize)
	if _, err := d.f.ReadAt(want, d.b.off+(d.b.size-int64(d.sumSize)+3)&^3); err != nil {
		return errXZ(d.b.off, "%v", err)
	}
	got := d.sum.Sum(nil)
	if d.b.check != xzSHA256 {
		slices.Reverse(got) // little-endian
	}
	if !bytes.Equal(got, want) {
		return errXZ(d.b.off, "check of a block")
	}
	return nil
}

// header reads the header of the block, and returns its size and that of the
// dictionary.
func (b *xzBlock) header(f io.ReaderAt) (size int, dict int64, err error) {
	head := make([]byte, min(b.size, 4<<8))
	if _, err := f.ReadAt(head, b.off); err != nil {
		return 0, 0, errXZ(b.off, "%v", err)
	}
	if size = (int(head[0]) + 1) * 4; size == 4 || size > len(head) {
		return 0, 0, errXZ(b.off, "no header of a block")
	}
	head = head[:size]
	if crc32.ChecksumIEEE(head[:size-4]) != binary.LittleEndian.Uint32(head[size-4:]) {
		return 0, 0, errXZ(b.off, "check of a block's header")
	}
	flags, rest, ok := head[1], head[2:size-4], true
	for _, bit := range []byte{0x40, 0x80} { // lengths, which are also in the index
		if flags&bit != 0 && ok {
			_, rest, ok = xzNumber(rest)
		}
	}
	if !ok || flags&0x3f != 0 || len(rest) < 3 || rest[0] != 0x21 || rest[1] != 1 {
		// Several filters, or one other than LZMA2, are for machine code.
		return 0, 0, fmt.Errorf("xz: offset %d: filters of a block are not supported: %w", b.off, pcp.ErrNYI)
	}
	dict = xzDict(rest[2])
	if dict < 0 || dict > xzMaxDict {
		return 0, 0, errXZ(b.off, "dictionary of %d bytes", dict)
	}
	return size, dict, nil
}

func xzDict(bits byte) int64 {
	if bits >= 40 {
		return -1
	}
	return int64(2|bits&1) << (bits/2 + 11)
}

const xzSHA256 = 10

var crc64Table = sync.OnceValue(func() *crc64.Table { return crc64.MakeTable(crc64.ECMA) })

// xzCheck returns the check of a type and its length; an unknown check is
// ignored.
func xzCheck(check byte) (hash.Hash, int) {
	switch check {
	case 1:
		return crc32.NewIEEE(), 4
	case 4:
		return crc64.New(crc64Table()), 8
	case xzSHA256:
		return sha256.New(), 32
	case 0:
		return nil, 0
	}
	return nil, 4 << ((check - 1) / 3)
}
