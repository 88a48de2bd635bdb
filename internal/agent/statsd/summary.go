package statsd

import (
	"math"
	"math/bits"
	"slices"
)

// The statistics of a duration or histogram, in the order of their instances.
const (
	statMin = iota
	statMax
	statMedian
	statAverage
	statP90
	statP95
	statP99
	statCount
	statDeviation
	stats
)

// statNames are the names of instances without tags.
var statNames = [stats]string{"/min", "/max", "/median", "/average", "/percentile90", "/percentile95", "/percentile99", "/count", "/std_deviation"}

// A summary aggregates the values of a duration or a histogram.
type summary interface {
	// add adds a value n times. It returns the memory that it needs for that, in bytes, and false if the value is too large. A summary
	// without room takes nothing and returns -1.
	add(v float64, n int64, room int) (bytes int, ok bool)
	// stats returns the statistics.
	stats() [stats]float64
}

// An exact summary has all values.
type exact struct {
	values []float64
	sorted bool
}

// maxExact limits the values of an exact summary.
const maxExact = 1 << 20

func (e *exact) add(v float64, n int64, room int) (int, bool) {
	if n > maxExact-int64(len(e.values)) {
		return -1, true
	}
	more := 0
	if need := len(e.values) + int(n); need > cap(e.values) {
		size := max(16, 2*cap(e.values), need)
		if more = 8 * (size - cap(e.values)); more > room {
			return -1, true
		}
		e.values = append(make([]float64, 0, size), e.values...)
	}
	for range n {
		e.values = append(e.values, v)
	}
	e.sorted = false
	return more, true
}

func (e *exact) stats() (s [stats]float64) {
	n := len(e.values)
	if n == 0 {
		return s
	}
	if !e.sorted {
		slices.Sort(e.values)
		e.sorted = true
	}
	at := func(share float64) float64 { return e.values[max(int(math.Round(share*float64(n)))-1, 0)] }
	sum := 0.0
	for _, v := range e.values {
		sum += v
	}
	mean := sum / float64(n)
	squares := 0.0
	for _, v := range e.values {
		squares += (v - mean) * (v - mean)
	}
	return [stats]float64{
		e.values[0], e.values[n-1], e.values[int(math.Ceil(float64(n)/2-1))], mean, at(0.90), at(0.95), at(0.99),
		float64(n), math.Sqrt(squares / float64(n)),
	}
}

// A sketch is a summary with a histogram of high dynamic range: integers with three significant digits, as pmdastatsd
// has it for durations. Other values are multiplied by scale first.
type sketch struct {
	scale    float64
	limit    int64
	counts   map[int32]int64
	total    int64
	min, max int64 // without zeros
}

const (
	halfBits    = 10
	half        = 1 << halfBits // of the buckets of a power of two
	sketchCost  = 24            // bytes of a bucket in use
	maxDuration = 1<<32 - 1     // buckets for 3,600,000,000 reach as far
	valueScale  = 1e6           // of histograms, whose values may be fractions
	maxScaled   = 1 << 53
)

func newDurations() *sketch {
	return &sketch{scale: 1, limit: maxDuration, counts: make(map[int32]int64)}
}

func newValues() *sketch {
	return &sketch{scale: valueScale, limit: maxScaled, counts: make(map[int32]int64)}
}

// bucketOf returns the exponent of a value's bucket and its number in it.
func bucketOf(v int64) (exp int, sub int64) {
	exp = bits.Len64(uint64(v)|(2*half-1)) - (halfBits + 1)
	return exp, v >> exp
}

func (k *sketch) add(v float64, n int64, room int) (int, bool) {
	v *= k.scale
	if v > float64(k.limit) {
		return 0, false
	}
	x := int64(v)
	exp, sub := bucketOf(x)
	at := int32((exp+1)<<halfBits) + int32(sub-half)
	more := 0
	if have, ok := k.counts[at]; ok {
		k.counts[at] = have + n
	} else {
		if sketchCost > room {
			return -1, true
		}
		k.counts[at], more = n, sketchCost
	}
	k.total += n
	if x > 0 && (k.min == 0 || x < k.min) {
		k.min = x
	}
	k.max = max(k.max, x)
	return more, true
}

// span returns the least value of a value's bucket, and the number of integers in it.
func span(v int64) (low, size int64) {
	exp, sub := bucketOf(v)
	return sub << exp, 1 << exp
}

// lowest returns the least value of a bucket.
func lowest(at int32) int64 {
	exp := int(at>>halfBits) - 1
	sub := int64(at&(half-1)) + half
	if exp < 0 {
		return sub - half
	}
	return sub << exp
}

func (k *sketch) stats() (s [stats]float64) {
	if k.total == 0 {
		return s
	}
	order := make([]int32, 0, len(k.counts))
	for at := range k.counts {
		order = append(order, at)
	}
	slices.Sort(order)
	middle := func(at int32) float64 {
		low, size := span(lowest(at))
		return float64(low + size/2)
	}
	sum, squares := 0.0, 0.0
	for _, at := range order {
		sum += middle(at) * float64(k.counts[at])
	}
	mean := sum / float64(k.total)
	for _, at := range order {
		d := middle(at) - mean
		squares += d * d * float64(k.counts[at])
	}
	high := func(v int64) float64 {
		low, size := span(v)
		return float64(low+size-1) / k.scale
	}
	quantile := func(percent float64) float64 {
		want, seen := max(int64(percent/100*float64(k.total)+0.5), 1), int64(0)
		for _, at := range order {
			if seen += k.counts[at]; seen >= want {
				return high(lowest(at))
			}
		}
		return 0
	}
	least := 0.0
	if k.counts[0] == 0 { // no zeros
		low, _ := span(k.min)
		least = float64(low) / k.scale
	}
	return [stats]float64{
		least, high(k.max), quantile(50), mean / k.scale, quantile(90), quantile(95), quantile(99),
		float64(k.total), math.Sqrt(squares/float64(k.total)) / k.scale,
	}
}
