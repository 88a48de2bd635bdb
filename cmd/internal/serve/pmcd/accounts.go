package pmcd

import (
	"cmp"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmcd/access"
)

// accountFiles returns the files with the accounts of clients: ours, and that
// of the SASL library for the C collector.
func accountFiles(env *cli.Env, cfg *config.Config) access.AccountsConfig {
	dirs := filepath.SplitList(env.Getenv("PCP_SASL2_CONFIG_PATH"))
	if len(dirs) == 0 {
		dirs = []string{cmp.Or(cfg.Get("PCP_SASLCONF_DIR"), "/etc/sasl2"), "/usr/lib/sasl2"}
	}
	return access.AccountsConfig{Users: env.UsersPath(), SASL: dirs}
}
