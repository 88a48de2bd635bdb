package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"os"
	"slices"
	"sort"
	"sync"

	"github.com/ulikunitz/xz/lzma"

	"github.com/go-pcp/pcp"
)

// xzBlockLimit is the length of a block, expanded, up to which blocks are
// expanded as they are needed.
const xzBlockLimit = 32 << 20

// xzMaxDict is the largest dictionary that a block may ask for.
const xzMaxDict = 256 << 20

// xzKeep is how many expanded blocks stay in memory.
const xzKeep = 2

// An xzFile reads a file in the .xz format at random, by the index of blocks at
// the end of each of its streams (xz-file-format 1.2).
type xzFile struct {
	f      *os.File
	blocks []xzBlock
	total  int64

	mu     sync.Mutex
	recent []xzCached // the last used first
}

type xzBlock struct {
	off    int64 // in the file
	size   int64 // in the file, without padding
	start  int64 // in the contents
	length int64
	check  byte // type of the stream's check
}

type xzCached struct {
	block int
	data  []byte
}

func errXZ(off int64, format string, args ...any) error {
	return fmt.Errorf("xz: offset %d: %s: %w", off, fmt.Sprintf(format, args...), pcp.ErrLogRec)
}

var xzMagic = []byte{0xfd, '7', 'z', 'X', 'Z', 0}

// newXZ reads the indexes.
func newXZ(f *os.File) (*xzFile, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	x := &xzFile{f: f}
	end := st.Size()
	if end%4 != 0 || end < 32 {
		return nil, errXZ(end, "length of the file")
	}
	for end > 0 {
		if end, err = x.stream(end); err != nil {
			return nil, err
		}
	}
	slices.Reverse(x.blocks)
	for i := range x.blocks {
		b := &x.blocks[i]
		b.start = x.total
		if x.total += b.length; x.total < 0 {
			return nil, errXZ(b.off, "length of the contents")
		}
	}
	return x, nil
}

// stream reads the index of the stream that ends at end and appends its
// blocks, the last first. It returns where the stream starts.
func (x *xzFile) stream(end int64) (int64, error) {
	foot := make([]byte, 12)
	for {
		if end < 32 {
			return 0, errXZ(end, "no room for a stream")
		}
		if _, err := x.f.ReadAt(foot, end-12); err != nil {
			return 0, errXZ(end-12, "%v", err)
		}
		if !bytes.Equal(foot[8:], []byte{0, 0, 0, 0}) {
			break
		}
		end -= 4 // padding
	}
	if foot[10] != 'Y' || foot[11] != 'Z' || crc32.ChecksumIEEE(foot[4:10]) != binary.LittleEndian.Uint32(foot) || foot[8] != 0 || foot[9] > 15 {
		return 0, errXZ(end-12, "no footer of a stream")
	}
	check := foot[9]
	size := (int64(binary.LittleEndian.Uint32(foot[4:])) + 1) * 4
	at := end - 12 - size
	if at < 12 {
		return 0, errXZ(end-12, "index of %d bytes", size)
	}
	index := make([]byte, size) // no more than the file has
	if _, err := x.f.ReadAt(index, at); err != nil {
		return 0, errXZ(at, "%v", err)
	}
	sum := index[size-4:]
	if index[0] != 0 || crc32.ChecksumIEEE(index[:size-4]) != binary.LittleEndian.Uint32(sum) {
		return 0, errXZ(at, "no index")
	}
	rest := index[1 : size-4]
	n, rest, ok := xzNumber(rest)
	if !ok || n > uint64(size) {
		return 0, errXZ(at, "index of %d blocks", n)
	}
	list := make([]xzBlock, n)
	blocks := int64(0)
	for i := range list {
		var unpadded, length uint64
		unpadded, rest, ok = xzNumber(rest)
		if ok {
			length, rest, ok = xzNumber(rest)
		}
		if !ok || unpadded < 5 || unpadded > uint64(at) || length >= 1<<62 {
			return 0, errXZ(at, "block %d in the index", i)
		}
		list[i] = xzBlock{off: blocks, size: int64(unpadded), length: int64(length), check: check}
		if blocks += int64(unpadded+3) &^ 3; blocks > at-12 {
			return 0, errXZ(at, "blocks of %d bytes", blocks)
		}
	}
	start := at - blocks - 12
	head := make([]byte, 12)
	if _, err := x.f.ReadAt(head, start); err != nil {
		return 0, errXZ(start, "%v", err)
	}
	if !bytes.Equal(head[:6], xzMagic) || head[7] != check || crc32.ChecksumIEEE(head[6:8]) != binary.LittleEndian.Uint32(head[8:]) {
		return 0, errXZ(start, "no header of a stream")
	}
	slices.Reverse(list)
	for i := range list {
		list[i].off += start + 12
	}
	x.blocks = append(x.blocks, list...)
	return start, nil
}

// xzNumber reads a number of 7 bits a byte, the least significant first.
func xzNumber(b []byte) (n uint64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 9; i++ {
		n |= uint64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, b[i+1:], i == 0 || b[i] != 0
		}
	}
	return 0, nil, false
}

// largest returns the length of the largest block.
func (x *xzFile) largest() int64 {
	n := int64(0)
	for _, b := range x.blocks {
		n = max(n, b.length)
	}
	return n
}

