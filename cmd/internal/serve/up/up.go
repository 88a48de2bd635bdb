package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	promstore "github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
	"github.com/go-pcp/pcp/internal/agent/statsd"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
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

type settings struct {
	port         int
	socket, dir  string
	alerts       func() ([]alert.State, []error) // alerts that fire on this host
	quiet        *alert.Quiet                    // silences of alerts, nil without rules
	archiveDir   string                          // of this host's loggers
	diagnoseDir  string                          // of further rules for diagnoses
	series       *archives.Store                 // of the archives, nil if nothing reads them
	promRules    *promrules.Engine               // nil if there are no rules of Prometheus
	zone         *time.Location
	tls          string
	all, sample  bool
	agents       []string // that run though they are off by default
	noRecord     bool
	noProcesses  bool // in the recording
	noWeb        bool
	noColumns    bool
	webPort      int
	webPortGiven bool
	otlp         bool
	otlpAddress  string // "" for the default
	otlpToken    string // file
	rules        bool
	rulesFiles   []string // none for the built-in ones
	receivers    string   // file of --receivers
	statsd       string   // addresses of the agent statsd, "" if it does not run
	keep         janitor.Policy
	remote       sending.Options
	ship         shipping.Options
	engine       sending.Engine
	version      string         // of the program
	targets      []*send.Target // of it
	push         []string       // URLs of receivers
	pushToken    string         // file
	pushTo       []push.Config  // of these
	register     string         // directory of a fleet
	registerAs   string         // address for its recorders
	fleet        string         // directory of a fleet that the page shows
	fleetStore   share.Store    // of it, or nil
	registers    *share.Registration
	stays        bool // when the terminal is closed
	services     *services

	builtins []builtin.Spec
	retry    time.Duration // until an agent that could not be made is tried again
	look     time.Duration // between looks for services
}

func run(ctx context.Context, env *cli.Env) int {
	set := settings{port: pmcd.DefaultPort, webPort: defaultWebPort, builtins: agent.Builtins(), retry: time.Minute, look: lookInterval, keep: defaultKeep, version: env.Version}
	hostRoot := ""
	o := cli.ParseArgs(env, cli.ParseConfig{NonEmpty: true, Once: []string{
		"port", "web-port", "socket", "dir", "host-root", "tls", "ship", "keep-local", "lifecycle", "push-token-file", "register", "register-as", "fleet", "receivers", "otlp-token", "remote-write-config",
	}, Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "port", "web-port":
			n, err := strconv.Atoi(arg)
			if err != nil || n < 0 || n > 65535 {
				o.Usagef("--%s needs a number up to 65535, not %q", opt.Long, arg)
			}
			if opt.Long == "port" {
				set.port = n
			} else {
				set.webPort, set.webPortGiven = n, true
			}
		case "no-web":
			set.noWeb = true
		case "no-columns":
			set.noColumns = true
		case "socket":
			set.socket = arg
		case "dir":
			set.dir = arg
		case "tls":
			set.tls = arg
		case "all":
			set.all = true
		case cli.OptHostRoot.Long:
			hostRoot = arg
		case "sample":
			set.sample = true
		case "agent":
			if !slices.ContainsFunc(set.builtins, func(b builtin.Spec) bool { return b.Name == arg }) {
				o.Usagef("--agent: there is no built-in agent %q; those that are off by default are %s", arg, strings.Join(off(set.builtins), ", "))
			}
			set.agents = append(set.agents, arg)
		case "otlp":
			set.otlp, set.otlpAddress = true, arg
		case "otlp-token":
			set.otlpToken = arg
		case "rules":
			if set.rules = true; arg != "" {
				set.rulesFiles = append(set.rulesFiles, arg)
			}
		case "statsd":
			set.statsd = cmp.Or(arg, defaultStatsD)
		case "receivers":
			set.receivers = arg
		case "no-record":
			set.noRecord = true
		case "push":
			set.push = append(set.push, strings.Split(arg, ",")...)
		case "push-token-file":
			set.pushToken = arg
		case "register":
			set.register = arg
		case "register-as":
			if err := share.CheckAddress(arg); err != nil {
				o.Usagef("--register-as: %v", err)
			}
			set.registerAs = arg
		case "fleet":
			set.fleet = arg
		case "no-processes":
			set.noProcesses = true
		default:
			return set.remote.Own(opt, arg) || set.ship.Own(o, opt, arg) || set.engine.Own(o, opt, arg) || housekeeping.Keep(o, opt, arg, &set.keep)
		}
		return true
	}})
	if set.receivers != "" && !set.rules {
		o.Usagef("--receivers is for the alerts of rules; add --rules or --rules=FILE")
	}
	if set.noWeb && set.engine.Any() {
		o.Usagef("--engine is for the page and its interfaces; it cannot be combined with --no-web")
	}
	if set.noWeb && set.fleet != "" {
		o.Usagef("--fleet is for the page; it cannot be combined with --no-web")
	}
	if set.noRecord && set.remote.Any() {
		o.Usagef("--remote-write sends the recording; it cannot be combined with --no-record")
	}
	if set.noRecord && set.ship.Any() {
		o.Usagef("--ship stores the recording; it cannot be combined with --no-record")
	}
	set.ship.Check(o)
	if err := set.engine.Check(); err != nil {
		o.Usagef("%v", err)
	}
	if set.noRecord && len(set.push) > 0 {
		o.Usagef("--push sends the recording; it cannot be combined with --no-record")
	}
	if set.pushToken != "" && len(set.push) == 0 {
		o.Usagef("--push-token-file is for --push; add --push=URL")
	}
	if set.register != "" && !set.all {
		o.Usagef("--register is for recorders on other hosts; add --all, which accepts connections from them")
	}
	if set.registerAs != "" && set.register == "" {
		o.Usagef("--register-as is for --register; add --register=DIR")
	}
	if set.otlpToken != "" && !set.otlp {
		o.Usagef("--otlp-token is for programs that push metrics; add --otlp or --otlp=ADDR")
	}
	if len(o.Args) > 0 {
		o.Usagef("unexpected argument %q", o.Args[0])
	}
	if status, exit := o.Done(); exit {
		return status
	}
	env, err := cli.WithHostRoot(env, hostRoot)
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

