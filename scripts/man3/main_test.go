package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages writes all pages, and has man check them.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	if err := run("../..", dir); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.3"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("there are the pages %q, %v", pages, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pcp-pmapi.3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".TH \"PCP-PMAPI\" \"3\"", "\n\\fBpcp\\-pmapi\\fR \\- ", "import \\(dqgithub.com/go\\-pcp/pcp/pmapi\\(dq\n",
		"\n.SH \"FUNCTIONS\"\n", "\n.SS \"func (*Context) Fetch\"\n", "\n.SH \"TYPES\"\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in pcp-pmapi.3", want)
		}
	}
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page, "internal") {
			t.Errorf("%s is of no public package", page)
		}
		if !strings.Contains(string(b), "\\- ") || strings.Contains(string(b), "\\- \n") {
			t.Errorf("%s has no summary", filepath.Base(page))
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "'") || strings.ContainsRune(line, '\t') {
				t.Errorf("%s: %q", filepath.Base(page), line)
			}
		}
	}
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("SKIPPED: there is no man")
	}
	cmd := exec.Command("man", "--warnings", "-l", filepath.Join(dir, "pcp-pmapi.3"))
	cmd.Env = append(os.Environ(), "MANPAGER=cat", "MANWIDTH=100", "LC_ALL=C.UTF-8")
	var warnings strings.Builder
	cmd.Stderr = &warnings
	out, err := cmd.Output()
	if err != nil || warnings.Len() > 0 || !strings.Contains(string(out), `import "github.com/go-pcp/pcp/pmapi"`) {
		t.Errorf("man: %v\n%s", err, warnings.String())
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{".x": `\&.x`, "'x": `\&'x`, `a\n-b "c"`: `a\en\-b \(dqc\(dq`, "": ""} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}