func (x *xzFile) size() (int64, error) { return x.total, nil }
func (x *xzFile) Close() error         { return x.f.Close() }

func (x *xzFile) ReadAt(p []byte, off int64) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for n < len(p) {
		at := off + int64(n)
		i := sort.Search(len(x.blocks), func(i int) bool { return x.blocks[i].start > at }) - 1
		if i < 0 || at >= x.blocks[i].start+x.blocks[i].length {
			return n, io.EOF
		}
		data, err := x.block(i)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], data[at-x.blocks[i].start:])
	}
	return n, nil
}

// block returns the contents of a block.
func (x *xzFile) block(i int) ([]byte, error) {
	for k, c := range x.recent {
		if c.block == i {
			if k > 0 {
				x.recent[0], x.recent[k] = x.recent[k], x.recent[0]
			}
			return c.data, nil
		}
	}
	var room []byte
	if len(x.recent) == xzKeep {
		room = x.recent[xzKeep-1].data
		x.recent = x.recent[:xzKeep-1]
	}
	data, err := x.blocks[i].expand(x.f, room)
	if err != nil {
		return nil, err
	}
	x.recent = slices.Insert(x.recent, 0, xzCached{i, data})
	return data, nil
}

// expand decodes a block into room, or into new memory that grows as the
// contents come.
func (b *xzBlock) expand(f io.ReaderAt, room []byte) ([]byte, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, b.off, b.size), 1<<16)
	size, dict, err := b.header(in)
	if err != nil {
		return nil, err
	}
	sum, sumSize := xzCheck(b.check)
	n := b.size - int64(size) - int64(sumSize)
	if n <= 0 {
		return nil, errXZ(b.off, "block of %d bytes", b.size)
	}
	// A dictionary larger than the contents is of no use.
	dict = min(dict, max(b.length, lzma.MinDictCap))
	z, err := lzma.Reader2Config{DictCap: int(dict)}.NewReader2(io.LimitReader(in, n))
	if err != nil {
		return nil, errXZ(b.off, "%v", err)
	}
	data := room[:0]
	for int64(len(data)) < b.length {
		if len(data) == cap(data) {
			grown := make([]byte, len(data), min(b.length, max(1<<20, 2*int64(cap(data)))))
			copy(grown, data)
			data = grown
		}
		k, err := z.Read(data[len(data):min(int64(cap(data)), b.length)])
		data = data[:len(data)+k]
		if err != nil && int64(len(data)) < b.length {
			return nil, errXZ(b.off, "block ends after %d of %d bytes: %v", len(data), b.length, err)
		}
	}
	if sum != nil {
		sum.Write(data)
		want := make([]byte, sumSize)
		if _, err := f.ReadAt(want, b.off+(b.size-int64(sumSize)+3)&^3); err != nil {
			return nil, errXZ(b.off, "%v", err)
		}
		got := sum.Sum(nil)
		if b.check != xzSHA256 {
			slices.Reverse(got) // little-endian
		}
		if !bytes.Equal(got, want) {
			return nil, errXZ(b.off, "check of a block")
		}
	}
	return data, nil
}

// header reads the header of the block, and returns its size and that of the
// dictionary.
func (b *xzBlock) header(in *bufio.Reader) (size int, dict int64, err error) {
	first, err := in.Peek(1)
	if err != nil {
		return 0, 0, errXZ(b.off, "%v", err)
	}
	size = (int(first[0]) + 1) * 4
	head := make([]byte, size)
	if _, err := io.ReadFull(in, head); err != nil || first[0] == 0 {
		return 0, 0, errXZ(b.off, "no header of a block")
	}
	if crc32.ChecksumIEEE(head[:size-4]) != binary.LittleEndian.Uint32(head[size-4:]) {
		return 0, 0, errXZ(b.off, "check of a block's header")
	}
	flags, rest, ok := head[1], head[2:size-4], true
	for _, bit := range []byte{0x40, 0x80} { // lengths, which the index has too
		if flags&bit != 0 && ok {
			_, rest, ok = xzNumber(rest)
		}
	}
	if !ok || flags&0x3f != 0 || len(rest) < 3 || rest[0] != 0x21 || rest[1] != 1 {
		// More than one filter, or another than LZMA2, is for machine code.
		return 0, 0, fmt.Errorf("xz: offset %d: filters of a block are not supported: %w", b.off, pcp.ErrNYI)
	}
	dict = xzDict(rest[2])
	if dict < 0 || dict > xzMaxDict {
		return 0, 0, errXZ(b.off, "dictionary of %d bytes", dict)
	}
	return size, dict, nil
}

// dict returns the size of the largest dictionary of all blocks.
func (x *xzFile) dict() (int64, error) {
	most := int64(lzma.MinDictCap)
	for i := range x.blocks {
		b := &x.blocks[i]
		_, dict, err := b.header(bufio.NewReaderSize(io.NewSectionReader(x.f, b.off, b.size), 4<<10))
		if err != nil {
			return 0, err
		}
		most = max(most, dict)
	}
	return most, nil
}

func xzDict(bits byte) int64 {
	if bits >= 40 {
		return -1
	}
	return int64(2|bits&1) << (bits/2 + 11)
}

const xzSHA256 = 10

var crc64Table = sync.OnceValue(func() *crc64.Table { return crc64.MakeTable(crc64.ECMA) })

// xzCheck returns the check of a type and its length; one that is not known is
// not looked at.
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
