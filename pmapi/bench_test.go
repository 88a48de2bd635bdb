package pmapi

import (
	"context"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// BenchmarkFetch is the round trip of a fetch to a collector in this process,
// by TCP; the collector's side is in the figures.
func BenchmarkFetch(b *testing.B) {
	fake := newCollector()
	addr := fake.listen(b)
	for name, ids := range map[string][]pcp.PMID{"1": {idCount}, "50": repeat(idLoad, 50)} {
		b.Run(name, func(b *testing.B) {
			c, err := Dial(b.Context(), addr)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			var res pcp.Result
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.FetchInto(context.Background(), ids, &res); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func repeat(id pcp.PMID, n int) []pcp.PMID {
	ids := make([]pcp.PMID, n)
	for i := range ids {
		ids[i] = id
	}
	return ids
}

// BenchmarkRealFetch is the same from the real collector, of one metric of an
// agent inside it.
func BenchmarkRealFetch(b *testing.B) {
	d := oracle.StartPMCD(b, oracle.Config{Agents: []string{"pmcd"}})
	c, err := Dial(b.Context(), d.TCP)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(b.Context(), "pmcd.pid")
	if err != nil {
		b.Fatal(err)
	}
	var res pcp.Result
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.FetchInto(context.Background(), ids, &res); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDescs looks up all names and descriptors that pmcd, linux and sample
// have, over a new connection, as pminfo -d does; BenchmarkRealPminfo is that tool,
// which also is a process to start and prints.
func BenchmarkDescs(b *testing.B) {
	d := oracle.StartPMCD(b, oracle.Config{Agents: []string{"pmcd", "linux", "sample"}})
	metrics := 0
	b.ReportAllocs()
	for b.Loop() {
		c, err := Dial(b.Context(), d.Unix)
		if err != nil {
			b.Fatal(err)
		}
		var names []string
		for name, err := range c.Traverse(b.Context(), "") {
			if err != nil {
				b.Fatal(err)
			}
			names = append(names, name)
		}
		ids, err := c.LookupName(b.Context(), names...)
		if err != nil {
			b.Fatal(err)
		}
		c.LookupDescs(b.Context(), ids...) // sample has some that are bad by intent
		metrics = len(ids)
		c.Close()
	}
	b.ReportMetric(float64(metrics), "metrics/op")
}

func BenchmarkRealPminfo(b *testing.B) {
	d := oracle.StartPMCD(b, oracle.Config{Agents: []string{"pmcd", "linux", "sample"}})
	for b.Loop() {
		d.Run(b, "pminfo", "-h", d.Unix, "-d")
	}
}
