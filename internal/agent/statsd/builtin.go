package statsd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/cache"
)

// OptListen is the long name of the option that sets the addresses.
const OptListen = "listen"

// options are those of the program, and the settings that they set.
func options() []pmda.Option {
	return []pmda.Option{
		{Short: 'P', Long: "port", Arg: "PORT", Help: "UDP port to listen on [8125]"},
		{Long: OptListen, Arg: "ADDRESS", Help: "listen on HOST:PORT or on a Unix socket, /PATH; several are separated by commas"},
		{Short: 'Z', Long: "max-udp", Arg: "BYTES", Help: "drop datagrams of this size and larger ones [1472]"},
		{Short: 'a', Long: "duration-aggregation-type", Arg: "TYPE", Help: "0 keeps all values of durations, 1 aggregates them in a histogram [1]"},
		{Short: 'v', Long: "verbose", Arg: "LEVEL", Help: "2 logs all dropped messages [0: the first 100]"},
		{Short: 'r', Long: "parser-type", Arg: "TYPE", Help: "0 or 1, as the metric settings.parser_type shows it; there is one parser"},
		{Short: 'o', Long: "debug-output-filename", Arg: "NAME", Help: "as the metric settings.debug_output_filename shows it"},
		{Short: 'z', Long: "max-unprocessed-packets-size", Arg: "N", Help: "as the metric settings.max_unprocessed_packets shows it; no datagrams wait in the agent"},
	}
}

// settingOf returns the name in the file of the setting that an option sets.
func settingOf(o pmda.Option) string {
	return map[string]string{
		"port": "port", OptListen: "listen", "max-udp": "max_udp_packet_size", "duration-aggregation-type": "duration_aggregation_type",
		"verbose": "verbose", "parser-type": "parser_type", "debug-output-filename": "debug_output_filename",
		"max-unprocessed-packets-size": "max_unprocessed_packets",
	}[o.Long]
}

// Builtin describes the agent. Without a setting it listens on the addresses in PCP_STATSD_LISTEN, or else on its port on all addresses.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "statsd", Domain: Domain, Asked: true,
		Program: builtin.Program{
			Options: options(),
			Check: func(o pmda.Option, arg string) error {
				if name := settingOf(o); name != "" {
					return new(Config).set(name, arg)
				}
				return nil
			},
		},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Domain: e.Domain, Log: e.Log, Settings: DefaultSettings(), Names: filepath.Join(stateDir(e), fmt.Sprintf("%d.names", e.Domain))}
			if addr := e.Config.Getenv("PCP_STATSD_LISTEN"); addr != "" {
				if err := cfg.set("listen", addr); err != nil {
					return nil, err
				}
			}
			path := filepath.Join(e.Config.Get("PCP_PMDAS_DIR"), "statsd", "pmdastatsd.ini")
			if f, err := os.Open(path); err == nil {
				err = cfg.read(f, path, e.Log)
				f.Close()
				if err != nil {
					return nil, err
				}
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			for _, s := range e.Settings {
				if name := settingOf(s.Option); name != "" {
					if err := cfg.set(name, s.Arg); err != nil {
						return nil, err
					}
				}
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
			return filepath.Join(state, "pcp", "statsd")
		}
	}
	return filepath.Join(cache.DefaultDir(e.Config), "statsd")
}
