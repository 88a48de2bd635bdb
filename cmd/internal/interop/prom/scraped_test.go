package prom

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// smooth is an expression whose value changes little if the times of samples change little: without comparisons, without choices between
// series, and without extremes of values that rise and fall between samples. It may have the values of one process.
func (w *writer) smooth(process int) string {
	counters := []string{
		"kernel_all_cpu_user", "kernel_all_pswitch", "kernel_all_intr", "kernel_percpu_cpu_user", "kernel_percpu_cpu_idle", "disk_dev_write", "disk_dev_write_bytes", "disk_all_total",
		"network_interface_in_bytes", "network_interface_out_packets", "sample_byte_ctr", "mem_vmstat_pgfault",
	}
	gauges := []string{
		"kernel_all_load", "kernel_all_nprocs", "mem_util_free", "mem_util_cached", "mem_util_used", "hinv_ncpu", "sample_bin", "sample_control", "kernel_all_uptime", "sample_float_million",
		"proc_nprocs",
	}
	selector := func(list []string) string {
		name := w.one(list...)
		return name + w.one("", "", "", `{agent!=""}`, `{agent=~"l.*|sample"}`, `{instname!="lo"}`, `{instname!~"cpu1|bin-[3-9]00"}`, `{instid=~".*[15]|"}`, `{hostname=~".+"}`, `{none=""}`)
	}
	own := fmt.Sprintf("{instid=\"%d\"}", process)
	offset := w.one("", "", "", " offset 20s", " offset 1m")
	span := w.one("20s", "30s", "1m", "90s")
	switch w.r.IntN(9) {
	case 0, 1:
		return w.one("rate", "increase") + "(" + selector(counters) + "[" + span + "]" + offset + ")"
	case 2:
		if w.r.IntN(2) == 0 {
			return w.one("min", "max") + "_over_time(" + selector(counters) + "[" + span + "]" + offset + ")"
		}
		return w.one("avg", "last", "present") + "_over_time(" + selector(gauges) + "[" + span + "]" + offset + ")"
	case 3:
		by := w.one("", " by (hostname)", " by (agent)", " without (instid, instname)")
		return w.one("sum", "avg", "min", "max", "count") + by + "(" + w.one(selector(gauges), "rate("+selector(counters)+"["+span+"])") + ")"
	case 4:
		return "quantile(" + w.one("0.1", "0.5", "0.9") + ", " + selector(gauges) + ")"
	case 5:
		a := w.one("mem_util_free", "mem_util_cached", "mem_util_used")
		return a + w.one(" / ", " * 100 / ", " - ", " + ") + "mem_physmem"
	case 6:
		return w.one("rate(proc_psinfo_utime"+own+"["+span+"]"+offset+")", "proc_psinfo_utime"+own+offset, "proc_psinfo_rss"+own+offset)
	case 7:
		return "rate(network_interface_in_bytes[" + span + "])" + w.one(" + ", " - ") + "rate(network_interface_out_bytes[" + span + "])"
	}
	return selector(append(gauges, counters...)) + offset
}

// TestScraped has Debian's Prometheus scrape a collector that is also recorded, and has it and us evaluate the same random expressions. The two have samples of
// different times, so a value of Prometheus must be within those that ours has some seconds before and after.
func TestScraped(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("SKIPPED: it takes minutes; set PCP_TEST_LONG")
	}
	const every, span = 2 * time.Second, 6 * time.Minute
	l := startLive(t, every)
	ours := serve(t, filepath.Join(l.dir, "pcp", "pmlogger"), 0)
	conf := fmt.Sprintf(`
global: {scrape_interval: 2s}
scrape_configs:
- job_name: pcp
  params: {names: [%q]}
  authorization: {credentials: %q}
  metric_relabel_configs: [{action: labeldrop, regex: job|instance|userid|groupid}]
  static_configs: [{targets: [%q]}]
`, strings.Join(liveMetrics, ","), l.token, strings.TrimPrefix(l.page, "http://"))
	theirs := startPrometheus(t, conf)
	begin := time.Now()
	time.Sleep(span)
	end := time.Now()

	// Prometheus has no values where a scrape took too long.
	scraped := func(at int64) bool {
		up, _ := evaluate(t, theirs, query{expr: "min(min_over_time(up[150s]))", start: at, end: at})
		return len(up["{}"]) == 1 && up["{}"][0].v == 1
	}
	random := &writer{r: rand.New(rand.NewPCG(longtest.Seed(t), 0))}
	margin := 2 * every.Seconds()
	var points, outside, missing, errors, empty, skipped int
	for range 300 {
		expr := random.smooth(l.pid)
		found := 0
		for range 5 {
			at := begin.Add(3*time.Minute + time.Duration(random.r.Int64N(int64(end.Sub(begin)-4*time.Minute)))).Unix()
			if !scraped(at) {
				skipped++
				continue
			}
			want, wantErr := evaluate(t, theirs, query{expr: expr, start: at, end: at})
			got, gotErr := evaluate(t, ours, query{expr: expr, start: at - int64(margin), end: at + int64(margin), step: 1})
			if (wantErr == "") != (gotErr == "") {
				t.Errorf("%s at %d: %q, want %q", expr, at, gotErr, wantErr)
			}
			if wantErr != "" {
				errors++
			}
			for key, list := range want {
				found++
				points++
				if got[key] == nil {
					missing++
					t.Errorf("%s at %d: %s is missing", expr, at, key)
					continue
				}
				least, most := math.Inf(1), math.Inf(-1)
				for _, p := range got[key] {
					least, most = min(least, p.v), max(most, p.v)
				}
				// Samples between ours may be beyond them.
				slack := (most-least)/2 + 1e-6*math.Abs(most)
				if v := list[0].v; v < least-slack || v > most+slack {
					outside++
					t.Logf("%s at %d: %s: Prometheus has %v, we have %v to %v", expr, at, key, v, least, most)
				}
			}
			for key := range got {
				if want[key] == nil && len(got[key]) == 2*int(margin)+1 {
					missing++
					t.Errorf("%s at %d: Prometheus has no %s", expr, at, key)
				}
			}
		}
		if found == 0 {
			empty++
		}
	}
	t.Logf("300 expressions at 5 times: %d errors in both, %d empty; %d points, %d outside of ours, %d missing; %d times without scrapes", errors, empty, points, outside, missing, skipped)
	if outside*100 > points || empty > 60 || points < 1000 {
		t.Errorf("too many differences, or poor expressions")
	}
	names := func(server string) (list []string) {
		r := ask(t, server, "label/__name__/values", url.Values{"match[]": {`{hostname!=""}`}})
		if err := json.Unmarshal(r.Data, &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	known := names(ours)
	for _, name := range names(theirs) {
		if !slices.Contains(known, name) {
			t.Errorf("the collector lacks the metric %s", name)
		}
	}
}
