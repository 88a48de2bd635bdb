package bridge

import (
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/mmvtest"
	"github.com/go-pcp/pcp/mmv"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestName(t *testing.T) {
	f := func(foreign, want string) {
		t.Helper()
		if got := Name(foreign); got != want {
			t.Errorf("Name(%q) = %q, want %q", foreign, got, want)
		}
	}
	f("http_requests_total", "http_requests_total")
	f("http.server.duration", "http.server.duration")
	f("job:rate5m", "job_rate5m")
	f("_private", "x_private")
	f("http.5xx", "http.x5xx")
	f("..a..b.", "a.b")
	f("zähler.größe", "z_hler.gr__e")
	f("a b-c/d", "a_b_c_d")
	f("", "x")
	f("...", "x")
	f("\xff\xfe", "x__")
	long := strings.Repeat("abc.", 100)
	got := Name(long)
	if len(got) > nameMax || got == Name(long+"x") || got != Name(long) {
		t.Errorf("Name of %d bytes = %q", len(long), got)
	}
}

func TestNamesCollide(t *testing.T) {
	n := names{}
	f := func(want, name string, suffixes ...string) {
		t.Helper()
		if got := n.take(name, suffixes...); got != want {
			t.Errorf("take(%q, %q) = %q, want %q", name, suffixes, got, want)
		}
	}
	f("a.b", "a.b")
	f("a.b_2", "a.b")
	f("a.b_3", "a.b")
	f("a_2", "a") // a is a group
	f("a.b_c", "a.b.c")
	f("a.b_c_d", "a.b.c.d") // so is a.b_c
	f("a.c", "a.c")
}

func TestNamesOfGroups(t *testing.T) {
	n := names{}
	f := func(want, name string, suffixes ...string) {
		t.Helper()
		if got := n.take(name, suffixes...); got != want {
			t.Errorf("take(%q, %q) = %q, want %q", name, suffixes, got, want)
		}
	}
	f("h", "h", ".count", ".sum")
	f("h_2", "h")
	f("h_3", "h", ".count", ".sum") // h.count is taken, h_2 a metric
	f("p", "p", "_count", "_sum")
	f("p", "p") // p_count and p_sum are next to it
	f("p_count_2", "p_count")
	f("p_x", "p.x")
}

func TestInstances(t *testing.T) {
	f := func(want string, labels ...Label) {
		t.Helper()
		if got := instanceName(string(appendInstance(nil, labels))); got != want {
			t.Errorf("instance of %q = %q, want %q", labels, got, want)
		}
	}
	f("{}")
	f("code=200", Label{"code", "200"})
	f("code=200,method=GET", Label{"code", "200"}, Label{"method", "GET"})
	f(`a=1\,b\=2`, Label{"a", "1,b=2"})
	f("a=", Label{"a", ""})
	f(`a=\x00\x0a\xff\\é`, Label{"a", "\x00\n\xff\\é"})
	f("a,b=c", Label{"", "a,b=c"})
	f("{}", Label{"", ""})

	long := strings.Repeat("ü", 300)
	one := instanceName(string(appendInstance(nil, []Label{{"a", long + "1"}})))
	two := instanceName(string(appendInstance(nil, []Label{{"a", long + "2"}})))
	if len(one) > instMax || one == two || !strings.HasPrefix(one, "a=üü") || strings.ContainsRune(one, '\uFFFD') {
		t.Errorf("instances of long values: %q, %q", one, two)
	}
}

func TestUnits(t *testing.T) {
	f := func(name string, counter bool, want string) {
		t.Helper()
		if got := UnitsOfName(name, counter).String(); got != want {
			t.Errorf("units of %s = %q, want %q", name, got, want)
		}
	}
	f("process_cpu_seconds_total", true, "sec")
	f("go_memstats_alloc_bytes", false, "byte")
	f("http_requests_total", true, "count")
	f("temperature_celsius", false, "temperature (C)")
	f("goroutines", false, "")
	f("wait_milliseconds", false, "millisec")
	f("sent_bytes_per_seconds", false, "")
	f("bytes", false, "byte")
	f("cpu-seconds", true, "sec")

	u := func(code, want string, factor float64, ok bool) {
		t.Helper()
		units, gotFactor, gotOK := UCUM(code)
		if units.String() != want || math.Abs(gotFactor-factor) > 1e-12 || gotOK != ok {
			t.Errorf("UCUM(%q) = %q, %v, %v, want %q, %v, %v", code, units, gotFactor, gotOK, want, factor, ok)
		}
	}
	u("By", "byte", 1, true)
	u("MiBy", "Mbyte", 1, true)
	u("kBy", "byte", 1000, true)
	u("s", "sec", 1, true)
	u("d", "hour", 24, true)
	u("1", "", 1, true)
	u("{request}", "count", 1, true)
	u("{request}/s", "count / sec", 1, true)
	u("By/ms", "byte / millisec", 1, true)
	u("kBy/d", "byte / hour", 1000.0/24, true)
	u("s/s", "", 1, false)
	u("Cel", "temperature (C)", 1, true)
	u("", "", 1, false)
	u("/", "", 1, false)
}

func TestExporter(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	n, keys, fail := int64(0), []string{"a", "b"}, error(nil)
	e := Start(reg, Options{Prefix: "p", Interval: time.Hour}, func(s *Sink) error {
		n++
		s.Metric("n", func() Def {
			return Def{Name: "n", Help: "How often.\nAnd more.", Type: mmv.TypeI64, Sem: pcp.SemCounter, Single: true}
		}).SetInt(n)
		for _, k := range keys {
			s.Metric("f", func() Def { return Def{Name: "f", Type: mmv.TypeDouble, Sem: pcp.SemInstant} }).
				Set(float64(n)/2, Label{"k", k})
		}
		return fail
	})
	check := func(want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, mmvtest.Values(t, reg)); diff != "" {
			t.Error(diff)
		}
	}
	check(map[string]string{"p.n": "1", "p.f[k=a]": "0.5", "p.f[k=b]": "0.5"})
	keys = []string{"b", "c"}
	if err := e.Refresh(); err != nil {
		t.Error(err)
	}
	check(map[string]string{"p.n": "2", "p.f[k=a]": "NaN", "p.f[k=b]": "1", "p.f[k=c]": "1"})

	// A round with an error does not remove values.
	fail, keys = errors.New("no"), nil
	if err := e.Refresh(); err != fail || e.Err() != fail {
		t.Errorf("Refresh = %v, Err = %v", err, e.Err())
	}
	check(map[string]string{"p.n": "3", "p.f[k=a]": "NaN", "p.f[k=b]": "1", "p.f[k=c]": "1"})
	fail, keys = nil, []string{"a", "b", "c"}
	e.Stop()
	e.Stop()
	check(map[string]string{"p.n": "4", "p.f[k=a]": "2", "p.f[k=b]": "2", "p.f[k=c]": "2"})
	if err := e.Err(); err != nil {
		t.Error(err)
	}
	want := []string{`{"k":"a"}`, `{"k":"b"}`, `{"k":"c"}`}
	if diff := cmp.Diff(want, mmvtest.Labels(t, reg)); diff != "" {
		t.Error(diff)
	}
}

