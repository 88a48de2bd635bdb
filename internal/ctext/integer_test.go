package ctext

import (
	"math"
	"testing"
)

func TestHexDigit(t *testing.T) {
	for c := range 256 {
		got, ok := HexDigit(byte(c))
		want := byte(0)
		switch {
		case '0' <= c && c <= '9':
			want = byte(c - '0')
		case 'a' <= c && c <= 'f':
			want = byte(c - 'a' + 10)
		case 'A' <= c && c <= 'F':
			want = byte(c - 'A' + 10)
		}
		if ok != IsHexDigit(byte(c)) || got != want {
			t.Errorf("HexDigit(%#x) = %d, %v, want %d", c, got, ok, want)
		}
	}
}

func TestStrtoull(t *testing.T) {
	f := func(s string, base, want uint64, wantRest string, wantOK bool) {
		t.Helper()
		got, rest, ok := Strtoull([]byte(s), base)
		if got != want || string(rest) != wantRest || ok != wantOK {
			t.Errorf("Strtoull(%q, %d) = %d, %q, %v, want %d, %q, %v", s, base, got, rest, ok, want, wantRest, wantOK)
		}
	}
	f("12 34", 10, 12, " 34", true)
	f(" \t\n+7x", 10, 7, "x", true)
	f("-1", 10, math.MaxUint64, "", true)
	f("18446744073709551615", 10, math.MaxUint64, "", true)
	f("-18446744073709551616,", 10, math.MaxUint64, ",", true)
	f("184467440737095516160 1", 10, math.MaxUint64, " 1", true)
	f("0x1f", 10, 0, "x1f", true)
	f("0x1Fg", 0, 31, "g", true)
	f("017 8", 0, 15, " 8", true)
	f("08", 0, 0, "8", true)
	f("0xg", 0, 0, "xg", true)
	f("12", 0, 12, "", true)
	f("0xffffffffffffffff0", 0, math.MaxUint64, "", true)
	f("fe", 16, 254, "", true)
	for _, s := range []string{"", " ", "-", " +x", "x1"} {
		f(s, 10, 0, s, false)
		f(s, 0, 0, s, false)
	}
}

func TestCutLine(t *testing.T) {
	f := func(s string, size int, want, wantRest string) {
		t.Helper()
		if got, rest := CutLine([]byte(s), size); string(got) != want || string(rest) != wantRest {
			t.Errorf("CutLine(%q, %d) = %q, %q, want %q, %q", s, size, got, rest, want, wantRest)
		}
	}
	f("one\ntwo\n", 10, "one\n", "two\n")
	f("one", 10, "one", "")
	f("one\n", 3, "one", "\n")
	f("a\x00b\nc", 10, "a", "c")
	f("", 10, "", "")
}
