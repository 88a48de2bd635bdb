package perfevent

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (PERFEVENT in stdpmid).
const Domain = 127

// Config describes an Agent. The zero Config counts nothing.
type Config struct {
	Conf    Conf
	Root    string       // the root directory of the machine; "" means /
	Sys     string       // in place of its directory /sys, if not ""
	Version string       // of this software
	Domain  int          // 0 means Domain
	Log     *slog.Logger // nil discards

	open opener // nil means perf_event_open(2)
}

// An Agent serves the events. It implements the interfaces of a [column.Agent].
type Agent struct {
	*column.Agent
	events  []*event
	sums    []*sum
	refused []refusal
}

// A refusal is an event that is not counted.
type refusal struct{ name, why string }

// The numbers of metrics and instance domains. Events have clusters from firstCluster on.
const (
	firstCluster   = 2
	itemRefused    = 1000 // the first item of metrics that the C agent lacks
	refusedSerial  = 1 << 20
	maxRefused     = 1024
	maxReasonBytes = 400
)

// New starts to count. An event that cannot be counted is not an error: the log and metric perfevent.refused have the reason.
func New(cfg Config) *Agent {
	cfg.Root = cmp.Or(cfg.Root, "/")
	cfg.Sys = cmp.Or(cfg.Sys, hostroot.Path(cfg.Root, "sys"))
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.open == nil {
		cfg.open = openCounter
	}
	a := &Agent{}
	a.start(newMachine(cfg.Root, cfg.Sys), cfg)
	families := []column.Family{a.control(cfg.Version)}
	for i, e := range a.events {
		families = append(families, e.family(i))
	}
	for i, s := range a.sums {
		families = append(families, s.family(len(a.events)+i))
	}
	engine, err := column.New(column.Config{Name: "perfevent", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log}, families...)
	if err != nil {
		panic(err) // names and numbers were checked
	}
	a.Agent = engine
	return a
}

// start starts the counters.
func (a *Agent) start(m *machine, cfg Config) {
	refuse := func(name string, err error) {
		why := err.Error()
		if len(why) > maxReasonBytes {
			why = why[:maxReasonBytes] + "..."
		}
		cfg.Log.Warn("event is not counted", "event", name, "reason", why)
		if len(a.refused) < maxRefused {
			a.refused = append(a.refused, refusal{name, why})
		}
	}
	if s, ok := a.section(m, cfg); ok {
		// As in the C agent the last event has the first number.
		for _, setting := range slices.Backward(s.events) {
			attr, err := m.encode(setting, s.pmus)
			if err == nil {
				err = a.add(m, &event{name: setting.name, on: setting.on}, attr, nil, cfg.open)
			}
			if err != nil {
				refuse(setting.name, err)
			}
		}
	}
	if len(cfg.Conf.dynamic) > 0 {
		a.startDynamic(m, cfg, refuse)
	}
	for _, d := range cfg.Conf.derived {
		s, err := a.derive(m, d)
		if err == nil && (!pcp.ValidName("x."+s.node) || slices.ContainsFunc(a.sums, func(o *sum) bool { return clash(o.node, s.node) }) || clash(s.node, "active")) {
			err = errName
		}
		if err == nil && len(a.events)+len(a.sums) == maxEvents {
			err = errMany
		}
		if err != nil {
			refuse(d.name, err)
			continue
		}
		a.sums = append(a.sums, s)
	}
}

// section returns the events of the first section for a PMU that the machine has.
func (a *Agent) section(m *machine, cfg Config) (section, bool) {
	var without []string
	for _, s := range cfg.Conf.sections {
		for _, name := range s.pmus {
			if m.present(name) {
				cfg.Log.Debug("section is used", "name", name)
				return section{pmus: []string{name}, events: s.events}, true
			}
		}
		without = append(without, s.pmus...)
	}
	if len(without) > 0 {
		cfg.Log.Info("sections are not used: the machine does not have their PMUs, or they are those of libpfm, which are not supported", "names", strings.Join(without, " "))
	}
	return section{}, false
}

