package store_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A host writes archives with all that ends a series.
type host struct {
	t   *testing.T
	rng *rand.Rand
	at  pcp.Timestamp
	n   int
}

// instance is the state of an instance of the domain.
type instance struct {
	inst int32
	name string
}

// archive writes an archive of n records.
func (h *host) archive(base string, n int) {
	h.t.Helper()
	must := func(err error) {
		h.t.Helper()
		if err != nil {
			h.t.Fatal(err)
		}
	}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "www", TimeZone: "UTC", Start: h.at}})
	must(err)
	indom := pcp.NewInDom(60, 1)
	types := []pcp.Type{pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble}
	id := func(item int) pcp.PMID { return pcp.NewPMID(60, 1, item) }
	for i, t := range types {
		must(w.Desc(pcp.Desc{PMID: id(i), Type: t, InDom: pcp.InDomNull, Sem: pcp.SemCounter}, fmt.Sprintf("one.m%d", i)))
		must(w.Desc(pcp.Desc{PMID: id(10 + i), Type: t, InDom: indom, Sem: pcp.SemInstant}, fmt.Sprintf("many.m%d", i), fmt.Sprintf("again.m%d", i)))
	}
	must(w.Desc(pcp.Desc{PMID: id(50), Type: pcp.TypeU64, InDom: indom, Sem: pcp.SemInstant}, "twice.recorded"))
	must(w.Desc(pcp.Desc{PMID: id(51), Type: pcp.TypeU64, InDom: pcp.NewInDom(60, 2), Sem: pcp.SemCounter}, "a.histogram"))
	must(w.InDom(h.at, pcp.NewInDom(60, 2), []pcp.Instance{{Inst: 0, Name: "0-1"}, {Inst: 1, Name: "2-3"}, {Inst: 2, Name: "4-7"}}))
	set, err := pcp.StringLabels(pcp.LabelContext, "hostname", "www")
	must(err)
	must(w.Labels(h.at, pcp.LabelContext, uint32(pcp.PMIDNull), []pcp.LabelSet{set}))
	insts := []instance{{1, "one"}, {2, "two"}, {3, "three"}}
	names := func() {
		var list []pcp.Instance
		for _, in := range insts {
			list = append(list, pcp.Instance{Inst: in.inst, Name: in.name})
		}
		must(w.InDom(h.at, indom, list))
	}
	names()
	var res pcp.Result
	for k := range n {
		h.n++
		if h.rng.IntN(10) == 0 {
			switch i := h.rng.IntN(len(insts)); h.rng.IntN(4) {
			case 0: // a new instance
				if len(insts) < 8 {
					insts = append(insts, instance{int32(10 + h.n), fmt.Sprint("new", h.n/50)})
				}
			case 1: // one is gone
				if len(insts) > 2 {
					insts = slices.Delete(insts, i, i+1)
				}
			case 2: // a number gets another name
				insts[i].name = fmt.Sprintf("name%d", h.rng.IntN(6))
				for j := range insts {
					if j != i && insts[j].name == insts[i].name {
						insts[i].name = fmt.Sprint("own", h.n)
					}
				}
			}
			slices.SortFunc(insts, func(a, b instance) int { return int(a.inst - b.inst) })
			names()
		}
		res.Reset()
		res.Time = h.at
		value := func(t pcp.Type, inst int32) pcp.Value {
			v := uint64(h.n * 7)
			if h.rng.IntN(20) == 0 {
				v = h.rng.Uint64()
			}
			switch t {
			case pcp.TypeFloat:
				return pcp.FloatValue(float32(v%1000) / 10).WithInst(inst)
			case pcp.TypeDouble:
				if h.rng.IntN(30) == 0 {
					return pcp.DoubleValue(math.NaN()).WithInst(inst)
				}
				return pcp.DoubleValue(float64(v%1000) / 7).WithInst(inst)
			case pcp.Type32, pcp.TypeU32:
				v = uint64(uint32(v))
			}
			return pcp.RawValue(t, v).WithInst(inst)
		}
		for i, t := range types {
			if k%(i+1) == 0 {
				res.AddSet(id(i))
				res.Add(value(t, pcp.InNull))
			}
			if i == 3 && k%2 == 1 {
				// some instances have records of their own
				res.AddSet(id(10 + i))
				res.Add(value(t, insts[0].inst))
				continue
			}
			switch h.rng.IntN(60) {
			case 0:
				res.AddError(id(10+i), pcp.ErrAgain)
			case 1:
				res.AddError(id(10+i), 0)
			default:
				res.AddSet(id(10 + i))
				for _, in := range insts {
					if i < 3 || h.rng.IntN(40) > 0 || in == insts[0] {
						res.Add(value(t, in.inst))
					}
				}
			}
		}
		res.AddSet(id(50))
		res.Add(pcp.Uint64Value(1).WithInst(insts[0].inst))
		if k == 3 {
			res.Add(pcp.Uint64Value(2).WithInst(insts[0].inst))
		}
		res.AddSet(id(51))
		for i := range 1 + h.rng.IntN(3) {
			res.Add(pcp.Uint64Value(uint64(h.n * (i + 1))).WithInst(int32(i)))
		}
		must(w.WriteResult(&res))
		switch h.rng.IntN(60) {
		case 0:
			h.at = h.at.Add(time.Millisecond)
			must(w.Mark(h.at))
			h.at = h.at.Add(time.Duration(h.rng.IntN(600)) * time.Second)
		case 1:
			must(w.NewVolume())
		case 2:
			h.at = h.at.Add(100 * time.Microsecond) // the next record is in the same millisecond
			continue
		}
		h.at = h.at.Add(10*time.Second + time.Duration(h.rng.IntN(2000))*time.Microsecond)
	}
	must(w.Close())
}

