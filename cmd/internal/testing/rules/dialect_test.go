package rules

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// dialect are turns of phrase that this project once used everywhere and that Go's standard library
// does not: a clause where a noun would do, and verbs of speech and place for code and data. Each has a
// budget for the comments and pages of the whole repository, which may only fall: when a count falls below its
// budget, lower the budget.
var dialect = []struct {
	name    string
	phrase  *regexp.Regexp
	instead string
	budget  int
}{
	{"a clause for a noun", regexp.MustCompile(`(?i)\bwhat (?:is|are|was|were|has|have|had|can|it|they|there)\b`), `name the thing: "the fields", "the metrics that"`, 0},
	{"says", regexp.MustCompile(`(?i)\b(?:says?|said|tells?|told)\b`), `"returns", "lists", "defines", "describes", "logs", "reports"`, 31},
	{"stands, lies", regexp.MustCompile(`(?i)\b(?:stands?|lies?|lying)\b`), `"is", "appears", "is stored"`, 1},
	{"one that", regexp.MustCompile(`(?i)\bone that\b`), `the noun again`, 0},
	{"goes on", regexp.MustCompile(`(?i)\bgo(?:es)? on\b`), `"continues"`, 0},
	{"but for", regexp.MustCompile(`(?i)\bbut for\b`), `"except"`, 0},
	{"anew", regexp.MustCompile(`(?i)\banew\b`), `"again", "new"`, 2},
	{"has none", regexp.MustCompile(`(?i)\bha(?:s|ve) none\b`), `"has no X"`, 0},
}

// TestDialect holds each turn of phrase within its budget.
func TestDialect(t *testing.T) {
	counts := make([]int, len(dialect))
	examples := make([][]string, len(dialect))
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (d.Name()[0] == '.' || d.Name()[0] == '_' || d.Name() == "testdata" || d.Name() == "vendor") {
				return fs.SkipDir
			}
			return nil
		}
		for _, p := range prose(t, path) {
			for i, d := range dialect {
				for _, m := range d.phrase.FindAllStringIndex(p.text, -1) {
					counts[i]++
					if len(examples[i]) < 5 {
						line := p.line + strings.Count(p.text[:m[0]], "\n")
						examples[i] = append(examples[i], path+":"+strconv.Itoa(line)+": "+around(p.text, m[0], m[1]))
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range dialect {
		switch {
		case counts[i] > d.budget:
			t.Errorf("%s: %d times, and %d are allowed: write %s\n\t%s", d.name, counts[i], d.budget, d.instead, strings.Join(examples[i], "\n\t"))
		case counts[i] < d.budget-5:
			t.Errorf("%s: %d times; lower the budget of %d", d.name, counts[i], d.budget)
		}
	}
}

// A passage is a comment, or a page.
type passage struct {
	line int
	text string
}

// prose returns the comments of a Go file, or a page without its code. The inventory of features, which a
// reader does not meet, is not prose.
func prose(t *testing.T, path string) []passage {
	t.Helper()
	switch {
	case filepath.Ext(path) == ".md" && path != "cmd/conformance/status.md":
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return []passage{{1, codeInPage.ReplaceAllStringFunc(string(b), func(code string) string {
			return strings.Repeat("\n", strings.Count(code, "\n"))
		})}}
	case filepath.Ext(path) == ".go" && filepath.Dir(path) != "cmd/internal/testing/rules":
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		var ps []passage
		for _, group := range f.Comments {
			ps = append(ps, passage{fset.Position(group.Pos()).Line, commentText(group)})
		}
		return ps
	}
	return nil
}

func around(text string, from, to int) string {
	from, to = max(0, from-30), min(len(text), to+30)
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " ")
}
