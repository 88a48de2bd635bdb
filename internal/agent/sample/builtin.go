package sample

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. Where it replaces the shared object of the C
// implementation it is sampledso; in a collector the second domain selects that.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "sample", Domain: Domain, Sample: true, Program: builtin.Program{Sockets: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Domain: e.Domain, DynamicPath: DefaultDynamicPath(e.Config), Log: e.Log}
			cfg.DSO = e.Form == builtin.AsDSO || e.Domain == DSODomain
			if e.Form == builtin.AsDaemon {
				cfg.UnavailPath = unavailPath
			}
			return New(cfg)
		},
	}
}
