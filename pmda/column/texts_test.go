package column

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// withTexts returns an agent with one fake family, whose tables have a one-line text for all
// but fake1.text.
func withTexts(t *testing.T, texts string) *Agent {
	t.Helper()
	_, family := newFake(1, 0)
	family.Metrics[0].Field, family.Metrics[1].Long = "the first", ""
	a, err := New(Config{Name: "test", Domain: domain, Texts: texts}, family)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTexts(t *testing.T) {
	a := withTexts(t, `# Texts for a test.
% many fake1.one   a single one
% many fake1.*     many

@ fake1.{one,each} ignored, as the table has it
There
is $many.

Second paragraph.

@ fake1.t* What it says
Found by a pattern, which is long enough to be broken into two lines, as this one is.
= /a/file

@ indom:1
The things.

@+ fake1.{one,text}
At the end.
`)
	f := func(ident uint32, kind pcp.TextKind, want string) {
		t.Helper()
		got, err := a.Text(t.Context(), ident, kind)
		if err != nil || got != want {
			t.Errorf("Text(%d, %d) = %q, %v, want %q", ident, kind, got, err, want)
		}
	}
	f(uint32(id(1, 0)), pcp.TextPMID|pcp.TextOneLine, "One")
	f(uint32(id(1, 0)), pcp.TextPMID|pcp.TextHelp, "There is a single one.\n\nSecond paragraph.\n\nAt the end.\n\nSource: fake1, the first")
	f(uint32(id(1, 1)), pcp.TextPMID|pcp.TextHelp, "There is many.\n\nSecond paragraph.\n\nSource: fake1, each")
	f(uint32(id(1, 2)), pcp.TextPMID|pcp.TextOneLine, "What it says")
	f(uint32(id(1, 2)), pcp.TextPMID|pcp.TextHelp,
		"Found by a pattern, which is long enough to be broken into two lines, as this\none is.\n\nAt the end.\n\nSource: /a/file")
	indom := uint32(pcp.NewInDom(domain, 1))
	f(indom, pcp.TextInDom|pcp.TextOneLine, "Things")
	f(indom, pcp.TextInDom|pcp.TextHelp, "The things.")
	if got := a.Origin(id(1, 2)); got != "/a/file" {
		t.Errorf("Origin = %q", got)
	}
	if got := a.Origin(id(7, 7)); got != "" {
		t.Errorf("Origin of no metric = %q", got)
	}
	if err := a.CheckTexts(); err != nil {
		t.Errorf("CheckTexts = %v", err)
	}
}

// TestTextsOfTables checks that tables take precedence over the texts, and that a text
// missing from both is an error, or the one line in place of the long text.
func TestTextsOfTables(t *testing.T) {
	_, family := newFake(1, 0)
	family.Metrics[1].Long = "Of the\ntable.\n\nTwice."
	a, err := New(Config{Name: "test", Domain: domain, Texts: "@ fake1.each\nNot used.\n"}, family)
	if err != nil {
		t.Fatal(err)
	}
	f := func(item int, kind pcp.TextKind, want string, wantErr error) {
		t.Helper()
		got, err := a.Text(t.Context(), uint32(id(1, item)), kind|pcp.TextPMID)
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("Text(1.%d, %d) = %q, %v, want %q, %v", item, kind, got, err, want, wantErr)
		}
	}
	f(1, pcp.TextHelp, "Of the\ntable.\n\nTwice.", nil)
	f(0, pcp.TextHelp, "One", nil)
	f(0, pcp.TextHelp|pcp.TextDirect, "", pcp.ErrText)
	f(2, pcp.TextOneLine, "", pcp.ErrText)
	f(5, pcp.TextOneLine, "", pcp.ErrText)
}

// TestCheckTextsOfTables checks that texts in the tables count; that of the instance domain is
// one line.
func TestCheckTextsOfTables(t *testing.T) {
	_, family := newFake(1, 0)
	for i := range family.Metrics {
		family.Metrics[i].Help, family.Metrics[i].Long = "One line", "A text."
	}
	a, err := New(Config{Name: "test", Domain: domain}, family)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.CheckTexts(); err != nil {
		t.Errorf("CheckTexts = %v", err)
	}
}

func TestTextsWrong(t *testing.T) {
	f := func(texts, want string) {
		t.Helper()
		if err := withTexts(t, texts).CheckTexts(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckTexts of %q = %v, want %q", texts, err, want)
		}
	}
	all := "@ fake1.* line\nText.\n@ indom:1 line\nText.\n"
	f("", "fake1.one has no help text, in Texts or as Long in a table")
	f("@ fake1.*\nText.\n@ indom:1\nText.\n", "fake1.text has no one-line text")
	f(all+"@ fake2.one\nText.\n", "line 5: fake2.one is for nothing")
	f(all+"@+ fake2.*\nText.\n", "line 5: fake2.* is for nothing")
	f(all+"@ fake1.one\nA\n@ fake1.{two,one}\nB\n", "line 7: fake1.one has a text in line 5")
	f("Text.\n", "line 1: text that belongs to no name")
	f("@\n", "line 1: no name")
	f("@ a{b\n", "line 1: a{b: { without }")
	f("% word\n", "line 1: a word needs a name and a pattern")
	f("% word a{b c\n", "line 1: a{b: { without }")
	f("@ fake1.*\n$word\n", "$word has no meaning for fake1.one")
}

func TestMatches(t *testing.T) {
	f := func(glob, name string, want bool) {
		t.Helper()
		if got := matches(glob, name); got != want {
			t.Errorf("matches(%q, %q) = %v", glob, name, got)
		}
	}
	f("a.b", "a.b", true)
	f("a.b", "a.bc", false)
	f("a*", "a", true)
	f("a*", "ba", false)
	f("*b", "a.b", true)
	f("a*b*c", "a.b.b.c", true)
	f("a*b*c", "a.c", false)
	f("a*ba", "aba", true)
	f("ab*ba", "aba", false)
}

// FuzzTexts parses any text: it must end, and return errors for mistakes.
func FuzzTexts(f *testing.F) {
	f.Add("@ a{b,c}.* one\ntext $x\n= f\n\n% x a* y\n@+ *\nmore\n")
	f.Add("@ {{a,b}\n")
	f.Add("% a b\n")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Count(s, "{") > 4 {
			t.Skip("each pair multiplies")
		}
		parsed, err := parseTexts(s)
		if err != nil {
			return
		}
		if e := parsed.of("a.b"); e != nil {
			for _, p := range e.help {
				if _, err := parsed.say(p, "a.b"); err != nil && !strings.Contains(p, "$") {
					t.Errorf("say(%q) = %v", p, err)
				}
			}
		}
	})
}
