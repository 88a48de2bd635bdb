package send

import (
	"reflect"
	"slices"
	"testing"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
)

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
				one[i].Labels, one[i].Samples = slices.Clone(one[i].Labels), slices.Clone(one[i].Samples)
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

func TestReader(t *testing.T) {
	base, want := sendtest.Generate(t, 300, 10)
	list, r := windows(t, open1(t, base), nowhere(), false)
	got := make(sendtest.Contents)
	for _, w := range list {
		for _, p := range w.parts {
			for i := range p {
				s := &p[i]
				if len(s.Samples) > maxSamples {
					t.Errorf("%d samples of a series in a request", len(s.Samples))
				}
				got[sendtest.KeyOf(s)] = append(got[sendtest.KeyOf(s)], s.Samples...)
			}
		}
	}
	sendtest.Compare(t, got, want)
	if r.left != (LeftOut{Metrics: 1}) {
		t.Errorf("left out: %+v", r.left)
	}
}

// TestContinue checks that a push from any position makes the same requests as the first one.
func TestContinue(t *testing.T) {
	base, _ := sendtest.Generate(t, 200, 7)
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
		list[i] = &series{base: newBase([]remote.Label{{Name: nameLabel}}), family: &remote.Family{Name: "a"}, bytes: 2000}
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
	base, _ := sendtest.Generate(b, 1000, 500)
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
