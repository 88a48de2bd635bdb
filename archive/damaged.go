package archive

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"github.com/ulikunitz/xz"

	"github.com/go-pcp/pcp"
)

// OpenDamaged is [OpenFile] for a caller that wants as much of a file as there is:
// an .xz file whose index is damaged or cut is read from its start as far as it goes.
func OpenDamaged(path string) (*File, error) {
	f, err := OpenFile(path)
	if err == nil {
		return f, nil
	}
	path = findFile(path)
	if filepath.Ext(path) != ".xz" {
		return nil, err
	}
	in, oerr := os.Open(path)
	if oerr != nil {
		return nil, oerr
	}
	r, xerr := xz.ReaderConfig{DictCap: xzDictLimit}.NewReader(bufio.NewReaderSize(in, 64<<10))
	if xerr != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w: %w", path, pcp.ErrLogRec, xerr)
	}
	return &File{src: &spool{r: r, in: in, total: -1}, path: path}, nil
}

// xzDictLimit is the dictionary of an .xz file that is read without its index:
// that of "xz -9".
const xzDictLimit = 64 << 20

// Readable returns how much of the contents can be read from the start, and the
// error that is met there, nil if it is the end. It may have to expand all of
// them. What [File.NextBlock] leads to may lie behind.
func (f *File) Readable() (int64, error) {
	if x, ok := f.src.(*xzFile); ok {
		return x.total, nil
	}
	size, err := f.src.size()
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

// NextBlock returns where behind an offset at which the file cannot be read it
// may be readable again, -1 if nothing is known of such a place: the next block
// of a compressed file, or the next page of another one.
func (f *File) NextBlock(off int64) int64 {
	switch src := f.src.(type) {
	case *xzFile:
		if i := src.find(off); i >= 0 {
			return src.blocks[i].start + src.blocks[i].length
		}
	case plainFile:
		return off&^4095 + 4096
	}
	return -1
}
