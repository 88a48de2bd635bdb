package statsd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// Domain is the agent's default domain (STATSD).
const Domain = 57

// Instance domains of the agent itself.
const (
	trackedSerial = 0
	reasonsSerial = 2 // 1 and 2 are domains of pmdastatsd for metrics without tags
)

// A Config configures the agent. Zero fields mean the defaults.
type Config struct {
	Domain int      // 0 means Domain
	Listen []string // addresses, host:port or the path of a Unix socket; none means port Port of all addresses
	Names  string   // file of the numbers of metrics and instances; "" means that they are not kept
	Settings
	Limits Limits
	Log    *slog.Logger // nil discards
}

// An Agent is the agent. Close ends it.
type Agent struct {
	cfg     Config
	dynamic *pmns.Tree
	conns   []net.Conn
	serving sync.WaitGroup

	mu     sync.Mutex
	t      *table
	timer  *time.Timer // until the file of names is written
	closed bool
	logged int

	fileMu sync.Mutex // before mu
	warned bool
}

// New makes the agent, which listens at once.
func New(cfg Config) (*Agent, error) {
	cfg.Domain = cmp.Or(cfg.Domain, Domain)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Settings.complete()
	a := &Agent{cfg: cfg, dynamic: pmns.New(), t: newTable(cfg.Domain, cfg.Limits, cfg.DurationType == 0)}
	a.t.log = a.logDropped
	if err := a.dynamic.Add(root, pcp.DynamicRoot(cfg.Domain)); err != nil {
		return nil, err
	}
	if cfg.Names != "" {
		if err := a.t.load(cfg.Names); err != nil {
			return nil, err
		}
	}
	if len(cfg.Listen) == 0 {
		cfg.Listen = []string{fmt.Sprintf(":%d", cfg.Port)}
	}
	for _, addr := range cfg.Listen {
		c, err := listen(addr)
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
		a.conns = append(a.conns, c)
		a.serving.Go(func() { a.serve(c) })
	}
	return a, nil
}

// Addrs returns the addresses on which the agent listens.
func (a *Agent) Addrs() (list []net.Addr) {
	for _, c := range a.conns {
		list = append(list, c.LocalAddr())
	}
	return list
}

// Close ends the agent and writes the file of names.
func (a *Agent) Close() error {
	for _, c := range a.conns {
		c.Close()
	}
	a.serving.Wait()
	a.mu.Lock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	return a.save()
}

// saveDelay is how long new names wait for others before the file is written.
const saveDelay = time.Second

// save writes the file of names if something has changed.
func (a *Agent) save() error {
	a.fileMu.Lock()
	defer a.fileMu.Unlock()
	a.mu.Lock()
	a.timer = nil
	if !a.t.dirty || a.cfg.Names == "" {
		a.mu.Unlock()
		return nil
	}
	a.t.dirty = false
	b := a.t.appendNames(nil)
	a.mu.Unlock()
	err := store(a.cfg.Names, b)
	if err != nil && !a.warned {
		a.warned = true
		a.cfg.Log.Warn("numbers of metrics and instances are not kept", "err", err)
	}
	return err
}

// packet takes a datagram.
func (a *Agent) packet(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t.packet(b)
	if a.t.dirty && a.timer == nil && !a.closed && a.cfg.Names != "" {
		a.timer = time.AfterFunc(saveDelay, func() { a.save() })
	}
}

// oversized counts a datagram that is too long.
func (a *Agent) oversized(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.t.packets++
	a.t.reject(badSize, b)
}

// maxLogged is how many dropped messages are logged, without verbosity 2.
const maxLogged = 100

func (a *Agent) logDropped(why reason, line []byte) {
	if a.logged >= maxLogged && a.cfg.Verbose < 2 {
		return
	}
	a.logged++
	a.cfg.Log.Info("message dropped", "reason", reasonNames[why], "message", strings.ToValidUTF8(string(line[:min(len(line), 200)]), "\ufffd"))
}

