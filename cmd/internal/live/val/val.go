package val

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmval.
var Command = &cli.Command{
	Name:     "val",
	Link:     "pmval",
	Group:    cli.SeeNow,
	Summary:  "show the values of a metric at intervals",
	Synopsis: "[options] metricname",
	Doc: `
Prints the values of one metric at each interval. A counter is converted to a
rate unless -r is given. With -a the values come from an archive, by default
interpolated to the interval.`,
	Examples: []cli.Example{
		{Line: "pcp val kernel.all.load", Text: "print the load averages every second until ctrl-C"},
		{Line: "pcp val -t 5 -s 12 disk.all.total", Text: "print a rate every five seconds, twelve times"},
		{Line: "pcp val -i sda,sdb disk.dev.read", Text: "print two instances of a metric"},
		{Line: "pcp val -a 20261121 -S @10:00 -T @10:30 -t 1min disk.all.total", Text: "print half an hour of an archive"},
		{Line: "pcp val --json -s 1 kernel.all.cpu.user", Text: "write JSON for a program"},
	},
	SeeAlso:     []string{"pminfo(1)", "pmstat(1)"},
	Options:     options,
	DieOnSignal: true,
	Run:         run,
}

// EventCommand is pmevent: pmval under the name by which people look for a
// tool that shows events.
var EventCommand = &cli.Command{
	Name:     "event",
	Link:     "pmevent",
	Group:    cli.SeeNow,
	Summary:  "show the records of event metrics",
	Synopsis: "[options] metricname",
	Doc: `Prints the records of an event metric as they arrive, with their parameters, until it is interrupted
or has printed all samples. It takes the options of pmval.`,
	Examples: []cli.Example{
		{Line: `pcp event -s 3 sample.event.records`, Text: `print three samples of an event metric`},
	},
	SeeAlso:     []string{"pmval(1)", "pminfo(1)"},
	Options:     options,
	DieOnSignal: true,
	Run:         run,
}

func options() []cli.Option {
	return slices.Concat(cli.General, []cli.Option{
		cli.OptSpecLocal,
		cli.OptLocalPMDA,
		cli.OptContainer,
		cli.OptDerived,
		cli.Heading("Reporting options"),
		{Short: 'd', Long: "delay", Help: "delay, pause between updates for archive replay"},
		{Short: 'f', Long: "precision", Arg: "N", Help: "fixed output format with N digits precision"},
		{Short: 'i', Long: "instances", Arg: "INST", Help: "comma-separated metrics instance list"},
		{Short: 'r', Long: "raw", Help: "output raw counter values (no rate conversion)"},
		{Short: 'U', Long: "nointerp", Arg: "FILE", Help: "non-interpolated fetching; ignores interval"},
		{Short: 'v', Long: "verbose", Help: "increase diagnostic output"},
		{Short: 'w', Long: "width", Arg: "N", Help: "set the width of each column of output"},
		{Short: 'x', Long: "filter", Arg: "VALUE", Help: "store to the metric before fetching (filter)"},
		{Short: 'X', Long: "timestamp", Help: "include date and microseconds in reported timestamps"},
		cli.OptJSON,
	})
}

// A viewer shows one metric.
type viewer struct {
	env      *cli.Env
	o        *source.Options
	delay    bool // -d
	fixed    int  // -f, -1 if not given
	raw      bool // -r
	nointerp bool // -U
	verbose  bool // -v
	stamps   int  // number of -X options
	cols     int  // -w, then the width of a column
	json     bool // --json
	filter   string
	filters  bool // -x

	c          *pmapi.Context
	log        *debug.Log
	host       string
	metric     string
	ids        [1]pcp.PMID // of the metric
	desc       pcp.Desc
	events     bool
	source     string
	archive    *pmapi.ArchiveContext // the source, if it is one
	unfiltered bool                  // records of the archive are read as they are
	loc        *time.Location
	control    *source.Control // nil without -g and -p
	moved      bool            // by the control, since the last sample
	window     pcptime.Window
	samples    int     // -1: no limit
	scale      float64 // of the time between samples, to the unit of a rate
	wrap       bool    // counters wrap
	chosen     []string
	insts      []pcp.Instance // in the order of the columns, by identifier
	style      int            // of the labels; -1 not known yet
	reported   bool
	out        []byte

	params report.Params // of event records
}

