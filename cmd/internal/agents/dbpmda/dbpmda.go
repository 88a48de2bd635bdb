package dbpmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/agentlink"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

const (
	// credsTimeout is the time limit for an agent to announce its version.
	credsTimeout = 3 * time.Second
	// answerTimeout is the time limit for an agent to answer a script. An interactive
	// user can interrupt, and may want to wait with the agent in a debugger.
	answerTimeout = time.Minute
)

// Command is dbpmda.
var Command = &cli.Command{
	Name:    "dbpmda",
	Link:    "dbpmda",
	Group:   cli.WriteAgent,
	Summary: "debug an agent: send it requests and print its answers",
	Doc: `Communicates with one agent like a collector: opens it in this process, through a pipe or a socket,
sends it the typed requests, and prints its answers. "help" lists the commands.`,
	Examples: []cli.Example{
		{Line: `pcp dbpmda -n root`, Text: `start, and then type: open pipe ./pmdamine`},
		{Line: `printf 'open dso pmda_sample.so sample_init 29\nfetch sample.long.one\n' | pcp dbpmda`, Text: `run a script of requests`},
	},
	SeeAlso: []string{"pcp-agent-test(1)", "pmcd(1)"},
	Debug:   []string{"context", "pdu", "profile"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptDebug,
			cli.OptNameSpace,
			{Short: 'f', Long: "norc", Help: "skip .dbpmdarc processing"},
			{Short: 'q', Long: "creds-timeout", Arg: "N", Help: "initial negoptionsotiation timeout (seconds)"},
			{Short: 'U', Long: "username", Arg: "USER", Help: "run under named user account"},
			{Short: 'v', Long: "valgrind", Help: "running under valgrind, don't dlclose() dso PMDAs"},
			{Long: "timeout", Arg: "N", Help: "give an agent up that takes more than N seconds to answer, 0 never", Extra: true},
			cli.OptHelp,
			cli.Heading("Input options"),
			{Short: 'e', Long: "echo-input", Help: "echo input"},
			{Short: 'i', Long: "interactive", Help: "be interactive and prompt"},
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// A session is one run of the program.
type session struct {
	ctx  context.Context
	env  *cli.Env
	out  io.Writer
	loc  *time.Location
	in   *input
	conn *agentlink.Conn // nil if no agent is open

	credsTimeout, timeout time.Duration

	names    string // the file of the name space, "" for the installed one
	commands string // the file that a command named
	tree     *pmns.Tree

	profile                  pcp.Profile
	profileChanged           bool
	timer, getDesc, getIname bool
	debug                    map[string]bool
}

func (s *session) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

func (s *session) flush() { s.env.FlushOut() }

// errorf writes to standard error, after flushing standard output.
func (s *session) errorf(format string, args ...any) {
	s.flush()
	fmt.Fprintf(s.env.Stderr, format, args...)
}

func (s *session) debugs(names []string, on bool) {
	for _, name := range names {
		s.debug[name] = on
	}
}

// debugging returns the set debug options, in order.
func (s *session) debugging() []string {
	all, _ := debug.Parse("all")
	return slices.DeleteFunc(all, func(name string) bool { return !s.debug[name] })
}

func run(ctx context.Context, env *cli.Env) int {
	s := &session{ctx: ctx, env: env, out: env.Stdout, loc: env.Local(), credsTimeout: credsTimeout, debug: map[string]bool{}}
	tty := terminal(env)
	echo, prompt, norc := false, tty != nil, false
	if tty == nil {
		s.timeout = answerTimeout
	}
	var identity error
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch {
		case opt.Short == 'D':
			names, ok := debug.Parse(arg)
			if !ok {
				s.errorf("%s: unrecognized debug flag specification (%s)\n", env.ProgName(), arg)
				o.WantUsage()
			}
			s.debugs(names, true)
		case opt.Short == 'n':
			s.names = arg
		case opt.Short == 'f':
			norc = true
		case opt.Short == 'q':
			s.credsTimeout = time.Duration(o.Number(opt, arg, 1, "a positive numeric")) * time.Second
		case opt.Short == 'U':
			if identity == nil {
				identity = pmda.SetProcessIdentity(arg, env.Getenv)
			}
		case opt.Short == 'v':
			// Our agents cannot be unloaded.
		case opt.Long == "timeout":
			n, ok := cli.Atoi(arg)
			if !ok || n < 0 {
				o.Usagef("--timeout requires a number of seconds")
			}
			s.timeout = time.Duration(n) * time.Second
		case opt.Short == 'e':
			echo = true
		case opt.Short == 'i':
			prompt = true
		default:
			return false
		}
		return true
	}})
	if identity != nil {
		return env.Fatalf("%v", identity)
	}
	if len(o.Args) > 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	s.debugs(o.Debug(), true)
	if !s.loadFirst() {
		return 1
	}
	s.resetProfile()
	s.in = newInput(s, echo, prompt, norc, tty)
	s.loop()
	s.closeConn()
	if err := s.in.err; err != nil {
		return env.Fatalf("input: %v", err)
	}
	s.flush()
	return 0
}