// complete finds the state directory and makes it.
func (set *settings) complete(env *cli.Env) error {
	var err error
	if set.targets, err = set.remote.Targets(); err != nil {
		return err
	}
	if _, err := set.ship.Open(env, new(janitor.Policy), nil); err != nil {
		return err
	}
	if set.pushTo, err = set.pushConfigs(env); err != nil {
		return err
	}
	if set.registers, err = set.registration(env); err != nil {
		return err
	}
	if set.fleet != "" {
		if set.fleetStore, err = share.OpenStore(set.fleet, env.Getenv); err != nil {
			return fmt.Errorf("--fleet: %w", err)
		}
	}
	if set.dir == "" {
		if set.dir, err = env.StateDir(); err != nil {
			return err
		}
	}
	set.archiveDir, set.zone = env.Config().Get("PCP_ARCHIVE_DIR"), env.Local()
	set.diagnoseDir = filepath.Join(env.Config().Get("PCP_SYSCONF_DIR"), "diagnose")
	set.alerts = func() ([]alert.State, []error) { return alerts.States(env) }
	// Clients in other directories use it.
	if set.dir, err = filepath.Abs(set.dir); err != nil {
		return err
	}
	if err := safefile.MkdirAll(set.dir, 0o700, nil); err != nil {
		return fmt.Errorf("%s: %s; choose another state directory with --dir", set.dir, cli.ErrText(err))
	}
	if set.socket == "" {
		set.socket = filepath.Join(set.dir, "pmcd.socket")
	}
	return nil
}

// absSocket is the absolute path of the socket, for processes in other
// directories.
func (set *settings) absSocket() string {
	if path, err := filepath.Abs(set.socket); err == nil {
		return path
	}
	return set.socket
}

// lockDir locks the state directory until the returned file is closed: two
// collectors would overwrite one log in turn.
func lockDir(dir string) (*os.File, error) {
	f, _, err := safefile.OpenAppend(filepath.Join(dir, "lock"), os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %s; choose another state directory with --dir", dir, cli.ErrText(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: another collector has its state there; choose another state directory with --dir", dir)
		}
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return f, nil
}