func (x *viewer) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'd':
		x.delay = true
	case 'f':
		x.fixed = o.Number(opt, arg, 0, "+ve numeric")
	case 'i':
		x.chosen = append(x.chosen, splitInstances(arg)...)
	case 'r':
		x.raw = true
	case 'U':
		o.AddArchive(arg)
		x.nointerp = true
	case 'v':
		x.verbose = true
	case 'w':
		x.cols = o.Number(opt, arg, 1, "+ve numeric")
	case 'x':
		x.filter, x.filters = arg, true
	case 'X':
		x.stamps++ // times are shown for archives only
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	x := &viewer{env: env, fixed: -1, style: -1, scale: 1}
	o := source.Parse(env, cli.ParseConfig{Own: x.own, Later: true, Archives: true, HighRes: true})
	x.o, x.json = o, o.JSON
	switch {
	case o.Errors() || o.WantsVersion():
	case len(o.Args) == 0:
		o.Usagef("error - no metricname specified")
	case len(o.Args) > 1 && !env.Classic():
		o.Usagef("one metric at a time: \"%s rep %s\" shows several, in columns", env.Pcp(), strings.Join(o.Args, " "))
	case len(o.Args) > 1:
		o.Usagef("error - too many arguments")
	}
	if o.Errors() || o.WantsVersion() {
		status, _ := o.Done()
		return status
	}
	spec := x.parseSpec(o.Args[0])
	if !o.FromArchive() {
		if x.nointerp {
			env.Printf("%s: uninterpolated mode can only be used with archives", env.ProgName()) // without a newline, as there
			o.WantUsage()
		}
		if x.delay {
			o.Usagef("delay can only be used with archives")
		}
	}
	if o.FromArchive() && x.delay && o.GuiMode() {
		o.Usagef("guiflag cannot be used with delay")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	var err error
	x.log = o.DebugLog()
	if x.c, err = o.ConnectTo(ctx, x.source, "establish local context"); err != nil {
		return 1
	}
	defer x.c.Close()
	x.archive, _ = x.c.Archive()
	return x.show(ctx, spec)
}

// parseSpec parses the argument, which may name the source too, and determines
// the source of the values. Mistakes are kept for Done.
func (x *viewer) parseSpec(arg string) pmapi.MetricSpec {
	o := x.o
	kind, source := pmapi.SourceHost, o.Host()
	if len(o.Hosts) == 0 && len(o.Archives) == 0 && o.Origin != nil {
		o.AddOwnArchive()
	}
	switch {
	case len(o.Hosts) > 0:
	case len(o.Archives) > 0:
		kind, source = pmapi.SourceArchive, o.Archives[0]
	case o.Local:
		kind = pmapi.SourceLocal
	}
	spec, err := pmapi.ParseMetricSpec(arg, kind, source)
	if se, ok := errors.AsType[*pmapi.SpecError](err); ok {
		x.env.Printf("%s", se.Detail())
		o.WantUsage()
	} else {
		switch spec.Kind {
		case pmapi.SourceArchive:
			if len(o.Archives) == 0 {
				o.AddArchive(spec.Source)
			}
		case pmapi.SourceLocal:
			o.Local = true
		default:
			if len(o.Hosts) == 0 {
				o.AddHost(spec.Source)
			}
		}
		x.source = spec.Source
	}
	o.End()
	return spec
}

