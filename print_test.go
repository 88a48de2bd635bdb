package pcp_test

import (
	"math"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

// TestPrintBits checks that an aggregate of a number's length, and a value that
// does not fit its type, are printed as their bits, not converted.
func TestPrintBits(t *testing.T) {
	f := func(v pcp.Value, from pcp.Type, want string) {
		t.Helper()
		if got := string(v.AppendPrint(nil, from, 0, time.UTC)); got != want {
			t.Errorf("%v of %v as %v = %q, want %q", v, v.Type(), from, got, want)
		}
	}
	f(pcp.BytesValue(pcp.TypeAggregate, []byte{1, 3, 7, 0xf, 0x1f, 0x3f, 0x7f, 0xff}), pcp.TypeAggregate,
		"18410503204342530817 -1.371380375612005e+306 [0103070f1f3f7fff]")
	f(pcp.BytesValue(pcp.TypeAggregate, []byte{0, 0, 0x80, 0x3f}), pcp.TypeAggregate, "1 [0000803f]")
	for _, typ := range []pcp.Type{pcp.TypeUnknown, pcp.Type32, pcp.TypeU32} {
		v := pcp.RawValue(typ, uint64(math.Float32bits(2.5)))
		f(v, pcp.TypeUnknown, "1075838976 2.5 0x40200000")
		f(v, pcp.TypeDouble, "1075838976 2.5 0x40200000")
		f(v, pcp.TypeFloat, "2.5") // as old agents send it
	}
}
