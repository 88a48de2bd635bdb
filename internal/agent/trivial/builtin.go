package trivial

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "trivial", Domain: Domain, Sample: true, New: func(e builtin.Env) (pmda.Agent, error) {
		return New(e.Domain)
	}}
}
