package compressed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"sync"

	"github.com/ulikunitz/xz"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/compressed/internal/lzma2"
)

// OpenDamaged is [Open] for a caller that wants as much of a file as possible. Of
// a damaged block of an .xz file, or frame of a .zst file, it returns the bytes that can be decoded,
// perhaps with some wrong bytes at the end; it reads a file whose index is
// damaged or cut from the start as far as possible.
func OpenDamaged(path string) (*File, error) {
	mem := new(Memory)
	f, err := mem.Open(path)
	if err == nil {
		switch x := f.src.(type) {
		case *xzFile:
			f.src = &xzDamaged{xzFile: x, block: -1}
		case *framesFile:
			f.src = &framesDamaged{framesFile: x, number: -1}
		}
		return f, nil
	}
	path = Find(path)
	if _, large := errors.AsType[*LimitError](err); large || filepath.Ext(path) != ".xz" {
		return nil, err
	}
	noIndex := err
	in, oerr := openRegular(path)
	if oerr != nil {
		return nil, oerr
	}
	if st, err := in.Stat(); err == nil {
		if x, whole := walkXZ(in, st.Size()); x != nil {
			src := &xzDamaged{xzFile: newXZ(in, x, mem), block: -1}
			if !whole {
				src.cut = noIndex
			}
			return &File{src: src, path: path}, nil
		}
	}
	r, xerr := xz.ReaderConfig{DictCap: xzDictLimit}.NewReader(bufio.NewReaderSize(in, 64<<10))
	if xerr != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w: %w", path, pcp.ErrLogRec, xerr)
	}
	limit, xerr := expandLimit(in, ".xz")
	if xerr != nil {
		in.Close()
		return nil, xerr
	}
	return &File{src: &spool{r: r, in: in, total: -1, limit: limit}, path: path}, nil
}

// An xzDamaged is an xzFile that returns the bytes of a damaged block that can be
// decoded: those before the damage and perhaps some wrong ones.
type xzDamaged struct {
	*xzFile
	cut error // reason why there may be more behind the last block

	mu    sync.Mutex
	block int // block whose data are here, -1 if none
	data  []byte
}

func (x *xzDamaged) ReadAt(p []byte, off int64) (int, error) {
	n, err := x.xzFile.ReadAt(p, off)
	if n > 0 || err == nil || err == io.EOF {
		return n, err // after n bytes the caller calls again
	}
	i := x.find(off)
	if i < 0 {
		return 0, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	b := &x.blocks[i]
	if x.block != i {
		x.block, x.data = i, decodeDamaged(x.f, b)
	}
	if at := off - b.start; at < int64(len(x.data)) {
		if n = copy(p, x.data[at:]); n == len(p) {
			err = nil
		}
	}
	return n, err
}

// decodeDamaged decodes as much of a block as possible and ignores its check.
func decodeDamaged(f io.ReaderAt, b *xzBlock) []byte {
	var d xzDecoder
	if d.open(f, b) != nil {
		return nil
	}
	buf := make([]byte, b.length) // no more than xzBlockLimit
	n, _ := d.lz.Decode(buf, 0, len(buf))
	return buf[:n]
}

// walkXZ finds the blocks of the first stream of a file without its index, by
// decoding them; whole reports that the last one is followed by the index.
// Otherwise it may be decoded in part. It returns nil if there is none, or a
// block too large for memory.
func walkXZ(f io.ReaderAt, size int64) (x *xzIndex, whole bool) {
	head := make([]byte, 12)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, false
	}
	x = &xzIndex{f: f}
	_, sum := xzCheck(head[7] & 15)
	var lz lzma2.Decoder
	var buf []byte
	for off := int64(len(head)); off < size; {
		b := xzBlock{off: off, size: size - off, start: x.total, check: head[7] & 15}
		start, dict, err := b.header(f)
		if err != nil {
			indicator := make([]byte, 1)
			_, err = f.ReadAt(indicator, off)
			whole = err == nil && indicator[0] == 0
			break
		}
		in := io.NewSectionReader(f, off+int64(start), size-off-int64(start))
		lz.Reset(in, int(min(dict, xzBlockLimit)))
		n := 0
		for err == nil {
			var left int
			if left, err = lz.Next(); err != nil {
				break
			}
			if n+left > xzBlockLimit {
				return nil, false
			}
			if len(buf) < n+left {
				buf = append(buf, make([]byte, max(len(buf), n+left-len(buf)))...)
			}
			n, err = lz.Decode(buf, n, n+left)
		}
		b.length = int64(n)
		if err == io.EOF {
			read, _ := in.Seek(0, io.SeekCurrent)
			b.size = int64(start) + read - int64(lz.Buffered()) + int64(sum)
		}
		if n > 0 {
			x.blocks = append(x.blocks, b)
			x.total += b.length
		}
		if err != io.EOF {
			break
		}
		off += (b.size + 3) &^ 3
	}
	if len(x.blocks) == 0 {
		return nil, false
	}
	return x, whole
}

// xzDictLimit is the dictionary of an .xz file that is read without its index:
// that of "xz -9".
const xzDictLimit = 64 << 20

// Readable returns the length of the contents that can be read from the start,
// and the error at that point, nil at the end. It may have to expand all
// contents. [File.NextBlock] can find more behind that point.
func (f *File) Readable() (int64, error) {
	if x, ok := f.src.(*xzDamaged); ok {
		return x.total, x.cut
	}
	size, err := f.src.Size()
	if err == nil {
		if s, ok := f.src.(*spool); !ok || s.total < 0 {
			return size, nil
		}
	}
	there := func(n int64) bool {
		k, _ := f.src.ReadAt(make([]byte, 1), n)
		return k == 1
	}
	hi := int64(1 << 20)
	for there(hi) {
		hi *= 2
	}
	n := int64(sort.Search(int(hi), func(n int) bool { return !there(int64(n)) }))
	if _, err := f.src.ReadAt(make([]byte, 1), n); err != io.EOF {
		return n, err
	}
	return n, nil
}

// NextBlock returns the next offset behind a bad one at which the file may be
// readable again, -1 if there is none: the next block of a compressed file, or
// the next page of another one.
func (f *File) NextBlock(off int64) int64 {
	switch src := f.src.(type) {
	case *xzDamaged:
		if i := src.find(off); i >= 0 {
			return src.blocks[i].start + src.blocks[i].length
		}
	case *framesDamaged:
		if i := src.Find(off); i >= 0 {
			return src.Frames[i].Start + src.Frames[i].Length
		}
	case plainFile:
		return off&^4095 + 4096
	}
	return -1
}
