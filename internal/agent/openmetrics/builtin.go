package openmetrics

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
)

// Options of the program, as the Python agent has them.
const (
	optDebug   = "debug"
	optNoSort  = "nosort"
	optConfig  = "config"
	optRoot    = "root"
	optTimeout = "timeout"
)

// Builtin describes the agent to the programs that start it.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "openmetrics", Domain: Domain,
		Program: builtin.Program{
			Options: []pmda.Option{
				{Short: 'D', Long: optDebug, Help: "log each reading of a source"},
				{Short: 'c', Long: optConfig, Arg: "DIR", Help: "folder of sources [config.d]; a relative path is below $PCP_PMDAS_DIR/ROOT"},
				{Short: 'n', Long: optNoSort, Help: "do not sort the files of sources"},
				{Short: 'r', Long: optRoot, Arg: "ROOT", Help: "first part of the names of metrics [openmetrics]"},
				{Short: 't', Long: optTimeout, Arg: "SECONDS", Help: "how long a source may take to answer [2]"},
			},
			UserFlag:       'u',
			UserLong:       "user",
			KeepUser:       true,
			StartsNotReady: true,
			Check: func(o pmda.Option, arg string) error {
				_, err := timeoutOf(o, arg)
				return err
			},
		},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{
				Domain: e.Domain, Log: e.Log, Root: "openmetrics",
				State:     stateDir(e),
				Debug:     slices.Contains(e.Options, optDebug),
				Unsorted:  slices.Contains(e.Options, optNoSort),
				Wait:      e.Form == builtin.AsDaemon,
				UserAgent: "go-pcp/" + e.Version,
				Getenv:    e.Config.Getenv,
				HostName:  func() (string, error) { return hostroot.HostName(e.HostRoot) },
			}
			dir := ""
			for _, o := range e.Settings {
				switch o.Option.Long {
				case optConfig:
					dir = o.Arg
				case optRoot:
					cfg.Root = o.Arg
				case optTimeout:
					var err error
					if cfg.Timeout, err = timeoutOf(o.Option, o.Arg); err != nil {
						return nil, err
					}
				}
			}
			switch {
			case filepath.IsAbs(dir):
				cfg.Dirs = []string{dir}
			case dir != "":
				cfg.Dirs = []string{filepath.Join(e.Config.Get("PCP_PMDAS_DIR"), cfg.Root, dir)}
			case e.Form == builtin.AsDaemon:
				cfg.Dirs = []string{InstalledDir(e.Config, cfg.Root)}
			default:
				cfg.Dirs = DefaultDirs(e.Config, cfg.Root)
			}
			return New(cfg)
		},
	}
}

// stateDir returns the folder for numbers: that of the installation, or a folder of the user
// if a user's own collector, which cannot write to the first, runs the agent.
func stateDir(e builtin.Env) string {
	if os.Geteuid() > 0 && e.Form != builtin.AsDaemon && e.Config.Getenv("PCP_VAR_DIR") == "" {
		state := e.Config.Getenv("XDG_STATE_HOME")
		if home := e.Config.Getenv("HOME"); !filepath.IsAbs(state) && filepath.IsAbs(home) {
			state = filepath.Join(home, ".local", "state")
		}
		if filepath.IsAbs(state) {
			return filepath.Join(state, "pcp", "openmetrics")
		}
	}
	return cache.DefaultDir(e.Config)
}

// maxTimeout is as long as a collector may wait at most.
const maxTimeout = 1000

// timeoutOf returns the argument of -t, and 0 for another option.
func timeoutOf(o pmda.Option, arg string) (time.Duration, error) {
	if o.Long != optTimeout {
		return 0, nil
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > maxTimeout {
		return 0, fmt.Errorf("-t needs a number of seconds from 1 to %d, not %.40q", maxTimeout, arg)
	}
	return time.Duration(n) * time.Second, nil
}
