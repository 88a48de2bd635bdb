package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/internal/service"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmproxy"
	"github.com/go-pcp/pcp/pmproxy/conf"
	"github.com/go-pcp/pcp/pmproxy/search"
	"github.com/go-pcp/pcp/pmproxy/webapi"
	"github.com/go-pcp/pcp/tool/cli"
	"github.com/go-pcp/pcp/web"
)

// Command is pcp proxy.
var Command = &cli.Command{
	Name:     "proxy",
	Group:    "Services",
	Summary:  "forward clients to collectors, and serve metrics and a page by HTTP",
	Synopsis: "[options]",
	Doc: `Serves clients that cannot reach a collector themselves, on one port for PCP, HTTP and TLS: it forwards
those that name it as their proxy (-h HOST@PROXY), and answers /pmapi, /metrics and, in a browser, with
a page. It reads pmproxy.conf and tls.conf, and runs in the foreground until SIGTERM or SIGINT.

The options are those of pmproxy(1), less those for a daemon. What has no effect is said in the log.`,
	Examples: []cli.Example{
		{Line: "pcp proxy -i 127.0.0.1", Text: "serve this host alone, by http://127.0.0.1:44322"},
		{Line: "pcp proxy -c ./pmproxy.conf -p 8080", Text: "with a configuration and a port of your own"},
	},
	SeeAlso: []string{"pcp-up(1)", "pcp-pmcd(1)", "tls.conf(5)"},
	Options: []cli.Option{
		cli.Heading("General options"),
		cli.OptHelp,
		cli.Heading("Service options"),
		{Short: 'A', Help: "disable service advertisement"},
		{Short: 'd', Long: "deprecated", Help: "backward-compatibility mode; no REST APIs"},
		{Short: 'f', Long: "foreground", Help: "run in the foreground, as always"},
		{Short: 'F', Long: "systemd", Help: "also write a file with the process's number and give up root's rights"},
		{Short: 't', Long: "timeseries", Help: "REST APIs, as always without -d"},
		{Short: 'U', Long: "username", Arg: "USER", Help: "with -F, run as named user [default pcp]"},
		cli.Heading("Configuration options"),
		{Short: 'c', Long: "config", Arg: "PATH", Help: "path to configuration file"},
		{Long: "host", Arg: "HOST", Extra: true, Help: "collector that is asked for metrics unless a request names one [default localhost]"},
		cli.Heading("Connection options"),
		{Short: 'i', Long: "interface", Arg: "ADDR", Help: "accept connections on this IP address"},
		{Short: 'p', Long: "port", Arg: "PORT", Help: "accept connections on this port"},
		{Short: 's', Long: "socket", Arg: "PATH", Help: "Unix domain socket file [default $PCP_RUN_DIR/pmproxy.socket]"},
		cli.Heading("Diagnostic options"),
		{Short: 'T', Arg: "TIME", Help: "terminate after an elapsed time interval"},
		{Short: 'l', Long: "log", Arg: "PATH", Help: "redirect diagnostics [default standard error]"},
	},
	Run: run,
}

type settings struct {
	config, log, user, host string
	deprecated, systemd     bool
	listen                  pmcd.ListenConfig
	runtime                 time.Duration
	warnings                []string
}

func run(ctx context.Context, env *cli.Env) int {
	cfg := env.Config()
	if err := cfg.Err(); err != nil {
		return env.Fatalf("%s", cli.ErrText(err))
	}
	set := &settings{log: "-", host: webapi.DefaultHost}
	set.listen = pmcd.ListenConfig{Socket: filepath.Join(cfg.Get("PCP_RUN_DIR"), "pmproxy.socket"), Tries: 4}
	set.environment(env.Getenv)
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: set.option})
	if len(o.Args) > 0 {
		o.Usagef("unexpected argument %q", o.Args[0])
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if len(set.listen.Ports) == 0 {
		set.listen.Ports = []int{pmproxy.DefaultPort}
	}
	if set.runtime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, set.runtime)
		defer cancel()
	}
	if err := serve(ctx, env, set); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

