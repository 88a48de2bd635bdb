package pmcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/daemon/service"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// Command is pmcd.
var Command = &cli.Command{
	Name:     "pmcd",
	Link:     "pmcd",
	Group:    cli.Administer,
	Summary:  "run the collector as a daemon",
	Synopsis: "[options]",
	Doc: `Starts the collector as a daemon: it reads its configuration, starts the agents in it, and serves
clients until SIGTERM or SIGINT. SIGHUP makes it reread the configuration. Its log is pmcd.log in
the log directory of PCP, and its options are those of the C collector.

To collect from this machine without configuration and without root, use "pcp up".`,
	Examples: []cli.Example{
		{Line: `pcp pmcd -f -c ./pmcd.conf -l -`, Text: `run in the foreground with your own configuration, and log to standard error`},
		{Line: `pcp pmcd -v -c ./pmcd.conf`, Text: `check a configuration without serving it`},
	},
	SeeAlso: []string{"pcp-up(1)", "pmcd.conf(5)", "tls.conf(5)"},
	Debug:   []string{"pdu", "appl0", "appl1", "appl2", "access"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptDebug,
			cli.OptNameSpace,
			cli.OptUniqNames,
			cli.OptHelp,
			cli.Heading("Service options"),
			{Short: 'A', Help: "disable service advertisement"},
			{Short: 'f', Long: "foreground", Help: "run in the foreground"},
			{Short: 'H', Long: "hostname", Arg: "HOST", Help: "set the hostname to be used for pmcd.hostname metric"},
			{Short: 'U', Long: "username", Arg: "USER", Help: "in daemon mode, run as named user [default pcp]"},
			cli.Heading("Configuration options"),
			{Short: 'c', Long: "config", Arg: "PATH", Help: "path to configuration file"},
			{Short: 'L', Arg: "BYTES", Help: "maximum size for PDUs from clients [default 65536]"},
			{Short: 'C', Long: "maxctx", Arg: "N", Extra: true, Help: "maximum number of contexts of a client [default 1024]"},
			{Short: 'M', Long: "maxmetric", Arg: "N", Extra: true, Help: "maximum number of metrics of a fetch [default 32768]"},
			{Short: 'q', Arg: "TIME", Help: "PMDA initial negotiation timeout (seconds) [default 3]"},
			{Short: 't', Arg: "TIME", Help: "PMDA response timeout (seconds) [default 5]"},
			{Short: 'v', Long: "verify", Help: "check validity of pmcd configuration, then exit"},
			cli.Heading("Connection options"),
			{Short: 'i', Long: "interface", Arg: "ADDR", Help: "accept connections on this IP address"},
			{Short: 'p', Long: "port", Arg: "N", Help: "accept connections on this port"},
			{Short: 's', Long: "socket", Arg: "PATH", Help: "Unix domain socket file [default $PCP_RUN_DIR/pmcd.socket]"},
			{Short: 'Q', Long: "remotecert", Help: "require remote clients to provide a certificate"},
			{Short: 'S', Long: "reqauth", Help: "require all clients to authenticate"},
			cli.Heading("Diagnostic options"),
			{Short: 'T', Long: "trace", Arg: "FLAG", Help: "Event trace control"},
			{Short: 'l', Long: "log", Arg: "PATH", Help: "redirect diagnostics and trace output"},
			cli.OptHostRoot,
			{Long: "options-file", Arg: "PATH", Extra: true, Help: "file of options and environment variables that are read before the arguments"},
			{Short: 'x', Arg: "PATH", Help: "fatal messages at startup sent to file [default /dev/tty]"},
		}
	},
	Run: run,
}

// settings are those of the command line and the environment.
type settings struct {
	foreground, verify bool
	hostRoot           string // of --host-root
	pidFile            string
	user               string // of -U
	bad                bool   // an argument is wrong
	activated          []net.Listener
	manager            service.Manager
	names              *pmns.Tree
	namesPath          string // of -n or -N, "" for the default
	namesStamp         stamp
	config             string
	log, fatal         string
	logged, started    bool // the log is open, agents are up
	tlsconf            string
	listen             pmcd.ListenConfig
	pending            int // connections that may wait; 0 means the system's limit
	local              bool
	server             pmcd.Config
	accounts           access.AccountsConfig
	warnings           []string // for the log
}

