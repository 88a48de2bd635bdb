package linux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/linux"
)

// newer returns the metrics that PCP 6.0.3 lacks, by name, from testdata/newer.txt:
// PMID, instance domain, type, semantics and units, from the sources of PCP 7.2.
func newer(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "newer.txt"))
	if err != nil {
		t.Fatal(err)
	}
	metrics := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, desc, _ := strings.Cut(strings.TrimSpace(line), " ")
		metrics[name] = desc
	}
	return metrics
}

// TestNewer checks the descriptors of metrics that are newer than the real agent here.
func TestNewer(t *testing.T) {
	want := newer(t)
	if len(want) < 100 {
		t.Fatalf("testdata/newer.txt has %d metrics", len(want))
	}
	got := make(map[string]string)
	a := linux.New(linux.Config{})
	a.Metrics(func(name string, id pcp.PMID) {
		if want[name] == "" {
			return
		}
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		got[name] = strings.TrimSpace(fmt.Sprintf("%v %v %v %v %v", id, desc.InDom, desc.Type, desc.Sem, desc.Units))
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptors (-testdata/newer.txt +agent):\n%s", diff)
	}
}
