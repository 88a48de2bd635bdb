package kvm

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
	"github.com/go-pcp/pcp/pmns"
)

// A group counts trace points on one processor by performance events.
type group interface {
	// read fills values with one count for each trace point, and returns their number.
	read(values []uint64) (n int, err error)
	close()
}

// A tracer counts trace points.
type tracer struct {
	dir    string // with a directory for each trace point
	points []string
	cpus   int
	log    *slog.Logger
	open   func(cpu int, ids []uint64) (group, error) // makes the events of one processor

	ready  bool // groups were opened, or cannot be
	groups []group
	counts [][]uint64 // by processor, as last read; nil if never
	values []uint64
	block  *column.Block
}

func newTracer(cfg *Config) *tracer {
	return &tracer{
		dir: filepath.Join(cfg.Tracing, "events/kvm"), points: cfg.Trace, cpus: cfg.CPUs, log: cfg.Log,
		open: openGroup, values: make([]uint64, len(cfg.Trace)),
	}
}

// family reports the number of passes of trace points on each processor.
func (tr *tracer) family(cfg *Config) column.Family {
	indom := &column.InDom{
		Serial: 0, Help: "Processors on which trace points of KVM are counted",
		Long:   "Processors of this machine, on each of which the trace points of KVM are\ncounted. There are none while they cannot be counted.",
		Labels: `{"device_type":"cpu","indom_name":"per cpu"}`,
		InstanceLabels: func(inst int32, _ string) map[string]any {
			return map[string]any{"cpu": inst}
		},
	}
	metrics := traceMetrics(cfg)
	b := column.NewBlocks(metrics, column.Layout{Cols: 1}, column.Layout{Cols: len(tr.points), InDom: indom, Lists: true})
	tr.block = b[blockTrace]
	return column.Family{Name: "trace", Metrics: metrics, Sources: []*column.Source{
		{Name: "trace points", Blocks: b[:1], Read: func() error {
			b[blockCount].Set(0, 0, uint64(len(tr.points)))
			return nil
		}},
		{Name: tr.dir, Blocks: b[1:], Read: tr.read},
	}}
}

// traceMetrics returns the metrics of the trace points, in the order in which the C agent lists
// their names. A trace point has no metric if its name is invalid or already used.
func traceMetrics(cfg *Config) []column.Metric {
	count := column.Metric{
		Name: "kvm.trace.count", Cluster: clusterTrace, Type: pcp.TypeU64, Sem: pcp.SemDiscrete, Units: pcp.Units{DimCount: 1}, From: blockCount,
		Help: "Number of trace points", Long: "Number of trace points of KVM that the agent counts, from the file kvm.conf in\nits directory.",
	}
	names := pmns.New()
	if err := names.Add(count.Name, pcp.NewPMID(cfg.Domain, clusterTrace, 0)); err != nil {
		panic(err) // it is a name
	}
	metrics := make([]column.Metric, len(cfg.Trace)+1)
	for i, point := range cfg.Trace {
		m := column.Metric{
			Name: "kvm.trace." + point, Cluster: clusterTrace, Item: i + 1, Type: pcp.Type64, Sem: pcp.SemInstant, From: blockTrace, Col: i,
			Help: "Times that a trace point was passed, on each processor",
			Long: "Times that the kernel has passed the trace point on each processor since the\nagent was first asked for one.",
		}
		if err := names.Add(m.Name, pcp.NewPMID(cfg.Domain, m.Cluster, m.Item)); err != nil {
			cfg.Log.Warn("trace point has no metric", "name", point, "err", err)
			m.Name = ""
		}
		metrics[len(cfg.Trace)-1-i] = m
	}
	metrics[len(cfg.Trace)] = count
	return metrics
}

// read reads the counts of all processors.
func (tr *tracer) read() error {
	tr.block.Clear()
	if len(tr.points) == 0 {
		return nil
	}
	if !tr.ready {
		tr.start()
	}
	for cpu, g := range tr.groups {
		if g != nil {
			clear(tr.values)
			n, err := g.read(tr.values)
			if err == nil {
				if tr.counts[cpu] == nil {
					tr.counts[cpu] = make([]uint64, len(tr.points))
				}
				clear(tr.counts[cpu])
				if n == len(tr.points) { // otherwise one is missing and none is counted, as in the C agent
					copy(tr.counts[cpu], tr.values)
				}
			}
		}
		if tr.counts[cpu] == nil {
			continue
		}
		row := tr.block.AddNamed(int32(cpu), "cpu"+strconv.Itoa(cpu))
		for col, v := range tr.counts[cpu] {
			tr.block.Set(row, col, v)
		}
	}
	return nil
}

// start makes the events. If one fails there are none. If the kernel has no trace points of
// KVM, the next reading tries again: the module may be loaded later.
func (tr *tracer) start() {
	names := make(map[string]bool)
	entries, err := os.ReadDir(tr.dir)
	for _, e := range entries {
		names[e.Name()] = true
	}
	var ids []uint64
	for _, point := range tr.points {
		if !names[point] || point == "enable" || point == "filter" {
			continue
		}
		if b, err := procfs.ReadOnce(filepath.Join(tr.dir, point, "id")); err == nil {
			ids = append(ids, pointID(b))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	tr.ready = true
	groups := make([]group, tr.cpus)
	for cpu := range groups {
		if err != nil {
			break
		}
		if len(ids) > 0 {
			groups[cpu], err = tr.open(cpu, ids)
		}
	}
	if err != nil {
		tr.log.Info(fmt.Sprintf("disabling perf_event support: %v", err)) // the words of the C agent
		for _, g := range groups {
			if g != nil {
				g.close()
			}
		}
		return
	}
	tr.groups, tr.counts = groups, make([][]uint64, len(groups))
}

// pointID returns the number of a trace point, or 0 if the file has no number.
func pointID(b []byte) uint64 {
	var v uint64
	for i := 0; i < len(b) && ctext.IsDigit(b[i]) && v < 1<<31; i++ {
		v = v*10 + uint64(b[i]-'0')
	}
	return v
}

// close closes the events.
func (tr *tracer) close() {
	for _, g := range tr.groups {
		if g != nil {
			g.close()
		}
	}
	tr.groups, tr.ready = nil, true
}
