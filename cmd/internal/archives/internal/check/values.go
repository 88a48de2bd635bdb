package check

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/valueset"
)

// Values are read without making a pcp.Value of each: there are millions of them,
// and nearly all are valid.

// record checks the values of a record.
func (s *valueScan) record(rec *archive.Record) {
	for i := range rec.Sets {
		if set := &rec.Sets[i]; set.Len > 0 && !s.dead {
			s.set(i, rec, set)
		}
	}
}

// set checks the values of a metric.
func (s *valueScan) set(i int, rec *archive.Record, set *archive.Set) {
	m, fresh := s.metric(i, set.PMID)
	if fresh {
		m.format = set.ValFmt
	}
	values := rec.Values(set)
	switch {
	case m.check == nothing:
	case m.format != set.ValFmt:
		s.of(m.id, fmt.Sprintf("encoding botch valfmt=%d not %d as expected", set.ValFmt, m.format))
	case set.ValFmt != pcp.ValInSitu:
		if set.Head == 0 || !m.long(set.Head) {
			s.inBlocks(m, values, rec.Body)
		} else if m.check == counter {
			s.inRun(m, values, rec.Body[set.Blocks:])
		} else if s.learned {
			s.inBlocks(m, values, rec.Body)
		}
	case m.typ != pcp.Type32 && m.typ != pcp.TypeU32 && m.typ != pcp.TypeFloat:
		s.unlike(m, false) // all of them; the first ends the check
	case m.check == counter:
		s.inSitu(m, values)
	}
}

// single reports whether a set with that number of bytes of values has the only
// value of a metric without instances. Its instance can then be anything: old
// archives have random memory there.
func (m *metric) single(bytes int) bool {
	return bytes == 8 && m.indom == pcp.InDomNull && len(m.insts.list) > 0
}

// long reports whether blocks with a head are numbers of 64 bits of the metric's
// type.
func (m *metric) long(head uint32) bool {
	switch m.typ {
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
		return head == valueset.Head(m.typ, longBlock)
	}
	return false
}

// longBlock is the length of the block of a number of 64 bits.
const longBlock = valueset.BlockHead + 8

// inSitu checks a counter's values of 32 bits.
func (s *valueScan) inSitu(m *metric, values []byte) {
	s.numbers = s.numbers[:0]
	signed := m.typ == pcp.Type32
	for w := values; len(w) >= valueset.Pair; w = w[valueset.Pair:] {
		word := binary.BigEndian.Uint32(w[4:])
		now := float64(word)
		if signed {
			now = float64(int32(word))
		}
		s.numbers = append(s.numbers, now)
	}
	s.counters(m, values)
}

// inRun checks a counter's values of 64 bits, whose blocks follow each other.
func (s *valueScan) inRun(m *metric, values, blocks []byte) {
	s.numbers = s.numbers[:0]
	signed := m.typ == pcp.Type64
	for range len(values) / valueset.Pair {
		word := binary.BigEndian.Uint64(blocks[valueset.BlockHead:longBlock])
		now := float64(word)
		if signed {
			now = float64(int64(word))
		}
		s.numbers = append(s.numbers, now)
		blocks = blocks[longBlock:]
	}
	s.counters(m, values)
}

// counters checks a counter's values, which are in s.numbers.
func (s *valueScan) counters(m *metric, values []byte) {
	s.catchUp(m)
	single := m.single(len(values))
	sec, nsec := s.time.Sec, s.time.Nsec
	seek := m.insts.begin()
	for _, now := range s.numbers {
		id := int32(binary.BigEndian.Uint32(values))
		values = values[valueset.Pair:]
		if single {
			id = m.insts.list[0].id
		}
		in, fresh := m.insts.next(&seek, id)
		if !fresh {
			if sec < in.sec || sec == in.sec && nsec <= in.nsec {
				continue // no time has passed
			}
			if now < in.last && in.sec > 0 {
				s.wrapped(m, in, now)
			}
		}
		in.last, in.sec, in.nsec = now, sec, nsec
	}
	m.insts.end(&seek)
}

