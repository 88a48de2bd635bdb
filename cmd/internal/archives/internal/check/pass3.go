package check

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// pass3 checks the values.
func (c *Checker) pass3() bool {
	c.pass = 3
	c.tracef(1, "%s: start pass3\n", c.name)
	from := c.window.Start
	if c.window.FromStart {
		from = pcp.Timestamp{}
	}
	in := archive.NewScanner(c.a)
	defer in.Close()
	s := &valueScan{c: c, from: from, metrics: make(map[pcp.PMID]*metric)}
	c.scan = s
	last := from
	err := in.SeekNear(from)
	pending := 0
	if err == nil {
		s.volFirst, _ = in.Position()
	}
	for err == nil {
		var rec *archive.Record
		rec, err = in.Next()
		s.vol, s.off = in.Position()
		if err != nil {
			break
		}
		if pending += len(rec.Body) + 8; pending >= inputSize {
			c.progress(int64(pending))
			pending = 0
		}
		t := rec.Time
		s.time = t
		s.pending = s.pending[:0]
		if t.Sub(c.start) < 0 {
			s.say(Error, "["+c.clock(t)+"]", ": timestamp before label timestamp: "+c.clock(c.start))
		}
		if t.Sub(last) < 0 {
			s.say(Error, "["+c.clock(t)+"]", ": timestamp went backwards, prior timestamp: "+c.clock(last))
		}
		within := !later(t, c.window.Finish)
		if within {
			s.record(rec)
		}
		c.Records++
		last = t
		if !within {
			s.flush()
			err = io.EOF
			break
		}
		if len(rec.Sets) == 0 {
			s.marks++
			c.Marks++
		}
		if len(s.pending) > 0 {
			s.flush()
		}
		if s.dead {
			return false
		}
	}
	c.progress(int64(pending))
	if errors.Is(err, io.EOF) {
		return true
	}
	c.ReadError = err
	text := pcp.Code(err).Error()
	c.report(Finding{
		Severity: Error, File: s.file(), Offset: s.off, Text: err.Error(),
		Message: fmt.Sprintf("[after %s]: pmFetch: error: %s\n", c.clock(last), text),
	})
	return false
}

// later reports whether t is after the end of the window, in the microseconds of
// the C tool.
func later(t, finish pcp.Timestamp) bool {
	return t.Sec > finish.Sec || t.Sec == finish.Sec && t.Nsec/1000 > finish.Nsec/1000
}

// A valueScan is pass 3 over the records.
type valueScan struct {
	c       *Checker
	from    pcp.Timestamp
	metrics map[pcp.PMID]*metric
	before  []*metric // of the sets of the last record
	marks   int       // so far
	learned bool      // keeps instances of metrics other than counters too
	names   map[pcp.InDom]map[int32]string
	numbers []float64 // values of the current set

	volFirst int // first volume read: pmlogcheck always names that
	vol      int // of the current record
	off      int64
	time     pcp.Timestamp

	pending []Finding // of the current record, which may turn out to be damaged
	dead    bool      // pmlogcheck stops after this record
}

// A metric is pass 3's state of a metric.
type metric struct {
	id     pcp.PMID
	typ    pcp.Type
	indom  pcp.InDom
	format pcp.ValFmt
	check  kind
	marks  int // number of marks when insts were last checked

	insts instances
}

// A kind selects the checks of a value.
type kind byte

const (
	nothing  kind = iota // no descriptor, or not a number
	encoding             // it is a number of the type
	counter              // also that it does not go down
)

// say keeps a message about the current record.
func (s *valueScan) say(sev Severity, where, text string) {
	s.pending = append(s.pending, Finding{
		Severity: sev, File: s.file(), Offset: s.off, Text: where + text,
		Message: fmt.Sprintf("%s.%d:%s%s\n", s.c.name, s.volFirst, where, text),
	})
}

// of keeps a warning about a metric.
func (s *valueScan) of(id pcp.PMID, text string) {
	s.say(Warning, "["+s.c.clock(s.time)+"]", " "+s.metricName(id)+": "+text)
}

