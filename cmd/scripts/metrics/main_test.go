package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPagesAreCurrent checks that the pages in docs/metrics match the tables of the agents.
func TestPagesAreCurrent(t *testing.T) {
	if err := run("../../..", true); err != nil {
		t.Fatal(err)
	}
}

// TestPagesOfAnyMachine checks that the pages do not depend on this machine: a second time
// nothing has changed, and no page names the directory of the agents.
func TestPagesOfAnyMachine(t *testing.T) {
	first, err := pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("LINUX_STATSPATH", "/nowhere")
	t.Setenv("PCP_PMDAS_DIR", "/nowhere")
	second, err := pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range first {
		if second[name] != text {
			t.Errorf("%s differs the second time", name)
		}
		if strings.Contains(text, os.TempDir()) {
			t.Errorf("%s names a directory of this machine", name)
		}
	}
	if len(first) != len(second) || len(first) < 20 {
		t.Errorf("%d pages, then %d", len(first), len(second))
	}
	mem := first["linux-mem.md"]
	for _, want := range []string{"\n## mem.util.free\n", "`60.1.2` · U64 · Kbyte · instant · one value", "\nSource: /proc/meminfo, MemFree\n"} {
		if !strings.Contains(mem, want) {
			t.Errorf("linux-mem.md has no %q", want)
		}
	}
	if want := "[instances 60.19](#instance-domain-6019)"; !strings.Contains(mem, want) || !strings.Contains(mem, "\n## Instance domain 60.19\n") {
		t.Errorf("linux-mem.md does not link the instances of its nodes by %q", want)
	}
}

// TestWrites checks that pages are written and removed, and the messages about outdated ones.
func TestWrites(t *testing.T) {
	root := t.TempDir()
	if err := run(root, true); err == nil || !strings.Contains(err.Error(), "linux-mem.md") || !strings.Contains(err.Error(), "make metrics") {
		t.Errorf("run -n without pages: %v", err)
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Errorf("run -n with the pages just written: %v", err)
	}
	extra := filepath.Join(root, dir, "gone.md")
	if err := os.WriteFile(extra, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, dir, "simple.md")
	if err := os.WriteFile(page, []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	want, err := pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stale, err := differences(filepath.Join(root, dir), want)
	if err != nil || !slices.Equal(stale, []string{"gone.md", "simple.md"}) {
		t.Errorf("differences = %q, %v", stale, err)
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(extra); err == nil {
		t.Error("a page that is about nothing is still there")
	}
}

func TestProse(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		var b strings.Builder
		prose(&b, in)
		if b.String() != want {
			t.Errorf("prose(%q) = %q, want %q", in, b.String(), want)
		}
	}
	f("", "")
	f("a_b *c* <d>\n# e", "\na\\_b \\*c\\* \\<d\\>\n\\# e\n")
	f("One.\n\nTwo:\n  a_b\n", "\nOne.\n\n    Two:\n      a_b\n")
}
