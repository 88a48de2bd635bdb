package opentelemetry

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/pushed"
	"github.com/go-pcp/pcp/pmda"
)

// Options of the program, and the settings by which "pcp up" configures the agent.
const (
	OptListen = "listen"
	OptToken  = "token"
	OptNames  = "names"
)

// Builtin describes the agent. In a collector it listens on the address in PCP_OTLP_LISTEN, and requires the token in the
// file that PCP_OTLP_TOKEN names.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "opentelemetry", Domain: Domain, Asked: true,
		Program: builtin.Program{
			Options: []pmda.Option{
				{Short: 'L', Long: OptListen, Arg: "HOST:PORT", Help: "address to listen on [" + DefaultListen + "]"},
				{Short: 'k', Long: OptToken, Arg: "FILE", Help: "file with the token that senders need; addresses other than localhost require it"},
				{Short: 'n', Long: OptNames, Arg: "FILE", Help: "file that keeps the numbers of metrics [that of the installation]"},
			},
			UserFlag: 'u',
			UserLong: "user",
		},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{
				Domain: e.Domain, Log: e.Log, Names: pushed.DefaultFile(e, "opentelemetry"),
				Listen: e.Config.Getenv("PCP_OTLP_LISTEN"), TokenFile: e.Config.Getenv("PCP_OTLP_TOKEN"),
			}
			for _, o := range e.Settings {
				switch o.Option.Long {
				case OptListen:
					cfg.Listen = o.Arg
				case OptToken:
					cfg.TokenFile = o.Arg
				case OptNames:
					cfg.Names = o.Arg
				}
			}
			return New(cfg)
		},
	}
}
