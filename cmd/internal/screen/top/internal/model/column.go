package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
)

// missing means that a source has no metric of a name.
const missing = pcp.ErrName

// A column is a metric with the values of its last fetch and the one before. Instances ascend.
type column struct {
	kind   kind
	name   string // the name that the source has
	id     pcp.PMID
	desc   pcp.Desc
	err    pcp.Error // why there are no values
	factor float64   // to base units

	at, before pcp.Timestamp // of the two fetches; zero if there was none
	insts      []int32
	nums       []float64 // in base units; a rate per second, or NaN
	texts      []string

	raw                 []float64 // of a rate: the counter
	lastInsts, oldInsts []int32   // of raw and oldRaw
	oldRaw              []float64
	oldTexts            []string
}

// forget makes the next fetch the first one: after a gap there are no rates.
func (c *column) forget() {
	c.at, c.before = pcp.Timestamp{}, pcp.Timestamp{}
	c.lastInsts, c.raw = c.lastInsts[:0], c.raw[:0]
}

// tooSoon is the time between fetches below which a rate means nothing: processor time is counted in hundredths of
// seconds.
const tooSoon = 0.09

// take stores the values of a fetch. Rates stay as they are if it follows too soon.
func (c *column) take(vs *pcp.ValueSet, at pcp.Timestamp) {
	if c.kind == rate && vs.Err == 0 && len(c.lastInsts) > 0 && !c.at.IsZero() {
		if passed := at.Sub(c.at); passed >= 0 && passed < tooSoon {
			return
		}
	}
	c.before, c.at = c.at, at
	c.err = vs.Err
	if c.err == 0 && len(vs.Values) == 0 {
		c.err = pcp.ErrValue
	}
	byInst := func(a, b pcp.Value) int { return cmp.Compare(a.Inst, b.Inst) }
	if !slices.IsSortedFunc(vs.Values, byInst) {
		slices.SortStableFunc(vs.Values, byInst)
	}
	switch c.kind {
	case text:
		c.takeTexts(vs.Values)
	case rate:
		c.takeRates(vs.Values)
	default:
		c.insts, c.nums = c.insts[:0], c.nums[:0]
		for _, v := range vs.Values {
			c.insts = append(c.insts, v.Inst)
			c.nums = append(c.nums, c.number(v))
		}
	}
}

// number returns a value in base units.
func (c *column) number(v pcp.Value) float64 {
	if v.Type() == pcp.TypeUnknown {
		v = v.As(c.desc.Type)
	}
	f, ok := v.Float64()
	if !ok {
		return math.NaN()
	}
	return f * c.factor
}

// takeTexts keeps the strings that have not changed, so that those of two thousand processes cost nothing.
func (c *column) takeTexts(values []pcp.Value) {
	c.texts, c.oldTexts = c.oldTexts[:0], c.texts
	c.insts, c.oldInsts = c.oldInsts[:0], c.insts
	old := 0
	for _, v := range values {
		if v.Type() == pcp.TypeUnknown {
			v = v.As(c.desc.Type)
		}
		for old < len(c.oldInsts) && c.oldInsts[old] < v.Inst {
			old++
		}
		c.insts = append(c.insts, v.Inst)
		if old < len(c.oldInsts) && c.oldInsts[old] == v.Inst && old < len(c.oldTexts) && sameText(c.oldTexts[old], v) {
			c.texts = append(c.texts, c.oldTexts[old])
			continue
		}
		s, _ := v.Text()
		c.texts = append(c.texts, s)
	}
}

// sameText reports whether a value is a known string, without allocating one.
func sameText(s string, v pcp.Value) bool {
	if v.Type() != pcp.TypeString {
		return false
	}
	b := v.Bytes()
	for len(b) > len(s) && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return s == string(b)
}

func (c *column) takeRates(values []pcp.Value) {
	c.raw, c.oldRaw = c.oldRaw[:0], c.raw
	c.lastInsts, c.oldInsts = c.oldInsts[:0], c.lastInsts
	c.insts, c.nums = c.insts[:0], c.nums[:0]
	seconds := 0.0
	if !c.before.IsZero() {
		seconds = c.at.Sub(c.before)
	}
	old := 0
	for _, v := range values {
		n := c.number(v)
		c.lastInsts, c.raw = append(c.lastInsts, v.Inst), append(c.raw, n)
		for old < len(c.oldInsts) && c.oldInsts[old] < v.Inst {
			old++
		}
		r := math.NaN()
		if seconds > 0 && old < len(c.oldInsts) && c.oldInsts[old] == v.Inst && n >= c.oldRaw[old] {
			r = (n - c.oldRaw[old]) / seconds
		}
		c.insts, c.nums = append(c.insts, v.Inst), append(c.nums, r)
	}
}

// one returns the value of a metric with a single value, or NaN.
func (c *column) one() float64 {
	if len(c.nums) == 0 {
		return math.NaN()
	}
	return c.nums[0]
}

// of returns the value of an instance, or NaN.
func (c *column) of(inst int32) float64 {
	if i, ok := slices.BinarySearch(c.insts, inst); ok && i < len(c.nums) {
		return c.nums[i]
	}
	return math.NaN()
}

// textOf returns the text of an instance, or "".
func (c *column) textOf(inst int32) string {
	if i, ok := slices.BinarySearch(c.insts, inst); ok && i < len(c.texts) {
		return c.texts[i]
	}
	return ""
}

// A walk looks up instances in ascending order, each in constant time.
type walk struct {
	c *column
	i int
}

// find reports whether the column has an instance, and moves the walk to it.
func (w *walk) find(inst int32) bool {
	for w.i < len(w.c.insts) && w.c.insts[w.i] < inst {
		w.i++
	}
	return w.i < len(w.c.insts) && w.c.insts[w.i] == inst
}

// num returns the number of an instance, or NaN.
func (w *walk) num(inst int32) float64 {
	if w.find(inst) && w.i < len(w.c.nums) {
		return w.c.nums[w.i]
	}
	return math.NaN()
}

// baseFactor returns the factor that converts a value in some units to bytes, seconds and ones.
func baseFactor(u pcp.Units) float64 {
	base := u
	base.ScaleSpace, base.ScaleTime, base.ScaleCount = pcp.SpaceByte, pcp.TimeSec, 0
	v, err := pcp.ConvScale(pcp.DoubleValue(1), u, base)
	if err != nil {
		return 1
	}
	return v.Double()
}
