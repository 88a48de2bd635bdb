package perfevent

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// A counter counts an event on one processor.
type counter interface {
	read() (reading, error)
	close() error
}

// An opener starts a counter.
type opener func(a attr, cpu int) (counter, error)

// A reading is a count since the start, the time in nanoseconds since then, and how much of it the event was counted: the kernel takes turns if
// the processor has too few counters.
type reading struct{ value, enabled, running uint64 }

// An event is counted, or the kernel has it and the configuration does not list it.
type event struct {
	name     string // in the configuration
	node     string // in the name space
	pmu, own string // the names of the PMU and of its event, of those that are in the kernel's directories
	on       choice
	counters []cpuCounter
	source   *column.Source
	inDom    *column.InDom
	block    *column.Block
}

// A cpuCounter continues the count of one processor.
type cpuCounter struct {
	cpu     int
	counter counter
	last    reading
	total   uint64
	ok      bool // last and total are those of the present reading
}

// idle reports whether the event is not asked for.
func (e *event) idle() bool { return len(e.counters) == 0 }

// start starts the counters of an event. It returns an error if it starts none.
func (e *event) start(open opener, a attr, cpus []int) error {
	var first error
	for _, cpu := range cpus {
		c, err := open(a, cpu)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		e.counters = append(e.counters, cpuCounter{cpu: cpu, counter: c})
	}
	if len(e.counters) == 0 {
		return first
	}
	return nil
}

// close stops the counters.
func (e *event) close() error {
	var first error
	for _, c := range e.counters {
		if err := c.counter.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// take adds a reading. A part of the time is taken for the whole if the kernel counted only then.
func (c *cpuCounter) take(r reading) {
	count, enabled, running := r.value-c.last.value, r.enabled-c.last.enabled, r.running-c.last.running
	if running > 0 && running < enabled {
		count = uint64(float64(count) * (float64(enabled) / float64(running)))
	}
	c.total += count
	c.last, c.ok = r, true
}

// duty is the part of the time in which the event was counted.
func (c *cpuCounter) duty() float64 {
	if c.last.enabled == 0 {
		return 0
	}
	return float64(c.last.running) / float64(c.last.enabled)
}

// Columns of an event.
const (
	colValue = iota
	colDuty
	numCols
)

// read reads the counters.
func (e *event) read() error {
	e.block.Clear()
	for i := range e.counters {
		c := &e.counters[i]
		row := e.block.AddNamed(int32(i), cpuName(c.cpu))
		c.ok = false
		r, err := c.counter.read()
		if err != nil {
			continue // the processor is offline
		}
		c.take(r)
		e.block.Set(row, colValue, c.total)
		e.block.Set(row, colDuty, math.Float64bits(c.duty()))
	}
	return nil
}

func cpuName(cpu int) string { return "cpu" + strconv.Itoa(cpu) }

// family returns the metrics of the event number n.
func (e *event) family(n int) column.Family {
	e.inDom = perCPU(n, e.counters)
	why := pcp.Error(0)
	long := "If the kernel counted for a part of the time only, the count is scaled to the\nwhole time."
	if e.idle() {
		why, long = pcp.ErrValue, "The kernel has the event, and perfevent.conf does not list it: it is not\ncounted."
	}
	name := "perfevent.hwcounters." + e.node
	table := []column.Metric{
		{Name: name + ".value", Cluster: firstCluster + n, Item: 0, Type: pcp.Type64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}, Col: colValue, Err: why, Help: "Number of events " + e.name, Long: long},
		{Name: name + ".dutycycle", Cluster: firstCluster + n, Item: 1, Type: pcp.TypeDouble, Sem: pcp.SemInstant, Col: colDuty, Err: why, Help: "Part of the time in which events " + e.name + " were counted", Long: "1 if the event has a counter of the processor to itself, less if the kernel\ntakes turns."},
	}
	blocks := column.NewBlocks(table, column.Layout{Cols: numCols, InDom: e.inDom, Lists: true})
	e.block = blocks[0]
	e.source = &column.Source{Name: "perf_event_open " + e.name, Read: e.read, Blocks: blocks}
	return column.Family{Name: e.name, Metrics: table, Sources: []*column.Source{e.source}}
}

// perCPU is the instance domain of a metric with a value for each counter.
func perCPU(serial int, counters []cpuCounter) *column.InDom {
	return &column.InDom{
		Serial: serial, Help: "Processors on which the event is counted", Long: "Names are those of the kernel, such as cpu0.",
		Labels: `{"device_type":"cpu","indom_name":"per cpu"}`,
		InstanceLabels: func(inst int32, _ string) map[string]any {
			if inst < 0 || int(inst) >= len(counters) {
				return nil
			}
			return map[string]any{"cpu": counters[inst].cpu}
		},
	}
}

// nodeName returns the name of an event in the name space: other characters than letters, digits, _ and . become _.
func nodeName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.':
			return r
		}
		return '_'
	}, name)
}

// reason explains an error of perf_event_open(2).
func (m *machine) reason(err error) error {
	code, ok := err.(syscall.Errno)
	if !ok {
		return err
	}
	text := ""
	switch code {
	case syscall.EACCES, syscall.EPERM:
		text = "counting on whole processors needs root, CAP_PERFMON or the sysctl kernel.perf_event_paranoid of at most 0"
		if n := m.paranoid(); n != "" {
			text += ", which is " + n
		}
	case syscall.ENOENT, syscall.EOPNOTSUPP, syscall.ENXIO:
		text = "the processor or the virtual machine does not have this event"
	case syscall.ENODEV:
		text = "the processor is offline, or does not have this event"
	case syscall.ENOSYS:
		text = "the kernel has no performance counters (CONFIG_PERF_EVENTS)"
	case syscall.EMFILE, syscall.ENFILE:
		text = "each event needs an open file for each processor"
	case syscall.EBUSY:
		text = "another program has the counter for itself"
	case syscall.EINVAL:
		text = "the kernel does not accept the code of this event"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", code, text)
}