func run(ctx context.Context, env *cli.Env) int {
	env, err := cli.WithOptionsFile(env)
	if err != nil {
		return env.Fatalf("%s", cli.ErrText(err))
	}
	set, status, exit := parse(env)
	if exit {
		return status
	}
	if env, err = cli.WithHostRoot(env, set.hostRoot); err != nil {
		return env.Fatalf("%v", err)
	}
	if root := env.Config().Get(hostroot.Setting); root != "" {
		set.server.HostRoot = root
		set.server.AgentEnv = append(set.server.AgentEnv, hostroot.Setting+"="+root)
	}
	if set.verify {
		return verify(env, set.config)
	}
	if set.activated, err = service.Listeners(env.Getenv); err != nil {
		return env.Fatalf("%v", err)
	}
	if !set.foreground && len(set.activated) == 0 && !detach.Done(env.Getenv) {
		// The daemon could report this only in its log.
		if _, err := os.Stat(set.config); errors.Is(err, fs.ErrNotExist) {
			dontStart(env, set, noConfig(set.config, err))
			return 1
		}
		return cli.Detach(env, false)
	}
	set.manager = service.NewManager(env.Getenv)
	service.Forget()
	if err := serve(ctx, env, set); err != nil {
		dontStart(env, set, err)
		return 1
	}
	return 0
}

func parse(env *cli.Env) (set *settings, status int, exit bool) {
	cfg := env.Config()
	err := cfg.Err()
	if err != nil {
		return nil, env.Fatalf("%s", cli.ErrText(err)), true
	}
	set = &settings{
		config:  cfg.Get("PCP_PMCDCONF_PATH"),
		log:     "pmcd.log",
		fatal:   "/dev/tty",
		tlsconf: tlsconf.Path(cfg),
		pidFile: filepath.Join(cfg.Get("PCP_RUN_DIR"), "pmcd.pid"),
		// The last collector may still be closing its sockets.
		listen: pmcd.ListenConfig{Socket: filepath.Join(cfg.Get("PCP_RUN_DIR"), "pmcd.socket"), Tries: 4},
	}
	set.server.SysConfDir = cfg.Get("PCP_SYSCONF_DIR")
	set.server.AgentEnv = agentEnv(env, cfg)
	set.accounts = accountFiles(env, cfg)
	set.environment(env)
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: set.option})
	set.addDebug(o.Debug())
	if len(o.Args) > 0 {
		set.bad = true
		o.WantUsage()
	}
	set.bad = set.bad || set.namesPath != "" && o.NameSpace == nil
	if status, exit := o.Done(); exit {
		switch {
		case set.bad:
			notStarted(env.Stderr)
		case status != 0:
			status = 0 // as in C, which takes any other mistake for -?
		}
		return nil, status, true
	}
	set.names = o.NameSpace
	if set.names == nil {
		set.namesPath = env.Getenv("PMNS_DEFAULT")
		if set.namesPath == "" {
			set.namesPath = filepath.Join(cfg.Get("PCP_VAR_DIR"), "pmns", "root")
		}
		set.namesStamp = stampOf(set.namesPath)
		if set.names, err = (&pmns.Loader{DupOK: true, Config: cfg}).Load(set.namesPath); err != nil {
			set.names = nil
			set.warnings = append(set.warnings, fmt.Sprintf("%s cannot be used (%v): only names of built-in agents are known", set.namesPath, err))
		}
	}
	if len(set.listen.Ports) == 0 {
		set.listen.Ports = []int{pmcd.DefaultPort}
	}
	if set.local {
		set.listen.Addresses = append(set.listen.Addresses, "127.0.0.1")
	}
	return set, 0, false
}

