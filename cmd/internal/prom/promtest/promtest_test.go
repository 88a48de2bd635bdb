package promtest_test

import (
	"context"
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
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// epoch is added to the times of the tests, which begin at 0: records of archives have later times.
const epoch = 1_000_000_000_000

// host is the label that keeps series apart in archives; queries do not see it.
const host = "hostname"

// noHistograms is why most cases are left out.
const noHistograms = "native histograms: PCP has no such values"

// A disk is a storage for the tests: each set of labels is a host with an archive, each series a metric without
// instances.
type disk struct {
	t       testing.TB
	pending map[string]*recording // by labels without the name
	order   []string
	open    *archives.Store
	past    *store.Store
	why     string // a series that archives cannot have, "" for none
}

var _ storage.Storage = (*disk)(nil)

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
	if d.open != nil {
		return d.open.Close()
	}
	return nil
}

func (d *disk) StartTime() (int64, error) { return 0, nil }

func (d *disk) Appender(context.Context) storage.Appender { panic("the tests do not use it") }

func (d *disk) AppenderV2(context.Context) storage.AppenderV2 { return d }

func (d *disk) ChunkQuerier(int64, int64) (storage.ChunkQuerier, error) {
	return nil, errors.ErrUnsupported
}

func (d *disk) Commit() error { return nil }

func (d *disk) Rollback() error { return nil }

// metricName is what the names of metrics in archives and Prometheus have in common.
var metricName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// skip has the test left out.
func (d *disk) skip(why string) {
	d.why = why
	d.t.Skip(why)
}

// Append adds a sample.
func (d *disk) Append(_ storage.SeriesRef, l labels.Labels, start, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, _ storage.AppendV2Options) (storage.SeriesRef, error) {
	name := l.Get(labels.MetricName)
	rest := labels.NewBuilder(l).Del(labels.MetricName).Labels()
	switch {
	case h != nil || fh != nil:
		d.skip(noHistograms)
	case start != 0:
		d.skip("start times: PCP has no such values")
	case !metricName.MatchString(name):
		d.skip(fmt.Sprintf("PCP has no metric with the name %q", name))
	}
	odd := ""
	rest.Range(func(l labels.Label) {
		if !metricName.MatchString(l.Name) {
			odd = l.Name
		}
	})
	if odd != "" {
		d.skip(fmt.Sprintf("PCP has no label with the name %q", odd))
	}
	if math.IsNaN(v) && !value.IsStaleNaN(v) {
		v = math.NaN()
	}
	if d.open != nil { // of an earlier load
		d.open.Close()
		d.open = nil
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
	return 1, nil
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
	return shifted{q}, err
}

// shifted is a querier with the times and labels of the tests.
type shifted struct{ storage.Querier }

func (q shifted) Select(ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if hints != nil {
		h := *hints
		h.Start, h.End = h.Start+epoch, h.End+epoch
		hints = &h
	}
	var list []storage.Series
	set := q.Querier.Select(ctx, true, hints, matchers...)
	for set.Next() {
		var samples []chunks.Sample
		it := set.At().Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			t, v := it.At()
			samples = append(samples, point{t - epoch, v})
		}
		list = append(list, storage.NewListSeries(labels.NewBuilder(set.At().Labels()).Del(host).Labels(), samples))
	}
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

// left has the numbers of cases that are left out, by reason.
type left map[string]int

// TestPrometheus runs the tests of Prometheus. A file is run in parts: each begins where it clears its data.
func TestPrometheus(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/prometheus/prometheus/promql/promqltest").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "*.test"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	ran, without := 0, left{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			for i, part := range parts(string(text)) {
				part, cut := withoutHistograms(part)
				without[noHistograms] += cut
				n := len(evals.FindAllString(part, -1))
				if n == 0 {
					continue
				}
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					var disks []*disk
					defer func() {
						if t.Skipped() {
							without[disks[len(disks)-1].why] += n
						} else {
							ran += n
						}
					}()
					promqltest.RunTestWithStorage(t, part, engine, func(testing.TB) storage.Storage {
						d := &disk{t: t, pending: map[string]*recording{}}
						disks = append(disks, d)
						return d
					})
				})
			}
		})
	}
	t.Logf("%d cases ran", ran)
	for why, n := range without {
		t.Logf("%d cases left out: %s", n, why)
	}
	if ran < minCases {
		t.Errorf("only %d cases ran, want %d", ran, minCases)
	}
}

// minCases is the number of cases of Prometheus v0.316.0 that do not need native histograms, start times or names that PCP
// cannot have.
const minCases = 1238

var (
	evals  = regexp.MustCompile(`(?m)^\s*eval`)
	clears = regexp.MustCompile(`(?m)^\s*clear\s*$`)
)

// parts returns the parts of a file.
func parts(text string) []string { return clears.Split(text, -1) }

var (
	blocks     = regexp.MustCompile(`(?m)^[ \t]*(?:eval|load|clear)`)
	histograms = regexp.MustCompile(`(?m)^[ \t]+([A-Za-z_:][A-Za-z0-9_:]*)[^\n]*\{\{[^\n]*\n?`)
	nameless   = regexp.MustCompile(`(?:^|[\s(,])\{[A-Za-z_]+ *[=!]`) // a selector without a name
)

// withoutHistograms returns a part without series of native histograms, and without the cases that name them or expect
// histograms, and the number of those cases.
func withoutHistograms(part string) (rest string, left int) {
	if strings.Contains(part, "load_with_nhcb") {
		return part, 0
	}
	starts := append(blocks.FindAllStringIndex(part, -1), []int{len(part)})
	if len(starts) == 1 {
		return part, 0
	}
	native := map[string]bool{}
	var b strings.Builder
	for i, at := range starts[:len(starts)-1] {
		block := part[at[0]:starts[i+1][0]]
		if !evals.MatchString(block) {
			for _, m := range histograms.FindAllStringSubmatch(block, -1) {
				native[m[1]] = true
			}
			b.WriteString(histograms.ReplaceAllString(block, ""))
			continue
		}
		named := strings.Contains(block, "{{")
		for name := range native {
			named = named || regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).MatchString(block)
		}
		expr, _, _ := strings.Cut(block, "\n")
		if named || len(native) > 0 && (strings.Contains(expr, "__name__") || nameless.MatchString(expr)) {
			left++
			continue
		}
		b.WriteString(block)
	}
	return b.String(), left
}
