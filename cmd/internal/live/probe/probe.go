package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// Command is pmprobe.
var Command = &cli.Command{
	Name:     "probe",
	Link:     "pmprobe",
	Group:    cli.SeeNow,
	Summary:  "show the number of values of metrics",
	Synopsis: "[options] [metricname ...]",
	Doc: `
Prints a line for each metric: its name and the number of its values, or an error code if it has no
values. Options add the instances or the values.`,
	Examples: []cli.Example{
		{Line: "pcp probe disk", Text: "print the number of values of each metric below disk"},
		{Line: "pcp probe -I disk.dev.read", Text: "list the instances of a metric"},
		{Line: "pcp probe -v hinv", Text: "print values in one line a metric"},
	},
	SeeAlso: []string{"pminfo(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptArchive,
			cli.OptDebug,
			cli.OptHost,
			cli.OptContainer,
			cli.OptDerived,
			cli.OptLocalPMDA,
			cli.OptSpecLocal,
			cli.OptNameSpace,
			cli.OptOrigin,
			cli.OptTimeZone,
			cli.OptHostZone,
			{Short: 'd', Long: "version", Shown: true, Help: "display version number and exit"},
			cli.OptHelp,
			cli.Heading("Protocol options"),
			{Short: 'b', Long: "batch", Arg: "N", Help: "fetch at most N metrics at a time [128]"},
			cli.Heading("Reporting options"),
			{Short: 'f', Long: "force", Help: "report all pmGetIndom or pmGetInDomArchive instances"},
			{Short: 'F', Long: "faster", Help: "assume given metric names are PMNS leaf nodes"},
			{Short: 'I', Long: "external", Help: "list external instance names"},
			{Short: 'i', Long: "internal", Help: "list internal instance numbers"},
			{Short: 'V', Long: "verbose", Help: "report PDU operations (verbose)"},
			{Short: 'v', Long: "values", Help: "list metric values"},
			cli.OptJSON,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

type prober struct {
	env       *cli.Env
	all       bool // -f: instances of the domain, whether they have values or not
	leaves    bool // -F
	internal  bool // -i
	external  bool // -I
	values    bool // -v
	counts    bool // -V
	json      bool // --json
	batchSize int

	log     *debug.Log
	c       *pmapi.Context
	archive *pmapi.ArchiveContext // c, if it is on one
	origin  pcp.Timestamp         // of all fetches from it
	loc     *time.Location
	names   []string
	unknown []string // names that no metric has
	ids     []pcp.PMID

	indom    pcp.InDom // of insts
	insts    []pcp.Instance
	instsErr error
	out      []byte
}

func (p *prober) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'b':
		p.batchSize = o.Number(opt, arg, math.MinInt, "numeric")
	case 'f':
		p.all = true
	case 'F':
		p.leaves = true
	case 'i', 'I':
		if p.values {
			o.Usagef("at most one of -%c and -v allowed", opt.Short)
		}
		p.internal = p.internal || opt.Short == 'i'
		p.external = p.external || opt.Short == 'I'
	case 'V':
		p.counts = true
	case 'v':
		if p.internal || p.external {
			o.Usagef("at most one of -v and (-i or -I) allowed")
		}
		p.values = true
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	p := &prober{env: env, batchSize: 128, indom: pcp.InDomNull}
	o := source.Parse(env, cli.ParseConfig{Own: p.own, Archives: true})
	if p.json = o.JSON; p.json && p.counts {
		o.Usagef("at most one of -V and --json allowed")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	p.log = o.DebugLog()
	c, err := o.Connect(ctx)
	if err != nil {
		return 1
	}
	defer c.Close()
	p.c, p.loc = c, env.Local()
	if a, ok := c.Archive(); ok {
		p.archive = a
		if p.loc, err = o.SetZone(ctx, c, !p.json); err != nil {
			return 1
		}
		if o.HasWindow() {
			w, err := o.Window(ctx, c, p.loc)
			if err != nil {
				return 1
			}
			p.origin = w.Origin
		}
	}
	p.collect(ctx, o.Args)
	p.lookup(ctx)
	if p.all && (p.internal || p.external) {
		p.domains(ctx)
	} else {
		p.fetch(ctx)
	}
	if p.counts {
		sent, received := c.PDUCounts()
		p.pdus("PDUs send", &sent)
		p.pdus("PDUs recv", &received)
	}
	env.Stdout.Write(p.out)
	for _, name := range p.unknown {
		source.Hint(ctx, env, c, name)
	}
	return 0
}

// collect finds the names of the metrics to probe.
func (p *prober) collect(ctx context.Context, args []string) {
	if len(args) == 0 {
		p.traverse(ctx, "") // as in C, an error is not reported
	}
	for _, arg := range args {
		if p.leaves {
			p.names = append(p.names, arg)
		} else if err := p.traverse(ctx, arg); err != nil {
			p.failed(arg, err, "")
		}
	}
}

// traverse adds the names at or below a node.
func (p *prober) traverse(ctx context.Context, name string) error {
	for name, err := range p.c.Traverse(ctx, name) {
		if err != nil {
			return err
		}
		p.names = append(p.names, name)
	}
	return nil
}

// maxNamesRequest keeps a request for PMIDs below the limit of a collector.
const maxNamesRequest = 64 << 10

// lookup finds the PMIDs of the names, and leaves out those it cannot find.
func (p *prober) lookup(ctx context.Context) {
	names := p.names
	p.names = p.names[:0:0]
	for len(names) > 0 {
		n := p.batch(names)
		ids, err := p.c.LookupName(ctx, names[:n]...)
		// For several names in an archive pmLookupName(3) returns the number
		// that it found, and 0 is not an error.
		if !source.AnyFound(ids) && !(p.archive != nil && n > 1) {
			for _, name := range names[:n] {
				p.failed(name, err, "")
			}
		} else {
			// As in the C tool an unknown name among known ones stays: the
			// fetch reports the error.
			p.names = append(p.names, names[:n]...)
			p.ids = append(p.ids, ids...)
		}
		names = names[n:]
	}
}

// batch returns the number of names for one request: as many as the C tool
// sends, so that both count the same requests.
func (p *prober) batch(names []string) int {
	most := max(p.batchSize, 1)
	size := 0
	for n, name := range names {
		size += len(name) + 32
		if n > most || size >= maxNamesRequest {
			return max(n-1, 1)
		}
	}
	return len(names)
}

// domains prints the instances of each metric's domain.
func (p *prober) domains(ctx context.Context) {
	for i, name := range p.names {
		desc, err := p.c.LookupDesc(ctx, p.ids[i])
		if err != nil {
			p.failed(name, err, "pmLookupDesc")
			continue
		}
		if desc.InDom == pcp.InDomNull {
			if p.json {
				p.jsonInstances(name, []pcp.Instance{{Inst: pcp.InNull}})
				continue
			}
			p.printf("%s 1", name)
			p.noInstances()
			continue
		}
		insts, err := p.instances(ctx, desc.InDom)
		if err != nil {
			p.failed(name, err, "pmGetInDom")
			continue
		}
		if p.json {
			p.jsonInstances(name, insts)
			continue
		}
		p.printf("%s %d", name, len(insts))
		for _, inst := range insts {
			if p.internal {
				p.printf(" ?%d", inst.Inst)
			}
			if p.external {
				p.printf(" \"%s\"", inst.Name)
			}
		}
		p.out = append(p.out, '\n')
	}
}

// fetch prints how many values each metric has.
func (p *prober) fetch(ctx context.Context) {
	size := max(p.batchSize, 1)
	if p.archive != nil {
		size = 1 // each must be found at its first occurrence
	}
	for start := 0; start < len(p.ids); {
		end := min(start+size, len(p.ids))
		names, ids := p.names[start:end], p.ids[start:end]
		start = end
		if p.archive != nil {
			if err := p.archive.SetMode(ctx, pmapi.ModeForw, &p.origin, 0); err != nil {
				p.printf("%d %s (pmSetMode)\n", int32(pcp.Code(err)), cli.ErrText(err))
				continue
			}
		}
		res, err := p.c.Fetch(ctx, ids)
		if err != nil {
			p.failed(names[0], err, "pmFetch")
			continue
		}
		var descs []pcp.Desc
		if (p.internal || p.external || p.values) && !p.counts {
			// With -V metric asks for each, as the C tool does always:
			// the counts must not depend on which pmprobe runs.
			descs, _ = p.c.LookupDescs(ctx, ids...)
		}
		for i, name := range names {
			p.metric(ctx, name, ids[i], &res.Sets[i], descs, i)
		}
	}
}

// maxHints is the number of names that get a hint at similar metrics.
const maxHints = 8

// failed prints the line of a metric for which a call failed.
func (p *prober) failed(name string, err error, call string) {
	if errors.Is(err, pcp.ErrName) && len(p.unknown) < maxHints {
		p.unknown = append(p.unknown, name)
	}
	if p.json {
		p.jsonError(name, err)
		return
	}
	p.printf("%s %d %s", name, int32(pcp.Code(err)), cli.ErrText(err))
	if call != "" {
		p.printf(" (%s)", call)
	}
	p.out = append(p.out, '\n')
}

// metric prints the line of a metric. descs holds its descriptor at i if it
// could be had with the others.
func (p *prober) metric(ctx context.Context, name string, id pcp.PMID, vs *pcp.ValueSet, descs []pcp.Desc, i int) {
	var desc pcp.Desc
	if p.internal || p.external || p.values {
		if i < len(descs) && descs[i].PMID != pcp.PMIDNull {
			desc = descs[i]
		} else {
			var err error
			if desc, err = p.c.LookupDesc(ctx, id); err != nil {
				p.failed(name, err, "pmLookupDesc")
				return
			}
		}
	}
	if vs.Err != 0 {
		p.failed(name, vs.Err, "")
		return
	}
	if p.json {
		var insts []pcp.Instance
		if p.external && desc.InDom != pcp.InDomNull {
			insts, _ = p.instances(ctx, desc.InDom)
		}
		p.jsonValues(name, vs, &desc, insts)
		return
	}
	p.out = append(append(p.out, name...), ' ')
	p.printf("%d", len(vs.Values))
	switch {
	case len(vs.Values) == 0:
	case p.values:
		for j := range vs.Values {
			report.TracePrint(p.log, &vs.Values[j], desc.Type)
			p.out = report.AppendValue(append(p.out, ' '), p.env, &vs.Values[j], desc.Type, 1, p.loc)
		}
	case desc.InDom == pcp.InDomNull && (p.internal || p.external):
		p.noInstances()
		return
	case p.internal || p.external:
		insts, err := p.instances(ctx, desc.InDom)
		if err != nil {
			p.printf("%d %s (pmGetInDom)\n", int32(pcp.Code(err)), cli.ErrText(err))
			return
		}
		for j := range vs.Values {
			p.instance(insts, vs.Values[j].Inst)
		}
	}
	p.out = append(p.out, '\n')
}

func (p *prober) instance(insts []pcp.Instance, id int32) {
	if p.internal {
		p.printf(" ?%d", id)
	}
	if !p.external {
		return
	}
	for _, inst := range insts {
		if inst.Inst == id {
			p.printf(" \"%s\"", inst.Name)
			return
		}
	}
	p.printf(" ?%d", id)
}

// noInstances ends the line of a metric with a single value.
func (p *prober) noInstances() {
	p.printf(" PM_IN_NULL")
	if p.internal && p.external {
		p.printf(" PM_IN_NULL")
	}
	p.out = append(p.out, '\n')
}

// instances returns the members of a domain, of an archive those of all times;
// it caches those of the last.
func (p *prober) instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if indom != p.indom {
		if p.archive != nil {
			p.insts, p.instsErr = p.archive.GetInDomArchive(ctx, indom)
		} else {
			p.insts, p.instsErr = p.c.GetInDom(ctx, indom)
		}
		p.indom = indom
	}
	return p.insts, p.instsErr
}

// pdus prints the number of PDUs of each type in one direction.
func (p *prober) pdus(title string, counts *pmapi.PDUCounts) {
	n := len(counts)
	for n > columns && counts[n-1] == 0 {
		n--
	}
	p.out = append(p.out, title...)
	total := uint64(0)
	for _, count := range counts[:n] {
		p.printf(" %3d", count)
		total += count
	}
	p.printf("\nTotal: %d\n", total)
}

// columns is the number of types of PDUs that the C tool prints. It leaves out
// the last, PDU_DESCS; here that follows them if there were any.
const columns = int(wire.TypeDescIDs - wire.TypeError + 1)

func (p *prober) printf(format string, args ...any) { p.out = fmt.Appendf(p.out, format, args...) }
