package lmsensors

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "lmsensors", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
		return New(Config{Root: e.HostRoot, Domain: e.Domain, Log: e.Log})
	}}
}
