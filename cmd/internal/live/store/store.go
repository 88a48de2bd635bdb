package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmstore.
var Command = &cli.Command{
	Name:     "store",
	Link:     "pmstore",
	Group:    cli.Administer,
	Summary:  "change the value of a metric",
	Synopsis: "[options] metricname value",
	Doc: `
Changes the value of a metric whose agent allows it, and prints the value before
and after. Most metrics cannot be changed.`,
	Examples: []cli.Example{
		{Line: "pcp store sample.long.write_me 42", Text: "set a metric of the sample agent (pcp up --sample)"},
		{Line: "pcp store -i red simple.color 7", Text: "set one instance"},
	},
	SeeAlso: []string{"pminfo(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptDebug,
			cli.OptHost,
			cli.OptLocalPMDA,
			cli.OptSpecLocal,
			cli.OptNameSpace,
			cli.OptVersion,
			cli.OptHelp,
			cli.Heading("Value options"),
			{Short: 'F', Long: "fetch", Help: "perform pmFetch after pmStore to confirm value"},
			{Short: 'f', Long: "force", Help: "store the value even if there is no current value set"},
			{Short: 'i', Long: "insts", Arg: "INSTS", Help: "restrict store to comma-separated list of instances"},
		}
	},
	DieOnSignal: true,
	Run:         run,
}

type storer struct {
	env          *cli.Env
	force, fetch bool
	insts        []string // names, if restricted
	metric, text string

	log  *debug.Log
	c    *pmapi.Context
	desc pcp.Desc
}

func run(ctx context.Context, env *cli.Env) int {
	s := &storer{env: env}
	o := source.Parse(env, cli.ParseConfig{POSIX: true, Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'F':
			s.fetch = true
		case 'f':
			s.force = true
		case 'i':
			s.insts = append(s.insts, strings.FieldsFunc(arg, func(c rune) bool { return strings.ContainsRune(", \t\n", c) })...)
		default:
			return false
		}
		return true
	}})
	if len(o.Args) != 2 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	s.metric, s.text = o.Args[0], o.Args[1]
	c, err := s.connect(ctx, o)
	if err != nil {
		return 1
	}
	defer c.Close()
	s.c, s.log = c, o.DebugLog()
	return s.store(ctx)
}

// connect opens the source. If it returns an error, it has printed the reason.
func (s *storer) connect(ctx context.Context, o *source.Options) (*pmapi.Context, error) {
	if !o.Local {
		return o.Connect(ctx)
	}
	c, err := o.OpenLocal(ctx)
	if err != nil {
		s.env.Fatalf("Cannot make standalone local connection: %s", cli.ErrText(err))
	}
	return c, err
}

// fail prints on standard output, where pmstore's messages go, and returns 1.
func (s *storer) fail(format string, args ...any) int {
	fmt.Fprintf(s.env.Stdout, format+"\n", args...)
	return 1
}

