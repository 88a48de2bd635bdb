// Package ie is pmie: it evaluates rules over metrics, and acts on them.
//
//	pmie -c rules -t 10sec
package ie

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-pcp/pcp/cmd/internal/daemon/service"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmie.
var Command = &cli.Command{
	Name:     "ie",
	Link:     "pmie",
	Group:    cli.Alert,
	Summary:  "evaluate rules over metrics",
	Synopsis: "[options] [filename ...]",
	Doc: `Reads rules from files or standard input, and evaluates each at its own interval or that of -t. A
rule that is true performs the actions after its arrow: print prints a line, shell runs a command,
exec runs a program without a shell; webhook, alertmanager and mail notify a receiver from the file
of receivers (--receivers).

Over archives, rules are evaluated from the start to the end, as fast as possible, and actions are
only printed, in the form of -o: %a is the name of the action, %d the time, %u the time with
microseconds, %f and %l the file and line of the rule, %m the arguments, and %% a percent sign. Values in shell commands (%h, %i, %v, %c) are quoted, so the shell takes them as text.

The action alarm shows a notification on the desktop, stomp sends a message to the broker in the
file of -j.

With -x, pmie writes the descriptors and values of rules as PDUs for the agent summary: metrics
computed from others. Each rule has the name of a metric in the local name space, one value and no
action. True is 1, false is 0.

With -d, pmie reads commands from standard input: to load rules, to show their parsed form and the
values of %h, %i and %v, and to evaluate them for a while. The command h lists the commands. On a
terminal lines can be edited.`,
	Examples: []cli.Example{
		{Line: `echo 'some_inst disk.dev.total > 50 count/sec -> print "busy: %i";' | pcp ie`, Text: `print busy disks every ten seconds`},
		{Line: `pcp ie -v -a morning rules`, Text: `show the value of each rule over an archive`},
		{Line: `pcp ie -C rules`, Text: `only check rules`},
		{Line: `pcp ie -d -V -a morning rules`, Text: `try rules: "l" lists them, "r 10min" evaluates them over ten minutes, "q" ends`},
	},
	SeeAlso: []string{"pmval(1)", "pmlogger(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptAlign, cli.OptArchive, cli.OptDebug, cli.OptHost, cli.OptNameSpace, cli.OptOrigin, cli.OptStart, cli.OptFinish,
			cli.OptInterval, cli.OptTimeZone, cli.OptHostZone, cli.OptHelp,
			cli.Heading("Runtime options"),
			{Short: 'C', Long: "check", Help: "parse configuration and exit"},
			{Short: 'c', Long: "config", Arg: "FILE", Help: "configuration file"},
			{Short: 'd', Long: "interact", Help: "interactive debugging mode"},
			{Short: 'P', Long: "primary", Help: "execute as primary inference engine"},
			{Short: 'f', Long: "foreground", Help: "run in the foreground, not as a daemon"},
			{Short: 'F', Long: "systemd", Help: "systemd mode - notify service manager (if any) when started and ready"},
			{Short: 'H', Help: ""},
			alerts.OptReceivers,
			{Short: 'j', Arg: "FILE", Help: "stomp protocol (JMS) file [default $PCP_VAR_DIR/config/pmie/stomp]"},
			{Short: 'l', Long: "logfile", Arg: "FILE", Help: "send status and error messages to FILE"},
			{Short: 'U', Long: "username", Arg: "USER", Help: "run as named USER in daemon mode [default pcp]"},
			cli.Heading("Reporting options"),
			{Short: 'b', Long: "buffer", Help: "one line buffered output stream, stdout on stderr"},
			{Short: 'e', Long: "timestamp", Help: "force timestamps to be reported with -V, -v or -W"},
			{Short: 'o', Long: "format", Arg: "FORMAT", Help: "form of the line for an action, over archives [default \"%a %d: %m\"]", Extra: true},
			{Short: 'q', Long: "quiet", Help: "quiet mode, default diagnostics suppressed"},
			{Short: 'v', Help: "verbose mode, expression values printed"},
			{Short: 'V', Long: "verbose", Help: "verbose mode, annotated expression values printed"},
			{Short: 'W', Help: "verbose mode, satisfying expression values printed"},
			{Short: 'X', Long: "secret-applet", Help: "print values only, those of an evaluation in a line"},
			{Short: 'x', Long: "secret-agent", Help: "write values of rules as PDUs, for the agent summary"},
		}
	},
	DieOnSignal: true, // it does what each signal asks for
	Run:         run,
}

