package logreduce

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmlogreduce.
var Command = &cli.Command{
	Name:     "logreduce",
	Link:     "pmlogreduce",
	Group:    cli.Record,
	Summary:  "reduce an archive to longer intervals",
	Synopsis: "[options] input-archive output-archive",
	Doc: `Creates a smaller archive with one sample for each interval: counters become average rates,
instantaneous values become averages.`,
	Examples: []cli.Example{
		{Line: `pcp logreduce -t 1hour 20261121 small`, Text: `keep one sample an hour`},
	},
	SeeAlso: []string{"pmlogextract(1)", "pmlogsummary(1)"},
	Debug:   []string{"appl0", "appl1", "appl2"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptAlign,
			cli.OptDebug,
			cli.OptStart,
			cli.OptSamples,
			cli.OptFinish,
			{Short: 't', Long: "interval", Arg: "DELTA", Help: "sample output interval [default 10min]"},
			{Short: 'v', Arg: "NUM", Help: "switch log volumes after this many samples"},
			cli.OptTimeZone,
			cli.OptHostZone,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// flags are the options of this tool.
type flags struct {
	interval time.Duration
	samples  int // -1: no limit
	volume   int // maximum per volume, if positive
	debug    debug
}

// Errors that have been reported already.
var (
	errExit    = errors.New("exit")            // keeping the output
	errAbandon = errors.New("output given up") // removing it
)

// A reducer does the work.
type reducer struct {
	flags
	env      *cli.Env
	opts     *source.Options
	progress *cli.Progress
	name     string // of the input
	outName  string

	c        *pmapi.ArchiveContext
	archives []*archive.Archive
	meta     *archive.Meta
	label    archive.Label
	loc      *time.Location
	window   pcptime.Window
	out      *archive.Writer

	metrics []*metric // metrics of the output, in the order of the name space
	byID    map[pcp.PMID]*metric
	indoms  map[pcp.InDom]*indom
	scan    scan
	result  pcp.Result // values to write
	written int
	current pcp.Timestamp
	flushAt int64         // offset after which the index gets an entry
	indexed pcp.Timestamp // time of the last one
}

func (x *reducer) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 's':
		x.samples = o.Number(opt, arg, 0, "numeric")
	case 't':
		d, err := pcptime.ParseInterval(arg)
		switch {
		case err != nil:
			x.env.Printf("%v", err)
			o.WantUsage()
		case d.Truncate(time.Microsecond) <= 0:
			// The C tool would write the same record forever.
			o.Usagef("-t requires an interval that is not 0")
		}
		x.interval = d.Truncate(time.Microsecond)
	case 'v':
		x.volume = o.Number(opt, arg, 0, "numeric")
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	x := &reducer{
		flags: flags{interval: 10 * time.Minute, samples: -1}, env: env, flushAt: indexBytes,
		byID: make(map[pcp.PMID]*metric), indoms: make(map[pcp.InDom]*indom),
	}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: x.own, AndOr: true})
	x.opts = source.New(env, o)
	if !o.Errors() && len(o.Args) < 2 {
		o.Usagef("Error: insufficient arguments")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	x.debug = debugOf(o)
	x.name, x.outName = o.Args[0], o.Args[len(o.Args)-1]
	err := x.reduce(ctx)
	x.progress.Clear()
	if x.c != nil {
		x.c.Close()
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errExit):
		if x.out != nil {
			x.out.Close()
		}
		return 1
	case !errors.Is(err, errAbandon):
		x.complain("Error: %v", err)
	}
	x.abandon()
	return 1
}

// complain writes a message of the program.
func (x *reducer) complain(format string, args ...any) {
	x.progress.Clear()
	fmt.Fprintf(x.env.Stderr, "%s: %s\n", x.env.ProgName(), fmt.Sprintf(format, args...))
}

// abandon removes the output.
func (x *reducer) abandon() {
	fmt.Fprintf(x.env.Stderr, "Archive \"%s\" not created.\n", x.outName)
	if x.out != nil {
		x.out.Discard() // a missing file does not matter
	}
}