func serve(ctx context.Context, env *cli.Env, set *settings) error {
	debug.SetGCPercent(50) // a collector has time, and should leave memory to other programs
	rules, err := loadRules(ctx, env, set)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	lc := pmcd.ListenConfig{Ports: []int{set.port}, Socket: set.socket}
	if !set.all {
		lc.Addresses = []string{"127.0.0.1", "::1"}
	}
	lns, err := listen(ctx, env, lc, set)
	if err != nil {
		return err
	}
	lock, err := lockDir(set.dir)
	if err != nil {
		closeAll(lns)
		return err
	}
	defer lock.Close()
	logPath := filepath.Join(set.dir, "pmcd.log")
	logFile, err := daemonlog.Open(logPath, "pmcd")
	if err != nil {
		closeAll(lns)
		return fmt.Errorf("log: %w", err)
	}
	defer logFile.Close()
	log := slog.New(daemonlog.NewHandler(logFile, "pmcd", slog.LevelInfo))

	if rules != nil {
		set.quiet = alert.OpenQuiet(filepath.Join(set.dir, quietName), log)
		rules.quiet = set.quiet
	}
	conf := env.Config()
	if err := conf.Err(); err != nil {
		log.Error("labels of this host are not known", "err", err)
	}
	set.services = newServices(set.builtins, conf, log)
	set.services.find(ctx)
	var server *pmcd.Server
	cfg := pmcd.Config{
		Reload:          func() *pmcd.Setup { return &pmcd.Setup{Agents: agents(env, set, log)} },
		SysConfDir:      conf.Get("PCP_SYSCONF_DIR"),
		HostRoot:        conf.Get(hostroot.Setting),
		Agents:          agents(env, set, log),
		Listeners:       lns,
		Local:           !set.all,
		MemoryLimit:     24 << 20,
		Dir:             set.dir,
		AgentOutput:     logFile,
		RestartInterval: set.retry,
		Report:          logFile,
		Log:             log,
	}
	if set.tls != "" {
		if _, err := os.Stat(set.tls); err != nil { // pmcd would continue without TLS
			closeAll(lns)
			return fmt.Errorf("--tls: %s: %s", set.tls, cli.ErrText(err))
		}
		secrets, file, err := tlsconf.Keep(set.tls)
		if err == nil && secrets == nil {
			_, err = file.Server() // names the missing setting
		}
		if err != nil {
			closeAll(lns)
			return fmt.Errorf("--tls: %s: %w", set.tls, err)
		}
		cfg.TLS = secrets.Config()
	}
	if !set.noWeb || rules != nil && rules.prom != nil {
		store, err := set.openSeries(log)
		if err != nil {
			closeAll(lns)
			return err
		}
		defer store.Close() // its index is written as it changes
		set.series = store
	}
	if rules != nil && rules.prom != nil {
		live := newLive("unix:" + set.socket)
		defer live.Close() // no error
		rules.prom.connect(promstore.Joined(promstore.New(set.series, promstore.Config{}), live), log)
		set.promRules = rules.prom.engine
	}
	page, err := openPage(ctx, set, lns, log)
	if err != nil {
		closeAll(lns)
		return err
	}
	defer page.stop()
	rec := &recording{env: env, set: set, log: log}
	var started sync.Once // or never, after the end
	cfg.Started = func() {
		if err := server.WriteStatus(logFile); err != nil {
			log.Error("cannot write the tables", "err", err)
		}
		fmt.Fprint(env.Stdout, welcome(env, set, server.HostName(), agentNames(server), lns, page, logPath))
		for _, a := range server.AgentStates() {
			if !a.Connected && slices.Contains(set.agents, a.Name) {
				fmt.Fprintf(env.Stdout, "The agent %s did not start: %s has the reason.\n", a.Name, logPath)
			}
		}
		if set.all {
			fmt.Fprint(env.Stdout, openWarning)
		}
		if err := env.FlushOut(); err != nil {
			log.Error("cannot write to the terminal", "err", err)
		}
		page.start()
		if !set.noRecord {
			rec.start(server.HostName())
		}
		if rules != nil {
			rules.log, rules.out = log, logFile
			started.Do(func() { rules.start(fail) })
		}
	}
	if server, err = pmcd.New(cfg); err != nil {
		closeAll(lns)
		return err
	}
	if remove, err := env.Announce(running(set, lns, page)); err != nil {
		log.Warn("other commands will not know of this collector", "err", err)
	} else {
		defer remove()
	}
	looking := set.services.watch(ctx, set.look, func(ctx context.Context, agents []string) {
		server.RequestHangUp()
		if awaitAgents(ctx, server, agents) {
			rec.renew()
		}
	})
	defer looking()
	if set.registers != nil {
		end := register(ctx, set.registers, log)
		defer end()
	}
	if set.stays {
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		defer signal.Ignore(syscall.SIGHUP)
		defer close(hup)
		defer signal.Stop(hup)
		go func() {
			for range hup {
				server.RequestHangUp()
				if rules != nil && rules.prom != nil {
					rules.prom.reload()
				}
			}
		}()
	}
	// The archive ends before the collector: the last records need its answers.
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() {
		started.Do(func() {})
		rules.stop()
		rec.stop()
		page.stop()
		end()
	})
	defer stop()
	err = server.Run(serving)
	rec.wait()
	started.Do(func() {})
	rules.stop()
	daemonlog.Footer(logFile)
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, errRules) {
		err = cause
	}
	if err == nil {
		fmt.Fprintln(env.Stdout, "Stopped.")
	}
	return err
}

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		ln.Close()
	}
}

