package proxy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/conf"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/recorded"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
)

// Command is pcp proxy, and pmproxy.
var Command = &cli.Command{
	Name:     "proxy",
	Link:     "pmproxy",
	Group:    cli.Serve,
	Summary:  "forward clients to collectors; serve metrics, series and a page over HTTP",
	Synopsis: "[options]",
	Doc: `Serves clients that cannot reach a collector themselves, on one port for PCP, HTTP and TLS: it
forwards PCP clients (-h HOST@PROXY), answers /pmapi, /metrics, /series and /search, and serves a
page for browsers. Series are read from the archives of this host; no key server is needed. If a key
server (Redis or Valkey) is configured and answers, series are read from it, and the archives of this
host's loggers are copied into it as they grow.

As pmproxy it is a daemon with the options of pmproxy(1): its log is pmproxy.log in the current
directory, or the file of -l, and SIGHUP makes it reread pmproxy.conf, tls.conf and certificates. As
pcp proxy it runs in the foreground and logs to standard error. SIGTERM and SIGINT end it. The log
lists options and settings without effect.`,
	Examples: []cli.Example{
		{Line: "pcp proxy -i 127.0.0.1", Text: "serve only this host, at http://127.0.0.1:44322"},
		{Line: "pcp proxy -c ./pmproxy.conf -p 8080", Text: "use your own configuration and port"},
		{Line: "pcp proxy --archives /data/archives", Text: "serve series of archives from elsewhere"},
		{Line: "pcp proxy --engine http://localhost:8428", Text: "serve series that recorders sent to VictoriaMetrics"},
	},
	SeeAlso: []string{"pcp-up(1)", "pcp-pmcd(1)", "pcp-series(1)", "tls.conf(5)"},
	Debug:   debugShown,
	Options: func() []cli.Option {
		return slices.Concat([]cli.Option{
			cli.Heading("General options"),
			cli.OptDebug,
			cli.OptHelp,
			cli.Heading("Service options"),
			{Short: 'A', Help: "disable service advertisement"},
			{Short: 'd', Long: "deprecated", Help: "backward-compatibility mode; no REST APIs"},
			{Short: 'f', Long: "foreground", Help: "run in the foreground"},
			{Short: 'F', Long: "systemd", Help: "run in systemd mode"},
			{Short: 't', Long: "timeseries", Help: "automatic, scalable timeseries; REST APIs"},
			{Short: 'U', Long: "username", Arg: "USER", Help: "in daemon mode, run as named user [default pcp]"},
			cli.Heading("Configuration options"),
			{Short: 'c', Long: "config", Arg: "PATH", Help: "path to configuration file (implies --timeseries)"},
			{Short: 'L', Arg: "BYTES", Help: "maximum size for PDUs from clients [default: that of the collector]"},
			{Long: "host", Arg: "HOST", Extra: true, Help: "collector for requests that name no other [default localhost]"},
			{Long: "archives", Arg: "PATH", Extra: true, Help: "serve series only from these comma-separated directories or archives"},
			{Long: "fleet", Arg: "DIR", Extra: true, Help: "show the recorders that share hosts by this directory: s3://BUCKET/PREFIX, or a path"},
		}, sending.EngineRows(true), []cli.Option{
			cli.Heading("Connection options"),
			{Short: 'i', Long: "interface", Arg: "ADDR", Help: "accept connections on this IP address"},
			{Short: 'p', Long: "port", Arg: "PORT", Help: "accept connections on this port"},
			{Short: 's', Long: "socket", Arg: "PATH", Help: "Unix domain socket file [default $PCP_RUN_DIR/pmproxy.socket]"},
			{Short: 'r', Long: "redisport", Arg: "PORT", Help: "Connect to Redis instance on this TCP/IP port (implies --timeseries)"},
			{Short: 'h', Long: "redishost", Arg: "HOST", Help: "Connect to Redis instance on this host name (implies --timeseries)"},
			cli.Heading("Diagnostic options"),
			{Short: 'T', Arg: "TIME", Help: "terminate after an elapsed time interval"},
			{Short: 'l', Long: "log", Arg: "PATH", Help: "redirect diagnostics and trace output"},
			{Long: cli.OptionsFile, Arg: "PATH", Extra: true, Help: "file of options and environment variables that are read before the arguments"},
			{Short: 'x', Arg: "PATH", Help: "fatal messages at startup sent to file [default /dev/tty]"},
		})
	},
	Run: run,
}