func (x *reducer) reduce(ctx context.Context) error {
	if err := x.open(ctx); err != nil {
		return err
	}
	if err := x.setWindow(ctx); err != nil {
		return err
	}
	if err := x.c.SetMode(ctx, pmapi.ModeInterp, &x.window.Start, x.interval); err != nil {
		x.complain("pmSetModeHighRes(PM_MODE_INTERP ...) failed: %s", cli.ErrText(err))
		return errExit
	}
	if err := x.create(); err != nil {
		return err
	}
	if err := x.describe(); err != nil {
		return err
	}
	if err := x.copy(ctx); err != nil {
		return err
	}
	if !x.env.Seven() || x.indexed != x.current { // PCP 7 has one entry for a time
		if err := x.out.Index(x.current); err != nil {
			return x.writeFailed(err)
		}
	}
	if err := x.out.Close(); err != nil {
		return x.writeFailed(err)
	}
	return nil
}

// open opens the input.
func (x *reducer) open(ctx context.Context) error {
	c, err := x.opts.OpenArchive(x.name)
	if err != nil {
		x.complain("Error: cannot open archive \"%s\" (ctx_a): %s", x.name, cli.ErrText(err))
		return errExit
	}
	x.c = c
	if x.archives, err = c.Archives(ctx); err == nil {
		x.label, err = c.Label(ctx)
	}
	if err != nil {
		x.complain("Error: cannot get archive label record (%s): %s", x.name, cli.ErrText(err))
		return errExit
	}
	x.meta = x.archives[0].Meta()
	return nil
}

// setWindow finds the time window. The C tool counts in microseconds.
func (x *reducer) setWindow(ctx context.Context) error {
	end, err := x.c.End(ctx)
	if err != nil {
		x.complain("Error: cannot get end of archive (%s): %s", x.name, cli.ErrText(err))
		return errExit
	}
	o := x.opts
	x.loc = x.env.Local()
	switch {
	case o.HostZone:
		fmt.Fprintf(x.env.Stdout, "Note: timezone set to local timezone of host \"%s\" from archive\n\n", x.label.Host)
		x.loc = pcptime.Zone(x.label.TimeZone)
	case o.TimeZoneSet:
		fmt.Fprintf(x.env.Stdout, "Note: timezone set to \"TZ=%s\"\n\n", o.TimeZone)
		x.loc = pcptime.Zone(o.TimeZone)
	}
	micro := func(t pcp.Timestamp) pcp.Timestamp {
		if !x.env.Seven() { // which counts in nanoseconds
			t.Nsec -= t.Nsec % 1000
		}
		return t
	}
	spec := pcptime.Bounds{Start: o.Start, Finish: o.Finish, Align: o.Align}
	x.window, _, err = pcptime.ParseWindow(spec, micro(x.label.Start), micro(end), x.loc)
	if err != nil {
		x.complain("Invalid time window specified: %v", err)
		return errExit
	}
	x.window.Start, x.window.Finish = micro(x.window.Start), micro(x.window.Finish)
	if x.debug.setup {
		fmt.Fprintf(x.env.Stderr, "Start time: %s\nEnd time: %s\n", pcptime.Ctime(x.window.Start, x.loc), pcptime.Ctime(x.window.Finish, x.loc))
	}
	return nil
}

const indexBytes = 100_000

// create makes the output.
func (x *reducer) create() error {
	label := x.label
	label.PID, label.Start, label.ZoneInfo, label.Features = int32(os.Getpid()), x.window.Start, "", 0
	for _, suffix := range []string{".index", ".meta", ".0"} {
		path := x.outName + suffix
		if _, err := os.Stat(path); err == nil {
			return x.cannotCreate(&fs.PathError{Op: "create", Path: path, Err: fs.ErrExist})
		}
	}
	out, err := archive.Create(x.outName, archive.WriterConfig{Label: label, ManualIndex: true})
	if err != nil {
		return x.cannotCreate(err)
	}
	x.out, x.current = out, label.Start
	return nil
}

func (x *reducer) cannotCreate(err error) error {
	path := x.outName + ".index"
	var perr *fs.PathError
	if errors.As(err, &perr) && errors.Is(err, fs.ErrExist) {
		path = perr.Path
	}
	if errors.Is(err, fs.ErrExist) {
		x.env.Printf("__pmLogNewFile: \"%s\" already exists, not over-written\n", path)
	} else {
		x.env.Printf("__pmLogNewFile: failed to create \"%s\": %s\n", path, cli.ErrText(err))
	}
	x.env.Flush()
	x.complain("Error: __pmLogCreate: %s", cli.ErrText(err))
	return errExit
}

