package logextract

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmlogextract.
var Command = &cli.Command{
	Name:     "logextract",
	Link:     "pmlogextract",
	Group:    cli.Record,
	Summary:  "extract parts of archives and merge archives",
	Synopsis: "[options] input-archive output-archive",
	Doc: `Copies records from archives to a new one: those of a time window, those of selected metrics and
instances, or all records of several archives, merged in the order of time. Copied records stay the
same, byte for byte.`,
	Examples: []cli.Example{
		{Line: `pcp logextract -S @10:00 -T @11:00 20261121 hour`, Text: `cut out an hour`},
		{Line: `pcp logextract monday tuesday week`, Text: `merge two archives`},
		{Line: `pcp logextract -c metrics.conf 20261121 few`, Text: `keep only the metrics listed in a file`},
	},
	SeeAlso: []string{"pmlogreduce(1)", "pmdumplog(1)"},
	Debug:   []string{"appl5"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'c', Long: "config", Arg: "FILE", Help: "file to load configuration from"},
			cli.OptDebug,
			{Short: 'd', Long: "desperate", Help: "desperate, save output after fatal error"},
			{Short: 'f', Long: "first", Help: "use timezone from first archive [default is last]"},
			{Short: 'm', Long: "mark", Help: "ignore prologue/epilogue records and <mark> between archives"},
			cli.OptStart,
			{Short: 's', Long: "samples", Arg: "NUM", Help: "terminate after NUM log records have been written"},
			cli.OptFinish,
			{Short: 'V', Long: "outputversion", Arg: "VERSION", Help: "output archive version"},
			{Short: 'v', Arg: "SAMPLES", Help: "switch log volumes after this many samples"},
			{Short: 'w', Help: "ignore day/month/year"},
			{Short: 'x', Help: "skip metrics with mismatched metadata"},
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
	config          string
	desperate       bool
	firstZone       bool
	oldMarks        bool
	samples         int // -1: no limit
	wantVersion     int // of the output; 0 means that of the inputs
	volumeRecords   int // maximum per volume, if positive
	volumeBytes     int64
	volumeTime      time.Duration
	daily           bool // -w
	ignoreConflicts bool
}

func (f *flags) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'c':
		f.config = arg
		if _, err := os.Stat(arg); err != nil {
			o.Usagef("%s - invalid file", arg)
		}
	case 'd':
		f.desperate = true
	case 'f':
		f.firstZone = true
	case 'm':
		f.oldMarks = true
	case 's':
		f.samples = o.Number(opt, arg, 0, "numeric")
	case 'V':
		n := o.Number(opt, arg, 0, "numeric")
		if n != archive.Version2 && n != archive.Version3 {
			o.Usagef("-V value must be 2 or 3")
		}
		f.wantVersion = n
	case 'v':
		if n, ok := cli.Atoi(arg); ok && n >= 0 {
			f.volumeRecords = n
		} else if !f.volumeSize(arg) {
			o.Usagef("-v requires numeric argument")
		}
	case 'w':
		f.daily = true
	case 'x':
		f.ignoreConflicts = true
	default:
		return false
	}
	return true
}

// volumeSize reads an argument of -v that is not a plain number: bytes, as "10Mb",
// or an interval. Later versions of the C tool know these.
func (f *flags) volumeSize(arg string) bool {
	size, err := pmlogger.ParseSize(arg)
	f.volumeBytes, f.volumeTime = size.Bytes, size.Time
	return err == nil && size.Samples == 0
}

// Errors that have been reported already.
var (
	errExit    = errors.New("exit")            // before there is any output
	errAbandon = errors.New("output given up") // remove it
)

// An extractor does the work.
type extractor struct {
	flags
	env          *cli.Env
	seven        bool // as PCP 7
	allLabels    bool // copy the labels of all times and inputs
	traceVolumes bool // print why a volume is switched
	opts         *cli.Options
	inputs       []*input
	sel          *selection // nil: all metrics
	md           metadata
	out          *archive.Writer
	outName      string
	loc          *time.Location
	progress     *cli.Progress

	start, end       pcp.Timestamp // of all inputs together
	winStart, winEnd pcp.Timestamp // winEnd is only valid if bounded
	bounded          bool

	merger
}

func run(_ context.Context, env *cli.Env) int {
	x := &extractor{flags: flags{samples: -1}, env: env, seven: env.Seven(), allLabels: env.Seven() || !env.Classic()}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: x.own, AndOr: true})
	x.opts = o
	x.traceVolumes = (x.seven || !env.Classic()) && o.Debugging("appl5")
	if x.daily && (o.Start == nil || o.Finish == nil) {
		env.FlushOut()
		fmt.Fprintf(env.Stderr, "%s: Warning: -w flag requires that both -S and -T are specified.\nIgnoring -w flag.\n", env.ProgName())
		x.daily = false
	}
	if !o.Errors() && len(o.Args) < 2 {
		o.Usagef("Error: insufficient arguments")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	x.outName = o.Args[len(o.Args)-1]
	defer x.closeInputs()
	switch err := x.extract(o.Args[:len(o.Args)-1]); {
	case err == nil:
		return 0
	case errors.Is(err, errExit):
		return 1
	case !errors.Is(err, errAbandon):
		x.complain("Error: %v", err)
	}
	x.abandon()
	return 1
}

