package bpf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. Its settings are in PCP_PMDAS_DIR/bpf/bpf.conf, if there is such a file.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "bpf", Domain: Domain, Asked: true, Program: builtin.Program{KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Domain: e.Domain, HostRoot: e.HostRoot, Log: e.Log}
			path := filepath.Join(e.Config.Get("PCP_PMDAS_DIR"), "bpf", "bpf.conf")
			if f, err := os.Open(path); err == nil {
				err = cfg.Settings.read(f, path, e.Log)
				f.Close()
				if err != nil {
					return nil, err
				}
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			a := New(cfg)
			a.Start()
			return a, nil
		},
	}
}