// A control is a metric of the agent itself.
type control struct {
	item          int
	name          string
	typ           pcp.Type
	sem           pcp.Sem
	units         pcp.Units
	serial        int // -1: no instances
	oneLine, help string
	value         func(a *Agent, inst int) pcp.Value
}

// tracked are the instances of statsd.pmda.metrics_tracked.
var tracked = [...]string{"counter", "gauge", "duration", "total", "histogram", "set"}

// controls returns the metrics of the agent itself: those of pmdastatsd, and from item 64 on others.
func controls() []control {
	number := func(item int, name, oneLine string, f func(t *table) uint64) control {
		return control{
			item: item, name: name, typ: pcp.TypeU64, serial: -1, sem: pcp.SemInstant, oneLine: oneLine, help: oneLine + " since the agent started.",
			value: func(a *Agent, _ int) pcp.Value { return pcp.Uint64Value(f(a.t)) },
		}
	}
	spent := func(item int, name, oneLine string, f func(t *table) time.Duration) control {
		c := number(item, name, oneLine, func(t *table) uint64 { return uint64(f(t)) })
		c.units = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec}
		return c
	}
	setting := func(item int, name string, typ pcp.Type, oneLine string, f func(s *Settings) pcp.Value) control {
		return control{
			item: item, name: "settings." + name, typ: typ, serial: -1, sem: pcp.SemInstant, oneLine: oneLine, help: oneLine + ", a setting of the agent.",
			value: func(a *Agent, _ int) pcp.Value { return f(&a.cfg.Settings) },
		}
	}
	count := func(c control) control {
		c.sem, c.units = pcp.SemCounter, pcp.Units{DimCount: 1}
		return c
	}
	return []control{
		number(0, "received", "Messages received", func(t *table) uint64 { return t.received }),
		number(1, "parsed", "Messages that could be parsed", func(t *table) uint64 { return t.parsed }),
		number(2, "dropped", "Messages dropped", func(t *table) uint64 { return t.dropped }),
		number(3, "aggregated", "Messages aggregated", func(t *table) uint64 { return t.aggregated }),
		{
			item: 4, name: "metrics_tracked", typ: pcp.TypeU64, sem: pcp.SemInstant, serial: trackedSerial,
			oneLine: "Metrics received", help: "Metrics that were received since the agent started, by their types.",
			value: func(a *Agent, inst int) pcp.Value {
				c := &a.t.tracked
				total := c[counter] + c[gauge] + c[duration] + c[histogram] + c[set]
				return pcp.Uint64Value(uint64([...]int{c[counter], c[gauge], c[duration], total, c[histogram], c[set]}[inst]))
			},
		},
		spent(5, "time_spent_parsing", "Time spent parsing", func(t *table) time.Duration { return t.parsing }),
		spent(6, "time_spent_aggregating", "Time spent aggregating", func(t *table) time.Duration { return t.aggregating }),
		setting(7, "max_udp_packet_size", pcp.TypeU64, "Maximum size of UDP datagrams", func(s *Settings) pcp.Value { return pcp.Uint64Value(uint64(s.MaxUDP)) }),
		setting(8, "max_unprocessed_packets", pcp.TypeU32, "Maximum number of datagrams that wait", func(s *Settings) pcp.Value { return pcp.Uint32Value(uint32(s.MaxUnprocessed)) }),
		setting(9, "verbose", pcp.TypeU32, "Verbosity of the log", func(s *Settings) pcp.Value { return pcp.Uint32Value(uint32(s.Verbose)) }),
		setting(10, "debug_output_filename", pcp.TypeString, "Name of the file for debugging", func(s *Settings) pcp.Value { return pcp.StringValue(s.DebugFile) }),
		setting(11, "port", pcp.TypeU32, "UDP port", func(s *Settings) pcp.Value { return pcp.Uint32Value(uint32(s.Port)) }),
		setting(12, "parser_type", pcp.TypeString, "Parser", func(s *Settings) pcp.Value {
			return pcp.StringValue([...]string{"Basic", "Ragel"}[s.ParserType])
		}),
		setting(13, "duration_aggregation_type", pcp.TypeString, "Aggregation of durations", func(s *Settings) pcp.Value {
			return pcp.StringValue([...]string{"Basic", "HDR histogram"}[s.DurationType])
		}),
		count(number(64, "packets", "Datagrams received", func(t *table) uint64 { return t.packets })),
		count(control{
			item: 65, name: "rejected", typ: pcp.TypeU64, serial: reasonsSerial,
			oneLine: "Messages dropped, by reason", help: "Messages dropped since the agent started, by reason. Events and service checks\nof DogStatsD are dropped as well.",
			value: func(a *Agent, inst int) pcp.Value { return pcp.Uint64Value(a.t.rejected[inst]) },
		}),
		{
			item: 66, name: "last_rejected", typ: pcp.TypeString, sem: pcp.SemDiscrete, serial: reasonsSerial,
			oneLine: "Last message dropped, by reason", help: "The beginning of the last message that was dropped, by reason.",
			value: func(a *Agent, inst int) pcp.Value { return pcp.StringValue(a.t.last[inst]) },
		},
		{
			item: 67, name: "series", typ: pcp.TypeU32, sem: pcp.SemInstant, serial: -1, units: pcp.Units{DimCount: 1},
			oneLine: "Sets of tags of all metrics", help: "Sets of tags of all metrics whose numbers are known, those of earlier runs\nincluded.",
			value: func(a *Agent, _ int) pcp.Value { return pcp.Uint32Value(uint32(a.t.series)) },
		},
		{
			item: 68, name: "memory", typ: pcp.TypeU64, sem: pcp.SemInstant, serial: -1, units: pcp.Units{DimSpace: 1},
			oneLine: "Memory of all metrics", help: "Approximate memory of all metrics and their values.",
			value: func(a *Agent, _ int) pcp.Value { return pcp.Uint64Value(uint64(a.t.memory)) },
		},
	}
}