// A registry may be closed before its exporters.
func TestClosed(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	n := 0
	e := Start(reg, Options{Interval: time.Millisecond}, func(s *Sink) error {
		n++
		s.Metric("old", func() Def { return Def{Name: "old", Type: mmv.TypeI64} }).SetInt(int64(n), Label{"n", "all"})
		s.Metric(n, func() Def { return Def{Name: "new", Type: mmv.TypeI64} }).SetInt(1, Label{"n", "all"})
		return nil
	})
	reg.Close()
	e.Refresh()
	e.Refresh()
	e.Stop()
	if err := reg.Err(); err != nil {
		t.Error(err)
	}
}

func TestInterval(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	rounds := make(chan bool, 100)
	e := Start(reg, Options{Interval: time.Millisecond}, func(*Sink) error {
		select {
		case rounds <- true:
		default:
		}
		return nil
	})
	for range 5 {
		<-rounds
	}
	e.Stop()
}

// Instances are limited by the option, labels by the format; neither is an error
// of the registry.
func TestBounds(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	fill := func(s *Sink) error {
		m := s.Metric("f", func() Def { return Def{Name: "f", Type: mmv.TypeU64, Sem: pcp.SemCounter} })
		for i := range 400 {
			m.SetUint(uint64(i), Label{"k", strings.Repeat("x", i)})
		}
		return nil
	}
	e := Start(reg, Options{MaxInstances: 300}, fill)
	e.Stop()
	if err := e.Err(); !errors.Is(err, -pcp.Error(syscall.ENOSPC)) {
		t.Errorf("Err = %v", err)
	}
	if err := reg.Err(); err != nil {
		t.Errorf("registry: %v", err)
	}
	if n := len(mmvtest.Values(t, reg)); n != 300 {
		t.Errorf("%d instances, want 300", n)
	}
	// Instances with values too long for a label have no label.
	if n := len(mmvtest.Labels(t, reg)); n < 200 || n > 255 {
		t.Errorf("%d labels", n)
	}
}

func TestRefreshDoesNotAllocate(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	s := NewSink(reg, Options{})
	labels := []Label{{"code", "200"}, {"method", "GET"}}
	bounds, counts := []float64{.1, 1, 10}, []uint64{1, 2, 3}
	m := s.Metric(1, func() Def { return Def{Name: "m", Type: mmv.TypeDouble, Sem: pcp.SemInstant} })
	h := s.Histogram(2, ".", func() Def { return Def{Name: "h"} })
	if n := testing.AllocsPerRun(100, func() {
		s.Begin()
		m.Set(1, labels...)
		h.Set(4, 20, bounds, counts, labels...)
		s.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzName(f *testing.F) {
	f.Add("a.b", "k", "v")
	f.Add("..1", "\x00", "\xff,=\\")
	f.Fuzz(func(t *testing.T, name, k, v string) {
		reg := mmvtest.New(t, "a", mmv.Options{})
		s := NewSink(reg, Options{Prefix: name})
		s.Metric(1, func() Def { return Def{Name: name, Help: v, Type: mmv.TypeDouble} }).Set(1, Label{k, v})
		s.Metric(2, func() Def { return Def{Name: name, Help: k, Type: mmv.TypeString} }).SetString(v, Label{v, k})
		if err := s.Err(); err != nil {
			t.Error(err)
		}
		if n := len(mmvtest.Values(t, reg)); n != 2 {
			t.Errorf("%d values", n)
		}
	})
}