// inBlocks checks values that are in blocks of any kind.
func (s *valueScan) inBlocks(m *metric, values, body []byte) {
	if m.check != counter && !s.learned {
		s.encoded(m, values, body)
		return
	}
	s.catchUp(m)
	sec, nsec := s.time.Sec, s.time.Nsec
	single := m.single(len(values))
	seek := m.insts.begin()
	for ; len(values) >= 8; values = values[8:] {
		id, word := int32(binary.BigEndian.Uint32(values)), binary.BigEndian.Uint32(values[4:])
		if single {
			id = m.insts.list[0].id
		}
		head, bits := block(body, word)
		now, ok := number(m.typ, head, bits)
		if !ok {
			known := m.insts.has(id)
			s.unlike(m, known)
			if !known {
				return // pmlogcheck ends here
			}
			continue
		}
		in, fresh := m.insts.next(&seek, id)
		if m.check != counter {
			continue
		}
		if !fresh {
			if sec < in.sec || sec == in.sec && nsec <= in.nsec {
				continue
			}
			if now < in.last && in.sec > 0 {
				s.wrapped(m, in, now)
			}
		}
		in.last, in.sec, in.nsec = now, sec, nsec
	}
	m.insts.end(&seek)
}

// encoded checks whether values are numbers of their type. If a value is not, it
// matters whether the instance had a valid one before; only then encoded looks
// for that, from the beginning.
func (s *valueScan) encoded(m *metric, values, body []byte) {
	for w := values; len(w) >= 8; w = w[8:] {
		head, bits := block(body, binary.BigEndian.Uint32(w[4:]))
		if _, ok := number(m.typ, head, bits); !ok {
			s.learn()
			s.inBlocks(m, values, body)
			return
		}
	}
}

// learn reads the records before the current one again, for the instances of all
// metrics that are not counters, which are kept from now on.
func (s *valueScan) learn() {
	s.learned = true
	in := archive.NewScanner(s.c.a)
	defer in.Close()
	if in.SeekNear(s.from) != nil {
		return
	}
	for rec, err := range in.Records() {
		if err != nil || rec.Volume == s.vol && rec.Offset >= s.off {
			return
		}
		for i := range rec.Sets {
			set := &rec.Sets[i]
			m := s.metrics[set.PMID]
			if m == nil || m.check != encoding || m.format != set.ValFmt || m.single(8*set.Len) {
				continue
			}
			seek := m.insts.begin()
			for values := rec.Values(set); len(values) >= 8; values = values[8:] {
				m.insts.next(&seek, int32(binary.BigEndian.Uint32(values)))
			}
			m.insts.end(&seek)
		}
	}
}

// unlike reports that a value is not a number of its type. For the first value of
// an instance pmlogcheck then stops.
func (s *valueScan) unlike(m *metric, known bool) {
	s.of(m.id, "pmExtractValue failed: "+pcp.ErrConv.Error())
	if known {
		return
	}
	s.pending = append(s.pending, Finding{
		Severity: Error, File: s.file(), Offset: s.off, Text: "the check ends here, where values make no sense",
		Message: s.c.prog() + ": possibly corrupt archive?\n",
	})
	s.dead = true
}

// catchUp applies marks since the metric was last present: values before a mark
// do not count.
func (s *valueScan) catchUp(m *metric) {
	if m.marks != s.marks {
		m.marks = s.marks
		for i := range m.insts.list {
			m.insts.list[i].sec = 0
		}
	}
}

// block returns the head of the block that a word of a record refers to, and up
// to eight of its first bytes.
func block(body []byte, word uint32) (head uint32, bits uint64) {
	b := body[valueset.At(word):]
	head = binary.BigEndian.Uint32(b)
	switch _, n := valueset.SplitHead(head); {
	case n >= pcp.ValHeaderSize+8:
		bits = binary.BigEndian.Uint64(b[pcp.ValHeaderSize:])
	case n >= pcp.ValHeaderSize+4:
		bits = uint64(binary.BigEndian.Uint32(b[pcp.ValHeaderSize:])) << 32
	}
	return head, bits
}
