package top

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp top.
var Command = &cli.Command{
	Name:     "top",
	Group:    cli.SeeNow,
	Summary:  "show the activity of a host in the terminal, live or from archives",
	Synopsis: "[options] [metricname ...]",
	Doc: `
Shows processors, memory, processes, control groups, containers, disks, network, pressure and charts of any
metric, on the screen of a terminal. Keys and the mouse select the view; ? lists the keys. Archives
are replayed, with the same keys: Space pauses, the arrows step back and forward, b jumps to a time,
+ and - change the speed.

Metrics given as arguments are charted, in the view "chart".

It uses standard metrics, so it works with any collector and any archive of pmlogger. Where metrics
are missing, it shows the reason.

With --once or --text, or if standard output is not a suitable terminal, it prints text; with --json
an object for each sample. It ends after -s samples, or at the end of the archives.`,
	Examples: []cli.Example{
		{Line: "pcp top", Text: "show this machine"},
		{Line: "pcp top -h web1 -t 5", Text: "show another host, every five seconds"},
		{Line: "pcp top -a 20261121 -S @14:30", Text: "replay an archive from half past two on"},
		{Line: "pcp replay -1h top", Text: "replay the last hour of this machine"},
		{Line: "pcp top kernel.all.load disk.dev.read[sda]", Text: "chart two metrics"},
		{Line: "pcp top --once --sort memory --lines 5", Text: "print totals and the five processes with the most memory"},
		{Line: "pcp top --json -s 3 --view disks", Text: "print the activity of disks three times"},
	},
	SeeAlso: []string{"pcp help stat", "pcp help ps", "pcp help replay"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Sources and times"),
			cli.OptHost,
			cli.OptArchive,
			cli.OptLocalPMDA,
			cli.OptSpecLocal,
			cli.OptInterval,
			cli.OptSamples,
			cli.OptStart,
			cli.OptFinish,
			cli.OptAlign,
			cli.OptOrigin,
			cli.OptTimeZone,
			cli.OptHostZone,
			cli.OptDerived,
			cli.OptDebug,
			cli.Heading("What is shown"),
			{Long: "view", Arg: "NAME", Help: "start with overview, processes, cgroups, disks, network, pressure, chart or containers", Extra: true},
			{Long: "sort", Arg: "COLUMN", Help: "sort processes by cpu, memory, time, pid, user, state, nice, threads, size, read, written, received, sent, gpu, gpumemory, start, cgroup or command", Extra: true},
			{Long: "filter", Arg: "TEXT", Help: "only processes whose command has a text, or one of several: ssh|cron", Extra: true},
			{Long: "user", Arg: "NAME", Help: "only processes of a user", Extra: true},
			{Long: "tree", Help: "processes below their parents", Extra: true},
			{Long: "paused", Help: "start paused", Extra: true},
			cli.Heading("The terminal"),
			{Long: "theme", Arg: "NAME", Help: "colours: terminal, night, day or mono", Extra: true},
			{Long: "ascii", Help: "draw with ASCII characters alone", Extra: true},
			{Long: "no-mouse", Help: "leave the mouse to the terminal", Extra: true},
			cli.Heading("Output for scripts"),
			{Long: "once", Help: "print one sample as text", Extra: true},
			{Long: "text", Help: "print samples as text", Extra: true},
			{Long: "lines", Arg: "N", Help: "processes to print [default 20, with --json all]", Extra: true},
			cli.OptJSON,
			cli.Heading("Other"),
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: run,
}

// sortNames are the names of columns in the option --sort.
func sortNames() map[string]model.Column {
	return map[string]model.Column{
		"cpu": model.ByCPU, "memory": model.ByMemory, "mem": model.ByMemory, "time": model.ByTime, "pid": model.ByPID, "user": model.ByOwner,
		"state": model.ByState, "nice": model.ByNice, "threads": model.ByThreads, "size": model.BySize, "read": model.ByRead,
		"written": model.ByWritten, "received": model.ByIn, "sent": model.ByOut, "gpu": model.ByGPU, "gpumemory": model.ByGPUMemory, "start": model.ByStart, "cgroup": model.ByCGroup, "command": model.ByCommand,
	}
}

// A job is the parsed options.
type job struct {
	env *cli.Env
	o   *source.Options

	view   ui.View
	viewed bool // --view
	sel    model.Selection
	paused bool
	theme  string
	ascii  bool
	mouse  bool
	once   bool
	text   bool
	lines  int // -1 if not set
	charts []string

	loc      *time.Location
	interval time.Duration
	sampler  *model.Sampler
	start    pcp.Timestamp
	finish   pcp.Timestamp // of a live source, zero for never
	local    bool
}

func (j *job) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "view":
		v, ok := ui.ViewNamed(arg)
		if !ok {
			o.Usagef("there is no view %q: %s are", arg, strings.Join(ui.ViewNames(), ", "))
		}
		j.view, j.viewed = v, true
	case "sort":
		by, ok := sortNames()[arg]
		if !ok {
			o.Usagef("processes cannot be sorted by %q", arg)
		}
		j.sel.By = by
	case "filter":
		j.sel.Filter = arg
	case "user":
		j.sel.Owner = arg
	case "tree":
		j.sel.Tree = true
	case "paused":
		j.paused = true
	case "theme":
		if !slices.Contains(screen.Themes(), arg) {
			o.Usagef("there is no theme %q: %s are", arg, strings.Join(screen.Themes(), ", "))
		}
		j.theme = arg
	case "ascii":
		j.ascii = true
	case "no-mouse":
		j.mouse = false
	case "once":
		j.once = true
	case "text":
		j.text = true
	case "lines":
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 {
			o.Usagef("--lines requires a number, not %q", arg)
		}
		j.lines = n
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	j := &job{env: env, mouse: true, lines: -1}
	o := source.Parse(env, cli.ParseConfig{Archives: true, Own: j.own})
	if status, exit := o.Done(); exit {
		return status
	}
	j.o, j.charts = o, o.Args
	for _, spec := range j.charts {
		if _, err := pmapi.ParseMetricSpec(spec, pmapi.SourceHost, ""); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	if len(j.charts) > 0 && !j.viewed {
		j.view = ui.Charts
	}
	j.ascii = j.ascii || !utf8Terminal(env.Getenv)
	if j.theme == "" && env.NoColour() {
		j.theme = "mono"
	}
	c, err := o.Connect(ctx)
	if err != nil {
		return 1
	}
	defer c.Close()
	if status := j.open(ctx, c); status != 0 {
		return status
	}
	switch {
	case o.JSON:
		return j.printJSON(ctx)
	case j.once || j.text || !j.canDraw():
		return j.printText(ctx)
	}
	return j.show(ctx)
}

// canDraw reports whether there is a terminal on which screens can be drawn.
func (j *job) canDraw() bool {
	term := j.env.Getenv("TERM")
	return j.env.Screen != nil && term != "" && term != "dumb"
}

// utf8Terminal reports whether the locale has UTF-8. Without a locale, as in a container, it does.
func utf8Terminal(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return getenv("TERM") != "linux" && getenv("TERM") != "vt100"
}

// open makes the sampler.
func (j *job) open(ctx context.Context, c *pmapi.Context) int {
	note := !j.o.JSON && (j.once || j.text)
	var err error
	if j.loc, err = j.o.SetZone(ctx, c, note); err != nil {
		return 1
	}
	window, err := j.o.Window(ctx, c, j.loc)
	if err != nil {
		return 1
	}
	j.interval = j.o.Interval
	cfg := model.Config{}
	if a, ok := c.Archive(); ok {
		label, err := a.Label(ctx)
		if err != nil {
			return j.env.Fatalf("%v", err)
		}
		cfg.First, cfg.Last, cfg.Start = label.Start, window.Finish, window.Origin
		if window.Finish == pcptime.Never {
			if cfg.Last, err = a.End(ctx); err != nil {
				return j.env.Fatalf("%v", err)
			}
		}
		pace, first := model.Pace(ctx, a, window.Origin)
		j.interval = cmp.Or(j.interval, pace, time.Second)
		// Rates need an interval before the first sample, with values at both ends. A start set by an option is kept,
		// unless there is nothing before it.
		asked := j.o.Start != nil || j.o.Origin != nil
		nothing := window.Origin.Compare(label.Start) <= 0 || first.Time().Sub(window.Origin.Time()) > max(pace, j.interval)
		if first.Nsec > 0 {
			first.Sec, first.Nsec = first.Sec+1, 0
		}
		if at := first.Add(j.interval); (!asked || nothing) && j.o.Align == nil && at.Compare(cfg.Last) <= 0 {
			cfg.Start = at
		}
	}
	if cfg.First.IsZero() && window.Finish != pcptime.Never {
		j.finish = window.Finish
	}
	j.interval = cmp.Or(j.interval, time.Second)
	if j.interval < 100*time.Millisecond {
		return j.env.Fatalf("the interval must be 100 milliseconds at least")
	}
	cfg.Interval = j.interval
	cfg.Meant = func(ctx context.Context, name string) string { return source.DidYouMean(ctx, j.env, c, name) }
	cfg.Denied = sync.OnceValue(func() string { return j.o.WhyDenied(j.o.Host()) })
	if j.sampler, err = model.New(ctx, c, cfg); err != nil {
		return j.env.Fatalf("%s", cli.ErrText(err))
	}
	j.start = cfg.Start
	j.local = c.Kind() == pmapi.SourceLocal || c.Kind() == pmapi.SourceHost && isLocal(j.o.Host())
	return 0
}

// isLocal reports whether a host specification is of this machine.
func isLocal(host string) bool {
	spec, err := pmapi.ParseHostSpec(host)
	if err != nil || len(spec.Hosts) != 1 {
		return false // nothing, or through a proxy
	}
	switch spec.Protocol {
	case "unix", "local":
		return true
	}
	switch spec.Hosts[0].Name {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

// app returns the screen in its first state.
func (j *job) app() *ui.App {
	return ui.New(ui.Config{
		Host: j.sampler.Host(), Interval: j.interval, Start: j.start, Loc: j.loc, View: j.view, Charts: j.charts,
		Theme: j.theme, ASCII: j.ascii, Local: j.local, Selection: j.sel, Paused: j.paused, Samples: j.samples(), Finish: j.finish,
	})
}

// samples returns the requested number of samples, 0 for no end.
func (j *job) samples() int {
	if j.once {
		return 1
	}
	if j.o.SamplesSet {
		return j.o.Samples
	}
	return 0
}
