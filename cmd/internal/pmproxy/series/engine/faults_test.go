package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A host records metrics into an archive.
type host struct {
	t    *testing.T
	dir  string
	im   *importer.Importer
	list []*importer.Metric

	mu      sync.Mutex
	written []time.Time
}

func newHost(t *testing.T, metrics int) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir()}
	im, err := importer.Start(filepath.Join(h.dir, "a"), importer.Options{Host: "www", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	h.im = im
	for i := range metrics {
		m, err := im.NewMetric(fmt.Sprint("f.m", i), importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemInstant})
		if err != nil {
			t.Fatal(err)
		}
		h.list = append(h.list, m)
	}
	return h
}

// write writes a record.
func (h *host) write(at time.Time) error {
	at = at.Truncate(time.Millisecond)
	for i, m := range h.list {
		if err := m.PutUint(uint64(i)); err != nil {
			return err
		}
	}
	if err := errors.Join(h.im.Write(at), h.im.Flush()); err != nil {
		return err
	}
	h.mu.Lock()
	h.written = append(h.written, at)
	h.mu.Unlock()
	return nil
}

// TestKilledNode has a recorder that sends to two servers of VictoriaMetrics with two copies of each sample, and queries of the last minutes every
// 100 ms, while one server is killed and started again, in the long form also the other. No query lacks a sample that is older than the lag of the servers.
func TestKilledNode(t *testing.T) {
	one, two := sendtest.Victoria(t), sendtest.Victoria(t)
	if one == nil || two == nil {
		return
	}
	t.Parallel()
	const lag = 8 * time.Second // of the sender and VictoriaMetrics until samples are found
	step := time.Duration(longtest.N(2, 20)) * time.Second
	h := newHost(t, 3)
	rec := send.NewRecorder(send.Config{
		Targets: []*send.Target{{Name: "two", URLs: []string{one.URL(), two.URL()}, Replicas: 2}}, Agent: "test",
		Settle: 3500 * time.Millisecond, Poll: 100 * time.Millisecond, Event: func(text string, err error) { fmt.Fprintln(t.Output(), "recorder:", text, err) },
	})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	if err := h.write(time.Now()); err != nil {
		t.Fatal(err)
	}
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
			if err := h.write(time.Now()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	rec.Set([]send.Dir{{Path: h.dir, Name: "www"}})
	c, err := Dial(Config{URLs: []string{one.URL(), two.URL()}, probation: 2 * lag})
	if err != nil {
		t.Fatal(err)
	}
	s := New(c)
	defer s.Close()
	queries, most := 0, 0
	var slowest time.Duration
	ask := func() {
		start := time.Now()
		ids, err := s.Select(t.Context(), series.Matcher{Field: series.MetricName, Value: "f.m1"})
		if err != nil {
			t.Errorf("Select: %v", err)
			return
		}
		got := map[int64]bool{}
		for sample, err := range s.Values(t.Context(), ids, series.Window{Start: pcp.TimestampOf(start.Add(-5 * time.Minute))}) {
			if err != nil {
				t.Errorf("Values: %v", err)
				return
			}
			got[millis(sample.Time)] = true
		}
		slowest = max(slowest, time.Since(start))
		h.mu.Lock()
		defer h.mu.Unlock()
		missing := 0
		for _, at := range h.written {
			if start.Sub(at) > lag && !got[at.UnixMilli()] {
				missing++
			}
		}
		if missing > 0 {
			t.Errorf("%v: %d samples are missing, of %d", start.Format("05.000"), missing, len(h.written))
		}
		queries++
		most = max(most, len(got))
	}
	during := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); time.Sleep(100 * time.Millisecond) {
			ask()
		}
	}
	time.Sleep(lag + 4*time.Second) // the sender asks first what the servers have
	during(step)
	one.Kill()
	during(step)
	one.Start()
	during(step)
	if longtest.Enabled() {
		during(2*lag + 3*time.Second) // until it is asked again
		two.Kill()
		during(step)
		two.Start()
		during(step)
	}
	close(stop)
	wg.Wait()
	rec.Drain(10 * time.Second)
	t.Logf("%d queries, of up to %d samples, the slowest %v; no sample missing", queries, most, slowest.Round(time.Millisecond))
}

// TestAway has an engine that is away while an hour is recorded: nothing is lost, and the time to catch up is logged.
func TestAway(t *testing.T) {
	t.Run("Prometheus", func(t *testing.T) { away(t, sendtest.Prometheus(t)) })
	t.Run("VictoriaMetrics", func(t *testing.T) {
		if s := sendtest.Victoria(t); s != nil {
			away(t, s)
		}
	})
}

func away(t *testing.T, server *sendtest.Server) {
	t.Parallel()
	metrics := longtest.N(300, 2000)
	h := newHost(t, metrics)
	target, err := send.NewTarget(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	rec := send.NewRecorder(send.Config{
		Targets: []*send.Target{target}, Agent: "test", Settle: 3500 * time.Millisecond, Poll: 50 * time.Millisecond,
		Event: func(text string, err error) { fmt.Fprintln(t.Output(), "recorder:", text, err) },
	})
	at := time.Now().Add(-62 * time.Minute)
	write := func(n int) {
		t.Helper()
		for range n {
			if err := h.write(at); err != nil {
				t.Fatal(err)
			}
			at = at.Add(10 * time.Second)
		}
	}
	write(3)
	rec.Set([]send.Dir{{Path: h.dir, Name: "www"}})
	await.Until(t, "the first samples are sent", func() bool { return rec.Status()[0].Sent >= uint64(3*metrics) })
	server.Kill()
	write(360)
	await.Until(t, "the recorder notices", func() bool { return rec.Status()[0].Err != "" })
	server.Start()
	start := time.Now()
	all := uint64(363 * metrics)
	await.Until(t, "everything is sent", func() bool { return rec.Status()[0].Sent >= all })
	took := time.Since(start)
	if err := h.im.End(); err != nil {
		t.Fatal(err)
	}
	rec.Drain(10 * time.Second)
	s := dial(t, server.URL())
	n := 0
	await.Until(t, "the engine shows all samples", func() bool {
		n = 0
		for i := range metrics {
			k, err := s.count(t.Context(), fmt.Sprint("f_m", i), at.Add(-2*time.Hour).UnixMilli(), at.UnixMilli())
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
		return n >= int(all)
	})
	if st := rec.Status()[0]; n != int(all) || st.Rejected > 0 || st.Lost > 0 {
		t.Errorf("%d samples, want %d: %+v", n, all, st)
	}
	info, err := os.Stat(filepath.Join(h.dir, "a.0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: an hour of %d metrics, %d samples, %.1f MB of archive, sent in %v after its start: 0 lost", strings.TrimPrefix(t.Name(), "TestAway/"), metrics, all, float64(info.Size())/1e6, took.Round(10*time.Millisecond))
}
