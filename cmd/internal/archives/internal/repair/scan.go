package repair

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// Limits. Beyond them the rest of a file is dropped, and reported.
const (
	maxRecords = 1 << 25 // records of all volumes
	maxMeta    = 1 << 25 // records of the metadata
	maxIndex   = 1 << 22 // entries of the index that are read

	// A damaged file may seem to have records within records without end: the
	// search for the next good record decodes a limited number of bytes.
	searchFactor = 16
	searchLeast  = 64 << 20
)

// A scanner finds the complete records of a file.
type scanner struct {
	in    *input
	least int64 // bytes of the shortest record
	limit int   // of records

	// head reports whether bytes that start with b may be a record of n bytes. It
	// is the first check. B has least bytes.
	head func(b []byte, n int64) bool

	// try adds the record whose contents are body, or returns why it is bad. With
	// search it may not be a record.
	try func(off, n int64, body []byte, search bool) (why string)

	step func(off int64) error // now and then; may be nil

	lost  []loss
	count int
}

// run scans the file from off on.
func (s *scanner) run(off int64) error {
	start := int64(-1) // of the lost part
	why := ""
	if off == 0 {
		start, why = 0, "the label is damaged"
	}
	budget := searchLeast + searchFactor*s.in.Size
	told := off
	end := int64(-1) // of the last record, if nothing is lost behind it
	if s.in.Broken != nil {
		s.lose(0, s.in.Size, 0, s.in.Broken.Error())
		off = s.in.Size
		start = -1
	}
	for off < s.in.Size {
		if s.step != nil && off-told >= windowSize/2 {
			told = off
			if err := s.step(off); err != nil {
				return err
			}
		}
		if s.count >= s.limit {
			start, why = off, fmt.Sprintf("more than %d records", s.limit)
			break
		}
		n, reason, framed := s.record(off, start >= 0, &budget)
		if reason == "" {
			if start >= 0 {
				s.lose(start, off, 0, why)
				start = -1
			}
			s.count++
			off += n
			end = off
			continue
		}
		if start < 0 && off == end {
			// If one of two equal lengths between records is missing, or a word
			// at the end of the first record, the remaining length counts as
			// both.
			end = -1
			if n, why, _ := s.record(off-4, true, &budget); why == "" {
				s.lost = append(s.lost, loss{span{off - 4, off - 4}, 0, "a length is missing between two records"})
				s.count++
				off += n - 4
				end = off
				continue
			}
		}
		if budget < 0 {
			start, why = max(start, off), "too much in it looks like a record but is not one"
			if start > off {
				start = off
			}
			break
		}
		if start >= 0 {
			off = s.candidate(s.in.readable(off + 1))
			continue
		}
		if framed && s.begins(off+n) {
			s.lose(off, off+n, 1, reason)
			off += n
			continue
		}
		start, why = off, reason
		off = s.candidate(off + 1)
	}
	if start >= 0 {
		s.lose(start, s.in.Size, 0, why)
	}
	if s.step != nil {
		return s.step(s.in.Size)
	}
	return nil
}

// candidate returns the first offset from off on where bytes look like the start
// of a record, or the end of the window. It makes the search fast.
func (s *scanner) candidate(off int64) int64 {
	b := s.in.rest(off, s.least)
	left := s.in.Size - off
	for i := 0; i+int(s.least) <= len(b); i++ {
		n := int64(int32(binary.BigEndian.Uint32(b[i:])))
		if n >= s.least && n <= left-int64(i) && s.head(b[i:], n) {
			return off + int64(i)
		}
	}
	return off + max(0, int64(len(b))-s.least+1)
}

// lose records a loss.
func (s *scanner) lose(from, to int64, records int, why string) {
	if from == to {
		return
	}
	if s.in.torn(from, to-from) && s.in.err != nil {
		why = "it cannot be read: " + s.in.err.Error()
	}
	s.lost = append(s.lost, loss{span{from, to}, records, why})
}

// begins reports whether a record may start at off: its lengths agree, or the
// file ends.
func (s *scanner) begins(off int64) bool {
	if off == s.in.Size {
		return true
	}
	n, ok := s.in.length(off)
	if !ok || n < s.least || n > s.in.Size-off {
		return false
	}
	tail, ok := s.in.length(off + n - 4)
	return ok && tail == n
}

// record tries the record at off. It returns its length, the reason if it is bad,
// and whether its lengths agree nevertheless.
func (s *scanner) record(off int64, search bool, budget *int64) (n int64, why string, framed bool) {
	in := s.in
	left := in.Size - off
	b := in.at(off, s.least)
	if len(b) < 4 {
		return 0, fmt.Sprintf("%d bytes that are no record", len(b)), false
	}
	n = int64(int32(binary.BigEndian.Uint32(b)))
	switch {
	case n < s.least:
		return 0, fmt.Sprintf("a record of %d bytes", n), false
	case n > left:
		return 0, fmt.Sprintf("a record of %d bytes, of which there are %d", n, left), false
	case search && int64(len(b)) >= s.least && !s.head(b, n):
		return 0, "no record", false
	}
	tail, _ := in.length(off + n - 4)
	if tail != n {
		return 0, fmt.Sprintf("a record that starts with length %d and ends with %d", n, tail), false
	}
	if search {
		if *budget -= n; *budget < 0 {
			return 0, "too long a search", false
		}
	}
	b = in.at(off, n)
	if in.torn(off, n) {
		return n, "a record that cannot be read", false
	}
	return n, s.try(off, n, b[4:n-4], search), true
}

