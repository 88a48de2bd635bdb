package push

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// start is the time of the first record of the archives of these tests.
var start = time.Date(2026, 11, 20, 10, 0, 0, 123_456_789, time.UTC)

// contents are the samples of each series, by its labels.
type contents map[string][]remote.Sample

func (c contents) add(key string, at time.Time, bits uint64) {
	c[key] = append(c[key], remote.Sample{Time: at.UnixMilli(), Bits: bits})
}

// generate writes an archive of records 10 seconds apart, and returns its base and the samples that a push of it has.
func generate(t testing.TB, records, insts int) (base string, want contents) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base, want = filepath.Join(t.TempDir(), "a"), make(contents)
	im, err := importer.Start(base, importer.Options{Host: "www", TimeZone: "UTC"})
	must(err)
	indom := im.NewInDom()
	reads, err := im.NewMetric("gen.reads", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom})
	must(err)
	level, err := im.NewMetric("gen.level", importer.Spec{Type: pcp.Type32, Sem: pcp.SemInstant, InDom: indom})
	must(err)
	temp, err := im.NewMetric("gen.temp", importer.Spec{Type: pcp.TypeDouble, Sem: pcp.SemInstant})
	must(err)
	name, err := im.NewMetric("gen.name", importer.Spec{Type: pcp.TypeString, Sem: pcp.SemDiscrete})
	must(err)
	series := func(metric string, i int) string {
		return fmt.Sprintf(`__name__=%s hostname=www instid=%d instname=i%d`, metric, i, i)
	}
	alive := make(map[int]bool)
	stale := func(i int, at time.Time) {
		if alive[i] {
			want.add(series("gen_reads", i), at, remote.Stale)
			want.add(series("gen_level", i), at, remote.Stale)
			delete(alive, i)
		}
	}
	for r := range records {
		at := start.Add(time.Duration(r) * 10 * time.Second)
		for i := range insts {
			if i%3 == 1 && r/40%4 == 1 { // gone for a while
				stale(i, at)
				continue
			}
			alive[i] = true
			h, err := reads.Instance(fmt.Sprint("i", i))
			must(err)
			v := uint64(r*100+i)<<33 + 1<<63
			must(h.PutUint(v))
			want.add(series("gen_reads", i), at, remote.Number(float64(v)))
			h, err = level.Instance(fmt.Sprint("i", i))
			must(err)
			must(h.PutInt(int64(i - r)))
			want.add(series("gen_level", i), at, remote.Number(float64(i-r)))
		}
		f := float64(r) / 3
		if r == 7 {
			f = math.NaN()
		}
		must(temp.PutDouble(f))
		want.add("__name__=gen_temp hostname=www", at, remote.Number(f))
		must(name.PutString("x"))
		must(im.Write(at))
		if r == records/2 {
			must(im.PutMark())
			at = at.Add(time.Millisecond)
			for i := range insts {
				stale(i, at)
			}
			want.add("__name__=gen_temp hostname=www", at, remote.Stale)
		}
	}
	must(im.End())
	return base, want
}

func keyOf(s *remote.Series) string {
	var words []string
	for _, l := range s.Labels {
		words = append(words, l.Name+"="+l.Value)
	}
	return strings.Join(words, " ")
}

// A copied window has the series of each part.
type copied struct {
	after, end int64
	parts      [][]remote.Series
}

func windows(t testing.TB, a *archive.Archive, from position, follow bool) (list []copied, r *reader) {
	t.Helper()
	end, err := a.End()
	if err != nil {
		t.Fatal(err)
	}
	r = newReader(a, a.Label().Start, end, follow, from, func(w *window) (*window, error) {
		c := copied{after: w.after, end: w.end}
		for _, p := range w.split() {
			one := slices.Clone(p.list)
			for i := range one {
				one[i].Samples = slices.Clone(one[i].Samples)
				one[i].Family = nil
			}
			c.parts = append(c.parts, one)
		}
		list = append(list, c)
		return w, nil
	})
	if err := r.read(t.Context(), new(window)); err != nil {
		t.Fatal(err)
	}
	return list, r
}

