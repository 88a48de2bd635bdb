package mmv

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("MMV_TEST_CHILD"); path != "" {
		child(path)
	}
	dir, err := os.MkdirTemp("", "mmvtest")
	if err != nil {
		panic(err)
	}
	makePath = dir + "/mmvmake"
	os.Setenv("TMPDIR", dir) // of examples, which leave files behind
	// A default, which -fuzzminimizetime overrides. Go's own, a minute for each input that reaches new code,
	// leaves no time for anything else: inputs of a few kilobytes have millions of parts to remove.
	flag.Set("test.fuzzminimizetime", "100x")
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// newRegistry makes a registry that the test closes.
func newRegistry(t testing.TB, opt Options) *Registry {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = t.TempDir()
	}
	if opt.MaxValues == 0 {
		opt.MaxValues = 1 << 12
	}
	reg, err := New("test", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	return reg
}

// dump reads a file: a line for each value, METRIC[INSTANCE] VALUE.
func dump(t testing.TB, path string) []string {
	t.Helper()
	fd, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer fd.Close()
	f, err := Open(path)
	for tries := 0; errors.Is(err, ErrInFlux) && tries < 1000; tries++ {
		f, err = Open(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Problems) > 0 {
		t.Fatalf("%s: %v", path, f.Problems)
	}
	_, raw, err := f.ReadValues(fd, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range f.Metrics {
		for _, v := range m.Values {
			inst := ""
			for _, d := range f.InDoms {
				if i := slices.IndexFunc(d.Instances, func(in pcp.Instance) bool { return in.Inst == v.Inst }); d.Serial == m.InDom && i >= 0 {
					inst = "[" + d.Instances[i].Name + "]"
				}
			}
			r := raw[v.Index]
			value := fmt.Sprint(r.Bits)
			switch m.Type {
			case TypeDouble:
				value = fmt.Sprint(math.Float64frombits(r.Bits))
			case TypeI64:
				value = fmt.Sprint(int64(r.Bits))
			case TypeString:
				if value, err = f.ReadText(fd, v.Index); err != nil {
					t.Error(err)
				}
			}
			lines = append(lines, m.Name+inst+" "+value)
		}
	}
	return lines
}

func wantDump(t *testing.T, reg *Registry, want ...string) {
	t.Helper()
	if err := reg.Err(); err != nil {
		t.Error(err)
	}
	if got := dump(t, reg.Path()); !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", reg.Path(), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHandles counts with every kind of handle, in both kinds of file.
func TestHandles(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		t.Run(fmt.Sprintf("fixed=%v", fixed), func(t *testing.T) {
			reg := newRegistry(t, Options{Fixed: fixed})
			d := reg.InDom(InDomDef{Instances: []string{"a", "b"}})
			c := reg.Counter(Metric{Name: "c"})
			g := reg.Gauge(Metric{Name: "g"})
			i := reg.IntGauge(Metric{Name: "i"})
			tm := reg.Timer(Metric{Name: "t"})
			s := reg.String(Metric{Name: "s"})
			cv := reg.CounterVec(Metric{Name: "cv", InDom: d})
			sv := reg.StringVec(Metric{Name: "sv", InDom: d})
			c.Inc() // before Start as well
			s.Set("early")
			cv.With("b").Add(2)
			if err := reg.Start(); err != nil {
				t.Fatal(err)
			}
			wantDump(t, reg, "c 1", "g 0", "i 0", "t 0", "s early", "cv[a] 0", "cv[b] 2", "sv[a] ", "sv[b] ")
			c.Add(4)
			g.Set(1.5)
			g.Add(-4)
			i.Dec()
			i.Add(-6)
			tm.Add(time.Microsecond)
			tm.Add(-time.Second)
			s.Set("late")
			s.Set("later\x00cut")
			own := cv.With("a").Own()
			own.Inc()
			own.Add(9)
			sv.With("b").Set(strings.Repeat("é", 200))
			wantDump(t, reg, "c 5", "g -2.5", "i -7", "t 1000", "s later", "cv[a] 10", "cv[b] 2", "sv[a] ", "sv[b] "+strings.Repeat("é", 127))
			if c.Value() != 5 || g.Value() != -2.5 || i.Value() != -7 || tm.Value() != 1000 || s.Value() != "later" || sv.With("a").Value() != "" {
				t.Error(c.Value(), g.Value(), i.Value(), tm.Value(), s.Value())
			}
			reg.Close()
			if _, err := os.Stat(reg.Path()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after Close the file: %v", err)
			}
			c.Inc()
			s.Set("nowhere")
			cv.With("c").Inc()
			if s.Value() == "" || reg.Err() != nil {
				t.Errorf("after Close: %q, %v", s.Value(), reg.Err())
			}
		})
	}
}

func TestNil(t *testing.T) {
	var reg *Registry
	reg.Close()
	reg.Lookup("a", "b").Inc()
	var c *Counter
	c.Inc()
	c.Own().Inc()
	var v *CounterVec
	v.With("x").Add(1)
	v.WithLabels("x").Add(1)
	var h *Histogram
	h.Observe(1)
	var hv *HistogramVec
	hv.With("x").Observe(1)
	var s *String
	s.Set("x")
	var e *Elapsed
	e.Start()
	e.End()
	var g *Gauge
	g.Set(1)
	g.Add(1)
	var x *Value
	x.SetString("x")
	x.Set(1)
	x.Start()
	x.End()
	var own *OwnCounter
	own.Inc()
	if c.Value() != 0 || s.Value() != "" || e.Value() != 0 || x.String() != "" {
		t.Error("nil handles have values")
	}
}

// TestGrow adds metrics, domains, instances and labels at random and reads
// the file again and again.
func TestGrow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	reg := newRegistry(t, Options{MaxValues: 20000})
	var want []string // METRIC[INSTANCE] VALUE
	type vec struct {
		name  string
		inDom int
		*CounterVec
	}
	var inDoms []*InDom
	var insts [][]string
	var vecs []vec
	value := uint64(0)
	set := func(v vec, inst string) {
		value++
		v.With(inst).Set(value)
		want = append(want, fmt.Sprintf("%s[%s] %d", v.name, inst, value))
	}
	for i := range 400 {
		switch k := r.IntN(10); {
		case k == 0 || len(inDoms) == 0:
			inDoms = append(inDoms, reg.InDom(InDomDef{OneLine: "domain", Labels: []Label{{Name: "n", Value: i}}}))
			insts = append(insts, nil)
		case k == 1 || len(vecs) == 0:
			d := r.IntN(len(inDoms))
			v := vec{fmt.Sprintf("m%d", i), d, reg.CounterVec(Metric{Name: fmt.Sprintf("m%d", i), InDom: inDoms[d], Help: "help"})}
			vecs = append(vecs, v)
			for _, inst := range insts[d] {
				set(v, inst)
			}
		case k == 2:
			value++
			reg.Counter(Metric{Name: fmt.Sprintf("m%d", i)}).Set(value)
			want = append(want, fmt.Sprintf("m%d %d", i, value))
		default:
			d := r.IntN(len(inDoms))
			inst := fmt.Sprintf("instance %d", i)
			if _, err := inDoms[d].Add(inst); err != nil {
				t.Fatal(err)
			}
			insts[d] = append(insts[d], inst)
			for _, v := range vecs {
				if v.inDom == d {
					set(v, inst)
				}
			}
		}
		if i%20 == 19 && len(want) > 0 {
			got := dump(t, reg.Path())
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("step %d: %d values, want %d", i, len(got), len(want))
			}
		}
	}
	if err := reg.Err(); err != nil {
		t.Error(err)
	}
}

