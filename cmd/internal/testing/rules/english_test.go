package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// strangeEnglish are phrases that readers stumble over, unless one of the words
// in allowed is part of them.
var strangeEnglish = []struct {
	phrase  *regexp.Regexp
	allowed []string
	instead string
}{
	{phrase(`tells? whether`), nil, `"reports whether"`},
	{phrase(`\w+ (?:is|are|was|were) none`), []string{"there"}, `"it is empty", "it is not one"`},
	{phrase(`\w+ (?:is|are|was|were) no \w+`), []string{"there", "longer", "more", "less", "better", "worse", "different"}, `"is not a"`},
	{phrase(`what (?:is|are) no`), nil, `"what is not a"`},
	{phrase(`(?:for|by|so that|that of) who`), nil, `"the caller", "a client that", "users who"`},
	{phrase(`(?:^|[.;:] )who (?:is|has|does|wants|asks|makes|reads|writes|calls|comes|gets|takes)`), nil, `"a client that", "users who"`},
	{phrase(`(?:he|his|him)`), nil, `"they", "their"`},
	{phrase(`(?:\w+ )?nobody`), []string{"user"}, `"no client", "no other user"`},
	{phrase(`shall`), nil, `"must"`},
	{phrase(`has no say`), nil, `"does not matter"`},
	{phrase(`of each kind \w+ \w+ the`), nil, `the subject first`},
}

// codeInPage matches examples of code and output in a page.
var codeInPage = regexp.MustCompile("(?ms)^```.*?^```$|^(?:    |\t)[^\n]*$")

func phrase(s string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(s, " ", `\s+`) + `\b`)
}

// TestPlainEnglish holds comments and documents to plain words, by a short list
// of phrases that once were common here.
func TestPlainEnglish(t *testing.T) {
	check := func(path string, line int, text string) {
		for _, s := range strangeEnglish {
			for _, m := range s.phrase.FindAllStringIndex(text, -1) {
				words := strings.Fields(text[m[0]:m[1]])
				if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(s.allowed, strings.ToLower(w)) }) {
					continue
				}
				found := strings.Join(words, " ")
				t.Errorf("%s:%d: %q: write %s", path, line+strings.Count(text[:m[0]], "\n"), found, s.instead)
			}
		}
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (d.Name()[0] == '.' || d.Name()[0] == '_' || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
		case filepath.Ext(path) == ".md":
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			check(path, 1, codeInPage.ReplaceAllStringFunc(string(b), func(code string) string {
				return strings.Repeat("\n", strings.Count(code, "\n"))
			}))
		case filepath.Ext(path) == ".go" && path != "cmd/internal/testing/rules/english_test.go":
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return err
			}
			for _, group := range f.Comments {
				check(path, fset.Position(group.Pos()).Line, commentText(group))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// commentText returns the text of a comment, line by line, without examples of
// code and output, which are indented.
func commentText(group *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range group.List {
		text, ok := strings.CutPrefix(c.Text, "//")
		if ok && (strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "  ")) {
			text = ""
		}
		b.WriteString(strings.TrimPrefix(text, " ") + "\n")
	}
	return b.String()
}