func open1(t testing.TB, base string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func compare(t *testing.T, got, want contents) {
	t.Helper()
	for key, list := range want {
		if !reflect.DeepEqual(got[key], list) {
			t.Errorf("%s: %d samples, want %d:\n%.400v\n%.400v", key, len(got[key]), len(list), got[key], list)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d series, want %d", len(got), len(want))
	}
}

func TestReader(t *testing.T) {
	base, want := generate(t, 300, 10)
	list, r := windows(t, open1(t, base), nowhere(), false)
	got := make(contents)
	for _, w := range list {
		for _, p := range w.parts {
			for i := range p {
				s := &p[i]
				if len(s.Samples) > maxSamples {
					t.Errorf("%d samples of a series in a request", len(s.Samples))
				}
				got[keyOf(s)] = append(got[keyOf(s)], s.Samples...)
			}
		}
	}
	compare(t, got, want)
	if r.left != (leftOut{metrics: 1}) {
		t.Errorf("left out: %+v", r.left)
	}
}

// TestContinue checks that a push from any position makes the same requests as the first one.
func TestContinue(t *testing.T) {
	base, _ := generate(t, 200, 7)
	a := open1(t, base)
	all, _ := windows(t, a, nowhere(), true)
	if len(all) < 7 {
		t.Fatalf("%d windows", len(all))
	}
	for i, w := range all {
		from := nowhere()
		from.sent = w.after
		if got, _ := windows(t, a, from, true); !reflect.DeepEqual(got, all[i:]) {
			t.Errorf("from %d: %d windows, want %d", w.after, len(got), len(all)-i)
		}
		from.end = w.end
		if got, _ := windows(t, a, from, true); !reflect.DeepEqual(got, all[i:]) {
			t.Errorf("in the window that ends at %d: %d windows, want %d", w.end, len(got), len(all)-i)
		}
	}
	from := nowhere()
	from.sent = all[len(all)-1].end
	if got, _ := windows(t, a, from, true); len(got) != 0 {
		t.Errorf("%d windows of an archive that is sent", len(got))
	}
}

func TestSplit(t *testing.T) {
	w := new(window)
	w.reset(noTime)
	list := make([]*series, 4000)
	for i := range list {
		list[i] = &series{bytes: 2000}
	}
	for at := range int64(20) {
		for _, s := range list {
			w.add(s, at, uint64(at))
		}
	}
	total := 0
	for _, p := range w.split() {
		n := 0
		for _, s := range p.list {
			for i, one := range s.Samples {
				if one.Time != int64(i) {
					t.Fatalf("sample %d: %+v", i, one)
				}
			}
			n += len(s.Samples)
		}
		if n != p.samples || n > partSamples || len(p.list)*2000 > partBytes {
			t.Errorf("a part of %d series, %d samples", len(p.list), n)
		}
		total += n
	}
	if total != 80000 {
		t.Errorf("%d samples", total)
	}
}

// BenchmarkRead measures reading, without sending, and BenchmarkPush all of the sender's work.
func BenchmarkRead(b *testing.B) {
	base, _ := generate(b, 1000, 500)
	a := open1(b, base)
	n := 0
	for b.Loop() {
		_, r := windowsOnly(b, a)
		n += r.sum.samples
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "samples/s")
}

func windowsOnly(b *testing.B, a *archive.Archive) (int, *reader) {
	end, err := a.End()
	if err != nil {
		b.Fatal(err)
	}
	parts := 0
	r := newReader(a, a.Label().Start, end, false, nowhere(), func(w *window) (*window, error) {
		parts += len(w.split())
		return w, nil
	})
	if err := r.read(b.Context(), new(window)); err != nil {
		b.Fatal(err)
	}
	return parts, r
}
