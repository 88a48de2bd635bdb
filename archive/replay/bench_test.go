package replay

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// benchArchive writes an archive of records that all have metrics of insts instances
// each, of which churn change in the next record.
func benchArchive(b *testing.B, metrics, insts, records, churn int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "a")
	w, err := archive.Create(path, archive.WriterConfig{Label: archive.Label{Host: "h", TimeZone: "UTC", PID: 1, Start: at(0)}})
	must(b, err)
	for m := range metrics {
		must(b, w.Desc(pcp.Desc{PMID: pcp.NewPMID(510, 1, m), Type: pcp.TypeU64, InDom: dom, Sem: pcp.SemCounter}, fmt.Sprint("bench.m", m)))
	}
	var res pcp.Result
	for i := range records {
		res.Reset()
		res.Time = at(float64(10 * i))
		if i == 0 || churn > 0 {
			var list []pcp.Instance
			for k := range insts {
				inst := int32(i*churn + k)
				list = append(list, pcp.Instance{Inst: inst, Name: fmt.Sprint("i", inst)})
			}
			must(b, w.InDom(res.Time, dom, list))
		}
		for m := range metrics {
			res.AddSet(pcp.NewPMID(510, 1, m))
			for k := range insts {
				res.Add(pcp.Uint64Value(uint64(1000*i + k)).WithInst(int32(i*churn + k)))
			}
		}
		must(b, w.WriteResult(&res))
	}
	must(b, w.Close())
	return path
}

func benchReplay(b *testing.B, path string, mode Mode, step time.Duration, ids ...pcp.PMID) {
	s, err := Open(path, Options{})
	must(b, err)
	defer s.Close()
	size, err := archive.FileSize(path + ".0")
	must(b, err)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		c := s.NewCursor()
		when := at(0)
		must(b, c.SetMode(mode, &when, step))
		var res pcp.Result
		n := 0
		for c.Fetch(context.Background(), ids, nil, false, &res) == nil {
			n++
		}
		c.Close()
		if n == 0 {
			b.Fatal("no values")
		}
	}
}

// One metric of a hundred, of 50 instances.
func BenchmarkWide(b *testing.B) {
	path := benchArchive(b, 100, 50, 200, 0)
	b.Run("interp", func(b *testing.B) { benchReplay(b, path, Interp, 5*time.Second, pcp.NewPMID(510, 1, 50)) })
	b.Run("forw", func(b *testing.B) { benchReplay(b, path, Forw, 0, pcp.NewPMID(510, 1, 50)) })
}

// A few values in each of many records.
func BenchmarkLong(b *testing.B) {
	path := benchArchive(b, 20, 2, 20_000, 0)
	b.Run("interp", func(b *testing.B) { benchReplay(b, path, Interp, 10*time.Second, pcp.NewPMID(510, 1, 7)) })
	b.Run("coarse", func(b *testing.B) { benchReplay(b, path, Interp, time.Hour, pcp.NewPMID(510, 1, 7)) })
}

// Instances that change in each record.
func BenchmarkChurn(b *testing.B) {
	for _, records := range []int{250, 500, 1000} { // linear if each takes twice as long as the previous one
		path := benchArchive(b, 2, 100, records, 10)
		b.Run(fmt.Sprint(records), func(b *testing.B) { benchReplay(b, path, Interp, 10*time.Second, pcp.NewPMID(510, 1, 1)) })
	}
}

// A directory of archives, to the first value.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		w := writer(b, filepath.Join(dir, fmt.Sprint(i)), "h", float64(1000*i), 3)
		for k := range 10 {
			put(b, w, float64(1000*i+10*k), k)
		}
		must(b, w.Close())
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(dir, Options{})
		must(b, err)
		c := s.NewCursor()
		when := at(100_045)
		must(b, c.SetMode(Interp, &when, time.Second))
		var res pcp.Result
		must(b, c.Fetch(context.Background(), []pcp.PMID{instantID}, nil, false, &res))
		c.Close()
		s.Close()
	}
}

// TestSteadyState checks that replay does not allocate for each fetch.
func TestSteadyState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := writer(t, path, "h", 0, 3)
	for i := range 3000 {
		put(t, w, float64(i), i)
	}
	must(t, w.Close())
	s := open(t, path, Options{})
	for _, mode := range []Mode{Interp, Forw} {
		c := s.NewCursor()
		when := at(0)
		must(t, c.SetMode(mode, &when, 700*time.Millisecond))
		var res pcp.Result
		ids := []pcp.PMID{counterID, instantID}
		fetch := func() { must(t, c.Fetch(context.Background(), ids, nil, false, &res)) }
		for range 10 {
			fetch()
		}
		if n := testing.AllocsPerRun(500, fetch); n > 1 {
			t.Errorf("mode %d: %v allocations for a fetch", mode, n)
		}
		c.Close()
	}
}
