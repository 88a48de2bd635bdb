package drm

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. Its program keeps the rights of root, to see processes of all users.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "drm", Domain: Domain, Program: builtin.Program{KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			return New(Config{Root: e.HostRoot, Domain: e.Domain, Log: e.Log}), nil
		},
	}
}
