// Package longtest reports whether tests run in their long form.
//
// Every test that has a short form for each change and a long one for each
// release asks this package, so that one variable selects the long form of all:
//
//	PCP_TEST_LONG=1 go test ./cmd/internal/testing/difftest
//
// Tests that draw at random take their seed from here as well. It is 1 unless
// PCP_TEST_SEED sets another; PCP_TEST_SEED=now draws a new one, which the
// test logs.
package longtest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Enabled reports whether tests run in their long form: whether PCP_TEST_LONG
// is set, to something other than 0.
func Enabled() bool {
	v := os.Getenv("PCP_TEST_LONG")
	return v != "" && v != "0"
}

// N returns short, or in the long form long.
func N(short, long int) int {
	if Enabled() {
		return long
	}
	return short
}

// Seed returns the seed for what a test draws at random, and logs it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	switch s := os.Getenv("PCP_TEST_SEED"); s {
	case "":
	case "now":
		seed = uint64(time.Now().UnixNano())
	default:
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("PCP_TEST_SEED: %v", err)
		}
	}
	t.Logf("PCP_TEST_SEED=%d", seed)
	return seed
}
