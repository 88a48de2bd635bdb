package dumptext

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmdumptext.
var Command = &cli.Command{
	Name:     "dumptext",
	Link:     "pmdumptext",
	Group:    cli.SeeNow,
	Summary:  "print values of metrics in columns",
	Synopsis: "[options] [metrics ...]",
	Doc: `Writes a line for each sample, with a column for each metric, or for each of its instances. Counters
are shown as rates per second, sizes in bytes, and counters of time as a share of the time. A metric
can be of another host (HOST:METRIC) or of an archive (ARCHIVE/METRIC), and can have instances:
METRIC[INSTANCE,...]. The name of a subtree means all metrics below it.

Without arguments, metrics are read from the file of -c, or from standard input: one on each line,
optionally followed by a divisor for its values. Lines that begin with # are ignored.`,
	Examples: []cli.Example{
		{Line: "pcp dumptext -imu kernel.all.load disk.all.read", Text: "watch the load and reads of disks"},
		{Line: "pcp dumptext -a ARCHIVE -t 5min -d , -m kernel.all.cpu.user", Text: "write a file for a spreadsheet"},
		{Line: "pcp dumptext -c FILE -f %H:%M:%S -F", Text: "take the metrics from a file"},
	},
	SeeAlso: []string{"pmval(1)", "pmrep(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptAlign, cli.OptArchive, cli.OptDebug, cli.OptHost, cli.OptNameSpace, cli.OptOrigin, cli.OptStart, cli.OptSamples,
			cli.OptFinish, cli.OptInterval, cli.OptTimeZone, cli.OptHostZone, cli.OptVersion, cli.OptHelp,
			cli.Heading("Reporting options"),
			{Short: 'c', Long: "config", Arg: "FILE", Help: "read list of metrics from FILE"},
			{Short: 'C', Long: "check", Help: "exit before dumping any values"},
			{Short: 'd', Long: "delimiter", Arg: "CHAR", Help: "character separating each column"},
			{Short: 'f', Long: "time-format", Arg: "FMT", Help: "time format string"},
			{Short: 'F', Long: "fixed", Help: "print fixed width values"},
			{Short: 'G', Long: "scientific", Help: "print values in scientific format if shorter"},
			{Short: 'H', Long: "headers", Help: "show all headers"},
			{Short: 'i', Long: "interactive", Help: "format columns for interactive use"},
			{Short: 'l', Long: "source", Help: "show source of metrics"},
			{Short: 'm', Long: "metrics", Help: "show metric names"},
			{Short: 'M', Help: "show complete metrics names"},
			{Short: 'N', Help: "show normalizing factor"},
			{Short: 'o', Long: "offset", Help: "prefix timestamp with offset in seconds"},
			{Short: 'P', Long: "precision", Arg: "N", Help: "floating point precision [default 3]"},
			{Short: 'R', Long: "repeat", Arg: "N", Help: "repeat the header after every N samples"},
			{Short: 'r', Long: "raw", Help: "output raw values, no rate conversion"},
			{Short: 'U', Long: "unavailable", Arg: "STR", Help: `unavailable value string [default "?"]`},
			{Short: 'u', Long: "units", Help: "show metric units"},
			{Short: 'w', Long: "width", Arg: "N", Help: "set column width"},
			{Short: 'X', Long: "extended", Help: "show complete metrics names (extended form)"},
			cli.OptJSON,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// A dumper has the settings of the options, and the metrics.
type dumper struct {
	env     *cli.Env
	group   *group
	metrics []*metric
	columns int // at the beginning
	out     stream
	loc     *time.Location
	start   pcp.Timestamp // from which offsets count

	file                                string // of -c
	check, raw, json                    bool
	delimiter, format, unknown          string
	timed, offset                       bool
	six, shortest, nice, wide, precise  bool // -F, -G, -i, -w, -P
	names, units, source, normal        bool
	full, extended, numbered            bool
	width, precision, repeat, sampleNum int
}

func (d *dumper) own(o *cli.Options, opt *cli.Option, arg string) bool {
	both := func(a, b string) { o.Usagef("%s and %s may not be used together", a, b) }
	switch opt.Short {
	case 'a':
		for _, name := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(", \t", r) }) {
			o.AddArchive(name)
		}
	case 'c':
		d.file = arg
	case 'C':
		d.check = true
	case 'd':
		d.delimit(o, arg)
	case 'f':
		d.format, d.timed = arg, arg != ""
	case 'F':
		if d.six = !d.shortest; !d.six {
			o.Usagef("-F and -G options may not be used together")
		}
	case 'G':
		switch {
		case d.six:
			both("-F", "-G")
		case d.nice:
			both("-i", "-G")
		default:
			d.shortest = true
		}
	case 'H':
		d.names, d.units, d.source, d.normal = true, true, true, true
	case 'i':
		switch {
		case d.precise:
			both("-i", "-P")
		case d.shortest:
			both("-i", "-G")
		default:
			d.nice = true
		}
	case 'l':
		d.source = true
	case 'm':
		d.names = true
	case 'M':
		d.full = true
	case 'X':
		d.full, d.extended = true, true
	case 'N':
		d.normal = true
	case 'o':
		d.offset = true
	case 'P':
		switch {
		case d.wide:
			both("-P", "-w")
		case d.nice:
			both("-i", "-P")
		default:
			d.precision, d.precise = o.Number(opt, arg, 0, "a positive numeric"), true
		}
	case 'r':
		d.raw = true
	case 'R':
		d.repeat = o.Number(opt, arg, 1, "a positive numeric")
	case 'u':
		d.units = true
	case 'U':
		d.unknown = arg
	case 'w':
		if d.precise {
			both("-P", "-w")
			break
		}
		d.wide = true
		if d.width = o.Number(opt, arg, 0, "a positive numeric"); d.width > maxWidth {
			o.Usagef("-w: columns have at most %d characters", maxWidth)
		} else if d.width < 3 {
			o.Usagef("-w must be greater than 2")
		}
	default:
		return false
	}
	return true
}

