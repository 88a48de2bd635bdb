package logsummary

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmns"
)

// Command is pmlogsummary.
var Command = &cli.Command{
	Name:     "logsummary",
	Link:     "pmlogsummary",
	Group:    cli.SeePast,
	Summary:  "print averages and other statistics of an archive",
	Synopsis: "[options] archive [metricname ...]",
	Doc: `Prints one line for each metric and instance with its average over an archive or a part of it, weighted by time, and
with options minimum, maximum, sum, number of samples and their distribution. Counters are converted to rates.`,
	Examples: []cli.Example{
		{Line: `pcp logsummary 20261121 mem.util.free`, Text: `print the average of a metric`},
		{Line: `pcp logsummary -HlmMy -S @10:00 -T @11:00 20261121 disk.all.total`, Text: `print averages, extremes and counts of an hour`},
	},
	SeeAlso: []string{"pmval(1)", "pmdiff(1)"},
	Debug:   []string{"appl0", "appl1", "appl2"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'a', Long: "all", Help: "print all information (equivalent to -blmMy)"},
			{Short: 'b', Help: "print both stochastic and time averages for counter metrics"},
			{Short: 'B', Long: "bins", Arg: "N", Help: "print value distribution across a number of bins"},
			{Short: 'f', Help: "print using \"spreadsheet\" format (tab delimited fields)"},
			{Short: 'F', Help: "print using \"spreadsheet\" format (comma separated values)"},
			{Short: 'H', Long: "header", Help: "print one-line header at start showing each column"},
			{Short: 'i', Long: "mintime", Help: "also print timestamp for minimum value"},
			{Short: 'I', Long: "maxtime", Help: "also print timestamp for maximum value"},
			{Short: 'l', Long: "label", Help: "also print the archive label and time window"},
			{Short: 'm', Long: "minimum", Help: "also print minimum value"},
			{Short: 'M', Long: "maximum", Help: "also print maximum value"},
			cli.OptNameSpace,
			{Short: 'N', Help: "suppress warnings from individual archive fetches (default)"},
			{Short: 'p', Long: "precision", Arg: "N", Help: "number of digits to display after the decimal point"},
			{Short: 's', Long: "sum", Help: "only print the sum of all values of each metric"},
			cli.OptStart,
			cli.OptFinish,
			{Short: 'v', Long: "verbose", Help: "verbose, enable warnings from individual archive fetches"},
			{Short: 'x', Help: "print only stochastic averages for counter metrics"},
			{Short: 'y', Long: "samples", Help: "print sample count for each metric"},
			cli.OptTimeZone,
			cli.OptHostZone,
			cli.OptVersion,
			cli.OptHelp,
			cli.OptJSON,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// Limits of options.
const (
	maxBins      = 1 << 20
	maxPrecision = 1 << 16
)

// flags are the options of this tool.
type flags struct {
	stochastic, timeAverage, sum, min, max, minTime, maxTime, count bool

	header, label, warn bool

	json bool // --json

	delimiter byte
	bins      int
	precision int
	trace     int
}

func (f *flags) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'a':
		f.stochastic, f.timeAverage, f.label, f.count, f.min, f.max = true, true, true, true, true, true
		f.sum = false
	case 'b':
		f.stochastic, f.timeAverage, f.sum = true, true, false
	case 'B':
		if f.bins = o.Number(opt, arg, 0, "positive numeric"); f.bins > maxBins {
			o.Usagef("-B: more than %d bins are not supported", maxBins)
		}
	case 'f':
		f.delimiter = '\t'
	case 'F':
		f.delimiter = ','
	case 'H':
		f.header = true
	case 'i':
		f.minTime = true
	case 'I':
		f.maxTime = true
	case 'l':
		f.label = true
	case 'm':
		f.min = true
	case 'M':
		f.max = true
	case 'N':
		f.warn = false
	case 'p':
		f.precision = o.Number(opt, arg, math.MinInt, "numeric")
		switch {
		case f.precision > maxPrecision:
			o.Usagef("-p: more than %d digits are not supported", maxPrecision)
		case f.precision < 0:
			f.precision = 6 // the value that C's printf uses
		}
	case 's':
		f.stochastic, f.timeAverage, f.label, f.count, f.min, f.max = false, false, false, false, false, false
		f.sum = true
	case 'v':
		f.warn = true
	case 'x':
		f.stochastic, f.timeAverage, f.sum = true, false, false
	case 'y':
		f.count = true
	default:
		return false
	}
	return true
}

// A tool is one run.
type tool struct {
	flags
	env     *cli.Env
	out     *bufio.Writer
	meta    *archive.Meta
	tree    *pmns.Tree
	loc     *time.Location
	window  pcptime.Window
	span    float64 // of the window, in seconds
	days    bool    // print dates with times
	unwrap  bool    // PCP_COUNTER_WRAP
	warned  map[pcp.PMID]bool
	metrics map[pcp.PMID]*metric
	started [workers][]*metric // the metrics of each worker that have values
	base    pcp.Timestamp      // from which their times count
	b       []byte
}

