package logextract

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A record is a record of a volume, with what of it is wanted.
type record struct {
	time pcp.Timestamp
	body []byte // contents, valid until the input's next one
	sets []set  // those that are wanted, none in a mark
	all  bool   // and they are all there are, in a form that need not change
}

// A set is the values of one metric in a record.
type set struct {
	m      *metric
	id     pcp.PMID
	off    int   // of it in the body
	numval int32 // as it goes out: a count or an error
	insts  []int // indexes of the wanted values, if picked
	picked bool
}

func be(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// A scanner finds the sets of records.
type scanner struct {
	version int
	sets    []set
	shape   []*metric // those of the last record, by place: mostly the same again
	res     pcp.Result
	fixed   []byte // a record that had to be brought into form
}

// scan finds the sets of a record and brings it into the form that the C
// library writes: blocks in the order of their values, and padded with tildes.
// Find tells which metric an identifier stands for; it is asked seldom.
func (s *scanner) scan(body []byte, find func(pcp.PMID) *metric) (record, error) {
	t, n, ok := archive.RecordTime(body, s.version)
	if !ok || n < 0 || uint64(n)*8 > uint64(len(body)) {
		return record{}, fmt.Errorf("record of %d bytes: %w", len(body), pcp.ErrLogRec)
	}
	s.sets = s.sets[:0]
	end := archive.HeadSize(s.version)
	plain := true // there are no blocks
	for i := range int(n) {
		if len(body)-end < 8 {
			return record{}, fmt.Errorf("set past the end: %w", pcp.ErrLogRec)
		}
		id, numval := pcp.PMID(be(body[end:])), int32(be(body[end+4:]))
		if i == len(s.shape) {
			s.shape = append(s.shape, nil)
		}
		m := s.shape[i]
		if m == nil || m.id != id {
			m = find(id)
			s.shape[i] = m
		}
		s.sets = append(s.sets, set{m: m, id: id, off: end, numval: numval})
		end += 8
		if numval > 0 {
			if 4+8*uint64(numval) > uint64(len(body)-end) {
				return record{}, fmt.Errorf("values past the end: %w", pcp.ErrLogRec)
			}
			if be(body[end:]) != uint32(pcp.ValInSitu) {
				plain = false
			}
			end += 4 + 8*int(numval)
		}
	}
	if plain && end == len(body) || !plain && s.inForm(body, end) {
		return record{time: t, body: body, sets: s.sets, all: true}, nil
	}
	if err := archive.DecodeResult(&s.res, body, s.version); err != nil {
		return record{}, err
	}
	whole := record{time: t, body: body, sets: s.sets}
	s.fixed = whole.append(s.fixed[:0], s.version, s.version)
	return record{time: t, body: s.fixed, sets: s.sets, all: true}, nil
}

// inForm reports whether the blocks from end on are good and as they would be
// written. Those with events are left to a closer look.
func (s *scanner) inForm(body []byte, end int) bool {
	next := end
	for i := range s.sets {
		numval := int(s.sets[i].numval)
		if numval <= 0 {
			continue
		}
		off := s.sets[i].off + 8
		switch pcp.ValFmt(be(body[off:])) {
		case pcp.ValInSitu:
			continue
		case pcp.ValDPtr, pcp.ValSPtr:
		default:
			return false
		}
		pairs := body[off+4 : off+4+8*numval]
		for ; len(pairs) >= 8; pairs = pairs[8:] {
			if valueset.At(be(pairs[4:8])) != next || len(body)-next < valueset.BlockHead {
				return false
			}
			t, size := valueset.SplitHead(be(body[next:]))
			if size < valueset.BlockHead || size > len(body)-next {
				return false
			}
			if size&3 != 0 {
				pad := -size & 3
				if pad > len(body)-next-size {
					return false
				}
				for _, c := range body[next+size : next+size+pad] {
					if c != '~' {
						return false
					}
				}
				size += pad
			}
			if t == pcp.TypeEvent || t == pcp.TypeHighResEvent {
				return false
			}
			next += size
		}
	}
	return next == len(body)
}

// append appends the contents of the record as they are in a version of the
// format: the sets that are wanted, their blocks behind them.
func (r *record) append(b []byte, from, to int) []byte {
	if r.all && from == to {
		return append(b, r.body...)
	}
	start := len(b)
	if to >= archive.Version3 {
		b = binary.BigEndian.AppendUint32(b, uint32(r.time.Sec))
		b = binary.BigEndian.AppendUint32(b, uint32(r.time.Sec>>32))
		b = binary.BigEndian.AppendUint32(b, uint32(r.time.Nsec))
	} else {
		b = append(b, r.body[:8]...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.sets)))
	blocks := false
	for i := range r.sets {
		s := &r.sets[i]
		b = binary.BigEndian.AppendUint32(b, uint32(s.id))
		b = binary.BigEndian.AppendUint32(b, uint32(s.numval))
		if s.numval <= 0 {
			continue
		}
		vals := r.body[s.off+8:]
		if be(vals) != uint32(pcp.ValInSitu) {
			blocks = true
		}
		if !s.picked {
			b = append(b, vals[:4+8*int(s.numval)]...)
			continue
		}
		b = append(b, vals[:4]...)
		for _, k := range s.insts {
			b = append(b, vals[4+8*k:12+8*k]...)
		}
	}
	if !blocks {
		return b
	}
	// Again, now that it is known where the blocks begin.
	at := start + archive.HeadSize(to)
	for i := range r.sets {
		s := &r.sets[i]
		at += 8
		if s.numval <= 0 {
			continue
		}
		n := int(s.numval)
		at += 4
		if be(b[at-4:]) == uint32(pcp.ValInSitu) {
			at += 8 * n
			continue
		}
		for range n {
			block := r.body[valueset.At(be(b[at+4:])):]
			_, size := valueset.SplitHead(be(block))
			binary.BigEndian.PutUint32(b[at+4:], valueset.Word(len(b)-start))
			b = valueset.Pad(append(b, block[:size]...), size)
			at += 8
		}
	}
	return b
}

// pmcd takes pmcd.pid and pmcd.seqnum from a prologue or epilogue: a record of
// five metrics.
func (in *input) pmcd(r *record, warn func(what string, err error)) {
	for i := range r.sets {
		s := &r.sets[i]
		var want pcp.Type
		switch s.id {
		case pmcdPID:
			want = pcp.TypeU64
		case pmcdSeqnum:
			want = pcp.TypeU32
		default:
			continue
		}
		if s.numval <= 0 {
			continue
		}
		v, err := value(r.body, s)
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

// value returns the first value of a set, which has one.
func value(body []byte, s *set) (pcp.Value, error) {
	word := be(body[s.off+16:])
	if be(body[s.off+8:]) == uint32(pcp.ValInSitu) {
		return pcp.RawValue(pcp.TypeUnknown, uint64(word)), nil
	}
	block := body[valueset.At(word):]
	switch t, size := valueset.SplitHead(be(block)); {
	case t == pcp.TypeU64 && size == 12:
		return pcp.RawValue(t, binary.BigEndian.Uint64(block[4:])), nil
	case t == pcp.TypeU32 && size == 8:
		return pcp.RawValue(t, uint64(be(block[4:]))), nil
	default:
		return pcp.Value{}, pcp.ErrConv
	}
}
