package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/compressed"
)

// A Trimmed is the result of [Trim].
type Trimmed struct {
	Data, Meta, Index int64 // bytes cut off the last volume, and the two other files
	Empty             bool  // no volume has a record
}

// Trim cuts off the incomplete ends that a killed recorder, or a crash of its machine,
// leaves in the files of an archive: an incomplete record, zeros, entries of the index that
// refer to places behind the end of a file. It removes a last volume without a label, and
// adds an entry to an index without one. The archive must not be written meanwhile. Other
// damage is an error; package repair saves the good parts of such archives.
//
// Trim reads the last volume and the metadata from the last entry of the index on, so that
// its time does not depend on the size of the archive. Compressed files are complete, and
// not changed. If the archive is Empty, nothing is changed.
func Trim(base string) (Trimmed, error) {
	var done Trimmed
	files, err := FindFiles(base)
	if err != nil {
		return done, err
	}
	meta, err := openTail(files.Meta)
	if err != nil {
		return done, err
	}
	defer meta.close()
	if meta.label.Version == 0 {
		done.Empty = true
		return done, nil
	}
	n := len(files.Volumes) - 1
	last, err := openTail(files.Volumes[n])
	if err != nil {
		return done, err
	}
	defer func() { last.close() }()
	if last.label.Version == 0 && n > 0 {
		n--
		before, err := openTail(files.Volumes[n])
		if err != nil {
			return done, err
		}
		err = os.Remove(last.path) // nothing was written to it
		last.close()
		if last = before; err != nil {
			return done, err
		}
	}
	version := meta.label.Version
	start := int64(LabelSize(version))
	if last.label.Version == 0 {
		done.Empty = true
		return done, nil
	}
	if last.label.Version != version {
		return done, fmt.Errorf("%s: version %d, that of %s is %d: %w", last.path, last.label.Version, meta.path, version, pcp.ErrLabel)
	}
	var index *tail
	data, metadata, entries := start, start, start
	if files.Index != "" {
		if index, err = openTail(files.Index); err != nil {
			return done, err
		}
		defer index.close()
		if !index.packed {
			if data, metadata, entries, err = index.lastEntry(files.Numbers[n], version, last, meta); err != nil {
				return done, err
			}
		}
	}
	dataEnd, err := last.records(data)
	if err != nil {
		return done, err
	}
	metaEnd, err := meta.records(metadata)
	if err != nil {
		return done, err
	}
	if done.Empty = n == 0 && dataEnd <= start && !last.packed; done.Empty {
		return done, nil
	}
	// Files that refer to others are removed first.
	if index != nil && !index.packed {
		if entries <= start {
			err = index.begin(last.label, files.Numbers[0], start)
		} else {
			done.Index, err = index.cut(entries)
		}
		if err != nil {
			return done, err
		}
	}
	if done.Data, err = last.cut(dataEnd); err != nil {
		return done, err
	}
	done.Meta, err = meta.cut(metaEnd)
	return done, err
}

// A tail is a file whose end may have to be cut.
type tail struct {
	f      *os.File
	path   string
	size   int64
	label  Label // Version is 0 if there is no whole one
	packed bool  // the file is compressed
}