// loop executes commands until the input ends, or a command ends the session.
func (s *session) loop() {
	p := &parser{session: s, lex: newLexer(s.in)}
	for s.ctx.Err() == nil {
		execute, err := p.statement()
		if errors.Is(err, errSyntax) {
			s.in.errorf("syntax error")
		}
		if s.in.ended() {
			if s.in.prompting() {
				s.printf("\n")
			}
			return
		}
		if err == errQuit {
			return
		}
		if err == nil && execute != nil {
			execute()
		}
	}
}

// loadFirst loads the initial name space.
func (s *session) loadFirst() bool {
	tree, err := s.load(s.names)
	if err != nil {
		if s.names == "" {
			s.env.Fatalf("Cannot load default namespace: %s", pcp.Code(err))
		} else {
			s.env.Fatalf("Cannot load namespace from \"%s\": %s", s.names, pcp.Code(err))
		}
		return false
	}
	s.tree = tree
	return true
}

func (s *session) load(path string) (*pmns.Tree, error) {
	l := &pmns.Loader{DupOK: true, Config: s.env.Config(), Stderr: s.env.Stderr}
	tree, err := l.Load(path)
	var pe *pmns.ParseError
	if errors.As(err, &pe) {
		s.errorf("%s", pe.Diagnostic)
	}
	return tree, err
}

// loadNames is the command namespace. If it fails, it restores the initial name space.
func (s *session) loadNames(path string) {
	s.commands = path
	tree, err := s.load(path)
	if err == nil {
		s.tree = tree
		return
	}
	s.errorf("%s: Cannot load namespace from \"%s\": %s\n", s.env.ProgName(), path, pcp.Code(err))
	if s.names == "" {
		s.errorf("%s: Reload default namespace\n", s.env.ProgName())
	} else {
		s.errorf("%s: Reload namespace from \"%s\"\n", s.env.ProgName(), s.names)
	}
	if tree, err := s.load(s.names); err == nil {
		s.tree = tree
	}
}

func (s *session) resetProfile() {
	trace := func(when string) {
		if s.debug["profile"] {
			s.flush()
			fmt.Fprintf(s.env.Stderr, "%s reset_profile ...\n", when)
			s.dumpProfile(s.env.Stderr)
		}
	}
	trace("Before")
	s.profile = pcp.Profile{}
	s.profileChanged = true
	trace("After")
}

func (s *session) dumpProfile(w io.Writer) {
	state := func(p pcp.ProfileState) string {
		if p == pcp.ProfileInclude {
			return "INCLUDE"
		}
		return "EXCLUDE"
	}
	fmt.Fprintf(w, "Dump Instance Profile state=%s, %d profiles\n", state(s.profile.State), len(s.profile.InDoms))
	for i, d := range s.profile.InDoms {
		fmt.Fprintf(w, "\tProfile [%d] indom=%d [%s] state=%s %d instances\n", i, int32(d.InDom), d.InDom, state(d.State), len(d.Insts))
		if len(d.Insts) > 0 {
			fmt.Fprintf(w, "\t\tInstances:")
			for _, inst := range d.Insts {
				fmt.Fprintf(w, " [%d]", inst)
			}
			fmt.Fprintln(w)
		}
	}
}

// status is the command status.
func (s *session) status() {
	names := s.commands
	if names == "" {
		names = s.names
	}
	if names == "" {
		names = "(default)"
	}
	s.printf("\nNamespace:              %s\n", names)
	if c := s.conn; c == nil {
		s.printf("PMDA:                   none\n")
	} else {
		s.printf("PMDA:                   %s\n", c.Name)
		if c.InProc {
			s.printf("Connection:             dso\n")
			s.printf("DSO Interface Version:  %d\n", dsoInterface)
		} else {
			s.printf("Connection:             daemon (pid: %d)\n", c.Pid)
		}
		if c.Version == 0 {
			s.printf("PMDA PMAPI Version:     unknown!\n")
		} else {
			s.printf("PMDA PMAPI Version:     %d\n", c.Version)
		}
	}
	all, _ := debug.Parse("all")
	set := s.debugging()
	on := " " + strings.Join(set, " ")
	switch len(set) {
	case 0:
		on = " (none)"
	case len(all):
		on = " (all)"
	}
	s.printf("Debug options:         %s\n", on)
	for _, o := range []struct {
		title string
		on    bool
	}{{"Timer:", s.timer}, {"Getdesc:", s.getDesc}, {"Getiname:", s.getIname}} {
		state := "off"
		if o.on {
			state = "on"
		}
		s.printf("%-24s%s\n", o.title, state)
	}
	s.printf("\n")
	s.dumpProfile(s.out)
	s.printf("\n")
}

// watch shows the end of a log in a new window.
func (s *session) watch(path string) {
	s.flush()
	cmd := exec.Command("xterm", "-hold", "-title", "dbpmda watch "+path, "-geom", "80x16", "-bg", "dodgerblue4",
		"-e", "tail", "-f", path)
	cmd.Stderr = s.env.ChildStderr()
	if err := cmd.Start(); err != nil {
		s.errorf("watch cmd: %v\n", err)
		return
	}
	go cmd.Wait() // the user closes it
}
