package proc

import (
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// BenchmarkMachine fetches a metric of each cluster, and all, from the processes of this
// machine; cmd/bench/run -only processes starts many, and compares.
func BenchmarkMachine(b *testing.B) {
	for _, name := range []string{
		"proc.psinfo.pid", "proc.psinfo.utime", "proc.runq.runnable", "proc.memory.vmrss", "proc.memory.rss", "proc.memory.maps",
		"proc.schedstat.run_delay", "proc.io.rchar", "proc.smaps.rss", "proc.fd.count", "proc.psinfo.cgroups", "proc.psinfo.labels",
		"proc.psinfo.wchan_s", "proc.psinfo.environ", "proc.psinfo.oom_score", "proc.psinfo.exe", "proc.psinfo.cwd", "proc",
	} {
		b.Run(name, func(b *testing.B) {
			a := New(Config{})
			req := &pmda.FetchRequest{Client: root, Result: new(pcp.Result)}
			leaves, err := a.NameSpace().Leaves(name)
			if err != nil {
				b.Fatal(err)
			}
			for _, id := range leaves {
				if a.control(id) == nil {
					req.PMIDs = append(req.PMIDs, id)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				req.Result.Reset()
				if err := a.Refresh(b.Context(), req.PMIDs); err != nil {
					b.Fatal(err)
				}
				if err := a.Fetch(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
			values := 0
			for _, vs := range req.Result.Sets {
				values += len(vs.Values)
			}
			b.ReportMetric(float64(values), "values")
		})
	}
}
