package pmda

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/daemonlog"
)

// A Daemon is a program that serves one agent to the collector that started
// it, with the options that C agents have (pmdaGetOptions(3)).
type Daemon struct {
	Name     string // of the program, such as "pmdasimple"
	Domain   int    // unless -d sets another
	LogFile  string // unless -l sets another; "" means that of Name: simple.log
	PipeOnly bool   // leaves out the options for sockets

	// HelpFile is a file of help texts, unless -h names another: an output
	// of newhelp(1), named without its .dir and .pag, or its source. Its
	// texts replace the agent's own. If it cannot be read, the daemon logs
	// that. "" means no file.
	HelpFile   string
	NoHelpFile bool // leaves out the option -h

	// KeepUser lets the daemon keep running as the user that started it.
	// Otherwise a daemon started by root becomes PCP's user, unless -U names
	// another.
	KeepUser bool

	// Own are the agent's own options, with headings and lines of text if
	// needed. They follow the others in the usage message. An option with the
	// letter of another replaces it. Set is called for each in order; an
	// error is written to standard error with the usage message.
	Own []Option
	Set func(o *Option, arg string) error

	// UserFlag is the letter of the option that names the user to run as, 0
	// for 'U'. Usage, if not "", is the usage message below its first line.
	UserFlag rune
	Usage    string
	// UserLong is the long name of the option that names the user, "" for "username".
	UserLong string

	// NotReady makes clients try again until New returns, however long that takes, and
	// notifies the collector then. It is for agents whose lines of pmcd.conf have the word
	// notready.
	NotReady bool

	// Synopsis is the usage line after the name, "" for that of an agent that
	// takes only options.
	Synopsis string
	// Args gets the arguments other than options before anything else is
	// done. An error is written to standard error with the usage message.
	// If Args is nil, they are ignored.
	Args func(args []string) error

	// New makes the agent, after the log has been opened. If the agent has a
	// method Close, it is called at the end. While New takes more than a
	// second, clients get PM_ERR_PMDANOTREADY, to try again.
	New func(domain int, log *slog.Logger) (Agent, error)
}

// An Environment is all that a Daemon sees of its surroundings.
type Environment struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string

	// OutTerminal reports whether Stdout is a terminal, if Stdout is not an
	// *os.File; may be nil.
	OutTerminal func() bool
	TestName    string // the agent's name for "pcp agent test"; "" for the name of the Daemon
}

// Main runs the daemon as this process and exits.
func (d *Daemon) Main() {
	env := Environment{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, TestName: os.Args[0]}
	os.Stdout = os.Stderr // what the agent prints must not get between the PDUs
	os.Exit(d.Run(context.Background(), env))
}

// An Option is one command line option of a [Daemon]. If Short and Long are
// zero, it is a heading in the usage message, or a line of text if Arg is "|"
// (pmLongOptions).
type Option struct {
	Short rune   // 0 if there is only the long form
	Long  string // "" if there is only the short form
	Arg   string // name of the argument in the usage message; "" for an option without one
	Help  string // as the usage message prints it; "" hides the option
}

// parsed returns opts for the parser of options.
func parsed(opts []Option) []getopt.Option {
	list := make([]getopt.Option, len(opts))
	for i, o := range opts {
		list[i] = getopt.Option{Short: o.Short, Long: o.Long, Arg: o.Arg, Help: o.Help}
	}
	return list
}

// Options returns the options of d.
func (d *Daemon) Options() []Option {
	opts := []Option{
		{Help: "Options"},
		{Short: 'D', Long: "debug", Arg: "DBG"},
		{Short: 'd', Long: "domain", Arg: "NUM", Help: "use domain (numeric) for metrics domain of PMDA"},
		{Short: 'h', Long: "helpfile", Arg: "FILE", Help: "path to PMDA metrics help text file"},
		{Short: 'l', Long: "log", Arg: "FILE", Help: "write log to FILE rather than using default log name"},
		{Short: cmp.Or(d.UserFlag, 'U'), Long: cmp.Or(d.UserLong, "username"), Arg: "USER", Help: "run the PMDA using the named user account"},
		{Short: '?', Long: "help", Help: "show this usage message and exit"},
	}
	if d.NoHelpFile {
		opts = slices.DeleteFunc(opts, func(o Option) bool { return o.Short == 'h' })
	}
	if !d.PipeOnly {
		opts = append(opts, socketOptions()...)
	}
	opts = slices.DeleteFunc(opts, func(o Option) bool {
		return slices.ContainsFunc(d.Own, func(own Option) bool {
			return own.Short != 0 && own.Short == o.Short || own.Long != "" && own.Long == o.Long
		})
	})
	return append(opts, d.Own...)
}

