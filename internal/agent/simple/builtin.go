package simple

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "simple", Domain: Domain, Sample: true, Program: builtin.Program{Sockets: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			return New(Config{Domain: e.Domain, Path: DefaultPath(e.Config), Log: e.Log})
		},
	}
}
