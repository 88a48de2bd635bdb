package up

import (
	"context"
	"crypto/tls"
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
	"sync"
	"syscall"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	promstore "github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/agent/statsd"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

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
		if cfg.TLS, err = set.secrets(); err != nil {
			closeAll(lns)
			return fmt.Errorf("--tls: %s: %w", set.tls, err)
		}
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
		ignore := onHangUp(func() {
			server.RequestHangUp()
			if rules != nil && rules.prom != nil {
				rules.prom.reload()
			}
		})
		defer ignore()
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

// secrets reads the file of --tls.
func (set *settings) secrets() (*tls.Config, error) {
	if _, err := os.Stat(set.tls); err != nil { // pmcd would continue without TLS
		return nil, errors.New(cli.ErrText(err))
	}
	secrets, file, err := tlsconf.Keep(set.tls)
	if err == nil && secrets == nil {
		_, err = file.Server() // names the missing setting
	}
	if err != nil {
		return nil, err
	}
	return secrets.Config(), nil
}

// onHangUp calls f at each SIGHUP until the returned function is called; from then on the signal is ignored.
func onHangUp(f func()) (ignore func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		for range hup {
			f()
		}
	}()
	return func() {
		signal.Ignore(syscall.SIGHUP)
		signal.Stop(hup)
		close(hup)
	}
}

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		ln.Close()
	}
}

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
