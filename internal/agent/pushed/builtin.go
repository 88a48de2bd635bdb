package pushed

import (
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda/cache"
)

// DefaultFile returns the file of names of the agent called name: in the folder of the installation, or in one of the user
// if a user's own collector, which cannot write to the first, runs the agent.
func DefaultFile(e builtin.Env, name string) string {
	if os.Geteuid() > 0 && e.Form != builtin.AsDaemon && e.Config.Getenv("PCP_VAR_DIR") == "" {
		state := e.Config.Getenv("XDG_STATE_HOME")
		if home := e.Config.Getenv("HOME"); !filepath.IsAbs(state) && filepath.IsAbs(home) {
			state = filepath.Join(home, ".local", "state")
		}
		if filepath.IsAbs(state) {
			return filepath.Join(state, "pcp", name+".names")
		}
	}
	return filepath.Join(cache.DefaultDir(e.Config), name+".names")
}
