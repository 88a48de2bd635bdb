package archives_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

var (
	loadDesc  = pcp.Desc{PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeFloat, InDom: pcp.NewInDom(60, 2), Sem: pcp.SemInstant}
	ncpuDesc  = pcp.Desc{PMID: pcp.NewPMID(60, 0, 32), Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}
	stateDesc = pcp.Desc{PMID: pcp.NewPMID(60, 9, 9), Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
)

// A recorder writes an archive of a host: a sample each 10 seconds, of the load each, of the
// number of CPUs each 60, of a text each second one.
type recorder struct {
	t testing.TB
	w *archive.Writer
	n int64
	s int64
}

func record(t testing.TB, base, host string, start int64) *recorder {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := archive.Create(base, archive.WriterConfig{
		Label:      archive.Label{Version: archive.Version3, PID: 1, Host: host, TimeZone: "UTC", Start: pcp.Timestamp{Sec: start}},
		IndexBytes: 2000,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, w: w, s: start}
	at := pcp.Timestamp{Sec: start}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.Desc(loadDesc, "kernel.all.load"))
	must(w.Desc(ncpuDesc, "hinv.ncpu", "hinv.cpus"))
	must(w.Desc(stateDesc, "app.state"))
	labels := func(level pcp.LabelFlags, ident uint32, json string) {
		set, err := pcp.ParseLabels(json, level)
		must(err)
		must(w.Labels(at, level, ident, []pcp.LabelSet{set}))
	}
	labels(pcp.LabelContext, uint32(pcp.PMIDNull), `{"hostname":"`+host+`","machineid":"m-`+host+`"}`)
	labels(pcp.LabelDomain, 60, `{"agent":"linux"}`)
	labels(pcp.LabelItem, uint32(ncpuDesc.PMID), `{"device_type":"cpu"}`)
	must(w.InDom(at, loadDesc.InDom, []pcp.Instance{{Inst: 1, Name: "1 minute"}, {Inst: 5, Name: "5 minute"}}))
	return r
}

// add writes records, to a time n samples later.
func (r *recorder) add(n int) *recorder {
	r.t.Helper()
	var res pcp.Result
	for range n {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: r.s + 10*r.n, Nsec: 123456789}
		res.AddSet(loadDesc.PMID)
		res.Add(pcp.FloatValue(float32(r.n)).WithInst(1))
		res.Add(pcp.FloatValue(float32(r.n) / 2).WithInst(5))
		if r.n%6 == 0 {
			res.AddSet(ncpuDesc.PMID)
			v := pcp.Uint32Value(uint32(r.n))
			v.Inst = pcp.InNull
			res.Add(v)
		}
		if r.n%2 == 0 {
			res.AddSet(stateDesc.PMID)
			v := pcp.StringValue(fmt.Sprint("state ", r.n))
			v.Inst = pcp.InNull
			res.Add(v)
		}
		if err := r.w.WriteResult(&res); err != nil {
			r.t.Fatal(err)
		}
		r.n++
	}
	if err := r.w.Flush(); err != nil {
		r.t.Fatal(err)
	}
	return r
}

