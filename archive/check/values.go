package check

import (
	"encoding/binary"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// The layout of a record of a volume is drawn in archive/result.go. Here it is
// read without making a pcp.Value of each value: there are millions of them,
// and nearly all are fine.

// blockBase is where offsets of blocks count from, in bytes before the contents
// of a record.
const blockBase = 12

// record checks the structure of a record and, if look, its values.
func (s *valueScan) record(body []byte, sets int, look bool) error {
	b, ok := s.sets(body, sets, look)
	if ok && !b.events && b.left == 0 {
		return nil
	}
	// Only it can tell, or say what is wrong. What the values said is then
	// forgotten.
	err := archive.DecodeResult(new(pcp.Result), body, s.version)
	if err != nil {
		s.pending = s.pending[:0]
	}
	return err
}

// sets goes through the sets of a record. It returns false if the record is
// damaged.
func (s *valueScan) sets(body []byte, sets int, look bool) (b blocks, ok bool) {
	head := 12
	if s.version >= archive.Version3 {
		head = 16
	}
	end := head
	for range sets {
		if len(body)-end < 8 {
			return b, false
		}
		n := int32(binary.BigEndian.Uint32(body[end+4:]))
		end += 8
		if n > 0 {
			if 4+8*uint64(n) > uint64(len(body)-end) {
				return b, false
			}
			end += 4 + 8*int(n)
		}
	}
	b = blocks{body: body, first: end, left: len(body) - end}
	w := body[head:end]
	for i := range sets {
		n := int(int32(binary.BigEndian.Uint32(w[4:])))
		if n <= 0 {
			w = w[8:]
			continue
		}
		id, format := pcp.PMID(binary.BigEndian.Uint32(w)), pcp.ValFmt(binary.BigEndian.Uint32(w[8:]))
		values := w[12 : 12+8*n]
		w = w[12+8*n:]
		if format != pcp.ValInSitu && format != pcp.ValDPtr && format != pcp.ValSPtr {
			return b, false
		}
		ok := true
		if look && !s.dead {
			ok = s.set(i, id, format, values, &b)
		} else if format != pcp.ValInSitu {
			ok = b.all(values)
		}
		if !ok {
			return b, false
		}
	}
	return b, true
}

// set checks the values of a metric. It returns false if one has no block.
func (s *valueScan) set(i int, id pcp.PMID, format pcp.ValFmt, values []byte, b *blocks) bool {
	m, fresh := s.metric(i, id)
	if fresh {
		m.format = format
	}
	switch {
	case m.check == nothing:
	case m.format != format:
		s.of(id, fmt.Sprintf("encoding botch valfmt=%d not %d as expected", format, m.format))
	case format != pcp.ValInSitu:
		return s.inBlocks(m, values, b)
	case m.typ != pcp.Type32 && m.typ != pcp.TypeU32 && m.typ != pcp.TypeFloat:
		s.unlike(m, false) // all of them, and the first one ends it
		return true
	case m.check == counter:
		s.inSitu(m, values)
		return true
	}
	return format == pcp.ValInSitu || b.all(values)
}

// single reports whether a set of that many bytes of values has the only value of
// a metric without instances. What its instance says may then be anything: old
// archives have whatever was in memory.
func (m *metric) single(bytes int) bool {
	return bytes == 8 && m.indom == pcp.InDomNull && len(m.insts.list) > 0
}

// inSitu checks a counter's values of 32 bits.
func (s *valueScan) inSitu(m *metric, values []byte) {
	s.catchUp(m)
	signed, single := m.typ == pcp.Type32, m.single(len(values))
	sec, nsec := s.time.Sec, s.time.Nsec
	seek := m.insts.begin()
	for ; len(values) >= 8; values = values[8:] {
		id, word := int32(binary.BigEndian.Uint32(values)), binary.BigEndian.Uint32(values[4:])
		if single {
			id = m.insts.list[0].id
		}
		now := float64(word)
		if signed {
			now = float64(int32(word))
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

// inBlocks checks values that are in blocks.
func (s *valueScan) inBlocks(m *metric, values []byte, b *blocks) bool {
	if m.check != counter && !s.learned {
		return s.encoded(m, values, b)
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
		head, bits, ok := b.value(word)
		if !ok {
			return false
		}
		now, ok := number(m.typ, head, bits)
		if !ok {
			known := m.insts.has(id)
			s.unlike(m, known)
			if !known {
				return b.all(values[8:]) // pmlogcheck ends here, if the record is one
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
	return true
}

// encoded looks whether values are numbers of their type. If one is not, it
// matters whether the instance has had one that was, and only then that is
// found out: from the beginning.
func (s *valueScan) encoded(m *metric, values []byte, b *blocks) bool {
	mark := *b
	for w := values; len(w) >= 8; w = w[8:] {
		head, bits, ok := b.value(binary.BigEndian.Uint32(w[4:]))
		if !ok {
			return false
		}
		if _, ok := number(m.typ, head, bits); !ok {
			s.learn()
			*b = mark
			return s.inBlocks(m, values, b)
		}
	}
	return true
}

// learn reads again what came before the current record, for the instances of all
// metrics that are not counters. From then on they are kept.
func (s *valueScan) learn() {
	s.learned = true
	r := s.c.a.NewReader()
	defer r.Close()
	if r.SeekNear(s.from, archive.Forward) != nil {
		return
	}
	var res pcp.Result
	for {
		body, vol, err := r.NextBody()
		if err != nil {
			return
		}
		if _, off := r.Position(); vol == s.vol && off-int64(len(body))-8 >= s.off {
			return
		}
		if archive.DecodeResult(&res, body, s.version) != nil {
			return
		}
		for i := range res.Sets {
			set := &res.Sets[i]
			m := s.metrics[set.PMID]
			if m == nil || m.check != encoding || m.format != set.ValFmt {
				continue
			}
			if m.single(8 * len(set.Values)) {
				continue
			}
			seek := m.insts.begin()
			for _, v := range set.Values {
				m.insts.next(&seek, v.Inst)
			}
			m.insts.end(&seek)
		}
	}
}

// unlike reports that a value is not a number of its type. For the first value of an
// instance pmlogcheck then gives up.
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

// catchUp takes in marks since the metric was last there: what was before does
// not count.
func (s *valueScan) catchUp(m *metric) {
	if m.marks != s.marks {
		m.marks = s.marks
		for i := range m.insts.list {
			m.insts.list[i].sec = 0
		}
	}
}

// blocks are those of a record. Each of its bytes may be used once, as
// archive.DecodeResult has it.
type blocks struct {
	body   []byte
	first  int
	left   int  // bytes that belong to no block yet
	events bool // some hold events, into which only archive.DecodeResult looks
}

// value returns the head of a block and its first eight bytes, fewer if it has
// fewer.
func (b *blocks) value(word uint32) (head uint32, bits uint64, ok bool) {
	at := int64(word)*4 - blockBase
	if at < int64(b.first) || at > int64(len(b.body)-pcp.ValHeaderSize) {
		return 0, 0, false
	}
	block := b.body[at:]
	head = binary.BigEndian.Uint32(block)
	n := int(head & pcp.ValLenMax)
	if n < pcp.ValHeaderSize || n > len(block) {
		return 0, 0, false
	}
	if b.left -= (n + 3) &^ 3; b.left < 0 {
		return 0, 0, false
	}
	switch {
	case n >= pcp.ValHeaderSize+8:
		bits = binary.BigEndian.Uint64(block[pcp.ValHeaderSize:])
	case n >= pcp.ValHeaderSize+4:
		bits = uint64(binary.BigEndian.Uint32(block[pcp.ValHeaderSize:])) << 32
	}
	if t := pcp.Type(head >> 24); t == pcp.TypeEvent || t == pcp.TypeHighResEvent {
		b.events = true
	}
	return head, bits, true
}

// all takes the blocks of values of which nothing more is to be known.
func (b *blocks) all(values []byte) bool {
	for ; len(values) >= 8; values = values[8:] {
		if _, _, ok := b.value(binary.BigEndian.Uint32(values[4:])); !ok {
			return false
		}
	}
	return true
}
