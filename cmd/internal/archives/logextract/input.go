package logextract

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pmns"
)

// An input is one of the archives to extract from.
type input struct {
	name  string // as given
	a     *archive.Archive
	label archive.Label // that of the metadata, as in C
	empty bool          // it has no records
	tree  *pmns.Tree    // its name space, once it was requested

	meta    *metaFile
	metaEnd bool

	vols    volumes
	rec     record // the next one, if have
	have    bool
	last    pcp.Timestamp // of the last record read
	number  int           // of records read
	mark    bool          // at its end, and a mark may have to follow
	ended   bool
	pid     int64 // pmcd.pid and pmcd.seqnum in the last prologue or epilogue, -1
	seqnum  int32
	scanner *scanner // nil at the end
}

// A metaFile is a file of metadata in memory, to which parsed metadata point. Inputs
// that are the same archive share it, as in C, so that each record is read once.
type metaFile struct {
	b       []byte
	off     int
	version int
}

// load reads all of the metadata.
func (m *metaFile) load(path string) error {
	f, err := archive.OpenFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	m.b = make([]byte, size)
	n, err := f.ReadAt(m.b, 0)
	m.b = m.b[:n]
	if err != nil && err != io.EOF {
		return err
	}
	label, err := archive.DecodeLabel(m.b)
	if err != nil {
		return fmt.Errorf("%s: offset 0: %w", path, err)
	}
	m.version, m.off = label.Version, archive.LabelSize(label.Version)
	return nil
}

// A badRecord is a record that cannot be read, with the C tool's message for it.
type badRecord struct {
	at   int64 // file offset of the C library
	size int64 // of the file
	err  error
}

func (e *badRecord) Error() string { return fmt.Sprintf("offset %d of %d: %v", e.at, e.size, e.err) }
func (e *badRecord) Unwrap() error { return e.err }

// next returns the contents of the next record, without length words: they
// start with the type.
func (m *metaFile) next() ([]byte, error) {
	bad := func(at int) error { return &badRecord{int64(at), int64(len(m.b)), pcp.ErrLogRec} }
	rest := m.b[m.off:]
	switch {
	case len(rest) == 0:
		return nil, io.EOF
	case len(rest) < 4:
		return nil, bad(len(m.b))
	}
	n := int(int32(binary.BigEndian.Uint32(rest)))
	switch {
	case n < 12:
		return nil, bad(m.off + 4)
	case len(rest) == 4:
		return nil, io.EOF
	case n > len(rest):
		return nil, bad(len(m.b))
	case int(binary.BigEndian.Uint32(rest[n-4:])) != n:
		return nil, bad(m.off + n)
	}
	m.off += n
	return rest[4 : n-4 : n-4], nil
}

// volumes reads the records of all volumes one after the other.
type volumes struct {
	a    *archive.Archive
	i    int // index of the volume in a.Volumes, -1 before the first one
	f    *archive.File
	size int64
	buf  []byte
	off  int64 // of buf in the file
	pos  int   // of the next record in buf
	read int   // size of a read
	done func(bytes int64)
}

// Buffer size of all inputs together, and the maximum and minimum for each.
const (
	readTotal = 8 << 20
	readMost  = 1 << 20
	readLeast = 32 << 10
)

const frame = 8 // bytes of the two length words

func (v *volumes) close() {
	if v.f != nil {
		v.f.Close()
		v.f = nil
	}
}

// open seeks to the start of a volume. It returns archive.ErrNoVolume if the volume is
// missing.
func (v *volumes) open(i int) error {
	f, err := v.a.OpenVolume(v.a.Volumes()[i])
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil {
		f.Close()
		return err
	}
	v.close()
	v.i, v.f, v.size = i, f, size
	v.moveTo(int64(archive.LabelSize(v.a.Version())))
	return nil
}

// moveTo seeks to an offset of the volume.
func (v *volumes) moveTo(off int64) { v.off, v.pos, v.buf = off, 0, v.buf[:0] }