// settings are those of the command line.
type settings struct {
	cfg         pmie.Config
	check       bool
	config      string
	archives    []string
	host        string
	onStderr    bool
	foreground  bool
	interactive bool
	agent       bool // of -x
	daemon      bool
	primary     bool
	systemd     bool
	user        string
	log         string
	stompFile   string
	alerts      alerting

	journal   *journal
	broker    *stomp // nil until a rule may send a message
	running   atomic.Bool
	pidFile   string
	statsFile *pmiestats.File
	stats     pmiestats.Stats
	statsLost bool // it cannot be written
}

func (set *settings) own(o *cli.Options, opt *cli.Option, arg string) bool {
	if opt.Long == "receivers" {
		set.alerts.file = arg
		return true
	}
	switch opt.Short {
	case 'a':
		if set.host != "" {
			o.Usagef("at most one of -a or -h allowed")
			break
		}
		set.archives = append(set.archives, strings.Split(arg, ",")...)
		set.foreground = true
	case 'h':
		if set.host != "" || set.archives != nil {
			o.Usagef("at most one of -a or -h allowed")
			break
		}
		set.host = arg
	case 'b':
		set.onStderr = true
	case 'c':
		if set.interactive {
			o.Usagef("at most one of -c and -d allowed")
			break
		}
		set.config = arg
	case 'C':
		set.check = true
	case 'd':
		if set.config != "" {
			o.Usagef("at most one of -c and -d allowed")
			break
		}
		set.interactive = true
	case 'e':
		set.cfg.Timestamps = true
	case 'f':
		set.foreground = true
	case 'F':
		set.systemd, set.daemon = true, true
	case 'H':
	case 'j':
		set.stompFile = arg
	case 'l':
		if set.log != "" {
			o.Usagef("at most one -l option is allowed")
			break
		}
		set.log, set.daemon = arg, true
	case 'P':
		set.primary, set.daemon = true, true
	case 'o':
		if set.cfg.Format = arg; arg == "" {
			o.Usagef("-o requires a format")
		}
	case 'q':
		set.cfg.Quiet = true
	case 'U':
		set.user, set.daemon = arg, true
	case 'v':
		set.cfg.Verbose = pmie.Values
	case 'V':
		set.cfg.Verbose = pmie.Annotated
	case 'W':
		set.cfg.Verbose = pmie.Satisfying
	case 'X':
		set.cfg.Verbose = pmie.Applet
	case 'x':
		set.agent, set.daemon = true, true
		set.cfg.Verbose = pmie.Values
	default:
		return false
	}
	return true
}

// sources checks the options of time for the source of metrics that -a, -h or the environment
// select.
func (set *settings) sources(o *source.Options) {
	switch {
	case set.archives != nil:
		o.Archives, o.Hosts = set.archives, nil
	case set.host != "":
		o.Archives, o.Hosts = nil, []string{set.host}
	}
	o.End()
}

// arguments checks combinations of options.
func (set *settings) arguments(o *source.Options) {
	switch {
	case o.Errors():
	case set.config != "" && len(o.Args) > 0:
		o.Usagef("extra filenames cannot be given after using -c")
	case set.foreground && set.systemd:
		o.Usagef("the -f and -F options are mutually exclusive")
	case set.interactive && set.agent:
		o.Usagef("the -d and -x options are incompatible")
	case set.onStderr && set.agent:
		o.Usagef("the -b and -x options are incompatible")
	}
}

func run(ctx context.Context, env *cli.Env) int {
	set := &settings{}
	o := source.Parse(env, cli.ParseConfig{Own: set.own, Later: true})
	set.sources(o)
	set.arguments(o)
	if status, exit := o.Done(); exit {
		return status
	}
	env.FlushOut()
	if set.archives == nil && set.host == "" {
		switch {
		case len(o.Archives) > 0:
			set.archives, set.foreground = o.Archives, true
		case len(o.Hosts) > 0:
			set.host = o.Hosts[0]
		}
	}
	if f := set.cfg.Format; f != "" {
		for i := 0; i+1 < len(f); i++ {
			if f[i] != '%' {
				continue
			}
			if i++; strings.IndexByte("adflmu%", f[i]) < 0 {
				fmt.Fprintf(env.Stderr, "Warning: unrecognized field specifier '%%%c' in format\n", f[i])
			}
		}
		if set.archives == nil {
			fmt.Fprintf(env.Stderr, "Warning: -o has no effect without archives, actions are carried out\n")
		}
	}
	set.daemon = set.daemon && !set.foreground
	return set.evaluate(ctx, env, o)
}