// selection returns all samples of the series that matchers select, as text.
func selection(t *testing.T, s *archives.Store, start, end int64, seek bool, matchers ...*labels.Matcher) string {
	t.Helper()
	q, err := store.New(s, store.Config{}).Querier(start, end)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	set := q.Select(context.Background(), true, &storage.SelectHints{Start: start, End: end}, matchers...)
	var b strings.Builder
	var it chunkenc.Iterator
	for set.Next() {
		one := set.At()
		fmt.Fprintln(&b, one.Labels())
		it = one.Iterator(it)
		if seek {
			for at := start; it.Seek(at) != chunkenc.ValNone; at = it.AtT() + 47_000 {
				at, v := it.At()
				fmt.Fprintf(&b, " %d %016x", at, math.Float64bits(v))
			}
		} else {
			for it.Next() != chunkenc.ValNone {
				at, v := it.At()
				fmt.Fprintf(&b, " %d %016x", at, math.Float64bits(v))
			}
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// with opens a store of a directory.
func with(t *testing.T, dir string, use archives.Columns) *archives.Store {
	t.Helper()
	s, err := archives.Open(context.Background(), archives.Config{Dirs: []string{dir}, Interval: -1, Columns: use})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// same compares selections from archives with those from columns.
func same(t *testing.T, dir string, start, end int64) {
	t.Helper()
	plain, fast := with(t, dir, archives.NoColumns), with(t, dir, archives.UseColumns)
	if strings.HasPrefix(t.Name(), "TestColumns") && !strings.HasSuffix(t.Name(), "Suite") && !strings.Contains(selection(t, fast, start, end, false, labels.MustNewMatcher(labels.MatchEqual, "__name__", "a_histogram_bucket")), "le=") {
		t.Errorf("%s: no histogram", dir)
	}
	all := labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+")
	some := labels.MustNewMatcher(labels.MatchRegexp, "instname", "(one|two|n.*[0-4]|cpu[13]|)")
	for _, w := range [][2]int64{{0, 1 << 60}, {start, end}, {start + (end-start)/3, start + (end-start)/2}, {end, end}, {start - 1, start - 1}} {
		for _, ms := range [][]*labels.Matcher{{all}, {all, some}} {
			for _, seek := range []bool{false, true} {
				want, got := selection(t, plain, w[0], w[1], seek, ms...), selection(t, fast, w[0], w[1], seek, ms...)
				if got == want {
					continue
				}
				a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
				for i := range a {
					if i >= len(b) || a[i] != b[i] {
						x, y := strings.Fields(a[i]), strings.Fields(strings.Join(b[min(i, len(b)-1):min(i+1, len(b))], ""))
						for k := range x {
							if k >= len(y) || x[k] != y[k] {
								t.Fatalf("%s: %v %v: %s: %d of %d (want %d): %v, want %v", dir, w, ms, a[i-1][:min(200, len(a[i-1]))], k, len(y), len(x), y[max(0, k-3):min(len(y), k+4)], x[max(0, k-3):min(len(x), k+4)])
							}
						}
						t.Fatalf("%s: %v %v: %d values, want %d: %.300s, want %.300s", dir, w, ms, len(y), len(x), strings.Join(b[max(0, i-1):], "\n"), strings.Join(a[max(0, i-1):], "\n"))
					}
				}
			}
		}
	}
}

// TestColumns compares the samples from columns with those from archives.
func TestColumns(t *testing.T) {
	for seed := range uint64(longtest.N(4, 60)) {
		dir := t.TempDir()
		h := &host{t: t, rng: rand.New(rand.NewPCG(seed, longtest.Seed(t))), at: pcp.Timestamp{Sec: 1_790_000_000, Nsec: 500_000}}
		start := h.at.Sec * 1000
		for i := range 4 {
			base := filepath.Join(dir, fmt.Sprint("a", i))
			h.archive(base, 100+h.rng.IntN(300))
			if i != 2 || seed%2 == 0 { // an archive between others may have no columns
				if err := columns.Make(context.Background(), base, ""); err != nil {
					t.Fatal(err)
				}
			}
			switch h.rng.IntN(3) {
			case 0:
				h.at = h.at.Add(time.Duration(h.rng.IntN(120)) * time.Second)
			case 1:
				h.at = h.at.Add(-200 * time.Second) // overlapping
			}
		}
		same(t, dir, start, h.at.Sec*1000)
	}
}

// TestColumnsOfSuite compares archives of PCP's test suite.
func TestColumnsOfSuite(t *testing.T) {
	const suite = "/var/lib/pcp/testsuite/archives"
	if _, err := os.Stat(suite); err != nil {
		oracle.Missing(t, "PCP's test suite is not installed")
	}
	paths, err := filepath.Glob(filepath.Join(suite, "*.meta*"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range paths {
		base, _, _ := archive.BaseName(path)
		if filepath.Base(base) == "pcp-mpstat3" {
			continue // its temporal index is wrong, so the archive is not read from a time on
		}
		files, err := archive.FindFiles(base)
		if err != nil {
			continue
		}
		size := int64(0)
		for _, f := range files.All() {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		if size > int64(longtest.N(10_000, 4_000_000)) {
			continue
		}
		dir := t.TempDir()
		for _, f := range files.All() {
			if err := os.Symlink(f, filepath.Join(dir, filepath.Base(f))); err != nil {
				t.Fatal(err)
			}
		}
		to := filepath.Join(dir, filepath.Base(base))
		a, err := archive.Open(to)
		if err != nil {
			continue
		}
		start, end := a.Label().Start.Sec*1000, int64(0)
		if last, err := a.End(); err == nil {
			end = last.Sec * 1000
		}
		a.Close()
		if columns.Make(context.Background(), to, "") != nil {
			continue
		}
		n++
		same(t, dir, start, end)
	}
	t.Logf("%d archives", n)
	if n < 10 {
		t.Errorf("only %d archives were compared", n)
	}
}
