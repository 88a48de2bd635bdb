package trace

import (
	"fmt"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmda"
)

// usage is the list of options as the C agent prints it.
const usage = `
Options:
  -d domain   use domain (numeric) for metrics domain of PMDA
  -l logfile  write log into logfile rather than using default file
  -A access   host based access control
  -I port     expect programs to connect on given inet port (number/name)
  -M username user account to run under (default "pcp")
  -N buckets  number of historical data buffers maintained
  -T period   time over which samples are considered (default 60 seconds)
  -U units    export observation values using the given units
  -V units    export counter values using the given units
`

// Builtin describes the agent. In a collector it listens on the port of PCP_TRACE_PORT, or on 4323.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "trace", Domain: Domain, Asked: true,
		Program: builtin.Program{
			Options: []pmda.Option{
				{Short: 'A', Long: "access", Arg: "access", Help: "allow:HOST:MAX lets a host have so many connections, 0 for any number; disallow:HOST refuses it"},
				{Short: 'I', Long: "port", Arg: "port", Help: "listen for programs on this port, a number or the name of a service"},
				{Short: 'N', Long: "buckets", Arg: "buckets", Help: "divide the period into so many parts"},
				{Short: 'T', Long: "period", Arg: "period", Help: "the time that rates, averages and extrema cover"},
				{Short: 'U', Long: "observe-units", Arg: "units", Help: "the units of observed values, six numbers"},
				{Short: 'V', Long: "counter-units", Arg: "units", Help: "the units of counters, six numbers"},
			},
			UserFlag: 'M',
			Usage:    usage,
			Check:    func(o pmda.Option, arg string) error { return new(Config).setOption(o.Short, arg) },
		},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Domain: e.Domain, Log: e.Log, Access: new(access.Rules)}
			port, ok := portFrom(e.Config.Getenv)
			if !ok {
				e.Log.Warn(fmt.Sprintf("env port is bogus (%s)", e.Config.Getenv("PCP_TRACE_PORT")))
			}
			for _, o := range e.Settings {
				err := cfg.setOption(o.Option.Short, o.Arg)
				switch o.Option.Short {
				case 'A':
					err = addAccess(cfg.Access, o.Arg, e.Log)
				case 'I':
					port, err = parsePort(o.Arg)
				}
				if err != nil {
					return nil, err
				}
			}
			cfg.Address = fmt.Sprintf(":%d", port)
			return New(cfg)
		},
	}
}
