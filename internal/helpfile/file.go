package helpfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/go-pcp/pcp"
)

// The file .dir is words in the byte order of the host that made it:
//
//	0  0x50635068 "PcPh"
//	4  0x31320000 "12": a directory, version 2
//	8  number of entries
//	then for each entry
//	   identifier of the metric, or of the instance domain with its highest bit set
//	   where its one line starts in the file .pag
//	   where its help starts there
//
// metrics first, each kind by ascending last 22 bits. The file .pag is text: a
// line "PcPh22", then for each entry a newline, "@ ", its name, a space, and one
// line and help each with a closing NUL. Part of the file format; do not change.
const (
	dirMagic   = 0x50635068
	dirVersion = 0x31320000
	pagMagic   = "PcPh22\n"
	entrySize  = 12
	inDomFlag  = 1 << 31
	serialMask = 1<<22 - 1
)

// maxFile is the largest file that is read.
const maxFile = 1 << 28

// ErrFormat means that files are not help text of version 2. pmdaOpenHelp returns
// -EINVAL for that.
var ErrFormat = errors.New("not version 2 PCP help text")

// An Entry is the help for a metric or an instance domain.
type Entry struct {
	PMID    pcp.PMID  // if InDom is InDomNull
	InDom   pcp.InDom // else
	OneLine string
	Help    string
}

// IsInDom reports whether the entry is for an instance domain.
func (e *Entry) IsInDom() bool { return e.InDom != pcp.InDomNull }

// A File is help text that newhelp compiled. Several goroutines may use it.
type File struct {
	entries []Entry
	metrics map[pcp.PMID]*Entry
	indoms  map[pcp.InDom]*Entry
}

// Open reads the files base.dir and base.pag, of either byte order
// (pmdaOpenHelp).
func Open(base string) (*File, error) {
	dir, err := readFile(base + ".dir")
	if err != nil {
		return nil, err
	}
	if _, err := order(dir); err != nil {
		return nil, fmt.Errorf("%s.dir: %w", base, err)
	}
	pag, err := readFile(base + ".pag")
	if err != nil {
		return nil, err
	}
	f, err := Parse(dir, pag)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", base, err)
	}
	return f, nil
}

func readFile(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if fi.Size() > maxFile {
		return nil, fmt.Errorf("%s: %d bytes: %w", path, fi.Size(), pcp.ErrTooBig)
	}
	return os.ReadFile(path)
}

// order returns the byte order of a directory.
func order(dir []byte) (binary.ByteOrder, error) {
	if len(dir) < entrySize {
		return nil, ErrFormat
	}
	for _, bo := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if bo.Uint32(dir) == dirMagic && bo.Uint32(dir[4:])&0xffff0000 == dirVersion {
			return bo, nil
		}
	}
	return nil, ErrFormat
}

// Parse reads the contents of the two files.
func Parse(dir, pag []byte) (*File, error) {
	bo, err := order(dir)
	if err != nil {
		return nil, err
	}
	n := bo.Uint32(dir[8:])
	if uint64(n)*entrySize > uint64(len(dir)-entrySize) {
		return nil, fmt.Errorf("%d entries in %d bytes: %w", n, len(dir), ErrFormat)
	}
	f := &File{
		entries: make([]Entry, n),
		metrics: make(map[pcp.PMID]*Entry, n),
		indoms:  make(map[pcp.InDom]*Entry),
	}
	text := func(off uint32) (string, error) {
		if uint64(off) > uint64(len(pag)) {
			return "", fmt.Errorf("text at %d of %d bytes: %w", off, len(pag), ErrFormat)
		}
		s, _, ok := bytes.Cut(pag[off:], []byte{0})
		if !ok {
			return "", fmt.Errorf("text at %d has no end: %w", off, ErrFormat)
		}
		return string(s), nil
	}
	for i := range f.entries {
		at := dir[entrySize*(i+1):]
		e := &f.entries[i]
		if e.OneLine, err = text(bo.Uint32(at[4:])); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		if e.Help, err = text(bo.Uint32(at[8:])); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		id := bo.Uint32(at)
		if id&inDomFlag != 0 {
			e.InDom = pcp.InDom(id &^ inDomFlag)
			f.indoms[e.InDom] = e // the last one counts
		} else {
			e.PMID, e.InDom = pcp.PMID(id), pcp.InDomNull
			if f.metrics[e.PMID] == nil { // the first one counts
				f.metrics[e.PMID] = e
			}
		}
	}
	return f, nil
}

// Metric returns the entry of a metric, nil if there is none (pmdaGetHelp).
func (f *File) Metric(id pcp.PMID) *Entry { return f.metrics[id] }

// InDom returns the entry of an instance domain, nil if there is none
// (pmdaGetInDomHelp).
func (f *File) InDom(id pcp.InDom) *Entry { return f.indoms[id] }

// All returns the entries in the order of the file.
func (f *File) All() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for i := range f.entries {
			if !yield(&f.entries[i]) {
				return
			}
		}
	}
}

// Text implements pmda.Texter (pmdaText).
func (f *File) Text(_ context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	var e *Entry
	if kind&pcp.TextInDom != 0 {
		e = f.indoms[pcp.InDom(ident)]
	} else {
		e = f.metrics[pcp.PMID(ident)]
	}
	if e == nil {
		return "", pcp.ErrText
	}
	text := e.Help
	if kind&pcp.TextOneLine != 0 || text == "" && kind&pcp.TextDirect == 0 {
		text = e.OneLine
	}
	if text == "" {
		return "", pcp.ErrText
	}
	return text, nil
}

// An index is an entry of the directory.
type index struct{ id, oneLine, help uint32 }

// appendDir appends the directory.
func appendDir(b []byte, list []index) []byte {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y index) int {
		return cmp.Or(cmp.Compare(x.id&inDomFlag, y.id&inDomFlag), cmp.Compare(x.id&serialMask, y.id&serialMask))
	})
	bo := binary.NativeEndian
	for _, e := range append([]index{{dirMagic, dirVersion, uint32(len(list))}}, list...) {
		b = bo.AppendUint32(b, e.id)
		b = bo.AppendUint32(b, e.oneLine)
		b = bo.AppendUint32(b, e.help)
	}
	return b
}