// environment takes the variables that pmproxy(1) knows.
func (set *settings) environment(getenv func(string) string) {
	if v := getenv("PMPROXY_PORT"); v != "" {
		if ports, ok := parsePorts(v); ok {
			set.listen.Ports = ports
			set.warnings = append(set.warnings, fmt.Sprintf("nports=%d from PMPROXY_PORT=%s in environment", len(ports), v))
		} else {
			set.warnings = append(set.warnings, "ignored bad PMPROXY_PORT = '"+v+"'")
		}
	}
	if v := getenv("PMPROXY_LOCAL"); v != "" {
		if n, _ := strconv.Atoi(v); n != 0 {
			set.listen.Addresses = []string{"127.0.0.1", "::1"}
			set.warnings = append(set.warnings, "localhost only from PMPROXY_LOCAL="+v+" in environment")
		}
	}
	if v := getenv("PMPROXY_MAXPENDING"); v != "" {
		set.warnings = append(set.warnings, "ignored PMPROXY_MAXPENDING: the system bounds how many connections wait")
	}
	if v := getenv("PMPROXY_SOCKET"); v != "" {
		set.listen.Socket = v
	}
}

func (set *settings) option(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'A', 'f', 't': // as it is anyhow: nothing is advertised
	case 'd':
		set.deprecated = true
	case 'F':
		set.systemd = true
	case 'U':
		set.user = arg
	case 'c':
		set.config = arg
	case 'i':
		switch arg {
		case "INADDR_ANY":
			set.listen.Addresses = append(set.listen.Addresses, "0.0.0.0", "::")
		case "INADDR_LOOPBACK":
			set.listen.Addresses = append(set.listen.Addresses, "127.0.0.1", "::1")
		default:
			set.listen.Addresses = append(set.listen.Addresses, arg)
		}
	case 'p':
		ports, ok := parsePorts(arg)
		if !ok {
			o.Usagef("-p requires a positive numeric argument (%s)", arg)
		}
		set.listen.Ports = append(set.listen.Ports, ports...)
	case 's':
		set.listen.Socket = arg
	case 'l':
		set.log = arg
	case 'T':
		d, err := pcptime.ParseInterval(arg)
		if err != nil || d <= 0 {
			o.Usagef("bad -T interval %q", arg)
		}
		set.runtime = d
	case '?':
		o.WantUsage()
	default:
		if opt.Long != "host" {
			return false
		}
		set.host = arg
	}
	return true
}

// parsePorts takes ports with commas between.
func parsePorts(list string) (ports []int, ok bool) {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 16)
		if err != nil || n == 0 {
			return nil, false
		}
		ports = append(ports, int(n))
	}
	return ports, true
}

// readConf reads the configuration; the default one need not be there.
func (set *settings) readConf(env *cli.Env) (*conf.File, error) {
	path := set.config
	if path == "" {
		path = filepath.Join(env.Config().Get("PCP_SYSCONF_DIR"), "pmproxy", "pmproxy.conf")
	}
	f, err := conf.ReadFile(path)
	if set.config == "" && errors.Is(err, fs.ErrNotExist) {
		return new(conf.File), nil
	}
	return f, err
}

