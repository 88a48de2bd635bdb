package fleet

import (
	"fmt"
	"math"
	"time"
)

// HostLabel is the label that names the host of a series.
const HostLabel = "hostname"

// A Column is a column of the table.
type Column struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Help  string `json:"help"`
	// Unit is "share" for numbers of which 1 is the whole, "bytes/s", or "" for others.
	Unit string `json:"unit"`
	// Low and High are the values from which and at which a host is in trouble, for [Trouble]. Both are 0 for a column
	// without a part in it.
	Low  float64 `json:"low"`
	High float64 `json:"high"`

	expr   string // %s is the range of rates
	factor float64
	per    *fact // values are divided by it
	rest   bool  // the value is the part that is left of 1
}

// A fact is a number of a host that hardly changes, such as its number of processors.
type fact struct {
	key int
	// exprs are tried one after the other until all hosts have a number: the last ones are expensive.
	exprs []string
}

const (
	factCPUs = iota
	factMemory
	facts
)

// window is the range for which a fact that is recorded once in an archive is looked for.
const factWindow = "25h"

// cpus is the number of processors, and memory the size of memory in KiB.
var (
	cpus   = fact{factCPUs, []string{`max by (hostname) (hinv_ncpu)`, `count by (hostname) (kernel_percpu_cpu_idle)`, `max by (hostname) (last_over_time(hinv_ncpu[` + factWindow + `]))`}}
	memory = fact{factMemory, []string{`max by (hostname) (mem_physmem)`, `max by (hostname) (last_over_time(mem_physmem[` + factWindow + `]))`}}
)

// columns are the columns of the table. The first is not aggregated: its series have the labels of the hosts.
var columns = []Column{
	{
		Name: "load", Title: "Load", Help: "load average of 1 minute, per processor", Low: 1, High: 4,
		expr: `kernel_all_load{instname="1 minute"}`, factor: 1, per: &cpus,
	},
	{
		Name: "cpu", Title: "CPU pressure", Help: "part of the time in which processes waited for a processor", Unit: "share", Low: 0.1, High: 0.6,
		expr: `max by (hostname) (rate(kernel_all_pressure_cpu_some_total[%s]))`, factor: 1e-6,
	},
	{
		Name: "mempressure", Title: "Memory pressure", Help: "part of the time in which processes waited for memory", Unit: "share", Low: 0.01, High: 0.2,
		expr: `max by (hostname) (rate(kernel_all_pressure_memory_some_total[%s]))`, factor: 1e-6,
	},
	{
		Name: "io", Title: "IO pressure", Help: "part of the time in which processes waited for input and output", Unit: "share", Low: 0.05, High: 0.5,
		expr: `max by (hostname) (rate(kernel_all_pressure_io_some_total[%s]))`, factor: 1e-6,
	},
	{
		Name: "memory", Title: "Memory", Help: "part of the memory that is not available", Unit: "share", Low: 0.85, High: 0.98,
		expr: `max by (hostname) (mem_util_available)`, factor: 1, per: &memory, rest: true,
	},
	{
		Name: "disk", Title: "Disk", Help: "utilization of the busiest disk", Unit: "share", Low: 0.7, High: 1,
		expr: `max by (hostname) (rate(disk_dev_avactive[%s]))`, factor: 1e-3,
	},
	{
		Name: "network", Title: "Network", Help: "bytes received and sent by all interfaces except lo", Unit: "bytes/s",
		expr:   `sum by (hostname) (rate(network_interface_in_bytes{instname!="lo"}[%[1]s])) + sum by (hostname) (rate(network_interface_out_bytes{instname!="lo"}[%[1]s]))`,
		factor: 1,
	},
}

// Columns returns the columns of the table.
func Columns() []Column { return append([]Column(nil), columns...) }

// query returns the expression of a column for points that are step apart.
func (c *Column) query(step time.Duration) string {
	if c.per != nil {
		return c.expr
	}
	return fmt.Sprintf(c.expr, rateRange(step))
}

// rateRange is the range of rates: long enough for values that are recorded once a minute.
func rateRange(step time.Duration) string {
	return fmt.Sprintf("%ds", int(max(5*time.Minute, 2*step).Seconds()))
}

// value returns the value of a column from a number of the source; fact is NaN if it is not known.
func (c *Column) value(v, fact float64) float64 {
	v *= c.factor
	if c.per != nil {
		if !(fact > 0) {
			return math.NaN()
		}
		v /= fact
	}
	if c.rest {
		v = 1 - v
	}
	return v
}

// silent is the trouble of a host whose values ended.
const silent = 100

// Trouble returns how much a host with these values, in the order of [Columns], needs attention: 0 for a host without
// trouble, at most 100. The part of a column grows from 0 at its Low to 1 at its High. The result is 90 times the largest part,
// plus 10 times the mean of all of them. Values that are not known, NaN, have no part.
func Trouble(values []float64) float64 {
	worst, sum, n := 0.0, 0.0, 0
	for i, c := range columns {
		if c.High == c.Low {
			continue
		}
		n++
		if i < len(values) && !math.IsNaN(values[i]) {
			part := min(1, max(0, (values[i]-c.Low)/(c.High-c.Low)))
			worst, sum = max(worst, part), sum+part
		}
	}
	return 90*worst + 10*sum/float64(n)
}