func (r *recorder) close() {
	r.t.Helper()
	if err := r.w.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// open opens a store that scans its directories only on request.
func open(t testing.TB, cfg archives.Config) *archives.Store {
	t.Helper()
	cfg.Interval = -1
	s, err := archives.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func gc(t testing.TB, s *archives.Store) {
	t.Helper()
	if err := s.GC(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func sel(t testing.TB, s series.Store, m series.Matcher) []sid.ID {
	t.Helper()
	list, err := s.Select(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func named(t testing.TB, s series.Store, name string) sid.ID {
	t.Helper()
	list := sel(t, s, series.Matcher{Field: series.MetricName, Value: name})
	if len(list) != 1 {
		t.Fatalf("%s: series %v, want one", name, list)
	}
	return list[0]
}

// values returns the samples of a series as text, one for each.
func values(t testing.TB, s series.Store, id sid.ID, w series.Window) []string {
	t.Helper()
	m, err := s.Metric(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for sample, err := range s.Values(context.Background(), []sid.ID{id}, w) {
		if err != nil {
			t.Fatal(err)
		}
		b := fmt.Append(nil, sample.Time.Sec)
		for _, v := range sample.Values {
			b = append(b, ' ')
			if !v.Instance.IsZero() {
				b = append(append(b, v.Instance.String()[:4]...), '=')
			}
			b = series.AppendValue(b, v.Value, m.Desc.Type)
		}
		list = append(list, string(b))
	}
	return list
}

func TestFind(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	record(t, filepath.Join(dir, "a", "20260101"), "a.example.com", 1000).add(10).close()
	record(t, filepath.Join(dir, "a", "20260102"), "a.example.com", 2000).add(10).close()
	record(t, filepath.Join(dir, "b", "20260101"), "b.example.com", 1000).add(10).close()
	s := open(t, archives.Config{Dirs: []string{dir}})

	if got, want := s.Stats(), (series.Stats{Archives: 3, Sources: 2, Series: 8}); got != want {
		t.Errorf("Stats = %+v, want %+v", got, want)
	}
	f := func(want int, m series.Matcher) []sid.ID {
		t.Helper()
		list := sel(t, s, m)
		if len(list) != want {
			t.Errorf("%+v: %d series, want %d", m, len(list), want)
		}
		return list
	}
	f(2, series.Matcher{Field: series.MetricName, Value: "kernel.all.load"})
	f(0, series.Matcher{Field: series.MetricName, Value: "kernel.all"})
	f(4, series.Matcher{Field: series.MetricName, Match: func(v string) bool { return strings.HasPrefix(v, "hinv.") }})
	f(2, series.Matcher{Field: series.InstanceName, Value: "1 minute"})
	f(4, series.Matcher{Field: series.ContextName, Value: "a.example.com"})
	f(4, series.Matcher{Field: series.ContextName, Value: filepath.Join(dir, "b", "20260101")})
	f(8, series.Matcher{Field: series.LabelName, Value: "agent"})
	f(4, series.Matcher{Field: series.LabelValue, Label: "machineid", Value: `"m-b.example.com"`})
	f(4, series.Matcher{Field: series.LabelValue, Label: "device_type", Value: `"cpu"`})
	f(0, series.Matcher{Field: series.LabelValue, Label: "device_type", Value: `cpu`})
	f(0, series.Matcher{Field: series.MetricName, Value: "a\x00b"})
	if _, err := s.Select(ctx, series.Matcher{Field: 99}); err == nil {
		t.Error("a field that there is not: no error")
	}

	strs := func(field series.Field, label string, want ...string) {
		t.Helper()
		got, err := s.Strings(ctx, field, label)
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("Strings(%v, %s) = %q, %v, want %q", field, label, got, err, want)
		}
	}
	strs(series.MetricName, "", "app.state", "hinv.cpus", "hinv.ncpu", "kernel.all.load")
	strs(series.InstanceName, "", "1 minute", "5 minute")
	strs(series.LabelName, "", "agent", "device_type", "hostname", "machineid")
	strs(series.LabelValue, "hostname", `"a.example.com"`, `"b.example.com"`)
	strs(series.ContextName, "", filepath.Join(dir, "a", "20260101"), filepath.Join(dir, "a", "20260102"),
		filepath.Join(dir, "b", "20260101"), "a.example.com", "b.example.com")

	id := f(4, series.Matcher{Field: series.ContextName, Value: "b.example.com"})[0]
	m, err := s.Metric(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := s.ContextNames(ctx, m.Source); err != nil || len(names) != 2 || names[1] != "b.example.com" {
		t.Errorf("ContextNames = %q, %v", names, err)
	}
	if all, err := s.Sources(ctx); err != nil || len(all) != 2 {
		t.Errorf("Sources = %v, %v", all, err)
	}
	load := sel(t, s, series.Matcher{Field: series.MetricName, Value: "kernel.all.load"})[0]
	insts, err := s.Instances(ctx, load)
	if err != nil || len(insts) != 2 || insts[0].Inst != 1 || insts[1].Name != "5 minute" {
		t.Fatalf("Instances = %v, %v", insts, err)
	}
	if in, err := s.Instance(ctx, insts[1].ID); err != nil || in != insts[1] {
		t.Errorf("Instance = %v, %v, want %v", in, err, insts[1])
	}
	for _, id := range []sid.ID{load, insts[0].ID} {
		if labels, err := s.Labels(ctx, id); err != nil || len(labels) != 3 || labels[0].Name != "agent" {
			t.Errorf("Labels = %v, %v", labels, err)
		}
	}
	none := sid.String("none")
	for _, err := range []error{
		second(s.Metric(ctx, none)), second(s.Instances(ctx, none)), second(s.Instance(ctx, none)), second(s.Labels(ctx, none)),
		second(s.ContextNames(ctx, none)), second(s.Expr(ctx, none)),
	} {
		if !errors.Is(err, series.ErrUnknown) {
			t.Errorf("unknown identifier: %v", err)
		}
	}
	for range s.Values(ctx, []sid.ID{none}, series.Window{}) {
		t.Error("values of an unknown series")
	}
}

func second[T any](_ T, err error) error { return err }

// TestWindows compares windows with a selection from all samples, over several archives.
func TestWindows(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 { // with gaps between them
		record(t, filepath.Join(dir, fmt.Sprint("2026010", i+1)), "a", 100_000+int64(i)*10_000).add(600 + 50*i).close()
	}
	s := open(t, archives.Config{Dirs: []string{dir}})
	for _, name := range []string{"kernel.all.load", "hinv.ncpu", "app.state"} {
		id := named(t, s, name)
		all := values(t, s, id, series.Window{})
		want := map[string]int{"kernel.all.load": 600 + 650 + 700 + 750 + 800, "hinv.ncpu": 100 + 109 + 117 + 125 + 134, "app.state": 1750}[name]
		if len(all) != want {
			t.Fatalf("%s: %d samples, want %d", name, len(all), want)
		}
		sec := func(i int) int64 {
			var n int64
			fmt.Sscan(all[i], &n)
			return n
		}
		for _, n := range []int{0, 1, 3, 1000, 10000} {
			got := values(t, s, id, series.Window{Newest: true, Count: n})
			if len(got) != min(n, len(all)) {
				t.Fatalf("%s: newest %d: %d samples", name, n, len(got))
			}
			for i := range got {
				if got[i] != all[len(all)-1-i] {
					t.Fatalf("%s: newest %d: sample %d is %s, want %s", name, n, i, got[i], all[len(all)-1-i])
				}
			}
		}
		for _, start := range []int64{0, 100_000, 104_321, 120_001, 144_000} {
			for _, length := range []int64{0, 1, 9_000, 20_000} {
				for _, interval := range []int64{0, 10, 61, 900, 7000, 30_000} {
					for _, count := range []int{0, 7} {
						w := series.Window{Start: pcp.Timestamp{Sec: start}, Count: count, Interval: time.Duration(interval) * time.Second}
						if length > 0 {
							w.End = pcp.Timestamp{Sec: start + length}
						}
						var want []string
						thin := series.NewThinner(w)
						before := -1
						for i := range all {
							at := pcp.Timestamp{Sec: sec(i), Nsec: 123456789}
							if at.Compare(w.Start) < 0 || length > 0 && at.Compare(w.End) > 0 {
								continue
							}
							if thin.Next(at) {
								want = append(want, all[before])
							}
							before = i
						}
						if thin.Last() {
							want = append(want, all[before])
						}
						if got := values(t, s, id, w); strings.Join(got, "\n") != strings.Join(want, "\n") {
							t.Fatalf("%s: %+v: %d samples, want %d:\n%.300s\nwant\n%.300s", name, w, len(got), len(want), got, want)
						}
					}
				}
			}
		}
	}
}

// TestGrow reads records written since the last scan, and finds new archives.
func TestGrow(t *testing.T) {
	dir := t.TempDir()
	r := record(t, filepath.Join(dir, "one"), "a", 1000).add(5)
	s := open(t, archives.Config{Dirs: []string{dir}})
	id := named(t, s, "kernel.all.load")
	check := func(n int) {
		t.Helper()
		if got := values(t, s, id, series.Window{}); len(got) != n {
			t.Fatalf("%d samples, want %d", len(got), n)
		}
		if got := values(t, s, id, series.Window{Newest: true, Count: 1}); len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprint(1000+10*(n-1), " ")) {
			t.Fatalf("newest of %d: %q", n, got)
		}
		if got := values(t, s, id, series.Window{Start: pcp.Timestamp{Sec: 1000 + 10*int64(n) - 20}}); len(got) != 2 {
			t.Fatalf("last two of %d: %q", n, got)
		}
	}
	check(5)
	r.add(5)
	check(10) // without a scan
	r.add(500)
	check(510)
	gc(t, s)
	check(510)
	if err := r.w.InDom(pcp.Timestamp{Sec: 8000}, loadDesc.InDom, []pcp.Instance{{Inst: 1, Name: "one"}, {Inst: 5, Name: "5 minute"}}); err != nil {
		t.Fatal(err)
	}
	r.n = 800
	r.add(1)
	before, err := s.Instances(context.Background(), id)
	if err != nil || len(before) != 2 {
		t.Fatal(before, err)
	}
	gc(t, s)
	after, err := s.Instances(context.Background(), id)
	if err != nil || len(after) != 3 {
		t.Fatalf("instances %v, %v, want three", after, err)
	}
	// The number 1 has two names; each value belongs to the current one.
	one := after[0]
	if one.Name == "one" {
		one = after[1]
	}
	for sample, err := range s.Values(context.Background(), []sid.ID{id}, series.Window{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := sample.Values[0].Instance == one.ID; got != (sample.Time.Sec < 8000) {
			t.Fatalf("at %v the instance is %v", sample.Time, sample.Values[0].Instance)
		}
	}
	r.close()

	record(t, filepath.Join(dir, "two"), "a", 10_000).add(7).close()
	gc(t, s)
	if got := values(t, s, id, series.Window{Start: pcp.Timestamp{Sec: 10_000}}); len(got) != 7 {
		t.Fatalf("%d samples of the second archive", len(got))
	}
}

// TestVanish deletes archives while they are open and while they are read.
func TestVanish(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "one"), "a", 1000).add(300).close()
	record(t, filepath.Join(dir, "two"), "a", 10_000).add(300).close()
	record(t, filepath.Join(dir, "other"), "b", 10_000).add(3).close()
	s := open(t, archives.Config{Dirs: []string{dir}})
	list := sel(t, s, series.Matcher{Field: series.ContextName, Value: "a"})
	if len(list) != 4 {
		t.Fatal(list)
	}
	remove := func(base string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, base+".*"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := 0
	for _, err := range s.Values(context.Background(), list, series.Window{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 10 {
			remove("two")
			gc(t, s)
		}
	}
	if n < 300 {
		t.Errorf("%d samples", n)
	}
	if got := len(sel(t, s, series.Matcher{Field: series.ContextName, Value: "a"})); got != 4 {
		t.Errorf("%d series, want those of the archive that is left", got)
	}
	remove("one")
	for range s.Values(context.Background(), list[:1], series.Window{Start: pcp.Timestamp{Sec: 20_000}}) {
		t.Error("a value of an archive that is gone")
	}
	gc(t, s)
	if got, want := s.Stats(), (series.Stats{Archives: 1, Sources: 1, Series: 4}); got != want {
		t.Errorf("Stats = %+v, want %+v", got, want)
	}
	for _, m := range []series.Matcher{
		{Field: series.ContextName, Value: "a"},
		{Field: series.LabelValue, Label: "hostname", Value: `"a"`},
	} {
		if got := sel(t, s, m); len(got) != 0 {
			t.Errorf("%+v: %v", m, got)
		}
	}
	if got := sel(t, s, series.Matcher{Field: series.InstanceName, Value: "1 minute"}); len(got) != 1 {
		t.Errorf("%d series with an instance, want that of the other host", len(got))
	}
	if got, err := s.Strings(context.Background(), series.LabelValue, "hostname"); err != nil || len(got) != 1 {
		t.Errorf("names of hosts %q, %v", got, err)
	}
}

// TestDamaged has unreadable archives, which are logged once by name.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "good"), "a", 1000).add(300).close()
	record(t, filepath.Join(dir, "meta"), "a", 10_000).add(300).close()
	record(t, filepath.Join(dir, "volume"), "a", 20_000).add(300).close()
	write := func(name string, off int64, b []byte) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(b, off); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("meta.meta", 900, bytes.Repeat([]byte{0xff}, 40))
	write("volume.0", 5000, bytes.Repeat([]byte{0xff}, 40))
	if err := os.WriteFile(filepath.Join(dir, "empty.meta"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.0"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := open(t, archives.Config{Dirs: []string{dir}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if got := s.Stats(); got.Archives != 2 || got.Damaged != 2 {
		t.Errorf("Stats = %+v", got)
	}
	id := named(t, s, "kernel.all.load")
	got := values(t, s, id, series.Window{})
	if len(got) <= 300 || len(got) >= 600 {
		t.Errorf("%d samples, want those of the good archive and some of the damaged one", len(got))
	}
	for _, w := range []series.Window{{Newest: true, Count: 1000}, {Interval: time.Minute}, {Interval: time.Hour}, {Start: pcp.Timestamp{Sec: 22_000}}} {
		values(t, s, id, w)
	}
	gc(t, s)
	gc(t, s)
	for _, name := range []string{"meta", "empty"} {
		if n := strings.Count(log.String(), "path="+filepath.Join(dir, name)+" "); n != 1 {
			t.Errorf("%s is named %d times in the log, want once:\n%s", name, n, log.String())
		}
	}
	if !strings.Contains(log.String(), "path="+filepath.Join(dir, "volume")) {
		t.Errorf("the damaged volume is not named in the log:\n%s", log.String())
	}
}

// TestIndexSurvives reopens stores with one index, which is kept if it is good, and otherwise rebuilt.
func TestIndexSurvives(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "sub", "series.db")
	record(t, filepath.Join(dir, "one"), "a", 1000).add(300).close()
	record(t, filepath.Join(dir, "two"), "b", 1000).add(300).close()
	use := func(dirs ...string) (stats series.Stats, log string) {
		t.Helper()
		var b bytes.Buffer
		s, err := archives.Open(context.Background(), archives.Config{
			Dirs: dirs, Index: path, Interval: -1, Log: slog.New(slog.NewTextHandler(&b, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, id := range sel(t, s, series.Matcher{Field: series.MetricName, Value: "kernel.all.load"}) {
			if got := values(t, s, id, series.Window{}); len(got) != 300 {
				t.Fatalf("%d samples", len(got))
			}
		}
		return s.Stats(), b.String()
	}
	want := series.Stats{Archives: 2, Sources: 2, Series: 8, Open: 2}
	for range 2 {
		if got, log := use(dir); got != want || log != "" {
			t.Fatalf("Stats = %+v, log %s", got, log)
		}
	}
	// A second process.
	s := open(t, archives.Config{Dirs: []string{dir}, Index: path})
	if _, err := archives.Open(context.Background(), archives.Config{Dirs: []string{dir}, Index: path}); err == nil {
		t.Error("two stores with one index")
	}
	s.Close()

	if got, _ := use(); got.Archives != 0 || got.Series != 0 {
		t.Errorf("without directories: %+v", got)
	}
	if got, _ := use(dir); got != want {
		t.Errorf("with directories again: %+v", got)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(name string, f func(b []byte) []byte) {
		t.Helper()
		if err := os.WriteFile(path, f(bytes.Clone(good)), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, log := use(dir); got != want {
			t.Errorf("%s: %+v, log %s", name, got, log)
		}
	}
	damage("empty", func(b []byte) []byte { return nil })
	damage("text", func(b []byte) []byte { return []byte("this is not an index\n") })
	for _, n := range []int{1, 4096, 8192, 12000, 16384, len(good) / 2, len(good) - 4096} {
		damage(fmt.Sprint("cut at ", n), func(b []byte) []byte { return b[:n] })
	}
	damage("zeros", func(b []byte) []byte { clear(b[8192:]); return b })
	damage("heads of pages", func(b []byte) []byte {
		for i := 8192; i+16 < len(b); i += 4096 {
			copy(b[i:], bytes.Repeat([]byte{0xff}, 16))
		}
		return b
	})
}

func TestExprs(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "series.db")
	e := series.Expr{Query: "rate(kernel.all.intr)", Desc: loadDesc}
	id := sid.String("x")
	for i := range 2 {
		s, err := archives.Open(ctx, archives.Config{Index: path, Interval: -1})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := s.PutExpr(ctx, id, series.Expr{Query: "old"}); err != nil {
				t.Fatal(err)
			}
			if err := s.PutExpr(ctx, id, e); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Expr(ctx, id); err != nil || got != e {
			t.Errorf("Expr = %+v, %v", got, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Expr(ctx, id); !errors.Is(err, series.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if err := s.PutExpr(ctx, id, e); !errors.Is(err, series.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if err := s.GC(ctx); !errors.Is(err, series.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestSelectCanceled checks that a disconnected client, or a request that takes too long, ends the matching
// of names.
func TestSelectCanceled(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "a"), "a", 1_700_000_000).add(3).close()
	s := open(t, archives.Config{Dirs: []string{dir}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	_, err := s.Select(ctx, series.Matcher{Field: series.MetricName, Match: func(string) bool {
		calls++
		cancel()
		return true
	}})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%v after %d names", err, calls)
	}
}
