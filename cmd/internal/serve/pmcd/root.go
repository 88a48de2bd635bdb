package pmcd

import (
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd"
)

// rootHelper returns the helper for actions that need privileges. With
// PMCD_ROOT_AGENT=0 agents are not started through it.
func rootHelper(env *cli.Env) *pmcd.RootHelper {
	h := pmcd.NewRootHelper(pmcd.DefaultRootPath(env.Config()))
	h.AskOnly = env.Getenv("PMCD_ROOT_AGENT") == "0"
	return h
}
