package bonding

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "bonding", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
		root := e.HostRoot
		return New(Config{Root: root, Live: hostroot.IsOther(root), Domain: e.Domain, Log: e.Log})
	}}
}
