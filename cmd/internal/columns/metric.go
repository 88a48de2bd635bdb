package columns

import (
	"fmt"
	"math"

	"github.com/go-pcp/pcp"
)

// A State is the state of a metric in a file of columns.
type State int

// States of metrics.
const (
	Absent State = iota // no record has the metric
	Left                // its values are only in the archive
	Held
)

// State returns the state of a metric, and the type of its values if it is held.
func (f *File) State(id pcp.PMID) (State, pcp.Type) {
	e, ok := f.find(id)
	switch {
	case !ok:
		return Absent, 0
	case e.left:
		return Left, 0
	}
	return Held, e.t
}

// A Metric is the samples of a metric.
type Metric struct {
	Type     pcp.Type
	Sequence int // the same for metrics that are in the same records
	Columns  []Column
	records  runs
	status   []statusRun
	n        int
}

// A Run is a range of samples, or of values.
type Run struct{ From, To int }

// A Column is the values of an instance.
type Column struct {
	Inst int32
	Runs []Run // of the samples of the metric that have a value, ascending; they are shared
	t    pcp.Type
	data []byte
}

// Metric reads the samples of a metric that is held.
func (f *File) Metric(id pcp.PMID) (*Metric, error) {
	e, ok := f.find(id)
	if !ok || e.left {
		return nil, fmt.Errorf("%s: metric %s: %w", f.path, id, pcp.ErrPMIDLog)
	}
	m, err := f.metric(e)
	if err != nil {
		return nil, fmt.Errorf("%s: metric %s: %w", f.path, id, err)
	}
	return m, nil
}

func (f *File) metric(e *entry) (*Metric, error) {
	b, err := readBlock(f.r, e.block)
	if err != nil {
		return nil, err
	}
	m := &Metric{Type: e.t, Sequence: e.seq, records: f.sequences[e.seq], status: e.status}
	m.n = m.records.len()
	x := indexReader{b: b}
	n := x.count(3)
	m.Columns = make([]Column, 0, n)
	sizes := make([]int, 0, n)
	whole := public(complement(e.status, uint32(m.n)))
	shared := map[int][]Run{}
	inst := int64(0)
	for i := range n {
		d := x.int()
		inst += d
		p := int(x.uint(math.MaxInt32))
		size := int(x.uint(maxBlock))
		if inst != int64(int32(inst)) || i > 0 && d <= 0 || p > len(f.presences) {
			x.fail("column out of range")
		}
		if x.err != nil {
			return nil, x.err
		}
		r, ok := whole, true
		if p > 0 {
			if r, ok = shared[p]; !ok {
				in := f.presences[p-1]
				if in.last() >= int64(m.n) {
					return nil, invalid("presence out of range")
				}
				r = public(in)
				shared[p] = r
			}
		}
		m.Columns = append(m.Columns, Column{Inst: int32(inst), Runs: r, t: e.t})
		sizes = append(sizes, size)
	}
	for i, size := range sizes {
		if size > len(x.b) {
			return nil, invalid("column out of range")
		}
		m.Columns[i].data, x.b = x.b[:size:size], x.b[size:]
	}
	if len(x.b) != 0 {
		return nil, invalid("bytes behind the columns")
	}
	return m, nil
}

func public(r runs) []Run {
	list := make([]Run, len(r))
	for i, x := range r {
		list[i] = Run{int(x.from), int(x.to)}
	}
	return list
}

// Len returns the number of samples.
func (m *Metric) Len() int { return m.n }

// Records yields ranges of records that have samples, ascending, and the number of the first sample of each.
func (m *Metric) Records(yield func(sample int, records Run) bool) {
	n := 0
	for _, r := range m.records {
		if !yield(n, Run{int(r.from), int(r.to)}) {
			return
		}
		n += int(r.to - r.from)
	}
}

// Errors yields ranges of samples without values, and the error in place of the values, 0 if there are just none.
func (m *Metric) Errors(yield func(samples Run, err pcp.Error) bool) {
	for _, s := range m.status {
		if !yield(Run{int(s.from), int(s.to)}, s.err) {
			return
		}
	}
}

// A Reader reads the values of columns. It is for one goroutine.
type Reader struct {
	t    pcp.Type
	rest []byte
	list []int64 // values of the last chunk
	next int     // number of the value after it
	bufs []int64
	d    chunkReader
}

// Reset begins to read a column.
func (r *Reader) Reset(c *Column) {
	r.t, r.rest, r.list, r.next = c.t, c.data, nil, 0
	if r.bufs == nil {
		r.bufs = make([]int64, maxChunk)
	}
}

// Chunk returns the values from the one with number at on, up to the end of a chunk. The number must not be before the last chunk. Integers are
// themselves, unsigned ones modulo 2^64; floating-point numbers are bits. They are valid until the next call.
func (r *Reader) Chunk(at int) ([]int64, error) {
	for at >= r.next {
		c, rest, err := nextChunk(r.rest)
		if err != nil {
			return nil, err
		}
		r.rest, r.list = rest, nil
		r.next += c.n
		if at >= r.next {
			continue
		}
		if r.list, err = r.d.decode(r.bufs, c, r.t); err != nil {
			return nil, err
		}
	}
	n := len(r.list) - (r.next - at)
	if n < 0 {
		return nil, invalid("values before the last ones")
	}
	return r.list[n:], nil
}

// Floats converts values of a type.
func Floats(to []float64, values []int64, t pcp.Type) []float64 {
	to = to[:0]
	switch t {
	case pcp.TypeDouble:
		for _, v := range values {
			to = append(to, math.Float64frombits(uint64(v)))
		}
	case pcp.TypeFloat:
		for _, v := range values {
			to = append(to, float64(math.Float32frombits(uint32(v))))
		}
	case pcp.TypeU64:
		for _, v := range values {
			to = append(to, float64(uint64(v)))
		}
	default:
		for _, v := range values {
			to = append(to, float64(v))
		}
	}
	return to
}

// Value returns a value of a type.
func Value(v int64, t pcp.Type) pcp.Value {
	switch t {
	case pcp.Type32, pcp.TypeU32, pcp.TypeFloat:
		return pcp.RawValue(t, uint64(uint32(v)))
	}
	return pcp.RawValue(t, uint64(v))
}
