package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
)

// shown returns the output to a terminal of texts that are written one by one.
func shown(t *Terminal, texts ...string) string {
	var b bytes.Buffer
	t.w = &b
	if t.is == nil {
		t.is = func() bool { return true }
	}
	for _, s := range texts {
		if n, err := io.WriteString(t, s); n != len(s) || err != nil {
			panic(err)
		}
	}
	t.Close()
	return b.String()
}

func TestTerminal(t *testing.T) {
	mark := newMark()
	f := func(want string, texts ...string) {
		t.Helper()
		if got := shown(&Terminal{mark: mark}, texts...); got != want {
			t.Errorf("%q is shown as %q, want %q", texts, got, want)
		}
		// However the writes are split.
		var b bytes.Buffer
		w := &Terminal{mark: mark, w: &b, is: func() bool { return true }}
		if _, err := io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{iotest.OneByteReader(strings.NewReader(strings.Join(texts, "")))}); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if got := b.String(); got != want {
			t.Errorf("%q by bytes is shown as %q, want %q", texts, got, want)
		}
	}
	f("plain text\twith tabs\nand lines\n", "plain text\twith tabs\nand lines\n")
	f("µs, °C, 日本, é, e\u0301, 👩\u200d💻, ك\u200cت", "µs, °C, 日本, é, e\u0301, 👩\u200d💻, ك\u200cت")
	f("?]0;title?", "\x1b]0;title\a")
	f("?[2J?c", "\x1b[2J\x1bc")
	f("a?b?c?", "a\rb\bc\x7f")
	f("csv\r\nlines\r\n", "csv\r\nlines\r\n")
	f("?31m", "\u009b31m")
	f("?31m", "\x9b31m")
	f("?]0;x?", "\xc2\x9d]0;x\xc2\x9c")
	f("????.", "\xe6\x97\xff\xc0.")
	f("??", "\xe6\x97")
	f("a?exe.gpj?", "a\u202eexe.gpj\u202c")
	f("??????", "\u2066\u200b\ufeff\u00ad\u2028\U000e0041")
	f("\x1b[1mbold\x1b[0m?[1m", mark.own("\x1b[1m")+"bold"+mark.own("\x1b[0m")+"\x1b[1m")
	f("\rdone", mark.own("\r")+"done")
	f("\x1b]0;a?]52;c;x?b\a", mark.own("\x1b]0;")+"a\x1b]52;c;x\ab"+mark.own("\a"))
	// A mark of another program, and one without its character.
	f("?"+string(mark[1:len(mark)-1])+"!?[m", string(mark[:len(mark)-1])+"!\x1b[m")
	f(strings.Repeat("?", len(mark)), string(mark))
	f("?", "\x00")
}

// TestMarkOfOther checks that a mark of one program does not count in another.
func TestMarkOfOther(t *testing.T) {
	theirs := newMark()
	if got := shown(&Terminal{mark: newMark()}, theirs.own("\x1b[2J")); strings.ContainsFunc(got, isControl) {
		t.Errorf("%q goes through", got)
	}
	if got := shown(&Terminal{}, "\x00\x1b[2J"); got != "??[2J" {
		t.Errorf("without a mark: %q", got)
	}
}

// TestTerminalNoMore replaces standard error by a log.
func TestTerminalNoMore(t *testing.T) {
	var b bytes.Buffer
	is := true
	w := &Terminal{w: &b, is: func() bool { return is }}
	io.WriteString(w, "\x1b\xe6")
	is = false
	io.WriteString(w, "\x1b\x97\xa5")
	if got := b.String(); got != "?\xe6\x1b\x97\xa5" {
		t.Errorf("%q", got)
	}
}

func TestOtherCharset(t *testing.T) {
	f := func(want bool, vars ...string) {
		t.Helper()
		got := otherCharset(func(name string) string {
			for _, v := range vars {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if got != want {
			t.Errorf("%q: %v", vars, got)
		}
	}
	f(false)
	f(false, "LANG=C")
	f(false, "LANG=de_DE.UTF-8")
	f(false, "LANG=C.utf8", "LC_ALL=")
	f(true, "LANG=de_DE.UTF-8", "LC_ALL=de_DE.ISO-8859-15@euro")
	f(false, "LANG=cs_CZ.ISO-8859-2", "LC_CTYPE=cs_CZ.UTF-8")
	// ě is C4 9B, and 9B begins a sequence where bytes are characters.
	if got := shown(&Terminal{ascii: true}, "ě[2J"); got != "?[2J" {
		t.Errorf("%q", got)
	}
}

// TestHidden compares with the tables of Unicode.
func TestHidden(t *testing.T) {
	for r := range rune(0x20000) {
		switch {
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Bidi_Control, r):
			if !Hidden(r) {
				t.Errorf("%U is shown", r)
			}
		case unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs) && Hidden(r):
			t.Errorf("%U is not shown", r)
		}
	}
}

func BenchmarkTerminal(b *testing.B) {
	text := []byte(strings.Repeat("kernel.percpu.cpu.user    inst [0 or \"cpu0\"] value 1234567\n", 70))
	t := &Terminal{mark: newMark(), w: io.Discard, is: func() bool { return true }}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		t.Write(text)
	}
}