// A valueScan finds the records of all volumes.
type valueScan struct {
	meta    *metadata
	version int
	list    []record
	res     pcp.Result
	before  []seen
}

// seen is the metric of a set of the previous record.
type seen struct {
	id pcp.PMID
	m  *metric
}

// rawTime reports whether b starts with a valid time.
func rawTime(b []byte, version int) bool {
	if version >= archive.Version3 {
		return binary.BigEndian.Uint32(b[4:]) < 1<<31 && binary.BigEndian.Uint32(b[8:]) < 1e9
	}
	return binary.BigEndian.Uint32(b) < 1<<31 && binary.BigEndian.Uint32(b[4:]) < 1e6
}

// volume finds the records of a volume, from off on.
func (v *valueScan) volume(vol int, in *input, off int64, step func(int64) error) ([]loss, error) {
	head := 4 + int64(archive.HeadSize(v.version)) // with the first length
	s := scanner{in: in, least: head + 4, limit: maxRecords - len(v.list), step: step}
	s.head = func(b []byte, n int64) bool {
		sets := int64(int32(binary.BigEndian.Uint32(b[head-4:])))
		return rawTime(b[4:], v.version) && sets >= 0 && 8*sets <= n-head-4 && (sets > 0 || n == head+4)
	}
	s.try = func(off, n int64, body []byte, search bool) string {
		if !rawTime(body, v.version) {
			return "its time stamp is not a time"
		}
		if err := archive.DecodeResult(&v.res, body, v.version); err != nil {
			return err.Error()
		}
		r := record{off: off, n: int32(n), vol: int32(vol), sec: v.res.Time.Sec, nsec: v.res.Time.Nsec, flags: fits}
		known := v.look(&r)
		if search && !known && len(v.res.Sets) > 0 {
			return "none of its metrics is known"
		}
		v.list = append(v.list, r)
		return ""
	}
	err := s.run(off)
	return s.lost, err
}

// look compares the sets of v.res with the metadata. It reports whether any of
// their metrics is known.
func (v *valueScan) look(r *record) bool {
	sets := v.res.Sets
	if len(sets) == 0 {
		r.flags |= isMark
		return false
	}
	r.group = uint16(len(sets)) ^ uint16(sets[0].PMID) ^ uint16(sets[0].PMID>>16)
	known := false
	for i := range sets {
		set := &sets[i]
		if i == len(v.before) {
			v.before = append(v.before, seen{id: pcp.PMIDNull})
		}
		b := &v.before[i]
		if b.id != set.PMID {
			b.id, b.m = set.PMID, v.meta.metrics[set.PMID]
		}
		if b.m != nil {
			known = true
		}
		if len(set.Values) == 0 {
			continue
		}
		if b.m == nil {
			r.flags &^= fits
			continue
		}
		for k := range b.m.descs {
			c := &b.m.descs[k]
			if like(&c.Desc, set) {
				c.fits++
			} else {
				c.does++
				r.flags &^= fits
			}
			if c.InDom != pcp.InDomNull && !v.meta.indoms[c.InDom] {
				r.flags &^= fits
			}
		}
		if len(b.m.descs) > 1 {
			r.flags &^= fits
		}
	}
	return known
}

// like reports whether values match their descriptor.
func like(d *pcp.Desc, set *pcp.ValueSet) bool {
	if d.InDom == pcp.InDomNull && len(set.Values) > 1 {
		return false
	}
	if set.ValFmt == pcp.ValInSitu {
		return d.Type == pcp.Type32 || d.Type == pcp.TypeU32 || d.Type == pcp.TypeFloat
	}
	for i := range set.Values {
		v := &set.Values[i]
		t, data := v.Type(), v.Bytes()
		switch d.Type {
		case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
			// Very old archives have no types in blocks, which is Type32.
			if t == d.Type && data != nil || t != d.Type && (t != pcp.Type32 || len(data) != 8) {
				return false
			}
		case pcp.TypeFloat:
			if t != d.Type && t != pcp.Type32 || data != nil {
				return false
			}
		case pcp.Type32, pcp.TypeU32, pcp.TypeNoSupport:
			return false
		case pcp.TypeAggregate, pcp.TypeAggregateStatic:
			if t != pcp.TypeAggregate && t != pcp.TypeAggregateStatic && t != pcp.Type32 {
				return false
			}
		default:
			if t != d.Type && t != pcp.Type32 {
				return false
			}
		}
	}
	return true
}

// confirm marks the records whose time the index has too.
func confirm(list []record, number []int, in *input, version int) {
	size := int64(20)
	if version >= archive.Version3 {
		size = 32
	}
	for off, k := int64(archive.LabelSize(version)), 0; off+size <= in.Size && k < maxIndex; off, k = off+size, k+1 {
		e := archive.DecodeIndexEntry(in.at(off, size), version)
		vol, ok := slices.BinarySearch(number, int(e.Vol))
		if !ok {
			continue
		}
		// Its offset is as often the start of its record as the end.
		i, found := slices.BinarySearchFunc(list, e, func(r record, e archive.IndexEntry) int {
			if int(r.vol) != vol {
				return int(r.vol) - vol
			}
			switch {
			case r.off < e.Data:
				return -1
			case r.off > e.Data:
				return 1
			}
			return 0
		})
		if found && list[i].time() == e.Time {
			list[i].flags |= confirmed
		}
		if i > 0 && list[i-1].time() == e.Time && int(list[i-1].vol) == vol && list[i-1].off+int64(list[i-1].n) == e.Data {
			list[i-1].flags |= confirmed
		}
	}
}
