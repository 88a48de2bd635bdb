package up

import (
	"context"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
	"github.com/go-pcp/pcp/pmcd"
)

// Command is pcp up.
var Command = &cli.Command{
	Name:     "up",
	Group:    cli.Administer,
	Summary:  "run a collector for this machine until ctrl-C",
	Synopsis: "[options]",
	Doc: `
The collector runs in the foreground, without root and without configuration: its agents read /proc
and other files in this process. It serves a Unix socket and, for this machine only, a TCP port.
Other commands find it at the default port; otherwise "pcp up" prints the option -h for them.

Its log, its lock and its socket are in the state directory. A second collector
needs a port and a state directory of its own.

It also records, in archives below pmlogger/HOST in the state directory, for "pcp replay": the
metrics most tools need, at intervals of ten seconds to some minutes, and each process once a minute
(less often if there are more than 1,000). Archives are removed once they exceed the age or size
limit. --no-processes omits processes, --no-record turns recording off.

The page at the printed address shows everything in a browser. The secret token in the address gives
the rights of the user who started the collector; "pcp chart" opens the page with it. Without the
token, the page shows what the collector shows to anonymous clients. --no-web turns the page off.

With --push it also pushes its archives to a pmproxy, as pmlogger does, also from behind NAT. What
could not be pushed is pushed later, the oldest first, for as long as it is kept here. Several
receivers share the hosts that push to them: each host has its own order of them, and takes the
first that answers.

With --register it makes itself known to the recorders of a fleet ("pcp help record"), which record
it as long as it runs.

With --fleet the page shows which recorder of a fleet records each host, and what fails.

With --rules it evaluates rules, like pmie, performs their actions, and logs when a rule becomes
true and when it clears. Without a file it uses the built-in rules, which watch the machine and
write to the system's log. A file may also have rules of Prometheus ("groups:"), whose alerts go to
all receivers.`,
	Examples: []cli.Example{
		{Line: "pcp up", Text: "collect until ctrl-C"},
		{Line: "pcp up --port 44399 --dir /tmp/mine", Text: "run next to another collector"},
		{Line: "pcp up --sample", Text: "with the sample agents, for trying out tools"},
		{Line: "pcp up --keep-days 30 --max-size 5gb", Text: "keep archives longer"},
		{Line: "pcp up --all --tls tls.conf", Text: "accept encrypted connections from other hosts"},
		{Line: "pcp up --push https://collector:44322 --push-token-file www.token", Text: "push the recording to another host's pmproxy"},
		{Line: "pcp up --all --register s3://archives/site", Text: "have it recorded by a fleet of recorders"},
		{Line: "pcp up --otlp", Text: "also accept metrics from OpenTelemetry and Prometheus"},
		{Line: "pcp up --rules", Text: "also watch the machine by rules"},
		{Line: "pcp up --rules=my.rules", Text: "watch it by your own rules"},
		{Line: "pcp up --rules=my.rules --rules=node.yml", Text: "and by rules of Prometheus"},
		{Line: "pcp up --agent bpf", Text: "also measure latencies inside the kernel, as root"},
		{Line: "pcp up --statsd", Text: "also receive the metrics of programs by StatsD"},
	},
	SeeAlso: []string{"pcp help chart", "pcp help info", "pcp help pmcd", "pcp help replay"},
	Options: func() []cli.Option {
		return slices.Concat([]cli.Option{
			cli.Heading("Options"),
			{Short: 'p', Long: "port", Arg: "N", Help: "TCP port [default 44321]"},
			{Short: 's', Long: "socket", Arg: "PATH", Help: "Unix socket [default pmcd.socket in the state directory]"},
			{Long: "dir", Arg: "DIR", Help: "state directory [default $XDG_STATE_HOME/pcp or ~/.local/state/pcp]"},
			cli.OptHostRoot,
			{Long: "all", Help: "accept connections from other hosts"},
			{Long: "tls", Arg: "FILE", Help: "offer encrypted connections, configured by this tls.conf"},
			{Long: "web-port", Arg: "N", Help: "TCP port of the page [default 44323, or a free one]"},
			{Long: "no-web", Help: "do not serve the page"},
			{Long: "no-columns", Help: "do not make files of columns of finished archives"},
			{Long: "no-record", Help: "do not record"},
			{Long: "no-processes", Help: "do not record processes and their arguments"},
			{Long: "keep-days", Arg: "N", Help: "remove archives not written to for N days [default 7]"},
			{Long: "max-size", Arg: "SIZE", Help: "remove the oldest archives beyond this total size [default 1gb]"},
		}, sending.Rows(false), shipping.Rows(), []cli.Option{
			{Long: "push", Arg: "URL", Help: "also push the recording to the first of these pmproxies, http[s]://HOST:PORT,…, that answers"},
			{Long: "push-token-file", Arg: "FILE", Help: "authenticate with the token in FILE, for --push"},
			{Long: "register", Arg: "DIR", Help: "register with the recorders of a fleet, by their directory: s3://BUCKET/PREFIX, or a path"},
			{Long: "register-as", Arg: "ADDRESS", Help: "where they find this collector, HOST or HOST:PORT [default the host name and the port]"},
			{Long: "fleet", Arg: "DIR", Help: "show the recorders that share hosts by this directory on the page, as pcp proxy does"},
		}, sending.EngineRows(false), []cli.Option{
			{Long: "rules", Arg: "FILE", Maybe: true, Help: "evaluate the rules of FILE, of pmie or Prometheus, or the built-in ones; may be repeated"},
			{Long: "receivers", Arg: "FILE", Help: "receivers of alerts, for --rules [default receivers.conf in the state directory, else that of pmie]"},
			{Long: "statsd", Arg: "ADDRESS", Maybe: true, Help: "receive StatsD on HOST:PORT or a Unix socket [127.0.0.1:8125]"},
			{Long: "otlp", Arg: "ADDR", Maybe: true, Help: "accept metrics that programs push by OTLP or remote write [at localhost:4318]"},
			{Long: "otlp-token", Arg: "FILE", Help: "require the token on the first line of FILE, for --otlp"},
			{Long: "agent", Arg: "NAME", Help: "also run a built-in agent that is off by default, such as bpf; may be repeated"},
			{Long: "sample", Help: "also run the sample agents, for trying out tools"},
			cli.OptVersion,
			cli.OptHelp,
		})
	},
	Run: run,
}