func run(_ context.Context, env *cli.Env) int {
	f := flags{timeAverage: true, delimiter: ' ', precision: 3}
	o := source.Parse(env, cli.ParseConfig{Own: f.own, Later: true, Archives: true})
	if len(o.Args) == 0 && len(o.Archives) == 0 && !o.Errors() && !o.WantsVersion() {
		env.Printf("Error: no archive specified\n\n")
		o.WantUsage()
	}
	if f.json = o.JSON; f.json && (f.bins > 0 || f.header || f.label) {
		o.Usagef("--json is not for -a, -B, -H or -l")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	args := o.Args
	if len(o.Archives) == 0 {
		o.AddArchive(args[0])
		args = args[1:]
	}
	path := o.Archives[0]
	f.trace = traceFlags(o.Options)
	o.End()
	if status, exit := o.Done(); exit {
		return status
	}
	set, err := replay.Open(path, replay.Options{Options: archive.Options{Debug: o.DebugLog()}})
	if err != nil {
		return o.CannotOpen(path, err)
	}
	defer set.Close()
	t := &tool{
		flags: f, env: env, out: bufio.NewWriterSize(env.Stdout, 64<<10), meta: set.Meta(), tree: o.NameSpace,
		unwrap: env.IsSet("PCP_COUNTER_WRAP"), warned: make(map[pcp.PMID]bool), metrics: make(map[pcp.PMID]*metric),
	}
	t.base = set.Label().Start
	t.loc = o.ArchiveZone(set)
	if t.window, err = o.ArchiveWindow(set, t.loc); err != nil {
		return 1 // already reported
	}
	if t.label {
		t.printLabel(set.Label())
	}
	t.window.Start, t.window.Finish = micro(t.window.Start), micro(t.window.Finish)
	t.span = real(t.window.Finish) - real(t.window.Start)
	t.days = minus(t.window.Finish, t.window.Start).Sec > 86400

	status, fatal := t.read(set)
	if !fatal {
		if s := t.print(path, args); s != 0 {
			status = s
		}
	}
	if err := t.out.Flush(); err != nil && status == 0 {
		status = t.env.OutputFailed(err)
	}
	return status
}

// read processes the records of the window: twice if there are bins, since their bounds
// are known only after the first pass.
func (t *tool) read(set *replay.Set) (status int, fatal bool) {
	for pass := range 2 {
		err := t.scan(set, pass == 1)
		if f, ok := err.(*fatalError); ok {
			t.complain("%s%s: possibly corrupt archive?\n", f.warning, t.env.ProgName())
			return 1, true
		}
		if pass == 0 && t.bins > 0 {
			t.tracef(traceValues, "resetting for second iteration\n")
			continue
		}
		if err != nil {
			t.complain("%s: fetch failed: %s\n", t.env.ProgName(), cli.ErrText(err))
			status = 1
		}
		return status, false
	}
	return 0, false
}

// print prints the metrics that args name, or all.
func (t *tool) print(path string, args []string) int {
	if t.tree == nil {
		t.tree = pmns.New()
		for name, id := range t.meta.NamesInOrder() {
			// An error means a name that clashes with another, which the C library
			// leaves out too.
			_ = t.tree.Prepend(name, id)
		}
	}
	if t.header {
		t.printHeader()
	}
	if len(args) == 0 {
		for name, id := range t.tree.All() {
			t.printMetric(name, id, nil)
		}
		return 0
	}
	for _, arg := range args {
		spec, err := pmapi.ParseMetricSpec(arg, pmapi.SourceArchive, path)
		if err != nil {
			detail := err.Error()
			if e := (*pmapi.SpecError)(nil); errors.As(err, &e) {
				detail = e.Detail()
			}
			t.complain("%s", detail)
			continue
		}
		leaves, err := t.tree.Leaves(spec.Metric)
		for name, id := range leaves {
			t.printMetric(name, id, spec.Insts)
		}
		if err != nil {
			meant := ""
			if errors.Is(err, pcp.ErrName) {
				meant = source.DidYouMeanIn(t.env, t.tree, spec.Metric)
			}
			t.complain("%s: PMNS traversal failed for %s: %s%s\n", t.env.ProgName(), spec.Metric, cli.ErrText(err), meant)
		}
	}
	return 0
}

// complain writes a message to standard error: on a terminal after the output so
// far, else before, as C buffers it. Scripts compare both in one file.
func (t *tool) complain(format string, args ...any) {
	if t.env.Rows != nil && t.env.Rows() > 0 {
		t.out.Flush()
		t.env.FlushOut()
	}
	fmt.Fprintf(t.env.Stderr, format, args...)
}

// warning returns a message about a metric, "" if it was printed before or -v is not
// given.
func (t *tool) warning(id pcp.PMID, format string, args ...any) string {
	if !t.warn || t.warned[id] {
		return ""
	}
	t.warned[id] = true
	return fmt.Sprintf("%s: %s(%s) - %s\n", t.env.ProgName(), t.names(id), id, fmt.Sprintf(format, args...))
}

// names returns the names of a metric for messages.
func (t *tool) names(id pcp.PMID) string {
	list := t.meta.Names(id)
	if t.tree != nil {
		list, _ = t.tree.Names(id)
	}
	if len(list) == 0 {
		return "<nonames>"
	}
	return strings.Join(list, " or ")
}

func (t *tool) warnf(id pcp.PMID, format string, args ...any) {
	if s := t.warning(id, format, args...); s != "" {
		t.complain("%s", s)
	}
}
