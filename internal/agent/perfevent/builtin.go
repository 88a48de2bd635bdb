package perfevent

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. It reads PCP_PMDAS_DIR/perfevent/perfevent.conf; without the file it counts what Default lists.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "perfevent", Domain: Domain, Asked: true, Program: builtin.Program{KeepUser: true, Sockets: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Root: e.HostRoot, Sys: e.Config.Getenv("SYSFS_MOUNT_POINT"), Version: e.Version, Domain: e.Domain, Log: e.Log}
			path := filepath.Join(e.Config.Get("PCP_PMDAS_DIR"), "perfevent", "perfevent.conf")
			var text io.Reader
			f, err := os.Open(path)
			switch {
			case err == nil:
				defer f.Close()
				text = f
			case errors.Is(err, fs.ErrNotExist):
				text = strings.NewReader(Default())
			default:
				return nil, err
			}
			if cfg.Conf, err = Parse(text, path); err != nil {
				return nil, err
			}
			return New(cfg), nil
		},
	}
}

// Default returns a file perfevent.conf with events of all processors.
func Default() string {
	return `[ix86arch]
UNHALTED_REFERENCE_CYCLES
INSTRUCTION_RETIRED

[perf]
cycles
instructions
`
}