// running describes the collector to other commands.
func running(set *settings, lns []net.Listener, page *page) *cli.Running {
	r := &cli.Running{PID: os.Getpid(), Socket: set.absSocket(), Dir: set.dir}
	if page != nil {
		r.Page, r.Token = page.link, page.token
	}
	for _, ln := range lns {
		if ln.Addr().Network() != "unix" {
			r.Addresses = append(r.Addresses, ln.Addr().String())
		}
	}
	return r
}

// openWarning follows the welcome of a collector that serves the network.
const openWarning = `
Warning: --all lets every host that can reach the ports above read all metrics.
`

// again is the command line that starts this command with other options.
func again(env *cli.Env, options string) string {
	if env.Getenv("MAKELEVEL") != "" {
		return "make run ARGS='" + options + "'"
	}
	return env.Pcp() + " up " + options
}

// otherPort returns a port to recommend in place of a taken one.
func otherPort(port int) int {
	if port >= 44399 && port < 65535 {
		return port + 1
	}
	return 44399
}

// listen opens all sockets and ports, or returns an error that names the
// obstacle.
func listen(ctx context.Context, env *cli.Env, lc pmcd.ListenConfig, set *settings) ([]net.Listener, error) {
	port := set.port
	lns, err := pmcd.Listen(ctx, lc)
	if err == nil {
		return lns, nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		if (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)) && len(lns) > 1 {
			return lns, nil // a host without an IPv6 loopback
		}
		closeAll(lns)
		if len(lc.Socket) >= len(syscall.RawSockaddrUnix{}.Path) {
			return nil, fmt.Errorf("%s: too long for the name of a socket; choose a shorter one with --socket", lc.Socket)
		}
		return nil, err
	}
	unix := slices.ContainsFunc(lns, func(ln net.Listener) bool { return ln.Addr().Network() == "unix" })
	closeAll(lns)
	if info, err := os.Lstat(lc.Socket); !unix && err == nil && info.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("%s is there, and is no socket; choose another with --socket", lc.Socket)
	}
	if !unix {
		return nil, fmt.Errorf("%s is in use: a collector serves it already.\nFor another one choose port and state directory: %s",
			lc.Socket, again(env, fmt.Sprintf("--port %d --dir /tmp/pcp-%[1]d", otherPort(port))))
	}
	who := ", perhaps by a collector that runs already"
	for _, r := range env.Running() {
		if r.Serves("tcp", fmt.Sprintf("localhost:%d", port)) {
			who = fmt.Sprintf(" by the collector of \"pcp up\" with process id %d", r.PID)
		}
	}
	return nil, fmt.Errorf("port %d is in use%s.\nTo see it: %s info -h localhost:%[1]d -f pmcd.version\nFor another one choose a port: %[4]s",
		port, who, env.Pcp(), again(env, fmt.Sprintf("--port %d", otherPort(port))))
}

func agentNames(server *pmcd.Server) []string {
	var names []string
	for _, a := range server.AgentStates() {
		if a.Connected {
			names = append(names, a.Name)
		}
	}
	return names
}

// defaultStatsD is where StatsD is received without an address: from this host only.
const defaultStatsD = "127.0.0.1:8125"

// off returns the names of the agents that are off by default.
func off(specs []builtin.Spec) []string {
	var names []string
	for _, b := range specs {
		if b.Asked || b.Sample {
			names = append(names, b.Name)
		}
	}
	slices.Sort(names)
	return names
}

func agents(env *cli.Env, set *settings, log *slog.Logger) []pmcd.AgentSpec {
	var list []pmcd.AgentSpec
	cfg := env.Config()
	for _, b := range set.builtins {
		var with []builtin.Setting
		switch {
		case b.Name == "statsd" && set.statsd != "":
			with = []builtin.Setting{{Option: pmda.Option{Long: statsd.OptListen}, Arg: set.statsd}}
		case b.Name == receiver && set.otlp:
			with = set.receiverSettings()
		case slices.Contains(set.agents, b.Name):
		case b.Asked || b.Sample && !set.sample || b.Sought() && !set.services.found(b.Name):
			continue
		}
		list = append(list, pmcd.AgentSpec{Name: b.Name, Domain: b.Domain, Open: func(s *pmcd.Server) (pmda.Agent, error) {
			return b.Open(builtin.Env{Host: s.Host(), Version: env.Version, Config: cfg, Log: log, Settings: with})
		}})
	}
	return list
}