func serve(ctx context.Context, env *cli.Env, set *settings) (err error) {
	file, err := set.readConf(env)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	var out io.Writer = env.Stderr
	if set.log != "-" {
		f, err := daemonlog.Open(set.log, "pmproxy")
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		defer f.Close()
		out = f
	}
	log := slog.New(daemonlog.NewHandler(out, "pmproxy", slog.LevelInfo))
	for _, text := range append(set.warnings, file.Notes...) {
		log.Warn(text)
	}
	cfg, err := set.server(env, file, log)
	if err != nil {
		return err
	}
	if !cfg.NoHTTP {
		api, err := webapi.New(webapi.Config{Host: set.host, Log: log})
		if err != nil {
			return err
		}
		defer api.Close()
		find, err := search.New(search.Config{Sources: []search.Source{&search.Collector{Spec: set.host}}, Log: log})
		if err != nil {
			return err
		}
		defer find.Close()
		page, err := web.New(web.Config{})
		if err != nil {
			return err
		}
		cfg.Handlers = map[string]http.Handler{"/pmapi": api, "/metrics": api, "/search/": find, "/": page}
	}
	lns, err := service.Listeners(env.Getenv)
	if err != nil {
		return err
	}
	manager := service.NewManager(env.Getenv)
	service.Forget()
	if len(lns) == 0 {
		if lns, err = pmcd.Listen(ctx, set.listen); err != nil {
			if len(lns) == 0 {
				return err
			}
			log.Error("not all addresses can be served", "err", err)
		}
	}
	cfg.Listeners = lns
	s, err := pmproxy.New(cfg)
	if err == nil && set.systemd {
		var remove func()
		if remove, err = set.becomeDaemon(env); err == nil {
			defer remove()
		}
	}
	if err != nil {
		for _, ln := range lns {
			ln.Close()
		}
		return err
	}
	for _, ln := range lns {
		log.Info("serving", "on", ln.Addr().String())
	}
	if a := address(lns); a != "" && !cfg.NoHTTP {
		fmt.Fprintf(env.Stdout, "http://%s\n", a)
		if err := env.FlushOut(); err != nil {
			log.Error("cannot write to the terminal", "err", err)
		}
	}
	tell := func(err error) {
		if err != nil {
			log.Warn("service manager not told", "err", err)
		}
	}
	tell(manager.Ready("serving"))
	stop := context.AfterFunc(ctx, func() { tell(manager.Stopping()) })
	defer stop()
	err = s.Run(ctx)
	log.Info("pmproxy Shutdown")
	return err
}

// server makes the configuration of the server.
func (set *settings) server(env *cli.Env, file *conf.File, log *slog.Logger) (pmproxy.Config, error) {
	sys := env.Config()
	cfg := pmproxy.Config{
		NoPCP: file.NoPCP, NoHTTP: file.NoHTTP || set.deprecated,
		Collectors: file.Collectors, Hosts: file.Hosts, AllowHeaders: file.Headers,
		TokenFile: file.Tokens, RequireAuth: file.RequireAuth, TrustLocal: !file.DistrustLocal,
		MaxClients: file.MaxClients, MaxBody: file.MaxBody, KeepAlive: file.KeepAlive,
		Log: log,
	}
	if users := env.UsersPath(); users != "" {
		cfg.Auth = access.NewAccounts(access.AccountsConfig{Users: users, Log: log})
	}
	if dir := filepath.Join(sys.Get("PCP_TMP_DIR"), "pmproxy"); isDir(dir) {
		cfg.MetricsDir = dir
	}
	if file.NoSecure {
		return cfg, nil
	}
	path := tlsconf.Path(sys)
	if file.Certificates != "" {
		f, err := tlsconf.ReadFile(path)
		if err != nil {
			return cfg, err
		}
		f.CertFile, f.KeyFile = file.Certificates, file.PrivateKey
		for _, o := range []struct{ to, from *string }{{&f.CAFile, &file.Authority}, {&f.Ciphers, &file.CipherList}, {&f.CipherSuites, &file.CipherSuites}} {
			if *o.from != "" {
				*o.to = *o.from
			}
		}
		if cfg.TLS, err = f.Server(); err != nil {
			return cfg, fmt.Errorf("TLS of pmproxy.conf: %w", err)
		}
		return cfg, nil
	}
	keeper, _, err := tlsconf.Keep(path)
	if err != nil {
		return cfg, fmt.Errorf("%s: %w", path, err)
	}
	if keeper != nil {
		cfg.TLS = keeper.Config()
	}
	return cfg, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// becomeDaemon writes the file with the process's number and goes on as the user
// for daemons. What it returns removes the file.
func (set *settings) becomeDaemon(env *cli.Env) (remove func(), err error) {
	path := filepath.Join(env.Config().Get("PCP_RUN_DIR"), "pmproxy.pid")
	f, err := safefile.Create(path, 0o444)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	if err = errors.Join(err, f.Close()); err == nil {
		err = pmda.SetProcessIdentity(set.user, env.Getenv)
	}
	if err != nil {
		safefile.Remove(path)
		return nil, err
	}
	return func() { safefile.Remove(path) }, nil
}

// address is one that a browser of this host can open, or "".
func address(lns []net.Listener) string {
	for _, ln := range lns {
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
			host := tcp.IP.String()
			if tcp.IP.IsUnspecified() {
				host = "localhost"
			}
			return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
		}
	}
	return ""
}