// startDynamic lists the events of the kernel's directories, and counts those of sections [dynamic].
func (a *Agent) startDynamic(m *machine, cfg Config, refuse func(name string, err error)) {
	known := make(map[string]bool)
	for _, p := range m.pmus() {
		for _, own := range p.events {
			name := p.name + "." + own
			known[name] = true
			asked := false
			for _, setting := range cfg.Conf.dynamic {
				if setting.name != name {
					continue
				}
				asked = true
				attr, full, err := m.encodeDynamic(p, own, setting)
				if err == nil {
					err = a.add(m, &event{name: full, pmu: p.name, own: own, on: setting.on}, attr, p.mask, cfg.open)
				}
				if err != nil {
					refuse(full, err)
				}
			}
			if e := (&event{name: name, node: nodeName(name), pmu: p.name, own: own}); !asked && a.checkName(e) == nil {
				a.events = append(a.events, e)
			}
		}
	}
	for _, setting := range cfg.Conf.dynamic {
		if !known[setting.name] {
			refuse(setting.name, errNoEvent)
		}
	}
}

// The reasons for an event that has no name or number.
var (
	errName = errors.New("its name cannot be that of a metric, or another event has it")
	errMany = fmt.Errorf("the agent has %d events already", maxEvents)
)

// checkName checks that an event can be added.
func (a *Agent) checkName(e *event) error {
	if len(a.events) >= maxEvents {
		return errMany
	}
	if !pcp.ValidName("x."+e.node) || len(e.node) > 200 || slices.ContainsFunc(a.events, func(o *event) bool { return clash(o.node, e.node) }) {
		return errName
	}
	return nil
}

// clash reports whether two events cannot have both names: one of them is the other, or below a metric of it.
func clash(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if a == b {
		return true
	}
	rest, ok := strings.CutPrefix(b, a+".")
	first, _, _ := strings.Cut(rest, ".")
	return ok && (first == "value" || first == "dutycycle")
}

// add counts an event.
func (a *Agent) add(m *machine, e *event, what attr, mask []int, open opener) error {
	e.node = nodeName(e.name)
	if err := a.checkName(e); err != nil {
		return err
	}
	cpus, err := m.on(e.on, mask)
	if err != nil {
		return err
	}
	if err := e.start(open, what, cpus); err != nil {
		return m.reason(err)
	}
	a.events = append(a.events, e)
	return nil
}

// Close stops the counters.
func (a *Agent) Close() error {
	var first error
	for _, e := range a.events {
		first = cmp.Or(first, e.close())
	}
	return first
}

// Columns of the metrics about the agent.
const (
	colVersion = iota
	colActive
	colDerived
	numControl
)

// control returns the metrics about the agent.
func (a *Agent) control(version string) column.Family {
	refused := &column.InDom{Serial: refusedSerial, Help: "Events that are not counted", Long: "Names are those of perfevent.conf."}
	table := []column.Metric{
		{Name: "perfevent.version", Cluster: 0, Item: 0, Type: pcp.TypeString, Sem: pcp.SemDiscrete, Col: colVersion, Help: "Version of the agent", Long: "The version of this software."},
		{Name: "perfevent.active", Cluster: 0, Item: 1, Type: pcp.Type32, Sem: pcp.SemDiscrete, Col: colActive, Help: "Number of counters", Long: "An event has a counter for each processor on which it is counted."},
		{Name: "perfevent.derived.active", Cluster: 1, Item: 0, Type: pcp.Type32, Sem: pcp.SemDiscrete, Col: colDerived, Help: "Number of sums of events", Long: "Those of sections [NAME:derived] of perfevent.conf."},
		{Name: "perfevent.refused", Cluster: 0, Item: itemRefused, Type: pcp.TypeString, Sem: pcp.SemDiscrete, From: 1, Help: "Reason for each event that is not counted", Long: "What the kernel, the processor or the virtual machine lacks, or what the agent\ndoes not support. An event without a counter on some processors only is counted\non the others."},
	}
	blocks := column.NewBlocks(table, column.Layout{Cols: numControl}, column.Layout{Cols: 1, InDom: refused, Lists: true})
	read := func() error {
		counters := 0
		for _, e := range a.events {
			counters += len(e.counters)
		}
		blocks[0].SetText(0, colVersion, version)
		blocks[0].Set(0, colActive, uint64(counters))
		blocks[0].Set(0, colDerived, uint64(len(a.sums)))
		blocks[1].Clear()
		for i, r := range a.refused {
			row := blocks[1].AddNamed(int32(i), r.name)
			blocks[1].SetText(row, 0, r.why)
		}
		return nil
	}
	return column.Family{Name: "control", Metrics: table, Sources: []*column.Source{{Name: "perfevent.conf", Read: read, Blocks: blocks}}}
}
