package rep

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestAppendFixed compares the fast path with package strconv: at ties, next to them, and at random.
func TestAppendFixed(t *testing.T) {
	f := func(x float64) {
		t.Helper()
		for precision := range shortDigits + 3 {
			if got, want := string(appendFixed(nil, x, precision)), strconv.FormatFloat(x, 'f', precision, 64); got != want {
				t.Fatalf("%v with %d digits: %s, want %s", x, precision, got, want)
			}
		}
	}
	for _, x := range []float64{
		0, math.Copysign(0, -1), 1, -1, 1e-20, -1e-20, 5e-324, 1e300, math.MaxFloat64, shortMost, -shortMost, math.Nextafter(shortMost, 0), 1 << 53,
	} {
		f(x)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		// Halves at all digits, exact ones such as 0.5, 0.125 or 2.5, and inexact ones such as 0.15; and the
		// adjacent numbers.
		x := (float64(r.IntN(1<<r.IntN(30))) + 0.5) / float64(powers[r.IntN(len(powers))])
		if r.IntN(2) == 0 {
			x = -x
		}
		f(x)
		f(math.Nextafter(x, math.Inf(1)))
		f(math.Nextafter(x, math.Inf(-1)))
		f(math.Ldexp(float64(r.IntN(1<<20)), -r.IntN(24)))
		f(math.Float64frombits(r.Uint64()&^(0x7ff<<52) | uint64(1023-40+r.IntN(80))<<52))
	}
}

func BenchmarkAppendFixed(b *testing.B) {
	buf, i := make([]byte, 0, 64), 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		buf = appendFixed(buf[:0], float64(i)*1.2345678, 3)
	}
}