func (x *reducer) writeFailed(err error) error {
	x.complain("Error: __pmLogPutResult2: log data: %s", cli.ErrText(err))
	return errAbandon
}

// copy writes a record for each interval.
func (x *reducer) copy(ctx context.Context) error {
	ids := make([]pcp.PMID, len(x.metrics))
	for i, m := range x.metrics {
		ids[i] = m.id
	}
	x.scan.in, x.scan.metrics = archive.NewScanner(x.archives...), x.byID
	ends, found := make(chan pcp.Timestamp), make(chan finding)
	go x.scan.run(ends, found)
	defer func() { close(ends); <-found }()
	x.progress = cli.NewProgress(x.env, x.env.ProgName(), 0)
	var in pcp.Result
	for at := x.window.Start; x.samples < 0 || x.written < x.samples; at = at.Add(x.interval) {
		ends <- at
		_, err := x.c.FetchInto(ctx, ids, &in)
		seen := <-found
		if errors.Is(err, pcp.ErrEOL) {
			return nil
		}
		if err != nil {
			x.complain("Error: pmFetch failed: %s", cli.ErrText(err))
			return errExit
		}
		if in.Time.Compare(x.window.Finish) > 0 {
			return nil
		}
		x.progress.SetTime(in.Time, x.window.Start, x.window.Finish)
		_, _, oldMeta := x.out.Position()
		if seen.err != nil {
			x.complain("%v", seen.err)
			return errExit
		}
		for _, t := range seen.marks {
			if err := x.out.Mark(t); err != nil {
				x.complain("Error: __pmLogWriteMark v%d: %s", x.label.Version, cli.ErrText(err))
				return errExit
			}
		}
		x.dumpSeen(in.Time)
		x.dump("input", &in)
		if err := x.rewrite(&in); err != nil {
			return err
		}
		x.dump("output", &x.result)
		if len(x.result.Sets) == 0 {
			continue // it would be a mark
		}
		if err := x.put(oldMeta); err != nil {
			return err
		}
	}
	return nil
}

// put writes the record, and the instance domains that it needs.
func (x *reducer) put(oldMeta int64) error {
	needIndex := x.written == 0
	t := x.result.Time
	if x.volume > 0 && x.written > 0 && x.written%x.volume == 0 || x.full() {
		if err := x.newVolume(t); err != nil {
			return err
		}
		needIndex = true
	}
	x.current = t
	wrote, err := x.putInDoms(t.Add(x.interval))
	if err != nil {
		return err
	}
	_, old, _ := x.out.Position()
	if err := x.out.WriteResult(&x.result); err != nil {
		return x.writeFailed(err)
	}
	x.written++
	_, pos, _ := x.out.Position()
	if needIndex || wrote || pos > x.flushAt {
		if err := x.out.IndexAt(t, oldMeta, old); err != nil {
			return x.writeFailed(err)
		}
		x.indexed = t
	}
	if pos > x.flushAt {
		x.flushAt = pos + indexBytes
	}
	return nil
}

// full reports whether the record may not fit into the volume: files of version 2 are
// limited. The reserve is larger than any record.
func (x *reducer) full() bool {
	if x.label.Version >= archive.Version3 {
		return false
	}
	size := int64(64)
	for i := range x.result.Sets {
		size += 12
		for _, v := range x.result.Sets[i].Values {
			size += 24 + int64(len(v.Bytes()))
		}
	}
	_, pos, _ := x.out.Position()
	return pos+size > math.MaxInt32
}

func (x *reducer) newVolume(t pcp.Timestamp) error {
	vol, _, _ := x.out.Position()
	if err := x.out.NewVolume(); err != nil {
		x.complain("Error: volume %d: %s", vol+1, cli.ErrText(err))
		return errExit
	}
	local := t.Time().In(x.loc)
	x.complain("New log volume %d, at %s.%09d", vol+1, local.Format("15:04:05"), t.Nsec)
	x.flushAt = indexBytes
	return nil
}