// show prints the header and then the samples.
func (x *viewer) show(ctx context.Context, spec pmapi.MetricSpec) int {
	env, o := x.env, x.o
	var err error
	if x.host, err = x.c.HostName(ctx); err != nil || x.host == "" {
		return env.Fatalf("Cannot evaluate context host name: %s", cli.ErrText(err))
	}
	if x.loc, err = o.SetZone(ctx, x.c, !x.json); err != nil {
		return 1
	}
	if x.window, err = o.Window(ctx, x.c, x.loc); err != nil {
		return 1
	}
	if x.window.Finish.Sec == 0 {
		x.window.Finish.Sec = pcp.MaxSec // the C tool takes 0 to mean that there is no -T
	}
	interval := o.Interval
	if interval == 0 {
		interval = time.Second
	}
	x.samples = -1
	if o.SamplesSet {
		x.samples = o.Samples
	}
	if status := x.describe(ctx, spec); status != 0 {
		return status
	}
	if status := x.findInstances(ctx); status != 0 {
		return status
	}
	if status := x.storeFilter(ctx); status != 0 {
		return status
	}
	controlled := o.GuiMode() || o.GuiPort() != 0
	if x.samples < 0 && x.window.Finish.Sec != pcp.MaxSec && !x.events && !x.nointerp && !controlled {
		// As many as are fetched; of a counter one less is printed.
		x.samples = max(0, int((seconds(x.window.Finish)-seconds(x.window.Origin))/inSeconds(interval))+1)
	}
	if !o.TimeZoneSet && !o.HostZone && !x.events && !x.json {
		x.out = append(x.out, '\n')
	}
	if controlled {
		if status := x.startControl(ctx, interval); status != 0 {
			return status
		}
		defer x.control.Close()
	} else if x.archive != nil {
		mode, origin, step := source.Replay(x.env, x.window.Origin, interval)
		if x.unfiltered {
			mode = pmapi.ModeForw
		}
		if err := x.archive.SetMode(ctx, mode, &origin, step); err != nil {
			x.flush()
			return env.Fatalf("pmSetMode: %s", cli.ErrText(err))
		}
	}
	if x.cols == 0 {
		x.cols = howWide(x.desc.Type)
		if x.cols < 0 {
			x.flush()
			return env.Fatalf("unknown performance metric value type %s", x.desc.Type)
		}
	}
	if x.fixed == 0 && x.fixed > x.cols || x.fixed > 0 && x.fixed > x.cols-2 {
		x.flush()
		return env.Fatalf("-f %d too large for column width %d", x.fixed, x.cols)
	}
	if !x.json {
		x.header(interval)
	}
	x.flush()
	return x.loop(ctx, interval)
}

// startControl connects to the time control.
func (x *viewer) startControl(ctx context.Context, interval time.Duration) int {
	x.flush()
	printf := func(format string, args ...any) {
		x.printf(format, args...)
		x.flush()
	}
	var err error
	if x.control, err = x.o.Control(ctx, x.window, interval, x.loc, printf, x.c); err != nil {
		return 1
	}
	x.control.Handlers.Stepped = func(time.Duration) { x.moved = true }
	return 0
}

// inSeconds is d.Seconds() without its two roundings.
func inSeconds(d time.Duration) float64 { return float64(d) / 1e9 }

// seconds returns a time as the C tool computes with it.
func seconds(t pcp.Timestamp) float64 { return float64(t.Sec) + float64(t.Nsec)/1e9 }

// describe finds the metric.
func (x *viewer) describe(ctx context.Context, spec pmapi.MetricSpec) int {
	x.metric = spec.Metric
	if len(spec.Insts) > 0 {
		x.chosen = spec.Insts
	}
	ids, err := x.c.LookupName(ctx, x.metric)
	if err != nil {
		if !x.env.Classic() && errors.Is(err, pcp.ErrName) {
			if meant := source.DidYouMean(ctx, x.env, x.c, x.metric); meant != "" {
				return x.env.Fatalf("no metric has the name %q%s", x.metric, meant)
			}
			return x.env.Fatalf("no metric has the name %q; %q lists those that there are", x.metric, x.env.Pcp()+" info")
		}
		return x.env.Fatalf("pmLookupName(%s): %s", x.metric, cli.ErrText(err))
	}
	x.ids[0] = ids[0]
	if x.desc, err = x.c.LookupDesc(ctx, x.ids[0]); err != nil {
		return x.env.Fatalf("pmLookupDesc: %s", cli.ErrText(err))
	}
	if x.desc.InDom == pcp.InDomNull && len(spec.Insts) > 0 {
		return x.env.Fatalf("%s: singular metrics do not have instances", x.metric)
	}
	x.events = x.desc.Type == pcp.TypeEvent || x.desc.Type == pcp.TypeHighResEvent
	x.unfiltered = x.archive != nil && (x.events || x.nointerp)
	x.wrap = x.env.IsSet("PCP_COUNTER_WRAP")
	if x.rates() && x.desc.Units.DimTime != 0 {
		// Kept in a float as the C tool does.
		base := 1000.0
		if x.desc.Units.ScaleTime > pcp.TimeSec {
			base = 60
		}
		x.scale = float64(float32(math.Pow(base, float64(pcp.TimeSec-int(x.desc.Units.ScaleTime)))))
	}
	return 0
}

