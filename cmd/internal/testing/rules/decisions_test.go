package rules

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxDecision is the length of a line of docs/decisions.md.
const maxDecision = 180

// TestDecisions checks that each decision has three lines: the decision in bold, the reason, and the alternative
// or the price.
func TestDecisions(t *testing.T) {
	const page = "docs/decisions.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "\n## ")
	decisions := 0
	for paragraph := range strings.SplitSeq("## "+body, "\n\n") {
		lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
		if strings.HasPrefix(lines[0], "## ") {
			if len(lines) != 1 {
				t.Errorf("%s: text follows the heading %q at once", page, lines[0])
			}
			continue
		}
		decisions++
		if len(lines) != 3 {
			t.Errorf("%s: %d lines, want 3: %s", page, len(lines), lines[0])
			continue
		}
		for i, starts := range [][]string{{"**"}, {"Why: "}, {"Instead of: ", "Price: "}} {
			ok := false
			for _, s := range starts {
				ok = ok || strings.HasPrefix(lines[i], s)
			}
			if !ok {
				t.Errorf("%s: line %d begins with none of %q: %s", page, i+1, starts, lines[i])
			}
			if n := utf8.RuneCountInString(lines[i]); n > maxDecision {
				t.Errorf("%s: a line of %d characters, at most %d are allowed: %s", page, n, maxDecision, lines[i])
			}
		}
	}
	if decisions < 60 {
		t.Errorf("%s: %d decisions are too few: is its form still the same?", page, decisions)
	}
}