// complain writes a message of the program.
func (x *extractor) complain(format string, args ...any) {
	x.progress.Clear()
	fmt.Fprintf(x.env.Stderr, "%s: %s\n", x.env.ProgName(), fmt.Sprintf(format, args...))
}

// report reports the position of a bad record in a file.
func (x *extractor) report(err error) {
	var bad *badRecord
	if !errors.As(err, &bad) {
		return
	}
	x.complain("Error occurred at byte offset %d into a file of %d bytes.\n"+
		"The last record, and the remainder of this file will not be extracted.", bad.at, bad.size)
}

func errText(err error) string { return cli.ErrText(err) }

// writeFailed reports a write error.
func (x *extractor) writeFailed(what string, err error) error {
	x.complain("Error: %s: %s", what, errText(err))
	return errAbandon
}

// abandon removes the output, or with -d keeps the incomplete output.
func (x *extractor) abandon() {
	x.progress.Clear()
	if x.desperate {
		if x.out != nil {
			x.out.Close()
		}
		return
	}
	fmt.Fprintf(x.env.Stderr, "Archive \"%s\" not created.\n", x.outName)
	if x.out != nil {
		x.out.Discard() // a missing file does not matter
	}
}

func (x *extractor) closeInputs() {
	for _, in := range x.inputs {
		in.vols.close()
		if in.a != nil {
			in.a.Close()
		}
	}
}

func (x *extractor) extract(names []string) error {
	if err := x.open(names); err != nil {
		return err
	}
	if x.config != "" {
		if err := x.readConfig(x.config); err != nil {
			return err
		}
	}
	x.setZone()
	if err := x.create(); err != nil {
		return err
	}
	if err := x.setWindow(); err != nil {
		return err
	}
	if err := x.loadMeta(); err != nil {
		return err
	}
	if len(x.md.skipped) > 0 {
		fmt.Fprintln(x.env.Stderr, "Warning: the metrics below will be missing from the output archive")
		for _, id := range x.md.skipped {
			fmt.Fprintf(x.env.Stderr, "\tPMID: %s\n", id)
		}
	}
	return x.merge()
}

// open opens the inputs.
func (x *extractor) open(names []string) error {
	empty := 0
	for i, name := range expand(names) {
		in := &input{name: name, pid: -1, seqnum: -1, scanner: new(scanner)}
		x.inputs = append(x.inputs, in)
		a, err := archive.Options{Debug: x.opts.DebugLog()}.Open(name)
		if errors.Is(err, pcp.ErrNoData) {
			x.complain("Warning: empty archive \"%s\" will be skipped", name)
			in.empty, in.metaEnd, in.ended = true, true, true
			empty++
			continue
		}
		if err != nil {
			x.complain("Error: cannot open archive \"%s\": %s", name, errText(err))
			return errExit
		}
		in.a, in.label = a, a.Meta().Label()
		in.vols = volumes{a: a, i: -1}
		if err := x.openMeta(in); err != nil {
			x.complain("Error: cannot get archive label record (%s): %s", name, errText(err))
			return errExit
		}
		end, err := a.End()
		if err != nil && end != (pcp.Timestamp{}) {
			// A volume at the end is damaged: extract the data before it; reading
			// further reports the damage.
			end, err = pcp.Timestamp{Sec: pcp.MaxSec}, nil
		}
		if err != nil {
			x.complain("Error: cannot get end of archive (%s): %s", name, errText(err))
			if !x.desperate {
				return errExit
			}
			end = pcp.Timestamp{Sec: pcp.MaxSec}
		}
		if i == empty || in.label.Start.Compare(x.start) < 0 {
			x.start = in.label.Start
		}
		if i == empty || end.Compare(x.end) > 0 {
			x.end = end
		}
	}
	for _, in := range x.inputs {
		in.vols.read = min(readMost, readTotal/len(x.inputs))
	}
	if empty == len(x.inputs) {
		x.complain("Warning: all input archive(s) are empty, no output archive created")
		return errExit
	}
	return nil
}

// openMeta reads the metadata of an input, unless another has them.
func (x *extractor) openMeta(in *input) error {
	for _, other := range x.inputs {
		if other != in && !other.empty && other.a.Path() == in.a.Path() {
			in.meta = other.meta
			return nil
		}
	}
	in.meta = new(metaFile)
	return in.meta.load(in.a.Path() + ".meta")
}

// expand replaces lists and directories with their archives, in the order of time. (The
// C tool extracts from the first of them only.)
func expand(names []string) []string {
	var list []string
	for _, name := range names {
		if _, err := os.Stat(name); err != nil && strings.Contains(name, ",") {
			list = append(list, byStart(expand(strings.Split(name, ",")))...)
			continue
		}
		st, err := os.Stat(name)
		if err != nil || !st.IsDir() {
			list = append(list, name)
			continue
		}
		entries, _ := os.ReadDir(name)
		var found []string
		for _, e := range entries {
			if base, part, ok := archive.BaseName(e.Name()); ok && part == "meta" {
				found = append(found, filepath.Join(name, base))
			}
		}
		if len(found) == 0 {
			found = []string{name} // so that opening reports the error
		}
		list = append(list, byStart(found)...)
	}
	return list
}