func socketOptions() []Option {
	return []Option{
		{Help: "Exactly one of the following options may appear"},
		{Short: 'i', Long: "inet", Arg: "PORT", Help: "pmcd IPv4 connection service name or numeric port"},
		{Short: 'p', Long: "pipe", Help: "use a pipe for communication with pmcd"},
		{Short: 'u', Long: "unix", Arg: "FILE", Help: "use a unix domain socket for communication with pmcd"},
		{Short: '6', Long: "ipv6", Arg: "PORT", Help: "pmcd IPv6 connection service name or numeric port"},
	}
}

// settings are the settings from the options of a daemon.
type settings struct {
	domain   int
	logFile  string
	helpFile string
	username string
	endpoint endpoint
	level    slog.Level
	list     bool     // write what the agent has to the log
	debug    []string // the options of -D that are the agent's own
	args     []string // arguments other than options
}

// errUsage asks for the usage message alone.
var errUsage = errors.New("usage")

func (d *Daemon) parse(args []string) (settings, error) {
	s := settings{domain: d.Domain, logFile: d.LogFile, helpFile: d.HelpFile, level: slog.LevelInfo}
	if s.logFile == "" {
		s.logFile = strings.TrimPrefix(d.Name, "pmda") + ".log"
	}
	var errs []error
	p := getopt.New(parsed(d.Options()), args)
	for {
		given, arg, ok := p.Next()
		if !ok {
			s.args = p.Args()
			return s, errors.Join(errs...)
		}
		var err error
		if given == nil {
			err = errors.New(p.Problem())
		} else if o := (Option{given.Short, given.Long, given.Arg, given.Help}); d.own(o) {
			err = d.Set(&o, arg)
		} else {
			if d.UserFlag != 0 && o.Short == d.UserFlag {
				o.Short = 'U'
			}
			err = s.set(o, arg)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
}

// own reports whether an option is the agent's.
func (d *Daemon) own(o Option) bool {
	return d.Set != nil && slices.Contains(d.Own, o)
}

// setDebug takes in debug options.
func (s *settings) setDebug(names []string) {
	for _, name := range names {
		if name == "libpmda" || name == "pdu" { // its requests
			s.level = slog.LevelDebug
			s.list = s.list || name == "libpmda"
		} else {
			s.debug = append(s.debug, name)
		}
	}
}

// debug returns the debug options of PCP_DEBUG.
func (env *Environment) debug() []string {
	if env.Getenv == nil {
		return nil
	}
	spec := env.Getenv("PCP_DEBUG")
	names, ok := debug.Parse(spec)
	if !ok {
		fmt.Fprintf(env.Stderr, "Error: $PCP_DEBUG=%s is not valid, ignored\n", spec)
	}
	return names
}

// set takes in one option.
func (s *settings) set(o Option, arg string) (err error) {
	switch o.Short {
	case 'D':
		names, ok := debug.Parse(arg)
		if !ok {
			return fmt.Errorf("unrecognized debug options specification (%s)", arg)
		}
		s.setDebug(names)
	case 'd':
		if s.domain, err = strconv.Atoi(arg); err != nil {
			err = errors.New("-d requires numeric domain number")
		} else if s.domain < 1 || s.domain > pcp.MaxAgentDomain {
			err = fmt.Errorf("-d requires a domain number from 1 to %d", pcp.MaxAgentDomain)
		}
	case 'h':
		s.helpFile = arg
	case 'l':
		s.logFile = arg
	case 'U':
		s.username = arg
	case 'i', 'p', 'u', '6':
		if s.endpoint.kind != 0 && s.endpoint.kind != o.Short {
			err = fmt.Errorf("-%c option clashes with -%c option", o.Short, s.endpoint.kind)
		} else {
			s.endpoint = endpoint{o.Short, arg}
		}
	case '?':
		err = errUsage
	}
	return err
}

func (d *Daemon) usage(w io.Writer, err error) {
	var b bytes.Buffer
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSuffix(line, "\n"); line != errUsage.Error() {
			fmt.Fprintf(&b, "%s: %s\n", d.Name, line)
		}
	}
	if d.Usage != "" {
		b.WriteString(getopt.Line(d.Name, d.Synopsis) + d.Usage)
	} else {
		b.WriteString(getopt.Usage(d.Name, d.Synopsis, parsed(d.Options())))
	}
	w.Write(b.Bytes())
}

// Run runs the daemon until the collector closes the connection, and returns
// the exit status. If it would use standard input and output and one of them is
// a terminal, it prints how to try an agent, writes no log, and returns 1.
func (d *Daemon) Run(ctx context.Context, env Environment) int {
	if d.New == nil || d.Set == nil && slices.ContainsFunc(d.Own, func(o Option) bool { return o.Short != 0 || o.Long != "" }) {
		fmt.Fprintf(env.Stderr, "%s: a Daemon needs New, and with options of its own Set\n", d.Name)
		return 1
	}
	debug := env.debug()
	s, err := d.parse(env.Args)
	if err != nil {
		d.usage(env.Stderr, err)
		return 1
	}
	s.setDebug(debug)
	if d.Args != nil {
		if err := d.Args(s.args); err != nil {
			fmt.Fprintf(env.Stderr, "%v\n\n", err)
			d.usage(env.Stderr, errUsage)
			return 1
		}
	}
	if s.endpoint.pipe() && env.OnTerminal() {
		env.TerminalHelp(d.Name)
		return 1
	}
	out, closeLog := d.openLog(s.logFile, env.Stderr)
	defer closeLog()
	log := slog.New(daemonlog.NewHandler(out, d.Name, s.level))

	if err := d.run(ctx, env, s, out, log); err != nil {
		log.Error("agent ends", "err", err)
		return 1
	}
	return 0
}

func (d *Daemon) run(ctx context.Context, env Environment, s settings, out io.Writer, log *slog.Logger) (err error) {
	rw, err := s.endpoint.open(ctx, env, log)
	if err != nil {
		return err
	}
	if c, ok := rw.(io.Closer); ok {
		defer c.Close()
	}
	if s.username != "" || !d.KeepUser {
		if err := dropPrivileges(s.username, env.Getenv); err != nil {
			return err
		}
	}
	made := d.make(s, out, log)
	var m madeAgent
	grace := startGrace
	if d.NotReady {
		grace = 0
	}
	opts := ServeOptions{Log: log}
	if env.Getenv != nil {
		opts.Config = config.New(env.Getenv)
	}
	if grace > 0 {
		select {
		case m = <-made:
			if m.err != nil {
				return m.err
			}
			defer closeAgent(m.agent, &err)
			opts.Help = m.help
			return Serve(ctx, rw, m.agent, opts)
		case <-time.After(grace):
		}
	}

	// Making the agent takes longer than a collector waits, so clients are
	// put off until it is ready. If New or the collector ends first, the
	// other is left until the process ends.
	log.Info("agent is not ready yet")
	opts.Attributes = true // it might want them
	session, served := newSession(rw, opts), make(chan error, 1)
	session.putOff = d.NotReady
	go func() { served <- session.serveAll(ctx, rw) }()
	select {
	case err := <-served:
		return err
	case m = <-made:
	}
	if m.err != nil {
		return m.err
	}
	defer closeAgent(m.agent, &err)
	select {
	case <-session.shaken:
	case err := <-served:
		return err
	}
	log.Info("agent is ready")
	if err := session.ready(ctx, m.agent, m.help); err != nil {
		return err
	}
	return <-served
}

// startGrace is how long New may take until clients are put off. It is less
// than a collector waits for an agent's first message.
const startGrace = time.Second

type madeAgent struct {
	agent Agent
	help  Texter // nil for none
	err   error
}

// make calls New, and passes the options of -D to the agent.
func (d *Daemon) make(s settings, out io.Writer, log *slog.Logger) <-chan madeAgent {
	c := make(chan madeAgent, 1)
	go func() {
		var m madeAgent
		m.err = protect(func() (err error) { m.agent, err = d.New(s.domain, log); return err })
		if p, ok := errors.AsType[*PanicError](m.err); ok {
			log.Error("agent panicked while it was made", "panic", fmt.Sprint(p.Value), "at", p.At)
		}
		if m.err == nil && m.agent == nil {
			m.err = errors.New("the function New made no agent")
		}
		if m.err == nil {
			if p, ok := m.agent.(DebugPrinter); ok {
				p.DebugTo(out)
			}
			if len(s.debug) > 0 {
				setDebug(m.agent, s.debug, log)
			}
			m.help = openHelp(s.helpFile, m.agent, d.Name, log)
			if s.list {
				d.list(s.domain, m.agent, log)
			}
		}
		c <- m
	}()
	return c
}

// setDebug passes debug options to the agent, and logs those that it does not
// know either, except "all".
func setDebug(a Agent, names []string, log *slog.Logger) {
	all := len(names) > 40
	if d, ok := a.(Debugger); ok {
		names = d.Debug(names)
	}
	if len(names) > 0 && !all {
		log.Warn("debug options that are not supported", "names", strings.Join(names, ","))
	}
}

// closeAgent calls the agent's Close if it has one.
func closeAgent(a Agent, err *error) {
	if c, ok := a.(io.Closer); ok {
		*err = errors.Join(*err, protect(c.Close))
	}
}

// openLog opens the log at path and writes its header; done writes its footer.
// If path cannot be opened, or is "-", stderr is the log.
func (d *Daemon) openLog(path string, stderr io.Writer) (w io.Writer, done func()) {
	if path != "-" {
		f, err := daemonlog.Open(path, d.Name)
		if err == nil {
			return f, func() {
				daemonlog.Footer(f)
				f.Close()
			}
		}
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = pcp.Error(-int32(errno))
		}
		fmt.Fprintf(stderr, "%s: cannot open log \"%s\" for writing : %v\n", d.Name, path, err)
	}
	daemonlog.Header(stderr, d.Name)
	return stderr, func() { daemonlog.Footer(stderr) }
}
