package doctor

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// TestPage compares the tables of docs/doctor.md with the kinds of findings. UPDATE=1 writes them.
func TestPage(t *testing.T) {
	path := testdir.Repo(t, "docs/doctor.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| identifier | severity | finding | effect |\n| --- | --- | --- | --- |\n")
	seen := make(map[string]bool)
	for _, k := range faults() {
		if seen[k.id] {
			t.Errorf("two rows for %s", k.id)
		}
		seen[k.id] = true
		if k.what == "" || k.effect == "" && k.severity != note {
			t.Errorf("%s: %q, effect %q", k.id, k.what, k.effect)
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", k.id, k.severity, k.what, k.effect)
	}
	head, _, _ := strings.Cut(string(b), "| identifier |")
	text := head + strings.ReplaceAll(want.String(), "|  |", "| |")
	if text == string(b) {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatal("the tables of docs/doctor.md differ from the kinds of findings; UPDATE=1 writes them")
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
