package dm

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. The variables are those of the C agent: DM_SETUP_CACHE,
// DM_SETUP_THINPOOL and DM_SETUP_THIN are commands with the output of dmsetup status, and
// DM_VDO_STATSPATH is a directory to read in place of /sys/kvdo.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "dm", Domain: Domain, Program: builtin.Program{KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			return New(Config{
				Root: e.HostRoot, Domain: e.Domain, Log: e.Log, VDO: e.Config.Getenv("DM_VDO_STATSPATH"),
				Cache: e.Config.Getenv("DM_SETUP_CACHE"), ThinPool: e.Config.Getenv("DM_SETUP_THINPOOL"), Thin: e.Config.Getenv("DM_SETUP_THIN"),
			})
		},
	}
}
