package runtimemmv

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/mmvtest"
	"github.com/go-pcp/pcp/mmv"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestExport(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	e := Export(reg, Options{Prefix: "go", Interval: time.Hour})
	defer e.Stop()
	number := func(name string) float64 {
		t.Helper()
		text, ok := mmvtest.Values(t, reg)[name]
		n, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			t.Fatalf("%s = %q", name, text)
		}
		return n
	}
	if n := number("go.sched.gomaxprocs.threads"); n != float64(runtime.GOMAXPROCS(0)) {
		t.Errorf("%v threads", n)
	}
	cycles, pauses := number("go.gc.cycles.total.gc_cycles"), number("go.sched.pauses.total.gc.seconds.count")
	wait := make(chan bool)
	const more = 25
	for range more {
		go func() { <-wait }()
	}
	goroutines := number("go.sched.goroutines.goroutines")
	debug.FreeOSMemory()
	if err := e.Refresh(); err != nil {
		t.Error(err)
	}
	if n := number("go.sched.goroutines.goroutines"); n < goroutines+more {
		t.Errorf("%v goroutines after %v and %v more", n, goroutines, more)
	}
	close(wait)
	if n := number("go.gc.cycles.total.gc_cycles"); n <= cycles {
		t.Errorf("%v cycles after %v", n, cycles)
	}
	count := number("go.sched.pauses.total.gc.seconds.count")
	if count <= pauses {
		t.Errorf("%v pauses after %v", count, pauses)
	}
	if n := number("go.sched.pauses.total.gc.seconds.bucket[le=+Inf]"); n != count {
		t.Errorf("%v pauses in buckets of %v", n, count)
	}
	p50, p100 := number("go.sched.pauses.total.gc.seconds.quantile[quantile=p50]"), number("go.sched.pauses.total.gc.seconds.quantile[quantile=p100]")
	if p50 <= 0 || p100 < p50 || p100 > 60 {
		t.Errorf("quantiles of pauses %v and %v", p50, p100)
	}
	text := mmvtest.Describe(t, reg)
	for _, want := range []string{
		"go.gc.heap.allocs.bytes: 3 counter [byte] ",
		"go.gc.heap.allocs.objects: 3 counter [count] ",
		"go.cpu.classes.gc.total.cpu_seconds: 5 counter [sec] ",
		"go.sched.goroutines.goroutines: 3 instant [count] Count of live goroutines",
		"go.gc.gogc.percent: 3 instant [] ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "godebug") {
		t.Error("settings of GODEBUG are metrics")
	}
	if err := e.Err(); err != nil {
		t.Error(err)
	}
}

func TestBucketsRise(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	Export(reg, Options{}).Stop()
	n := 0
	for name := range mmvtest.Values(t, reg) {
		if strings.HasPrefix(name, "sched.latencies.seconds.bucket[") {
			n++
		}
	}
	if n < 10 || n > 60 {
		t.Errorf("%d buckets", n)
	}
}

func BenchmarkRefresh(b *testing.B) {
	reg := mmvtest.New(b, "a", mmv.Options{})
	e := Export(reg, Options{Interval: time.Hour})
	defer e.Stop()
	b.ReportAllocs()
	for b.Loop() {
		e.Refresh()
	}
}