// receiver is the name of the agent for --otlp.
const receiver = "opentelemetry"

// receiverSettings are the options of that agent.
func (set *settings) receiverSettings() []builtin.Setting {
	list := []builtin.Setting{{Option: pmda.Option{Long: "names"}, Arg: filepath.Join(set.dir, receiver+".names")}}
	if set.otlpAddress != "" {
		list = append(list, builtin.Setting{Option: pmda.Option{Long: "listen"}, Arg: set.otlpAddress})
	}
	if set.otlpToken != "" {
		list = append(list, builtin.Setting{Option: pmda.Option{Long: "token"}, Arg: set.otlpToken})
	}
	return list
}

// welcome prints the addresses of all services, and what to do next.
func welcome(env *cli.Env, set *settings, host string, agents []string, lns []net.Listener, page *page, logPath string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Collecting from %s.\n\n", host)
	fmt.Fprintf(&b, "  agents   %s\n", strings.Join(agents, ", "))
	for _, ln := range lns {
		if ln.Addr().Network() == "unix" {
			fmt.Fprintf(&b, "  socket   %s\n", ln.Addr())
		}
	}
	at := ""
	for _, ln := range lns {
		if ln.Addr().Network() == "unix" {
			continue
		}
		fmt.Fprintf(&b, "  address  %s\n", ln.Addr())
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok && at == "" && !found(env, lns, tcp.Port) {
			at = " -h localhost"
			if tcp.Port != pmcd.DefaultPort {
				at += ":" + strconv.Itoa(tcp.Port)
			}
		}
	}
	if at != "" && set.socket != "" { // over TCP the collector does not know the client's user, and shows no processes
		at = " -h " + cli.SocketHost(set.absSocket())
	}
	switch {
	case set.otlp && slices.Contains(agents, receiver):
		fmt.Fprintf(&b, "  otlp     http://%s\n", cmp.Or(set.otlpAddress, "localhost:4318"))
	case set.otlp:
		fmt.Fprintf(&b, "  otlp     not running, see the log; tried again every minute\n")
	}
	if page != nil {
		fmt.Fprintf(&b, "  page     %s\n", page.address())
	}
	if set.statsd != "" {
		fmt.Fprintf(&b, "  statsd   %s\n", set.statsd)
	}
	fmt.Fprintf(&b, "  log      %s\n", logPath)
	if !set.noRecord {
		fmt.Fprintf(&b, "  records  %s\n           %s; --no-record turns it off\n", set.archives(host), set.caps())
	}
	for _, t := range set.targets {
		fmt.Fprintf(&b, "  sends    to %s\n", strings.Join(t.URLs, ", "))
	}
	if len(set.push) > 0 {
		fmt.Fprintf(&b, "  pushes   to %s\n", strings.Join(set.push, ", "))
	}
	if r := set.registers; r != nil {
		fmt.Fprintf(&b, "  registers  %s with %s\n", r.Address, set.register)
	}
	if set.rules {
		name := builtinRules
		if len(set.rulesFiles) > 0 {
			name = strings.Join(set.rulesFiles, ", ")
		}
		fmt.Fprintf(&b, "  rules    %s; %s alerts lists those that are true\n", name, env.Pcp())
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, "Next, in another terminal:\n\n")
	hints := [][2]string{
		{"info" + at + " kernel", "the metrics below kernel"},
		{"info" + at + " -f kernel.all.load", "current values"},
		{"val" + at + " kernel.all.load", "refreshed every second"},
		{"top" + at, "everything, live in the terminal"},
	}
	for _, h := range hints {
		fmt.Fprintf(&b, "  %s %-*s   %s\n", env.Pcp(), len(hints[1][0]), h[0], h[1])
	}
	b.WriteString("\nCtrl-C stops it.\n")
	return b.String()
}

// found reports whether commands find a collector on a port without options: at the socket of
// this user or on the default port, if no other collector serves the socket where they look
// first.
func found(env *cli.Env, lns []net.Listener, port int) bool {
	own := slices.ContainsFunc(lns, func(ln net.Listener) bool {
		return ln.Addr().Network() == "unix" && ln.Addr().String() == env.Config().OwnSocket()
	})
	if !own && (port != pmcd.DefaultPort || env.Getenv("PMCD_PORT") != "") {
		return false
	}
	socket := env.Getenv("PMCD_SOCKET")
	if socket == "" {
		socket = filepath.Join(env.Config().Get("PCP_RUN_DIR"), "pmcd.socket")
	}
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		conn.Close()
	}
	return err != nil
}
