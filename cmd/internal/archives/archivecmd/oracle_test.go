package archivecmd

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestOracle converts archives of the QA suite to the other version and back, split and
// compressed. The real pmlogcheck and pmdumplog print the same about them as about the
// original. Without PCP_TEST_LONG it uses only a few archives.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	const root = "/var/lib/pcp/testsuite/archives"
	metas, _ := filepath.Glob(root + "/*.meta*")
	if len(metas) == 0 {
		t.Skip("SKIPPED: the QA suite of PCP is not installed")
	}
	few := []string{"ok-foo", "ok-mv-foo", "eventrec", "changeinst", "sample-labels", "20190628.06.31", "dyninsts"}
	for _, path := range metas {
		base, _, ok := archive.BaseName(path)
		if !ok || !longtest.Enabled() && !slices.Contains(few, filepath.Base(base)) {
			continue
		}
		a, err := archive.Open(base)
		if err != nil {
			continue
		}
		version := a.Version()
		a.Close()
		if version != archive.Version2 {
			continue // TestNoFit covers the losses
		}
		if n, err := archive.FileSize(base + ".0"); err != nil || n > 4<<20 {
			continue
		}
		dir := t.TempDir()
		three, two := filepath.Join(dir, "3"), filepath.Join(dir, "2")
		must(t, "convert", "-V", "3", base, three)
		must(t, "convert", "-V", "2", "-z", "xz", "-s", "200K", three, two)
		want := oracle.Run(t, "pmlogcheck", "-w", base)
		for _, b := range []string{three, two} {
			got := oracle.Run(t, "pmlogcheck", "-w", b)
			if remarks(got.Stderr, b) != remarks(want.Stderr, base) {
				t.Errorf("pmlogcheck of %s: %s\nbut of %s: %s", base, want.Stderr, b, got.Stderr)
			}
		}
		for _, opt := range []string{"-d", "-i", "-e", "-h", "-m", "-l"} {
			want, got := oracle.Run(t, "pmdumplog", "-z", opt, base), oracle.Run(t, "pmdumplog", "-z", opt, two)
			if string(want.Stdout) != string(got.Stdout) {
				t.Errorf("pmdumplog %s of %s differs after a conversion", opt, base)
			}
		}
	}
}

// remarks returns the output of pmlogcheck for an archive except for its temporal index: a
// conversion makes a new index without the errors of the old one.
func remarks(stderr, base string) string {
	var kept strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, base+".index[") && !strings.HasSuffix(line, "temporal index is missing\n") {
			kept.WriteString(strings.ReplaceAll(line, base, "A"))
		}
	}
	return kept.String()
}
