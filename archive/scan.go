package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/internal/overlap"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A Record is a good record of a volume, not decoded. It is valid until the next
// one is read.
type Record struct {
	Time    pcp.Timestamp
	Sets    []Set  // none in a mark; they belong to the scanner
	Body    []byte // contents without length words, nil for the mark between two archives
	Version int    // of the format

	// Layout is the same number for records that have the same Sets, and differ
	// only in values. It is at most MaxLayouts, and 0 for records without a known
	// layout. Facts about the sets of one record hold for all records of its
	// layout.
	Layout int

	// Canonical reports whether the record has the layout of the C library: the
	// sets are followed by the blocks, in the order of the values, each padded to
	// a whole word with tildes.
	Canonical bool

	Volume int   // number of the volume
	Offset int64 // of the record in it
}

// A Set locates the values of a metric in a record.
type Set struct {
	PMID   pcp.PMID
	Status pcp.Error  // the error if there are no values
	ValFmt pcp.ValFmt // of the values, if there are any
	Len    int        // number of values
	At     int        // offset of the first value in the contents; each has 8 bytes

	// Head is the first word of each block of the values, if all are equal and
	// the blocks are adjacent from Blocks on, as is usual for numbers; otherwise
	// 0.
	Head   uint32
	Blocks int
}

// Values returns the instances and values of a set of the record, 8 bytes for each:
// the instance and the word of Word, in the byte order of the file.
func (r *Record) Values(s *Set) []byte { return r.Body[s.At : s.At+valueset.Pair*s.Len] }

// Block returns the type and the contents of the block of a value that is not in
// situ, given the word of the value. The contents belong to the record.
func (r *Record) Block(word uint32) (t pcp.Type, data []byte) {
	block := r.Body[valueset.At(word):]
	t, n := valueset.SplitHead(binary.BigEndian.Uint32(block))
	return t, block[valueset.BlockHead:n:n]
}

// MarkGap is the time between the end of an archive and the mark that separates it from the
// next.
const MarkGap = time.Millisecond

// A Scanner reads all records of archives, one archive after the other, and
// checks each. It is for programs that read all metrics, and the fastest way to do
// so: it does not look into records with the layout of an earlier one.
//
//	s := archive.NewScanner(list...)
//	defer s.Close()
//	for rec, err := range s.Records() {
//		...
//		for i := range rec.Sets { ... }
//	}
//
// Between two archives there is a mark without contents, a millisecond behind the
// end of the first. Archives of recorders that share hosts can overlap: their names are a
// time and the name of the recorder. Each moment is then read from the archive that
// began last. Another overlap is the error [pcp.ErrLogOverlap].
type Scanner struct {
	list   []*Archive
	parts  []overlap.Part // of the archives, nil before the first use
	cur    int            // the current part
	rd     *Reader
	marked bool // the mark behind the archive was read
	check  Checker
	rec    Record
}

// NewScanner returns a scanner of archives, which must be in the order of time. It
// starts with the first record.
func NewScanner(list ...*Archive) *Scanner { return &Scanner{list: list} }

// Close closes the files that the scanner uses.
func (s *Scanner) Close() {
	if s.rd == nil {
		return
	}
	s.rd.Close()
	s.rd = nil
	if len(s.list) > 1 {
		s.archive().CloseIdle()
	}
}

// Seek moves the scanner to the records not before a time, perhaps after a few
// others.
func (s *Scanner) Seek(to pcp.Timestamp) error {
	return s.rd.Seek(s.choose(to), Forward)
}

// SeekNear moves to the position of the index for a time, a bit before or after it,
// as the C library's own tools for archives do (pmSetMode(3) alone).
func (s *Scanner) SeekNear(to pcp.Timestamp) error {
	err := s.rd.seekMode(s.choose(to))
	if err == nil {
		s.rec.Volume, _ = s.rd.Position()
	}
	return err
}

// choose moves to the part that contains a time. It returns the time, or the start of
// the part if that is later.
func (s *Scanner) choose(to pcp.Timestamp) pcp.Timestamp {
	s.Close()
	s.divide()
	s.cur, s.marked = 0, false
	for s.cur+1 < len(s.parts) && s.start(s.cur+1).Compare(to) < 0 {
		s.cur++
	}
	s.rd = s.archive().NewReader()
	if from := s.parts[s.cur].From; from.Compare(to) > 0 {
		return from
	}
	return to
}