// file returns the name of the current record's file.
func (s *valueScan) file() string { return s.c.name + "." + strconv.Itoa(s.vol) }

func (s *valueScan) flush() {
	for _, f := range s.pending {
		s.c.report(f)
	}
	s.pending = s.pending[:0]
}

func (s *valueScan) metricName(id pcp.PMID) string {
	if names := s.c.names(id); len(names) > 0 {
		return strings.Join(names, " or ")
	}
	return id.String()
}

// metric returns the state of a metric, and whether it is new.
func (s *valueScan) metric(i int, id pcp.PMID) (m *metric, fresh bool) {
	if i < len(s.before) {
		if m := s.before[i]; m != nil && m.id == id {
			return m, false
		}
	} else {
		s.before = append(s.before, make([]*metric, i+1-len(s.before))...)
	}
	m = s.metrics[id]
	if fresh = m == nil; fresh {
		m = &metric{id: id}
		s.metrics[id] = m
		if desc, err := s.c.a.Meta().Desc(id); err != nil {
			s.of(id, "pmLookupDesc failed: "+pcp.Code(err).Error())
		} else {
			m.typ, m.indom = desc.Type, desc.InDom
			switch desc.Type {
			case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble:
				m.check = encoding
			}
			// Numbers with a fraction do not wrap.
			if m.check == encoding && desc.Sem == pcp.SemCounter && !s.c.NoWrap && desc.Type != pcp.TypeFloat && desc.Type != pcp.TypeDouble {
				m.check = counter
			}
		}
	}
	s.before[i] = m
	return m, fresh
}

// wrapped reports that a counter wrapped.
func (s *valueScan) wrapped(m *metric, in *instance, now float64) {
	name := ""
	if n, ok := s.instName(m.indom, in.id); ok {
		name = "[" + n + "]"
	}
	what := map[pcp.Type]string{
		pcp.Type32: "signed 32-bit", pcp.TypeU32: "unsigned 32-bit", pcp.Type64: "signed 64-bit", pcp.TypeU64: "unsigned 64-bit",
	}[m.typ]
	clock := s.c.clock(s.time)
	text := fmt.Sprintf("]: %s%s: %s wrap\n\tvalue %.0f at %s\n\tvalue %.0f at %s", s.metricName(m.id), name, what,
		in.last, s.c.clock(pcp.Timestamp{Sec: in.sec, Nsec: in.nsec}), now, clock)
	s.say(Note, "["+clock, text)
}

// instName returns the last name that an instance had.
func (s *valueScan) instName(indom pcp.InDom, inst int32) (string, bool) {
	if indom == pcp.InDomNull {
		return "", false
	}
	names, ok := s.names[indom]
	if !ok {
		names = make(map[int32]string)
		for rec := range s.c.a.Meta().History(indom) {
			for _, in := range rec.Instances {
				names[in.Inst] = in.Name
			}
		}
		if s.names == nil {
			s.names = make(map[pcp.InDom]map[int32]string)
		}
		s.names[indom] = names
	}
	name, ok := names[inst]
	return name, ok
}

// number returns a value of a block as pmExtractValue(3) does.
func number(typ pcp.Type, head uint32, word uint64) (float64, bool) {
	const long, short = pcp.ValHeaderSize + 8, pcp.ValHeaderSize + 4
	t, n := pcp.Type(head>>24), int(head&pcp.ValLenMax)
	if t != typ {
		if t != 0 {
			return 0, false
		}
		// Very old archives have no types in blocks, and the C library does not
		// change their bytes.
		word = bits.ReverseBytes64(word)
		if n == short {
			word <<= 32
		}
	}
	switch typ {
	case pcp.Type64:
		return float64(int64(word)), n == long
	case pcp.TypeU64:
		return float64(word), n == long
	case pcp.TypeDouble:
		return math.Float64frombits(word), n == long
	case pcp.TypeFloat:
		return float64(math.Float32frombits(uint32(word >> 32))), n == short
	}
	return 0, false
}
