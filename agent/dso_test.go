package agent_test

import (
	"testing"

	"github.com/go-pcp/pcp/agent"
)

func TestForDSO(t *testing.T) {
	f := func(entry, path, want string) {
		t.Helper()
		if b, ok := agent.ForDSO(entry, path); b.Name != want || ok != (want != "") {
			t.Errorf("ForDSO(%q, %q) = %q, %v, want %q", entry, path, b.Name, ok, want)
		}
	}
	f("linux_init", "/x/pmda_linux.so", "linux")
	f("pmproxy_init", "/x/pmda_mmv.so", "pmproxy")
	f("other_init", "pmda_mmv.dylib", "mmv")
	f("", "simple", "simple")
	f("other_init", "/x/pmda_other.so", "")
}
