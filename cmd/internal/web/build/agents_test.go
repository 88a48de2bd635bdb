package main

import (
	"fmt"
	"math"
	"testing"
)

// TestOffered opens the dashboards that the page offers since the host has a GPU, latencies of disks, and chrony. No others are offered.
func TestOffered(t *testing.T) {
	f := newFake(t)
	f.domains["99.1"] = []string{hostile, "gpu1"}
	f.domains["99.2"] = []string{"gpu0::004711 " + hostile, "gpu1::000042 train"}
	f.domains["99.3"] = []string{"0-1", "2-3", "4-7", "8-15", "16-31", "1024-2047"}
	f.domains["99.4"] = nil
	add := func(name, pmid, indom, kind, sem, units string, value func(i int, t float64) any) {
		f.metrics = append(f.metrics, fakeMetric{name: name, pmid: pmid, indom: indom, kind: kind, sem: sem, units: units, value: value})
	}
	add("nvidia.gpuactive", "99.1.0", "99.1", "u32", "instant", "none", func(i int, _ float64) any { return 10 + 50*i })
	add("nvidia.memused", "99.1.1", "99.1", "u64", "instant", "byte", func(i int, _ float64) any { return (1 + i) << 30 })
	add("nvidia.proc.memused", "99.2.0", "99.2", "u64", "instant", "byte", func(i int, _ float64) any { return (2 - i) << 28 })
	add("drm.card.busy", "99.4.0", "99.4", "u32", "instant", "none", func(int, float64) any { return 0 })
	add("bpf.disk.all.read.latency", "99.3.0", "99.3", "u64", "counter", "count", func(i int, t float64) any {
		return math.Floor([]float64{0, 5, 500, 0, 50, 0}[i] * math.Mod(t, 1e6))
	})
	add("chrony.tracking.sys_time_off", "99.0.5", "", "double", "instant", "sec", func(int, float64) any { return -0.002 })
	p := open(t, f, "#/charts", 1280, 900)
	options := "[...document.querySelectorAll('optgroup[label=\"Of this host\"] option')].map((o) => o.textContent).join()"
	p.until(options + " === 'GPUs,Latency,Time (chrony)'")
	p.selects("Open a dashboard", "Latency")
	// The rows are ranges, the largest above, from the first to the last with values.
	p.until("document.querySelectorAll('.card').length === 1 && document.querySelector('.cells canvas') && document.querySelector('.legend')")
	p.do("document.querySelector('.cells').focus()")
	for _, want := range []string{"16-31", "8-15", "4-7", "2-3"} {
		p.do("document.querySelector('.cells').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))")
		p.until(fmt.Sprintf("document.querySelector('.tip strong')?.textContent === %q", want))
	}
	p.shot("latency")
	script := axeScript(t)
	p.accessible(script, "latency")
	p.selects("Open a dashboard", "GPUs")
	p.until("document.querySelectorAll('.card').length === 3 && document.querySelectorAll('.uplot').length === 2 && document.querySelectorAll('.datatable tbody tr').length === 2")
	p.says(".datatable tbody th", "gpu0::004711 "+hostile)
	p.accessible(script, "GPUs")
	p.shot("gpus")
	p.selects("Open a dashboard", "Time (chrony)")
	p.until("document.querySelectorAll('.card').length === 1 && document.querySelectorAll('.uplot').length === 1")
	p.until("document.querySelector('.card').textContent.includes('-2 ms')")
	p.shot("chrony")
}
