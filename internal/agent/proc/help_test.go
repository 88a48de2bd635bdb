package proc

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// TestHelp wants a help text with more than the one-line text, in lines of 79 bytes, for each
// metric of processes.
func TestHelp(t *testing.T) {
	a := New(Config{})
	for name, id := range a.NameSpace().All() {
		if strings.HasPrefix(name, "cgroup.") || strings.Contains(name, ".numa_maps.") || strings.Contains(name, ".fdinfo.") {
			continue
		}
		line, err := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextOneLine)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		long, err := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextHelp)
		if err != nil || len(long) <= len(line) || strings.Contains(long, "$") {
			t.Errorf("%s: %q, %v", name, long, err)
		}
		for l := range strings.Lines(long) {
			if len(l) > 80 {
				t.Errorf("%s: a line of %d bytes: %s", name, len(l)-1, l)
			}
		}
	}
}