// debugShown are the debug options that have connections and requests logged.
var debugShown = []string{"context", "http"}

// webPort is the second port of a proxy that answers HTTP (WEBAPI_PORT).
const webPort = 44323

// A mode is the way in which the program runs.
type mode int

const (
	asDaemon   mode = iota
	foreground      // -f
	managed         // -F: in the foreground, with the file and the user of a daemon
)

// settings are those of the command line and the environment.
type settings struct {
	mode                mode
	classic             bool // called as pmproxy
	config, log, fatal  string
	logged              bool // the log is open
	user, host          string
	archives            []string // of --archives
	fleet               string   // of --fleet
	engine              sending.Engine
	keyHost, keyPort    string
	deprecated, verbose bool
	bad, usage          bool // an argument is wrong; -?
	maxPDU              int
	listen              pmcd.ListenConfig
	pending             int // connections that may wait; 0 means the system's limit
	runtime             time.Duration
	warnings            []string
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
	file, err := set.readConf(env)
	if err != nil {
		err = fmt.Errorf("configuration: %w", err)
		return set.dontStart(env, err)
	}
	if err := set.tryOptions(ctx, env, file); err != nil {
		return set.dontStart(env, err)
	}
	if set.mode == asDaemon && !detach.Done(env.Getenv) {
		return cli.Detach(env, true)
	}
	if set.runtime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, set.runtime)
		defer cancel()
	}
	return set.logAndServe(ctx, env, file)
}

func parse(env *cli.Env) (set *settings, status int, exit bool) {
	cfg := env.Config()
	if err := cfg.Err(); err != nil {
		return nil, env.Fatalf("%s", cli.ErrText(err)), true
	}
	set = &settings{log: "pmproxy.log", fatal: "/dev/tty", host: webapi.DefaultHost, classic: env.Classic()}
	if !set.classic {
		set.mode, set.log, set.fatal = foreground, "-", ""
	}
	set.listen = pmcd.ListenConfig{Socket: filepath.Join(cfg.Get("PCP_RUN_DIR"), "pmproxy.socket"), Tries: 4}
	set.environment(env.Getenv)
	given := mode(0)
	o := cli.ParseArgs(env, cli.ParseConfig{NonEmpty: true, Once: []string{"fleet"}, Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		if opt.Short == 'f' || opt.Short == 'F' {
			if given != 0 {
				set.usagef(o, "at most one of -f and -F allowed")
			}
			if given = foreground; opt.Short == 'F' {
				given = managed
			}
			set.mode = given
			return true
		}
		return set.option(o, opt, arg)
	}})
	set.debug(o.Debug())
	if len(o.Args) > 0 {
		set.usagef(o, "unexpected argument %q", o.Args[0])
	}
	if status, exit := o.Done(); exit {
		switch {
		case set.classic && (!set.bad || set.usage):
			status = 0 // as in C, which takes an unknown option for -?
		case set.classic:
			set.dontStart(env, nil)
		}
		return nil, status, true
	}
	if len(set.listen.Ports) == 0 {
		set.listen.Ports = []int{pmproxy.DefaultPort}
		if set.classic && !set.deprecated {
			set.listen.Ports = append(set.listen.Ports, webPort)
		}
	}
	return set, 0, false
}

