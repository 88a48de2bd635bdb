package sendtest

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// Start returns the time of the first record of the archives of Generate.
func Start() time.Time { return time.Date(2026, 11, 20, 10, 0, 0, 123_456_789, time.UTC) }

// Contents are the samples of each series, by its labels.
type Contents map[string][]remote.Sample

func (c Contents) add(key string, at time.Time, bits uint64) {
	c[key] = append(c[key], remote.Sample{Time: at.UnixMilli(), Bits: bits})
}

// Generate writes an archive of records 10 seconds apart, and returns its base and the samples that a push of it has.
func Generate(t testing.TB, records, insts int) (base string, want Contents) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base, want = filepath.Join(t.TempDir(), "a"), make(Contents)
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
		at := Start().Add(time.Duration(r) * 10 * time.Second)
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

// KeyOf returns the labels of a series as the keys of Contents have them.
func KeyOf(s *remote.Series) string {
	var words []string
	for _, l := range s.Labels {
		words = append(words, l.Name+"="+l.Value)
	}
	return strings.Join(words, " ")
}

// Data returns the contents without the series that describe metrics.
func (c Contents) Data() Contents {
	c = maps.Clone(c)
	maps.DeleteFunc(c, func(key string, _ []remote.Sample) bool { return strings.HasPrefix(key, "__name__="+names.Series+" ") })
	return c
}

// Compare compares all samples, except those of series that describe metrics.
func Compare(t *testing.T, got, want Contents) {
	t.Helper()
	Exact(t, got.Data(), want.Data())
}

// Exact compares all samples.
func Exact(t *testing.T, got, want Contents) {
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
