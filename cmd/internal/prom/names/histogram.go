package names

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Names of the series of a classic histogram, and of the label with the upper bound of a bucket.
const (
	BucketSuffix = "_bucket"
	CountSuffix  = "_count"
	Bound        = "le"
)

// A Range is a range of numbers, both ends included, which may be infinite.
type Range struct{ Low, High float64 }

// maxBound is the greatest whole number up to which a float64 has all whole numbers.
const maxBound = 1 << 53

// ParseRange parses the name of an instance that is the bucket of a histogram: LOW-HIGH, as 4-7 or -8--5. The ends are whole numbers;
// the low one may be -inf, the high one inf.
func ParseRange(name string) (Range, bool) {
	i := 1 + strings.IndexByte(name[min(1, len(name)):], '-') // the first character may be a sign
	if i == 0 {
		return Range{}, false
	}
	low, lowOK := bound(name[:i], "-inf", -1)
	high, highOK := bound(name[i+1:], "inf", 1)
	return Range{low, high}, lowOK && highOK && low <= high
}

// bound parses an end of a range.
func bound(s, infinite string, sign int) (float64, bool) {
	if s == infinite {
		return math.Inf(sign), true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > maxBound || n < -maxBound || s[0] == '+' {
		return 0, false
	}
	return float64(n), true
}

// A Histogram has the buckets of a metric whose instances are ranges. It is never changed, and safe for concurrent use.
type Histogram struct {
	// Bounds are the upper bounds of the buckets as text, in ascending order. The last one is +Inf.
	Bounds []string

	index map[string]int // of the bucket, by the name of an instance
}

// NewHistogram returns the histogram of a metric that has instances with the given names, each of which may occur several times. It returns nil
// if the metric is not a histogram: there are fewer than two names, one of them is not a range, or two ranges have common numbers.
func NewHistogram(instances iter.Seq[string]) *Histogram {
	type named struct {
		Range
		name string
	}
	var h *Histogram
	var list []named
	for name := range instances {
		r, ok := ParseRange(name)
		if !ok {
			return nil // nearly always at the first name
		}
		if h == nil {
			h = &Histogram{index: map[string]int{}}
		}
		if _, ok := h.index[name]; ok {
			continue
		}
		h.index[name] = 0
		list = append(list, named{r, name})
	}
	if len(list) < 2 {
		return nil
	}
	slices.SortFunc(list, func(a, b named) int { return cmp.Compare(a.Low, b.Low) })
	for i, r := range list {
		if i > 0 && list[i-1].High >= r.Low {
			return nil
		}
		h.index[r.name] = i
		h.Bounds = append(h.Bounds, boundText(r.High))
	}
	if !math.IsInf(list[len(list)-1].High, 1) {
		h.Bounds = append(h.Bounds, boundText(math.Inf(1)))
	}
	return h
}

// boundText returns a bound as the value of the label le.
func boundText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Start returns counts of zero for each of Bounds, in the given memory if it is enough.
func (h *Histogram) Start(counts []float64) []float64 {
	counts = slices.Grow(counts[:0], len(h.Bounds))[:len(h.Bounds)]
	clear(counts)
	return counts
}

// Add adds the value of an instance to its bucket. It ignores instances that the histogram does not have.
func (h *Histogram) Add(counts []float64, instance string, v float64) {
	if i, ok := h.index[instance]; ok {
		counts[i] += v
	}
}

// Cumulate makes counts those of the classic histogram: each is the sum of itself and all before. The last one is the number of observations.
func (h *Histogram) Cumulate(counts []float64) {
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
}