func (a *Agent) control(item int) (control, bool) {
	for _, c := range controls() {
		if c.item == item {
			return c, true
		}
	}
	return control{}, false
}

func (c *control) instances() []string {
	switch c.serial {
	case trackedSerial:
		return tracked[:]
	case reasonsSerial:
		return reasonNames[:]
	}
	return nil
}

// Desc implements [pmda.Agent].
func (a *Agent) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	if id.Cluster() == 0 {
		c, ok := a.control(id.Item())
		if !ok {
			return pcp.Desc{}, pcp.ErrPMID
		}
		d := pcp.Desc{PMID: id, Type: c.typ, Sem: c.sem, Units: c.units, InDom: pcp.InDomNull}
		if c.serial >= 0 {
			d.InDom = pcp.NewInDom(a.cfg.Domain, c.serial)
		}
		return d, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if m := a.t.byNumber[numberOf(id)]; m != nil {
		return m.desc, nil
	}
	return pcp.Desc{}, pcp.ErrPMID
}

// Instances implements [pmda.Agent].
func (a *Agent) Instances(_ context.Context, indom pcp.InDom) (list []pcp.Instance, err error) {
	fixed := func(names []string) []pcp.Instance {
		for i, name := range names {
			list = append(list, pcp.Instance{Inst: int32(i), Name: name})
		}
		return list
	}
	switch indom.Serial() {
	case trackedSerial:
		return fixed(tracked[:]), nil
	case reasonsSerial:
		return fixed(reasonNames[:]), nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.t.byNumber[indom.Serial()-firstSerial]
	if m == nil {
		return nil, pcp.ErrInDom
	}
	m.each(func(inst int32, s *series, stat int) {
		list = append(list, pcp.Instance{Inst: inst, Name: m.instance(s, stat)})
	})
	return list, nil
}

// Fetch implements [pmda.Agent].
func (a *Agent) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	includes := func(indom pcp.InDom, inst int32) bool { return req.Profile == nil || req.Profile.Includes(indom, inst) }
	for _, id := range req.PMIDs {
		if id.Cluster() == 0 {
			c, ok := a.control(id.Item())
			if !ok {
				req.Result.AddError(id, pcp.ErrPMID)
				continue
			}
			req.Result.AddSet(id)
			if c.serial < 0 {
				req.Result.Add(c.value(a, 0).WithInst(pcp.InNull))
			}
			for i := range c.instances() {
				if includes(pcp.NewInDom(a.cfg.Domain, c.serial), int32(i)) {
					req.Result.Add(c.value(a, i).WithInst(int32(i)))
				}
			}
			continue
		}
		m := a.t.byNumber[numberOf(id)]
		if m == nil {
			req.Result.AddError(id, pcp.ErrPMID)
			continue
		}
		req.Result.AddSet(id)
		m.each(func(inst int32, s *series, stat int) {
			if includes(m.desc.InDom, inst) {
				req.Result.Add(pcp.DoubleValue(s.at(stat)).WithInst(inst))
			}
		})
	}
	return nil
}

