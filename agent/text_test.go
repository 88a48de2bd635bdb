package agent_test

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// This collector is never used: the tests only request texts from the agents.
type nobody struct{ pmcd.Collector }

// anyPort is an environment in which agents that listen take a free port.
func anyPort(name string) string {
	switch name {
	case "PCP_TRACE_PORT":
		return "0"
	case "PCP_STATSD_LISTEN":
		return "127.0.0.1:0"
	case "PCP_OTLP_LISTEN":
		return "localhost:0"
	}
	return ""
}

// withoutHelp are the agents with metrics or instance domains that have only one line
// of text.
var withoutHelp = map[string]bool{
	"proc":   true,
	"sample": true, // constants of each type, as in transcripts of the C tools
}

// TestHelpFits checks that each metric and instance domain of each agent has a line of text
// and a different help text, and that all fit on a terminal, as PCP's own suite requires.
func TestHelpFits(t *testing.T) {
	const width = 79
	texts := 0
	for _, b := range agent.Builtins() {
		args := []string(nil)
		if b.Program.Args != "" {
			args = []string{"first", "second"}
		}
		a, err := b.Open(builtin.Env{Config: config.New(anyPort), Host: nobody{}, Args: args})
		if err != nil {
			t.Fatalf("%s: %v", b.Name, err)
		}
		texter, ok := a.(pmda.Texter)
		names, hasNames := a.(pmda.NameSpacer)
		if !ok || !hasNames {
			t.Logf("%s: no texts, or no name space of its own", b.Name)
			continue
		}
		without := 0
		check := func(what string, ident uint32, kind pcp.TextKind) {
			t.Helper()
			line, err := texter.Text(t.Context(), ident, kind|pcp.TextOneLine)
			if err != nil {
				t.Errorf("%s: %s: one-line text: %v", b.Name, what, err)
				return
			}
			help, err := texter.Text(t.Context(), ident, kind|pcp.TextHelp)
			if err != nil {
				t.Errorf("%s: %s: help text: %v", b.Name, what, err)
				return
			}
			if help == line {
				without++
				if !withoutHelp[b.Name] {
					t.Errorf("%s: %s has no help text beside its line", b.Name, what)
				}
			}
			if strings.Contains(line, "\n") {
				t.Errorf("%s: %s: the one-line text is %q", b.Name, what, line)
			}
			for _, text := range []string{line, help} {
				texts++
				for line := range strings.SplitSeq(text, "\n") {
					if len(line) > width {
						t.Errorf("%s: %s: a line of %d bytes: %q", b.Name, what, len(line), line)
					}
				}
			}
		}
		seen := map[pcp.InDom]bool{pcp.InDomNull: true}
		for name, id := range names.NameSpace().All() {
			if strings.Contains(id.String(), "*") || name == "sample.bad.unknown" {
				continue // the root of names that come and go; names that the agent denies
			}
			check(name, uint32(id), pcp.TextPMID)
			desc, err := a.Desc(t.Context(), id)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !seen[desc.InDom] {
				seen[desc.InDom] = true
				check("instance domain "+desc.InDom.String(), uint32(desc.InDom), pcp.TextInDom)
			}
		}
		if withoutHelp[b.Name] && without == 0 {
			t.Errorf("%s has all help texts now: take it off the list", b.Name)
		}
	}
	if texts < 3000 {
		t.Errorf("only %d texts were found", texts)
	}
}
