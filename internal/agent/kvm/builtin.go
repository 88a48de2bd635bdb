package kvm

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "kvm", Domain: Domain,
		Program: builtin.Program{KeepUser: true, Sockets: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Domain: e.Domain, Log: e.Log}
			if root := e.HostRoot; hostroot.IsOther(root) {
				cfg.below(root)
			}
			cfg.fromEnvironment(e.Config.Getenv)
			if err := cfg.ReadConf(filepath.Join(e.Config.Get("PCP_PMDAS_DIR"), "kvm", "kvm.conf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				e.Log.Warn("no trace point is counted", "err", err)
			}
			return New(cfg), nil
		},
	}
}

// below sets the files of c to those below the root directory of the host.
func (c *Config) below(root string) {
	c.Debug, c.Tracing, c.Lockdown = hostroot.Path(root, DefaultDebug), hostroot.Path(root, DefaultTracing), hostroot.Path(root, DefaultLockdown)
	c.CPUs = processors(root)
}

// fromEnvironment sets fields of c from the variables of the C agent: KVM_DEBUGFS_PATH,
// KVM_TRACEFS_PATH and KVM_LOCKDOWN_PATH, which kvm.conf can change again, and KVM_NCPUS.
func (c *Config) fromEnvironment(getenv func(string) string) {
	for name, p := range map[string]*string{"KVM_DEBUGFS_PATH": &c.Debug, "KVM_TRACEFS_PATH": &c.Tracing, "KVM_LOCKDOWN_PATH": &c.Lockdown} {
		if s := getenv(name); s != "" {
			*p = s
		}
	}
	if s := getenv("KVM_NCPUS"); s != "" {
		// As in C text that is not a number is 0, which means 1.
		n, _ := strconv.Atoi(strings.TrimSpace(s))
		c.CPUs = max(n, 1)
	}
}
