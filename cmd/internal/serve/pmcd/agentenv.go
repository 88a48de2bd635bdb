package pmcd

import (
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
)

// agentEnv returns the settings of pcp.conf(5) that the environment does not
// have, as NAME=value. Agents in Python, and scripts that agents run, look for
// them there: to the C collector's environment libpcp adds the whole file.
func agentEnv(env *cli.Env, cfg *config.Config) []string {
	var list []string
	for _, name := range cfg.Names() {
		if env.Getenv(name) == "" {
			list = append(list, name+"="+cfg.Get(name))
		}
	}
	return list
}
