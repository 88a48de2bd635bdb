package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

var (
	counterID  = pcp.NewPMID(510, 0, 1)
	instantID  = pcp.NewPMID(510, 0, 2)
	discreteID = pcp.NewPMID(510, 0, 3)
	indomID    = pcp.NewPMID(510, 0, 4)
	rareID     = pcp.NewPMID(510, 0, 5)
	dom        = pcp.NewInDom(510, 1)
)

func at(sec float64) pcp.Timestamp {
	return pcp.Timestamp{Sec: 1_700_000_000}.Add(time.Duration(sec * 1e9))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writer starts an archive with the metrics of these tests.
func writer(t testing.TB, path, host string, start float64, version int) *archive.Writer {
	t.Helper()
	w, err := archive.Create(path, archive.WriterConfig{
		Label:      archive.Label{Version: version, Host: host, TimeZone: "UTC", PID: 1, Start: at(start)},
		IndexBytes: 300,
	})
	must(t, err)
	must(t, w.Desc(pcp.Desc{PMID: counterID, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemCounter}, "t.counter"))
	must(t, w.Desc(pcp.Desc{PMID: instantID, Type: pcp.Type64, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "t.instant"))
	must(t, w.Desc(pcp.Desc{PMID: discreteID, Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}, "t.discrete"))
	must(t, w.Desc(pcp.Desc{PMID: indomID, Type: pcp.Type64, InDom: dom, Sem: pcp.SemInstant}, "t.indom"))
	must(t, w.Desc(pcp.Desc{PMID: rareID, Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}, "t.rare"))
	return w
}

// put writes a record of the counter and the instant value, both v.
func put(t testing.TB, w *archive.Writer, sec float64, v int) {
	t.Helper()
	var res pcp.Result
	res.Time = at(sec)
	res.AddSet(counterID)
	res.Add(pcp.Uint32Value(uint32(v)))
	res.AddSet(instantID)
	res.Add(pcp.Int64Value(int64(v)))
	must(t, w.WriteResult(&res))
}

func putString(t testing.TB, w *archive.Writer, sec float64, s string) {
	t.Helper()
	var res pcp.Result
	res.Time = at(sec)
	res.AddSet(discreteID)
	res.Add(pcp.StringValue(s))
	must(t, w.WriteResult(&res))
}

func open(t testing.TB, spec string, o Options) *Set {
	t.Helper()
	s, err := Open(spec, o)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// line formats the result of a fetch in a short form.
func line(c *Cursor, res *pcp.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%g", seconds(res.Time, at(0)))
	for _, vs := range res.Sets {
		b.WriteString(" |")
		if vs.Err != 0 {
			fmt.Fprintf(&b, " %d", vs.Err)
		}
		for _, v := range vs.Values {
			desc, _ := c.set.meta.Desc(vs.PMID)
			if v.Inst != pcp.InNull {
				fmt.Fprintf(&b, " %d:", v.Inst)
			} else {
				b.WriteByte(' ')
			}
			b.WriteString(strings.Trim(v.As(desc.Type).String(), "\""))
		}
	}
	return b.String()
}

// run fetches n times in a mode and returns a line for each.
func run(t testing.TB, s *Set, mode Mode, from float64, step time.Duration, n int, ids ...pcp.PMID) string {
	t.Helper()
	c := s.NewCursor()
	defer c.Close()
	when := at(from)
	must(t, c.SetMode(mode, &when, step))
	var res pcp.Result
	var out []string
	for range n {
		if err := c.Fetch(context.Background(), ids, nil, false, &res); err != nil {
			out = append(out, fmt.Sprint(pcp.Code(err)))
			continue
		}
		out = append(out, line(c, &res))
	}
	return strings.Join(out, "\n")
}

func want(t *testing.T, got string, lines ...string) {
	t.Helper()
	if w := strings.Join(lines, "\n"); got != w {
		t.Errorf("got\n%s\nwant\n%s", got, w)
	}
}

func sample(t testing.TB, version int) string {
	path := filepath.Join(t.TempDir(), "a")
	w := writer(t, path, "h", 0, version)
	put(t, w, 0, 100)
	putString(t, w, 1, "one")
	put(t, w, 10, 200)
	putString(t, w, 15, "two")
	put(t, w, 20, 260)
	must(t, w.Mark(at(25)))
	put(t, w, 30, 10)
	put(t, w, 40, 20)
	must(t, w.Close())
	return path
}

func TestInterpolate(t *testing.T) {
	for _, version := range []int{2, 3} {
		s := open(t, sample(t, version), Options{})
		want(t, run(t, s, Interp, -5, 5*time.Second, 11, counterID, instantID, discreteID),
			fmt.Sprint(pcp.ErrEOL),
			"0 | 100 | 100 |",
			"5 | 150 | 100 | one",
			"10 | 200 | 200 | one",
			"15 | 230 | 200 | two",
			"20 | 260 | 260 | two",
			"25 | | |",
			"30 | 10 | 10 |",
			"35 | 15 | 10 |",
			"40 | 20 | 20 |",
			fmt.Sprint(pcp.ErrEOL))
		want(t, run(t, s, Interp, 35, -10*time.Second, 5, counterID, instantID),
			"35 | 15 | 10",
			"25 | |",
			"15 | 230 | 200",
			"5 | 150 | 100",
			fmt.Sprint(pcp.ErrEOL))
		// A mark between two values of a counter is a gap.
		want(t, run(t, s, Interp, 20, 10*time.Second, 3, counterID, instantID),
			"20 | 260 | 260", "30 | | 10", "40 | 20 | 20")
		want(t, run(t, s, Interp, 30, -10*time.Second, 3, counterID, instantID),
			"30 | 10 | 10", "20 | | 260", "10 | 200 | 200")
	}
}

func TestInterpolateOptions(t *testing.T) {
	path := sample(t, 3)
	s := open(t, path, Options{IgnoreMarks: true, CounterWrap: true})
	want(t, run(t, s, Interp, 25, 5*time.Second, 2, counterID),
		"25 | 2147483783", "30 | 10")
	s = open(t, path, Options{IgnoreMarks: true})
	want(t, run(t, s, Interp, 25, 5*time.Second, 1, counterID), "25 | 135")
	s = open(t, path, Options{IgnoreMarks: true, IgnoreGap: 9 * time.Second})
	want(t, run(t, s, Interp, 25, 5*time.Second, 1, counterID), "25 |")
	for _, dir := range []time.Duration{1, -1} {
		s = open(t, path, Options{IgnoreMarks: true, IgnoreGap: 10 * time.Second})
		want(t, run(t, s, Interp, 25, dir*time.Second, 1, counterID), "25 | 135")
	}
	s = open(t, path, Options{Nearest: true})
	want(t, run(t, s, Interp, 14, time.Second, 3, instantID),
		"14 | 200", "15 | 200", "16 | 260")
}

// TestUnsignedCounter has the real library's results for counters around 1<<63, in
// the archives kenj-pc-2 and babylon.pmview_v2 of its QA suite.
func TestUnsignedCounter(t *testing.T) {
	m := &metric{desc: pcp.Desc{Type: pcp.TypeU64}}
	f := func(prior, next uint64, part, gap float64, want uint64) {
		t.Helper()
		for _, wrap := range []bool{false, true} {
			if got := m.between(prior, next, part, gap, wrap); got>>40 != want>>40 {
				t.Errorf("between %#x and %#x: %#x, want %#x", prior, next, got, want)
			}
		}
	}
	f(0x7fffffffffffffae, 0xffffffffffffffac, 134.617957844-132.455734, 137.479411-132.455734, 0xb717906d33a13800)
	f(0xfffffffffffffff8, 0x7ffffffffffffff6, 49.952982775-47.455853, 52.455710-47.455853, 0x3feda86262d2e600)
	f(0xf4d8010000000000, 0x7bd9010000000000, 696.458752550-695.169643, 698.169259-695.169643, 0xc0d83e700c539000)
	f(100, 200, 1, 4, 125)
	f(200, 100, 1, 4, 175)
}

func TestRecords(t *testing.T) {
	for _, version := range []int{2, 3} {
		s := open(t, sample(t, version), Options{})
		want(t, run(t, s, Forw, 0.5, 0, 6, discreteID, instantID),
			"1 | one |", "10 | | 200", "15 | two |", "20 | | 260", "30 | | 10", "40 | | 20")
		want(t, run(t, s, Back, 39, 0, 4, instantID),
			"30 | 10", "20 | 260", "10 | 200", "0 | 100")
		c := s.NewCursor()
		defer c.Close()
		var res pcp.Result
		n, marks := 0, 0
		for c.Next(context.Background(), true, &res) == nil {
			n++
			if len(res.Sets) == 0 {
				marks++
			}
		}
		if n != 8 || marks != 1 {
			t.Errorf("%d records, of them %d marks", n, marks)
		}
	}
}

func TestSetMode(t *testing.T) {
	s := open(t, sample(t, 3), Options{})
	c := s.NewCursor()
	defer c.Close()
	if err := c.SetMode(0, nil, 0); !errors.Is(err, pcp.ErrMode) {
		t.Errorf("mode 0: %v", err)
	}
	when := at(10)
	must(t, c.SetMode(Interp, &when, time.Second))
	var res pcp.Result
	must(t, c.Fetch(context.Background(), []pcp.PMID{instantID, pcp.NewPMID(1, 1, 1)}, nil, false, &res))
	if got := line(c, &res); got != "10 | 200 | -12378" {
		t.Error(got)
	}
	// Without a time it does not move.
	must(t, c.SetMode(Interp, nil, -time.Second))
	if c.Origin() != at(11) {
		t.Errorf("origin %v", c.Origin())
	}
	if err := c.Next(context.Background(), false, &res); !errors.Is(err, pcp.ErrMode) {
		t.Errorf("next record while interpolating: %v", err)
	}
	n := c.Clone()
	defer n.Close()
	must(t, n.Fetch(context.Background(), []pcp.PMID{instantID}, nil, true, &res))
	if got := line(n, &res); got != "11 | 200" {
		t.Error(got)
	}
}

// TestNoMetrics fetches nothing: the times still follow the steps.
func TestNoMetrics(t *testing.T) {
	s := open(t, sample(t, 3), Options{})
	var res pcp.Result
	for _, step := range []float64{1, -1} {
		const from = 10.5
		c := s.NewCursor()
		defer c.Close()
		when := at(from)
		must(t, c.SetMode(Interp, &when, time.Duration(step)*time.Second))
		for i := range 3 {
			must(t, c.Fetch(context.Background(), nil, nil, false, &res))
			if len(res.Sets) != 0 || res.Time != at(from+step*float64(i)) {
				t.Errorf("from %v, step %d: %v", from, i, res)
			}
		}
		must(t, c.SetMode(Forw, &when, 0))
		if err := c.Fetch(context.Background(), nil, nil, false, &res); !errors.Is(err, pcp.ErrEOL) {
			t.Errorf("forward from %v: %v", from, err)
		}
	}
}

// TestInstances has instances that come and go, enough of them to use lifetimes.
func TestInstances(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := writer(t, path, "h", 0, 3)
	var res pcp.Result
	for i := range 20 {
		var list []pcp.Instance
		res.Reset()
		res.Time = at(float64(i) * 10)
		res.AddSet(indomID)
		for k := range 20 {
			inst := int32(i + k)
			list = append(list, pcp.Instance{Inst: inst, Name: fmt.Sprint("n", inst)})
			res.Add(pcp.Int64Value(int64(1000*i) + int64(inst)).WithInst(inst))
		}
		must(t, w.InDom(res.Time, dom, list))
		must(t, w.WriteResult(&res))
	}
	must(t, w.Close())
	s := open(t, path, Options{})
	if list, err := s.Instances(dom); err != nil || len(list) != 39 || list[0].Inst != 19 {
		t.Errorf("%d instances, %v", len(list), err)
	}
	profile := new(pcp.Profile)
	must(t, profile.Del(pcp.InDomNull))
	must(t, profile.Add(dom, 5, 25))
	for _, step := range []time.Duration{10 * time.Second, -10 * time.Second} {
		c := s.NewCursor()
		when := at(5)
		if step < 0 {
			when = at(185)
		}
		must(t, c.SetMode(Interp, &when, step))
		n := map[int32]int{}
		for c.Fetch(context.Background(), []pcp.PMID{indomID}, profile, false, &res) == nil {
			for _, v := range res.Sets[0].Values {
				n[v.Inst]++
			}
		}
		c.Close()
		// Instance 5 is in the records 0 to 5, 25 in 6 to 19, with one gap less between.
		if len(n) != 2 || n[5] != 5 || n[25] != 13 {
			t.Errorf("step %v: values by instance %v", step, n)
		}
	}
}

func TestSet(t *testing.T) {
	dir := t.TempDir()
	for i, start := range []float64{0, 100, 50} {
		w := writer(t, filepath.Join(dir, fmt.Sprint("a", i)), "h", start, 2+i%2)
		for k := range 5 {
			put(t, w, start+float64(k)*5, int(start)+k)
		}
		must(t, w.Close())
	}
	for _, spec := range []string{dir, dir + "/a0," + dir + "/a1.meta," + dir + "/a2.0", dir + "/a1," + dir + "/a2," + dir + "/a0," + dir + "/a1"} {
		s := open(t, spec, Options{})
		if end, err := s.End(); err != nil || end != at(120) || s.Label().Start != at(0) || len(s.Archives()) != 3 {
			t.Errorf("%s: end %v, %v; start %v, %d archives", spec, end, err, s.Label().Start, len(s.Archives()))
		}
		want(t, run(t, s, Forw, 18, 0, 3, counterID), "20 | 4", "50 | 50", "55 | 51")
		want(t, run(t, s, Back, 56, 0, 4, counterID), "55 | 51", "50 | 50", "20 | 4", "15 | 3")
		want(t, run(t, s, Interp, 15, 5*time.Second, 10, instantID),
			"15 | 3", "20 | 4", "25 |", "30 |", "35 |", "40 |", "45 |", "50 | 50", "55 | 51", "60 | 52")
		want(t, run(t, s, Interp, 55, -5*time.Second, 4, instantID), "55 | 51", "50 | 50", "45 |", "40 |")

		// The marks between the archives, in both directions.
		c := s.NewCursor()
		var res pcp.Result
		var marks []float64
		for _, mode := range []Mode{Forw, Back} {
			when := at(0)
			if mode == Back {
				when = at(1000)
			}
			must(t, c.SetMode(mode, &when, 0))
			n := 0
			for c.Next(context.Background(), false, &res) == nil {
				if n++; len(res.Sets) == 0 {
					marks = append(marks, seconds(res.Time, at(0)))
				}
			}
			if n != 17 {
				t.Errorf("%d records in mode %d", n, mode)
			}
		}
		c.Close()
		if fmt.Sprint(marks) != "[20.001 70.001 99.999 49.999]" {
			t.Errorf("marks at %v", marks)
		}
	}
}

func TestSetErrors(t *testing.T) {
	dir := t.TempDir()
	make := func(name, host string, start float64, sem pcp.Sem) string {
		w, err := archive.Create(filepath.Join(dir, name), archive.WriterConfig{
			Label: archive.Label{Host: host, TimeZone: "UTC", PID: 1, Start: at(start)},
		})
		must(t, err)
		must(t, w.Desc(pcp.Desc{PMID: counterID, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: sem}, "t.counter"))
		put := func(sec float64) {
			res := pcp.Result{Time: at(sec)}
			res.AddSet(counterID)
			res.Add(pcp.Uint32Value(1))
			must(t, w.WriteResult(&res))
		}
		put(start)
		put(start + 10)
		must(t, w.Close())
		return filepath.Join(dir, name)
	}
	a := make("a", "h", 0, pcp.SemCounter)
	other := make("b", "other", 20, pcp.SemCounter)
	same := make("c", "h", 0, pcp.SemCounter)
	sem := make("d", "h", 40, pcp.SemInstant)
	over := make("e", "h", 5, pcp.SemCounter)
	f := func(spec string, code pcp.Error) {
		t.Helper()
		s, err := Open(spec, Options{})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, code) {
			t.Errorf("%s: %v, want %v", spec, err, code)
		}
	}
	f(a+","+other, pcp.ErrLogHost)
	f(a+","+same, pcp.ErrLogOverlap)
	f(a+","+sem, pcp.ErrLogChangeSem)
	f("", pcp.ErrLogFile)
	f(t.TempDir(), pcp.ErrLogFile)
	f(a+","+dir+"/none", pcp.Error(-2))

	s := open(t, a+","+over, Options{})
	want(t, run(t, s, Forw, 0, 0, 6, counterID),
		"0 | 1", "10 | 1", fmt.Sprint(pcp.ErrLogOverlap), "15 | 1", fmt.Sprint(pcp.ErrEOL), fmt.Sprint(pcp.ErrEOL))
}

// TestGrow replays an archive that is still written.
func TestGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := writer(t, path, "h", 0, 3)
	put(t, w, 0, 0)
	put(t, w, 10, 10)
	must(t, w.Flush())
	s := open(t, path, Options{})
	c := s.NewCursor()
	defer c.Close()
	when := at(5)
	must(t, c.SetMode(Interp, &when, 10*time.Second))
	var res pcp.Result
	ctx, ids := context.Background(), []pcp.PMID{instantID, indomID}
	must(t, c.Fetch(ctx, ids, nil, false, &res))
	if err := c.Fetch(ctx, ids, nil, false, &res); !errors.Is(err, pcp.ErrEOL) {
		t.Fatalf("behind the end: %v", err)
	}
	put(t, w, 20, 20)
	must(t, w.InDom(at(30), dom, []pcp.Instance{{Inst: 3, Name: "three"}}))
	res.Reset()
	res.Time = at(30)
	res.AddSet(indomID)
	res.Add(pcp.Int64Value(33).WithInst(3))
	must(t, w.WriteResult(&res))
	must(t, w.Flush())
	if end, err := s.End(); err != nil || end != at(30) {
		t.Errorf("end %v, %v", end, err)
	}
	when = at(20)
	must(t, c.SetMode(Interp, &when, 10*time.Second))
	must(t, c.Fetch(ctx, ids, nil, false, &res))
	if got := line(c, &res); got != "20 | 20 |" {
		t.Error(got)
	}
	must(t, s.Refresh())
	c.Refreshed()
	must(t, c.Fetch(ctx, ids, nil, false, &res))
	if got := line(c, &res); got != "30 | | 3:33" {
		t.Error(got)
	}
	must(t, w.Close())
}

func TestCancel(t *testing.T) {
	s := open(t, sample(t, 3), Options{})
	c := s.NewCursor()
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var res pcp.Result
	if err := c.Fetch(ctx, []pcp.PMID{rareID}, nil, false, &res); !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch: %v", err)
	}
}

