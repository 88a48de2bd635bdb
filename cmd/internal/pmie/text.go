package pmie

import (
	"fmt"
	"math"

	"github.com/go-pcp/pcp/internal/ctext"
)

// appendValue appends all values of the samples of x.
func appendValue(b []byte, x *expr) []byte {
	n := x.span
	if x.nvals == 0 || n == 0 {
		return append(b, '?')
	}
	if x.sem == semText || x.sem == semPattern {
		n = 1
	}
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendSamples(b, x, i)
	}
	return b
}

// appendSamples appends the ith value of each sample.
func appendSamples(b []byte, x *expr, i int) []byte {
	switch {
	case x.sem == semTruth:
		return appendTruth(b, x, i)
	case x.sem == semPattern:
		return append(b, "/<regex>/"...)
	case x.sem == semText:
		if i > 0 {
			return b
		}
		return append(append(append(b, '"'), x.text...), '"')
	case (x.sem == semInstant || x.sem == semDiscrete) && x.op == opFetch && x.texts != nil:
		for s := range x.samples {
			if s > 0 {
				b = append(b, ' ')
			}
			b = append(append(append(b, '"'), x.strs(s)[i]...), '"')
		}
		return b
	}
	return appendNumber(b, x, i)
}

func appendTruth(b []byte, x *expr, i int) []byte {
	for s := range x.samples {
		if s > 0 {
			b = append(b, ' ')
		}
		v := isUnknown
		if x.valid > 0 {
			v = x.truth(s)[i]
		}
		b = append(b, [...]string{"false", "true", "unknown"}[v]...)
	}
	return b
}

// numberWidth limits how much of a number is shown.
const numberWidth = 23

func appendNumber(b []byte, x *expr, i int) []byte {
	for s := range x.samples {
		if s > 0 {
			b = append(b, ' ')
		}
		if x.valid <= s || x.nums == nil || math.IsNaN(x.numbers(s)[i]) {
			b = append(b, '?')
			continue
		}
		start := len(b)
		switch v := x.numbers(s)[i]; {
		case v >= math.MinInt32 && v <= math.MaxInt32 && v == math.Trunc(v):
			b = fmt.Appendf(b, "%d", int64(v))
		case math.Abs(v) < 0.5:
			b = ctext.AppendFloat(b, v, 'g', 6)
		case math.Abs(v) < 5:
			b = ctext.AppendFloat(b, v, 'f', 2)
		case math.Abs(v) < 50:
			b = ctext.AppendFloat(b, v, 'f', 1)
		default:
			b = ctext.AppendFloat(b, v, 'f', 0)
		}
		b = b[:min(len(b), start+numberWidth)]
	}
	return b
}
