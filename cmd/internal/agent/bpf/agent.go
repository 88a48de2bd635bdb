package bpf

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (BPF in stdpmid).
const Domain = 157

// Config describes an Agent. The zero Config has the modules that are on by default.
type Config struct {
	Domain int // to be served under; 0 means Domain
	// HostRoot is the directory in which the root directory of the host is mounted; "" means /.
	HostRoot string
	Settings Settings
	Log      *slog.Logger // nil discards
}

// An Agent is the agent. It implements pmda.Agent, Refresher, NameSpacer, Texter, Labeler and Storer.
type Agent struct {
	*column.Agent
	cfg     Config
	control *column.Block

	mu      sync.Mutex // held while modules start and stop, and by a fetch; guards the state of modules
	modules []*module
	closed  bool
	started sync.WaitGroup // the goroutine of Start
}

// New returns an agent whose modules do not run yet.
func New(cfg Config) *Agent {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.HostRoot == "" {
		cfg.HostRoot = "/"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{cfg: cfg, modules: modules(cfg)}
	families := []column.Family{a.controlFamily()}
	wrapAll(families[0])
	for i, m := range a.modules {
		m.inst, m.wanted = int32(i), cfg.Settings.enabled(m)
		m.family.Sources[0].Read = func() error {
			a.mu.Lock()
			defer a.mu.Unlock()
			return m.read(m.run)
		}
		wrapAll(m.family)
		families = append(families, m.family)
	}
	engine, err := column.New(column.Config{Name: "bpf", Domain: cfg.Domain, Log: cfg.Log, Trusts: trusts}, families...)
	if err != nil {
		panic(err) // the tables are wrong
	}
	a.Agent = engine
	return a
}

// wrapAll breaks the lines of long help texts.
func wrapAll(f column.Family) {
	for i := range f.Metrics {
		f.Metrics[i].Long = wrap(f.Metrics[i].Long)
	}
	for _, s := range f.Sources {
		for _, b := range s.Blocks {
			if d := b.InDom(); d != nil {
				d.Long = wrap(d.Long)
			}
		}
	}
}

// maxTextLine is the largest length of a line of a help text.
const maxTextLine = 79

// wrap breaks a paragraph into lines.
func wrap(text string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > maxTextLine {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// trusts reports whether a client gets the names and arguments of processes: the collector knows its user.
func trusts(client *pmda.Client) bool {
	if client == nil {
		return false
	}
	_, ok := client.UserID()
	return ok
}

// modules returns all modules.
func modules(cfg Config) []*module {
	return []*module{biolatency(cfg.HostRoot), runqlat(cfg.HostRoot), execsnoop(cfg), oomkill(cfg), exitsnoop(cfg), tcpconnlat(cfg), netatop(cfg), softirqs(cfg), offcputime(cfg), drsnoop(cfg), syscalls(cfg), cachestat(cfg)}
}

// Start loads the modules that are switched on, in the background. Requests wait for the end of that.
func (a *Agent) Start() {
	a.mu.Lock()
	a.started.Go(func() {
		defer a.mu.Unlock()
		a.apply()
	})
}

// Close stops all modules.
func (a *Agent) Close() error {
	a.started.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, m := range a.modules {
		m.wanted = false
	}
	a.apply()
	return nil
}

// apply starts and stops modules as wanted. The caller holds a.mu.
func (a *Agent) apply() {
	var k *kernel // is large, and dropped at the end
	var err error
	for _, m := range a.modules {
		switch {
		case !m.wanted && m.run != nil:
			m.run.close()
			m.run = nil
			if m.clear != nil {
				m.clear()
			}
			a.cfg.Log.Info("module is off", "module", m.name)
		case m.wanted && m.run == nil && m.why == "":
			if k == nil && err == nil {
				k, err = newKernel(a.cfg.HostRoot)
			}
			if err == nil {
				m.run, err = m.start(k)
			}
			if err != nil {
				m.why = oneLine(err)
				a.cfg.Log.Warn("module does not run", "module", m.name, "reason", m.why)
				if k != nil {
					err = nil // others may run
				}
				continue
			}
			a.cfg.Log.Info("module runs", "module", m.name, "started_in", m.run.took)
		}
		if !m.wanted {
			m.why = ""
		}
	}
}

// maxReason is the largest length of a reason.
const maxReason = 400

// oneLine returns the text of an error without line breaks.
func oneLine(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxReason {
		text = text[:maxReason] + "..."
	}
	return text
}

// Columns of the control block.
const (
	colEnabled = iota
	colState
	colStartTime
	colRuns
	colRunTime
	colMissed
	numControl
)

// itemEnabled is the item of the metric that switches modules.
const itemEnabled = 0

func (a *Agent) controlFamily() column.Family {
	m := func(item int, name string, col int, t pcp.Type, sem pcp.Sem, units pcp.Units, help, long string) column.Metric {
		return column.Metric{Name: name, Cluster: clusterControl, Item: item, Type: t, Sem: sem, Units: units, Col: col, Help: help, Long: long}
	}
	metrics := []column.Metric{
		m(
			itemEnabled, "bpf.control.enabled", colEnabled, pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, "Whether a module is switched on",
			"1 for a module that is on, else 0. A store switches the module until the agent ends; only root and the user of the agent may do it. Storing 1 again tries a module that the kernel refused once more.",
		),
		m(
			1, "bpf.module.state", colState, pcp.TypeString, pcp.SemInstant, pcp.Units{}, "State of a module",
			"running, off, or the reason that a module which is switched on does not run.",
		),
		m(
			2, "bpf.module.start_time", colStartTime, pcp.TypeU64, pcp.SemInstant, microseconds(), "Time that it took to start a module",
			"The time to load and to attach the programs of the module. That of reading the type information of the kernel, which the modules share, is in that of the first.",
		),
		m(
			3, "bpf.module.runs", colRuns, pcp.TypeU64, pcp.SemCounter, count(), "Number of runs of the programs of a module",
			"The kernel counts them if the sysctl kernel.bpf_stats_enabled is 1; otherwise there is no value.",
		),
		m(
			4, "bpf.module.run_time", colRunTime, pcp.TypeU64, pcp.SemCounter, nanoseconds(), "Time that the programs of a module ran",
			"The cost of the module. The kernel counts it if the sysctl kernel.bpf_stats_enabled is 1; otherwise there is no value.",
		),
		m(
			5, "bpf.module.missed", colMissed, pcp.TypeU64, pcp.SemCounter, count(), "Number of events that the programs of a module missed",
			"The kernel does not run a program on a processor on which it is running already.",
		),
	}
	blocks := column.NewBlocks(metrics, column.Layout{Cols: numControl, Lists: true, InDom: &column.InDom{
		Serial: clusterControl, Help: "Modules of the agent",
		Long: "The modules, by their names in bpf.conf. Some are off unless they are switched on, since their events are frequent.",
	}})
	a.control = blocks[0]
	return column.Family{Name: "control", Metrics: metrics, Sources: []*column.Source{{Name: "the agent", Blocks: blocks, Read: a.readControl}}}
}

// readControl lists the modules.
func (a *Agent) readControl() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.control
	b.Clear()
	for _, m := range a.modules {
		row := b.AddNamed(m.inst, m.name)
		b.Set(row, colEnabled, 0)
		state := "off"
		if m.wanted {
			b.Set(row, colEnabled, 1)
			state = m.why
		}
		if o := m.run; o != nil {
			state = "running"
			b.Set(row, colStartTime, uint64(o.took.Microseconds()))
			runs, missed, took, ok := o.stats()
			if b.Set(row, colMissed, missed); ok {
				b.Set(row, colRuns, runs)
				b.Set(row, colRunTime, uint64(took))
			}
		}
		b.SetText(row, colState, state)
	}
	return nil
}

// Store implements pmda.Storer: it switches modules.
func (a *Agent) Store(_ context.Context, client *pmda.Client, res *pcp.Result) error {
	if uid, ok := client.UserID(); !ok || uid != 0 && uid != ownUser() {
		return pcp.ErrPermission
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, vs := range res.Sets {
		if vs.PMID != pcp.NewPMID(a.cfg.Domain, clusterControl, itemEnabled) {
			return fmt.Errorf("bpf: store into metric %v: %w", vs.PMID, pcp.ErrPermission)
		}
		for _, v := range vs.Values {
			i := slices.IndexFunc(a.modules, func(m *module) bool { return m.inst == v.Inst })
			if i < 0 {
				return pcp.ErrInst
			}
			n := v.As(pcp.TypeU32).Bits()
			if n > 1 {
				return fmt.Errorf("bpf: module %s: a module is switched on by 1 and off by 0, not by %d: %w", a.modules[i].name, n, pcp.ErrBadStore)
			}
			if a.closed {
				return pcp.ErrAgain
			}
			a.modules[i].wanted, a.modules[i].why = n == 1, ""
		}
	}
	a.apply()
	return nil
}
