package eval

import (
	"fmt"
	"math"

	"github.com/go-pcp/pcp/internal/ctext"
)

// AppendValue appends all values of the samples of x.
func AppendValue(b []byte, x *Expr) []byte {
	n := x.Span
	if x.Nvals == 0 || n == 0 {
		return append(b, '?')
	}
	if x.Sem == SemText || x.Sem == SemPattern {
		n = 1
	}
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = AppendSamples(b, x, i)
	}
	return b
}

// AppendSamples appends the ith value of each sample.
func AppendSamples(b []byte, x *Expr, i int) []byte {
	switch {
	case x.Sem == SemTruth:
		return AppendTruth(b, x, i)
	case x.Sem == SemPattern:
		return append(b, "/<regex>/"...)
	case x.Sem == SemText:
		if i > 0 {
			return b
		}
		return append(append(append(b, '"'), x.Text...), '"')
	case (x.Sem == SemInstant || x.Sem == SemDiscrete) && x.Op == OpFetch && x.Texts != nil:
		for s := range x.Samples {
			if s > 0 {
				b = append(b, ' ')
			}
			b = append(append(append(b, '"'), x.Strs(s)[i]...), '"')
		}
		return b
	}
	return AppendNumber(b, x, i)
}

// AppendTruth appends the ith truth value of each sample.
func AppendTruth(b []byte, x *Expr, i int) []byte {
	for s := range x.Samples {
		if s > 0 {
			b = append(b, ' ')
		}
		v := Unknown
		if x.Valid > 0 {
			v = x.Truth(s)[i]
		}
		b = append(b, [...]string{"false", "true", "unknown"}[v]...)
	}
	return b
}

// numberWidth limits how much of a number is shown.
const numberWidth = 23

// AppendNumber appends the ith number of each sample.
func AppendNumber(b []byte, x *Expr, i int) []byte {
	for s := range x.Samples {
		if s > 0 {
			b = append(b, ' ')
		}
		if x.Valid <= s || x.Nums == nil || math.IsNaN(x.Numbers(s)[i]) {
			b = append(b, '?')
			continue
		}
		start := len(b)
		switch v := x.Numbers(s)[i]; {
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
