package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/about/man"
)

// TestManualPages formats every page with man, which warns of errors.
func TestManualPages(t *testing.T) {
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("SKIPPED: there is no man to format the pages with")
	}
	dir := t.TempDir()
	for _, f := range man.Files(commands(), "0.0.0") {
		if bytes.HasPrefix(f.Text, []byte(".so ")) {
			continue
		}
		file := filepath.Join(dir, filepath.Base(f.Path))
		if err := os.WriteFile(file, f.Text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("man", "--warnings", "-l", file)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=120")
		var warnings strings.Builder
		cmd.Stderr = &warnings
		out, err := cmd.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("%s: %v\n%s", f.Path, err, warnings.String())
		}
		if len(out) < 500 {
			t.Errorf("%s: man printed only %q", f.Path, out)
		}
	}
}