func run(ctx context.Context, env *cli.Env) int {
	set := settings{port: pmcd.DefaultPort, webPort: defaultWebPort, builtins: agent.Builtins(), retry: time.Minute, look: lookInterval, keep: defaultKeep, version: env.Version}
	o := cli.ParseArgs(env, cli.ParseConfig{NonEmpty: true, Once: []string{
		"port", "web-port", "socket", "dir", "host-root", "tls", "ship", "keep-local", "lifecycle", "push-token-file", "register", "register-as", "fleet", "receivers", "otlp-token", "remote-write-config",
	}, Own: set.own})
	set.check(o)
	if len(o.Args) > 0 {
		o.Usagef("unexpected argument %q", o.Args[0])
	}
	if status, exit := o.Done(); exit {
		return status
	}
	env, err := cli.WithHostRoot(env, set.hostRoot)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	if err := set.complete(env); err != nil {
		return env.Fatalf("%v", err)
	}
	if err := set.tryStores(ctx, env); err != nil {
		return env.Fatalf("%v", err)
	}
	// If its terminal closes it ends as by ctrl-C, unless nohup ignores SIGHUP:
	// then SIGHUP has it read labels again, as with pmcd.
	if set.stays = signal.Ignored(syscall.SIGHUP); !set.stays {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	if err := serve(ctx, env, &set); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}
