package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// hot knows which processes are hot: those that a predicate is true of, as measured over an
// interval. They are measured again on a request after the interval is over, so that they
// cost nothing while no client is interested.
type hot struct {
	cfg        *Config
	predicate  *predicate // nil for none: no process is hot
	generation uint32     // counts predicates
	interval   time.Duration
	now        func() time.Time

	machine  *machine      // a separate one
	engine   *column.Agent // reads all processes, as the agent; nil until there is a predicate
	measured time.Time     // when, zero for never
	idle     float64       // seconds of all processors, at that time
	usage    map[int32]usage
	subjects map[int32]*subject // that are hot
	totals   *totals            // nil until measured twice
}

// A usage has the resources that a process has used so far.
type usage struct {
	cpu, ctxswitch, io, iowait, schedwait float64 // s, count, Kbytes, s, s
}

// totals are shares of processor time, in processors.
type totals struct{ idle, hot, cold, transient float64 }

// defaultInterval is the time for which processes are measured, until a client stores
// another value in hotproc.control.refresh.
const defaultInterval = 10 * time.Second

func newHot(cfg *Config) *hot { return &hot{cfg: cfg, interval: defaultInterval, now: time.Now} }

// start prepares the measuring of processes, once there is a predicate.
func (h *hot) start() error {
	h.machine = newMachine(h.cfg)
	p := newProcesses(h.machine, filter{}, false)
	var err error
	h.engine, err = column.New(column.Config{Name: "hotproc", Domain: h.cfg.Domain, Log: h.cfg.Log},
		p.family(), newStatSource(p).family(), newStatusSource(p).family(), ioFamily(p), schedstatFamily(p))
	return err
}

