package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// laterFunctions are functions of releases after 6.0.3, whose headers have them.
var laterFunctions = []string{"pmAddDerivedText", "pmUnregisterDerived"}

// TestCitedFunctions checks that each C function that comments and pages name, as in
// pmFetch(3), is one of the C library's, with its whole name.
func TestCitedFunctions(t *testing.T) {
	headers, err := filepath.Glob("/usr/include/pcp/*.h")
	if err != nil || len(headers) == 0 {
		t.Skip("the headers of the real PCP are not installed")
	}
	word := regexp.MustCompile(`\b\w+\b`)
	known := make(map[string]bool)
	for _, path := range headers {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range word.FindAllString(string(text), -1) {
			known[w] = true
		}
	}
	cited := regexp.MustCompile(`\b((?:pm|pmi|pmda)[A-Z]\w*|mmv_\w+)\(3\)`)
	found := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" && filepath.Ext(path) != ".md" || d.IsDir() || path == "cmd/internal/testing/rules/cited_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range cited.FindAllStringSubmatch(line, -1) {
				page := filepath.Join("/usr/share/man/man3", m[1]+".3.gz")
				_, err := os.Stat(page)
				if found++; err != nil && !known[m[1]] && !slices.Contains(laterFunctions, m[1]) {
					t.Errorf("%s:%d: there is no %s", path, i+1, m[0])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 100 {
		t.Errorf("%d functions are named, which are too few: does the expression still fit?", found)
	}
}
