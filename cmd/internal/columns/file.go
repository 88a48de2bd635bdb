package columns

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/fileversion"
)

// Suffix is the end of the names of files of columns.
const Suffix = ".columns"

// temporary is the end of the names of incomplete files.
const temporary = ".tmp"

// Part of the file format; do not change.
const (
	magicName  = "PCPCOL" // before a digit, the version, and a newline
	version    = fileversion.Columns
	magic      = "PCPCOL1\n"
	endMagic   = "PCPCOLE\n"
	footerSize = 28
)

// Limits of a file. Make stays below them.
const (
	maxIndex    = 256 << 20
	maxBlock    = 1 << 30
	maxIdentity = 1 << 20
)

// ErrStale is the error for a file that was made of other files than the archive now has.
var ErrStale = errors.New("the archive has changed since")

// Path returns the path of the file of columns beside an archive. Its name begins with a dot, so that scripts that compress or rename the files
// of a directory whose names begin with a date do not touch it.
func Path(base string) string {
	dir, name := filepath.Split(base)
	return filepath.Join(dir, "."+name+Suffix)
}

// BaseName returns the base name of the archive of a file of columns, complete or not.
func BaseName(name string) (base string, ok bool) {
	rest, ok := strings.CutPrefix(name, ".")
	if !ok {
		return "", false
	}
	if base, ok := strings.CutSuffix(rest, Suffix); ok && base != "" {
		return base, true
	}
	if rest, ok := strings.CutSuffix(rest, temporary); ok {
		if i := strings.LastIndex(rest, Suffix+"."); i > 0 {
			return rest[:i], true
		}
	}
	return "", false
}

// orphanAfter is the age of files of columns without archive, and of incomplete ones, that are removed.
const orphanAfter = time.Hour

// Orphan removes a file of columns if it has not changed for an hour, and reports whether it did. It is for files without archive,
// and for incomplete ones.
func Orphan(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) >= orphanAfter && os.Remove(path) == nil
}

// labelBytes is the number of bytes of each file that are part of its identity, with the label of a file that is not compressed.
const labelBytes = 1024

// identity describes the files of an archive.
func identity(base string) (string, error) {
	files, err := archive.FindFiles(base)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	list := files.All()
	slices.Sort(list)
	for _, path := range list {
		line, err := identify(path)
		if err != nil {
			return "", err
		}
		b.WriteString(line)
	}
	if b.Len() > maxIdentity {
		return "", fmt.Errorf("%w: it has %d files", ErrUnfit, len(list))
	}
	return b.String(), nil
}

func identify(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	start := make([]byte, labelBytes)
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	return fmt.Sprintf("%s %d %d %08x\n", filepath.Base(path), info.Size(), info.ModTime().UnixNano(), checksum(start[:n])), nil
}

// A File is an open file of columns. It is safe for concurrent use.
type File struct {
	path      string
	r         io.ReaderAt
	c         io.Closer
	identity  string
	times     blockAt
	n         int
	unit      int64
	marks     []uint32
	sequences []runs
	presences []runs
	metrics   []entry

	once     sync.Once
	all      []int64
	timesErr error
}

// A blockAt is the place of a block.
type blockAt struct {
	off, len int64
	sum      uint32
}

// An entry is a metric in the index.
type entry struct {
	id     pcp.PMID
	t      pcp.Type
	left   bool
	seq    int
	status []statusRun
	block  blockAt
}