// offset returns the offset of the next record.
func (v *volumes) offset() int64 { return v.off + int64(v.pos) }

// step moves to the next volume that has records. It returns io.EOF if there is none.
// An unreadable volume counts as a bad record at its start.
func (v *volumes) step() error {
	for i := v.i + 1; i < len(v.a.Volumes()); i++ {
		err := v.open(i)
		if err == nil {
			return nil
		}
		if !errors.Is(err, archive.ErrNoVolume) {
			return &badRecord{0, v.size, err}
		}
	}
	return io.EOF
}

// need fills buf with n bytes from pos, fewer at the end of the file.
func (v *volumes) need(n int) error {
	have := copy(v.buf, v.buf[v.pos:])
	v.off += int64(v.pos)
	v.pos, v.buf = 0, v.buf[:have]
	want := int(min(int64(max(n, v.read, readLeast)), v.size-v.off))
	if cap(v.buf) < want {
		v.buf = append(make([]byte, 0, want), v.buf...)
	}
	if want <= have {
		return nil
	}
	got, err := v.f.ReadAt(v.buf[have:want], v.off+int64(have))
	v.buf = v.buf[:have+got]
	if v.done != nil {
		v.done(int64(got))
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// next returns the contents of the next record, valid until the next call;
// io.EOF after the last one of the last volume.
func (v *volumes) next() ([]byte, error) {
	if v.f == nil {
		if err := v.step(); err != nil {
			return nil, err
		}
	}
	for {
		if len(v.buf)-v.pos < 4 {
			if err := v.need(4); err != nil {
				return nil, v.bad(v.offset(), err)
			}
			if len(v.buf) < 4 {
				if err := v.step(); err != nil {
					return nil, err
				}
				continue
			}
		}
		n := int(int32(binary.BigEndian.Uint32(v.buf[v.pos:])))
		at := v.offset()
		if n < frame {
			return nil, v.bad(at+4, pcp.ErrLogRec)
		}
		if len(v.buf)-v.pos < n {
			if int64(n) > v.size-at {
				return nil, v.bad(at, pcp.ErrLogRec)
			}
			if err := v.need(n); err != nil {
				return nil, v.bad(at, err)
			}
			if len(v.buf) < n {
				return nil, v.bad(at, pcp.ErrLogRec)
			}
		}
		rec := v.buf[v.pos : v.pos+n]
		if int(binary.BigEndian.Uint32(rec[n-4:])) != n {
			return nil, v.bad(at+int64(n), pcp.ErrLogRec)
		}
		v.pos += n
		return rec[4 : n-4 : n-4], nil
	}
}

func (v *volumes) bad(at int64, err error) error { return &badRecord{at, v.size, err} }

// seek moves to a record before a time, as close as the index allows, such that all
// later records follow. It stays at the start if the index is missing or unreliable.
func (v *volumes) seek(to pcp.Timestamp) {
	ix := v.a.Index()
	best := -1
	for i := range ix {
		if i > 0 && ix[i].Time.Compare(ix[i-1].Time) < 0 {
			return // the index is wrong
		}
		if ix[i].Time.Compare(to) < 0 {
			best = i
		}
	}
	for ; best >= 0; best-- {
		e := &ix[best]
		for i, number := range v.a.Volumes() {
			if number != int(e.Vol) {
				continue
			}
			if v.open(i) == nil && v.startsAt(e.Data, to) {
				return
			}
		}
	}
	v.close()
	v.i = -1
}

// startsAt moves to an offset and reports whether a record before a time starts there.
func (v *volumes) startsAt(off int64, before pcp.Timestamp) bool {
	if off < int64(archive.LabelSize(v.a.Version())) || off > v.size-frame {
		return false
	}
	v.moveTo(off)
	body, err := v.next()
	if err != nil {
		return false
	}
	t, _, ok := archive.RecordTime(body, v.a.Version())
	if !ok || t.Compare(before) >= 0 {
		return false
	}
	v.pos -= len(body) + frame
	return true
}
