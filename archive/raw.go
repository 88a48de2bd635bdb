package archive

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/compressed"
)

// A File is one file of an archive, expanded if it is compressed: for tools that
// check or repair archives that [Open] may refuse.
type File struct {
	f     *compressed.File
	close func() error // nil: that of f
}

// OpenFile opens a file of an archive. Path may lack the suffix of a compressed one.
func OpenFile(path string) (*File, error) { return newFile(compressed.Open(path)) }

// OpenDamaged is [OpenFile] for a caller that wants as much of a file as can be
// read. It returns the readable part of a damaged block of an .xz file, perhaps
// with some wrong bytes at the end. If the index of the file is damaged or cut, it
// reads from the start as far as possible.
func OpenDamaged(path string) (*File, error) { return newFile(compressed.OpenDamaged(path)) }

func newFile(f *compressed.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{f: f}, nil
}

// OpenVolume opens a volume of the archive and checks its label. If the volume has
// nothing to read, the error is ErrNoVolume.
func (a *Archive) OpenVolume(number int) (*File, error) {
	v, _, err := a.volume(number)
	if err != nil {
		return nil, err
	}
	return &File{v.src, func() error {
		a.release(v)
		return nil
	}}, nil
}

// Name returns the path of the file, with its suffix.
func (f *File) Name() string { return f.f.Name() }

// ReadAt reads contents. It implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// Size returns the length of the contents now. For some kinds of compressed
// files it has to expand all of them.
func (f *File) Size() (int64, error) { return f.f.Size() }

// Readable returns the length of the contents that can be read from the start,
// and the error that ends it, nil at the end of the file. It may have to expand
// the whole file. There may be more to read after that, at [File.NextBlock].
func (f *File) Readable() (int64, error) { return f.f.Readable() }

// NextBlock returns the next offset after off, at which the file cannot be read,
// where it may be readable again: the next block of a compressed file, or the next
// page of another one. It returns -1 if there is none.
func (f *File) NextBlock(off int64) int64 { return f.f.NextBlock(off) }

// Close closes the file.
func (f *File) Close() error {
	if f.close != nil {
		return f.close()
	}
	return f.f.Close()
}

// IgnoreIndex makes readers ignore the temporal index, which misleads them if it
// is damaged.
func (a *Archive) IgnoreIndex() { a.index = nil }

// HeadSize returns the length of the head of a volume's record: its time and the
// number of its sets.
func HeadSize(version int) int { return stampSize(version) + 4 }

// RecordTime returns the time of a record of a volume and the number of its
// sets, 0 for a mark, without decoding the rest; ok is false if it is too short.
func RecordTime(body []byte, version int) (t pcp.Timestamp, sets int32, ok bool) {
	rd := reader{b: body}
	t, sets = rd.stamp(version), rd.i32()
	return t, sets, !rd.fail
}

// BaseName splits the name of a file of an archive: "x.0" and "x.meta.xz" have the
// base x. part is "meta", "index" or the number of a volume. ok reports whether
// name is the name of such a file (__pmLogBaseName).
func BaseName(name string) (base, part string, ok bool) {
	rest, _ := compressed.SplitSuffix(name)
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		return "", "", false
	}
	base, part = rest[:i], rest[i+1:]
	switch part {
	case "meta", "index":
		return base, part, true
	case "":
		return "", "", false
	}
	for _, c := range part {
		if c < '0' || c > '9' {
			return "", "", false
		}
	}
	return base, part, true
}

// Files are the files of an archive. Paths have the suffixes of compressed ones.
type Files struct {
	Base    string   // without the suffixes of files
	Meta    string   // path of the metadata
	Index   string   // path of the temporal index, "" if there is none
	Numbers []int    // of the volumes, ascending
	Volumes []string // their paths
}

// All returns the paths of all files: volumes, index, metadata.
func (f *Files) All() []string {
	list := append([]string(nil), f.Volumes...)
	if f.Index != "" {
		list = append(list, f.Index)
	}
	return append(list, f.Meta)
}

// FindFiles finds the files of the archive that path names, as [Open] does, and
// opens none of them.
func FindFiles(path string) (*Files, error) {
	var a Archive
	p, err := a.find(Options{}, path)
	if err != nil {
		return nil, err
	}
	named := func(path string) string { // all names begin with Base
		if path != "" && !strings.HasPrefix(path, a.path) && strings.HasPrefix(a.path, "./") {
			return "./" + path
		}
		return path
	}
	f := &Files{Base: a.path, Meta: named(p.meta), Index: named(p.index), Numbers: a.vols}
	for _, n := range a.vols {
		f.Volumes = append(f.Volumes, compressed.Find(a.path+"."+strconv.Itoa(n)))
	}
	return f, nil
}

// DecodeMeta decodes the contents of a record of the metadata of a version,
// without its length words.
func DecodeMeta(body []byte, version int) (*MetaRecord, error) {
	if len(body) < 4 {
		return nil, fmt.Errorf("record of %d bytes: %w", len(body)+frame, pcp.ErrLogRec)
	}
	m := MetaReader{label: Label{Version: version}}
	m.rec.Type = MetaType(binary.BigEndian.Uint32(body))
	if m.rec.Type < MetaDesc || m.rec.Type > MetaLabel {
		return nil, fmt.Errorf("record type %d: %w", m.rec.Type, pcp.ErrRecType)
	}
	if err := m.decode(body[4:]); err != nil {
		return nil, err
	}
	return &m.rec, nil
}
