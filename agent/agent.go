package agent

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/agent/linux"
	"github.com/go-pcp/pcp/agent/mmv"
	"github.com/go-pcp/pcp/agent/pmcd"
	"github.com/go-pcp/pcp/agent/sample"
	"github.com/go-pcp/pcp/agent/simple"
	"github.com/go-pcp/pcp/agent/trivial"
	"github.com/go-pcp/pcp/agent/txmon"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
)

// An Env is what an agent may need from the program that runs it.
type Env struct {
	Domain    int            // 0 means the agent's own
	Collector pmcd.Collector // for the agent that reports on it
	Root      linux.Helper   // knows containers; nil means the helper of the installation
	Version   string         // of this software
	Daemon    bool           // it is a program of its own
	DSO       bool           // it stands for the shared object of the C implementation
	Args      []string       // of the program, if it takes any
	Options   []string       // long names of those of Builtin.Options that were given
	Config    *config.Config // nil means config.Process
	Log       *slog.Logger   // nil discards
}

func (e Env) config() *config.Config { return cmp.Or(e.Config, config.Process()) }

// A Builtin is an agent in the table.
type Builtin struct {
	Name   string
	Domain int
	// Sample is set for agents that are there to test and to learn from.
	Sample bool
	// Asked is set for agents that are served only where a configuration
	// names them.
	Asked bool
	// Args says what arguments the agent's program needs, "" if none.
	Args string
	// Options are the options that only the agent's program has. They take no
	// argument.
	Options []pmda.Option
	// File is the agent whose file has this one as well, in the C
	// implementation; "" if it has one of its own.
	File string
	Open func(Env) (pmda.Agent, error)
}

// Builtins returns the table.
func Builtins() []Builtin {
	return []Builtin{
		{Name: "pmcd", Domain: pmcd.Domain, Open: func(e Env) (pmda.Agent, error) {
			cfg := e.config()
			return pmcd.New(pmcd.Config{
				Collector: e.Collector, Domain: e.Domain, Version: e.Version,
				TmpDir: cfg.Get("PCP_TMP_DIR"), RunDir: cfg.Get("PCP_RUN_DIR"),
			})
		}},
		{Name: "linux", Domain: linux.Domain, Options: []pmda.Option{
			{Short: 'A', Long: "no-access-checks", Help: "give all clients the metrics that are for root only (insecure)"},
		}, Open: func(e Env) (pmda.Agent, error) {
			cfg := linux.Config{Domain: e.Domain, Version: e.Version, Helper: e.Root, Log: e.Log}
			cfg.Bandwidth = filepath.Join(e.config().Get("PCP_PMDAS_DIR"), "linux", "bandwidth.conf")
			cfg.FromEnvironment(e.config().Getenv)
			cfg.AllAccess = cfg.AllAccess || slices.Contains(e.Options, "no-access-checks")
			return linux.New(cfg), nil
		}},
		{Name: "mmv", Domain: mmv.Domain, Open: func(e Env) (pmda.Agent, error) {
			return mmv.New(mmv.Config{Domain: e.Domain, Dirs: mmv.DefaultDirs(e.config(), "mmv"), Log: e.Log})
		}},
		// The same for files of pmproxy about itself.
		{Name: "pmproxy", Domain: 4, Asked: true, File: "mmv", Open: func(e Env) (pmda.Agent, error) {
			return mmv.New(mmv.Config{Prefix: "pmproxy", Dirs: mmv.DefaultDirs(e.config(), "pmproxy"), Domain: cmp.Or(e.Domain, 4), Log: e.Log})
		}},
		{Name: "sample", Domain: sample.Domain, Sample: true, Open: func(e Env) (pmda.Agent, error) {
			// A configuration gives the shared object of the C implementation,
			// whose names differ, the second domain.
			cfg := sample.Config{Domain: e.Domain, DynamicPath: sample.DefaultDynamicPath(e.config()), DSO: e.DSO || e.Domain == sample.DSODomain, Log: e.Log}
			if e.Daemon {
				cfg.UnavailPath = sample.UnavailPath
			}
			return sample.New(cfg)
		}},
		{Name: "simple", Domain: simple.Domain, Sample: true, Open: func(e Env) (pmda.Agent, error) {
			return simple.New(simple.Config{Domain: e.Domain, Path: simple.DefaultPath(e.config()), Log: e.Log})
		}},
		{Name: "txmon", Domain: txmon.Domain, Sample: true, Asked: true, Args: "tx_type [...]", Open: func(e Env) (pmda.Agent, error) {
			key, err := txmon.KeyFrom(e.config().Getenv)
			if err != nil {
				return nil, err
			}
			return txmon.New(txmon.Config{Domain: e.Domain, Types: e.Args, Key: key, Log: e.Log})
		}},
		{Name: "trivial", Domain: trivial.Domain, Sample: true, Open: func(e Env) (pmda.Agent, error) {
			return trivial.New(cmp.Or(e.Domain, trivial.Domain))
		}},
	}
}

// Named returns the agent called name.
func Named(name string) (Builtin, bool) {
	for _, b := range Builtins() {
		if b.Name == name {
			return b, true
		}
	}
	return Builtin{}, false
}

// ForDSO returns the agent that stands for a shared object of the C implementation,
// as a dso line of pmcd.conf names it. The entry point counts first, as a file can
// have several: pmproxy_init of pmda_mmv.so is pmproxy. Otherwise the name of the file
// decides, not the label: /.../pmda_linux.so is linux. A path may also be just the name
// of an agent.
func ForDSO(entry, path string) (Builtin, bool) {
	if b, ok := Named(strings.TrimSuffix(entry, "_init")); ok {
		return b, true
	}
	name := strings.TrimPrefix(filepath.Base(path), "pmda_")
	for _, suffix := range []string{".so", ".dylib", ".dll"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return Named(name)
}
