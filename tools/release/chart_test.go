package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChart reads the package of the chart: it has the files of the repository below pcp, with the version of the release.
func TestChart(t *testing.T) {
	atRoot(t)
	r, _ := small(t)
	if err := makeChart(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(r.path("pcp-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || h.Mode != 0o644 || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s: type %c, mode %o, time %v", h.Name, h.Typeflag, h.Mode, h.ModTime)
		}
		texts[h.Name] = string(b)
	}
	if text := texts["pcp/Chart.yaml"]; !strings.Contains(text, "\nversion: 1.2.3\nappVersion: 1.2.3\n") {
		t.Errorf("Chart.yaml:\n%s", text)
	}
	n := 0
	files, err := walk(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files {
		if e.mode.IsDir() {
			continue
		}
		n++
		want, err := os.ReadFile(e.source)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := texts["pcp"+e.path]; !ok || got != string(want) && e.path != "/Chart.yaml" {
			t.Errorf("%s is missing or differs", e.path)
		}
	}
	if n < 10 || n != len(texts) {
		t.Errorf("the package has %d files, the chart %d", len(texts), n)
	}
}

// TestBadChart checks the errors for charts that cannot be packaged, and that files of editors are left out.
func TestBadChart(t *testing.T) {
	r, _ := small(t)
	t.Chdir(t.TempDir())
	f := func(want string) {
		t.Helper()
		if err := makeChart(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("makeChart: %v, want an error with %q", err, want)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(chartDir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f("no such file")
	if err := os.MkdirAll(chartDir, 0o755); err != nil {
		t.Fatal(err)
	}
	f("has no Chart.yaml")
	put("Chart.yaml", "version: 1\n")
	f("Chart.yaml: 1 lines have the version and appVersion, want 2")
	put("Chart.yaml", "version: 1\nappVersion: 1\n")
	put(".helmignore", "*~\n")
	put("values.yaml~", "")
	if err := makeChart(t.Context(), r); err != nil {
		t.Error(err)
	}
	if err := os.Symlink("Chart.yaml", filepath.Join(chartDir, "link")); err != nil {
		t.Fatal(err)
	}
	f("link is not a file")
}
