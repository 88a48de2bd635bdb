package dstat

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/derive"
)

// TestCenter checks that words are placed as by Python's center.
func TestCenter(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{{"ab", 5, "  ab "}, {"abc", 6, " abc  "}, {"a", 4, " a  "}, {"abc", 3, "abc"}, {"abcd", 2, "abcd"}, {"", 3, "   "}, {"é", 4, " é  "}} {
		if got := center(c.text, c.width); got != c.want {
			t.Errorf("center(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 2, "ab"}, {"abc", 5, "abc"}, {"abc", -1, "ab"}, {"abc", -5, ""}, {"éèê", 2, "éè"}} {
		if got := cut(c.text, c.n); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

// TestFit fits numbers into columns; numbers with decimals are those of the C program.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		f     float64
		width int
		base  float64
		want  string
		times int
	}{
		{0, 4, 1000, "0", 0},
		{1.5, 4, 1000, "1.50", 0},
		{12.345, 4, 1000, "12.3", 0},
		{123.45, 4, 1000, "123", 0},
		{1234.5, 4, 1000, "1234", 0},
		{12345.6, 4, 1000, "12.3", 1},
		{99999, 4, 1024, "97.7", 1},
		{0.004, 4, 1000, "0.00", 0},
		{-3.25, 5, 1000, "-3.25", 0},
		{1e+12, 4, 1024, "931", 3},
		{7, 3, 1000, "7.0", 0},
		{9.996, 3, 1000, "10", 0},
		{0.5, 1, 1000, "0", 0},
	} {
		if got, times := fitFloat(c.f, c.width, c.base); got != c.want || times != c.times {
			t.Errorf("fitFloat(%v, %d, %v) = %q, %d, want %q, %d", c.f, c.width, c.base, got, times, c.want, c.times)
		}
	}
	for _, c := range []struct {
		f     float64
		want  string
		times int
	}{{0, "0", 0}, {999.4, "999", 0}, {2.5, "2", 0}, {1023, "1", 1}, {-1, "-1", 0}, {5 << 20, "5", 2}} {
		if got, times := fitWhole(c.f, 3, 1024); got != c.want || times != c.times {
			t.Errorf("fitWhole(%v) = %q, %d, want %q, %d", c.f, got, times, c.want, c.times)
		}
	}
	for _, c := range []struct {
		minutes float64
		width   int
		want    string
	}{{5, 5, " 0h05"}, {125, 5, " 2h05"}, {6000, 5, "100h"}, {600, 3, "10h"}, {60 * 24 * 30, 3, "30d"}, {60 * 24 * 700, 3, "100w"}} {
		if got := fitTime(c.minutes, c.width); got != c.want {
			t.Errorf("fitTime(%v, %d) = %q, want %q", c.minutes, c.width, got, c.want)
		}
	}
}

// description compiles a terminal description with a count of numbers, all equal.
func description(magic uint16, numbers int, value int32) []byte {
	const names = "test|a terminal\x00"
	b := []byte{}
	for _, n := range []uint16{magic, uint16(len(names)), 1, uint16(numbers), 0, 0} {
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	b = append(b, names...)
	b = append(b, 1)
	if len(b)%2 != 0 {
		b = append(b, 0)
	}
	for range numbers {
		if magic == terminfoMagic32 {
			b = binary.LittleEndian.AppendUint32(b, uint32(value))
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(value))
		}
	}
	return b
}

func TestTerminfo(t *testing.T) {
	whole := description(terminfoMagic, 14, 8)
	for what, c := range map[string]struct {
		text   []byte
		number int
		ok     bool
	}{
		"16 bits":    {whole, 8, true},
		"32 bits":    {description(terminfoMagic32, 14, 1<<24), 1 << 24, true},
		"absent":     {description(terminfoMagic, 14, -1), -1, true},
		"few":        {description(terminfoMagic, 13, 8), -1, true},
		"cut off":    {whole[:len(whole)-1], 0, false},
		"no head":    {whole[:11], 0, false},
		"another":    {description(0o777, 14, 8), 0, false},
		"nothing":    {nil, 0, false},
		"a negative": {append([]byte{0o32, 1, 0xff, 0xff}, whole[4:]...), 0, false},
	} {
		if number, ok := terminfoNumber(c.text, maxColors); number != c.number || ok != c.ok {
			t.Errorf("%s: %d, %t, want %d, %t", what, number, ok, c.number, c.ok)
		}
	}

	dir := t.TempDir()
	if anyTerminfo([]string{dir}) {
		t.Error("an empty directory has descriptions")
	}
	for _, path := range []string{"t/test", "78/xtest"} { // both layouts of directories
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if !anyTerminfo([]string{dir}) {
		t.Error("there are no descriptions")
	}
	for term, found := range map[string]bool{"test": true, "xtest": true, "other": false, "": false, "../t/test": false, "t\x00": false, ".": false} {
		if _, err := readTerminfo([]string{dir}, term); (err == nil) != found {
			t.Errorf("readTerminfo(%q): %v", term, err)
		}
	}
}

// FuzzTerminfo reads damaged descriptions of terminals.
func FuzzTerminfo(f *testing.F) {
	f.Add(description(terminfoMagic, 14, 8))
	f.Add(description(terminfoMagic32, 14, 256))
	f.Add(description(terminfoMagic, 3, -2))
	f.Add([]byte{0o32, 1, 0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		if number, ok := terminfoNumber(b, maxColors); !ok && number != 0 {
			t.Errorf("%d of a description that is not whole", number)
		}
	})
}

// FuzzPlugins creates the plugins of arbitrary text: it either fails with a message or
// creates all of them.
func FuzzPlugins(f *testing.F) {
	f.Add("[a]\nlabel = %I\ngrouptype = 4\nwidth = 3\nprinttype = b\nx = disk.dev.read\nx.label = %d\nx.colorstep = 2.5\n")
	f.Add("[a]\ninstances = \"a,\"\"b\",'c'\ncullinsts = ^lo$\nx = a; b = c\ny.formula = 100 * rate(a.b) / c.d\n")
	f.Add("[cpu]\nwidth = x\n[swap]\nx.nosuch = 1\n[DEFAULT]\nx = %(y)s\n")
	f.Add("[a\n]b=\n")
	f.Add(subjects[:2000])
	f.Fuzz(func(t *testing.T, text string) {
		all := conf.NewSections()
		if err := all.Read("f", text); err != nil {
			return
		}
		for _, name := range all.Names() {
			p, err := newPlugin(all, name, &selection{cpu: &chosen{[]string{total, "cpu0"}}})
			if err != nil {
				if utf8.ValidString(text) && err.Error() == "" {
					t.Error("an error without words")
				}
				continue
			}
			_ = defineMetrics(&derive.Set{}, []*plugin{p})
		}
	})
}