// load reads the predicate of a file. A file that others may write is not trusted.
func (h *hot) load() error {
	for _, path := range h.cfg.HotConfig {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode()&0o002 != 0 {
			err = fmt.Errorf("%s: all users may write it: %w", path, pcp.ErrPermission)
		}
		if err != nil {
			return err
		}
		r := procfs.Buffer{Max: maxPredicate}
		text, err := r.Read(path, false)
		if err == nil {
			err = h.set(string(text))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	return nil
}

// set sets a new predicate. A text without a predicate removes it.
func (h *hot) set(text string) error {
	p, err := parsePredicate(text)
	if err != nil {
		return err
	}
	h.predicate = p
	h.subjects, h.usage, h.totals, h.measured = nil, nil, nil, time.Time{}
	if h.generation = 0; p == nil {
		return nil
	}
	h.generation++
	if h.engine == nil {
		if err := h.start(); err != nil {
			return err
		}
	}
	return h.measure()
}

// update measures the processes if it is time.
func (h *hot) update() error {
	if h.predicate == nil || h.now().Sub(h.measured) < h.interval {
		return nil
	}
	return h.measure()
}

// The values measured of a process: clusters and items.
var measures = [...][2]int{
	{8, 13}, {8, 14}, {24, 29}, {24, 30}, {32, 4}, {32, 5}, {8, 44}, {31, 1}, // of usage
	{8, 22}, {8, 23}, {24, 0}, {24, 4}, {24, 8}, {24, 12}, {8, 1}, {8, 41},
}

// measure looks at all processes and decides which are hot.
func (h *hot) measure() error {
	ids := make([]pcp.PMID, len(measures))
	for i, m := range measures {
		ids[i] = pcp.NewPMID(h.cfg.Domain, m[0], m[1])
	}
	res := new(pcp.Result)
	ctx := context.Background()
	now := h.now()
	h.machine.clock++
	if err := h.engine.Refresh(ctx, nil); err != nil {
		return err
	}
	if err := h.engine.Fetch(ctx, &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: res}); err != nil {
		return err
	}
	idle, processors := h.idleTime()
	seen := make(map[int32]*[len(measures)]pcp.Value)
	for _, v := range res.Sets[0].Values { // no values for a process that ends meanwhile
		seen[v.Inst] = new([len(measures)]pcp.Value)
	}
	for i, set := range res.Sets {
		for _, v := range set.Values {
			if seen[v.Inst] != nil {
				seen[v.Inst][i] = v
			}
		}
	}
	elapsed := now.Sub(h.measured).Seconds()
	first := h.measured.IsZero() || elapsed <= 0
	before := h.usage
	h.usage, h.subjects = make(map[int32]usage, len(seen)), make(map[int32]*subject)
	var t totals
	for pid, v := range seen {
		u := usageOf(v)
		h.usage[pid] = u
		s := subjectOf(v)
		old, known := before[pid]
		spent := 0.0
		if known && !first {
			spent = max(0, u.cpu-old.cpu)
			s.cpuburn = spent / elapsed
			s.ctxswitch = max(0, u.ctxswitch-old.ctxswitch) / elapsed
			s.iodemand = max(0, u.io-old.io) / elapsed
			s.iowait = max(0, u.iowait-old.iowait) / elapsed
			s.schedwait = max(0, u.schedwait-old.schedwait) / elapsed
		}
		if h.predicate.test(s) {
			h.subjects[pid] = s
			t.hot += spent
		} else {
			t.cold += spent
		}
	}
	if !first {
		t.idle = max(0, idle-h.idle)
		t.transient = max(0, float64(processors)*elapsed-t.hot-t.cold-t.idle)
		h.totals = &totals{t.idle / elapsed, t.hot / elapsed, t.cold / elapsed, t.transient / elapsed}
	}
	h.measured, h.idle = now, idle
	return nil
}

func usageOf(v *[len(measures)]pcp.Value) usage {
	return usage{
		cpu:       float64(v[0].Uint64()+v[1].Uint64()) / 1000,
		ctxswitch: float64(v[2].Uint64() + v[3].Uint64()),
		io:        float64(v[4].Uint64()+v[5].Uint64()) / 1024,
		iowait:    float64(v[6].Uint64()) / 1000,
		schedwait: float64(v[7].Uint64()) / 1e9,
	}
}

func subjectOf(v *[len(measures)]pcp.Value) *subject {
	text := func(i int) string {
		s, _ := v[i].Text()
		return s
	}
	s := &subject{
		virtualsize: float64(v[8].Uint64()), residentsize: float64(v[9].Uint64()),
		uid: v[10].Uint32(), gid: v[11].Uint32(), uname: text(12), gname: text(13), fname: text(14), psargs: text(15),
	}
	if s.uname == "" {
		s.uname = "UNKNOWN"
	}
	if s.gname == "" {
		s.gname = "UNKNOWN"
	}
	return s
}

// idleTime returns the idle time of processors in seconds, and their number.
func (h *hot) idleTime() (idle float64, processors int) {
	var r procfs.Buffer
	b, err := r.Read(h.cfg.Root+"/proc/stat", true)
	if err != nil {
		return 0, 0
	}
	for line := range procfs.Lines(b) {
		name, rest := procfs.Field(line)
		if !bytes.HasPrefix(name, []byte("cpu")) {
			break
		}
		if len(name) > 3 {
			processors++
			continue
		}
		for range 3 { // user, nice, system
			_, rest = procfs.Field(rest)
		}
		if v, _, ok := procfs.Uint(rest); ok {
			idle = float64(v) / float64(h.cfg.HZ)
		}
	}
	return idle, processors
}

// hotClusters are the clusters of hotproc by those of proc.
var hotClusters = [...]struct{ all, hot int }{
	{8, 52}, {9, 53}, {11, 54}, {12, 55}, {24, 56}, {31, 57}, {32, 58}, {33, 34}, {51, 59}, {62, 63}, {69, 71}, {72, 73}, {74, 75}, {77, 78}, {79, 80},
}

// isHot reports whether a metric is about hot processes.
func isHot(id pcp.PMID) bool {
	c := id.Cluster()
	if c == hotCluster || c == 61 {
		return true
	}
	for _, cluster := range hotClusters {
		if c == cluster.hot {
			return true
		}
	}
	return false
}

// Columns of totalMetrics.
const (
	totalIdle = iota
	totalHot
	totalTransient
	totalCold
	totalOther
	totalPercent
	numTotals
)

// Columns of predicateMetrics.
const (
	hotSwitches = iota
	hotVirtual
	hotResident
	hotDemand
	hotIOWait
	hotSchedWait
	hotBurn
	numHot
)

func hotFamilies(p *processes) []column.Family {
	totals := column.NewBlocks(totalMetrics, column.Layout{Cols: numTotals})
	total := &column.Source{Name: "use of processors", Blocks: totals, Read: func() error {
		totals[0].Zero()
		if t := p.hot.totals; t != nil {
			other := t.cold + t.transient
			percent := 0.0
			if all := other + t.hot; all > 0 {
				percent = 100 * other / all
			}
			for col, v := range [numTotals]float64{t.idle, t.hot, t.transient, t.cold, other, percent} {
				totals[0].Set(0, col, floatBits(v))
			}
		}
		return nil
	}}
	source, b := p.each("hot processes", predicateMetrics, column.Layout{Cols: numHot})
	source.Row = func(row int) {
		s := p.hot.subjects[b[0].Insts()[row]]
		if s == nil {
			return // a thread of a process that is hot
		}
		for col, v := range [numHot]float64{s.ctxswitch, 0, 0, s.iodemand, s.iowait, s.schedwait, s.cpuburn} {
			b[0].Set(row, col, floatBits(v))
		}
		b[0].Set(row, hotVirtual, uint64(s.virtualsize))
		b[0].Set(row, hotResident, uint64(s.residentsize))
	}
	return []column.Family{
		{Name: "hot totals", Metrics: totalMetrics, Sources: []*column.Source{total}},
		{Name: "hot predicate", Metrics: predicateMetrics, Sources: []*column.Source{source}},
	}
}

// hotTable returns a table of proc as one of hotproc.
func hotTable(metrics []column.Metric) []column.Metric {
	metrics = slices.Clone(metrics)
	for i := range metrics {
		m := &metrics[i]
		m.Name = "hot" + m.Name
		i := slices.IndexFunc(hotClusters[:], func(c struct{ all, hot int }) bool { return c.all == m.Cluster })
		m.Cluster = hotClusters[i].hot
	}
	return metrics
}

// hotOrder returns the order of names of hotproc.
func hotOrder() []string {
	var names []string
	for _, name := range order {
		if !strings.HasPrefix(name, "proc.runq") {
			names = append(names, "hot"+name)
		}
	}
	return names
}

// totalMetrics report the processor time of hot processes.
var totalMetrics = []column.Metric{
	{Name: "hotproc.total.cpuidle", Cluster: 60, Item: 2, Type: pcp.TypeFloat, Sem: instant, Col: totalIdle, Help: "Processors that were idle, as 1.5 for one and a half"},
	{Name: "hotproc.total.cpuburn", Cluster: 60, Item: 3, Type: pcp.TypeFloat, Sem: instant, Col: totalHot, Help: "Processors that hot processes used"},
	{Name: "hotproc.total.cpuother.transient", Cluster: 60, Item: 4, Type: pcp.TypeFloat, Sem: instant, Col: totalTransient, Help: "Processors that processes used which began or ended in the interval"},
	{Name: "hotproc.total.cpuother.not_cpuburn", Cluster: 60, Item: 5, Type: pcp.TypeFloat, Sem: instant, Col: totalCold, Help: "Processors that processes used which are not hot"},
	{Name: "hotproc.total.cpuother.total", Cluster: 60, Item: 6, Type: pcp.TypeFloat, Sem: instant, Col: totalOther, Help: "Processors that all but hot processes used"},
	{Name: "hotproc.total.cpuother.percent", Cluster: 60, Item: 7, Type: pcp.TypeFloat, Sem: instant, Col: totalPercent, Help: "Share of the processor time in use that all but hot processes had"},
}

// predicateMetrics are the values that predicates use.
var predicateMetrics = []column.Metric{
	{Name: "hotproc.predicate.ctxswitch", Cluster: 61, Item: 1, Type: pcp.TypeFloat, Sem: instant, Units: countPerSec, Col: hotSwitches, Help: "Context switches"},
	{Name: "hotproc.predicate.virtualsize", Cluster: 61, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: hotVirtual, Help: "Size of the address space"},
	{Name: "hotproc.predicate.residentsize", Cluster: 61, Item: 3, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Col: hotResident, Help: "Memory that is resident"},
	{Name: "hotproc.predicate.iodemand", Cluster: 61, Item: 4, Type: pcp.TypeFloat, Sem: instant, Units: kbytePerSec, Col: hotDemand, Help: "Kilobytes read from and written to disks"},
	{Name: "hotproc.predicate.iowait", Cluster: 61, Item: 5, Type: pcp.TypeFloat, Sem: instant, Col: hotIOWait, Help: "Share of the time spent waiting for disks"},
	{Name: "hotproc.predicate.schedwait", Cluster: 61, Item: 6, Type: pcp.TypeFloat, Sem: instant, Col: hotSchedWait, Help: "Share of the time spent waiting for a processor"},
	{Name: "hotproc.predicate.cpuburn", Cluster: 61, Item: 7, Type: pcp.TypeFloat, Sem: instant, Col: hotBurn, Help: "Share of a processor that the process used"},
}
