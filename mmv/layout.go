package mmv

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// content is the contents of a file except the values: all definitions, in the
// order in which they were made.
type content struct {
	cluster int
	flags   Flags
	inDoms  []*InDom
	metrics []*metric
	labels  []label
}

// version returns the lowest version that can hold c.
func (c *content) version() int {
	if len(c.labels) > 0 {
		return Version3
	}
	for _, d := range c.inDoms {
		for _, in := range d.insts {
			if len(in.Name) >= NameMax {
				return Version2
			}
		}
	}
	for _, m := range c.metrics {
		if len(m.def.Name) >= NameMax {
			return Version2
		}
	}
	return Version1
}

// encode lays c out as libpcp_mmv does, sections without gaps in its order, so
// that the same definitions give the same bytes. It stores the offset of each
// record in its slot. It sets g1 but not g2: the publisher of the file sets that.
func (c *content) encode(generation uint64, pid int) []byte {
	version := c.version()
	instSize, metricSize := instance2Size, metric2Size
	if version == Version1 {
		instSize, metricSize = instance1Size, metric1Size
	}
	insts, strs, values := 0, 0, 0
	help := func(texts ...string) {
		for _, s := range texts {
			if s != "" {
				strs++
			}
		}
	}
	for _, d := range c.inDoms {
		insts += len(d.insts)
		if version != Version1 {
			strs += len(d.insts)
		}
		help(d.def.OneLine, d.def.Help)
	}
	for _, m := range c.metrics {
		if version != Version1 {
			strs++
		}
		help(m.def.OneLine, m.def.Help)
		values += m.slots.n
		if m.typ == TypeString {
			strs += m.slots.n
		}
	}

	tocs := 2
	if len(c.inDoms) > 0 {
		tocs += 2
	}
	if strs > 0 {
		tocs++
	}
	if len(c.labels) > 0 {
		tocs++
	}
	inDomsAt := headerSize + tocs*tocSize
	instsAt := inDomsAt + len(c.inDoms)*inDomSize
	metricsAt := instsAt + insts*instSize
	valuesAt := metricsAt + len(c.metrics)*metricSize
	stringsAt := valuesAt + values*valueSize
	labelsAt := stringsAt + strs*stringSize
	b := make([]byte, labelsAt+len(c.labels)*labelSize)
	ne := binary.NativeEndian

	c.putHeader(b, version, generation, pid, tocs)
	toc := headerSize
	section := func(typ, count, at int) {
		ne.PutUint32(b[toc:], uint32(typ))
		ne.PutUint32(b[toc+4:], uint32(count))
		ne.PutUint64(b[toc+8:], uint64(at))
		toc += tocSize
	}
	if len(c.inDoms) > 0 {
		section(tocInDoms, len(c.inDoms), inDomsAt)
		section(tocInstances, insts, instsAt)
	}
	section(tocMetrics, len(c.metrics), metricsAt)
	section(tocValues, values, valuesAt)
	if strs > 0 {
		section(tocStrings, strs, stringsAt)
	}
	if len(c.labels) > 0 {
		section(tocLabels, len(c.labels), labelsAt)
	}

	// Strings come in the order instance names, metric names, string values,
	// help of metrics, help of instance domains.
	next := stringsAt
	str := func(s string) uint64 {
		at := next
		copy(b[at:at+stringSize-1], s)
		next += stringSize
		return uint64(at)
	}
	at := instsAt
	for i, d := range c.inDoms {
		r := b[inDomsAt+i*inDomSize:]
		ne.PutUint32(r, uint32(d.def.Serial))
		ne.PutUint32(r[4:], uint32(len(d.insts)))
		ne.PutUint64(r[8:], uint64(at))
		d.at = at
		for _, in := range d.insts {
			putInstance(b[at:], version, uint64(inDomsAt+i*inDomSize), in, str)
			at += instSize
		}
	}
	for i, m := range c.metrics {
		m.at = metricsAt + i*metricSize
		putMetric(b[m.at:], version, m, str)
	}
	at = valuesAt
	for _, m := range c.metrics {
		for k := range m.slots.n {
			s := m.slots.at(k)
			s.at = at
			r := b[at:]
			ne.PutUint64(r, s.rec[0])
			ne.PutUint64(r[8:], s.rec[1])
			ne.PutUint64(r[16:], uint64(m.at))
			if m.inDom != nil {
				ne.PutUint64(r[24:], uint64(m.inDom.at+k*instSize))
			}
			if m.typ == TypeString {
				ne.PutUint64(r[8:], str(s.str.value))
			}
			at += valueSize
		}
	}
	for _, m := range c.metrics {
		putHelp(b[m.at+metricSize-16:], m.def.OneLine, m.def.Help, str)
	}
	for i, d := range c.inDoms {
		putHelp(b[inDomsAt+i*inDomSize+16:], d.def.OneLine, d.def.Help, str)
	}
	for i, l := range c.labels {
		putLabel(b[labelsAt+i*labelSize:], l)
	}
	return b
}

