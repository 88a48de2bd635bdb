package xfs

import (
	"path/filepath"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "xfs", Domain: Domain,
		Program: builtin.Program{KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Domain: e.Domain, Log: e.Log}
			cfg.Root = e.HostRoot
			cfg.Live = hostroot.IsOther(cfg.Root)
			cfg.fromEnvironment(e.Config.Getenv)
			return New(cfg), nil
		},
	}
}

// fromEnvironment sets the root in c from XFS_STATSPATH, which makes the C agent read
// the files of another machine.
func (c *Config) fromEnvironment(getenv func(string) string) {
	if s := getenv("XFS_STATSPATH"); s != "" {
		c.Root, c.Replaced, c.Live = filepath.Clean(s), true, false
	}
}
