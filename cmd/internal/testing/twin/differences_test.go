package twin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDifferences checks that each difference that scripts may name is
// documented, and that a script names it.
func TestDifferences(t *testing.T) {
	paths, err := filepath.Glob("../../../pcp/testdata/transcript/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no transcripts: ", err)
	}
	named := map[string]bool{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "differs '"); ok {
				name, _, _ := strings.Cut(rest, "'")
				named[name] = true
			}
		}
	}
	for name, d := range differences {
		if !named[name] {
			t.Errorf("difference %q: no transcript names it", name)
		}
		Documented(t, name, d.page)
	}
}