func (c *content) putHeader(b []byte, version int, generation uint64, pid, tocs int) {
	ne := binary.NativeEndian
	copy(b, "MMV\x00")
	ne.PutUint32(b[hdrVersion:], uint32(version))
	ne.PutUint64(b[hdrG1:], generation)
	ne.PutUint32(b[hdrTOCs:], uint32(tocs))
	ne.PutUint32(b[hdrFlags:], uint32(c.flags))
	ne.PutUint32(b[hdrProcess:], uint32(pid))
	ne.PutUint32(b[hdrCluster:], uint32(c.cluster))
}

func putInstance(r []byte, version int, inDomAt uint64, in pcp.Instance, str func(string) uint64) {
	ne := binary.NativeEndian
	ne.PutUint64(r, inDomAt)
	ne.PutUint32(r[12:], uint32(in.Inst))
	if version == Version1 {
		copy(r[16:16+NameMax-1], in.Name)
		return
	}
	ne.PutUint64(r[16:], str(in.Name))
}

// putMetric writes all but the help texts, which are later in the file.
func putMetric(r []byte, version int, m *metric, str func(string) uint64) {
	ne := binary.NativeEndian
	if version == Version1 {
		copy(r[:NameMax-1], m.def.Name)
		r = r[NameMax:]
	} else {
		ne.PutUint64(r, str(m.def.Name))
		r = r[8:]
	}
	ne.PutUint32(r, uint32(m.item))
	ne.PutUint32(r[4:], uint32(m.typ))
	ne.PutUint32(r[8:], uint32(m.def.Sem))
	ne.PutUint32(r[12:], m.def.Units.Pack())
	inDom := uint32(pcp.InDomNull)
	if m.inDom != nil {
		inDom = uint32(m.inDom.def.Serial)
	}
	ne.PutUint32(r[16:], inDom)
}

func putHelp(r []byte, oneLine, help string, str func(string) uint64) {
	if oneLine != "" {
		binary.NativeEndian.PutUint64(r, str(oneLine))
	}
	if help != "" {
		binary.NativeEndian.PutUint64(r[8:], str(help))
	}
}

func putLabel(r []byte, l label) {
	ne := binary.NativeEndian
	ne.PutUint32(r, uint32(l.flags))
	ne.PutUint32(r[4:], uint32(l.identity))
	ne.PutUint32(r[8:], uint32(l.inst))
	copy(r[12:12+labelMax-1], l.payload)
}

// checkText checks that a text fits into a string record.
func checkText(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("NUL in %s: %w", what, errInvalid)
	}
	if len(s) >= StringMax {
		return fmt.Errorf("%s of %d bytes, at most %d: %w", what, len(s), StringMax-1, errTooBig)
	}
	return nil
}

// stringValues returns the number of values that are strings.
func (c *content) stringValues() int {
	n := 0
	for _, m := range c.metrics {
		if m.typ == TypeString {
			n += m.slots.n
		}
	}
	return n
}

// nextGeneration returns a generation number later than last: the time of day,
// seconds in the upper half and microseconds in the lower.
func nextGeneration(last uint64) uint64 {
	now := time.Now()
	g := uint64(now.Unix())<<32 | uint64(now.Nanosecond()/1000)
	if g <= last {
		g = last + 1
	}
	return g
}

// growth has the positions of the regions.
type growth struct {
	version                                            int
	inDoms, insts, rows, metrics, values, strs, labels region
	generation                                         uint64
}

// A region holds used records of one size, of at most room.
type region struct {
	at, size, room, used int
	ready                int // offset of its end in the file
}

func (g *region) next() int { return g.at + g.used*g.size }

func (g *region) left() int { return g.room - g.used }

// growTOCs is the maximum number of sections, one of each kind.
const growTOCs = 6

// joinWords makes one word of two adjacent ones.
func joinWords(first, second uint32) uint64 {
	var b [8]byte
	binary.NativeEndian.PutUint32(b[:], first)
	binary.NativeEndian.PutUint32(b[4:], second)
	return binary.NativeEndian.Uint64(b[:])
}

// splitWord is the inverse of joinWords.
func splitWord(w uint64) (first, second uint32) {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], w)
	return binary.NativeEndian.Uint32(b[:]), binary.NativeEndian.Uint32(b[4:])
}
