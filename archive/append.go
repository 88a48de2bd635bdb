package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/safefile"
)

// An end is the length of a file before a Writer continued it.
type end struct {
	path string
	size int64
}

// restore cuts the file to its length before.
func (e end) restore() error {
	f, err := openEnd(e.path)
	if err != nil {
		return err
	}
	err = f.Truncate(e.size)
	return errors.Join(err, f.Close())
}

// openEnd opens a file to be read, and to be written at its end.
func openEnd(path string) (*os.File, error) {
	if os.Geteuid() != 0 {
		return os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	}
	// The owner of the directory must not redirect root.
	f, created, err := safefile.OpenAppend(path, os.O_RDWR, 0o600)
	if err == nil && created {
		err = errors.Join(&fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}, f.Close(), os.Remove(path))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

var (
	errWritten = errors.New("another process writes the archive")
	errPacked  = errors.New("compressed; expand it to append to the archive")
	errNoIndex = errors.New("no temporal index; an archive without one cannot be appended to")
)

// findEnd opens the files of an archive behind their last records. It changes nothing.
func (w *Writer) findEnd() error {
	files, err := FindFiles(w.base)
	if err != nil {
		return err
	}
	n := len(files.Numbers) - 1
	w.vol = files.Numbers[n]
	if files.Index == "" {
		return fmt.Errorf("%s: %w", w.base, errNoIndex)
	}
	tails := make([]*tail, 3) // metadata, volume, index
	for i, o := range []struct {
		file         *outFile
		path, suffix string
	}{{&w.meta, files.Meta, "meta"}, {&w.data, files.Volumes[n], strconv.Itoa(w.vol)}, {&w.index, files.Index, "index"}} {
		path := w.base + "." + o.suffix
		if filepath.Clean(o.path) != filepath.Clean(path) {
			return fmt.Errorf("%s: %w", o.path, errPacked)
		}
		f, err := openEnd(path)
		if err != nil {
			return err
		}
		*o.file = outFile{f: f, path: path}
		if i == 0 && !tryLock(f) {
			return fmt.Errorf("%s: %w", w.base, errWritten)
		}
		if tails[i], err = newTail(f); err != nil {
			return err
		}
		if tails[i].label.Version == 0 {
			return fmt.Errorf("%s: no label: %w", path, pcp.ErrLabel)
		}
		o.file.off = tails[i].size
		if w.cfg.reopen != nil {
			o.file.f = w.cfg.reopen(f)
		}
		w.ends = append(w.ends, end{path, tails[i].size})
	}
	slices.Reverse(w.ends) // a file that refers to others is cut first
	if err := w.checkEnds(tails[0], tails[1], tails[2]); err != nil {
		return err
	}
	return w.loadKnown()
}

// tryLock locks a file that no other writer has open. Other programs hold the lock for a
// moment while they look.
func tryLock(f *os.File) bool {
	for range 50 {
		if lockFileNow(f) {
			return true
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// checkEnds checks that each file ends with a whole record.
func (w *Writer) checkEnds(meta, data, index *tail) error {
	version := meta.label.Version
	for _, t := range []*tail{data, index} {
		if t.label.Version != version {
			return fmt.Errorf("%s: version %d, that of %s is %d: %w", t.path, t.label.Version, meta.path, version, pcp.ErrLabel)
		}
	}
	dataFrom, metaFrom, indexEnd, err := index.lastEntry(w.vol, version, data, meta)
	if err != nil {
		return err
	}
	dataEnd, err := data.records(dataFrom)
	if err != nil {
		return err
	}
	metaEnd, err := meta.records(metaFrom)
	if err != nil {
		return err
	}
	for _, e := range []struct {
		t   *tail
		end int64
	}{{meta, metaEnd}, {data, dataEnd}, {index, indexEnd}} {
		if e.end != e.t.size {
			return fmt.Errorf("%s: offset %d: an incomplete record at the end: %w", e.t.path, e.end, pcp.ErrLogRec)
		}
	}
	return nil
}

// loadKnown reads the metadata and the end of the archive, and compares its label with the
// wanted one.
func (w *Writer) loadKnown() error {
	a, err := Open(w.base)
	if err != nil {
		return err
	}
	defer a.Close()
	have, want := a.Label(), w.cfg.Label
	for _, f := range []struct{ what, have, want string }{
		{"host", have.Host, want.Host},
		{"time zone", have.TimeZone, want.TimeZone},
		{"name of the time zone", have.ZoneInfo, want.ZoneInfo},
	} {
		if f.want != "" && f.want != f.have {
			return fmt.Errorf("%s: the %s of the archive is %q, not %q: %w", w.base, f.what, f.have, f.want, errInvalid)
		}
	}
	if want.Version != 0 && want.Version != have.Version {
		return fmt.Errorf("%s: the version of the archive is %d, not %d: %w", w.base, have.Version, want.Version, errInvalid)
	}
	if want.Features != 0 && want.Features != have.Features {
		return fmt.Errorf("%s: the features of the archive are %#x, not %#x: %w", w.base, have.Features, want.Features, pcp.ErrFeature)
	}
	w.label = have
	w.started, w.need = true, true
	w.metaMark = w.meta.off
	if w.last, err = a.End(); err != nil {
		return err
	}
	w.records = true
	if index := a.Index(); len(index) > 0 {
		w.entry, w.entries = index[len(index)-1].Time, true
	}
	w.descs = make(map[pcp.PMID]pcp.Desc)
	for _, d := range a.Meta().Descs() {
		w.descs[d.PMID] = d
	}
	w.texts = make(map[textKey]string)
	for _, t := range a.Meta().Texts() {
		w.texts[textKey{t.Kind, t.Ident}] = t.Text
	}
	return nil
}

// unchanged reports whether nothing was added to the archive that it continues.
func (w *Writer) unchanged() bool {
	return len(w.ends) > 0 && len(w.made) == 0 && w.data.pos() == w.ends[1].size && w.meta.pos() == w.ends[2].size && w.index.pos() == w.ends[0].size
}
