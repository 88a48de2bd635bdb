package screen

import (
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/vt"
)

// display shows canvases on a terminal, one after the other, and returns the visible lines.
func display(t *testing.T, canvases ...*Canvas) []string {
	t.Helper()
	emu := vt.NewEmulator(canvases[0].Cols, canvases[0].Rows)
	var answers sync.WaitGroup
	answers.Go(func() { io.Copy(io.Discard, emu) })
	var before *Canvas
	for _, c := range canvases {
		emu.Write(c.Append(nil, before, "\x1b"))
		before = c
	}
	text := emu.String()
	emu.InputPipe().(io.Closer).Close()
	answers.Wait()
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \r\n"))
	}
	return lines
}

// TestHostileText has names that would control a terminal, or that are wide: each takes as many cells as it has
// bytes, so that the next text is in its column.
func TestHostileText(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		c := NewCanvas(2, 60)
		c.put(text)
		c.put("|")
		if got := c.Text(); strings.ContainsFunc(strings.ReplaceAll(got, "\n", ""), func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x9b || r == 0x202e }) {
			t.Errorf("%q: the canvas has %q", text, got)
		}
		// Over another text, so that only the differences are sent.
		other := NewCanvas(2, 60)
		other.put(strings.Repeat("日a", 12))
		for _, lines := range [][]string{display(t, c), display(t, other, c)} {
			if lines[0] != want+"|" {
				t.Errorf("%q is shown as %q, want %q", text, lines[0], want+"|")
			}
			if len(lines) > 1 && lines[1] != "" {
				t.Errorf("%q: the next line has %q", text, lines[1])
			}
		}
	}
	f("plain", "plain")
	f("a\x1b]0;x\a\x7f\r\n", "a?]0;x????")
	f("a\u009b31mb", "a?31mb ")
	f("a\x9bb\xff", "a?b?")
	f("a\u202eb", "a?b  ")
	f("日本 x", "日本 x  ")
	f("é ü", "é ü  ")
	f("e\u0301x", "ex  ")
	f("😀!", "😀!  ")
	f("a\u200db", "ab   ")
}

// TestWideAtTheEdge puts a wide character where there is only one cell.
func TestWideAtTheEdge(t *testing.T) {
	c := NewCanvas(2, 4)
	c.put("abc日")
	c.move(1, 0)
	c.put("d")
	if got := display(t, c); got[0] != "abc?" || got[1] != "d" {
		t.Errorf("%q", got)
	}
}
