package pmimport

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/importrun"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "pmimport", Domain: Domain,
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{
				Domain: e.Domain, Dir: hostroot.Path(e.HostRoot, e.Config.Get(importrun.Setting)), Cache: cache.DefaultDir(e.Config), Log: e.Log,
				Exists: processes.Exists, HostName: func() (string, error) { return hostroot.HostName(e.HostRoot) },
			}
			if hostroot.IsOther(e.HostRoot) {
				cfg.Exists = func(pid int) bool {
					_, err := os.Stat(filepath.Join(e.HostRoot, "proc", strconv.Itoa(pid)))
					return err == nil
				}
			}
			return New(cfg)
		},
	}
}