// TestExactTotals adds 100,000 instances during counts and reads: no count is
// lost, and each reader sees complete files whose counts never fall.
func TestExactTotals(t *testing.T) {
	const instances, writers = 100000, 4
	reg := newRegistry(t, Options{MaxValues: 2*instances + 2})
	d := reg.InDom(InDomDef{})
	v := reg.CounterVec(Metric{Name: "v", InDom: d})
	w := reg.CounterVec(Metric{Name: "w", InDom: d})
	shared := reg.Counter(Metric{Name: "shared"})
	own := reg.Counter(Metric{Name: "own"})

	var writing, reading sync.WaitGroup
	var done atomic.Bool
	var reads atomic.Int64
	for range 2 {
		reading.Go(func() {
			var highest uint64
			for last := false; !last; {
				last = done.Load()
				sum, _, err := readTotals(reg.Path())
				if err != nil {
					t.Error(err)
					return
				}
				if sum < highest {
					t.Errorf("the sum fell from %d to %d", highest, sum)
				}
				highest = sum
				reads.Add(1)
				time.Sleep(time.Millisecond) // the writers need the time
			}
		})
	}
	writing.Go(func() {
		own := own.Own()
		for range 10 * instances {
			own.Inc()
		}
	})
	for g := range writers {
		writing.Go(func() {
			for i := range instances {
				name := fmt.Sprintf("instance %d", i)
				v.With(name).Inc()
				w.With(name).Add(2)
				shared.Inc()
				if i%1000 == g {
					v.With("instance 0").Inc()
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	sum, n, err := readTotals(reg.Path())
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(writers*instances*(1+2+1) + writers*instances/1000 + 10*instances)
	if sum != want || n != 2*instances+2 {
		t.Errorf("%d in %d values, want %d in %d", sum, n, want, 2*instances+2)
	}
	for i := range instances {
		name := fmt.Sprintf("instance %d", i)
		if a, b := v.With(name).Value(), w.With(name).Value(); i > 0 && a != writers || b != 2*writers {
			t.Fatalf("%s: %d, %d", name, a, b)
		}
	}
	if reads.Load() == 0 {
		t.Error("the file was never read")
	}
	t.Logf("read %d times", reads.Load())
}

// readTotals returns the sum of all values of a file.
func readTotals(path string) (sum uint64, n int, err error) {
	var f *File
	for {
		if f, err = Open(path); !errors.Is(err, ErrInFlux) {
			break
		}
		time.Sleep(time.Microsecond)
	}
	if err == nil && len(f.Problems) > 0 {
		err = f.Problems[0]
	}
	if err != nil {
		return 0, 0, err
	}
	fd, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer fd.Close()
	_, raw, err := f.ReadValues(fd, nil, nil)
	for _, m := range f.Metrics {
		for _, v := range m.Values {
			sum += raw[v.Index].Bits
			n++
		}
	}
	return sum, n, err
}

// TestTornStrings sets a string as fast as it can while others read it.
func TestTornStrings(t *testing.T) {
	reg := newRegistry(t, Options{})
	s := reg.String(Metric{Name: "s"})
	f, err := Open(reg.Path())
	if err != nil {
		t.Fatal(err)
	}
	fd, err := os.Open(reg.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer fd.Close()
	var done atomic.Bool
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			texts := []string{strings.Repeat("a", 255), strings.Repeat("b", 200), "c", strings.Repeat("d", 255), "", strings.Repeat("e", 254), "ffff"}
			for i := g; !done.Load(); i++ {
				s.Set(texts[i%len(texts)])
			}
		})
	}
	n := 0
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; n++ {
		got, err := f.ReadText(fd, 0)
		if errors.Is(err, ErrInFlux) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got != "" && strings.Trim(got, got[:1]) != "" {
			t.Fatalf("torn: %q", got)
		}
		if want := map[byte]int{'a': 255, 'b': 200, 'c': 1, 'd': 255, 'e': 254, 'f': 4}; got != "" && len(got) != want[got[0]] {
			t.Fatalf("torn: %d of %q", len(got), got[0])
		}
	}
	done.Store(true)
	wg.Wait()
	t.Logf("read %d times", n)
}

func TestCloseWhileCounting(t *testing.T) {
	for range 20 {
		reg := newRegistry(t, Options{})
		v := reg.CounterVec(Metric{Name: "v"})
		s := reg.String(Metric{Name: "s"})
		h := reg.HistogramVec(Metric{Name: "h"})
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 200 {
					name := fmt.Sprint(g, i)
					v.With(name).Inc()
					s.Set(name)
					if i%20 == 0 {
						h.With(name).Observe(int64(i))
					}
				}
			})
		}
		reg.Close()
		wg.Wait()
		reg.Close()
	}
}

