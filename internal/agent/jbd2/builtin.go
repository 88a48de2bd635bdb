package jbd2

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "jbd2", Domain: Domain,
		Program: builtin.Program{Options: []pmda.Option{
			{Short: 'j', Arg: "PATH", Help: `path to stats files (default "` + DefaultDir + `")`},
		}},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Dir: hostroot.Path(e.HostRoot, DefaultDir), Domain: e.Domain, Log: e.Log, Cache: cache.DefaultDir(e.Config)}
			for _, s := range e.Settings {
				cfg.Dir = s.Arg
			}
			return New(cfg), nil
		},
	}
}