// Open opens the file of columns of an archive: at path, or beside the archive if path is "". The error is fs.ErrNotExist if there is none, and
// ErrStale if it is not of the archive's present files.
func Open(base, path string) (*File, error) {
	if path == "" {
		path = Path(base)
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := open(base, path, r)
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func open(base, path string, r *os.File) (*File, error) {
	info, err := r.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, invalid("not a regular file")
	}
	f, err := NewFile(r, info.Size())
	if err != nil {
		return nil, err
	}
	f.path, f.c = path, r
	now, err := identity(base)
	if err != nil {
		return nil, err
	}
	if now != f.identity {
		return nil, ErrStale
	}
	return f, nil
}

// Valid reports whether an archive has a file of columns that is of its present files.
func Valid(base, path string) bool {
	f, err := Open(base, path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// Remove removes the file of columns beside an archive, if there is one.
func Remove(base string) error {
	if err := os.Remove(Path(base)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// NewFile reads the index of a file of columns of a given size, of whichever archive.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	if size < int64(len(magic)+footerSize) {
		return nil, invalid("too short")
	}
	var head [len(magic)]byte
	var foot [footerSize]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	if _, err := r.ReadAt(foot[:], size-footerSize); err != nil {
		return nil, err
	}
	if err := checkMagic(head[:]); err != nil {
		return nil, err
	}
	if string(foot[20:]) != endMagic {
		return nil, invalid("not a file of columns, or incomplete")
	}
	off, n := binary.LittleEndian.Uint64(foot[:]), binary.LittleEndian.Uint64(foot[8:])
	if n > maxIndex || off < uint64(len(magic)) || off > uint64(size-footerSize) || n != uint64(size-footerSize)-off {
		return nil, invalid("place of the index")
	}
	b, err := readBlock(r, blockAt{int64(off), int64(n), binary.LittleEndian.Uint32(foot[16:])})
	if err != nil {
		return nil, err
	}
	f := &File{r: r}
	x := indexReader{b: b, off: int64(len(magic)), end: int64(off)}
	if err := f.index(&x); err != nil {
		return nil, err
	}
	return f, nil
}

// checkMagic checks the start of a file.
func checkMagic(head []byte) error {
	digit, ok := bytes.CutPrefix(head, []byte(magicName))
	if !ok || len(digit) != 2 || digit[0] < '1' || digit[0] > '9' || digit[1] != '\n' {
		return invalid("not a file of columns")
	}
	return fileversion.Check(int(digit[0]-'0'), version)
}

// checkNewer returns an error if the file at path was made by a later release.
func checkNewer(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); err != nil {
		return nil
	}
	if err := checkMagic(head); fileversion.IsNewer(err) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readBlock reads a block, whose length is known to be within the file.
func readBlock(r io.ReaderAt, at blockAt) ([]byte, error) {
	b := make([]byte, at.len)
	if _, err := r.ReadAt(b, at.off); err != nil {
		return nil, err
	}
	if checksum(b) != at.sum {
		return nil, invalid(fmt.Sprintf("checksum of %d bytes at offset %d", at.len, at.off))
	}
	return b, nil
}

// An indexReader decodes numbers. The first error stays.
type indexReader struct {
	b        []byte
	off, end int64 // of the next block, and of all of them
	err      error
}

func (x *indexReader) fail(what string) {
	if x.err == nil {
		x.err = invalid(what)
		x.b = nil
	}
}

func (x *indexReader) uint(most uint64) uint64 {
	v, k := binary.Uvarint(x.b)
	if k <= 0 || v > most {
		x.fail("number out of range")
		return 0
	}
	x.b = x.b[k:]
	return v
}

func (x *indexReader) int() int64 {
	v, k := binary.Varint(x.b)
	if k <= 0 {
		x.fail("number out of range")
		return 0
	}
	x.b = x.b[k:]
	return v
}

// count reads a number of elements of at least size bytes each.
func (x *indexReader) count(size int) int {
	return int(x.uint(uint64(len(x.b) / size)))
}

func (x *indexReader) block() blockAt {
	n := x.uint(maxBlock)
	if len(x.b) < 4 || int64(n) > x.end-x.off {
		x.fail("block out of range")
		return blockAt{}
	}
	at := blockAt{x.off, int64(n), binary.LittleEndian.Uint32(x.b)}
	x.b = x.b[4:]
	x.off += at.len
	return at
}

// runs reads runs of numbers below end.
func (x *indexReader) runs(end uint32) runs {
	n := x.count(2)
	r := make(runs, 0, n)
	at := uint32(0)
	for range n {
		from := at + uint32(x.uint(uint64(end-at)))
		to := from + uint32(x.uint(uint64(end-from)))
		if x.err != nil || to == from {
			x.fail("run of nothing")
			return nil
		}
		r = append(r, run{from, to})
		at = to
	}
	return r
}

func (r runs) len() (n int) {
	for _, x := range r {
		n += int(x.to - x.from)
	}
	return n
}

// index decodes the index.
func (f *File) index(x *indexReader) error {
	n := x.count(1)
	if n > maxIdentity {
		x.fail("length of the identity")
	}
	if x.err == nil {
		f.identity, x.b = string(x.b[:n]), x.b[n:]
	}
	f.n = int(x.uint(maxRecords))
	f.unit = int64(x.uint(1000))
	f.times = x.block()
	marks := x.count(1)
	f.marks = make([]uint32, 0, marks)
	last := uint32(0)
	for i := range marks {
		d := uint32(x.uint(maxRecords))
		if last += d; i > 0 && d == 0 || int64(last) >= int64(f.n) {
			x.fail("mark out of range")
		}
		if x.err != nil {
			return x.err
		}
		f.marks = append(f.marks, last)
	}
	for range x.count(1) {
		f.sequences = append(f.sequences, x.runs(uint32(f.n)))
		if x.err != nil {
			return x.err
		}
	}
	for range x.count(1) {
		f.presences = append(f.presences, x.runs(uint32(f.n)))
		if x.err != nil {
			return x.err
		}
	}
	metrics := x.count(2)
	f.metrics = make([]entry, 0, min(metrics, 1<<16))
	id := uint64(0)
	for i := range metrics {
		d := x.uint(math.MaxUint32)
		if id += d; id > math.MaxUint32 || i > 0 && d == 0 {
			x.fail("order of metrics")
		}
		e := entry{id: pcp.PMID(id)}
		t := x.uint(64)
		if t == 0 {
			e.left = true
		} else if e.t = pcp.Type(t - 1); !held(e.t) {
			x.fail("type of a metric")
		} else {
			e.seq = int(x.uint(math.MaxInt32))
			if e.seq >= len(f.sequences) {
				x.fail("sequence out of range")
			} else {
				e.status = x.status(uint32(f.sequences[e.seq].len()))
			}
			e.block = x.block()
		}
		if x.err != nil {
			return x.err
		}
		f.metrics = append(f.metrics, e)
	}
	if len(x.b) != 0 || x.off != x.end {
		x.fail("bytes behind the index")
	}
	return x.err
}

// status reads status runs of n samples.
func (x *indexReader) status(n uint32) (list []statusRun) {
	at := uint32(0)
	for range x.count(3) {
		from := at + uint32(x.uint(uint64(n-at)))
		to := from + uint32(x.uint(uint64(n-from)))
		e := x.int()
		if to == from || e != int64(int32(e)) {
			x.fail("status out of range")
		}
		if x.err != nil {
			return nil
		}
		list = append(list, statusRun{run{from, to}, pcp.Error(e)})
		at = to
	}
	return list
}

// Close closes the file. Metrics that were read remain valid.
func (f *File) Close() error {
	if f.c == nil {
		return nil
	}
	return f.c.Close()
}

// Path returns the path of the file.
func (f *File) Path() string { return f.path }

// Times returns the times of all records, in nanoseconds. They belong to f.
func (f *File) Times() ([]int64, error) {
	f.once.Do(func() {
		f.all, f.timesErr = f.readTimes()
		if f.timesErr != nil {
			f.timesErr = fmt.Errorf("%s: %w", f.path, f.timesErr)
		}
	})
	return f.all, f.timesErr
}

func (f *File) readTimes() ([]int64, error) {
	b, err := readBlock(f.r, f.times)
	if err != nil {
		return nil, err
	}
	var d chunkReader
	var list []int64
	last := int64(0)
	buf := make([]int64, maxChunk)
	for len(b) > 0 {
		c, rest, err := nextChunk(b)
		if err != nil {
			return nil, err
		}
		part, err := d.decode(buf, c, pcp.Type64)
		if err != nil {
			return nil, err
		}
		if len(list)+len(part) > f.n || f.unit == 0 {
			return nil, invalid("number of times")
		}
		for _, t := range part {
			if t <= 0 || t > math.MaxInt64/f.unit || t*f.unit < last {
				return nil, invalid("order of times")
			}
			last = t * f.unit
			list = append(list, last)
		}
		b = rest
	}
	if len(list) != f.n {
		return nil, invalid("number of times")
	}
	return list, nil
}

// Marks returns the records that are marks, ascending. They belong to f.
func (f *File) Marks() []uint32 { return f.marks }

func (f *File) find(id pcp.PMID) (*entry, bool) {
	i, ok := slices.BinarySearchFunc(f.metrics, id, func(e entry, id pcp.PMID) int { return cmp.Compare(e.id, id) })
	if !ok {
		return nil, false
	}
	return &f.metrics[i], true
}