// TestReplaced checks that the file of a program that started later is left alone.
func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	old := newRegistry(t, Options{Dir: dir})
	old.Counter(Metric{Name: "old"})
	later := newRegistry(t, Options{Dir: dir})
	later.Counter(Metric{Name: "later"})
	beside, err := New("beside", Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	beside.Counter(Metric{Name: "later"}).Inc()
	old.Close()
	wantDump(t, later, "later 0")
	wantDump(t, beside, "later 1")
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%d files are left", len(files))
	}
}

func TestDirectories(t *testing.T) {
	taken := t.TempDir()
	if err := os.MkdirAll(taken+"/test/below", 0o755); err != nil {
		t.Fatal(err)
	}
	fixed := newRegistry(t, Options{Dir: taken, Fixed: true})
	c, s := fixed.Counter(Metric{Name: "c"}), fixed.String(Metric{Name: "s"})
	if err := fixed.Start(); err == nil {
		t.Error("a directory was replaced")
	}
	c.Inc()
	s.Set("x")
	fixed.Counter(Metric{Name: "d"}).Inc()
	if _, err := New("test", Options{Dir: taken}); err == nil {
		t.Error("a directory was replaced")
	}
	if files, _ := os.ReadDir(taken); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	if _, err := New("a", Options{Dir: t.TempDir() + "/missing"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is missing: %v", err)
	}
	for _, name := range []string{"", ".hidden", "a/b", "../a"} {
		if _, err := New(name, Options{Dir: t.TempDir()}); err == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
	stale := t.TempDir()
	for _, name := range []string{".a.%d.0", ".a.%d.1"} {
		if err := os.MkdirAll(fmt.Sprintf(stale+"/"+name+"/below", os.Getpid()), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	reg, err := New("a", Options{Dir: stale})
	if err != nil {
		t.Fatalf("with what is in the way of the temporary file: %v", err)
	}
	reg.Close()
	abs := t.TempDir() + "/x"
	reg, err = New(abs, Options{Dir: "/missing"})
	if err != nil || reg.Path() != abs {
		t.Fatalf("an absolute path: %v", err)
	}
	reg.Close()
}

func TestDefaultDir(t *testing.T) {
	home, tmp := t.TempDir(), t.TempDir()
	if err := os.WriteFile(home+"/pcp.conf", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "PCP_TMP_DIR": tmp, "PCP_CONF": home + "/pcp.conf"}
	f := func(want string) {
		t.Helper()
		if dir, err := DefaultDir(config.New(func(k string) string { return env[k] })); err != nil || dir != want {
			t.Errorf("DefaultDir = %q, %v; want %q", dir, err, want)
		}
	}
	f(home + "/.local/state/pcp/mmv")
	env["XDG_STATE_HOME"] = home + "/state"
	f(home + "/state/pcp/mmv")
	if err := os.Mkdir(tmp+"/mmv", 0o755); err != nil {
		t.Fatal(err)
	}
	f(tmp + "/mmv")
	env["PCP_TMP_DIR"], env["XDG_STATE_HOME"], env["HOME"] = home, "", ""
	if dir, err := DefaultDir(config.New(func(k string) string { return env[k] })); err == nil {
		t.Errorf("without a home: %q", dir)
	}
}

// TestRefused checks each limit, and counts with refused handles.
func TestRefused(t *testing.T) {
	f := func(name string, want syscall.Errno, define func(*Registry)) {
		t.Helper()
		for _, fixed := range []bool{false, true} {
			reg := newRegistry(t, Options{Fixed: fixed, MaxValues: 2000})
			define(reg)
			err := reg.Err()
			var sts pcp.Error
			if errors.As(err, &sts); syscall.Errno(-sts) != want {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	}
	f("fine", 0, func(r *Registry) {
		d := r.InDom(InDomDef{Serial: MaxSerial, OneLine: long("t", 255), Help: long("t", 255)})
		r.CounterVec(Metric{Name: long("n", 255), Item: MaxItem, InDom: d}).With(long(" \n/é", 255)).Inc()
		r.Counter(Metric{Name: "a", Item: ItemZero}).Inc()
	})
	f("name", syscall.E2BIG, func(r *Registry) { r.Counter(Metric{Name: long("n", 256)}).Inc() })
	for _, name := range []string{"", ".", "a.", "a..b", "1a", "a.1", "a b", "a-b", "é", "_a"} {
		f("name "+name, syscall.EINVAL, func(r *Registry) { r.GaugeVec(Metric{Name: name}).With("x").Set(1) })
	}
	f("help", syscall.E2BIG, func(r *Registry) { r.String(Metric{Name: "a", Help: long("h", 256)}).Set("x") })
	f("help with NUL", syscall.EINVAL, func(r *Registry) { r.String(Metric{Name: "a", Help: "a\x00"}).Set("x") })
	f("item 1024", syscall.EINVAL, func(r *Registry) { r.Counter(Metric{Name: "a", Item: 1024}).Inc() })
	f("item -2", syscall.EINVAL, func(r *Registry) { r.Counter(Metric{Name: "a", Item: -2}).Inc() })
	f("item twice", syscall.EEXIST, func(r *Registry) {
		r.Counter(Metric{Name: "a", Item: 1})
		r.Counter(Metric{Name: "b", Item: 1}).Own().Inc()
	})
	f("name twice", syscall.EEXIST, func(r *Registry) {
		r.Counter(Metric{Name: "a"})
		r.HistogramVec(Metric{Name: "a"})
		r.Elapsed(Metric{Name: "a"}).Start()
	})
	f("serial", syscall.ESRCH, func(r *Registry) {
		d := r.InDom(InDomDef{Serial: MaxSerial + 1})
		d.Add("x")
		r.CounterVec(Metric{Name: "a", InDom: d}).With("x").Inc()
	})
	f("serial twice", syscall.EEXIST, func(r *Registry) { r.InDom(InDomDef{Serial: 1}); r.InDom(InDomDef{Serial: 1}) })
	f("domain of another", syscall.ESRCH, func(r *Registry) {
		other := newRegistry(t, Options{})
		r.CounterVec(Metric{Name: "a", InDom: other.InDom(InDomDef{})}).With("x").Inc()
	})
	f("domain of a single value", syscall.EINVAL, func(r *Registry) { r.Counter(Metric{Name: "a", InDom: r.InDom(InDomDef{})}).Inc() })
	for name, want := range map[string]syscall.Errno{"": syscall.EINVAL, "a\x00b": syscall.EINVAL, long("x", 256): syscall.E2BIG} {
		f("instance", want, func(r *Registry) { r.CounterVec(Metric{Name: "a"}).With(name).Inc() })
	}
	f("1023 metrics", 0, func(r *Registry) {
		for i := range maxMetrics {
			r.Counter(Metric{Name: fmt.Sprintf("m%d", i)})
		}
	})
	f("1024 metrics", syscall.ENOSPC, func(r *Registry) {
		for i := range maxMetrics + 1 {
			r.Counter(Metric{Name: fmt.Sprintf("m%d", i)}).Inc()
		}
	})
	f("256 labels", syscall.ENOSPC, func(r *Registry) {
		v := r.CounterVec(Metric{Name: "m"})
		for i := range maxFileLabels + 1 {
			v.WithLabels(fmt.Sprint(i), Label{Name: "a", Value: i}).Inc()
		}
	})
	f("label", syscall.EINVAL, func(r *Registry) { r.Counter(Metric{Name: "a", Labels: []Label{{Name: "a.b", Value: 1}}}) })
	f("label without JSON", syscall.EINVAL, func(r *Registry) { r.InDom(InDomDef{Labels: []Label{{Name: "a", Value: func() {}}}}) })

	reg := newRegistry(t, Options{MaxValues: 100})
	v := reg.CounterVec(Metric{Name: "v"})
	for i := range 200 {
		v.With(fmt.Sprint(i)).Inc()
	}
	if err := reg.Err(); !errors.Is(err, errTooMany) {
		t.Errorf("200 instances where there is room for 100: %v", err)
	}
	if got := dump(t, reg.Path()); len(got) != 100 || got[99] != "v[99] 1" {
		t.Errorf("%d values, the last %v", len(got), got[len(got)-1])
	}
	for _, opt := range []Options{{Cluster: -1}, {Cluster: MaxCluster + 1}, {MaxValues: -1}, {MaxValues: maxFileValues + 1}} {
		opt.Dir = t.TempDir()
		if _, err := New("a", opt); !errors.Is(err, errInvalid) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	fixed := newRegistry(t, Options{Fixed: true})
	fixed.Counter(Metric{Name: "a"})
	if err := fixed.Start(); err != nil {
		t.Fatal(err)
	}
	if err := fixed.AddLabel(Label{Name: "a", Value: 1}); !errors.Is(err, errStarted) {
		t.Errorf("a label after Start: %v", err)
	}
	if fixed.Start() == nil {
		t.Error("Start twice")
	}
	fixed.Counter(Metric{Name: "b"}).Inc()
	if !errors.Is(fixed.Err(), errStarted) {
		t.Errorf("a metric after Start: %v", fixed.Err())
	}
}

// TestInstanceNumbers assigns numbers in addition to those that the program chose.
func TestInstanceNumbers(t *testing.T) {
	reg := newRegistry(t, Options{})
	d := reg.InDom(InDomDef{})
	v := reg.CounterVec(Metric{Name: "v", InDom: d})
	for _, in := range []pcp.Instance{{Inst: 7, Name: "seven"}, {Inst: 3, Name: "three"}, {Inst: math.MaxInt32, Name: "max"}} {
		if err := d.AddInstance(in.Inst, in.Name); err != nil {
			t.Error(err)
		}
	}
	if err := d.AddInstance(3, "again"); !errors.Is(err, errExist) {
		t.Errorf("number twice: %v", err)
	}
	if err := d.AddInstance(4, "seven"); !errors.Is(err, errExist) {
		t.Errorf("name twice: %v", err)
	}
	v.With("next").Inc()
	if n, err := d.Add("next"); err != nil || n != 0 {
		t.Errorf("Add = %d, %v", n, err)
	}
	wantDump(t, reg, "v[seven] 0", "v[three] 0", "v[max] 0", "v[next] 1")
}

// TestElapsed reads an elapsed time while its section is open.
func TestElapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := newRegistry(t, Options{})
		e := reg.Elapsed(Metric{Name: "e"})
		e.End()
		e.Start()
		time.Sleep(1500 * time.Microsecond)
		if e.Value() != 1500*time.Microsecond || e.rec[0] != 0 || int64(e.rec[1]) >= 0 {
			t.Errorf("in an open section: %v, %d", e.Value(), e.rec)
		}
		e.End()
		time.Sleep(time.Second)
		e.Start()
		e.Start() // ends the previous one
		time.Sleep(time.Millisecond)
		v := reg.Lookup("e")
		v.End()
		if e.Value() != 2500*time.Microsecond || v.String() != "2500" || e.rec[0] != 2500 || e.rec[1] != 0 {
			t.Errorf("after sections: %v, %d", e.Value(), e.rec)
		}
		v.SetInt(5)
		v.Start()
		v.AddInt(-time.Now().UnixMicro()) // as started by the C library
		time.Sleep(time.Millisecond)
		v.Add(float64(time.Now().UnixMicro()))
		if v.String() != "1005" {
			t.Errorf("by additions: %s", v)
		}
		reg.Close()
	})
}

// TestValue updates a value of each type.
func TestValue(t *testing.T) {
	reg := newRegistry(t, Options{})
	f := func(typ Type, want ...string) {
		t.Helper()
		v := reg.Value(Metric{Name: fmt.Sprintf("v%d", typ+1)}, typ)
		var got []string
		for _, update := range []func(){
			v.Inc,
			func() { v.AddInt(-3) },
			func() { v.SetUint(math.MaxUint64) },
			func() { v.Set(2.75) },
			func() { v.Add(-1.5) },
			func() { v.AddUint(1 << 40) },
			func() { v.Set(math.Inf(1)) },
			func() { v.SetString("text") },
		} {
			update()
			got = append(got, v.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("type %d: %q, want %q", typ, got, want)
		}
	}
	f(TypeI32, "1", "-2", "-1", "2", "1", "1", "-1", "-1")
	f(TypeU32, "1", "4294967294", "4294967295", "2", "1", "1", "4294967295", "4294967295")
	f(TypeI64, "1", "-2", "-1", "2", "1", "1099511627777", "-1", "-1")
	f(TypeU64, "1", "18446744073709551614", "18446744073709551615", "2", "1", "1099511627777", "18446744073709551615", "18446744073709551615")
	f(TypeFloat, "1", "-2", "1.8446744e+19", "2.75", "1.25", "1.0995116e+12", "+Inf", "+Inf")
	f(TypeDouble, "1", "-2", "1.8446744073709552e+19", "2.75", "1.25", "1.09951162777725e+12", "+Inf", "+Inf")
	f(TypeString, "", "", "", "", "", "", "", "text")
	f(TypeNoSupport, "", "", "", "", "", "", "", "")
}

// TestHistogram compares statistics with those computed from the numbers.
func TestHistogram(t *testing.T) {
	reg := newRegistry(t, Options{MaxValues: 1 << 12, Refresh: time.Hour})
	vec := reg.HistogramVec(Metric{Name: "h"})
	r := rand.New(rand.NewPCG(3, 4))
	for name, draw := range map[string]func() int64{
		"small": func() int64 { return r.Int64N(100) },
		"wide":  func() int64 { return int64(math.Exp(r.Float64() * 43)) },
		"same":  func() int64 { return 1e9 + 1 },
		"huge":  func() int64 { return math.MaxInt64 - r.Int64N(3) },
		"none":  func() int64 { return -5 },
	} {
		const n = 20000
		h := vec.With(name)
		var all []int64
		var sum, squares float64
		var total uint64
		for range n {
			v := draw()
			h.Observe(v)
			v = max(v, 0)
			all = append(all, v)
			sum += float64(v)
			total += uint64(v)
		}
		slices.Sort(all)
		mean := sum / n
		for _, v := range all {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		reg.Flush()
		stat := func(s string) float64 { return vec.stats.With(name + "::" + s).Value() }
		near := func(s string, want, tolerance float64) {
			t.Helper()
			if got := stat(s); math.Abs(got-want) > tolerance*math.Abs(want)+1e-9 {
				t.Errorf("%s: %s is %v, want %v", name, s, got, want)
			}
		}
		near("min", float64(all[0]), 0)
		near("max", float64(all[n-1]), 0)
		if name != "huge" && name != "wide" { // whose sums wrap
			near("mean", mean, 1e-9)
		}
		if name == "small" {
			near("stddev", math.Sqrt(squares/n), 0.01)
		}
		for i, q := range statQuantiles {
			near(statNames[firstQuantile+i], float64(all[int(math.Ceil(q*n))-1]), 1./subSize)
		}
		if h.count.Value() != n || h.sum.Value() != total {
			t.Errorf("%s: count %d, sum %d, want %d", name, h.count.Value(), h.sum.Value(), total)
		}
	}
	if err := reg.Err(); err != nil {
		t.Error(err)
	}
	for b := range octaves * subSize {
		o, sub := b>>subBits, b&(subSize-1)
		if o2, sub2 := bucketOf(int64(bucketMiddle(o, sub))); bucketMiddle(o, sub) < 1<<62 && (o2 != o || sub2 != sub) {
			t.Fatalf("the middle %v of bucket %d, %d is in %d, %d", bucketMiddle(o, sub), o, sub, o2, sub2)
		}
	}
}

// TestRefresh waits for statistics to appear by themselves.
func TestRefresh(t *testing.T) {
	reg := newRegistry(t, Options{Refresh: time.Millisecond})
	reg.Histogram(Metric{Name: "h"}).Observe(42)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if slices.Contains(dump(t, reg.Path()), "h.stats[p99] 42") {
			return
		}
	}
	t.Error("no statistics after a minute")
}

// TestAllocs checks that hot paths do not allocate.
func TestAllocs(t *testing.T) {
	reg := newRegistry(t, Options{})
	c := reg.Counter(Metric{Name: "c"})
	g := reg.Gauge(Metric{Name: "g"})
	tm := reg.Timer(Metric{Name: "t"})
	e := reg.Elapsed(Metric{Name: "e"})
	s := reg.String(Metric{Name: "s"})
	v := reg.CounterVec(Metric{Name: "v"})
	h := reg.HistogramVec(Metric{Name: "h"})
	own := v.With("own").Own()
	h.With("x").Observe(1000)
	for name, f := range map[string]func(){
		"counter": c.Inc, "gauge": func() { g.Set(1); g.Add(1) }, "timer": func() { tm.Since(time.Time{}) },
		"elapsed": func() { e.Start(); e.End() }, "string": func() { s.Set("text") },
		"with": func() { v.With("own").Inc() }, "own": own.Inc, "histogram": func() { h.With("x").Observe(1000) },
		"lookup": func() { reg.Lookup("v", "nobody", "own").Add(1) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
