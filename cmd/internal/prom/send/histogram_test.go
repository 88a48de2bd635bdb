package send

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
)

// TestHistogram sends a metric whose instances are ranges: some appear later, and at the end all are gone.
func TestHistogram(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base, want := filepath.Join(t.TempDir(), "a"), make(sendtest.Contents)
	im, err := importer.Start(base, importer.Options{Host: "www", TimeZone: "UTC"})
	must(err)
	indom := im.NewInDom()
	latency, err := im.NewMetric("runq.latency", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom})
	must(err)
	taken, err := im.NewMetric("runq.taken", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom})
	must(err)
	other, err := im.NewMetric("runq.taken_count", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemInstant})
	must(err)
	at := func(record int) time.Time { return sendtest.Start().Add(time.Duration(record) * 10 * time.Second) }
	add := func(key string, record int, v float64) {
		want[key] = append(want[key], remote.Sample{Time: at(record).UnixMilli(), Bits: remote.Number(v)})
	}
	end := func(key string) {
		want[key] = append(want[key], remote.Sample{Time: at(3).UnixMilli() + 1, Bits: remote.Stale})
	}
	bucket := func(le string) string { return "__name__=runq_latency_bucket hostname=www le=" + le }
	const count = "__name__=runq_latency_count hostname=www"
	inst := func(metric, id, name string) string {
		return "__name__=" + metric + " hostname=www instid=" + id + " instname=" + name
	}
	put := func(m *importer.Metric, name string, v uint64) {
		t.Helper()
		h, err := m.Instance(name)
		must(err)
		must(h.PutUint(v))
	}
	for r := range 4 {
		v := uint64(r + 1)
		put(latency, "0-1", v)
		put(latency, "2-3", 10*v)
		put(taken, "0-1", v)
		must(other.PutUint(v))
		add(inst("runq_latency", "0", "0-1"), r, float64(v))
		add(inst("runq_latency", "1", "2-3"), r, float64(10*v))
		add(inst("runq_taken", "0", "0-1"), r, float64(v))
		add("__name__=runq_taken_count hostname=www", r, float64(v))
		add(bucket("1"), r, float64(v))
		add(bucket("3"), r, float64(11*v))
		total := 11 * v
		if r >= 2 {
			put(latency, "8-inf", 100)
			add(inst("runq_latency", "2", "8-inf"), r, 100)
			total += 100
		}
		add(bucket("+Inf"), r, float64(total))
		add(count, r, float64(total))
		must(im.Write(at(r)))
	}
	must(im.PutMark()) // a millisecond later
	for _, key := range []string{
		inst("runq_latency", "0", "0-1"), inst("runq_latency", "1", "2-3"), inst("runq_latency", "2", "8-inf"), inst("runq_taken", "0", "0-1"),
		"__name__=runq_taken_count hostname=www", bucket("1"), bucket("3"), bucket("+Inf"), count,
	} {
		end(key)
	}
	must(im.End())

	list, r := windows(t, open1(t, base), nowhere(), false)
	got := make(sendtest.Contents)
	for _, w := range list {
		for _, p := range w.parts {
			for i := range p {
				got[sendtest.KeyOf(&p[i])] = append(got[sendtest.KeyOf(&p[i])], p[i].Samples...)
			}
		}
	}
	sendtest.Compare(t, got, want)
	if r.left != (LeftOut{}) {
		t.Errorf("left out: %+v", r.left)
	}
	if r.sum.series != 9 || r.sum.stale != 9 {
		t.Errorf("%+v, want 9 series and 9 stale markers", r.sum)
	}
}