func (s *storer) store(ctx context.Context) int {
	ids, err := s.c.LookupName(ctx, s.metric)
	if err != nil {
		s.fail("%s: pmLookupName: %s", s.metric, cli.ErrText(err))
		if errors.Is(err, pcp.ErrName) {
			source.Hint(ctx, s.env, s.c, s.metric)
		}
		return 1
	}
	if s.desc, err = s.c.LookupDesc(ctx, ids[0]); err != nil {
		return s.fail("%s: pmLookupDesc: %s", s.metric, cli.ErrText(err))
	}
	switch s.desc.Type {
	case pcp.TypeAggregate, pcp.TypeAggregateStatic:
		return s.env.Fatalf("Cannot modify values for PM_TYPE_AGGREGATE metrics")
	case pcp.TypeEvent, pcp.TypeHighResEvent:
		return s.env.Fatalf("Cannot modify values for event type metrics")
	}
	if status := s.restrict(ctx); status != 0 {
		return status
	}
	old, err := s.c.Fetch(ctx, ids)
	if err != nil {
		return s.fail("%s: pre pmFetch: %s", s.metric, cli.ErrText(err))
	}
	before := old.Sets[0].Values
	if err := old.Sets[0].Err; err != 0 {
		return s.fail("%s: Error: %s", s.metric, err)
	}
	v, status := s.parse()
	if status != 0 {
		return status
	}
	known := len(before) > 0
	if !known {
		if !s.force {
			return s.fail("%s: No value(s) available!", s.metric)
		}
		before = []pcp.Value{pcp.StringValue("(none)")}
		if s.desc.InDom != pcp.InDomNull {
			before[0].Inst = 0
		}
	}

	res := &pcp.Result{Time: old.Time}
	res.AddSet(ids[0])
	for i := range before {
		res.Add(v.WithInst(before[i].Inst))
	}
	if err := s.c.Store(ctx, res); err != nil {
		return s.fail("%s: new value=\"%s\" pmStore: %s", s.metric, s.text, cli.ErrText(err))
	}
	after := res.Sets[0].Values
	if s.fetch {
		now, err := s.c.Fetch(ctx, ids)
		if err != nil {
			return s.fail("%s: post pmFetch: %s", s.metric, cli.ErrText(err))
		}
		after = now.Sets[0].Values
	}
	s.print(ctx, before, after, known)
	return 0
}

// restrict limits the fetch, and so the store, to the instances asked for.
func (s *storer) restrict(ctx context.Context) int {
	if s.insts == nil {
		return 0
	}
	s.c.DelProfile(s.desc.InDom)
	for _, name := range s.insts {
		inst, err := s.c.LookupInDom(ctx, s.desc.InDom, name)
		if err != nil {
			return s.fail("pmLookupInDom %s[%s]: %s", s.metric, name, cli.ErrText(err))
		}
		if err := s.c.AddProfile(s.desc.InDom, inst); err != nil {
			return s.fail("pmAddProfile %s[%s]: %s", s.metric, name, cli.ErrText(err))
		}
	}
	return 0
}

func (s *storer) parse() (pcp.Value, int) {
	v, err := pcp.ParseValue(s.text, s.desc.Type)
	switch {
	case err == nil:
		return v, 0
	case errors.Is(err, pcp.ErrType):
		fmt.Fprintf(s.env.Stderr, "The value \"%s\" is incompatible with the data type (PM_TYPE_%s)\n", s.text, s.desc.Type)
	case errors.Is(err, syscall.ERANGE):
		fmt.Fprintf(s.env.Stderr, "The value \"%s\" is out of range for the data type (PM_TYPE_%s)\n", s.text, s.desc.Type)
	default:
		s.env.Fatalf("cannot convert string value \"%s\": %s", s.text, cli.ErrText(err))
	}
	return v, 1
}

// print shows the new values, each with the old one in the same place.
func (s *storer) print(ctx context.Context, before, after []pcp.Value, known bool) {
	var b []byte
	loc := s.env.Local()
	for i := range after {
		b = append(b, s.metric...)
		if s.desc.InDom != pcp.InDomNull {
			if name, err := s.c.NameInDom(ctx, s.desc.InDom, after[i].Inst); err == nil {
				b = fmt.Appendf(b, " inst [%d or \"%s\"]", after[i].Inst, name)
			} else {
				b = fmt.Appendf(b, " inst [%d]", after[i].Inst)
			}
		}
		b = append(b, " old value="...)
		switch {
		case !known:
			b = append(b, `"(none)"`...)
		case i < len(before):
			report.TracePrint(s.log, &before[i], s.desc.Type)
			b = report.AppendValue(b, s.env, &before[i], s.desc.Type, 1, loc)
		default:
			b = append(b, '?') // an instance that appeared
		}
		b = append(b, " new value="...)
		report.TracePrint(s.log, &after[i], s.desc.Type)
		b = report.AppendValue(b, s.env, &after[i], s.desc.Type, 1, loc)
		b = append(b, '\n')
	}
	s.env.Stdout.Write(b)
}