func openTail(path string) (*tail, error) {
	t := &tail{path: path}
	if _, suffix := compressed.SplitSuffix(path); suffix != "" {
		src, err := compressed.Open(path)
		if err != nil {
			return nil, err
		}
		defer src.Close()
		b := make([]byte, labelSize3)
		n, err := src.ReadAt(b, 0)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		l, err := DecodeLabel(b[:n])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		t.packed, t.label = true, l
		t.size, err = src.Size()
		return t, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if t, err = newTail(f); err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

// newTail reads the label of an open file.
func newTail(f *os.File) (*tail, error) {
	t := &tail{path: f.Name(), f: f}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file: %w", t.path, errInvalid)
	}
	if err != nil {
		return nil, err
	}
	t.size = fi.Size()
	b := make([]byte, labelSize3)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if zeros(b[:n]) {
		return t, nil
	}
	l, err := DecodeLabel(b[:n])
	if err != nil {
		// There may be a part of it, and zeros.
		size := 0
		if n >= 8 {
			size = LabelSize(int(b[7]))
		}
		if n < 8 || size > 0 && (n < size || zeros(b[size-4:n])) {
			return t, nil
		}
		return nil, fmt.Errorf("%s: offset 0: %w", t.path, err)
	}
	t.label = l
	return t, nil
}

func (t *tail) close() {
	if t.f != nil {
		t.f.Close()
	}
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// cut cuts the file to a length, and returns the number of bytes cut off.
func (t *tail) cut(end int64) (int64, error) {
	if t.packed || end >= t.size {
		return 0, nil
	}
	if err := t.f.Truncate(end); err != nil {
		return 0, err
	}
	return t.size - end, t.f.Sync()
}

// begin writes the label and the first entry of an index.
func (t *tail) begin(l Label, number int, start int64) error {
	l.Vol = VolIndex
	b := IndexEntry{Time: l.Start, Vol: int32(number), Meta: start, Data: start}.Append(l.Append(nil), l.Version)
	if err := t.f.Truncate(0); err != nil {
		return err
	}
	if _, err := t.f.WriteAt(b, 0); err != nil {
		return err
	}
	return t.f.Sync()
}

// lastEntry returns the offsets of the last entry of an index in the metadata and in a
// volume, and the end of the entries that refer to places behind the ends of files.
func (t *tail) lastEntry(number, version int, data, meta *tail) (dataFrom, metaFrom, end int64, err error) {
	start := int64(LabelSize(version))
	dataFrom, metaFrom = start, start
	size := int64(indexSize2)
	if version >= Version3 {
		size = indexSize3
	}
	n := max(t.size-start, 0) / size
	b := make([]byte, size)
	for ; n > 0; n-- {
		if _, err := t.f.ReadAt(b, start+(n-1)*size); err != nil {
			return 0, 0, 0, fmt.Errorf("%s: %w", t.path, err)
		}
		e := DecodeIndexEntry(b, version)
		if zeros(b[size-4:]) || int(e.Vol) > number || e.Meta > meta.size || int(e.Vol) == number && e.Data > data.size {
			continue
		}
		if metaFrom = max(e.Meta, start); int(e.Vol) == number {
			dataFrom = max(e.Data, start)
		}
		break
	}
	return dataFrom, metaFrom, start + n*size, nil
}

// records returns the end of the last complete record from an offset on.
func (t *tail) records(off int64) (end int64, err error) {
	if t.packed || t.size <= off {
		return t.size, nil
	}
	w := window{r: t.f}
	for off < t.size {
		if t.size-off < 4 {
			return off, nil
		}
		head, err := w.at(off, 4, false)
		if err != nil {
			return 0, err
		}
		if len(head) < 4 {
			return off, nil
		}
		n := int64(int32(binary.BigEndian.Uint32(head)))
		switch {
		case n == 0:
			if ok, err := t.zerosFrom(off); err != nil || !ok {
				return 0, errors.Join(err, fmt.Errorf("%s: offset %d: record of 0 bytes: %w", t.path, off, pcp.ErrLogRec))
			}
			return off, nil
		case n < frame:
			return 0, fmt.Errorf("%s: offset %d: record of %d bytes: %w", t.path, off, n, pcp.ErrLogRec)
		case n > t.size-off:
			if whole, err := t.endsWhole(off); err != nil || whole {
				return 0, errors.Join(err, fmt.Errorf("%s: offset %d: record of %d bytes, and the file ends with a whole one: %w", t.path, off, n, pcp.ErrLogRec))
			}
			return off, nil
		}
		b, err := w.at(off+n-4, 4, false)
		if err != nil {
			return 0, err
		}
		if len(b) < 4 {
			return 0, fmt.Errorf("%s: offset %d: %w", t.path, off, errShort)
		}
		if end := int64(int32(binary.BigEndian.Uint32(b))); end != n {
			if ok, err := t.zerosFrom(off + n - 4); err == nil && ok {
				return off, nil
			}
			return 0, fmt.Errorf("%s: offset %d: record starts with length %d and ends with %d: %w", t.path, off, n, end, pcp.ErrLogRec)
		}
		off += n
	}
	return off, nil
}

// zerosFrom reports whether there are only zeros behind an offset.
func (t *tail) zerosFrom(off int64) (bool, error) {
	b := make([]byte, 64<<10)
	for off < t.size {
		n, err := t.f.ReadAt(b, off)
		if !zeros(b[:n]) {
			return false, nil
		}
		if err != nil && err != io.EOF || n == 0 {
			return false, err
		}
		off += int64(n)
	}
	return true, nil
}

// endsWhole reports whether the file ends with a record that starts behind an offset: then
// the record at the offset is not cut, but damaged.
func (t *tail) endsWhole(off int64) (bool, error) {
	var b [4]byte
	if _, err := t.f.ReadAt(b[:], t.size-4); err != nil {
		return false, err
	}
	n := int64(int32(binary.BigEndian.Uint32(b[:])))
	if n < frame || t.size-n <= off {
		return false, nil
	}
	if _, err := t.f.ReadAt(b[:], t.size-n); err != nil {
		return false, err
	}
	return int64(int32(binary.BigEndian.Uint32(b[:]))) == n, nil
}
