package info

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/desccheck"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmns"
)

// Command is pminfo.
var Command = &cli.Command{
	Name:     "info",
	Link:     "pminfo",
	Group:    cli.SeeNow,
	Summary:  "list metrics with descriptions, help texts and values",
	Synopsis: "[options] [metricname | pmid | indom]...",
	Doc: `
Prints the names of all metrics, or of those at or below the given names. Options add descriptions
(-d), help texts (-t, -T), values (-f) and labels (-l).`,
	Examples: []cli.Example{
		{Line: "pcp info kernel", Text: "list the metrics whose names begin with kernel"},
		{Line: "pcp info -f kernel.all.load", Text: "print the load averages"},
		{Line: "pcp info -dtT mem.util.free", Text: "describe and explain a metric"},
		{Line: "pcp info -1 disk.dev", Text: "describe metrics in lines that a script can read"},
		{Line: "pcp info -h db1 -f disk.dev.total", Text: "ask the collector of another host"},
		{Line: "pcp info -f -a 20261121 -O @10:00 kernel.all.load", Text: "print the values of an archive as of 10:00"},
		{Line: "pcp info --json -f kernel.all.load", Text: "write JSON for a program"},
	},
	SeeAlso: []string{"pmval(1)", "pmprobe(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptArchive,
			cli.OptDebug,
			cli.OptHost,
			cli.OptContainer,
			cli.OptLocalPMDA,
			cli.OptSpecLocal,
			cli.OptNameSpace,
			cli.OptUniqNames,
			cli.OptOrigin,
			cli.OptTimeZone,
			cli.OptHostZone,
			cli.OptVersion,
			cli.OptHelp,
			cli.Heading("Protocol options"),
			{Short: 'b', Long: "batch", Arg: "N", Help: "fetch N metrics at a time for -f and -v [128]"},
			{Short: 'd', Long: "desc", Help: "get and print metric description"},
			{Short: '1', Long: "desc-oneline", Help: "like -d, with one line for a metric", Extra: true},
			{Short: 'e', Long: "metadata-errors", Help: "like -v, also for metadata, but not for missing values", Extra: true},
			{Short: 'f', Long: "fetch", Help: "fetch and print values for all instances"},
			{Short: 'F', Long: "fetchall", Help: "fetch and print values for non-enumerable indoms"},
			{Short: 'I', Long: "fullindom", Help: "print InDom in verbose format"},
			{Short: 'l', Long: "labels", Help: "print InDom, metric and instance labels"},
			{Short: 'm', Long: "pmid", Help: "print PMID"},
			{Short: 'M', Long: "fullpmid", Help: "print PMID in verbose format"},
			{Short: 's', Long: "series", Help: "print source, metric, instance series identifiers"},
			{Short: 't', Long: "oneline", Help: "get and display (terse) oneline text"},
			{Short: 'T', Long: "helptext", Help: "get and display (verbose) help text"},
			cli.Heading("Metrics options"),
			{Short: 'c', Long: "derived", Arg: "FILE", Help: "load derived metric definitions from FILE(s)"},
			{Short: 'r', Long: "register", Arg: "NAME=EXPR", Help: "define a derived metric", Extra: true},
			{Short: 'x', Long: "events", Help: "unpack and report on any fetched event records"},
			{Short: 'v', Long: "verify", Help: "verify mode, be quiet and only report errors"},
			cli.OptJSON,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// wants selects the output.
type wants struct {
	desc, fullInDom bool
	value, force    bool
	events          bool
	labels, series  bool
	pmid, fullPMID  bool
	oneline, help   bool
	verify          bool
	checked         bool // with verify: descriptors too
	complete        bool // with verify: not missing values
	tabs            bool // with desc: one line
	json            bool
}

// ids reports whether the names' PMIDs are needed.
func (w *wants) ids() bool {
	return w.desc || w.value || w.labels || w.series || w.pmid || w.oneline || w.help || w.verify
}

// source reports whether more than names is needed.
func (w *wants) source() bool {
	return w.desc || w.value || w.labels || w.series || w.oneline || w.help || w.verify
}

// own handles the options that are pminfo's alone.
func (r *reporter) own(o *cli.Options, opt *cli.Option, arg string) bool {
	w := &r.want
	switch opt.Short {
	case 'b':
		r.batchSize = o.Number(opt, arg, math.MinInt, "numeric")
	case 'c':
		if err := o.LoadDerived(arg); err != nil {
			fmt.Fprintf(r.env.Stderr, "%s: derived configuration(s) error: %s\n", r.env.ProgName(), err)
		}
	case 'd':
		w.desc = true
	case '1':
		w.desc, w.tabs = true, true
	case 'e':
		w.verify, w.checked = true, true
	case 'f':
		w.value = true
	case 'F':
		w.value, w.force = true, true
	case 'I':
		w.desc, w.fullInDom = true, true
	case 'l':
		w.labels = true
	case 'm':
		w.pmid = true
	case 'M':
		w.pmid, w.fullPMID = true, true
	case 'r':
		r.defined = append(r.defined, arg)
	case 's':
		w.series = true
	case 't':
		w.oneline = true
	case 'T':
		w.help = true
	case 'x':
		w.value, w.events = true, true
	case 'v':
		w.verify, w.checked = true, false
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	r := &reporter{env: env, seven: env.Seven, batchSize: 128, loc: env.Local()}
	o := source.Parse(env, cli.ParseConfig{Own: r.own, Archives: true})
	if r.want.json = o.JSON; o.JSON && (r.want.verify || r.want.series) {
		o.Usagef("--json is not for -e, -s or -v")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	r.log = o.DebugLog()
	if r.want.verify {
		r.want = wants{verify: true, fullInDom: r.want.fullInDom && (r.want.checked || r.seven()), checked: r.want.checked || r.seven(), complete: r.want.checked, series: r.want.series, events: r.want.events}
	}
	if o.NameSpace != nil && !r.want.source() && len(r.defined) == 0 && len(o.Hosts) == 0 && !o.FromArchive() && !o.Local {
		// The file alone answers. Names that every source has follow its own,
		// unless it has them too.
		if o.Debugging(debugname.Derive) {
			if err := r.traceNames(o); err != nil {
				return env.Fatalf("%v", err)
			}
			defer func() {
				r.traced.UseDerived(nil, nil)
				r.traced.Close()
			}()
		}
		_ = o.NameSpace.Merge(pmns.Events())
		o.AddDerived(o.NameSpace)
		r.tree = o.NameSpace
	} else {
		c, err := o.Connect(ctx)
		if err != nil {
			return 1
		}
		defer func() {
			c.UseDerived(nil, nil) // -D derive does not report that they end: the C tool leaves this out
			c.Close()
		}()
		r.c = c
		if a, ok := c.Archive(); ok {
			r.archive = a
			if err := r.replay(ctx, o); err != nil {
				return 1
			}
		}
		if !r.define(ctx) {
			return 1
		}
	}

	status := 0
	if len(o.Args) == 0 {
		if err := r.traverse(ctx, ""); err != nil {
			fmt.Fprintf(env.Stderr, "Error: %s\n", cli.ErrText(err))
			status = 1
		}
	}
	for _, arg := range o.Args {
		var err error
		if arg != "" && arg[0] >= '0' && arg[0] <= '9' {
			err = r.number(ctx, arg)
		} else {
			err = r.traverse(ctx, arg)
		}
		if err != nil {
			meant := ""
			if errors.Is(err, pcp.ErrName) {
				meant = r.meant(ctx, arg)
			}
			fmt.Fprintf(env.Stderr, "Error: %s: %s%s\n", arg, cli.ErrText(err), meant)
			status = 1
		}
	}
	r.report(ctx)
	return status
}

// define defines the metrics of -r in the context, and reports whether it could.
func (r *reporter) define(ctx context.Context) bool {
	ok := true
	for _, def := range r.defined {
		name, expr, found := strings.Cut(def, "=")
		name, expr = strings.Trim(name, " \t"), strings.Trim(expr, " \t")
		err := errors.New("not NAME=EXPR")
		if found && name != "" && expr != "" {
			err = r.c.AddDerived(ctx, name, expr)
		}
		if err != nil {
			r.env.Fatalf("-r %s: %v", def, err)
			ok = false
		}
	}
	return ok
}

// meant returns a hint at the metric that an unknown name may mean.
func (r *reporter) meant(ctx context.Context, name string) string {
	switch {
	case r.tree != nil:
		return source.DidYouMeanIn(r.env, r.tree, name)
	case r.c != nil:
		return source.DidYouMean(ctx, r.env, r.c, name)
	}
	return ""
}

// traceNames opens a context without metrics on the name space, which traces how
// names are looked for.
func (r *reporter) traceNames(o *source.Options) error {
	c, err := pmapi.OpenLocal()
	if err != nil {
		return err
	}
	t := pmns.New()
	if err := t.Merge(o.NameSpace); err != nil {
		return err
	}
	c.UseNameSpace(t)
	o.UseDerived(c)
	r.traced = c
	return nil
}

// replay prepares for an archive. It prints errors itself.
func (r *reporter) replay(ctx context.Context, o *source.Options) error {
	r.cache.single = true
	// One metric at a time, as each must be found at its first occurrence.
	r.batchSize = 1
	if err := r.c.TrimNameSpace(ctx); err != nil {
		r.env.Fatalf("Cannot read name space: %s", cli.ErrText(err))
		return err
	}
	var err error
	if r.loc, err = o.SetZone(ctx, r.c, !r.want.json); err != nil || !o.HasWindow() {
		return err
	}
	w, err := o.Window(ctx, r.c, r.loc)
	r.origin = w.Origin
	return err
}

// rewind goes back to the start of the archive, or to the time of -O.
func (r *reporter) rewind(ctx context.Context) error {
	if r.archive == nil {
		return nil
	}
	err := r.archive.SetMode(ctx, pmapi.ModeForw, &r.origin, 0)
	if err != nil {
		r.flush()
		r.env.Fatalf("pmSetMode failed: %s", cli.ErrText(err))
	}
	return err
}

// traverse adds the metrics at or below a name.
func (r *reporter) traverse(ctx context.Context, name string) error {
	if r.tree != nil {
		if r.traced != nil {
			for range r.traced.Traverse(ctx, name) {
			}
		}
		leaves, err := r.tree.Leaves(name)
		for name := range leaves {
			r.add(ctx, name)
		}
		return err
	}
	for name, err := range r.c.Traverse(ctx, name) {
		if err != nil {
			return err
		}
		r.add(ctx, name)
	}
	return nil
}

// number handles a PMID or instance domain, of which each part is cut to its
// width.
func (r *reporter) number(ctx context.Context, arg string) error {
	switch n := scanNumbers(arg); len(n) {
	case 3:
		id := pcp.NewPMID(int(n[0]), int(n[1]), int(n[2]))
		name, err := r.nameID(ctx, id)
		if err != nil {
			return err
		}
		return r.traverse(ctx, name)
	case 2:
		r.inDom(ctx, pcp.NewInDom(int(n[0]), int(n[1])))
		return nil
	}
	return pcp.ErrName
}

func (r *reporter) nameID(ctx context.Context, id pcp.PMID) (string, error) {
	if r.tree == nil {
		return r.c.NameID(ctx, id)
	}
	names, err := r.tree.Names(id)
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// scanNumbers reads up to three numbers with dots between; it ignores the text
// behind them (sscanf of "%u.%u.%u").
func scanNumbers(s string) []uint32 {
	var nums []uint32
	for len(nums) < 3 {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		if digits == 0 {
			break
		}
		n := uint64(0)
		for _, c := range s[:digits] {
			n = min(n*10+uint64(c-'0'), 1<<40)
		}
		nums = append(nums, uint32(n))
		s = s[digits:]
		if s == "" || s[0] != '.' {
			break
		}
		s = s[1:]
	}
	return nums
}

// A reporter collects names into batches and prints the requested information
// about them.
type reporter struct {
	env       *cli.Env
	seven     func() bool // as PCP 7; asked where it matters, since -D config shows it
	want      wants
	loc       *time.Location
	c         *pmapi.Context        // or
	tree      *pmns.Tree            // the name space alone
	traced    *pmapi.Context        // on the same names, nil unless they are traced
	archive   *pmapi.ArchiveContext // c, if it is on one
	origin    pcp.Timestamp         // of all fetches from it
	batchSize int
	defined   []string // NAME=EXPR of -r
	domains   *desccheck.Domains
	names     []string
	nameBytes int           // of a request for all names
	at        pcp.Timestamp // of the values of the batch
	out       []byte
	log       *debug.Log // of the values that are printed
	cache     cache
}

// maxNamesRequest keeps the request for a batch's PMIDs below the limit of a
// collector, which is 64 KiB.
const maxNamesRequest = 63 << 10

// add puts a name into the batch and reports the batch when it is full.
func (r *reporter) add(ctx context.Context, name string) {
	r.names = append(r.names, name)
	r.nameBytes += 4 + (len(name)+3)&^3
	if len(r.names) >= r.batchSize || r.nameBytes > maxNamesRequest {
		r.report(ctx)
	}
}

func (r *reporter) flush() {
	r.env.Stdout.Write(r.out)
	r.out = r.out[:0]
}
