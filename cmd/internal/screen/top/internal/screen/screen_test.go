package screen

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	f := func(w int, s, want string) {
		t.Helper()
		g := New(w, 1)
		g.All().Text(0, 0, Normal, s)
		if got := strings.TrimSuffix(g.Plain(), "\n"); got != want {
			t.Errorf("%q in %d cells is %q, want %q", s, w, got, want)
		}
	}
	f(5, "abc", "abc")
	f(5, "abcde", "abcde")
	f(5, "abcdef", "abcd…")
	f(1, "ab", "…")
	f(0, "ab", "")
	f(10, "a\x1b[2Jb\r\n\tc", "a·[2Jb···c")
	f(10, "e\u0301te\u0301", "e\u0301te\u0301")
	f(10, "\u0301x", "x")
	f(4, "日本", "日本")
	f(4, "日本語", "日 …")
	f(5, "日本語", "日本…")
	f(10, "a\u202eb\u200bc\ufe0f", "abc")
	f(10, "\xff\xc0a", "??a")
	f(10, "\u0085\u2028x", "·x")
	g := New(6, 1)
	g.SetASCII(true)
	g.All().Text(0, 0, Normal, "é日x…")
	if got := g.Plain(); got != "???x?\n" {
		t.Errorf("as ASCII it is %q", got)
	}
	// A wide character that is half overwritten becomes a space.
	g = New(4, 1)
	g.All().Text(0, 0, Normal, "日本")
	g.All().Rune(1, 0, Normal, 'x')
	g.All().Rune(2, 0, Normal, 'y')
	if got := g.Plain(); got != " xy\n" {
		t.Errorf("overwritten it is %q", got)
	}
	if got := Clean("a\x1b\u202e\u0301é\xff"); got != "a·\u0301é?" {
		t.Errorf("clean it is %q", got)
	}
}

// FuzzText draws any text: only printable characters may reach the screen, and no cell beyond the area.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x1b]0;x\x07", "日本語e\u0301", "\u202e\u2066", "\xff\xfe", "👩‍👩‍👧‍👦🇳🇴", strings.Repeat("\u0300", 50)} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		g := New(20, 3)
		a := g.All().Part(2, 1, w%18, 1)
		end := a.Text(0, 0, Normal, s)
		if end > max(0, a.W) {
			t.Errorf("%q ends at %d of %d", s, end, a.W)
		}
		lines := strings.Split(g.Plain(), "\n")
		if lines[0] != "" || lines[2] != "" {
			t.Errorf("%q is drawn elsewhere: %q", s, lines)
		}
		if n := Width(lines[1], 100); n > 2+a.W {
			t.Errorf("%q takes %d cells of %d", s, n, a.W)
		}
		for _, r := range g.Plain() {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError || r >= 0x202a && r <= 0x202e {
				t.Errorf("%q has %U on the screen", s, r)
			}
		}
	})
}

func TestThemes(t *testing.T) {
	g := New(10, 2)
	g.All().Text(0, 0, Title, "Title")
	g.All().Text(0, 1, Selected, "row")
	for _, name := range Themes() {
		theme, ok := NewTheme(name)
		if !ok || theme.Name != name {
			t.Fatalf("there is no theme %q", name)
		}
		text := g.Styled(theme)
		if !strings.Contains(text, "Title") || strings.Count(text, "\n") != 1 || !strings.Contains(text, "\x1b[") {
			t.Errorf("%s: %q", name, text)
		}
		if name == "mono" && (strings.Contains(text, "\x1b[3") || strings.Contains(text, "38;")) {
			t.Errorf("mono has colours: %q", text)
		}
	}
	if _, ok := NewTheme("nothing"); ok {
		t.Error("there is a theme of any name")
	}
}

func TestDrawing(t *testing.T) {
	f := func(ascii bool, w, h int, draw func(a Area), want string) {
		t.Helper()
		g := New(w, h)
		g.SetASCII(ascii)
		draw(g.All())
		if got := strings.TrimSuffix(g.Plain(), "\n"); got != want {
			t.Errorf("drawn is\n%s\nwant\n%s", got, want)
		}
	}
	bar := func(a Area) {
		a.Bar(0, 0, a.W, []Segment{{0.25, User}, {0.25, System}, {math.NaN(), Wait}}, "50%", Bold)
	}
	f(false, 14, 1, bar, "[■■■■■■···50%]")
	f(true, 14, 1, bar, "[||||||   50%]")
	f(false, 3, 1, bar, "")
	values := []float64{0, 1, 2, math.NaN(), 4, 8}
	f(false, 6, 1, func(a Area) { a.Spark(0, 0, 6, values, 8, Good) }, "▁▁▂ ▄█")
	f(true, 6, 1, func(a Area) { a.Spark(0, 0, 6, values, 8, Good) }, "__. -#")
	f(false, 3, 2, func(a Area) { a.Graph([]float64{1, 2, 4}, 4, true, Good) }, "  █\n▄██")
	f(false, 2, 1, func(a Area) { // a line from the bottom to the top
		p := Plot{Area: a, Max: 3}
		p.Line([]float64{0, 1, 2, 3}, Line0)
		p.Draw()
	}, "⡠⠊")
	f(true, 8, 3, func(a Area) { a.Box("T", "") }, "+- T --+\n|      |\n+------+")
	f(false, 9, 1, func(a Area) { a.Rule("T", "") }, "─ T ─────")
}
