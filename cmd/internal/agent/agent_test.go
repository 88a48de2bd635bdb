package agent_test

import (
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/agent"
)

// TestTable checks that each agent is found by its name, and by the shared object and the function of its C counterpart.
func TestTable(t *testing.T) {
	names, domains := map[string]bool{}, map[int]string{}
	for _, b := range agent.Builtins() {
		if other := domains[b.Domain]; names[b.Name] || other != "" {
			t.Errorf("agent %s, domain %d: the name or domain is also that of agent %q", b.Name, b.Domain, other)
		}
		names[b.Name], domains[b.Domain] = true, b.Name
		if found, ok := agent.Named(b.Name); !ok || found.Domain != b.Domain {
			t.Errorf("Named(%q) = %q, %v", b.Name, found.Name, ok)
		}
		if b.File != "" { // the file is that of another agent
			continue
		}
		for _, path := range []string{"/var/lib/pcp/pmdas/x/pmda_" + b.Name + ".so", "pmda_" + b.Name + ".dylib", b.Name} {
			if found, ok := agent.ForDSO("", path); !ok || found.Name != b.Name {
				t.Errorf("ForDSO(%q) = %q, %v", path, found.Name, ok)
			}
		}
		if found, ok := agent.ForDSO(b.Name+"_init", "/x/pmda_linux.so"); !ok || found.Name != b.Name {
			t.Errorf("ForDSO(%s_init) = %q, %v", b.Name, found.Name, ok)
		}
	}
	if b, ok := agent.ForDSO("unknown_init", "/x/pmda_unknown.so"); ok {
		t.Errorf("an unknown agent is %s", b.Name)
	}
}
