package lc

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/control"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/console"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// Command is pmlc.
var Command = &cli.Command{
	Name:     "lc",
	Link:     "pmlc",
	Group:    cli.Record,
	Summary:  "control a running pmlogger",
	Synopsis: "[options] [pid]",
	Doc: `Connects to a pmlogger, selected by its process ID, its port or as the primary one, and reads
commands from standard input: to show or change the recorded metrics and their intervals, to begin a
new volume, or to print the size of the archive. "help" lists the commands. On a terminal there is a
prompt, and lines can be edited.

A metric list is one name, or several in braces. A name can be that of a subtree, and can be
followed by instances in brackets.`,
	Examples: []cli.Example{
		{Line: "echo status | pcp lc -P", Text: "print the status of the primary pmlogger of this host"},
		{Line: "echo 'query kernel.all' | pcp lc -P", Text: "show which metrics below kernel.all it records"},
		{Line: "echo 'log mandatory on every 5 seconds disk.dev.read[sda]' | pcp lc -P", Text: "record a metric of one disk"},
	},
	SeeAlso: []string{"pmlogger(1)", "pmdumplog(1)"},
	Debug:   []string{"appl0", "appl1"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'e', Long: "echo", Help: "echo input"},
			{Short: 'h', Long: "host", Arg: "HOST", Help: "connect to pmlogger using host specification"},
			{Short: 'i', Long: "interactive", Help: "be interactive and prompt"},
			cli.OptNameSpace,
			{Short: 'P', Long: "primary", Help: "connect to primary pmlogger"},
			{Short: 'p', Long: "port", Arg: "N", Help: "connect to pmlogger on this TCP/IP port"},
			cli.OptTimeZone,
			{Short: 'z', Long: "logzone", Help: "set reporting timezone to local time for pmlogger"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// Kinds of zones in which status prints times.
type zoneKind int

const (
	zoneLocal  zoneKind = iota // of this process
	zoneLogger                 // of the pmlogger
	zoneOther                  // a named one
)

// A session is one run of the program.
type session struct {
	ctx context.Context
	env *cli.Env
	o   *source.Options
	out io.Writer
	in  *input
	lex *lexer

	dialer  control.Dialer
	host    string          // initial host
	target  control.Target  // of the last attempt to connect
	primary bool            // the primary pmlogger was requested
	client  *control.Client // nil if not connected
	at      string          // the host of the last connection
	// collector is the collector whose metrics the pmlogger records; nil until it is needed.
	collector *pmapi.Context

	zone     zoneKind
	zoneName string
	useZone  bool // a zone was requested

	// The contents of a statement.
	named      string // host
	hasNamed   bool
	socket     string // "local:" or "unix:" if it was a URL
	socketPath bool   // with a path
	control    wire.LogControlKind
	state      wire.LogState
	delta      int64 // milliseconds
	sleep      int32 // milliseconds
	qaCase     int32
	metrics    metricList

	saidInstances bool // the effect of an unknown instance has been explained
}

// stateEnquire is the state of a statement that asks for the state (PM_LOG_ENQUIRE).
const stateEnquire = wire.LogState(wire.LogEnquire)

func (s *session) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

func (s *session) flush() { s.env.FlushOut() }

// errorf writes to standard error, after flushing standard output.
func (s *session) errorf(format string, args ...any) {
	s.flush()
	fmt.Fprintf(s.env.Stderr, format, args...)
}

func (s *session) debug(name string) bool { return slices.Contains(s.o.Debug(), name) }

// arguments are the command line.
type arguments struct {
	s            *session
	echo, prompt bool
	hostKind     string // "local:" or "unix:"
	hostPath     bool
	logZone      bool
}

const oneTarget = "at most one of -P, -p, unix socket, or PID may be specified"

func (a *arguments) own(o *cli.Options, opt *cli.Option, arg string) bool {
	s := a.s
	switch opt.Short {
	case 'e':
		a.echo = true
	case 'h':
		s.host = arg
		if kind, path := isSocket(arg); kind != "" {
			a.hostKind, a.hostPath = kind, a.hostPath || path
		}
	case 'i':
		a.prompt = true
	case 'P':
		if s.target.Port != control.NoPort || a.hostKind == "unix:" && a.hostPath {
			o.Usagef(oneTarget)
			break
		}
		s.target.Port = control.Primary
	case 'p':
		if s.target.Port != control.NoPort || a.hostKind == "unix:" {
			o.Usagef(oneTarget)
			break
		}
		n, ok := cli.Atoi(arg)
		s.target.Port = int(int32(n))
		if !ok || s.target.Port <= control.Primary {
			o.Usagef("port must be numeric and greater than %d", control.Primary)
		}
	case 'z':
		if o.TimeZoneSet {
			o.Usagef("at most one of -Z and -z allowed")
			break
		}
		a.logZone = true
	case 'Z':
		if a.logZone {
			o.Usagef("at most one of -Z and -z allowed")
			break
		}
		return false
	default:
		return false
	}
	return true
}

// rest takes the arguments that are not options.
func (a *arguments) rest(o *source.Options) {
	s := a.s
	switch {
	case len(o.Args) > 1:
		o.WantUsage()
	case len(o.Args) == 1 && (s.target.Port != control.NoPort || a.hostKind == "unix:" && a.hostPath):
		o.Usagef(oneTarget)
	case len(o.Args) == 1:
		n, ok := cli.Atoi(o.Args[0])
		s.target.PID = int(int32(n))
		if !ok || s.target.PID <= control.Primary {
			o.Usagef("PID must be a numeric process ID and greater than %d", control.Primary)
		}
	}
	if !o.Errors() && s.host != "" && !a.atStart() {
		o.Usagef("-h may not be used without -P or -p or a socket path or a PID")
	}
}

// atStart reports whether the command line names a pmlogger to connect to.
func (a *arguments) atStart() bool {
	return a.s.target != control.Target{PID: control.NoPID, Port: control.NoPort} || a.hostPath
}

func run(ctx context.Context, env *cli.Env) int {
	s := &session{ctx: ctx, env: env, out: env.Stdout, target: control.Target{PID: control.NoPID, Port: control.NoPort}}
	a := &arguments{s: s}
	s.o = source.Parse(env, cli.ParseConfig{Own: a.own})
	a.rest(s.o)
	if status, exit := s.o.Done(); exit {
		return status
	}
	switch {
	case a.logZone:
		s.zone, s.useZone = zoneLogger, true
	case s.o.TimeZoneSet:
		s.zone, s.zoneName, s.useZone = zoneOther, s.o.TimeZone, true
	}
	if s.host == "" {
		s.host = "local:"
	}
	s.dialer = control.Dialer{
		Config:    env.Config(),
		Timeout:   s.timeout(),
		Collector: s.o.Dial,
		Warn:      func(msg string) { s.errorf("%s\n", msg) },
	}
	var tty lineReader
	if e := console.NewEditor(env.Stdin, env.Editor()); e != nil {
		tty = e
	}
	s.in = newInput(s, env.Stdin, a.echo, a.prompt || tty != nil, tty)
	s.lex = &lexer{in: s.in}
	defer s.disconnect()
	defer s.closeCollector()
	s.start(a)
	s.loop()
	s.flush()
	switch {
	case s.in.interrupted():
		return 130 // as if ended by SIGINT
	case s.in.err != nil:
		return env.Fatalf("input: %v", s.in.err)
	}
	return 0
}

// timeout returns the time limit for an answer from pmlogger; 0 means no limit.
func (s *session) timeout() time.Duration {
	const name = "PMLOGGER_REQUEST_TIMEOUT"
	text := s.env.Getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<31-1 {
		s.env.Notify("Warning", fmt.Sprintf("ignored bad %s = '%s'", name, text))
		return 0
	}
	return time.Duration(n) * time.Second
}

// start connects to the pmlogger that the command line names.
func (s *session) start(a *arguments) {
	connect := a.atStart()
	var err error
	if connect {
		s.primary = s.target.Port == control.Primary || s.target.PID == control.Primary
		err = s.connect(s.host)
	}
	if s.in.prompt {
		s.printf("Performance Co-Pilot Logger Control (pmlc), Version %s\n\n%s\n", s.env.Version, menu)
	}
	if !connect {
		return
	}
	if err != nil {
		s.cannotConnect(s.host, a.hostPath, "the local socket", err)
		return
	}
	s.printf("Connected to %s at %s\n", s.which(a.hostPath, "pmlogger via local socket"), s.host)
}

// which names the requested pmlogger.
func (s *session) which(path bool, socket string) string {
	switch {
	case s.primary:
		return "primary pmlogger"
	case path:
		return socket
	case s.target.Port != control.NoPort:
		return fmt.Sprintf("pmlogger on port %d", s.target.Port)
	}
	return fmt.Sprintf("pmlogger pid %d", s.target.PID)
}

// cannotConnect reports that a connection failed.
func (s *session) cannotConnect(host string, path bool, socket string, err error) {
	s.errorf("Unable to connect to %s at %s: ", s.which(path, "pmlogger via "+socket), host)
	s.errText(err)
}

// setHost notes the host of the pmlogger that a statement names.
func (s *session) setHost(spec string, url bool) {
	s.named, s.hasNamed = spec, true
	if url {
		s.socket, s.socketPath = isSocket(spec)
	}
}

// loop executes statements until the input ends or a statement ends the session.
func (s *session) loop() {
	p := &parser{s: s, lex: s.lex}
	for s.ctx.Err() == nil {
		s.named, s.hasNamed, s.socket, s.socketPath = "", false, "", false
		s.metrics.status = 0
		k := p.statement()
		if s.in.ended() {
			if s.in.prompt {
				s.printf("\n")
			}
			return
		}
		if s.metrics.status < 0 {
			continue
		}
		if s.debug("appl1") {
			named := "(null)"
			if s.hasNamed {
				named = s.named
			}
			s.printf("stmt=%d, state=%d, control=%d, hostspec=%s, pid=%d, port=%d\n", k, s.state, s.control, named, s.target.PID, s.target.Port)
		}
		if k == tokQuit {
			s.printf("Goodbye\n")
			return
		}
		s.execute(k)
	}
}

// execute executes a statement.
func (s *session) execute(k kind) {
	host := s.host
	if s.hasNamed {
		host = s.named
	}
	switch k {
	case tokShow:
		s.showLoggers(host)
	case tokConnect:
		s.connectTo(host)
	case tokDisconnect:
		s.disconnect()
	case tokHelp:
		s.printf("%s\n", menu)
	case tokLog:
		s.log()
	case tokStatus:
		s.status()
	case tokNew:
		if volume, ok := s.request(wire.LogNewVolume, "newvolume"); ok {
			s.errorf("New log volume %d\n", volume)
		}
	case tokTimezone:
		s.useZone = true
	case tokSync:
		s.request(wire.LogSync, "sync")
	case tokSleep:
		s.pause(time.Duration(s.sleep) * time.Millisecond)
	case tokQA:
		if s.qaCase == 0 {
			s.errorf("QA Test Case deactivated\n")
		} else {
			s.errorf("QA Test Case #%d activated\n", s.qaCase)
		}
		s.request(wire.LogRequestKind(100+s.qaCase), "qa")
	}
}

// pause waits.
func (s *session) pause(d time.Duration) {
	s.flush()
	pacing.Sleep(s.ctx, d)
}

// menu is the output of help. Scripts look for its first and last lines.
const menu = `pmlc commands

  show loggers [@<host>]             display <pid>s of running pmloggers
  connect _logger_id [@<host>]       connect to designated pmlogger
  status                             information about connected pmlogger
  query metric-list                  show logging state of metrics
  new volume                         start a new log volume
  disconnect                         disconnect from pmlogger

  log { mandatory | advisory } on <interval> _metric-list
  log { mandatory | advisory } off _metric-list
  log mandatory maybe _metric-list

  timezone local|logger|'<timezone>' change reporting timezone
  help                               print this help message
  sleep <n>                          pause for <n> milliseconds
  quit                               exit from pmlc

  _logger_id   is  primary | <pid> | port <n>
  _metric-list is  _metric-spec | { _metric-spec ... }
  _metric-spec is  <metric-name> | <metric-name> [ <instance> ... ]
`
