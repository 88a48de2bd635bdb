package ctext

import (
	"math"
	"testing"
)

func TestAppendFloat(t *testing.T) {
	f := func(v float64, verb byte, prec int, want string) {
		t.Helper()
		if got := string(AppendFloat([]byte("> "), v, verb, prec)); got != "> "+want {
			t.Errorf("%%.%d%c of %v: %q, want %q", prec, verb, v, got, want)
		}
	}
	f(1234.5, 'e', 6, "1.234500e+03")
	f(1234.5, 'E', 3, "1.234E+03")
	f(1234.5, 'f', 0, "1234")
	f(0.1, 'g', 16, "0.1")
	f(math.Inf(1), 'f', 2, "inf")
	f(math.Inf(-1), 'g', 2, "-inf")
	f(math.Inf(-1), 'E', 2, "-INF")
	f(math.NaN(), 'f', 2, "nan")
	f(math.NaN(), 'E', 2, "NAN")
	f(math.Copysign(math.NaN(), -1), 'e', 2, "-nan")
}

func TestAlign(t *testing.T) {
	f := func(got []byte, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(AlignRight([]byte("ab123"), 2, 5), "ab  123")
	f(AlignRight([]byte("ab123"), 2, 3), "ab123")
	f(AlignRight([]byte("ab123"), 2, -9), "ab123")
	f(AlignRight([]byte("1"), 0, 40), "                                       1")
	f(AppendSpaces([]byte("x"), -1), "x")
	f(AppendSpaces([]byte("x"), 33), "x                                 ")
	f(AppendDigits(nil, 7, 3), "007")
	f(AppendDigits([]byte("."), 4294967295, 9), ".294967295")
	f(AppendDigits(nil, 0, 0), "")
}
