package archivecmd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A rescue copies what can be read of an archive to a new one.
type rescue struct {
	ctx    context.Context
	files  *archive.Files
	label  archive.Label
	w      *archive.Writer
	note   func(format string, args ...any) // what was lost
	lost   int                              // how often
	meta   metaSource
	last   pcp.Timestamp
	any    bool // a record was written
	gap    bool // something is lost behind the last record
	res    pcp.Result
	marked int
	kept   int
}

func (r *rescue) losing(format string, args ...any) {
	r.lost++
	r.note(format, args...)
}

// findLabel takes the label of the first file that has a good one.
func (r *rescue) findLabel() error {
	var first error
	for _, path := range r.files.All() {
		l, err := readLabel(path)
		if err == nil {
			r.label = l
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return fmt.Errorf("no file has a good label: %w", first)
}

func readLabel(path string) (l archive.Label, err error) {
	f, err := archive.OpenFile(path)
	if err != nil {
		return l, err
	}
	defer f.Close()
	b := make([]byte, archive.LabelSize(archive.Version3))
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return l, fmt.Errorf("%s: %w", path, err)
	}
	if l, err = archive.DecodeLabel(b[:n]); err != nil {
		return l, fmt.Errorf("%s: offset 0: %w", path, err)
	}
	return l, nil
}

// run copies all to base.
func (r *rescue) run(base string, progress func(done, total int64)) error {
	if err := r.findLabel(); err != nil {
		return err
	}
	for _, path := range r.files.All() {
		if l, err := readLabel(path); err != nil {
			r.losing("%v: the label of another file is taken", err)
		} else if l.Version != r.label.Version {
			r.losing("%s: version %d, of which others are not", path, l.Version)
		}
	}
	if r.files.Index == "" {
		r.losing("%s.index: missing", r.files.Base)
	}
	index := r.index()
	if err := r.meta.open(r); err != nil {
		return err
	}
	defer r.meta.close()
	w, err := archive.Create(base, archive.WriterConfig{Label: r.start(), FirstVolume: r.files.Numbers[0]})
	if err != nil {
		return err
	}
	r.w = w
	var done, total int64
	for _, path := range r.files.Volumes {
		if n, err := archive.FileSize(path); err == nil {
			total += n
		}
	}
	for i, path := range r.files.Volumes {
		if i > 0 {
			if err := r.fillVolumes(r.files.Numbers[i-1]+1, r.files.Numbers[i]); err != nil {
				w.Close()
				return err
			}
		}
		if err := r.volume(path, r.files.Numbers[i], index, func(n int64) {
			if done += n; progress != nil {
				progress(done, total)
			}
		}); err != nil {
			w.Close()
			return err
		}
	}
	if !r.any {
		w.Close()
		return fmt.Errorf("%s: not one record can be read: %w", r.files.Base, pcp.ErrNoData)
	}
	if err := r.meta.upTo(r, nil); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

// start is the label with a start that is not after the first record.
func (r *rescue) start() archive.Label {
	l := r.label
	for _, path := range r.files.Volumes {
		s, err := newScanner(path, l.Version)
		if err != nil {
			continue
		}
		body, _, err := s.next()
		if err == nil {
			if t, _, ok := archive.RecordTime(body, l.Version); ok && t.Sub(l.Start) < 0 && archive.DecodeResult(&r.res, body, l.Version) == nil {
				r.losing("%s: the first record is older than the label says", path)
				l.Start = t
			}
			s.close()
			return l
		}
		s.close()
	}
	return l
}

// index returns the entries of the temporal index, for what they may be worth.
func (r *rescue) index() []archive.IndexEntry {
	if r.files.Index == "" {
		return nil
	}
	f, err := archive.OpenFile(r.files.Index)
	if err != nil {
		return nil
	}
	defer f.Close()
	_, list, err := archive.ReadIndex(io.NewSectionReader(f, 0, 1<<62))
	if err != nil {
		return nil
	}
	return list
}

// fillVolumes starts the volume to, and says which are missing.
func (r *rescue) fillVolumes(from, to int) error {
	if from < to {
		r.losing("%s: volumes %d to %d are missing", r.files.Base, from, to-1)
		r.gap = true
	}
	return r.w.NewVolume()
}

// volume copies the records of a volume as far as they are good, and after a
// bad one from where the index knows of the next.
func (r *rescue) volume(path string, number int, index []archive.IndexEntry, progress func(int64)) error {
	s, err := newScanner(path, r.label.Version)
	if err != nil {
		r.losing("%v", err)
		r.gap = true
		return nil
	}
	defer s.close()
	before := s.off
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		body, off, err := s.next()
		progress(s.off - before)
		before = s.off
		if err == io.EOF {
			return nil
		}
		if err == nil {
			if derr := archive.DecodeResult(&r.res, body, r.label.Version); derr != nil {
				err = fmt.Errorf("%s: offset %d: %w", path, off, derr)
				r.losing("%v: the record is left out", err)
				r.gap = true
				continue
			}
			if r.any && r.res.Time.Sub(r.last) < 0 {
				r.losing("%s: offset %d: the record is older than the one before it and left out", path, off)
				continue
			}
			if err := r.record(body); err != nil {
				return err
			}
			continue
		}
		// The lengths lead no further.
		next := int64(-1)
		for _, e := range index {
			if int(e.Vol) == number && e.Data > off && r.resumes(s, e) {
				next = e.Data
				break
			}
		}
		r.gap = true
		if next < 0 {
			size, _ := s.f.Size()
			r.losing("%v: the rest of the file is left out, %d bytes", err, size-off)
			return nil
		}
		r.losing("%v: left out up to offset %d", err, next)
		s.off = next
	}
}

// resumes tells whether a record starts where an entry says, no older than it.
func (r *rescue) resumes(s *scanner, e archive.IndexEntry) bool {
	at := s.off
	defer func() { s.off = at }()
	s.off = e.Data
	body, _, err := s.next()
	if err != nil || archive.DecodeResult(&r.res, body, r.label.Version) != nil {
		return false
	}
	return !r.any || r.res.Time.Sub(r.last) >= 0
}

// record writes a record, which is in res too, and the metadata before it.
func (r *rescue) record(body []byte) error {
	t := r.res.Time
	if err := r.meta.upTo(r, &t); err != nil {
		return err
	}
	// Counters may have been anywhere in what is lost.
	if r.gap && r.any && len(r.res.Sets) > 0 {
		mark := pcp.Timestamp{Sec: r.last.Sec, Nsec: r.last.Nsec + 1000000}
		if mark.Nsec >= 1000000000 {
			mark.Sec, mark.Nsec = mark.Sec+1, mark.Nsec-1000000000
		}
		if mark.Sub(t) > 0 {
			mark = t
		}
		if err := r.w.Mark(mark); err != nil {
			return err
		}
		r.marked++
	}
	r.gap = false
	r.kept++
	r.last, r.any = t, true
	return r.w.WriteRecord(t, body)
}

// A metaSource copies the metadata, of which those with a time are due with the
// first record that is not older.
type metaSource struct {
	s     *scanner
	path  string
	descs map[pcp.PMID]pcp.Desc
	held  []byte // a record that was not due
	at    pcp.Timestamp
	done  bool
}

func (m *metaSource) open(r *rescue) error {
	s, err := newScanner(r.files.Meta, r.label.Version)
	if err != nil {
		return err
	}
	m.s, m.path, m.descs = s, r.files.Meta, make(map[pcp.PMID]pcp.Desc)
	return nil
}

func (m *metaSource) close() { m.s.close() }

// upTo writes all that is due at t, all there is if that is nil.
func (m *metaSource) upTo(r *rescue, t *pcp.Timestamp) error {
	for {
		if m.held != nil {
			if t != nil && m.at.Sub(*t) > 0 {
				return nil
			}
			if err := r.w.WriteMeta(m.held); err != nil {
				return err
			}
			m.held = nil
		}
		if m.done {
			return nil
		}
		body, off, err := m.s.next()
		if err != nil {
			if m.done = true; err != io.EOF {
				size, _ := m.s.f.Size()
				r.losing("%v: the rest of the file is left out, %d bytes", err, size-off)
			}
			continue
		}
		rec, err := archive.DecodeMeta(body, r.label.Version)
		if err == nil {
			err = m.fits(rec, r.label.Version)
		}
		if err != nil {
			r.losing("%s: offset %d: %v: the record is left out", m.path, off, err)
			continue
		}
		m.held, m.at = append(m.held[:0], body...), rec.Time
	}
}

// fits tells whether a record goes with the version and with those before it.
func (m *metaSource) fits(rec *archive.MetaRecord, version int) error {
	switch rec.Type {
	case archive.MetaInDomV2, archive.MetaLabelV2:
		if version != archive.Version2 {
			return fmt.Errorf("record type %d in version %d: %w", rec.Type, version, pcp.ErrRecType)
		}
	case archive.MetaInDom, archive.MetaInDomDelta, archive.MetaLabel:
		if version != archive.Version3 {
			return fmt.Errorf("record type %d in version %d: %w", rec.Type, version, pcp.ErrRecType)
		}
	case archive.MetaDesc:
		old, ok := m.descs[rec.Desc.PMID]
		if ok && old != rec.Desc {
			return errors.New("metric " + rec.Desc.PMID.String() + " is not what it was before")
		}
		m.descs[rec.Desc.PMID] = rec.Desc
	}
	return nil
}

// A scanner goes through the records of a file by their lengths.
type scanner struct {
	f    *archive.File
	path string
	off  int64
	buf  []byte
	at   int64 // of buf
}

func newScanner(path string, version int) (*scanner, error) {
	f, err := archive.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &scanner{f: f, path: path, off: int64(archive.LabelSize(version))}, nil
}

func (s *scanner) close() { s.f.Close() }

const scanSize = 512 << 10

// bytes returns n bytes at the offset, fewer where the file ends.
func (s *scanner) bytes(n int64) []byte {
	if i := s.off - s.at; i >= 0 && i+n <= int64(len(s.buf)) {
		return s.buf[i : i+n]
	}
	// Memory grows as the bytes come, not as a length claims.
	b := s.buf[:0]
	for want := max(n, scanSize); int64(len(b)) < want; {
		k := int(min(want-int64(len(b)), scanSize))
		if cap(b)-len(b) < k {
			b = append(make([]byte, 0, 2*cap(b)+k), b...)
		}
		got, err := s.f.ReadAt(b[len(b):len(b)+k], s.off+int64(len(b)))
		b = b[:len(b)+got]
		if err != nil {
			break
		}
	}
	s.buf, s.at = b, s.off
	return b[:min(n, int64(len(b)))]
}

// next returns the contents of the next record and where it starts, valid until
// the next call; io.EOF at the end. After an error it stays where it is.
func (s *scanner) next() (body []byte, off int64, err error) {
	off = s.off
	head := s.bytes(4)
	if len(head) == 0 {
		return nil, off, io.EOF
	}
	fail := func(format string, args ...any) ([]byte, int64, error) {
		return nil, off, fmt.Errorf("%s: offset %d: %s", s.path, off, fmt.Sprintf(format, args...))
	}
	if len(head) < 4 {
		return fail("%d bytes that are no record", len(head))
	}
	n := int64(int32(binary.BigEndian.Uint32(head)))
	if n < 8 {
		return fail("a record of %d bytes", n)
	}
	b := s.bytes(n)
	if int64(len(b)) < n {
		return fail("a record of %d bytes, of which there are %d", n, len(b))
	}
	if tail := int32(binary.BigEndian.Uint32(b[n-4:])); int64(tail) != n {
		return fail("a record that starts with length %d and ends with %d", n, tail)
	}
	s.off += n
	return b[4 : n-4], off, nil
}
