package agent_test

import (
	"testing"

	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/agent/builtin"
)

// TestTable checks that an agent is found by its name and its domain.
func TestTable(t *testing.T) {
	names, domains := map[string]bool{}, map[int]string{}
	for _, b := range agent.Builtins() {
		if b.Name == "" || names[b.Name] || b.New == nil {
			t.Errorf("agent %q: it needs a name of its own and New", b.Name)
		}
		if other := domains[b.Domain]; b.Domain < 1 || other != "" {
			t.Errorf("agent %s: domain %d is that of agent %q", b.Name, b.Domain, other)
		}
		names[b.Name], domains[b.Domain] = true, b.Name
		if b.File != "" && !names[b.File] {
			t.Errorf("agent %s is in the file of %q, which is no agent before it", b.Name, b.File)
		}
		if (b.Program.Args == "") != (b.Program.NoArgs == "") {
			t.Errorf("agent %s: Args and NoArgs go together", b.Name)
		}
		if b.OfCollector {
			if _, err := b.Open(builtin.Env{}); err == nil {
				t.Errorf("agent %s is opened without a collector", b.Name)
			}
		}
	}
}