// divide finds the parts of the archives.
func (s *Scanner) divide() {
	if s.parts != nil {
		return
	}
	all := make([]overlap.Archive, len(s.list))
	for i, a := range s.list {
		all[i] = overlap.Archive{Path: a.path, Start: a.label.Start, End: a.End}
	}
	s.parts = overlap.Parts(all)
}

// archive returns the current archive.
func (s *Scanner) archive() *Archive { return s.list[s.parts[s.cur].Index] }

// start returns the start of a part.
func (s *Scanner) start(i int) pcp.Timestamp {
	if p := &s.parts[i]; !p.From.IsZero() {
		return p.From
	}
	return s.list[s.parts[i].Index].label.Start
}

// Position returns the volume and the offset of the last record, or the scanner's
// position if none was read yet.
func (s *Scanner) Position() (vol int, off int64) { return s.rec.Volume, s.rec.Offset }

// Records returns the records from the scanner's position on. It ends after an error.
func (s *Scanner) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for {
			rec, err := s.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// Next returns the next record, valid until the next call; io.EOF at the end.
func (s *Scanner) Next() (*Record, error) {
	if s.rd == nil {
		s.divide()
		s.rd = s.archive().NewReader()
	}
	for {
		var body []byte
		err := io.EOF
		if !s.marked || s.parts[s.cur].To.IsZero() { // records behind the part are not read
			body, err = s.rd.Step(Forward)
		}
		a, p := s.archive(), &s.parts[s.cur]
		if err == nil && !p.Whole() {
			var skip bool
			if skip, err = outside(p, body, a.label.Version); skip {
				continue
			}
		}
		if err == nil {
			rec := &s.rec
			vol, off := s.rd.Position()
			rec.Volume, rec.Offset = vol, off-int64(len(body))-frame
			rec.Body, rec.Version = body, a.label.Version
			if err := s.check.Record(rec); err != nil {
				return nil, err
			}
			return rec, nil
		}
		if s.rd.v != nil {
			s.rec.Volume = s.rd.v.number
		}
		if !errors.Is(err, io.EOF) || s.cur+1 == len(s.parts) {
			s.rest()
			return nil, err
		}
		end, err := a.End()
		if err != nil {
			return nil, err
		}
		if !s.marked {
			s.marked = true
			at := end.Add(MarkGap)
			if !p.To.IsZero() {
				at = p.To
			}
			s.rec = Record{Time: at, Version: a.label.Version, Volume: s.rec.Volume}
			return &s.rec, nil
		}
		if err := s.nextArchive(end); err != nil {
			return nil, err
		}
	}
}

// rest releases memory, and has the next records read in small pieces: a program may follow many archives that grow slowly.
func (s *Scanner) rest() {
	if s.rd.vr != nil {
		s.rd.vr.w.rest()
		s.rd.vr.body, s.rec.Body = nil, nil
	}
	s.check.rest()
}

// outside reports whether a record is before the part of its archive that is read. Behind it, the
// error is io.EOF.
func outside(p *overlap.Part, body []byte, version int) (before bool, err error) {
	var rec SetScanner
	switch {
	case !rec.Start(body, version):
		return false, nil // the check of the record returns the error
	case !p.To.IsZero() && rec.Time.Compare(p.To) >= 0:
		return false, io.EOF
	}
	return rec.Time.Compare(p.From) < 0, nil
}

// nextArchive moves to the start of the next part, given the end of the current archive.
func (s *Scanner) nextArchive(end pcp.Timestamp) error {
	s.Close()
	last, earlier := s.parts[s.cur], s.archive()
	s.cur++
	s.marked = false
	a, p := s.archive(), &s.parts[s.cur]
	s.rd = a.NewReader()
	switch {
	case !p.From.IsZero():
		return s.rd.Seek(p.From, Forward)
	case last.To.IsZero() && end.Compare(a.label.Start) > 0:
		return fmt.Errorf("%s and %s: %w", earlier.path, a.path, pcp.ErrLogOverlap)
	}
	return nil
}
