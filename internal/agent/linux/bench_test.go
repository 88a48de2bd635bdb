package linux

import (
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// typical are the metrics that a system monitor fetches every few seconds.
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

// TestSteadyState checks that a sample allocates nothing once the instances are
// known. Missing sources, and those below, cost a few allocations.
func TestSteadyState(t *testing.T) {
	for name, root := range map[string]string{"machine": "", "fixture": "testdata/vm"} {
		a := New(Config{Root: root})
		var ids []pcp.PMID
		for _, group := range a.bySource() {
			switch s := group.source; s.Name {
			case "statfs: devices", "statfs: tmpfs", // a goroutine
				"netlink", "/sys/class/net/*/address", "addresses", "/sys/class", // netlink and directories
				"/sys/class/net/*/speed", "/sys/class/net/*/duplex", "/sys/class/net/*/wireless", "/sys/class/net/*/virtual", // files that some interfaces lack
				"/sys/devices/system: online", "/sys/devices/system/cpu: thermal_throttle", "/sys/devices/system/cpu: cpufreq",
				"/sys/block: zram", "/var/run/utmp", "/proc/scsi/scsi", "/proc/sys/kernel", "/sys/kernel/uevent_seqnum",
				"/sys/kernel/debug/extfrag/unusable_index", "/proc/net/rpc",
				"/" + uuidDir, "/sys/block: hardware", "/" + hugepagesDir, "/" + nodeDir + ": hugepages", // links and directories
				"/" + nfsClientsDir + ": info", "/" + nfsClientsDir + ": states", "/sys/module/zswap/parameters":
				continue
			}
			if group.source.File != nil {
				if _, err := group.source.File.Read(); err != nil {
					continue
				}
			} else if group.source.Read() != nil {
				continue
			}
			ids = append(ids, group.ids...)
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

// A sourceMetrics is a source and its metrics.
type sourceMetrics struct {
	source *column.Source
	ids    []pcp.PMID
}

// bySource returns all sources.
func (a *Agent) bySource() []sourceMetrics {
	var groups []sourceMetrics
	for _, s := range a.Sources() {
		g := sourceMetrics{source: s}
		a.Metrics(func(_ string, id pcp.PMID) {
			if a.SourceOf(id) == s {
				g.ids = append(g.ids, id)
			}
		})
		groups = append(groups, g)
	}
	return groups
}

// BenchmarkSource reads one source at a time, and the sources that it depends on.
func BenchmarkSource(b *testing.B) {
	a := New(Config{AllAccess: true})
	for _, g := range a.bySource() {
		b.Run(g.source.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := a.Refresh(b.Context(), g.ids); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
