package promtest_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// epoch is added to the times of the tests, which begin at 0: records of archives have later times.
const epoch = 1_000_000_000_000

// host is the label that keeps series apart in archives; queries do not see it.
const host = "hostname"

// Reasons why cases are left out.
const (
	noHistograms = "native histograms: PCP has no such values"
	noStarts     = "start times: PCP has no such values"
)

// A disk is a storage for the tests: each set of labels is a host with an archive, each series a metric without
// instances.
type disk struct {
	t       testing.TB
	pending map[string]*recording // by labels without the name
	order   []string
	open    *archives.Store
	past    *store.Store
	odd     bool                     // there are names that PCP cannot have
	full    *teststorage.TestStorage // the same series in Prometheus' own storage, with the samples that archives cannot have
	engine  promql.QueryEngine       // through HTTP
}

var _ storage.Storage = (*disk)(nil)

func newDisk(t testing.TB) *disk {
	return &disk{t: t, pending: map[string]*recording{}, full: promqltest.NewBuiltinTestStorage(t)}
}

// A recording is the archive of a host.
type recording struct {
	labels  labels.Labels
	metrics []string
	samples []sample
}

type sample struct {
	t      int64
	metric int
	v      float64
}

func (d *disk) Close() error {
	d.close()
	return d.full.Close()
}

// close closes the archives.
func (d *disk) close() {
	if d.open != nil {
		d.open.Close()
	}
	d.open, d.engine = nil, nil
}

func (d *disk) StartTime() (int64, error) { return 0, nil }

func (d *disk) Appender(context.Context) storage.Appender { panic("the tests do not use it") }

func (d *disk) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return &appender{d, d.full.AppenderV2(ctx)}
}

func (d *disk) ChunkQuerier(int64, int64) (storage.ChunkQuerier, error) {
	return nil, errors.ErrUnsupported
}

// metricName is what the names of metrics in archives and Prometheus have in common.
var metricName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// oddName begins the names of metrics and labels in archives for names that PCP cannot have.
const oddName = "odd_x"

// recorded returns the name in archives.
func recorded(name string) string {
	if metricName.MatchString(name) {
		return name
	}
	return oddName + hex.EncodeToString([]byte(name))
}

// original returns the name in the tests.
func original(name string) string {
	if digits, ok := strings.CutPrefix(name, oddName); ok {
		if b, err := hex.DecodeString(digits); err == nil {
			return string(b)
		}
	}
	return name
}

// An appender adds samples to a disk and to the storage of Prometheus.
type appender struct {
	d *disk
	storage.AppenderV2
}

// Append adds a sample.
func (a *appender) Append(ref storage.SeriesRef, l labels.Labels, start, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AppendV2Options) (storage.SeriesRef, error) {
	if h == nil && fh == nil && start == 0 {
		a.d.add(l, t, v)
	}
	return a.AppenderV2.Append(ref, l, start, t, v, h, fh, opts)
}

func (d *disk) add(l labels.Labels, t int64, v float64) {
	d.close() // archives of an earlier load
	name := recorded(l.Get(labels.MetricName))
	b := labels.NewScratchBuilder(l.Len())
	l.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			b.Add(recorded(l.Name), l.Value)
			d.odd = d.odd || recorded(l.Name) != l.Name
		}
	})
	b.Sort()
	rest := b.Labels()
	d.odd = d.odd || name != l.Get(labels.MetricName)
	if math.IsNaN(v) && !value.IsStaleNaN(v) {
		v = math.NaN()
	}
	key := rest.String()
	r := d.pending[key]
	if r == nil {
		r = &recording{labels: rest}
		d.pending[key], d.order = r, append(d.order, key)
	}
	m := slices.Index(r.metrics, name)
	if m < 0 {
		m, r.metrics = len(r.metrics), append(r.metrics, name)
	}
	r.samples = append(r.samples, sample{t + epoch, m, v})
}

// write writes the archives.
func (d *disk) write() error {
	dir := d.t.TempDir()
	for i, key := range d.order {
		if err := d.pending[key].write(filepath.Join(dir, fmt.Sprint(i)), i); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	var err error
	if d.open, err = archives.Open(context.Background(), archives.Config{Dirs: []string{dir}, Interval: -1}); err != nil {
		return err
	}
	d.past = store.New(d.open, store.Config{})
	return nil
}

// Metadata implements [api.Store].
func (d *disk) Metadata(ctx context.Context, name string) (map[string][]store.Metadata, error) {
	return d.past.Metadata(ctx, name)
}

func stamp(ms int64) pcp.Timestamp { return pcp.Timestamp{Sec: ms / 1000, Nsec: int32(ms%1000) * 1e6} }

// write writes an archive.
func (r *recording) write(base string, i int) error {
	samples := slices.Clone(r.samples)
	slices.SortStableFunc(samples, func(a, b sample) int { return int(max(-1, min(1, a.t-b.t))) })
	at := stamp(samples[0].t)
	name := fmt.Sprint("h", i)
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: name, TimeZone: "UTC", Start: at}})
	if err != nil {
		return err
	}
	// Label values are JSON; an empty value is not a label.
	text := []string{host, name}
	r.labels.Range(func(l labels.Label) { text = append(text, l.Name, l.Value) })
	set, err := pcp.StringLabels(pcp.LabelContext, text...)
	if err != nil {
		return err
	}
	if err := w.Labels(at, pcp.LabelContext, uint32(pcp.PMIDNull), []pcp.LabelSet{set}); err != nil {
		return err
	}
	id := func(i int) pcp.PMID { return pcp.NewPMID(245, i/1000, i%1000) }
	for i, name := range r.metrics {
		if err := w.Desc(pcp.Desc{PMID: id(i), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, name); err != nil {
			return err
		}
	}
	var res pcp.Result
	for len(samples) > 0 {
		res.Reset()
		res.Time = stamp(samples[0].t)
		seen := map[int]bool{}
		for len(samples) > 0 && stamp(samples[0].t) == res.Time && !seen[samples[0].metric] {
			s := samples[0]
			samples = samples[1:]
			seen[s.metric] = true
			if value.IsStaleNaN(s.v) {
				res.AddError(id(s.metric), pcp.ErrAgain)
				continue
			}
			res.AddSet(id(s.metric))
			res.Add(pcp.DoubleValue(s.v).WithInst(pcp.InNull))
		}
		if err := w.WriteResult(&res); err != nil {
			return err
		}
	}
	return w.Close()
}

