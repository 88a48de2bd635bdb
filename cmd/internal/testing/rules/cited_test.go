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

// formerRoots are folders that the root once had.
var formerRoots = []string{"bench", "conformance", "tool"}

// noPaths are names in comments and pages that look like paths of the repository: examples, tags and
// files of an installation.
var noPaths = []string{
	"cmd/internal/SUBJECT/NAME", "cmd/internal/live/example/example.go", "cmd/vX.Y.Z", "config/pmda", "config/pmlogrewrite",
	"internal/agent/example", "internal/agent/example/builtin.go", "internal/agent/linux/example.go", "mmv/batch", "pmcd/pacct",
}

// TestCitedPaths checks that each path of the repository that a comment or a page names exists, from the root or
// from a folder above the file that names it.
func TestCitedPaths(t *testing.T) {
	roots := formerRoots
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "bin" { // bin is built
			roots = append(roots, e.Name())
		}
	}
	named := regexp.MustCompile(`(?:^|[^\w/.$~:{<>@-])(?:\./)?((?:` + strings.Join(roots, "|") + `)/[\w./-]*\w)`)
	exists := func(name, from string) bool {
		for dir := filepath.Dir(from); ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return true
			}
			if dir == "." {
				return slices.Contains(noPaths, name)
			}
		}
	}
	found := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "vendor"):
			return filepath.SkipDir
		}
		for _, p := range prose(t, path) {
			for _, m := range named.FindAllStringSubmatchIndex(p.text, -1) {
				name := p.text[m[2]:m[3]]
				found++
				if exists(name, path) {
					continue
				}
				// A name of a package, as in pmcd/conf.Agent.
				if i := strings.LastIndexByte(name, '.'); i > 0 && i+1 < len(name) && name[i+1] >= 'A' && name[i+1] <= 'Z' && exists(name[:i], path) {
					continue
				}
				t.Errorf("%s:%d: there is no %s", path, p.line+strings.Count(p.text[:m[2]], "\n"), name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 300 {
		t.Errorf("%d paths are named, which are too few: does the expression still fit?", found)
	}
}