// evaluate does the work, and returns the exit status.
func (set *settings) evaluate(ctx context.Context, env *cli.Env, o *source.Options) int {
	set.cfg.Name = env.ProgName()
	set.cfg.Nanoseconds = env.Seven()
	_, own := env.ProcessStderr()
	set.journal = &journal{name: env.ProgName(), w: env.Stderr, own: own}
	defer set.end()
	var stop func()
	if set.log != "" && set.daemon && !set.agent {
		ctx, stop = set.signals(ctx, func() { set.journal.rotate(set.first()) })
	} else {
		ctx, stop = set.signals(ctx, nil)
	}
	defer stop()
	err := set.streams(env)
	if err == nil {
		err = set.run(ctx, env, o)
	}
	if _, interrupted := errors.AsType[*caught](err); err != nil && ctx.Err() == nil && !interrupted {
		if text := err.Error(); text != "" {
			fmt.Fprintln(set.journal, strings.TrimSuffix(text, "\n"))
		}
	}
	if set.systemd && ctx.Err() == nil && err == nil {
		set.tell(service.NewManager(env.Getenv).Stopping())
	}
	return set.ended(ctx, err)
}

// errChecked ends a check that found mistakes, which were printed.
var errChecked = errors.New("")

func (set *settings) run(ctx context.Context, env *cli.Env, o *source.Options) error {
	cfg := &set.cfg
	cfg.Host, cfg.Archives = set.host, set.archives
	cfg.Meant = func(ctx context.Context, c *pmapi.Context, name string) string {
		return source.DidYouMean(ctx, env, c, name)
	}
	cfg.Interval, cfg.Places = o.Interval, !env.Classic()
	cfg.Wrap = env.IsSet("PCP_COUNTER_WRAP")
	cfg.Debug = o.DebugLog()
	cfg.ReadAhead = cfg.Debug == nil
	var explained atomic.Bool
	cfg.Dial = func(ctx context.Context, spec string) (*pmapi.Context, error) {
		c, err := o.Dial(ctx, spec)
		if err != nil && ctx.Err() == nil && !env.Classic() && !set.check && !explained.Swap(true) { // and continues
			fmt.Fprintf(env.Stderr, "%s: %s\nIt is tried again until one answers.\n", env.ProgName(), o.WhyNoCollector(spec, err))
		}
		env.Advise(nil)
		return c, err
	}
	cfg.OpenArchive = o.OpenArchive
	conf := env.Config()
	cfg.Path = strings.Join([]string{"/usr/sbin:/sbin:/usr/bin:/bin", conf.Get("PCP_BIN_DIR"), conf.Get("PCP_BINADM_DIR")}, ":")
	cfg.Zone = env.Local()
	if o.TimeZoneSet {
		cfg.Zone = pcptime.Zone(o.TimeZone)
	}
	set.alerts.prepare(cfg)
	cfg.Stomp = func(ctx context.Context, a deliver.Action) error { return set.broker.Send(ctx, a.Text) }
	defer func() {
		if set.broker != nil {
			set.broker.close()
		}
	}()
	cfg.Alarm = (&alarmer{
		bus: env.Getenv("DBUS_SESSION_BUS_ADDRESS"), say: set.say,
		out: func(format string, args ...any) { fmt.Fprintf(cfg.Out, format, args...) },
	}).Show
	var agent *publisher
	if set.agent {
		agent = newPublisher(ctx, env)
		cfg.Publish = agent.publish
	}
	e, err := pmie.New(ctx, *cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	if o.HostZone && !o.TimeZoneSet {
		set.hostZone(ctx, env, e)
	}
	o.DebugLog().SetZone(cfg.Zone)
	if _, err := set.window(o, e); err != nil {
		return err
	}
	sound, err := set.load(ctx, env, o, e)
	switch {
	case err != nil:
		return err
	case set.check && !sound:
		return errChecked
	case set.check:
		_, err := set.alerts.receivers(env, e.Deliveries())
		if errors.Is(err, alerts.ErrNoReceivers) { // whoever evaluates these rules has them
			return nil
		}
		return err
	}
	if set.agent {
		if err := agent.describe(env, o, e.Published()); err != nil {
			return err
		}
	}
	w, err := set.window(o, e)
	if err != nil {
		return err
	}
	if set.interactive {
		return set.interact(ctx, env, o, e, w)
	}
	return set.evaluateRules(ctx, env, o, e)
}

// evaluateRules evaluates the rules until the end of the window.
func (set *settings) evaluateRules(ctx context.Context, env *cli.Env, o *source.Options, e *pmie.Engine) error {
	if e.Stomps() && set.archives == nil && set.broker == nil {
		if err := set.connectBroker(ctx, env); err != nil {
			return fmt.Errorf("%s: %w", env.ProgName(), err)
		}
	}
	end, err := set.alerts.start(env, &set.cfg, slices.Clone(o.Args), e)
	if err != nil {
		return err
	}
	defer end()
	set.running.Store(true)
	defer set.running.Store(false)
	if set.archives == nil {
		// One thing is done at a time. Threads that look for more cost as much as a round of fetches.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	return e.Run(ctx)
}

// connectBroker connects to the broker that takes the messages of the action stomp.
func (set *settings) connectBroker(ctx context.Context, env *cli.Env) error {
	file := set.stompFile
	if file == "" {
		file = filepath.Join(env.Config().Get("PCP_VAR_DIR"), "config", "pmie", "stomp")
	}
	broker, err := readStomp(file)
	if err != nil {
		return err
	}
	broker.report = set.say
	if err := broker.connect(ctx); err != nil {
		return err
	}
	set.broker = broker
	return nil
}

// say reports an error of an action.
func (set *settings) say(format string, args ...any) {
	fmt.Fprintln(set.cfg.Err, daemonlog.Line(set.cfg.Name, slog.LevelError, strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")))
}

// hostZone takes the time zone of the source of metrics.
func (set *settings) hostZone(ctx context.Context, env *cli.Env, e *pmie.Engine) {
	from, zone, err := e.UseSourceZone(ctx)
	if err != nil {
		fmt.Fprintf(set.cfg.Err, "%s: cannot set timezone from %s\npmNewContext failed: %s\n", env.ProgName(), from, cli.ErrText(err))
		return
	}
	set.cfg.Zone = zone
	fmt.Fprintf(set.cfg.Out, "%s: timezone set to local timezone from %s\n", env.ProgName(), from)
}

// window sets from when to when rules are evaluated.
func (set *settings) window(o *source.Options, e *pmie.Engine) (pcptime.Window, error) {
	first, last := e.Bounds()
	w, _, err := pcptime.ParseWindow(o.Bounds(), first, last, set.cfg.Zone)
	if err != nil {
		return w, err
	}
	e.Window(w.Origin, w.Finish)
	return w, nil
}

// load reads the files of the command line. Without any it reads standard input, which with -d has commands.
func (set *settings) load(ctx context.Context, env *cli.Env, o *source.Options, e *pmie.Engine) (sound bool, err error) {
	files := o.Args
	switch {
	case len(files) > 0:
	case set.interactive:
		return true, nil
	default:
		files = []string{set.config}
	}
	stdin := io.Reader(interruptible{ctx, env.Stdin})
	if set.agent && set.daemon {
		stdin = noRules(env)
	}
	for _, name := range files {
		if sound, err = set.loadFile(ctx, env, e, stdin, name); err != nil {
			return false, err
		}
	}
	return sound, nil
}

// An interruptible reads from a terminal or a pipe, whose Read may wait for ever, until its context ends. A Read that
// waits then keeps its goroutine until the process ends.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (i interruptible) Read(b []byte) (int, error) {
	if err := context.Cause(i.ctx); err != nil {
		return 0, err
	}
	type read struct {
		b   []byte
		err error
	}
	done := make(chan read, 1)
	go func() {
		own := make([]byte, len(b)) // b belongs to the caller again once Read returns
		n, err := i.r.Read(own)
		done <- read{own[:n], err}
	}()
	select {
	case r := <-done:
		return copy(b, r.b), r.err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}

// loadFile reads a file of rules, or stdin if its name is "".
func (set *settings) loadFile(ctx context.Context, env *cli.Env, e *pmie.Engine, stdin io.Reader, name string) (sound bool, err error) {
	r := stdin
	if name != "" {
		if name, err = find(env, name); err != nil {
			return false, err
		}
		f, err := os.Open(name)
		if err != nil {
			return false, fmt.Errorf("%s: cannot open config file %s", env.ProgName(), name)
		}
		defer f.Close()
		r = f
	}
	if set.stats.Config == "" {
		if set.stats.Config = "<stdin>"; name != "" {
			if set.stats.Config, err = realPath(name); err != nil {
				return false, fmt.Errorf("%s: failed to resolve realpath for %s: %s", env.ProgName(), name, cli.ErrText(err))
			}
		}
	}
	return e.Load(ctx, r, name)
}

// find returns the path of a file of rules, which may be an installed one.
func find(env *cli.Env, name string) (string, error) {
	_, err := os.Stat(name)
	if err == nil {
		return name, nil
	}
	if filepath.IsAbs(name) {
		return "", fmt.Errorf("%s: cannot access config file %s: %s", env.ProgName(), name, cli.ErrText(err))
	}
	installed := filepath.Join(env.Config().Get("PCP_VAR_DIR"), "config", "pmie", name)
	if _, err := os.Stat(installed); err == nil {
		return installed, nil
	}
	return "", fmt.Errorf("%s: cannot access config file as either %s or %s: %s", env.ProgName(), name, installed, cli.ErrText(err))
}

// realPath returns the full path of a file, without links.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
