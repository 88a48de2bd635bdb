package mmv

import (
	"path/filepath"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "mmv", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
		return New(fromHost(e, Config{Domain: e.Domain, Dirs: DefaultDirs(e.Config, "mmv"), Log: e.Log}))
	}}
}

// BuiltinProxy describes a second agent, which serves the files that pmproxy writes about
// itself.
func BuiltinProxy() builtin.Spec {
	return builtin.Spec{Name: "pmproxy", Domain: 4, Asked: true, File: "mmv", New: func(e builtin.Env) (pmda.Agent, error) {
		return New(Config{Prefix: "pmproxy", Domain: e.Domain, Dirs: DefaultDirs(e.Config, "pmproxy"), Log: e.Log})
	}}
}

// fromHost adds to cfg, in a container in which the files of the host are mounted, the folder of an installation on the host.
func fromHost(e builtin.Env, cfg Config) Config {
	if root := e.HostRoot; hostroot.IsOther(root) {
		if dir, err := hostroot.Resolve(root, filepath.Join(e.Config.Get("PCP_TMP_DIR"), "mmv")); err == nil {
			cfg.HostRoot, cfg.HostDirs = root, []string{dir}
		}
	}
	return cfg
}
