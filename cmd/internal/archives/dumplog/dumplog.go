package dumplog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmns"
)

// Command is pmdumplog.
var Command = &cli.Command{
	Name:     "dumplog",
	Link:     "pmdumplog",
	Group:    cli.SeePast,
	Summary:  "dump the contents of an archive",
	Synopsis: "[options] [archive [metricname ...]]",
	Doc: `Prints the contents of an archive, record by record as written: values by default, and with other
options descriptors, instance domains, labels, help texts, the index and the label. Arguments after
the archive select metrics. The archive can be a directory, or a list of archives separated by commas,
of one host.`,
	Examples: []cli.Example{
		{Line: `pcp dumplog -a 20261121`, Text: `dump everything`},
		{Line: `pcp dumplog -z -S @10:00 -T @10:05 20261121 disk.all.total`, Text: `dump five minutes of a metric, in the time zone of the recorded host`},
		{Line: `pcp dumplog -l 20261121`, Text: `show when and where the archive was recorded`},
	},
	SeeAlso: []string{"pmlogcheck(1)", "pmval(1)", "pcp-archive(5)"},
	Options: options,

	DieOnSignal: true,
	Run:         run,
}

// NewCommand is pmlogdump, the name that the tool has in later versions of PCP.
var NewCommand = &cli.Command{
	Name:     "logdump",
	Link:     "pmlogdump",
	Group:    cli.SeePast,
	Summary:  "dump the contents of an archive",
	Synopsis: "[options] [archive [metricname ...]]",
	Doc:      `Prints the contents of an archive. It is another name of pmdumplog.`,
	Examples: []cli.Example{
		{Line: `pcp logdump -l 20261121`, Text: `show when and where the archive was recorded`},
	},
	SeeAlso: []string{"pmdumplog(1)"},
	Options: options,

	DieOnSignal: true,
	Run:         run,
}

func options() []cli.Option {
	return []cli.Option{
		cli.Heading("Options"),
		cli.OptDebug,
		{Short: 'a', Long: "all", Help: "dump everything"},
		{Short: 'd', Long: "descs", Help: "dump metric descriptions"},
		{Short: 'e', Long: "labelsets", Help: "dump all metric label metadata"},
		{Short: 'h', Long: "helptext", Help: "dump all metric help text"},
		{Short: 'I', Long: "on-disk-insts", Help: "dump on-disk instance domain descriptions"},
		{Short: 'i', Long: "insts", Help: "dump instance domain descriptions"},
		{Short: 'L', Help: "more verbose form of archive label dump"},
		{Short: 'l', Long: "label", Help: "dump the archive label"},
		{Short: 'M', Long: "markrecs", Help: "report <mark> records"},
		{Short: 'm', Long: "metrics", Help: "dump values of the metrics (default)"},
		cli.OptNameSpace,
		{Short: 'r', Long: "reverse", Help: "process archive in reverse chronological order"},
		cli.OptStart,
		{Short: 's', Long: "sizes", Help: "report size of data records in archive"},
		cli.OptFinish,
		{Short: 't', Help: "dump the temporal index"},
		{Short: 'v', Arg: "FILE", Help: "verbose hex dump of a physical file in raw format"},
		{Short: 'x', Help: "include date, usec (-xx) and Epoch (-xxx) in reported timestamps"},
		cli.OptTimeZone,
		cli.OptHostZone,
		cli.OptVersion,
		cli.OptHelp,
		cli.OptJSON,
	}
}

// flags are the options of this tool.
type flags struct {
	descs, labels, help, diskInDoms, inDoms, longLabel, label, marks, metrics, reverse, sizes, index bool

	long int // -x, how often

	json bool // --json

	raw     string // -v
	wantRaw bool
}

func (f *flags) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'a':
		f.descs, f.inDoms, f.longLabel, f.label, f.metrics, f.sizes, f.index = true, true, true, true, true, true, true
	case 'd':
		f.descs = true
	case 'e':
		f.labels = true
	case 'h':
		f.help = true
	case 'I':
		f.diskInDoms = true
	case 'i':
		f.inDoms = true
	case 'L':
		f.longLabel, f.label = true, true
	case 'l':
		f.label = true
	case 'M':
		f.marks = true
	case 'm':
		f.metrics = true
	case 'r':
		f.reverse = true
	case 's':
		f.sizes = true
	case 't':
		f.index = true
	case 'v':
		f.raw, f.wantRaw = arg, true
	case 'x':
		f.long++
	default:
		return false
	}
	return true
}

// A dumper writes the requested parts of an archive.
type dumper struct {
	flags
	env *cli.Env

	archives []*archive.Archive // by time
	a        *archive.Archive   // the archive that is dumped
	label    archive.Label
	meta     *archive.Meta // of all
	loc      *time.Location
	tree     *pmns.Tree // -n
	b        []byte     // buffered output
	writeAt  int
	err      error // of writing

	metricsOf map[pcp.PMID]*metric
	indoms    map[pcp.InDom]*instances
	last      []*metric // of the sets of the last record
	now       pcp.Timestamp
	clock     clock
}

