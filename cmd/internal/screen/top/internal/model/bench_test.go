package model

import (
	"context"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/toptest"
)

// manyProcesses is the number of processes in addition to those that have a name.
const manyProcesses = 2000

// sampled returns a function that handles the same answer of a collector again, a second later, and makes a snapshot
// of it: the work of pcp top each second, without the collector.
func sampled(tb testing.TB) func() {
	tb.Helper()
	h := toptest.New(time.Now().Add(-time.Hour))
	h.More = manyProcesses
	c, err := h.Context()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	ctx := context.Background()
	s, err := New(ctx, c, Config{Interval: time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	need := System | CPUs | Processes
	snap, err := s.Next(ctx, need)
	if err != nil {
		tb.Fatal(err)
	}
	r := s.request(need)
	if _, err := s.fetch(ctx, r, r.slow); err != nil {
		tb.Fatal(err)
	}
	return func() {
		s.res.Time = s.res.Time.Add(time.Second)
		for i, m := range r.metrics[:r.slow] {
			s.cols[m].take(&s.res.Sets[i], s.res.Time)
		}
		next, err := s.snapshot(ctx, need)
		if err != nil || len(next.Processes) < manyProcesses {
			tb.Fatalf("%d processes, %v", len(next.Processes), err)
		}
		s.Recycle(snap)
		snap = next
	}
}

// BenchmarkSample is a sample of 2,000 processes.
func BenchmarkSample(b *testing.B) {
	f := sampled(b)
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

// TestSampleAllocs tests that a sample does not allocate for each process.
func TestSampleAllocs(t *testing.T) {
	f := sampled(t)
	for range 5 {
		f()
	}
	if n := testing.AllocsPerRun(20, f); n > 50 {
		t.Errorf("a sample of %d processes allocates %v times", manyProcesses, n)
	}
}

// BenchmarkOrder arranges 2,000 processes as a tree.
func BenchmarkOrder(b *testing.B) {
	s := &Snapshot{}
	for i := range int32(manyProcesses) {
		s.Processes = append(s.Processes, Process{PID: i + 1, Parent: i / 7, CPU: float64(i%97) / 97})
	}
	var o Order
	b.ReportAllocs()
	for b.Loop() {
		o.Rows(s, &Selection{Tree: true})
	}
}
