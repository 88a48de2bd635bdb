package promtest_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

const (
	dayMetrics = 100
	dayInsts   = 10
	dayStep    = 10 // seconds
)

var dayStart = pcp.Timestamp{Sec: 1_790_035_200}

// writeDay writes an archive of a day of 1,000 series: of ten metrics, four are counters, three gauges, two floating-point numbers and
// one is constant.
func writeDay(t *testing.T, base string, records int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "www", TimeZone: "UTC", Start: dayStart}})
	must(err)
	set, err := pcp.StringLabels(pcp.LabelContext, "hostname", "www")
	must(err)
	must(w.Labels(dayStart, pcp.LabelContext, uint32(pcp.PMIDNull), []pcp.LabelSet{set}))
	indom := pcp.NewInDom(60, 1)
	var insts []pcp.Instance
	for i := range dayInsts {
		insts = append(insts, pcp.Instance{Inst: int32(i), Name: fmt.Sprint("disk", i)})
	}
	must(w.InDom(dayStart, indom, insts))
	type cell struct{ n, rate float64 }
	cells := make([]cell, dayMetrics*dayInsts)
	for m := range dayMetrics {
		desc := pcp.Desc{PMID: pcp.NewPMID(60, m/100, m%100), Type: pcp.TypeU64, InDom: indom, Sem: pcp.SemCounter}
		switch {
		case m%10 == 7:
			desc.Type, desc.Sem = pcp.TypeFloat, pcp.SemInstant
		case m%10 == 8:
			desc.Type, desc.Sem = pcp.TypeDouble, pcp.SemInstant
		case m%10 > 3:
			desc.Sem = pcp.SemInstant
		}
		must(w.Desc(desc, fmt.Sprintf("day.m%02d", m)))
		for i := range dayInsts {
			cells[m*dayInsts+i] = cell{math.Floor(rng.Float64() * 1e6), math.Floor(math.Pow(10, rng.Float64()*3))}
		}
	}
	var res pcp.Result
	for k := range records {
		res.Reset()
		res.Time = dayStart.Add(time.Duration(k)*dayStep*time.Second + time.Duration(100+rng.IntN(400))*time.Microsecond)
		for m := range dayMetrics {
			res.AddSet(pcp.NewPMID(60, m/100, m%100))
			for i := range dayInsts {
				c := &cells[m*dayInsts+i]
				v := pcp.Value{}
				switch m % 10 {
				case 0, 1: // a busy counter
					c.n += math.Floor(c.rate * (0.5 + rng.Float64()))
					v = pcp.Uint64Value(uint64(c.n))
				case 2, 3: // a counter that rarely changes
					if rng.IntN(10) == 0 {
						c.n += float64(rng.IntN(20))
					}
					v = pcp.Uint64Value(uint64(c.n))
				case 4, 5: // a size that changes a little
					c.n = max(0, c.n+math.Floor(rng.NormFloat64()*20))
					v = pcp.Uint64Value(uint64(c.n))
				case 6: // a small number
					v = pcp.Uint64Value(uint64(rng.IntN(5)))
				case 7: // a load average
					c.rate = max(0, c.rate+math.Round(rng.NormFloat64()*10)/100)
					v = pcp.FloatValue(float32(math.Round(c.rate*100) / 100))
				case 8: // a percentage with a decimal
					v = pcp.DoubleValue(math.Round(rng.Float64()*100) / 10)
				default:
					v = pcp.Uint64Value(uint64(c.n))
				}
				res.Add(v.WithInst(int32(i)))
			}
		}
		must(w.WriteResult(&res))
	}
	must(w.Close())
}

// size returns the bytes of files below a directory or of those whose names match a pattern.
func size(t *testing.T, pattern string) (n int64) {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		if err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			n += info.Size()
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// A cost is what a query needs.
type cost struct {
	wall, cpu time.Duration
	allocated uint64
	peak      uint64
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() (objects, allocated uint64) {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

// measure evaluates an expression over a day in 1,000 steps, and returns the least cost of some runs and the result.
func measure(t *testing.T, q storage.Queryable, expr string, records, runs int) (best cost, result string) {
	t.Helper()
	start := time.Unix(dayStart.Sec, 0)
	span := time.Duration(records) * dayStep * time.Second
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1 << 30, Timeout: time.Hour, LookbackDelta: 5 * time.Minute})
	for range runs {
		runtime.GC()
		base, allocs := heap()
		peak := base
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(2 * time.Millisecond):
					now, _ := heap()
					peak = max(peak, now)
				}
			}
		}()
		cpu, began := cpuTime(), time.Now()
		query, err := engine.NewRangeQuery(context.Background(), q, nil, expr, start, start.Add(span), span/1000)
		if err != nil {
			t.Fatal(err)
		}
		res := query.Exec(context.Background())
		c := cost{wall: time.Since(began), cpu: cpuTime() - cpu}
		close(stop)
		<-done
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		_, after := heap()
		c.allocated, c.peak = after-allocs, peak-base
		result = res.String()
		query.Close()
		if best.cpu == 0 || c.cpu < best.cpu {
			best = c
		}
	}
	return best, result
}

