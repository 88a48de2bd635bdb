package proc

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	allAccess := pmda.Option{Short: 'A', Long: "no-access-checks", Help: "give all clients what the agent can read (insecure)"}
	threads := pmda.Option{Short: 'L', Long: "with-threads", Help: "also list threads"}
	group := pmda.Option{Short: 'r', Long: "from-cgroup", Arg: "NAME", Help: "list the processes of one control group only, by its path"}
	return builtin.Spec{
		Name: "proc", Domain: Domain,
		Program: builtin.Program{Options: []pmda.Option{allAccess, threads, group}, KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Domain: e.Domain, Log: e.Log, Containers: e.Containers()}
			cfg.AcctFile, cfg.OwnAcctFile = e.Config.Get("PCP_PACCT_SYSTEM_PATH"), ownAcctFile(e.Config.Get("PCP_VAR_DIR"))
			cfg.Root = e.HostRoot
			if cfg.Live = hostroot.IsOther(cfg.Root); cfg.Live {
				cfg.OwnAcctFile = "" // the kernel would write the processes of the container to it
				if cfg.AcctFile != "" {
					cfg.AcctFile = hostroot.Path(cfg.Root, cfg.AcctFile)
				}
			}
			for _, dir := range [...]string{"PCP_SYSCONF_DIR", "PCP_PMDAS_DIR"} {
				cfg.HotConfig = append(cfg.HotConfig, filepath.Join(e.Config.Get(dir), "proc", "hotproc.conf"))
			}
			cfg.fromEnvironment(e.Config.Getenv)
			cfg.AllAccess = cfg.AllAccess || slices.Contains(e.Options, allAccess.Long)
			cfg.Threads = cfg.Threads || slices.Contains(e.Options, threads.Long)
			for _, s := range e.Settings {
				if s.Option.Long == group.Long {
					cfg.CGroup = s.Arg
				}
			}
			a := New(cfg)
			a.machine.containers.Ask() // before labels are first requested
			return a, nil
		},
	}
}

// fromEnvironment sets fields of c from the variables that make the C agent read the
// files of another machine: PROC_STATSPATH, the root directory; PROC_HERTZ and
// PROC_PAGESIZE; PROC_THREADS, which lists threads; and PROC_ACCESS, which gives all
// clients the values that the agent can read.
func (c *Config) fromEnvironment(getenv func(string) string) {
	if s := getenv("PROC_STATSPATH"); s != "" {
		c.Root, c.Live = filepath.Clean(s), false
	}
	for name, p := range map[string]*int{"PROC_HERTZ": &c.HZ, "PROC_PAGESIZE": &c.PageSize} {
		if s := getenv(name); s != "" {
			// As in C text that is not a number is 0, which means 1.
			n, _ := strconv.Atoi(strings.TrimSpace(s))
			*p = max(n, 1)
		}
	}
	for name, p := range map[string]*bool{"PROC_THREADS": &c.Threads, "PROC_ACCESS": &c.AllAccess} {
		if n, _ := strconv.Atoi(strings.TrimSpace(getenv(name))); n != 0 {
			*p = true
		}
	}
}