// Text implements [pmda.Texter].
func (a *Agent) Text(_ context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	oneLine, help := "", ""
	if kind&pcp.TextInDom != 0 {
		switch pcp.InDom(ident).Serial() {
		case trackedSerial:
			oneLine, help = "Types of metrics", "Types of the metrics that were received."
		case reasonsSerial:
			oneLine, help = "Reasons", "Why messages were dropped."
		}
	} else if id := pcp.PMID(ident); id.Cluster() == 0 {
		if c, ok := a.control(id.Item()); ok {
			oneLine, help = c.oneLine, c.help
		}
	}
	switch {
	case oneLine == "":
		return "", pcp.ErrText
	case kind&pcp.TextOneLine != 0:
		return oneLine, nil
	}
	return help, nil
}

// Labels implements [pmda.Labeler].
func (a *Agent) Labels(_ context.Context, ident uint32, kind pcp.LabelFlags) (sets []pcp.LabelSet, err error) {
	level := kind.Level()
	switch level {
	case pcp.LabelDomain:
		set, err := pcp.StringLabels(level, "agent", root)
		set.Inst = pcp.InNull
		return []pcp.LabelSet{set}, err
	case pcp.LabelInstances:
		a.mu.Lock()
		defer a.mu.Unlock()
		m := a.t.byNumber[pcp.InDom(ident).Serial()-firstSerial]
		if m == nil {
			return nil, nil
		}
		m.each(func(inst int32, s *series, _ int) {
			if len(s.tags) == 0 {
				return
			}
			set, err := pcp.StringLabels(level, s.tags...)
			if err != nil {
				return // too long for a set of labels; the name of the instance has the tags
			}
			set.Inst = inst
			sets = append(sets, set)
		})
	}
	return sets, nil
}

// NameSpace implements [pmda.NameSpacer]: one dynamic root.
func (a *Agent) NameSpace() *pmns.Tree { return a.dynamic }

// LookupName implements [pmda.DynamicNamer].
func (a *Agent) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return pmda.TreeNamer{Tree: a.t.tree}.LookupName(ctx, name)
}

// Names implements [pmda.DynamicNamer].
func (a *Agent) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return pmda.TreeNamer{Tree: a.t.tree}.Names(ctx, id)
}

// Children implements [pmda.DynamicNamer].
func (a *Agent) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return pmda.TreeNamer{Tree: a.t.tree}.Children(ctx, name, traverse)
}

// Changes implements [pmda.Changer].
func (a *Agent) Changes() (names, labels bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	names, labels = a.t.names, a.t.labels
	a.t.names, a.t.labels = false, false
	return names, labels
}

var (
	_ pmda.Agent        = (*Agent)(nil)
	_ pmda.NameSpacer   = (*Agent)(nil)
	_ pmda.DynamicNamer = (*Agent)(nil)
	_ pmda.Texter       = (*Agent)(nil)
	_ pmda.Labeler      = (*Agent)(nil)
	_ pmda.Changer      = (*Agent)(nil)
)
