package up

import (
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
	"syscall"

	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/tool/cli"
)

// Command is pcp up.
var Command = &cli.Command{
	Name:     "up",
	Group:    "Services",
	Summary:  "collect from this machine and serve it, until ctrl-C",
	Synopsis: "[options]",
	Options: []cli.Option{
		cli.Heading("Options"),
		{Short: 'p', Long: "port", Arg: "N", Help: "TCP port [default 44321]"},
		{Short: 's', Long: "socket", Arg: "PATH", Help: "Unix socket [default pmcd.socket in the state directory]"},
		{Long: "dir", Arg: "DIR", Help: "state directory [default $XDG_STATE_HOME/pcp or ~/.local/state/pcp]"},
		{Long: "all", Help: "serve all hosts of the network, not this one alone"},
		{Long: "tls", Arg: "FILE", Help: "offer encrypted connections, as this tls.conf says"},
		{Long: "sample", Help: "also the sample agents, to try tools on"},
		cli.OptVersion,
		cli.OptHelp,
	},
	Run: run,
}

type settings struct {
	port        int
	socket, dir string
	tls         string
	all, sample bool
	stays       bool // when the terminal is closed
}

func run(ctx context.Context, env *cli.Env) int {
	set := settings{port: pmcd.DefaultPort}
	o := cli.ParseOptions(env, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "port":
			n, err := strconv.Atoi(arg)
			if err != nil || n < 0 || n > 65535 {
				o.Usagef("--port needs a number up to 65535, not %q", arg)
			}
			set.port = n
		case "socket":
			set.socket = arg
		case "dir":
			set.dir = arg
		case "tls":
			set.tls = arg
		case "all":
			set.all = true
		case "sample":
			set.sample = true
		default:
			return false
		}
		return true
	}})
	if len(o.Args) > 0 {
		o.Usagef("unexpected argument %q", o.Args[0])
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if err := set.complete(env); err != nil {
		return env.Fatalf("%v", err)
	}
	// Whose terminal is closed ends as by ctrl-C, unless nohup said to stay: then
	// SIGHUP has it read labels again, as with pmcd.
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
	if set.dir == "" {
		home := env.Getenv("XDG_STATE_HOME")
		if !filepath.IsAbs(home) { // as its specification demands
			user := env.Getenv("HOME")
			if user == "" {
				return errors.New("no home directory is known; choose a state directory with --dir")
			}
			home = filepath.Join(user, ".local", "state")
		}
		set.dir = filepath.Join(home, "pcp")
	}
	if err := os.MkdirAll(set.dir, 0o700); err != nil {
		return fmt.Errorf("%s: %s; choose another state directory with --dir", set.dir, cli.ErrText(err))
	}
	if set.socket == "" {
		set.socket = filepath.Join(set.dir, "pmcd.socket")
	}
	return nil
}

// lockDir makes the state directory ours until the file that it returns is
// closed: two collectors would take turns with one log.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
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
	debug.SetGCPercent(50) // a collector has time, and should leave the memory to others
	lc := pmcd.ListenConfig{Ports: []int{set.port}, Socket: set.socket}
	if !set.all {
		lc.Addresses = []string{"127.0.0.1", "::1"}
	}
	lns, err := listen(ctx, lc, set.port)
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

	conf, err := config.Load(env.Getenv)
	if err != nil {
		log.Error("labels of this host are not known", "err", err)
		conf = config.Default(env.Getenv)
	}
	var server *pmcd.Server
	cfg := pmcd.Config{
		SysConfDir:  conf.Get("PCP_SYSCONF_DIR"),
		Agents:      agents(set.sample, env.Version, log),
		Listeners:   lns,
		Local:       !set.all,
		MemoryLimit: 24 << 20,
		Dir:         set.dir,
		AgentOutput: logFile,
		Report:      logFile,
		Log:         log,
	}
	if set.tls != "" {
		if _, err := os.Stat(set.tls); err != nil { // where pmcd goes on without TLS
			closeAll(lns)
			return fmt.Errorf("%s: %s", set.tls, cli.ErrText(err))
		}
		secrets, file, err := tlsconf.Keep(set.tls)
		if err == nil && secrets == nil {
			_, err = file.Server() // tells what is missing
		}
		if err != nil {
			closeAll(lns)
			return fmt.Errorf("%s: %w", set.tls, err)
		}
		cfg.TLS = secrets.Config()
	}
	cfg.Started = func() {
		if err := server.WriteStatus(logFile); err != nil {
			log.Error("cannot write the tables", "err", err)
		}
		fmt.Fprint(env.Stdout, welcome(server, lns, logPath))
		if err := env.FlushOut(); err != nil {
			log.Error("cannot write to the terminal", "err", err)
		}
	}
	if server, err = pmcd.New(cfg); err != nil {
		closeAll(lns)
		return err
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
			}
		}()
	}
	err = server.Run(ctx)
	daemonlog.Footer(logFile)
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

// listen opens everything or says what is in the way.
func listen(ctx context.Context, lc pmcd.ListenConfig, port int) ([]net.Listener, error) {
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
		return nil, fmt.Errorf("%s is in use: a collector serves it already; choose others with --port, --socket and --dir", lc.Socket)
	}
	return nil, fmt.Errorf("port %d is in use, perhaps by a collector that runs already (pminfo -h localhost:%[1]d shows it); choose another with --port", port)
}

func agents(sample bool, version string, log *slog.Logger) []pmcd.AgentSpec {
	var list []pmcd.AgentSpec
	for _, b := range agent.Builtins() {
		if b.Asked || b.Sample && !sample {
			continue
		}
		list = append(list, pmcd.AgentSpec{Name: b.Name, Domain: b.Domain, Open: func(s *pmcd.Server) (pmda.Agent, error) {
			return b.Open(agent.Env{Collector: s, Version: version, Log: log})
		}})
	}
	return list
}

// welcome says what is served where, and what to do next.
func welcome(server *pmcd.Server, lns []net.Listener, logPath string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Collecting from %s.\n\n", server.HostName())
	var names []string
	for _, a := range server.AgentStates() {
		names = append(names, a.Name)
	}
	fmt.Fprintf(&b, "  agents   %s\n", strings.Join(names, ", "))
	host := ""
	for _, ln := range lns {
		if ln.Addr().Network() == "unix" {
			fmt.Fprintf(&b, "  socket   %s\n", ln.Addr())
			continue
		}
		fmt.Fprintf(&b, "  address  %s\n", ln.Addr())
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok && host == "" {
			host = "localhost"
			if tcp.Port != pmcd.DefaultPort {
				host += ":" + strconv.Itoa(tcp.Port)
			}
		}
	}
	fmt.Fprintf(&b, "  log      %s\n\n", logPath)
	fmt.Fprintf(&b, "Next, in another terminal:\n\n")
	for _, cmd := range []string{
		"pcp info -h %s kernel               which metrics there are",
		"pcp info -h %s -f kernel.all.load   their values",
		"pcp val  -h %s kernel.all.load      again every second",
	} {
		fmt.Fprintf(&b, "  "+cmd+"\n", host)
	}
	b.WriteString("\nCtrl-C stops it.\n")
	return b.String()
}