func run(_ context.Context, env *cli.Env) int {
	var f flags
	o := source.Parse(env, cli.ParseConfig{Own: f.own, Later: true, Archives: true})
	if f.wantRaw && len(o.Args) > 0 || !f.wantRaw && len(o.Args)+len(o.Archives) == 0 && !o.Errors() && !o.WantsVersion() {
		o.WantUsage()
	}
	if f.json = o.JSON; f.json && (f.descs || f.labels || f.help || f.diskInDoms || f.inDoms || f.label || f.index || f.wantRaw) {
		o.Usagef("--json is for the values of metrics only")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if f.wantRaw {
		return rawDump(env, f.raw)
	}
	if !(f.descs || f.labels || f.help || f.diskInDoms || f.inDoms || f.label || f.metrics || f.index) {
		f.metrics = true
	}
	if len(o.Archives) == 0 { // else PCP_ARCHIVE names it, and all arguments are metrics
		o.AddArchive(o.Args[0])
		o.Args = o.Args[1:]
	}
	o.End()
	if status, exit := o.Done(); exit {
		return status
	}
	path := o.Archives[0]
	if log := o.DebugLog(); log.On(debugname.Archive) && !env.Seven() {
		log.Printf("__pmStat(\"%s\"): no decompress\n", path)
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() || strings.Contains(path, ",") {
		if env.Name == "pmdumplog" && !env.Seven() { // as in 6.0.3
			return env.Fatalf("Multiple archives are not supported")
		}
		return dumpAll(env, o, f, path)
	}
	a, err := archive.Options{Debug: o.DebugLog()}.Open(path)
	if errors.Is(err, pcp.ErrFeature) {
		fmt.Fprintf(env.Stderr, "%s: Warning: unsupported feature bits, other errors may follow ...\n", env.ProgName())
		a, err = archive.Options{AnyFeatures: true, Debug: o.DebugLog()}.Open(path)
	}
	if err != nil {
		return o.CannotOpen(path, err)
	}
	defer a.Close()
	return newDumper(env, o, f, []*archive.Archive{a}, a.Meta()).run(o, a)
}

// dumpAll dumps the archives of a directory or a list.
func dumpAll(env *cli.Env, o *source.Options, f flags, spec string) int {
	set, err := replay.Open(spec, replay.Options{Options: archive.Options{Debug: o.DebugLog()}})
	if err != nil {
		return o.CannotOpen(spec, err)
	}
	defer set.Close()
	return newDumper(env, o, f, set.Archives(), set.Meta()).run(o, set)
}

func newDumper(env *cli.Env, o *source.Options, f flags, list []*archive.Archive, meta *archive.Meta) *dumper {
	return &dumper{
		flags: f, env: env, archives: list, a: list[0], label: list[0].Label(), meta: meta, tree: o.NameSpace, writeAt: 256 << 10,
		metricsOf: make(map[pcp.PMID]*metric), indoms: make(map[pcp.InDom]*instances),
	}
}

// An archived is an archive, or several.
type archived interface {
	Label() archive.Label
	End() (pcp.Timestamp, error)
}

// run dumps an archive, or all archives of a set, and returns the exit status.
func (d *dumper) run(o *source.Options, all archived) int {
	status := d.dump(o, all)
	d.flush(0)
	if d.err != nil {
		return d.env.OutputFailed(d.err)
	}
	return status
}

// each does something for each archive, after a line with its name if there are several. Between is printed before
// the line.
func (d *dumper) each(between string, do func() int) int {
	for _, a := range d.archives {
		d.a, d.label = a, a.Label()
		if len(d.archives) > 1 {
			d.printf("%s--- archive %s ---\n", between, a.Path())
		}
		if status := do(); status != 0 {
			return status
		}
	}
	return 0
}

// heading returns the heading of a part that each archive has, with an empty line before it unless the line with the
// archive's name is there.
func (d *dumper) heading(text string) string {
	if len(d.archives) > 1 {
		return text
	}
	return "\n" + text
}

// dump dumps open archives.
func (d *dumper) dump(o *source.Options, all archived) int {
	d.loc = o.ArchiveZone(all)
	d.clock.loc = d.loc
	window, err := o.ArchiveWindow(all, d.loc)
	if err != nil {
		return 1 // already reported
	}
	if len(d.archives) > 1 && !d.json {
		d.printf("Note: multi-archive context with %d archives\n", len(d.archives))
	}
	ids, err := d.lookup(o.Args)
	if err != nil {
		return 1
	}
	if d.flags.label {
		d.each("", func() int { d.dumpLabel(); return 0 })
	}
	if d.descs {
		d.dumpDescs()
	}
	if d.labels {
		d.dumpLabels()
	}
	if d.help {
		d.dumpTexts()
	}
	if d.diskInDoms {
		if status := d.each("\n", d.dumpDiskInDoms); status != 0 {
			return status
		}
	}
	if d.inDoms {
		d.dumpInDoms()
	}
	if d.index {
		d.each("\n", func() int { d.dumpIndex(); return 0 })
	}
	if d.metrics {
		return d.dumpRecords(ids, window, o.Start != nil || o.Finish != nil)
	}
	return 0
}

// flush writes the buffered output if it exceeds a limit.
func (d *dumper) flush(limit int) {
	if len(d.b) <= limit {
		return
	}
	if d.err == nil {
		_, d.err = d.env.Stdout.Write(d.b)
	}
	d.b = d.b[:0]
}

// complain writes a message of the program to standard error, after the output
// so far.
func (d *dumper) complain(format string, args ...any) {
	d.flush(0)
	d.env.FlushOut()
	fmt.Fprintf(d.env.Stderr, format, args...)
}

// lookup finds the metrics that the arguments name, each once.
func (d *dumper) lookup(args []string) ([]pcp.PMID, error) {
	var ids []pcp.PMID
	seen := map[pcp.PMID]bool{}
	for _, name := range args {
		found, err := d.metricsUnder(name)
		if err != nil {
			d.complain("%s: pmLookupName(%s): %s%s\n", d.env.ProgName(), name, cli.ErrText(err), d.meant(name, err))
		}
		for _, id := range found {
			if !seen[id] {
				ids = append(ids, id)
			}
			seen[id] = true
		}
	}
	if len(args) > 0 && len(ids) == 0 {
		d.complain("No metric names can be translated, dump abandoned\n")
		return nil, pcp.ErrName
	}
	return ids, nil
}

// meant returns a hint at the metric that an unknown name may mean.
func (d *dumper) meant(name string, err error) string {
	switch {
	case !errors.Is(err, pcp.ErrName):
		return ""
	case d.tree != nil:
		return source.DidYouMeanIn(d.env, d.tree, name)
	}
	return source.DidYouMeanAmong(d.env, d.meta.NamesInOrder(), name)
}

// metricsUnder returns the metric of a name, or those below it.
func (d *dumper) metricsUnder(name string) ([]pcp.PMID, error) {
	if name == "" { // not the root, as in C
		return nil, pcp.ErrName
	}
	if d.tree != nil {
		id, err := d.tree.Lookup(name)
		if err == nil {
			return []pcp.PMID{id}, nil
		}
		if !errors.Is(err, pcp.ErrNonLeaf) {
			return nil, err
		}
		return idsBelow(d.tree, name)
	}
	if id, ok := d.meta.LookupName(name); ok {
		return []pcp.PMID{id}, nil
	}
	// In the order in which C traverses the name space of an archive.
	tree := pmns.New()
	for n, id := range d.meta.NamesInOrder() {
		_ = tree.Prepend(n, id) // C ignores an invalid name too
	}
	ids, err := idsBelow(tree, name)
	if err != nil || len(ids) == 0 {
		return nil, pcp.ErrName
	}
	return ids, nil
}

func idsBelow(tree *pmns.Tree, name string) ([]pcp.PMID, error) {
	leaves, err := tree.Leaves(name)
	var ids []pcp.PMID
	for _, id := range leaves {
		ids = append(ids, id)
	}
	return ids, err
}

// names returns the names of a metric.
func (d *dumper) names(id pcp.PMID) []string {
	if d.tree == nil {
		return d.meta.Names(id)
	}
	names, err := d.tree.Names(id)
	if err != nil {
		return nil
	}
	return names
}

// dumpRecords dumps the values.
func (d *dumper) dumpRecords(ids []pcp.PMID, w pcptime.Window, windowed bool) int {
	dir, from, done := archive.Forward, w.Start, pcp.Timestamp{Sec: pcp.MaxSec}
	if windowed {
		done = w.Finish
	}
	if d.reverse {
		dir, from, done = archive.Backward, w.Finish, pcp.Timestamp{}
		if windowed {
			done = w.Start
		}
	}
	r := &records{archives: d.archives, dir: dir, from: from}
	defer r.close()
	first := true
	var skel pcp.Result
	var err error
	for err == nil {
		var raw *pcp.Result
		if raw, err = r.next(); err != nil {
			break
		}
		res, size := raw, r.size()
		if len(ids) > 0 && !(len(raw.Sets) == 0 && d.marks) {
			var bytes int
			if bytes = d.pick(&skel, raw, ids, r.body()); len(skel.Sets) == 0 {
				continue
			}
			res, size = &skel, bytes
		}
		if first && d.reverse && !d.json {
			first = false
			d.b = append(d.b, "\nLog finished at "...)
			d.b = append(append(d.b, pcptime.Ctime(res.Time, d.loc)...), " - dump in reverse order\n"...)
		}
		if c := res.Time.Compare(done); c > 0 && !d.reverse || c < 0 && d.reverse {
			return 0
		}
		if d.json {
			d.jsonRecord(res)
		} else {
			d.b = append(d.b, '\n')
			d.record(res, size)
		}
		if d.flush(d.writeAt); d.err != nil {
			return 1
		}
	}
	if errors.Is(err, io.EOF) {
		return 0
	}
	d.complain("%s: pmFetch: %s\n", d.env.ProgName(), cli.ErrText(err))
	return 1
}
