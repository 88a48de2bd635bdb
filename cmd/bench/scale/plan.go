//go:build linux

package main

import (
	"fmt"
	"math"
	"strings"
)

// Measured costs; README.md has the runs.
const (
	planValues     = 650   // values of a sample, of 300 metrics
	planInterval   = 10    // seconds
	recordCPU      = 0.53  // ms a sample in a recorder that does not send
	sendCPU        = 3.41  // ms a sample in a recorder that sends, on a busy machine
	recordMemory   = 0.362 // MiB a host in a recorder that does not send
	sendMemory     = 1.38  // MiB a host in a recorder that sends
	hostNetwork    = 16342 // B a sample, from hosts to recorders
	engineNetwork  = 10.53 // B a value, from recorders to the engine
	storedBytes    = 1.60  // B a value in a compressed archive of 90 samples
	engineRate     = 275e3 // values in a second of a processor of VictoriaMetrics: 23.6 % for 65,000 values a second
	engineMemory   = 2.94  // KB a series: 1,869 MB for 650,000 series, with churn by kills
	recorderHosts  = 1000  // hosts of a recorder that sends: 1.4 GiB, and 10,000 open files
	engineNodeCPUs = 4     // half of which are used
	engineNodeGB   = 32    // half of which are used
)

// plan returns the table of docs/scaling.md.
func plan() string {
	counts := []float64{100, 1000, 10_000, 100_000}
	var b strings.Builder
	b.WriteString("| hosts | 100 | 1,000 | 10,000 | 100,000 |\n| --- | --- | --- | --- | --- |\n")
	row := func(name, format string, f func(n float64) float64) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, n := range counts {
			fmt.Fprintf(&b, " "+format+" |", f(n))
		}
		b.WriteByte('\n')
	}
	rate := func(n float64) float64 { return n * planValues / planInterval }
	row("values a second", "%.0f", rate)
	row("processors, recorders that do not send", "%.3f", func(n float64) float64 { return n * recordCPU / 1000 / planInterval })
	row("processors, recorders that send", "%.2f", func(n float64) float64 { return n * sendCPU / 1000 / planInterval })
	row("memory, recorders that do not send, GiB", "%.2f", func(n float64) float64 { return n * recordMemory / 1024 })
	row("memory, recorders that send, GiB", "%.1f", func(n float64) float64 { return n * sendMemory / 1024 })
	row("recorders that send, one of them spare", "%.0f", func(n float64) float64 { return math.Ceil(n/recorderHosts) + 1 })
	row("network, hosts to recorders, MB/s", "%.2f", func(n float64) float64 { return n * hostNetwork / planInterval / 1e6 })
	row("network, recorders to one replica, MB/s", "%.2f", func(n float64) float64 { return rate(n) * engineNetwork / 1e6 })
	row("series", "%.0f", func(n float64) float64 { return n * planValues })
	row("engine nodes, 2 replicas", "%.0f", func(n float64) float64 {
		cpus := math.Ceil(2 * rate(n) / (engineRate * engineNodeCPUs / 2))
		memory := math.Ceil(2 * n * planValues * engineMemory / (engineNodeGB / 2 * 1e6))
		return max(2, cpus, memory)
	})
	stored := func(n, seconds, days float64) float64 {
		return n * planValues * 86400 / seconds * days * storedBytes / 1e12
	}
	row("objects, raw, 30 days, TB", "%.3f", func(n float64) float64 { return stored(n, planInterval, 30) })
	row("objects, 1 min, a year, TB", "%.3f", func(n float64) float64 { return stored(n, 60, 365) })
	row("objects, 1 h, each year, TB", "%.3f", func(n float64) float64 { return stored(n, 3600, 365) })
	return b.String()
}
