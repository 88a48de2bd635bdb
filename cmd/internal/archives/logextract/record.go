package logextract

import (
	"encoding/binary"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A record is a record of a volume with its selected parts. It is valid until the
// input's next record.
type record struct {
	*archive.Record
	parts   []archive.Part // the selected parts, nil for all
	metrics []*metric      // of the parts, or of all sets
}

func be(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// numval returns the number of values in a set, or its error.
func numval(s *archive.Set) int {
	if s.Len == 0 {
		return int(s.Status)
	}
	return s.Len
}

// A scanner checks the records of an input and finds their metrics.
type scanner struct {
	check  archive.Checker
	rec    archive.Record
	shapes [archive.MaxLayouts + 1][]*metric // by layout; or of the last record without a layout

	// The selected parts of the record.
	parts   []archive.Part
	metrics []*metric
	picks   []int
}

// scan checks a record. Find returns the metric of an identifier; it is called rarely.
func (s *scanner) scan(body []byte, version int, find func(pcp.PMID) *metric) (record, error) {
	s.rec.Body, s.rec.Version = body, version
	if err := s.check.Record(&s.rec); err != nil {
		return record{}, err
	}
	sets, shape := s.rec.Sets, s.shapes[s.rec.Layout]
	if s.rec.Layout == 0 || shape == nil {
		for i := range sets {
			if i == len(shape) {
				shape = append(shape, nil)
			}
			if m := shape[i]; m == nil || m.id != sets[i].PMID {
				shape[i] = find(sets[i].PMID) // mostly that of the last record
			}
		}
		s.shapes[s.rec.Layout] = shape
	}
	return record{Record: &s.rec, metrics: shape[:len(sets)]}, nil
}

// pmcd takes pmcd.pid and pmcd.seqnum from a prologue or epilogue: a record of
// five metrics.
func (in *input) pmcd(r *record, warn func(what string, err error)) {
	for i := range r.Sets {
		s := &r.Sets[i]
		var want pcp.Type
		switch s.PMID {
		case pmcdPID:
			want = pcp.TypeU64
		case pmcdSeqnum:
			want = pcp.TypeU32
		default:
			continue
		}
		if s.Len == 0 {
			continue
		}
		v, err := value(r.Record, s)
		if err == nil && v.Type() != pcp.TypeUnknown && v.Type() != want {
			err = pcp.ErrConv
		}
		if err == nil && want == pcp.TypeU64 && v.Type() == pcp.TypeUnknown {
			err = pcp.ErrConv
		}
		switch {
		case err != nil && want == pcp.TypeU64:
			warn("pmcd.pid", err)
		case err != nil:
			warn("pmcd.seqnum", err)
		case want == pcp.TypeU64:
			in.pid = int64(v.Bits())
		default:
			in.seqnum = int32(uint32(v.Bits()))
		}
	}
}

// The metrics that pmlogger writes first and last: NewPMID(2, 0, 23) and 24.
const (
	pmcdPID    pcp.PMID = 2<<22 | 23
	pmcdSeqnum pcp.PMID = 2<<22 | 24
)

// value returns the first value of a set, which must have a value.
func value(r *archive.Record, s *archive.Set) (pcp.Value, error) {
	word := be(r.Values(s)[4:])
	if s.ValFmt == pcp.ValInSitu {
		return pcp.RawValue(pcp.TypeUnknown, uint64(word)), nil
	}
	switch t, data := r.Block(word); {
	case t == pcp.TypeU64 && len(data) == 8:
		return pcp.RawValue(t, binary.BigEndian.Uint64(data)), nil
	case t == pcp.TypeU32 && len(data) == 4:
		return pcp.RawValue(t, uint64(be(data))), nil
	}
	return pcp.Value{}, pcp.ErrConv
}