// Querier implements [storage.Queryable].
func (d *disk) Querier(mint, maxt int64) (storage.Querier, error) {
	if d.open == nil {
		if err := d.write(); err != nil {
			return nil, err
		}
	}
	q, err := d.past.Querier(mint+epoch, maxt+epoch)
	return shifted{q, d.odd}, err
}

// shifted is a querier with the times and labels of the tests.
type shifted struct {
	storage.Querier
	odd bool // there are other names in the archives
}

// LabelNames implements [storage.LabelQuerier].
func (q shifted) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	list, notes, err := q.Querier.LabelNames(ctx, hints, matchers...)
	return slices.DeleteFunc(list, func(name string) bool { return name == host }), notes, err
}

func (q shifted) Select(ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if hints != nil {
		h := *hints
		h.Start, h.End = h.Start+epoch, h.End+epoch
		hints = &h
	}
	later := matchers[:0:0] // of names that differ
	if q.odd {
		var now []*labels.Matcher
		for _, m := range matchers {
			if m.Name == labels.MetricName || !metricName.MatchString(m.Name) {
				later = append(later, m)
			} else {
				now = append(now, m)
			}
		}
		matchers = now
	}
	var list []storage.Series
	set := q.Querier.Select(ctx, true, hints, matchers...)
	for set.Next() {
		b := labels.NewScratchBuilder(4)
		set.At().Labels().Range(func(l labels.Label) {
			switch l.Name {
			case host:
			case labels.MetricName:
				b.Add(l.Name, original(l.Value))
			default:
				b.Add(original(l.Name), l.Value)
			}
		})
		b.Sort()
		lset := b.Labels()
		if slices.ContainsFunc(later, func(m *labels.Matcher) bool { return !m.Matches(lset.Get(m.Name)) }) {
			continue
		}
		var samples []chunks.Sample
		it := set.At().Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			t, v := it.At()
			samples = append(samples, point{t - epoch, v})
		}
		list = append(list, storage.NewListSeries(lset, samples))
	}
	slices.SortFunc(list, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &all{list: list, err: set.Err(), warnings: set.Warnings()}
}

type all struct {
	list     []storage.Series
	n        int
	err      error
	warnings annotations.Annotations
}

func (s *all) Next() bool                        { s.n++; return s.n <= len(s.list) }
func (s *all) At() storage.Series                { return s.list[s.n-1] }
func (s *all) Err() error                        { return s.err }
func (s *all) Warnings() annotations.Annotations { return s.warnings }

type point struct {
	t int64
	v float64
}

func (p point) T() int64                      { return p.t }
func (p point) ST() int64                     { return 0 }
func (p point) F() float64                    { return p.v }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }

// TestPrometheus runs the tests of Prometheus. Each query is evaluated over archives, by the engine itself and through HTTP, which must
// give the same. A file is run in parts: each begins where it clears its data.
func TestPrometheus(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/prometheus/prometheus/promql/promqltest").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "*.test"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	exprs, err := promqltest.GetBuiltInExprs()
	if err != nil {
		t.Fatal(err)
	}
	c := &cases{
		QueryEngine: promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery),
		exprs:       exprs, current: -1, left: make([]string, len(exprs)),
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			for i, part := range clears.Split(string(text), -1) {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					promqltest.RunTestWithStorage(t, part, c, func(testing.TB) storage.Storage { return newDisk(t) })
				})
			}
		})
	}
	if c.current != len(exprs)-1 {
		t.Fatalf("the tests have %d cases, and %d of them were found", len(exprs), c.current+1)
	}
	ran, without := 0, map[string]int{}
	for _, why := range c.left {
		if why == "" {
			ran++
		} else {
			without[why]++
		}
	}
	t.Logf("%d of %d cases ran, with %d queries through HTTP", ran, len(exprs), c.asked)
	for why, n := range without {
		t.Logf("%d cases left out: %s", n, why)
	}
	if ran < minCases {
		t.Errorf("only %d cases ran, want %d", ran, minCases)
	}
}

// minCases is the number of cases of Prometheus v0.316.0 whose queries read no native histograms and no start times.
const minCases = 1444

var clears = regexp.MustCompile(`(?m)^\s*clear\s*$`)
