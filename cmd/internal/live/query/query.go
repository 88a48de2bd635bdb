package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/period"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/recorded"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/daemonlog"
	files "github.com/go-pcp/pcp/internal/storage"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp query.
var Command = &cli.Command{
	Name:     "query",
	Group:    cli.SeePast,
	Summary:  "evaluate PromQL over archives and collectors",
	Synopsis: "[options] EXPR",
	Doc: `Evaluates an expression of PromQL, the language of Prometheus, with the engine of Prometheus, and prints the result: the values
at one time, or with -S, -T or -t a table of values over time.

Metrics have the names that /metrics has: disk.dev.read is disk_dev_read, its instances have the labels instname and instid, and the labels of
PCP are labels. A value is current for five minutes, but not after a mark record, nor after its instance is gone.

With -a it reads archives, or directories of archives of any number of hosts. Without -a it reads the collector of this host and the
recorded archives of this host. Times are those of other commands (-S -1hour, -T @10:30), RFC 3339, or seconds since 1970. Without -O the expression is evaluated at the
end of the archives, or now.`,
	Examples: []cli.Example{
		{Line: "pcp query 'rate(disk_dev_read[5m])' -a 20261121", Text: "print the rates at the end of an archive"},
		{Line: "pcp query 'topk(3, kernel_all_load)' -a /var/log/pcp/pmlogger -S -1hour -t 5min", Text: "print an hour of all hosts"},
		{Line: "pcp query 'kernel_all_load{instname=\"1 minute\"}'", Text: "print the load of this host, now"},
		{Line: "pcp query --json 'hinv_ncpu' -h www", Text: "write JSON, as the interface of Prometheus does"},
	},
	SeeAlso: []string{"pcp help series", "pcp help proxy"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptArchive,
			cli.OptHost,
			cli.OptDebug,
			cli.Heading("Time options"),
			{Short: 'O', Long: "origin", Arg: "TIME", Help: "evaluate at this time"},
			{Short: 'S', Long: "start", Arg: "TIME", Help: "start of the table"},
			{Short: 'T', Long: "end", Arg: "TIME", Help: "end of the table"},
			{Short: 't', Long: "step", Arg: "DELTA", Help: "time between its rows [default a sixtieth of it]"},
			{Long: "lookback", Arg: "DELTA", Help: "time for which a value is current [default 5min]"},
			cli.OptTimeZone,
			cli.Heading("Output options"),
			{Long: "json", Help: "write JSON"},
			{Long: "plot", Help: "draw a line for each series in place of the table"},
			cli.OptVersion,
			cli.OptHelp,
			// The names in other commands.
			{Long: "finish", Arg: "TIME"},
			{Long: "interval", Arg: "DELTA"},
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// A request is a run of the command.
type request struct {
	env *cli.Env
	o   *source.Options

	expr             string
	start, end, when *string
	step, lookback   time.Duration
	json, plot       bool
	loc              *time.Location
}

func (r *request) own(o *cli.Options, opt *cli.Option, arg string) bool {
	interval := func(to *time.Duration) {
		d, err := pcptime.ParseInterval(arg)
		if err != nil || d <= 0 {
			o.Usagef("--%s needs a time such as 30s or 5min, not %q", opt.Long, arg)
			return
		}
		*to = d
	}
	switch opt.Long {
	case "origin":
		r.when = &arg
	case "start":
		r.start = &arg
	case "end", "finish":
		r.end = &arg
	case "step", "interval":
		interval(&r.step)
	case "lookback":
		interval(&r.lookback)
	case "json":
		r.json = true
	case "plot":
		r.plot = true
	default:
		return false
	}
	return true
}

// ranged reports whether values over time are wanted.
func (r *request) ranged() bool { return r.start != nil || r.end != nil || r.step > 0 }

func run(ctx context.Context, env *cli.Env) int {
	r := &request{env: env, loc: env.Local()}
	r.o = source.Parse(env, cli.ParseConfig{Own: r.own, Archives: true})
	o := r.o
	if status, exit := o.Done(); exit {
		return status
	}
	switch {
	case len(o.Args) == 0:
		o.Usagef("an expression is needed, such as 'rate(disk_dev_read[5m])'")
	case len(o.Args) > 1:
		o.Usagef("one expression can be evaluated; quote it, as '%s'", strings.Join(o.Args, " "))
	default:
		r.expr = o.Args[0]
	}
	if r.when != nil && r.ranged() {
		o.Usagef("-O and -S, -T or -t cannot be used together")
	}
	if r.plot && r.json {
		o.Usagef("--json and --plot cannot be used together")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if o.TimeZoneSet {
		r.loc = pcptime.Zone(o.TimeZone)
	}
	if _, err := store.NewParser().ParseExpr(r.expr); err != nil { // before a connection is made
		return env.Fatalf("%v", err)
	}
	src, err := r.open(ctx)
	if err != nil {
		return env.Fatalf("%s", cli.ErrText(err))
	}
	defer src.close()
	return r.evaluate(ctx, src)
}

// A place is what expressions are evaluated over.
type place struct {
	storage.Queryable
	first, last time.Time // of the archives
	closers     []func()
}

func (p *place) close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
}

// open opens the archives and the collector that the options name.
func (r *request) open(ctx context.Context) (p *place, err error) {
	o, env := r.o, r.env
	p = &place{last: time.Now()}
	p.first = p.last.Add(-time.Hour)
	dial := func(ctx context.Context) (*pmapi.Context, error) {
		c, err := o.Dial(ctx, o.Host())
		if err != nil {
			env.Advise(nil)
			return nil, fmt.Errorf("%s", o.WhyNoCollector(o.Host(), err))
		}
		return c, nil
	}
	var connected *pmapi.Context // by reach; the first context of live
	live := store.NewLive(store.LiveConfig{Open: func(ctx context.Context) (*pmapi.Context, error) {
		if c := connected; c != nil {
			connected = nil
			return c, nil
		}
		return dial(ctx)
	}})
	// reach fails if no collector answers, where nothing else can answer.
	reach := func() error {
		if connected, err = dial(ctx); err != nil {
			p.close()
			return err
		}
		p.closers = append(p.closers, func() {
			if connected != nil {
				connected.Close()
			}
		})
		return nil
	}
	p.closers = append(p.closers, func() { live.Close() })
	if !o.FromArchive() && len(o.Hosts) > 0 {
		if err := reach(); err != nil {
			return nil, err
		}
		p.Queryable = live
		return p, nil
	}
	var named []string
	cfg := archives.Config{Interval: -1, Log: slog.New(daemonlog.NewHandler(env.Stderr, env.ProgName(), slog.LevelError))}
	if o.FromArchive() {
		for _, list := range o.Archives {
			cfg.Dirs = append(cfg.Dirs, strings.Split(list, ",")...)
		}
		named = cfg.Dirs
		cfg.Dirs = r.narrow(cfg.Dirs)
		for _, dir := range cfg.Dirs {
			if period.StepOf(files.Join(dir, "x")) > 0 {
				named = append(named, dir)
			}
		}
		if err := r.check(cfg.Dirs); err != nil {
			p.close()
			return nil, err
		}
	} else {
		list := recorded.ListOf(env, recorded.DefaultServer)
		cfg.Dirs, cfg.Index = append(recorded.Dirs(env, true), list.Paths()...), list.Index()
	}
	ser, err := open(ctx, cfg)
	if err != nil {
		p.close()
		return nil, err
	}
	p.closers = append(p.closers, func() { ser.Close() })
	past := store.New(ser, store.Config{Lookback: r.lookback})
	first, last, ok := ser.Span()
	if !o.FromArchive() {
		if !ok {
			if err := reach(); err != nil {
				return nil, err
			}
		}
		p.Queryable = store.Both(past, live)
		return p, nil
	}
	p.Queryable = past
	damaged := ser.Damaged()
	for _, path := range slices.Sorted(maps.Keys(damaged)) {
		if !inDir(path, named) || !ok {
			p.close()
			return nil, errors.New(damaged[path])
		}
		env.FlushOut()
		fmt.Fprintf(env.Stderr, "%s: note: an archive is left out: %s\n", env.ProgName(), damaged[path])
	}
	if !ok {
		p.close()
		return nil, fmt.Errorf("%s: the directory has no archives", strings.Join(cfg.Dirs, ", "))
	}
	p.first, p.last = stamp(first), stamp(last.Add(time.Millisecond-1)).Truncate(time.Millisecond) // the engine knows milliseconds
	return p, nil
}

// narrow adds the directories of roll-ups, and replaces directories in stores by those of their archives that the expression needs, if
// its times are dates.
func (r *request) narrow(dirs []string) []string {
	from, to, dated := r.period()
	var list []string
	for _, dir := range dirs {
		if _, _, file := archive.BaseName(path.Base(dir)); file {
			list = append(list, dir)
			continue
		}
		var found []period.Archive
		ok := false
		if dated {
			found, ok = period.Archives(dir, from, to)
		}
		if !ok {
			list = append(list, dir)
		}
		for _, a := range found {
			list = append(list, a.Path)
		}
		// Of a store they are looked for only if they are needed.
		if ok && found[0].Start.Compare(from) <= 0 && period.Best(r.step, time.Duration(to.Sub(from)*float64(time.Second))) == 0 {
			continue
		}
		for _, level := range period.RollUps(dir) {
			if found, ok := period.Archives(level, from, to); ok && dated {
				for _, a := range found {
					list = append(list, a.Path)
				}
				continue
			}
			list = append(list, level)
		}
	}
	return list
}

// period returns the times that the expression needs, and false if they depend on the archives.
func (r *request) period() (from, to pcp.Timestamp, ok bool) {
	var start, end time.Time
	date := func(text string, first *pcp.Timestamp) (time.Time, bool) {
		if t, ok := r.fixed(text); ok {
			return t, true
		}
		t, ok := period.Date(text, first, r.loc)
		return stamp(t), ok
	}
	switch {
	case r.start != nil && r.end != nil:
		if start, ok = date(*r.start, nil); ok {
			first := pcp.TimestampOf(start)
			end, ok = date(*r.end, &first)
		}
	case r.when != nil:
		start, ok = date(*r.when, nil)
		end = start
	}
	if !ok {
		return from, to, false
	}
	expr, err := store.NewParser().ParseExpr(r.expr)
	if err != nil {
		return from, to, false
	}
	lookback := r.lookback
	if lookback == 0 {
		lookback = store.DefaultLookback
	}
	first, last := promql.FindMinMaxTime(&parser.EvalStmt{Expr: expr, Start: start, End: end, Interval: r.step, LookbackDelta: lookback})
	return pcp.TimestampOf(time.UnixMilli(first)), pcp.TimestampOf(time.UnixMilli(last)), true
}

// check fails if one of the archives that the options name, other than a directory, cannot be opened.
func (r *request) check(paths []string) error {
	for _, path := range paths {
		if info, err := files.Stat(path); err == nil && info.IsDir() {
			continue
		}
		a, err := archive.Options{NoMeta: true}.Open(path)
		if err != nil {
			return errors.New(r.o.WhyNoArchive(path, err))
		}
		if err := a.Close(); err != nil {
			return err
		}
	}
	return nil
}

// inDir reports whether an archive is in one of the directories in a list of archives and directories.
func inDir(path string, list []string) bool {
	return slices.ContainsFunc(list, func(dir string) bool {
		abs, err := files.Clean(dir), error(nil)
		if !files.Remote(dir) {
			abs, err = filepath.Abs(dir)
		}
		return err == nil && strings.HasPrefix(path, strings.TrimSuffix(abs, string(filepath.Separator))+string(filepath.Separator))
	})
}

// open opens archives. If another process has the index, a temporary one is used.
func open(ctx context.Context, cfg archives.Config) (*archives.Store, error) {
	if cfg.Index != "" && os.MkdirAll(filepath.Dir(cfg.Index), 0o700) != nil {
		cfg.Index = ""
	}
	s, err := archives.Open(ctx, cfg)
	if err != nil && cfg.Index != "" && ctx.Err() == nil {
		cfg.Index = ""
		s, err = archives.Open(ctx, cfg)
	}
	return s, err
}

func stamp(t pcp.Timestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// fixed parses the argument of a time option in a form that PCP does not have.
func (r *request) fixed(text string) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, true
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 1e8 && s < 1e12 {
		sec, frac := math.Modf(s)
		return time.Unix(int64(sec), int64(math.Round(frac*1e3))*1e6), true
	}
	return time.Time{}, false
}

// time parses the argument of a time option.
func (r *request) time(text string, p *place) (time.Time, error) {
	if t, ok := r.fixed(text); ok {
		return t, nil
	}
	t, err := pcptime.ParseTime(text, pcp.TimestampOf(p.first), pcp.TimestampOf(p.last), r.loc)
	return stamp(t), err
}

// evaluate evaluates the expression and prints the result.
func (r *request) evaluate(ctx context.Context, p *place) int {
	env := r.env
	engine := store.NewEngine(store.EngineConfig{Lookback: r.lookback, Timeout: 24 * time.Hour})
	var q promql.Query
	var err error
	start, end := p.first, p.last
	switch {
	case r.ranged():
		for _, bound := range []struct {
			text *string
			to   *time.Time
		}{{r.start, &start}, {r.end, &end}} {
			if bound.text == nil {
				continue
			}
			if *bound.to, err = r.time(*bound.text, p); err != nil {
				return env.Fatalf("%v", err)
			}
		}
		if end.Before(start) {
			return env.Fatalf("the table ends, at %s, before it starts, at %s", end.In(r.loc).Format(time.RFC3339), start.In(r.loc).Format(time.RFC3339))
		}
		if r.step == 0 {
			r.step = max(time.Second, (end.Sub(start) / rows).Round(time.Second))
		}
		if end.Sub(start)/r.step > maxPoints {
			return env.Fatalf("exceeded maximum resolution of %d points per timeseries; use a longer step than %s", maxPoints, r.step)
		}
		q, err = engine.NewRangeQuery(ctx, p, nil, r.expr, start, end, r.step)
	default:
		if r.when != nil {
			if end, err = r.time(*r.when, p); err != nil {
				return env.Fatalf("%v", err)
			}
		}
		q, err = engine.NewInstantQuery(ctx, p, nil, r.expr, end)
	}
	if err != nil {
		return env.Fatalf("%v", err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	warnings, infos := store.Notes(res.Warnings).AsStrings(r.expr, 0, 0)
	for _, text := range append(warnings, infos...) {
		env.FlushOut()
		fmt.Fprintf(env.Stderr, "%s: note: %s\n", env.ProgName(), text)
	}
	if res.Err != nil {
		return env.Fatalf("%v", res.Err)
	}
	if err := r.print(res.Value); err != nil {
		return env.OutputFailed(err)
	}
	return 0
}

const (
	rows      = 60    // of a table whose step is not given
	maxPoints = 11000 // of a series, as in Prometheus
)