// environment takes the variables that pmcd(1) knows. The log names them, as they
// are not on the command line.
func (set *settings) environment(env *cli.Env) {
	if v := env.Getenv("PMCD_PORT"); v != "" {
		if ports, ok := parsePorts(v); ok {
			set.listen.Ports = ports
			set.warnings = append(set.warnings, fmt.Sprintf("nports=%d from PMCD_PORT=%s in environment", len(ports), v))
		} else {
			set.warnings = append(set.warnings, "ignored bad PMCD_PORT = '"+v+"'")
		}
	}
	if v := env.Getenv("PMCD_LOCAL"); v != "" {
		if n, _ := strconv.Atoi(v); n != 0 {
			set.local, set.server.Local = true, true
			set.warnings = append(set.warnings, "localhost only from PMCD_LOCAL="+v+" in environment")
		}
	}
	if v := env.Getenv("PMCD_MAXPENDING"); v != "" {
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			set.pending = n
			set.warnings = append(set.warnings, fmt.Sprintf("maxpending=%d from PMCD_MAXPENDING=%s in environment", n, v))
		} else {
			set.warnings = append(set.warnings, "ignored bad PMCD_MAXPENDING = '"+v+"'")
		}
	}
	if v := env.Getenv("PMCD_SOCKET"); v != "" {
		set.listen.Socket = v
	}
	set.server.RestartInterval = time.Minute
	if v := env.Getenv("PMCD_RESTART_AGENTS"); v != "" {
		on := 1
		if v == "0" {
			set.server.RestartInterval, on = 0, 0
		}
		set.warnings = append(set.warnings, fmt.Sprintf("restartAgents=%d from PMCD_RESTART_AGENTS=%s in environment", on, v))
	}
	if v := env.Getenv("PMCD_CREDS_TIMEOUT"); v != "" {
		if n, err := strconv.Atoi(v); err == nil && n >= 1 {
			set.server.CredsTimeout = time.Duration(n) * time.Second
		} else {
			set.warnings = append(set.warnings, "ignored bad PMCD_CREDS_TIMEOUT = '"+v+"'")
		}
	}
}

func (set *settings) option(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'D':
		set.debug(o, arg)
	case 'n', 'N': // the names are read by our caller
		set.namesPath, set.namesStamp = arg, stampOf(arg)
		return false
	case 'A': // nothing is ever advertised
	case 'f':
		set.foreground = true
	case 'H':
		set.server.HostName = arg
	case 'U':
		set.user = arg
	case 'c':
		set.config = arg
	case 'L':
		n, err := strconv.ParseInt(arg, 0, 32)
		if err != nil || n <= 0 {
			set.usagef(o, "-L requires a positive value")
		}
		set.server.MaxPDU = int(n)
	case 'C', 'M':
		n, err := strconv.ParseInt(arg, 0, 32)
		if err != nil || n <= 0 {
			set.usagef(o, "-%c requires a positive value", opt.Short)
		}
		if opt.Short == 'C' {
			set.server.MaxContexts = int(n)
		} else {
			set.server.MaxMetrics = int(n)
		}
	case 'q':
		n, err := strconv.Atoi(arg)
		if err != nil || n <= 0 {
			set.usagef(o, "-q requires a positive numeric argument")
		}
		set.server.CredsTimeout = time.Duration(n) * time.Second
	case 't':
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 {
			set.usagef(o, "-t requires a positive numeric argument")
		}
		if set.server.AgentTimeout = time.Duration(n) * time.Second; n == 0 {
			set.server.AgentTimeout = -1
		}
	case 'v':
		set.verify = true
	case 'i':
		set.addInterface(o, arg)
	case 'p':
		ports, ok := parsePorts(arg)
		if !ok {
			set.usagef(o, "-p requires a positive numeric argument (%s)", arg)
		}
		set.listen.Ports = append(set.listen.Ports, ports...)
	case 's':
		set.listen.Socket = arg
	case 'Q':
		set.server.RequireClientCert = true
	case 'S':
		set.server.RequireCreds = true
	case 'T':
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 {
			set.usagef(o, "-T requires a positive numeric argument")
		}
		set.server.Trace = uint32(n)
	case 'l':
		set.log = arg
	case 'x':
		set.fatal = arg
	case '?':
		o.WantUsage()
	default:
		if opt.Long == cli.OptHostRoot.Long {
			set.hostRoot = arg
			return true
		}
		return opt.Long == cli.OptionsFile // which was read before
	}
	return true
}

// usagef reports a wrong argument.
func (set *settings) usagef(o *cli.Options, format string, args ...any) {
	set.bad = true
	o.Usagef(format, args...)
}

func (set *settings) addInterface(o *cli.Options, arg string) {
	switch arg {
	case "INADDR_ANY":
		set.listen.Addresses = append(set.listen.Addresses, "0.0.0.0", "::")
	case "INADDR_LOOPBACK":
		set.listen.Addresses = append(set.listen.Addresses, "127.0.0.1")
	default:
		set.listen.Addresses = append(set.listen.Addresses, arg)
	}
}

// parsePorts takes ports with commas between.
func parsePorts(list string) (ports []int, ok bool) {
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n <= 0 || n > 65535 {
			return nil, false
		}
		ports = append(ports, n)
	}
	return ports, true
}

