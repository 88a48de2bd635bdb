package mmv

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "mmv", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
		return New(Config{Domain: e.Domain, Dirs: DefaultDirs(e.Config, "mmv"), Log: e.Log})
	}}
}

// BuiltinProxy describes a second agent, which serves the files that pmproxy writes about
// itself.
func BuiltinProxy() builtin.Spec {
	return builtin.Spec{Name: "pmproxy", Domain: 4, Asked: true, File: "mmv", New: func(e builtin.Env) (pmda.Agent, error) {
		return New(Config{Prefix: "pmproxy", Domain: e.Domain, Dirs: DefaultDirs(e.Config, "pmproxy"), Log: e.Log})
	}}
}