// TestDay compares a day of 1,000 series in columns with the same in Prometheus' own storage: the results must be equal, and in the long form
// the costs at most twice those of Prometheus.
func TestDay(t *testing.T) {
	records := longtest.N(1000, 86400/dayStep)
	dir := t.TempDir()
	base := filepath.Join(dir, "day")
	writeDay(t, base, records)
	raw := size(t, base+".[0-9]*")
	ctx := context.Background()
	open := func(use archives.Columns) *store.Store {
		t.Helper()
		s, err := archives.Open(ctx, archives.Config{Dirs: []string{dir}, Interval: -1, Columns: use})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return store.New(s, store.Config{})
	}
	plain := open(archives.NoColumns)

	// The block of Prometheus has the series as they are read from the archive.
	from, to := dayStart.Sec*1000, dayStart.Sec*1000+int64(records)*dayStep*1000
	q, err := plain.Querier(from, to)
	if err != nil {
		t.Fatal(err)
	}
	set := q.Select(ctx, true, &storage.SelectHints{Start: from, End: to}, labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+"))
	var list []storage.Series
	for set.Next() {
		list = append(list, set.At())
	}
	if set.Err() != nil || len(list) != dayMetrics*dayInsts {
		t.Fatalf("%d series, %v", len(list), set.Err())
	}
	began := time.Now()
	blockDir, err := tsdb.CreateBlock(list, t.TempDir(), 2*86400*1000, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	blockTime := time.Since(began)
	list, set = nil, nil
	block, err := tsdb.OpenBlock(nil, blockDir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer block.Close()
	prom := storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) { return tsdb.NewBlockQuerier(block, mint, maxt) })

	began = time.Now()
	if err := columns.Make(ctx, base, ""); err != nil {
		t.Fatal(err)
	}
	made := time.Since(began)
	fast := open(archives.UseColumns)
	values := float64(records * dayMetrics * dayInsts)
	sidecar := float64(size(t, columns.Path(base))) / values
	t.Logf("bytes a value: archive %.2f, columns %.2f (made in %v), Prometheus %.2f (made in %v)",
		float64(raw)/values, sidecar, made.Round(time.Millisecond), float64(size(t, filepath.Join(blockDir, "*")))/values, blockTime.Round(time.Millisecond))
	if sidecar > 1.5 {
		t.Errorf("columns take %.2f bytes a value", sidecar)
	}
	for _, expr := range []string{
		"day_m00", "rate(day_m00[5m])", "day_m07",
		`sum({__name__=~"day_.+"})`, `sum(last_over_time({__name__=~"day_.+"}[5m]))`, `{__name__=~"day_.+"}`,
	} {
		runs := longtest.N(1, 5)
		theirs, want := measure(t, prom, expr, records, runs)
		ours, got := measure(t, fast, expr, records, runs)
		old, direct := measure(t, plain, expr, records, 1)
		if got != want || direct != want {
			t.Errorf("%s: other results than from Prometheus' storage", expr)
		}
		ratio := func(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }
		t.Logf("%-45s time %v, Prometheus %v (%s); processor %v, %v (%s); allocated %.1f MB, %.1f; peak %.1f MB, %.1f; archive: time %v, processor %v, peak %.1f MB", expr,
			ours.wall.Round(10*time.Microsecond), theirs.wall.Round(10*time.Microsecond), ratio(float64(ours.wall), float64(theirs.wall)),
			ours.cpu.Round(10*time.Microsecond), theirs.cpu.Round(10*time.Microsecond), ratio(float64(ours.cpu), float64(theirs.cpu)),
			float64(ours.allocated)/1e6, float64(theirs.allocated)/1e6, float64(ours.peak)/1e6, float64(theirs.peak)/1e6,
			old.wall.Round(time.Millisecond), old.cpu.Round(time.Millisecond), float64(old.peak)/1e6)
		if longtest.Enabled() && ours.cpu > 2*theirs.cpu {
			t.Errorf("%s: more than twice the cost of Prometheus", expr)
		}
	}
	if _, err := os.Stat(columns.Path(base)); err != nil {
		t.Error(err)
	}
}