// rates reports whether values are converted to rates.
func (x *viewer) rates() bool { return x.desc.Sem == pcp.SemCounter && !x.raw && !x.events }

// findInstances looks up the instances that have columns.
func (x *viewer) findInstances(ctx context.Context) int {
	x.insts = nil
	switch {
	case x.desc.InDom == pcp.InDomNull:
		return 0
	case len(x.chosen) > 0:
		var ids []int32
		for _, name := range x.chosen {
			id, err := x.lookupInDom(ctx, name)
			if err != nil {
				x.flush()
				return x.env.Fatalf("instance %s not available", name)
			}
			ids = append(ids, id)
			x.insts = append(x.insts, pcp.Instance{Inst: id, Name: name})
		}
		if err := x.c.AddProfile(x.desc.InDom, ids...); err != nil {
			x.flush()
			return x.env.Fatalf("pmAddProfile: %s", cli.ErrText(err))
		}
	default:
		insts, err := x.getInDom(ctx)
		if err != nil {
			x.flush()
			return x.env.Fatalf("pmGetInDom(%s): %s", x.desc.InDom, cli.ErrText(err))
		}
		x.insts = slices.Clone(insts)
	}
	slices.SortStableFunc(x.insts, func(a, b pcp.Instance) int { return cmp.Compare(a.Inst, b.Inst) })
	return 0
}

// lookupInDom returns the instance of a name; in an archive whenever it had it.
func (x *viewer) lookupInDom(ctx context.Context, name string) (int32, error) {
	if x.archive != nil {
		return x.archive.LookupInDomArchive(ctx, x.desc.InDom, name)
	}
	return x.c.LookupInDom(ctx, x.desc.InDom, name)
}

// getInDom returns the instances; of an archive those of all times.
func (x *viewer) getInDom(ctx context.Context) ([]pcp.Instance, error) {
	if x.archive != nil {
		return x.archive.GetInDomArchive(ctx, x.desc.InDom)
	}
	return x.c.GetInDom(ctx, x.desc.InDom)
}

// storeFilter stores the argument of -x in the metric, for its agent to select
// by.
func (x *viewer) storeFilter(ctx context.Context) int {
	if !x.filters || x.archive != nil {
		return 0
	}
	v := pcp.StringValue(x.filter)
	if !x.events {
		var err error
		v, err = pcp.ParseValue(x.filter, x.desc.Type)
		switch {
		case errors.Is(err, pcp.ErrType):
			return x.env.Fatalf("filter \"%s\" incompatible with metric type (PM_TYPE_%s)", x.filter, x.desc.Type)
		case errors.Is(err, syscall.ERANGE):
			return x.env.Fatalf("filter value \"%s\" is out of range for metric data type (PM_TYPE_%s)", x.filter, x.desc.Type)
		case err != nil:
			return x.env.Fatalf("failed to convert value \"%s\": %s", x.filter, cli.ErrText(err))
		}
	}
	res := &pcp.Result{}
	res.AddSet(x.ids[0])
	for _, inst := range x.insts {
		res.Add(v.WithInst(inst.Inst))
	}
	if len(x.insts) == 0 {
		res.Add(v)
	}
	if err := x.c.Store(ctx, res); err != nil {
		return x.env.Fatalf("store value \"%s\" failed: %s", x.filter, cli.ErrText(err))
	}
	return 0
}

// splitInstances splits the argument of -i at commas and white space; quotes
// keep a name together.
func splitInstances(s string) []string {
	const seps = ", \t\n"
	var names []string
	for {
		s = strings.TrimLeft(s, seps)
		if s == "" {
			return names
		}
		var name string
		if s[0] == '"' || s[0] == '\'' {
			name, s, _ = strings.Cut(s[1:], s[:1])
		} else if i := strings.IndexAny(s, seps); i >= 0 {
			name, s = s[:i], s[i:]
		} else {
			name, s = s, ""
		}
		names = append(names, name)
	}
}
