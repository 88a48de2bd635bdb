package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// Default domains of the agent: as itself (SAMPLE), and as the shared object of
// the C implementation.
const (
	Domain    = 29
	DSODomain = 30
)

// A Config configures the agent.
type Config struct {
	Domain int // 0 means Domain, or DSODomain
	// DSO makes it the agent sampledso, whose names begin with that.
	DSO bool
	// DynamicPath is the file with the instances of sample.dynamic; "" means
	// DefaultDynamicPath(config.Process()).
	DynamicPath string
	// UnavailPath is a file that, while it exists, makes the agent answer
	// every request with pcp.ErrAgain; "" for none.
	UnavailPath string
	Log         *slog.Logger // nil discards
}

// unavailPath is the file that the daemon of the C implementation looks for.
const unavailPath = "/tmp/sample.unavail"

// DefaultDynamicPath returns the path of the file of the instances of
// sample.dynamic in an installation.
func DefaultDynamicPath(cfg *config.Config) string {
	return filepath.Join(cfg.Get("PCP_PMDAS_DIR"), "sample", "dynamic.indom")
}

// An Agent is the agent. The table has the metrics; the methods here go beyond a
// table: they return wrong values where that is wanted, and count requests by
// client.
type Agent struct {
	*pmda.Table
	cfg     Config
	root    string // "sample" or "sampledso"
	log     *slog.Logger
	debugTo io.Writer // nil for the log
	tree    *pmns.Tree
	rows    []row
	stores  map[pcp.PMID]*row
	dyn     []dynamicName

	now      time.Time // of the fetch, the same for all its metrics
	start    time.Time
	req      *pmda.FetchRequest // while it is served
	fetches  int
	fetchErr error // the error of the whole fetch

	contexts contexts
	rand     drand48
	numbers
	control
	meta      pcp.Desc // of dynamic.meta.metric
	dom       indoms
	many      []pcp.Instance
	scrambled []pcp.Instance
	scrambles int64 // number of times
	mirage    mirage
	dodgy     dodgy
	files     dynamic
	proc      processes
	ghosts    ghosts
	events    [2]eventState // in micro- and in nanoseconds
}

// A row is a metric, and its function for stores; nil refuses them.
type row struct {
	pmda.Metric
	set func(v pcp.Value) error
	// setAll is set for those stores that take any number of values.
	setAll func(values []pcp.Value) error
}

// New returns an agent.
func New(cfg Config) (*Agent, error) {
	a := &Agent{cfg: cfg, root: "sample", log: cfg.Log}
	domain := Domain
	if cfg.DSO {
		domain, a.root = DSODomain, "sampledso"
	}
	domain = cmp.Or(cfg.Domain, domain)
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.start = time.Now()
	a.initState(domain)
	a.rows = slices.Concat(a.typeRows(), a.numberRows(), a.counterRows(), a.scaleRows(), a.binRows(),
		a.controlRows(), a.contextRows(), a.metaRows(), a.badRows(), a.dynamicRows(), a.mirageRows(),
		a.dodgyRows(), a.ghostRows(), a.secretRows(), a.procRows(), a.eventRows(), a.updownRows(), a.extraRows())
	metrics := make([]pmda.Metric, len(a.rows))
	a.stores = make(map[pcp.PMID]*row, len(a.rows))
	for i := range a.rows {
		r := &a.rows[i]
		if r.Name != "" {
			r.Name = a.root + "." + r.Name
		}
		if r.Value == nil {
			r.Value = noValue
		}
		metrics[i] = r.Metric
		metrics[i].Name = "" // the name space has its own order
		a.stores[pcp.NewPMID(domain, 0, r.Item)] = r
	}
	for i := range metrics {
		metrics[i].Help = fold(metrics[i].Help)
	}
	for _, d := range a.dom.all() {
		d.Help = fold(d.Help)
	}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{
		Name:          a.root,
		Domain:        domain,
		Labels:        `{"agent":"sample","role":"testing"}`,
		ClusterLabels: map[int]string{0: `{"cluster":"zero"}`},
		Metrics:       metrics,
		InDoms:        a.dom.all(),
		Log:           a.log,
	})
	if err != nil {
		return nil, err
	}
	a.makeDynamicNames(domain)
	if a.tree, err = a.makeNames(domain); err != nil {
		return nil, err
	}
	a.mirage.redo(a)
	a.files.check(a)
	return a, nil
}