// maxWidth is how wide columns may be: the C program has no room for more.
const maxWidth = 255

func (d *dumper) delimit(o *cli.Options, arg string) {
	switch {
	case arg == `\n`:
		d.delimiter = "\n"
	case arg == `\t`:
		d.delimiter = "\t"
	case len(arg) == 2 && arg[0] == '\\':
		d.delimiter = " "
	case len(arg) > 1:
		o.Usagef("delimiter must be one character")
	case arg == "":
		d.delimiter = "\x00"
	default:
		d.delimiter = arg
	}
}

func run(ctx context.Context, env *cli.Env) int {
	d := &dumper{env: env, delimiter: "\t", unknown: "?", timed: true, width: 6, precision: 3}
	o := source.Parse(env, cli.ParseConfig{Archives: true, Multi: true, HighRes: true, Own: d.own})
	if len(o.Hosts) > 1 {
		o.Usagef("only one host may be specified")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	d.json = o.JSON
	d.group = &group{env: env, o: o}
	defer d.group.close()
	d.out.w = env.Stdout
	if !d.open(ctx, o) {
		env.Flush()
		return 1
	}
	d.layout()
	if !d.choose(ctx, o.Args) {
		env.Flush()
		return 1
	}
	return d.dump(ctx, o)
}

// open opens the sources that options name, and reports whether that was possible.
func (d *dumper) open(ctx context.Context, o *source.Options) bool {
	ok := true
	for _, name := range o.Archives {
		ok = d.group.use(ctx, pmapi.SourceArchive, name) != nil && ok
	}
	if len(o.Hosts) > 0 {
		ok = d.group.use(ctx, pmapi.SourceHost, o.Hosts[0]) != nil
	}
	return ok
}

// layout sets the width of columns, and the number of digits of numbers.
func (d *dumper) layout() {
	d.nice = d.nice || d.extended
	if d.nice {
		d.width, d.wide, d.six = max(d.width, 6), true, true
	}
	sign := 2 // and the point
	if d.shortest {
		sign = 1
	}
	if d.wide {
		d.precision = max(d.width, 3) - sign
	} else {
		d.precision = max(d.precision, 2)
		d.width = d.precision + sign
	}
	d.out.precision, d.out.fixed = d.precision, !d.shortest
}

// choose finds the metrics: those that arguments name, or a file. It reports whether there are any.
func (d *dumper) choose(ctx context.Context, args []string) bool {
	wrong := 0
	switch {
	case len(args) > 0 && d.file != "":
		d.env.Errorf("configuration file cannot be specified with metrics")
		return false
	case len(args) > 0:
		for _, arg := range args {
			if !d.traverse(ctx, arg, 0) {
				wrong++
			}
		}
	case d.file != "":
		f, err := os.Open(d.file)
		if err != nil {
			d.env.Errorf("Unable to open %s: %s", d.file, cli.ErrText(err))
			return false
		}
		defer f.Close()
		wrong = d.config(ctx, d.file, f)
	default:
		in := d.env.Stdin
		if in == nil {
			in = io.MultiReader()
		}
		wrong = d.config(ctx, "(stdin)", in)
	}
	if d.columns == 0 && !d.env.Classic() && d.env.Advised() {
		return false
	}
	if d.columns == 0 {
		d.env.Errorf("no valid metrics, exiting.")
		return false
	}
	if wrong > 0 {
		d.env.Errorf("Warning: Some metrics ignored, continuing with valid metrics")
	}
	d.env.Flush()
	return true
}

// dump writes the heading and the samples. It returns the exit status.
func (d *dumper) dump(ctx context.Context, o *source.Options) int {
	main := d.group.first(ctx)
	if main == nil {
		d.env.Flush()
		return 1
	}
	var err error
	if d.loc, err = o.SetZone(ctx, main.c, false); err != nil {
		return 1
	}
	begin, end := pcp.TimestampOf(time.Now()), pcptime.Never
	live := main.kind != pmapi.SourceArchive
	if !live {
		begin, end = d.group.bounds(ctx)
	}
	d.start = begin
	w, _, err := pcptime.ParseWindow(o.Bounds(), begin, end, d.loc)
	if err != nil {
		d.env.Printf("%v\n", err)
		o.WantUsage()
		o.Done()
		return 1
	}
	delta := o.Interval
	if delta == 0 {
		delta = time.Second
	}
	if w.Finish.Compare(w.Origin) < 0 && o.Finish == nil {
		w.Finish = pcptime.Never
	}
	if !d.json {
		d.heading()
	}
	d.full = d.full && d.extended
	if d.check {
		return 0
	}
	if err := d.group.rewind(ctx, w.Origin, delta); err != nil {
		return d.env.Fatalf("Error: Unable to set context mode: %s", cli.ErrText(err))
	}
	lines := 0
	for t := w.Origin; t.Compare(w.Finish) <= 0 || w.Finish == pcptime.Never; {
		d.group.fetch(ctx)
		if ctx.Err() != nil {
			return 0
		}
		d.row(t)
		d.sampleNum++
		if w.Finish == pcptime.Never && o.Samples == 0 && d.group.ended {
			return 0 // the C program never ends
		}
		if o.Samples > 0 && d.sampleNum >= o.Samples && live {
			return 0 // the C program waits once more
		}
		t = pcp.TimestampOf(t.Time().Add(delta))
		if live {
			if d.env.FlushOut() != nil || !pacing.Sleep(ctx, time.Until(t.Time())) {
				return 0
			}
		}
		if lines++; lines == d.repeat && !d.json {
			d.out.end()
			d.heading()
			lines = 0
		}
		if o.Samples > 0 && d.sampleNum >= o.Samples {
			return 0
		}
	}
	return 0
}

// bounds returns when the archives begin and end.
func (g *group) bounds(ctx context.Context) (begin, end pcp.Timestamp) {
	for i, f := range g.sources {
		a, ok := f.c.Archive()
		if !ok {
			continue
		}
		first, last := pcp.Timestamp{}, pcptime.Never
		if label, err := a.Label(ctx); err == nil {
			first = label.Start
		}
		if t, err := a.End(ctx); err == nil {
			last = t
		} else {
			g.env.Printf("%s: Unable to determine end of \"archive \"%s\"\": %s\n", g.env.ProgName(), f.source, cli.ErrText(err))
			g.env.Flush()
		}
		if i == 0 || first.Compare(begin) < 0 {
			begin = first
		}
		if i == 0 || last.Compare(end) > 0 {
			end = last
		}
	}
	if end.Compare(begin) <= 0 {
		end = pcptime.Never
	}
	return begin, end
}

// rewind has archives begin at a time, and continue by steps.
func (g *group) rewind(ctx context.Context, origin pcp.Timestamp, delta time.Duration) error {
	for _, f := range g.sources {
		if f.c == nil {
			continue
		}
		if a, ok := f.c.Archive(); ok {
			if err := a.SetMode(ctx, pmapi.ModeInterp, &origin, delta); err != nil {
				return fmt.Errorf("%s: %w", f.source, err)
			}
		}
	}
	return nil
}
