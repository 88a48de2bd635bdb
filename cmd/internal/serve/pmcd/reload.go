package pmcd

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmns"
)

// A stamp identifies the state of a file; that of a missing file is the zero
// stamp.
type stamp struct {
	size int64
	time time.Time
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

// A reloader reads files again that have changed since it did so last.
type reloader struct {
	config, names       string // paths
	env                 *cli.Env
	conf, access, space stamp
	describe            bool // the agents in the log, for the debug option appl2
	logTo               io.Writer
	log                 *slog.Logger
}

// readConf reads the configuration file, and remembers which it was.
func (r *reloader) readConf() (*conf.File, error) {
	r.conf, r.access = stampOf(r.config), stampOf(r.config+".access")
	file, err := conf.ReadFile(r.config)
	if file != nil && r.describe {
		conf.Describe(r.logTo, file.Agents)
	}
	return file, err
}

// reload is for pmcd.Config. Its messages are those of the C pmcd.
func (r *reloader) reload() *pmcd.Setup {
	setup := new(pmcd.Setup)
	r.reloadConf(setup)
	r.reloadNames(setup)
	return setup
}

func (r *reloader) reloadConf(setup *pmcd.Setup) {
	if _, err := os.Stat(r.config); err != nil {
		fmt.Fprintf(r.logTo, "%v\nConfiguration left unchanged\n", err)
		return
	}
	if r.conf == stampOf(r.config) && r.access == stampOf(r.config+".access") {
		fmt.Fprintf(r.logTo, "Configuration file '%s' unchanged\n", r.config)
		return
	}
	file, err := r.readConf()
	if err != nil {
		fmt.Fprintln(r.logTo, err)
	}
	if file == nil {
		fmt.Fprintf(r.logTo, "Configuration file '%s' has errors\nConfiguration left unchanged\n", r.config)
		return
	}
	agents := specs(r.env, file.Agents, r.log)
	if len(agents) == 0 {
		fmt.Fprintf(r.logTo, "Configuration file '%s' has no valid agents\nConfiguration left unchanged\n", r.config)
		return
	}
	setup.Agents, setup.Access = agents, file.Access
}

func (r *reloader) reloadNames(setup *pmcd.Setup) {
	now := stampOf(r.names)
	if now == r.space {
		r.log.Info(fmt.Sprintf("PMNS file %q is unchanged", r.names))
		return
	}
	r.log.Info(fmt.Sprintf("Reloading PMNS %q", r.names))
	tree, err := (&pmns.Loader{DupOK: true, Config: r.env.Config()}).Load(r.names)
	if err != nil {
		r.log.Error("names left unchanged", "err", err)
		return
	}
	r.space = now
	setup.NameSpace = tree
}
