package cli

import (
	"errors"
	"math"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestStrtod(t *testing.T) {
	f := func(s string, bits int, want float64, wantErr error) {
		t.Helper()
		got, err := Strtod(s, bits)
		if !errors.Is(err, wantErr) || wantErr == nil && err != nil || wantErr != pcp.ErrType && got != want {
			t.Errorf("Strtod(%q, %d) = %v, %v, want %v, %v", s, bits, got, err, want, wantErr)
		}
	}
	f("1.5", 64, 1.5, nil)
	f(" 1.5", 64, 1.5, nil)
	f("", 64, 0, nil)
	f("0", 64, 0, nil)
	f("-0.0e5", 64, 0, nil)
	f("0x10", 64, 16, nil)
	f("-0x1.8p1", 64, -3, nil)
	f("0x0", 64, 0, nil)
	f("1e3", 64, 1000, nil)
	f("inf", 64, math.Inf(1), nil)
	f("1e400", 64, math.Inf(1), ErrRange)
	f("-1e400", 64, math.Inf(-1), ErrRange)
	f("1e39", 32, math.Inf(1), ErrRange)
	f("1e39", 64, 1e39, nil)
	f("1e-320", 64, 1e-320, ErrRange)
	f("1e-320", 32, 0, ErrRange)
	f("1e-999", 64, 0, ErrRange)
	f("x", 64, 0, pcp.ErrType)
	f("1x", 64, 0, pcp.ErrType)
	f("1_0", 64, 0, pcp.ErrType)
	f("0x", 64, 0, pcp.ErrType)
	f("1.5 ", 64, 0, pcp.ErrType)
	f(" ", 64, 0, pcp.ErrType)
}
