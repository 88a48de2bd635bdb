package ctext

import (
	"math"
	"strconv"
	"testing"
)

func TestStrtod(t *testing.T) {
	f := func(s string, want float64, wantEnd int, wantErr error) {
		t.Helper()
		got, end, err := Strtod(s)
		if math.Float64bits(got) != math.Float64bits(want) || end != wantEnd || err != wantErr {
			t.Errorf("Strtod(%q) = %v (%x), %d, %v, want %v (%x), %d, %v", s,
				got, math.Float64bits(got), end, err, want, math.Float64bits(want), wantEnd, wantErr)
		}
	}
	inf, nan := math.Inf(1), math.Float64frombits
	f("1.5", 1.5, 3, nil)
	f(" \v1.5 ", 1.5, 5, nil)
	f("0", 0, 1, nil)
	f("-0.0e5", math.Copysign(0, -1), 6, nil)
	f("+.5", 0.5, 3, nil)
	f("5.", 5, 2, nil)
	f("1.2.3", 1.2, 3, nil)
	f("1e3", 1000, 3, nil)
	f("1e+", 1, 1, nil)
	f("1ex", 1, 1, nil)
	f("1_0", 1, 1, nil)
	f("0x10", 16, 4, nil)
	f("-0x1.8p1", -3, 8, nil)
	f("0x.8", 0.5, 4, nil)
	f("0x0", 0, 3, nil)
	f("0x", 0, 1, nil)
	f("0x.", 0, 1, nil)
	f("0xg", 0, 1, nil)
	f("0x1p", 1, 3, nil)
	f("1p3", 1, 1, nil)
	f("inf", inf, 3, nil)
	f("-Infinity", -inf, 9, nil)
	f("infinit", inf, 3, nil)
	f("nan", nan(0x7ff8<<48), 3, nil)
	f("-NaN", nan(0xfff8<<48), 4, nil)
	f("nan(", nan(0x7ff8<<48), 3, nil)
	f("nan()", nan(0x7ff8<<48), 5, nil)
	f("nan(0x1F)", nan(0x7ff8<<48|0x1f), 9, nil)
	f("nan(010)", nan(0x7ff8<<48|8), 8, nil)
	f("nan(x_1)", nan(0x7ff8<<48), 8, nil)
	f("nan(1-)", nan(0x7ff8<<48), 3, nil)
	f("1e400", inf, 5, strconv.ErrRange)
	f("-1e400", -inf, 6, strconv.ErrRange)
	f("1e-320", 1e-320, 6, strconv.ErrRange)
	f("1e-999", 0, 6, strconv.ErrRange)
	f("0x1p-1074", 0x1p-1074, 9, nil)
	f("0x1p-2000", 0, 9, strconv.ErrRange)
	for _, s := range []string{"", " ", "x", ".", "-", "+-1", "e5", "in", "(1)"} {
		f(s, 0, 0, strconv.ErrSyntax)
	}
}

func TestStrtof(t *testing.T) {
	f := func(s string, want float32, wantEnd int, wantErr error) {
		t.Helper()
		got, end, err := Strtof(s)
		if math.Float32bits(got) != math.Float32bits(want) || end != wantEnd || err != wantErr {
			t.Errorf("Strtof(%q) = %v (%x), %d, %v, want %v (%x), %d, %v", s,
				got, math.Float32bits(got), end, err, want, math.Float32bits(want), wantEnd, wantErr)
		}
	}
	f("1.5x", 1.5, 3, nil)
	f("16777217", 16777216, 8, nil)
	f("1e39", float32(math.Inf(1)), 4, strconv.ErrRange)
	f("1e-40", 1e-40, 5, strconv.ErrRange)
	f("1e-320", 0, 6, strconv.ErrRange)
	f("-nan(7)", math.Float32frombits(0xffc00007), 7, nil)
	f("", 0, 0, strconv.ErrSyntax)
}

func TestDecimal(t *testing.T) {
	f := func(s string, i, want int) {
		t.Helper()
		if got := Decimal(s, i); got != want {
			t.Errorf("Decimal(%q, %d) = %d, want %d", s, i, got, want)
		}
	}
	f("12", 0, 2)
	f("x12.5e3s", 1, 7)
	f("5.", 0, 2)
	f("5e", 0, 1)
	f("0x10", 0, 1)
	f(".", 0, 0)
	f("-1", 0, 0)
	f("inf", 0, 0)
	f("1", 1, 0)
}

func TestClasses(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		digit := c >= '0' && c <= '9'
		alpha := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		space := c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r'
		hex := digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if IsDigit(c) != digit || IsAlpha(c) != alpha || IsAlnum(c) != (digit || alpha) ||
			IsSpace(c) != space || IsHexDigit(c) != hex ||
			IsName(c, 0) != (alpha || c == '_') || IsName(c, 1) != (alpha || digit || c == '_') {
			t.Errorf("%q is taken for something else", c)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, tt := range [][2]string{{"", ""}, {"abc", "abc"}, {"ab\x00c\x00", "ab"}, {"\x00", ""}} {
		if got := String(tt[0]); got != tt[1] {
			t.Errorf("String(%q) = %q, want %q", tt[0], got, tt[1])
		}
		if got := string(Bytes([]byte(tt[0]))); got != tt[1] {
			t.Errorf("Bytes(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
	if got := TrimSpace(" \t\r\n\v\fa b "); got != "a b " {
		t.Errorf("TrimSpace returns %q", got)
	}
	if got := Digits("a123b", 1); got != 4 {
		t.Errorf("Digits returns %d, want 4", got)
	}
}

func FuzzStrtod(f *testing.F) {
	for _, s := range []string{"1.5e3", " -0x1.8p-3z", "nan(0x7)", "-infinity", "1e400", "1e-400", "5.e", "0x.", ".", "1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, end, err := Strtod(s)
		if end < 0 || end > len(s) || (end == 0) != (err == strconv.ErrSyntax) {
			t.Fatalf("Strtod(%q) = %v, %d, %v", s, d, end, err)
		}
		again, n, err2 := Strtod(s[:end])
		if n != end || err2 != err || math.Float64bits(again) != math.Float64bits(d) {
			t.Errorf("Strtod(%q) = %v, %d, %v; of all of %q it is %v, %d, %v", s[:end], again, n, err2, s, d, end, err)
		}
		x, n, _ := Strtof(s)
		if n != end || math.IsNaN(float64(x)) != math.IsNaN(d) {
			t.Errorf("Strtof(%q) = %v, %d; Strtod: %v, %d", s, x, n, d, end)
		}
	})
}
