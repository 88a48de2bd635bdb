package procfs

import (
	"math"
	"slices"
	"strconv"
	"testing"
)

func TestLines(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		var got []string
		for line := range Lines([]byte(in)) {
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Lines(%q) are %q, want %q", in, got, want)
		}
	}
	f("")
	f("\n", "")
	f("a\nb\n", "a", "b")
	f("a\n\nb", "a", "", "b")
	text := []byte("a 1\nb 2\n")
	if n := testing.AllocsPerRun(10, func() {
		for line := range Lines(text) {
			if len(line) == 0 {
				break
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestUint(t *testing.T) {
	f := func(in string, want uint64, rest string, wantOK bool) {
		t.Helper()
		v, r, ok := Uint([]byte(in))
		if v != want || string(r) != rest || ok != wantOK {
			t.Errorf("Uint(%q) = %d, %q, %v, want %d, %q, %v", in, v, r, ok, want, rest, wantOK)
		}
	}
	f("", 0, "", false)
	f("  ", 0, "", false)
	f(" 12 13", 12, " 13", true)
	f("\t7x", 7, "x", true)
	f("x", 0, "x", false)
	f("-1", 0, "-1", false)
	f("\n1", 0, "\n1", false)
	f("18446744073709551615", math.MaxUint64, "", true)
	f("18446744073709551614 ", math.MaxUint64-1, " ", true)
	f("18446744073709551616 5", math.MaxUint64, " 5", true)
	f("99999999999999999999999x", math.MaxUint64, "x", true)
}

func TestInt(t *testing.T) {
	f := func(in string, want int64, rest string, wantOK bool) {
		t.Helper()
		v, r, ok := Int([]byte(in))
		if v != want || string(r) != rest || ok != wantOK {
			t.Errorf("Int(%q) = %d, %q, %v, want %d, %q, %v", in, v, r, ok, want, rest, wantOK)
		}
	}
	f(" -2\n", -2, "\n", true)
	f("3", 3, "", true)
	f("- 3", 0, " 3", false)
	f("-", 0, "", false)
	f("9223372036854775808", math.MaxInt64, "", true)
	f("-9223372036854775809", math.MinInt64, "", true)
	f("-9223372036854775808", math.MinInt64, "", true)
}

func TestHex(t *testing.T) {
	f := func(in string, want uint64, rest string, wantOK bool) {
		t.Helper()
		v, r, ok := Hex([]byte(in))
		if v != want || string(r) != rest || ok != wantOK {
			t.Errorf("Hex(%q) = %x, %q, %v, want %x, %q, %v", in, v, r, ok, want, rest, wantOK)
		}
	}
	f("0x1003\n", 0x1003, "\n", true)
	f(" aB9 1", 0xab9, " 1", true)
	f("0x", 0, "x", true)
	f("g", 0, "g", false)
	f("", 0, "", false)
	f("ffffffffffffffff", math.MaxUint64, "", true)
	f("1ffffffffffffffff z", math.MaxUint64, " z", true)
}

func TestFloat(t *testing.T) {
	f := func(in string, want float64, rest string, wantOK bool) {
		t.Helper()
		v, r, ok := Float([]byte(in))
		if v != want || string(r) != rest || ok != wantOK {
			t.Errorf("Float(%q) = %v, %q, %v, want %v, %q, %v", in, v, r, ok, want, rest, wantOK)
		}
	}
	f("0.03 0", 0.03, " 0", true)
	f("5192.24", 5192.24, "", true)
	f("-1.5x", -1.5, "x", true)
	f("7", 7, "", true)
	f("7.", 7, ".", true)
	f(".5", 0, ".5", false)
	f("abc", 0, "abc", false)
	f("0.1234567890123456789012", 0.12345678901234568, "", true)
}

// FuzzFloat wants what the kernel prints to be read as strconv reads it.
func FuzzFloat(f *testing.F) {
	f.Add(uint32(12), uint8(34))
	f.Fuzz(func(t *testing.T, whole uint32, hundredths uint8) {
		text := strconv.FormatUint(uint64(whole), 10) + "." + strconv.Itoa(int(hundredths)%100/10) + strconv.Itoa(int(hundredths)%10)
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, rest, ok := Float([]byte(text)); got != want || len(rest) > 0 || !ok {
			t.Errorf("Float(%q) = %v, %q, %v", text, got, rest, ok)
		}
	})
}

// FuzzScan wants the scanners to take anything, and to make progress.
func FuzzScan(f *testing.F) {
	f.Add([]byte("a: 1 -2 0x3\n4.5"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		for rest := b; ; n++ {
			line, r, ok := Line(rest)
			if !ok {
				break
			}
			if len(line)+len(r) > len(rest) || len(r) >= len(rest) {
				t.Fatalf("Line(%q) = %q, %q", rest, line, r)
			}
			rest = r
			Uint(line)
			Int(line)
			Hex(line)
			Float(line)
			Cut(line, ':')
			for field, r := Field(line); len(field) > 0; field, r = Field(r) {
				n++
			}
		}
		if n > 2*len(b) {
			t.Errorf("%d fields in %d bytes", n, len(b))
		}
	})
}

func TestLine(t *testing.T) {
	var got []string
	for b := []byte("one\n\ntwo"); ; {
		line, rest, ok := Line(b)
		if !ok {
			break
		}
		got, b = append(got, string(line)), rest
	}
	if len(got) != 3 || got[0] != "one" || got[1] != "" || got[2] != "two" {
		t.Errorf("lines %q", got)
	}
}

func TestCut(t *testing.T) {
	f := func(in, before, after string, found bool) {
		t.Helper()
		b, a, ok := Cut([]byte(in), ':')
		if string(b) != before || string(a) != after || ok != found {
			t.Errorf("Cut(%q) = %q, %q, %v", in, b, a, ok)
		}
	}
	f(" model name\t: AMD : EPYC \r\n", "model name", "AMD : EPYC", true)
	f("nothing", "nothing", "", false)
	f(":", "", "", true)
}
