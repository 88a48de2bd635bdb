package series

import (
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A Thinner selects the samples of one series for a [Window] with an Interval or a Count, and without
// Newest. It is for implementations of stores: they pass it the times of all samples between Start and End,
// in order.
//
//	t := series.NewThinner(w)
//	for each sample {
//		if t.Next(sample.Time) { take the sample before, if there was one }
//		if t.Done() { stop }
//	}
//	if t.Last() { take the last sample }
type Thinner struct {
	goal  pcp.Timestamp
	delta time.Duration
	left  int
	count bool
	begun bool
	start bool
}

// NewThinner returns a Thinner for a window.
func NewThinner(w Window) *Thinner {
	return &Thinner{goal: w.Start, start: !w.Start.IsZero(), delta: w.Interval, left: w.Count, count: w.Count > 0}
}

// Next reports whether to use the sample before that at time t. The first call returns false.
func (t *Thinner) Next(at pcp.Timestamp) bool {
	if !t.begun {
		t.begun = true
		if !t.start {
			t.goal = at
		}
		t.goal = t.goal.Add(time.Nanosecond) // so that a sample at the start itself counts
		return false
	}
	if t.delta > 0 {
		late := at.Sub(t.goal)
		if late <= 0 {
			return false
		}
		// After a gap, the intervals start at its end. The C implementation compares whole
		// seconds, so that with an interval of less than a second each gap is one.
		if late > 2*float64(t.delta/time.Second) {
			t.goal = at
		}
		t.goal = t.goal.Add(t.delta)
	}
	return t.take()
}

// Goal returns the time of the next step: of the samples after the last one given to Next and up to this time,
// only the last can be used. It returns false if all samples are used, or if Next was not called.
func (t *Thinner) Goal() (pcp.Timestamp, bool) { return t.goal, t.begun && t.delta > 0 }

// Last reports whether to use the last sample, after all were seen.
func (t *Thinner) Last() bool { return t.begun && t.take() }

// Done reports whether no more samples will be used.
func (t *Thinner) Done() bool { return t.count && t.left == 0 }

func (t *Thinner) take() bool {
	if t.count {
		if t.left == 0 {
			return false
		}
		t.left--
	}
	return true
}

// AppendValue appends a value as text in the format of /series/values: whole numbers in decimal,
// others like 1.500000e+00, strings and aggregates in quotes with all but printable ASCII escaped.
// Other types yield the number of [pcp.ErrNYI], as in the C implementation.
func AppendValue(b []byte, v pcp.Value, t pcp.Type) []byte {
	v = v.As(t)
	switch t {
	case pcp.Type32:
		return strconv.AppendInt(b, int64(v.Int32()), 10)
	case pcp.TypeU32:
		return strconv.AppendUint(b, uint64(v.Uint32()), 10)
	case pcp.Type64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case pcp.TypeU64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case pcp.TypeFloat:
		return appendE(b, float64(v.Float()))
	case pcp.TypeDouble:
		return appendE(b, v.Double())
	case pcp.TypeString, pcp.TypeAggregate, pcp.TypeAggregateStatic:
		return appendQuoted(b, v.Bytes())
	}
	return strconv.AppendInt(b, int64(pcp.ErrNYI), 10)
}

// appendE appends a number in the format %e of printf(3).
func appendE(b []byte, f float64) []byte { return ctext.AppendFloat(b, f, 'e', 6) }

func appendQuoted(b, text []byte) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	for _, c := range text {
		switch {
		case c >= 0x80:
			b = append(b, `\uFFFD`...)
		case c < ' ' || c == 0x7f || c == '\\' || c == '"':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
