package agentadmin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd/conf"
)

// listTimeout is the time limit for the collector to report its agents.
const listTimeout = 10 * time.Second

var listCommand = &cli.Command{
	Name:     "agent list",
	Summary:  "list configured, built-in and running agents",
	Synopsis: "[options]",
	Doc: `
Lists built-in agents and the agents in pmcd.conf, and whether they run.`,
	Examples: []cli.Example{
		{Line: "pcp agent list", Text: "list the agents of this machine"},
		{Line: "pcp agent list -h localhost:44399", Text: "list the running agents of another collector"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			optConfig,
			cli.OptHost,
			cli.OptJSON,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         runList,
}

// A row is an agent of the list.
type row struct {
	Domain  int    `json:"domain"`
	Name    string `json:"agent"`
	How     string `json:"how"`     // "in process", "pipe", "socket", "dso"
	State   string `json:"state"`   // "running", ...; "unknown" without a collector
	Running *bool  `json:"running"` // nil: unknown
	Comment string `json:"comment,omitempty"`
}

func runList(ctx context.Context, env *cli.Env) int {
	path, given := confPath(env), false
	o := source.Parse(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		if opt.Long != "config" {
			return false
		}
		path, given = arg, true
		return true
	}})
	if len(o.Args) > 0 {
		o.Usagef("too many arguments")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	status := 0
	c, err := readConf(path)
	unconfigured := errors.Is(err, fs.ErrNotExist) && !given
	if unconfigured {
		c = parseConf(path, "")
	} else if err != nil {
		status = env.Fatalf("%s", cli.FileErrText(err))
		c = parseConf(path, "")
	} else if _, err := conf.Parse(strings.NewReader(c.text())); err != nil {
		if ferr, ok := errors.AsType[*conf.Error](err); ok && ferr.Harmless {
			fmt.Fprintf(env.Stderr, "%s: %s has rules that do not count:\n%v\n", env.ProgName(), path, err)
		} else {
			status = env.Fatalf("%s has errors:\n%v", path, err)
		}
	}
	states, err := agentStates(ctx, o)
	if err != nil {
		env.Fatalf("what runs is not known: %s", o.WhyNoCollector(o.Host(), err))
	}
	for i, r := range rows(c, states) {
		if o.JSON {
			env.Stdout.Write(pcpjson.Line(r))
			continue
		}
		if i == 0 {
			fmt.Fprintf(env.Stdout, "%6s  %-16s %-10s  %-12s %s\n", "domain", "name", "how", "state", "comment")
		}
		text := fmt.Sprintf("%6d  %-16s %-10s  %-12s %s", r.Domain, r.Name, r.How, r.State, r.Comment)
		fmt.Fprintln(env.Stdout, strings.TrimRight(text, " "))
	}
	if unconfigured && !o.JSON {
		fmt.Fprintf(env.Stdout, "\nThere is no %s; \"%s up\" does not need it and runs %s.\n", path, env.Pcp(), strings.Join(usual(), ", "))
	}
	return status
}

// usual returns the agents of a collector without a configuration.
func usual() []string {
	var names []string
	for _, b := range agent.Builtins() {
		if !b.Sample && !b.Asked && !b.Sought() {
			names = append(names, b.Name)
		}
	}
	return names
}

// An agentState is a collector's state of an agent.
type agentState struct{ domain, kind, status int }

// agentStates asks the collector for its agents.
func agentStates(ctx context.Context, o *source.Options) (map[string]agentState, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	c, err := o.Dial(ctx, o.Host())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return statesOf(ctx, c)
}

func statesOf(ctx context.Context, c *pmapi.Context) (map[string]agentState, error) {
	ids, err := c.LookupName(ctx, "pmcd.agent.status", "pmcd.agent.type")
	if err != nil {
		return nil, err
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return nil, err
	}
	list, err := c.GetInDom(ctx, desc.InDom)
	if err != nil {
		return nil, err
	}
	number := func(set pcp.ValueSet, t pcp.Type, inst int32) (int, bool) {
		for _, v := range set.Values {
			if v.Inst == inst {
				return int(int32(v.As(t).Bits())), true
			}
		}
		return 0, false
	}
	states := make(map[string]agentState)
	for _, in := range list {
		s := agentState{domain: int(in.Inst)}
		var ok bool
		if s.status, ok = number(res.Sets[0], pcp.Type32, in.Inst); !ok {
			continue
		}
		s.kind, _ = number(res.Sets[1], pcp.TypeU32, in.Inst)
		states[in.Name] = s
	}
	return states, nil
}

// whyNot returns a hint how to run an inactive agent of this program.
func whyNot(b builtin.Spec) string {
	enable := fmt.Sprintf("\"pcp agent enable %s\" has pmcd run it", b.Name)
	switch {
	case b.Asked:
		return "; " + enable
	case b.Sample:
		return "; pcp up --sample runs it"
	case b.Source != "":
		return "; pcp up runs it if there is " + b.Source + ", " + enable
	case len(b.Programs) > 0:
		return "; pcp up runs it if the service answers, " + enable
	}
	return "; pcp up runs it, " + enable
}

// rows makes the list: the file's agents, this program's, and others that are running.
func rows(c *confFile, states map[string]agentState) []row {
	var list []row
	seen := make(map[string]bool)
	add := func(r row, configured bool) {
		seen[r.Name] = true
		r.setState(states, configured)
		list = append(list, r)
	}
	for _, l := range c.lines {
		if l.spec != nil && !l.disabled && !seen[l.spec.Name] {
			add(configuredRow(*l.spec), true)
		}
	}
	for _, l := range c.lines {
		if l.spec != nil && l.disabled && !seen[l.spec.Name] {
			r := configuredRow(*l.spec)
			r.Comment = "disabled"
			add(r, false)
		}
	}
	for _, b := range agent.Builtins() {
		if seen[b.Name] {
			continue
		}
		r := row{Domain: b.Domain, Name: b.Name, How: "in process", Comment: "built in"}
		if b.Sample {
			r.Comment += ", to test and to learn from"
		}
		add(r, false)
		if r := &list[len(list)-1]; r.State == "-" {
			r.Comment += whyNot(b)
		}
	}
	for name, s := range states {
		if !seen[name] {
			how := [...]string{"dso", "socket", "pipe"}
			r := row{Domain: s.domain, Name: name, How: "unknown", Comment: "not in " + c.path}
			if k := s.kind >> 1; k >= 0 && k < len(how) {
				r.How = how[k]
			}
			add(r, false)
		}
	}
	slices.SortStableFunc(list, func(a, b row) int {
		if a.Domain != b.Domain {
			return a.Domain - b.Domain
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

func configuredRow(spec conf.Agent) row {
	r := row{Domain: spec.Domain, Name: spec.Name, How: spec.Kind.String(), Comment: strings.Join(spec.Args, " ")}
	switch spec.Kind {
	case conf.DSO:
		r.Comment = spec.Path
		if b, ok := agent.ForDSO(spec.Entry, spec.Path); ok {
			r.How = "in process"
			r.Comment = ""
			if b.Name != spec.Name {
				r.Comment = "built in as " + b.Name
			}
		} else {
			r.Comment += ": not built in, only a C collector loads it"
		}
	case conf.Socket:
		r.Comment = strings.TrimSpace(spec.Address + " " + r.Comment)
	}
	return r
}

// setState sets the state from the collector; an agent that is not configured need not
// run.
func (r *row) setState(states map[string]agentState, configured bool) {
	if states == nil {
		r.State = "unknown"
		return
	}
	s, known := states[r.Name]
	running := known && s.status == 0
	r.Running = &running
	switch {
	case running:
		r.State = "running"
	case known && s.status == 1:
		r.State = "not ready"
	case known:
		r.State = "stopped"
		if s.status&0xff00 != 0 {
			r.State = fmt.Sprintf("exited %d", s.status>>8&0xff)
		} else if s.status&0xff0000 != 0 {
			r.State = fmt.Sprintf("signal %d", s.status>>16&0xff)
		}
	case configured:
		r.State = "not started"
	default:
		r.State = "-"
	}
}