// usagef reports a wrong argument.
func (set *settings) usagef(o *cli.Options, format string, args ...any) {
	set.bad = true
	o.Usagef(format, args...)
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
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			set.pending = n
			set.warnings = append(set.warnings, fmt.Sprintf("maxpending=%d from PMPROXY_MAXPENDING=%s in environment", n, v))
		} else {
			set.warnings = append(set.warnings, "ignored bad PMPROXY_MAXPENDING = '"+v+"'")
		}
	}
	if v := getenv("PMPROXY_SOCKET"); v != "" {
		set.listen.Socket = v
	}
}

func (set *settings) option(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'A', 't': // no effect: nothing is advertised
	case 'd':
		set.deprecated = true
	case 'D':
		names, ok := cli.ParseDebug(arg)
		if !ok {
			set.usagef(o, "unrecognized debug options specification (%s)", arg)
		}
		set.debug(names)
	case 'U':
		set.user = arg
	case 'c':
		set.config = arg
	case 'L':
		n, err := strconv.ParseInt(arg, 0, 32)
		if err != nil || n <= 0 {
			set.usagef(o, "-L requires a positive value")
		}
		set.maxPDU = int(n)
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
			set.usagef(o, "-p requires a positive numeric argument (%s)", arg)
		}
		set.listen.Ports = append(set.listen.Ports, ports...)
	case 's':
		set.listen.Socket = arg
	case 'r':
		if n, err := strconv.ParseUint(arg, 10, 16); err != nil || n == 0 {
			set.usagef(o, "-r requires a positive value")
		}
		set.keyPort = arg
	case 'h':
		set.keyHost = arg
	case 'l':
		set.log = arg
	case 'x':
		set.fatal = arg
	case 'T':
		d, err := pcptime.ParseInterval(arg)
		if err != nil || d <= 0 {
			set.usagef(o, "bad -T interval format: %q", arg)
		}
		set.runtime = d
	case '?':
		set.usage = true
		o.WantUsage()
	default:
		return set.engine.Own(o, opt, arg) || set.longOption(opt, arg)
	}
	return true
}

// longOption takes options that the C program does not have.
func (set *settings) longOption(opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "host":
		set.host = arg
	case "fleet":
		set.fleet = arg
	case "archives":
		set.archives = append(set.archives, strings.Split(arg, ",")...)
	default:
		return opt.Long == cli.OptionsFile // read earlier
	}
	return true
}

// debug takes debug options. Those without effect are accepted, as in C, but logged.
func (set *settings) debug(names []string) {
	var idle []string
	for _, name := range names {
		if slices.Contains(debugShown, name) {
			set.verbose = true
		} else {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		set.warnings = append(set.warnings, "debug options that show nothing: "+strings.Join(idle, ","))
	}
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

// tryOptions returns an error that names the option if one cannot work.
func (set *settings) tryOptions(ctx context.Context, env *cli.Env, file *conf.File) error {
	engine := set.engine
	if err := engine.Settings(file.Engine); err != nil {
		return err
	}
	if err := engine.Check(); err != nil {
		return err
	}
	if engine.Any() {
		c, err := engine.Dial("pmproxy/"+env.Version, nil)
		if err != nil {
			return err
		}
		c.Close()
	}
	if _, err := pmapi.ParseHostSpec(set.host); err != nil {
		return fmt.Errorf("--host: %w", err)
	}
	for _, path := range set.archives {
		if path == "" {
			return errors.New("--archives: a path is missing")
		}
	}
	if set.fleet == "" {
		return nil
	}
	return shipping.TryDir(ctx, env, "--fleet", set.fleet, "")
}

// readConf reads the configuration; the default one need not exist.
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

// keyServer returns the key server that options or the configuration name: the address to which its protocol is
// forwarded, and the name of the list of archives that were loaded.
func (set *settings) keyServer(file *conf.File) string {
	switch {
	case set.keyHost != "" || set.keyPort != "":
		return recorded.Server(set.keyHost, set.keyPort)
	case len(file.KeyServers) > 0:
		host, port, _ := strings.Cut(file.KeyServers[0], ":")
		return recorded.Server(host, port)
	}
	return recorded.DefaultServer
}
