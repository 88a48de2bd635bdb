package agent_test

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/agent/pmcd"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
)

// This collector is never used: the agents are only asked for texts.
type nobody struct{ pmcd.Collector }

// TestHelpFits checks that help texts fit on a terminal, as PCP's own suite wants it.
func TestHelpFits(t *testing.T) {
	const width = 79
	texts := 0
	for _, b := range agent.Builtins() {
		if b.Program.Args != "" || b.Name == "linux" { // linux has one line for each, some of them long
			continue
		}
		a, err := b.Open(builtin.Env{Config: config.New(func(string) string { return "" }), Host: nobody{}})
		if err != nil {
			t.Fatalf("%s: %v", b.Name, err)
		}
		texter, ok := a.(pmda.Texter)
		names, hasNames := a.(pmda.NameSpacer)
		if !ok || !hasNames {
			continue
		}
		for name, id := range names.NameSpace().All() {
			for _, kind := range []pcp.TextKind{pcp.TextOneLine, pcp.TextHelp} {
				text, err := texter.Text(t.Context(), uint32(id), kind|pcp.TextPMID)
				if err != nil {
					continue
				}
				texts++
				for line := range strings.SplitSeq(text, "\n") {
					if len(line) > width {
						t.Errorf("%s: a line of %d bytes: %q", name, len(line), line)
					}
				}
			}
		}
	}
	if texts < 300 {
		t.Errorf("only %d texts were found", texts)
	}
}
