package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/agent/root"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/pmda"
)

// rootCommand returns pmdaroot: an agent that serves a collector and programs that lack
// a privilege.
func rootCommand() *cli.Command {
	return &cli.Command{
		Name: "pmdaroot", Link: "pmdaroot",
		Group:   cli.AgentPrograms,
		Summary: "perform operations that need root for a collector and its agents",
		Doc: `Performs operations that need root for agents that run without it: it finds containers, and makes
calls in their name spaces. The collector starts it and communicates with it through a pipe; agents
connect to its Unix socket, and it serves only agents of the collector.`,
		SeeAlso: []string{"pmcd(1)", "pmcd.conf(5)"},
		Options: rootOpts,
		Run:     runRoot,
	}
}

func rootOpts() []cli.Option {
	return []cli.Option{
		cli.Heading("Options"),
		{Short: 'D', Long: "debug", Arg: "DBG"},
		{Short: 'd', Long: "domain", Arg: "NUM", Help: "use domain (numeric) for metrics domain of PMDA"},
		{Short: 'l', Long: "log", Arg: "FILE", Help: "write log to FILE rather than using default log name"},
		{Short: 's', Long: "socket", Arg: "PATH", Help: "Unix domain socket file [default $PCP_VAR_DIR/pmcd/root.socket]"},
		{Short: '?', Long: "help", Help: "show this usage message and exit"},
	}
}

// A rootOptions holds the options of the command line.
type rootOptions struct {
	domain       int
	log, socket  string
	level        slog.Level
	unknown      []string // debug options
	problems     []string
	wantsMessage bool
}

func parseRoot(args []string) (o rootOptions) {
	o = rootOptions{domain: root.Domain, log: "root.log", level: slog.LevelInfo}
	p := getopt.New(rootOpts(), args)
	for opt, arg := range p.All() {
		if opt == nil {
			o.problems = append(o.problems, p.Problem())
			continue
		}
		switch opt.Short {
		case 'D':
			names, ok := debug.Parse(arg)
			if !ok {
				o.problems = append(o.problems, "unrecognized debug options specification ("+arg+")")
			}
			o.debug(names)
		case 'd':
			n, err := strconv.Atoi(arg)
			if err != nil {
				o.problems = append(o.problems, "-d requires numeric domain number")
			} else if n < 1 || n > pcp.MaxAgentDomain {
				o.problems = append(o.problems, fmt.Sprintf("-d requires a domain number from 1 to %d", pcp.MaxAgentDomain))
			}
			o.domain = n
		case 'l':
			o.log = arg
		case 's':
			o.socket = arg
		case '?':
			o.wantsMessage = true
		}
	}
	return o
}

// debug processes debug options.
func (o *rootOptions) debug(names []string) {
	for _, name := range names {
		if name == "libpmda" || name == "pdu" || name == "attr" {
			o.level = slog.LevelDebug
		} else if len(names) == 1 {
			o.unknown = append(o.unknown, name)
		}
	}
}

func runRoot(ctx context.Context, env *cli.Env) int {
	debug := env.Debug()
	o := parseRoot(env.Args)
	o.debug(debug)
	if len(o.problems) > 0 || o.wantsMessage {
		for _, p := range o.problems {
			fmt.Fprintf(env.Stderr, "pmdaroot: %s\n", p)
		}
		io.WriteString(env.Stderr, getopt.Usage("pmdaroot", "", rootOpts()))
		return 1
	}
	streams := pmda.Environment{Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr, OutTerminal: env.OutTerminal, TestName: "root"}
	if streams.OnTerminal() {
		streams.TerminalHelp("pmdaroot")
		return 1
	}
	out, done := openRootLog(env, o.log)
	defer done()
	log := slog.New(daemonlog.NewHandler(out, "pmdaroot", o.level))
	if len(o.unknown) > 0 {
		log.Warn("debug options that are not supported", "names", o.unknown)
	}
	if uid := os.Geteuid(); uid != 0 {
		log.Error("must be run as root", "uid", uid)
		return 1
	}
	if err := serveRoot(ctx, env, o, out, log); err != nil {
		log.Error("agent ends", "err", err)
		return 1
	}
	return 0
}

// openRootLog opens the log. Without a log it returns standard error.
func openRootLog(env *cli.Env, path string) (w io.Writer, done func()) {
	if path != "-" {
		f, err := daemonlog.Open(path, "pmdaroot")
		if err == nil {
			return f, func() {
				daemonlog.Footer(f)
				f.Close()
			}
		}
		fmt.Fprintf(env.Stderr, "pmdaroot: cannot open log %q for writing : %s\n", path, cli.ErrText(err))
	}
	daemonlog.Header(env.Stderr, "pmdaroot")
	return env.Stderr, func() { daemonlog.Footer(env.Stderr) }
}

// serveRoot serves the collector at the other end of the standard input, and
// the clients of the socket until it is gone.
func serveRoot(ctx context.Context, env *cli.Env, o rootOptions, out io.Writer, log *slog.Logger) error {
	cfg := root.ConfigFrom(env.Getenv)
	cfg.Domain, cfg.Log = o.domain, log
	agent, err := root.New(cfg)
	if err != nil {
		return err
	}
	defer agent.Close()
	sc := root.ServerConfigFrom(env.Config())
	if path := collectorConfig(os.Getppid()); path != "" {
		sc.Commands = path
	}
	if o.socket != "" {
		sc.Path = o.socket
	}
	if f, ok := out.(*os.File); ok {
		sc.Output = f // agents report errors there before they have a log
	}
	helper, err := agent.Listen(sc)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	helped, served := make(chan error, 1), make(chan error, 1)
	go func() { helped <- helper.Run(ctx) }()
	// A read of the standard input may not end in time. It is then abandoned until the
	// process ends.
	go func() {
		served <- pmda.Serve(ctx, rootPipe{env.Stdin, env.Stdout}, agent, pmda.ServeOptions{Log: log, Config: env.Config()})
	}()
	select {
	case err = <-served:
	case <-ctx.Done():
	case err = <-helped: // it ends before the agent only if it fails
		return err
	}
	stop()
	return errors.Join(err, <-helped)
}

// A rootPipe is the connection to the collector.
type rootPipe struct {
	io.Reader
	io.Writer
}

// Flush flushes a buffered standard output.
func (p rootPipe) Flush() error {
	if f, ok := p.Writer.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// collectorConfig returns the configuration file given to the collector that started
// us, which is still root then; "" for its default.
func collectorConfig(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(dir)
	if err != nil || !ownedByRoot(info) {
		return ""
	}
	b, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return ""
	}
	path := configOption(strings.Split(string(b), "\x00"))
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	cwd, err := os.Readlink(dir + "/cwd")
	if err != nil {
		return ""
	}
	return filepath.Join(cwd, path)
}

// configOption finds -c among the arguments of a pmcd.
func configOption(args []string) (path string) {
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case (arg == "-c" || arg == "--config") && i+1 < len(args):
			path = args[i+1]
			i++
		case strings.HasPrefix(arg, "--config="):
			path = strings.TrimPrefix(arg, "--config=")
		case strings.HasPrefix(arg, "-c") && len(arg) > 2:
			path = arg[2:]
		}
	}
	return path
}