// initState sets all initial values.
func (a *Agent) initState(domain int) {
	a.numbers = newNumbers()
	a.control = control{errorCode: 0, updown: newUpdown(), quantities: newQuantities()}
	a.meta = pcp.Desc{
		PMID: pcp.NewPMID(domain, 0, itemMetaMetric), Type: pcp.Type32, InDom: pcp.InDomNull,
		Sem: pcp.SemDiscrete, Units: bytesPerSec,
	}
	a.mirage.every = 10 * time.Second
	a.files.path = a.cfg.DynamicPath
	if a.files.path == "" {
		a.files.path = DefaultDynamicPath(config.Process())
	}
	a.ghosts = ghosts{visible: -1, state: 23}
	a.dodgy = newDodgy()
	a.proc.reset()
	a.makeInDoms()
}

// begin starts each request: it counts it, and refuses it while the agent is
// away.
func (a *Agent) begin(client *pmda.Client) error {
	a.contexts.request(a, client)
	if a.cfg.UnavailPath != "" {
		if _, err := os.Lstat(a.cfg.UnavailPath); !errors.Is(err, fs.ErrNotExist) {
			return pcp.ErrAgain
		}
	}
	return a.away()
}

// client returns the client of a call, nil if it is not known.
func client(ctx context.Context) *pmda.Client {
	c, _ := pmda.ClientFrom(ctx)
	return c
}

// Desc implements pmda.Agent.
func (a *Agent) Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) {
	if err := a.begin(client(ctx)); err != nil {
		return pcp.Desc{}, err
	}
	desc, err := a.Table.Desc(ctx, id)
	if err != nil {
		return desc, err
	}
	switch id.Item() {
	case itemBadUnknown:
		return pcp.Desc{}, pcp.ErrPMID
	case itemErrorCheck:
		if a.errorCode < 0 {
			return pcp.Desc{}, pcp.Error(a.errorCode)
		}
	case itemMetaMetric:
		return a.meta, nil
	}
	if isGhost(id) && a.ghosts.visible < 0 {
		return pcp.Desc{}, pcp.ErrPMID
	}
	return desc, nil
}

// Instances implements pmda.Agent.
func (a *Agent) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if err := a.begin(client(ctx)); err != nil {
		return nil, err
	}
	a.mirage.check(a)
	return a.Table.Instances(ctx, indom)
}

// LookupInstance implements pmda.InstanceLooker. As in the C agent only the part
// before the first space counts.
func (a *Agent) LookupInstance(ctx context.Context, indom pcp.InDom, name string) (int32, error) {
	list, err := a.known(ctx, indom)
	if err != nil {
		return 0, err
	}
	for _, i := range list {
		if shortName(i.Name) == shortName(name) {
			return i.Inst, nil
		}
	}
	return 0, pcp.ErrInst
}

// InstanceName implements pmda.InstanceLooker.
func (a *Agent) InstanceName(ctx context.Context, indom pcp.InDom, inst int32) (string, error) {
	list, err := a.known(ctx, indom)
	if err != nil {
		return "", err
	}
	for _, i := range list {
		if i.Inst == inst {
			return i.Name, nil
		}
	}
	return "", pcp.ErrInst
}

// known returns the instances that can be looked up, including hidden ghosts.
func (a *Agent) known(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	list, err := a.Instances(ctx, indom)
	if err == nil && indom.Serial() == serialGhosts {
		return ghostInstances(), nil
	}
	return list, err
}

// Fetch implements pmda.Agent.
func (a *Agent) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	a.contexts.profile(a, req)
	if err := a.begin(req.Client); err != nil {
		return err
	}
	a.now, a.req, a.fetchErr = time.Now(), req, nil
	a.fetches++
	defer func() { a.req = nil }()
	a.prepare(req)
	first := len(req.Result.Sets)
	if err := a.Table.Fetch(ctx, req); err != nil {
		return err
	}
	if a.fetchErr != nil {
		return a.fetchErr
	}
	a.twist(req.Profile, req.Result.Sets[first:])
	return nil
}

// prepare does the work of a fetch that is the same for all metrics.
func (a *Agent) prepare(req *pmda.FetchRequest) {
	a.mirage.check(a)
	a.dodgy.check(a)
	var dynamic, ghosts, proc bool
	for _, id := range req.PMIDs {
		if id.Cluster() != 0 {
			continue
		}
		switch id.Item() {
		case itemDynamicCounter, itemDynamicDiscrete, itemDynamicInstant:
			dynamic = true
		case itemGhostOrigin, itemGhostKarma, itemGhostState:
			ghosts = true
		case itemProcOrdinal, itemProcExec, itemProcTime:
			proc = true
		}
	}
	if dynamic {
		a.files.check(a)
		a.files.count()
	}
	if ghosts {
		a.ghosts.state = (a.ghosts.state + 1) % 24
	}
	if proc {
		a.proc.step(time.Now())
	}
}

