package linux

import (
	"path/filepath"
	"slices"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. A host with a method ProcessIDIn, such as a
// collector, is asked for the processes of containers.
func Builtin() builtin.Spec {
	allAccess := pmda.Option{Short: 'A', Long: "no-access-checks", Help: "give all clients the metrics that are for root only (insecure)"}
	return builtin.Spec{
		Name: "linux", Domain: Domain,
		Program: builtin.Program{Options: []pmda.Option{allAccess}, KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Domain: e.Domain, Version: e.Version, Log: e.Log}
			cfg.Bandwidth = filepath.Join(e.Config.Get("PCP_PMDAS_DIR"), "linux", "bandwidth.conf")
			cfg.Root = e.HostRoot
			cfg.Live = hostroot.IsOther(cfg.Root)
			cfg.fromEnvironment(e.Config.Getenv)
			cfg.AllAccess = cfg.AllAccess || slices.Contains(e.Options, allAccess.Long)
			cfg.Helper = e.Containers()
			return New(cfg), nil
		},
	}
}
