package agentadmin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/agentlink"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// answerTimeout is a collector's time limit for an agent's answer.
const answerTimeout = pmcd.DefaultAgentTimeout

var testCommand = &cli.Command{
	Name:     "agent test",
	Summary:  "send an agent all requests of a collector and report mistakes",
	Synopsis: "[options] name | command [argument]...",
	Examples: []cli.Example{
		{Line: "pcp agent test ./pmdahello", Text: "send an agent all requests of a collector"},
		{Line: "pcp agent test simple", Text: "test a configured or built-in agent"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			optConfig,
			optDomain,
			cli.OptNameSpace,
			{Long: "timeout", Arg: "N", Help: "seconds that an answer may take [default 5]"},
			cli.OptJSON,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         runTest,
}

// A tester holds the arguments of "agent test".
type tester struct {
	env     *cli.Env
	path    string // of the configuration
	domain  int    // 0: not known
	names   string // name-space file, "" for none
	timeout time.Duration
	json    bool
}

func runTest(ctx context.Context, env *cli.Env) int {
	t := tester{env: env, path: confPath(env), timeout: answerTimeout}
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "config":
			t.path = arg
		case "domain":
			t.domain = parseDomain(o, arg)
		case "namespace":
			t.names = arg
		case "timeout":
			n, ok := cli.Atoi(arg)
			if !ok || n < 1 || n > 3600 {
				o.Usagef("--timeout needs a number of seconds, not %q", arg)
			}
			t.timeout = time.Duration(n) * time.Second
		default:
			return false
		}
		return true
	}})
	t.json = o.JSON
	if !o.WantsVersion() && !o.Errors() && len(o.Args) == 0 {
		o.Usagef("which agent?")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	var tree *pmns.Tree
	if t.names != "" {
		loader := pmns.Loader{DupOK: true, Config: env.Config(), Stderr: env.Stderr}
		var err error
		if tree, err = loader.Load(t.names); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	rep, err := t.test(ctx, o.Args, tree)
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	return t.print(rep)
}

// test starts the agent that the arguments select and queries it.
func (t *tester) test(ctx context.Context, args []string, tree *pmns.Tree) (*report, error) {
	b, command, err := t.find(args)
	if err != nil {
		return nil, err
	}
	rep := &report{Agent: args[0]}
	if command == nil {
		log := slog.New(daemonlog.NewHandler(t.env.Stderr, b.Name, slog.LevelWarn))
		a, err := b.Open(builtin.Env{Domain: t.domain, Version: t.env.Version, Config: t.env.Config(), Args: args[1:], Log: log})
		if err != nil {
			rep.problem("", "cannot be made: %v", err)
			return rep, nil
		}
		if n, ok := a.(pmda.NameSpacer); ok && tree == nil {
			tree = n.NameSpace()
		}
		c := agentlink.ServeAgent(ctx, b.Name, a, t.env.Config(), log)
		if t.domain == 0 {
			t.domain = b.Domain
		}
		newProbe(t, c, rep).run(tree)
		c.Close()
		return rep, nil
	}
	rep.Agent = agentName(command)
	if t.domain == 0 {
		t.domain = domainOf(command[1:])
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = t.env.ChildStderr()
	cmd.WaitDelay = time.Second // for output of its children
	c, err := agentlink.Start(cmd)
	if err != nil {
		return nil, err
	}
	gone := newProbe(t, c, rep).run(tree)
	c.Close()
	timer := time.NewTimer(t.timeout) // for an answer, or to end
	defer timer.Stop()
	select {
	case <-c.Exited():
		if errors.Is(gone, io.EOF) {
			rep.problem("", "its program ended with %v", cmd.ProcessState)
		}
	case <-timer.C:
		cmd.Process.Kill()
		<-c.Exited()
		rep.problem("", "its program did not end when the collector closed the connection, and was killed")
	}
	return rep, nil
}

// find returns the agent of this program that args select, or a command.
func (t *tester) find(args []string) (b builtin.Spec, command []string, err error) {
	name := args[0]
	if strings.Contains(name, "/") {
		return b, args, nil
	}
	if b, ok := agent.Named(name); ok && b.OfCollector {
		return b, nil, errors.New("pmcd reports on the collector that it is part of, and cannot be tested without")
	}
	b, ok := agentlink.Builtin(name)
	if ok && b.Name == name && (len(args) == 1 || b.Program.Args != "") {
		return b, nil, nil
	}
	if c, err := readConf(t.path); err == nil && len(args) == 1 {
		if i := max(c.find(name, false), c.find(name, true)); i >= 0 {
			return t.configured(*c.lines[i].spec)
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return b, nil, fmt.Errorf("%s is no agent of this program (%s), not in %s, and no command: %s",
			name, strings.Join(agentlink.Builtins(), " "), t.path, lookErr(err))
	}
	return b, append([]string{path}, args[1:]...), nil
}

// configured returns the agent of a line of the configuration.
func (t *tester) configured(spec conf.Agent) (b builtin.Spec, command []string, err error) {
	if t.domain == 0 {
		t.domain = spec.Domain
	}
	switch spec.Kind {
	case conf.Pipe:
		return b, spec.Args, nil
	case conf.DSO:
		b, ok := agent.ForDSO(spec.Entry, spec.Path)
		if !ok || b.OfCollector {
			return b, nil, fmt.Errorf("agent %s: %s is not built in and cannot be loaded", spec.Name, spec.Path)
		}
		return b, nil, nil
	}
	return b, nil, fmt.Errorf("agent %s is reached by a socket, which is not supported: name its command, with options for a pipe", spec.Name)
}

// A finding is a remark about the agent.
type finding struct {
	Subject string `json:"subject,omitempty"` // metric or instance domain; "" means the agent itself
	Text    string `json:"text"`
}

// A report is the result of a test.
type report struct {
	Agent    string    `json:"agent"`
	Domain   int       `json:"domain"`
	Metrics  int       `json:"metrics"`
	InDoms   int       `json:"indoms"`
	Values   int       `json:"values"`
	Problems []finding `json:"problems"`
	Notes    []finding `json:"notes"`
}

func (r *report) problem(subject, format string, args ...any) {
	r.Problems = append(r.Problems, finding{subject, fmt.Sprintf(format, args...)})
}

func (r *report) note(subject, format string, args ...any) {
	r.Notes = append(r.Notes, finding{subject, fmt.Sprintf(format, args...)})
}

// print writes the report, and returns the exit status.
func (t *tester) print(r *report) int {
	status := 0
	if len(r.Problems) > 0 {
		status = 1
	}
	out := t.env.Stdout
	if t.json {
		r.Problems = append([]finding{}, r.Problems...) // [] and not null
		r.Notes = append([]finding{}, r.Notes...)
		out.Write(pcpjson.Line(r))
		return status
	}
	list := func(kind string, found []finding) {
		for _, f := range found {
			subject := f.Subject
			if subject == "" {
				subject = r.Agent
			}
			fmt.Fprintf(out, "%s: %s: %s\n", kind, subject, f.Text)
		}
	}
	list("note", r.Notes)
	list("problem", r.Problems)
	domain := "domain unknown"
	if r.Domain != 0 {
		domain = fmt.Sprintf("domain %d", r.Domain)
	}
	fmt.Fprintf(out, "%s: %s, %s, %s, %s: %s\n", r.Agent, domain, count(r.Metrics, "metric"),
		count(r.InDoms, "instance domain"), count(r.Values, "value"), count(len(r.Problems), "problem"))
	return status
}