// twist makes some values wrong on purpose.
func (a *Agent) twist(profile *pcp.Profile, sets []pcp.ValueSet) {
	for i := range sets {
		vs := &sets[i]
		switch id := vs.PMID; {
		case vs.Err == pcp.ErrPMID && a.Table.Metric(id) == nil:
			vs.Err = 0 // an unknown metric has no values here, and no error
		case id.Cluster() != 0:
		case id.Item() == itemNeedProfile:
			p := profile.InDom(pcp.NewInDom(a.Domain(), serialFamily))
			if p.State != pcp.ProfileExclude || len(p.Insts) == 0 {
				*vs = pcp.ValueSet{PMID: id, Err: pcp.ErrProfile}
			}
		case id.Item() == itemMetaMetric:
			*vs = pcp.ValueSet{PMID: id, Values: []pcp.Value{metaValue(a.meta.Type)}}
			if !a.meta.Type.InSitu() {
				vs.ValFmt = pcp.ValDPtr
			}
		case isGhost(id) && a.ghosts.visible < 0:
			vs.Err = pcp.ErrPMID
		case id.Item() == itemSysinfo:
			vs.ValFmt = pcp.ValSPtr // to the C agent it is a static aggregate
		case id.Item() == itemRecords || id.Item() == itemNoInDomRecords || id.Item() == itemHighResRecords:
			a.shareEvents(vs)
		case id.Item() == itemBogusBin:
			for j, v := range vs.Values {
				if v.Inst%200 == 0 { // an instance that does not exist
					vs.Values[j] = pcp.Int32Value(v.Int32() + 50).WithInst(v.Inst + 50)
				}
			}
		}
	}
}

// Text implements pmda.Texter.
func (a *Agent) Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if err := a.begin(client(ctx)); err != nil {
		return "", err
	}
	return a.Table.Text(ctx, ident, kind)
}

// Labels implements pmda.Labeler.
func (a *Agent) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	if err := a.begin(client(ctx)); err != nil {
		return nil, err
	}
	switch kind.Level() {
	case pcp.LabelItem:
		if changed, ok := a.changed(pcp.PMID(ident)); ok {
			var set pcp.LabelSet
			err := set.Add(fmt.Sprintf(`{"changed":%v}`, changed), pcp.LabelItem|pcp.LabelOptional)
			set.Inst = pcp.InNull
			return []pcp.LabelSet{set}, err
		}
	case pcp.LabelInstances:
		id := pcp.InDom(ident)
		if id.Domain() != a.Domain() || id.Serial() < serialColour || id.Serial() > serialProc {
			return nil, pcp.ErrInDom
		}
	}
	return a.Table.Labels(ctx, ident, kind)
}

// EndContext implements pmda.ContextEnder.
func (a *Agent) EndContext(client *pmda.Client) { a.contexts.finish(a, client) }

// Attribute implements pmda.AttributeReceiver.
func (a *Agent) Attribute(_ context.Context, client *pmda.Client, key pmda.AttrKey, value string) error {
	if key == pmda.AttrPassword {
		value = "..."
	}
	if a.bits > 0 && a.bits&debugAuth != 0 { // the C agent too writes this with date and severity
		a.log.Info("Attribute:", "ctx", client.ID, key.String(), value)
	}
	return nil
}

// Debug implements pmda.Debugger.
func (a *Agent) Debug(names []string) (unknown []string) {
	bits := map[string]int32{"appl0": debugAppl0, "appl1": debugAppl1, "auth": debugAuth}
	for _, name := range names {
		if bit, ok := bits[name]; ok {
			a.bits |= bit
		} else {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// DebugTo implements pmda.DebugPrinter.
func (a *Agent) DebugTo(w io.Writer) { a.debugTo = w }

// debug prints a line if the bit of sample.control is set, to the log if there is no
// other output.
func (a *Agent) debug(bit int32, format string, args ...any) {
	switch {
	case a.bits <= 0 || a.bits&bit == 0:
	case a.debugTo != nil:
		fmt.Fprintf(a.debugTo, format+"\n", args...)
	default:
		a.log.Info(fmt.Sprintf(format, args...))
	}
}

// debugList prints the new instances of a domain.
func (a *Agent) debugList(name string, list []pcp.Instance) {
	if a.bits <= 0 || a.bits&debugAppl0 == 0 {
		return
	}
	var b strings.Builder
	for i := range list {
		fmt.Fprintf(&b, " %d %q", list[i].Inst, list[i].Name)
	}
	if a.debugTo == nil {
		a.debug(debugAppl0, "redo instance domain for %s: numinst: %d%s", name, len(list), &b)
	} else {
		a.debug(debugAppl0, "redo instance domain for %s: numinst: %d\n%s", name, len(list), &b)
	}
}

func noValue(int32, int) (pcp.Value, error) { return pcp.Value{}, pmda.ErrNoValue }
