package compressed

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

// An xzBlock is a block of a file in the .xz format (xz-file-format 1.2), from
// the index at the end of its stream.
type xzBlock struct {
	off    int64 // in the file
	size   int64 // in the file, without padding
	start  int64 // in the contents
	length int64
	check  byte // type of the stream's check
}

var xzMagic = []byte{0xfd, '7', 'z', 'X', 'Z', 0}

// An xzIndex is the list of all blocks of a file.
type xzIndex struct {
	f      io.ReaderAt
	blocks []xzBlock
	total  int64
}

// readXZIndex reads the indexes of all streams of a file of size bytes.
func readXZIndex(f io.ReaderAt, size int64) (*xzIndex, error) {
	x := &xzIndex{f: f}
	end := size
	if end%4 != 0 || end < 32 {
		return nil, errXZ(end, "length of the file")
	}
	for end > 0 {
		var err error
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
func (x *xzIndex) stream(end int64) (int64, error) {
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
func (x *xzIndex) largest() int64 {
	n := int64(0)
	for _, b := range x.blocks {
		n = max(n, b.length)
	}
	return n
}