// verify checks a configuration file and prints its errors.
func verify(env *cli.Env, path string) int {
	if _, err := conf.ReadFile(path); err != nil {
		if perr, ok := err.(*os.PathError); ok {
			fmt.Fprintf(env.Stderr, "pmcd verify %s: %s\n", perr.Path, cli.ErrText(perr.Err))
		} else {
			fmt.Fprintln(env.Stderr, err)
		}
		if ferr, ok := errors.AsType[*conf.Error](err); !ok || !ferr.Harmless {
			return 1
		}
	}
	return 0
}

// noConfig is the error of a configuration file that cannot be opened, with
// advice if there is none.
func noConfig(path string, err error) error {
	text := fmt.Sprintf("ParseInitAgents: open %s: %s", path, cli.ErrText(err))
	if errors.Is(err, fs.ErrNotExist) {
		text += "\n\"pcp up\" collects without any file; \"pmcd -c FILE\" takes another configuration"
	}
	return errors.New(text)
}

// dontStart reports the error where a person may see it.
func dontStart(env *cli.Env, set *settings, err error) {
	fmt.Fprintln(env.Stderr, err)
	notStarted(env.Stderr)
	if set.foreground {
		return
	}
	tty, _, terr := safefile.OpenAppend(set.fatal, 0, 0o644)
	if terr != nil {
		return // no place to report it
	}
	defer tty.Close()
	fmt.Fprintf(tty, "NOTE: pmcd not started due to errors!  %v\n", err)
	if log, err := os.ReadFile(set.log); err == nil && set.logged {
		fmt.Fprintf(tty, "Log file %q contains ...\n%s", set.log, log)
	}
}

// serve runs the collector until ctx is done.
func serve(ctx context.Context, env *cli.Env, set *settings) error {
	limitMemory()
	lns, err := set.open(func() ([]net.Listener, error) { return pmcd.Listen(ctx, set.listen) })
	if set.pending > 0 {
		err = errors.Join(err, service.SetBacklog(lns, set.pending))
	}
	if ctx.Err() != nil {
		for _, ln := range lns {
			ln.Close()
		}
		return context.Cause(ctx)
	}
	if err != nil { // whoever starts the daemon sees it, as in C, and the log has it below
		early := slog.New(daemonlog.NewHandler(env.Stderr, "pmcd", slog.LevelInfo))
		for _, line := range portFailures(err) {
			early.Error(line)
		}
	}
	if len(lns) == 0 {
		return errors.New(daemonlog.Line("pmcd", slog.LevelError, "pmcd: can't open any request ports, exiting"))
	}
	logTo, closeLog, lerr := openLog(env, set.log)
	if lerr != nil { // continue without, as C does
		fmt.Fprintf(env.Stderr, "pmcd: cannot open log %q for writing : %s\n", set.log, cli.ErrText(lerr))
		if logTo, closeLog, lerr = openLog(env, "-"); lerr != nil {
			return lerr
		}
	}
	defer closeLog()
	set.logged = true
	log := slog.New(daemonlog.NewHandler(logTo, "pmcd", slog.LevelInfo))
	if err != nil && set.log != "-" {
		for _, line := range portFailures(err) {
			log.Error(line)
		}
	}
	for _, w := range set.warnings {
		fmt.Fprintln(logTo, "Warning: "+w)
	}
	if !set.foreground {
		if err := writePID(set.pidFile); err != nil {
			log.Error("cannot write the file with the process's number", "err", err)
		} else {
			defer safefile.Remove(set.pidFile)
		}
	}
	err = collect(ctx, env, set, lns, logTo, log)
	if err != nil {
		fmt.Fprintln(logTo, err)
		if !set.started {
			notStarted(logTo)
		}
		for _, ln := range lns {
			ln.Close()
		}
	}
	daemonlog.Footer(logTo)
	return err
}

// openLog opens the log and writes its header. "-" is the standard error.
func openLog(env *cli.Env, path string) (w io.Writer, done func(), err error) {
	if path == "-" {
		w = env.Stderr
		if _, ok := w.(*os.File); !ok { // agents get a file as it is
			w = &sharedWriter{w: w}
		}
		return w, func() {}, daemonlog.Header(w, "pmcd")
	}
	f, err := daemonlog.Open(path, "pmcd")
	return f, func() { f.Close() }, err
}

