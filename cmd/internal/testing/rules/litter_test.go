package rules

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// litter reports whether a file of the repository is a leftover of a program, a test or an editor:
// none of the kinds that the root has, or, outside of testdata, of a kind that is not written by
// hand.
func litter(name string) bool {
	left := []string{".out", ".err", ".log", ".prof", ".test", ".orig", ".rej", ".swp", ".prev", ".tmp", ".o", ".so", ".a", ".exe"}
	switch {
	case path.Dir(name) == "." && !strings.HasPrefix(name, "."):
		known := []string{".go", ".md", ".mod", ".sum", ".work"}
		return !slices.Contains(known, path.Ext(name)) && name != "LICENSE" && name != "Makefile"
	case strings.Contains("/"+name, "/testdata/") || strings.HasPrefix(name, "cmd/conformance/tests/"): // expected output
		return false
	}
	return slices.Contains(left, path.Ext(name)) || strings.HasSuffix(name, "~") || path.Base(name) == "core"
}

// TestNoLitter refuses files in the repository that do not belong there.
func TestNoLitter(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("the files of the repository are not known without git: %v", err)
	}
	n := 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if n++; litter(name) {
			t.Errorf("%s is tracked, and looks like something that was left behind", name)
		}
	}
	if n < 1000 {
		t.Errorf("git knows of %d files only", n)
	}
}

// TestLitter checks that the test above can fail.
func TestLitter(t *testing.T) {
	for name, want := range map[string]bool{
		"a.out": true, "b.err": true, "pcp": true, "tool/x/cpu.prof": true, "docs/page.md~": true, "README.md.orig": true,
		"doc.go": false, "go.sum": false, "Makefile": false, ".gitignore": false, "agent/x/testdata/a.out": false, "scripts/build": false,
	} {
		if got := litter(name); got != want {
			t.Errorf("litter(%q) = %v", name, got)
		}
	}
}