// TestDamage replays archives with damage at random places in all modes: it must
// not panic or hang, and its errors must have a status.
func TestDamage(t *testing.T) {
	src := sample(t, 3)
	seed := uint64(1)
	r := rand.New(rand.NewPCG(seed, 0))
	files := []string{".0", ".meta", ".index"}
	good := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(src + f)
		must(t, err)
		good[f] = b
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	opened := 0
	for round := range 500 {
		for _, f := range files {
			must(t, os.WriteFile(path+f, good[f], 0o600))
		}
		f := files[r.IntN(len(files))]
		b := append([]byte(nil), good[f]...)
		if round%5 == 0 {
			b = b[:r.IntN(len(b))]
		} else {
			for range 1 + r.IntN(3) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
		must(t, os.WriteFile(path+f, b, 0o600))
		s, err := Open(path, Options{})
		if err != nil {
			if pcp.Code(err) == 0 {
				t.Fatalf("round %d: %v has no status", round, err)
			}
			continue
		}
		opened++
		play(t, s)
		s.Close()
	}
	if opened < 100 {
		t.Errorf("only %d archives could be opened", opened)
	}
}

// play replays all metrics in all modes.
func play(t testing.TB, s *Set) {
	t.Helper()
	ctx := context.Background()
	var ids []pcp.PMID
	for _, d := range s.Meta().Descs() {
		ids = append(ids, d.PMID)
	}
	var res pcp.Result
	c := s.NewCursor()
	defer c.Close()
	for _, mode := range []Mode{Forw, Back, Interp} {
		for _, step := range []time.Duration{7 * time.Second, -7 * time.Second, 0} {
			for _, from := range []float64{0, 17, 45} {
				when := s.start.Add(time.Duration(from * 1e9))
				must(t, c.SetMode(mode, &when, step))
				for range 8 {
					if err := c.Fetch(ctx, ids, nil, false, &res); err != nil && pcp.Code(err) == 0 {
						t.Fatalf("Fetch: %v has no status", err)
					}
				}
				if mode != Interp {
					if err := c.Next(ctx, false, &res); err != nil && pcp.Code(err) == 0 {
						t.Fatalf("Next: %v has no status", err)
					}
				}
			}
		}
	}
}

// FuzzReplay replays archives of any bytes.
func FuzzReplay(f *testing.F) {
	for _, version := range []int{2, 3} {
		path := sample(f, version)
		var parts [3][]byte
		for i, suffix := range []string{".0", ".meta", ".index"} {
			b, err := os.ReadFile(path + suffix)
			must(f, err)
			parts[i] = b
		}
		f.Add(parts[0], parts[1], parts[2])
	}
	f.Fuzz(func(t *testing.T, data, meta, index []byte) {
		path := filepath.Join(t.TempDir(), "a")
		must(t, os.WriteFile(path+".0", data, 0o600))
		must(t, os.WriteFile(path+".meta", meta, 0o600))
		must(t, os.WriteFile(path+".index", index, 0o600))
		s, err := Open(path, Options{})
		if err != nil {
			return
		}
		defer s.Close()
		play(t, s)
	})
}