// A sharedWriter can be written to from many goroutines, as a file can.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// collect makes the collector of the configuration file and runs it.
func collect(ctx context.Context, env *cli.Env, set *settings, lns []net.Listener, logTo io.Writer, log *slog.Logger) error {
	files := &reloader{
		config: set.config, names: set.namesPath, space: set.namesStamp,
		env: env, logTo: logTo, log: log,
		describe: set.server.Debug&pmcd.DebugConfig != 0,
	}
	file, err := files.readConf()
	if err != nil {
		if perr, ok := err.(*os.PathError); ok {
			return noConfig(perr.Path, perr)
		}
		fmt.Fprintln(logTo, err)
		if file == nil {
			return fmt.Errorf("configuration file %s has errors", set.config)
		}
	}
	cfg := set.server
	cfg.MemoryLimit = softMemoryLimit
	cfg.Listeners = lns
	cfg.NameSpace = set.names
	cfg.Access = file.Access
	cfg.Agents = specs(env, file.Agents, log)
	if len(cfg.Agents) == 0 {
		//lint:ignore ST1005 scripts look for the words of the C one
		return fmt.Errorf("Error: No PMDAs found in the configuration file %q", set.config)
	}
	cfg.Log = log
	set.accounts.Log = log
	cfg.Auth = access.NewAccounts(set.accounts)
	cfg.AgentOutput = logTo
	cfg.Report = logTo
	renew, err := secure(&cfg, set.tlsconf, logTo, log)
	if err != nil {
		return err
	}
	cfg.Reload = func() *pmcd.Setup {
		renew()
		return files.reload()
	}
	cfg.Dir = filepath.Dir(set.log)
	cfg.Root = rootHelper(env)
	defer cfg.Root.Close()
	var server *pmcd.Server
	told := manager{set.manager, log}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cfg.Started = func() {
		if err := set.becomeUser(env); err != nil {
			cancel(err)
			return
		}
		set.started = true
		if f, ok := logTo.(*os.File); ok && detach.Done(env.Getenv) && set.log != "-" {
			if err := detach.Settle(f); err != nil {
				log.Error("cannot leave the standard error", "err", err)
			}
		}
		if err := server.WriteStatus(logTo); err != nil {
			log.Error("cannot write the tables", "err", err)
		}
		told.ready(server)
	}
	if server, err = pmcd.New(cfg); err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	done := make(chan struct{})
	var signals sync.WaitGroup
	signals.Go(func() {
		for {
			select {
			case <-hup:
				told.try(told.Reloading())
				server.HangUp()
				told.ready(server)
			case <-done:
				return
			}
		}
	})
	watched, unwatch := context.WithCancel(ctx) // the manager does not watch a daemon that is stopping
	defer unwatch()
	if every := told.Watchdog(); every > 0 {
		signals.Go(func() { told.watch(watched, server, every) })
	}
	stopping := make(chan struct{})
	running := context.AfterFunc(ctx, func() {
		told.try(told.Stopping())
		close(stopping)
	})
	err = server.Run(ctx)
	if !running() {
		<-stopping
	}
	close(done)
	unwatch()
	signals.Wait()
	if err == nil && !set.started {
		return context.Cause(ctx)
	}
	log.Info("pmcd Shutdown")
	return err
}

// specs finds our own agents for the DSOs of a configuration file. Others
// cannot be loaded; the collector logs that and continues without them.
func specs(env *cli.Env, list []conf.Agent, log *slog.Logger) []pmcd.AgentSpec {
	found, cfg := pmcd.AgentSpecs(list), env.Config()
	for i := range found {
		spec := &found[i]
		if spec.Kind != conf.DSO {
			continue
		}
		domain := spec.Domain
		b, ok := agent.ForDSO(spec.Entry, spec.Path)
		spec.Open = func(s *pmcd.Server) (pmda.Agent, error) {
			if !ok {
				return nil, errors.New("this program cannot load DSOs and has none of this name built in")
			}
			return b.Open(builtin.Env{Domain: domain, Host: s.Host(), Version: env.Version, Config: cfg, Log: log})
		}
	}
	return found
}

// limitMemory trades processor time, of which collecting takes little, for
// memory, which the monitored host should keep for itself.
func limitMemory() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(softMemoryLimit) // which the server raises for many clients
}

const (
	gcPercent       = 50
	softMemoryLimit = 24 << 20
)
