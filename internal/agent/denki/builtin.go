package denki

import (
	"cmp"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. Its program keeps the rights of root, which RAPL wants.
func Builtin() builtin.Spec {
	root := pmda.Option{Short: 'r', Long: "rootpath", Arg: "DIR", Help: "read the files below DIR in place of /"}
	return builtin.Spec{
		Name: "denki", Domain: Domain, Program: builtin.Program{Options: []pmda.Option{root}, KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Root: cmp.Or(e.Config.Getenv("DENKI_SYSPATH"), e.HostRoot), Domain: e.Domain, Log: e.Log}
			for _, s := range e.Settings {
				cfg.Root = s.Arg
			}
			return New(cfg), nil
		},
	}
}
