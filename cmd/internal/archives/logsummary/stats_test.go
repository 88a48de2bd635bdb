package logsummary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestExtendedOdd tries times that only damaged archives have.
func TestExtendedOdd(t *testing.T) {
	for _, tt := range []struct {
		sec, us int64
		want    float64
	}{
		{1, -500_000, 0.5},
		{1, 2_500_000, 3.5},
		{-2, 500_000, -1.5},
		{math.MaxInt64, -1, math.MaxInt64},
		{math.MinInt64, math.MinInt64, math.MinInt64},
		{0, -256_000, -0.256},
	} {
		if got := extended(tt.sec, tt.us); math.Abs(got-tt.want) > 1e-6*math.Abs(tt.want) {
			t.Errorf("extended(%d, %d) = %v, want %v", tt.sec, tt.us, got, tt.want)
		}
	}
}

// TestExtended compares with 64-bit arithmetic.
func TestExtended(t *testing.T) {
	check := func(sec, us int64) {
		t.Helper()
		num := func(n int64) *big.Float { return new(big.Float).SetPrec(64).SetInt64(n) }
		q := new(big.Float).SetPrec(64).Quo(num(us), num(1e6))
		want, _ := new(big.Float).SetPrec(64).Add(num(sec), q).Float64()
		if got := extended(sec, us); got != want {
			t.Errorf("extended(%d, %d) = %x, want %x", sec, us, got, want)
		}
	}
	for _, sec := range []int64{0, 1, 2, 3, 255, 256, 1<<31 - 1, 1 << 31, 1 << 40, 1<<62 - 1, 1 << 62, 1<<63 - 1} {
		for _, us := range []int64{0, 1, 2, 15625, 499999, 500000, 500001, 999999} {
			check(sec, us)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300_000 {
		check(rnd.Int64N(1<<rnd.IntN(45)), rnd.Int64N(1e6))
	}
}
