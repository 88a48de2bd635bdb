package pmcc

import (
	"math"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

// TestPython compares with the output and input of Python.
func TestPython(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", 0.1: "0.1", 12.34: "12.34", 1e15: "1000000000000000.0", 1e16: "1e+16", 1e-4: "0.0001", 1e-5: "1e-05",
		math.Copysign(0, -1): "-0.0", math.Inf(1): "inf", math.Inf(-1): "-inf", 1.5e300: "1.5e+300",
	} {
		if got := pytext.Float(f); got != want {
			t.Errorf("Float(%g) = %s, want %s", f, got, want)
		}
	}
	for f, want := range map[float64]string{1.005: "1.0", 2.675: "2.67", -0.001: "-0.0", math.NaN(): "None", math.Inf(1): "None"} {
		if got := Round(f).String(); got != want {
			t.Errorf("Round(%g) = %s, want %s", f, got, want)
		}
	}
	for s, want := range map[string]string{"a": "'a'", "a'b": `"a'b"`, `a'"`: `'a\'"'`, "a\n\x01\\": `'a\n\x01\\'`} {
		if got := pytext.Repr(s); got != want {
			t.Errorf("Repr(%q) = %s, want %s", s, got, want)
		}
	}
	for s, want := range map[string]int64{"1": 1, " 12 ": 12, "1_0": 10, "+3": 3, "-3": -3, "99999999999999999999": math.MinInt64} {
		if got, ok := pytext.Int(s); !ok || got != want {
			t.Errorf("Int(%q) = %d, %t, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", " ", "+", "1_", "_1", "1__0", "0x1", "1 2", "--1", "é"} {
		if got, ok := pytext.Int(s); ok {
			t.Errorf("Int(%q) = %d", s, got)
		}
	}
	if got := Cut("düs", 2) + "|" + Cut("dü", 4) + "|" + Cut("", 0); got != "dü|dü  |" {
		t.Errorf("Cut: %q", got)
	}
	big, small := Value{pcp.Uint64Value(1 << 63), true}, Value{pcp.Uint64Value(1<<63 - 1), true}
	if diff, ok := small.Minus(big); !ok || diff.String() != "-1" {
		t.Errorf("Minus: %s", diff)
	}
	if _, ok := small.Minus(Value{}); ok {
		t.Error("Minus of nothing is something")
	}
}
