package logsummary

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestExtended compares with arithmetic of 64 bits.
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
