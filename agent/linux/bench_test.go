package linux

import (
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// typical are the metrics that a system monitor asks for every few seconds.
var typical = []string{
	"kernel.all.load", "kernel.all.intr", "kernel.all.pswitch", "kernel.all.sysfork", "kernel.all.running",
	"kernel.all.blocked", "kernel.all.nprocs", "kernel.all.runnable", "kernel.all.uptime",
	"kernel.all.cpu.user", "kernel.all.cpu.nice", "kernel.all.cpu.sys", "kernel.all.cpu.idle", "kernel.all.cpu.intr",
	"kernel.all.cpu.steal", "kernel.all.cpu.guest", "kernel.all.cpu.wait.total", "kernel.all.cpu.irq.soft", "kernel.all.cpu.irq.hard",
	"kernel.percpu.cpu.user", "kernel.percpu.cpu.sys", "kernel.percpu.cpu.idle", "kernel.percpu.cpu.wait.total",
	"mem.physmem", "mem.freemem", "mem.util.used", "mem.util.free", "mem.util.bufmem", "mem.util.cached", "mem.util.available",
	"mem.util.slab", "mem.util.dirty", "swap.length", "swap.used", "swap.free", "swap.pagesin", "swap.pagesout",
	"mem.vmstat.pgpgin", "mem.vmstat.pgpgout", "mem.vmstat.pgfault", "mem.vmstat.pgmajfault",
	"disk.dev.read", "disk.dev.write", "disk.dev.read_bytes", "disk.dev.write_bytes", "disk.all.read", "disk.all.write",
	"network.interface.in.bytes", "network.interface.out.bytes", "network.interface.in.packets",
}

func (a *Agent) idsOf(pick func(name string) bool) []pcp.PMID {
	var ids []pcp.PMID
	a.Metrics(func(name string, id pcp.PMID) {
		if pick(name) {
			ids = append(ids, id)
		}
	})
	return ids
}

func typicalIDs(t testing.TB, a *Agent) []pcp.PMID {
	t.Helper()
	ids := a.idsOf(func(name string) bool {
		for _, n := range typical {
			if n == name {
				return true
			}
		}
		return false
	})
	if len(ids) != len(typical) {
		t.Fatalf("%d of %d metrics found", len(ids), len(typical))
	}
	return ids
}

// sample is one round of a collector.
func sample(t testing.TB, a *Agent, req *pmda.FetchRequest) {
	if err := a.Refresh(t.Context(), req.PMIDs); err != nil {
		t.Fatal(err)
	}
	req.Result.Reset()
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func newRequest(a *Agent, ids []pcp.PMID) *pmda.FetchRequest {
	return &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
}

// TestSteadyState pins that a sample allocates nothing once the instances are
// known. Sources that are not there, and those below, cost a few allocations.
func TestSteadyState(t *testing.T) {
	for name, root := range map[string]string{"machine": "", "fixture": "testdata/vm"} {
		a := New(Config{Root: root})
		var there sources
		for s := range numSources {
			switch s {
			case sourceFilesys, sourceTmpfs, // a goroutine
				sourceNetInet, sourceNetHW, sourceNetAddr, sourceClasses, // netlink and directories
				sourceNetSpeed, sourceNetDuplex, sourceNetWireless, sourceNetVirtual, // files that not all interfaces have
				sourceOnline, sourceThrottle, sourceFreq, sourceZram, sourceUtmp, sourceSCSI, sourceSysKernel, sourceNFS:
				continue
			}
			if sourceSpecs[s].read(a) == nil {
				there |= s.bit()
			}
		}
		var ids []pcp.PMID
		for i := range a.metrics {
			if m := &a.metrics[i]; m.need&^there == 0 {
				ids = append(ids, a.pmid(m))
			}
		}
		if len(ids) < 500 {
			t.Errorf("%s: only %d metrics can be had", name, len(ids))
		}
		for _, ids := range [][]pcp.PMID{typicalIDs(t, a), ids} {
			req := newRequest(a, ids)
			for range 3 {
				sample(t, a, req)
			}
			// The machine may get a device meanwhile, or a longer file.
			n := testing.AllocsPerRun(20, func() { sample(t, a, req) })
			for try := 0; n > 0 && try < 5; try++ {
				n = testing.AllocsPerRun(20, func() { sample(t, a, req) })
			}
			if n > 0 {
				t.Errorf("%s: %v allocations in a sample of %d metrics", name, n, len(ids))
			}
		}
		const limit = 250
		req := newRequest(a, a.idsOf(func(string) bool { return true }))
		sample(t, a, req)
		if n := testing.AllocsPerRun(5, func() { sample(t, a, req) }); n > limit {
			t.Errorf("%s: %v allocations in a sample of all metrics, want at most %d", name, n, limit)
		}
	}
}

func BenchmarkTypical(b *testing.B) {
	a := New(Config{})
	benchmark(b, a, typicalIDs(b, a))
}

func BenchmarkAll(b *testing.B) {
	a := New(Config{})
	benchmark(b, a, a.idsOf(func(string) bool { return true }))
}

func benchmark(b *testing.B, a *Agent, ids []pcp.PMID) {
	req := newRequest(a, ids)
	sample(b, a, req)
	b.ReportAllocs()
	for b.Loop() {
		sample(b, a, req)
	}
	b.ReportMetric(float64(len(ids)), "metrics/op")
}

// BenchmarkCopy is the part of a fetch that each client pays for.
func BenchmarkCopy(b *testing.B) {
	a := New(Config{})
	req := newRequest(a, typicalIDs(b, a))
	sample(b, a, req)
	b.ReportAllocs()
	for b.Loop() {
		req.Result.Reset()
		if err := a.Fetch(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSource reads one source at a time.
func BenchmarkSource(b *testing.B) {
	a := New(Config{})
	a.read(^sources(0))
	for s := range numSources {
		b.Run(sourceName(a, s), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = sourceSpecs[s].read(a) // what this machine has not is fast to find out
			}
		})
	}
}

// sourceName calls a source by the first metric that is made of it.
func sourceName(a *Agent, s source) string {
	for i := range a.metrics {
		if blockSpecs[a.metrics[i].block].from == s.bit() {
			return a.metrics[i].name
		}
	}
	return "none"
}
