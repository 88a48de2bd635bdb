package pmapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

func TestParseWanted(t *testing.T) {
	f := func(text string, want wanted) {
		t.Helper()
		got, err := parseWanted(text)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(wanted{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	bad := func(text string, offset int, msg string) {
		t.Helper()
		_, err := parseWanted(text)
		var se *SpecError
		if !errors.As(err, &se) || se.Offset != offset || se.Msg != msg {
			t.Errorf("%s: %v, want offset %d: %s", text, err, offset, msg)
		}
	}
	f("a.b", wanted{metric: "a.b"})
	f(" a.b , rate ", wanted{metric: "a.b", scale: "rate"})
	f("a.b[1 minute]", wanted{metric: "a.b", insts: []string{"1 minute"}})
	f(`a.b[ 1 minute , "5, [x] " ,z\],\ ] , Mbyte / s`, wanted{"a.b", []string{"1 minute", "5, [x] ", "z]", " "}, "Mbyte / s"})
	f(`a[x\ ]`, wanted{metric: "a", insts: []string{"x "}})
	bad("", 0, "performance metric name expected")
	bad(" [x]", 1, "performance metric name expected")
	bad("web1:a.b", 4, "unexpected character in metric name")
	bad("a b", 1, "unexpected character in metric name")
	bad("a[x", 3, "closing ] expected")
	bad(`a["x]`, 5, `closing " and ] expected`)
	bad("a[]", 2, "instance name expected")
	bad("a[x]y", 4, "unexpected extra characters")
	bad("a[x],", 5, "rate or units expected")
}

// A changing is a collector whose instances and values come and go.
type changing struct {
	*collector
	mu    sync.Mutex
	insts []pcp.Instance
	conns []net.Conn
	away  bool // connections are refused
	slow  time.Duration
	err   pcp.Error // of demo.count
	start time.Time
}

func newChanging() *changing {
	f := &changing{collector: newCollector(), start: time.Now()}
	f.insts = []pcp.Instance{{Inst: 1, Name: "one"}, {Inst: 2, Name: "two 2"}}
	f.fetch = func(id pcp.PMID, res *pcp.Result) {
		f.mu.Lock()
		slow := f.slow
		f.mu.Unlock()
		time.Sleep(slow)
		f.mu.Lock()
		defer f.mu.Unlock()
		since := time.Since(f.start)
		res.Time = pcp.Timestamp{Sec: 1000 + int64(since/time.Second), Nsec: int32(since % time.Second)}
		switch {
		case id == idCount && f.err < 0:
			res.AddError(id, f.err)
		case id == idCount:
			res.AddSet(id)
			res.Add(pcp.Uint32Value(uint32(10 * since / time.Second)))
		case id == idLoad:
			res.AddSet(id)
			for _, in := range slices.Backward(f.insts) {
				res.Add(pcp.DoubleValue(float64(in.Inst)).WithInst(in.Inst))
			}
		case id == idName:
			res.AddSet(id)
			res.Add(pcp.BytesValue(pcp.TypeString, []byte("wallaby")))
		}
	}
	f.answer = func(s *session, hdr wire.Header, body []byte) bool {
		if hdr.Type != wire.TypeInstanceReq {
			return false
		}
		var req wire.InstanceReq
		if req.DecodeBody(body) != nil {
			return false
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		ans := wire.Instance{InDom: indom}
		for _, in := range f.insts {
			if req.Name == "" && (req.Inst == pcp.InNull || req.Inst == in.Inst) || req.Name == in.Name {
				ans.Instances = append(ans.Instances, in)
			}
		}
		if len(ans.Instances) == 0 {
			return s.status(pcp.ErrInst)
		}
		return s.send(&ans)
	}
	return f
}

func (f *changing) dial(t *testing.T) *Context {
	t.Helper()
	d := f.dialer()
	inner := d.DialContext
	d.Reconnect = []time.Duration{1500 * time.Millisecond}
	d.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.away {
			return nil, errors.New("refused")
		}
		conn, err := inner(ctx, network, addr)
		f.conns = append(f.conns, conn)
		return conn, err
	}
	c, err := d.Dial(t.Context(), "fake")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// set changes the collector.
func (f *changing) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// lose breaks all connections.
func (f *changing) lose() {
	for _, conn := range f.conns {
		conn.Close()
	}
	f.conns = nil
}

// sampleText is a sample in a line.
func sampleText(s Sample, err error) string {
	text := fmt.Sprint(s.Time.Sec)
	for _, v := range s.Values {
		value, _ := v.Value.Text()
		if f, ok := v.Value.Float64(); ok {
			value = fmt.Sprint(f)
		}
		text += " | " + strings.Replace(v.String(), v.Value.String(), value, 1)
	}
	if err != nil {
		text += " ! " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return text
}

// TestSamplesOfHost checks the events of a loop over a live source.
func TestSamplesOfHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newChanging()
		c := f.dial(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		changes := map[int]func(){
			1: func() { f.insts = []pcp.Instance{{Inst: 2, Name: "two 2"}, {Inst: 7, Name: "seven"}} },
			2: func() {
				f.insts = []pcp.Instance{{Inst: 1, Name: "uno"}, {Inst: 8, Name: "two 2"}}
				f.err = pcp.ErrNoAgent
			},
			3: func() { f.err = 0; f.lose(); f.away = true },
			6: func() { f.away = false },
			9: func() { cancel(errors.New("enough")) },
		}
		var got []string
		for s, err := range c.Samples(ctx, SampleOptions{}, "demo.count,rate", "demo.nope", "demo.load", "demo.name", "demo.load[two 2]") {
			if len(got) == 0 {
				c.Close() // the loop has its own context
			}
			got = append(got, sampleText(s, err))
			if change := changes[len(got)]; change != nil {
				f.set(change)
			}
		}
		const text = "demo.name wallaby"
		want := []string{
			"1000 | demo.load[one] 1 | demo.load[two 2] 2 | " + text + " | demo.load[two 2] 2 ! demo.nope: Unknown metric name",
			"1001 | demo.count 10 / sec | demo.load[two 2] 2 | demo.load[seven] 7 | " + text + " | demo.load[two 2] 2",
			// The instance 1 is another one, and two 2 has another number, which shows at
			// the next fetch.
			"1002 | demo.load[uno] 1 | demo.load[two 2] 8 | " + text + " ! demo.count,rate: No PMCD agent for domain of request",
			"LOST", "LOST", "LOST",
		}
		for i := range want {
			if want[i] == "LOST" {
				if i >= len(got) || !strings.HasPrefix(got[i], "0 ! ") {
					t.Errorf("sample %d: %s, want an error", i, got[i])
				}
				got[i] = "LOST"
			}
		}
		want = append(want,
			"1006 | demo.load[uno] 1 | demo.load[two 2] 8 | "+text+" | demo.load[two 2] 8 ! demo.nope: Unknown metric name",
			"1007 | demo.count 10 / sec | demo.load[uno] 1 | demo.load[two 2] 8 | "+text+" | demo.load[two 2] 8",
			"1008 | demo.count 10 / sec | demo.load[uno] 1 | demo.load[two 2] 8 | "+text+" | demo.load[two 2] 8",
			"0 ! enough")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		f.wg.Wait() // all connections are closed
	})
}

// After a sample that takes too long, those due meanwhile are skipped, and nothing is
// delayed.
func TestSamplesKeepPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newChanging()
		time.Sleep(300 * time.Millisecond)
		c := f.dial(t)
		defer c.Close()
		start := pcp.TimestampOf(f.start)
		var got []time.Duration
		for s, err := range c.Samples(t.Context(), SampleOptions{
			Interval: time.Second, Start: start.Add(-time.Hour), Finish: start.Add(9 * time.Second),
		}, "demo.count") {
			if err != nil || len(s.Values) != 1 {
				t.Fatal(s, err)
			}
			got = append(got, time.Since(f.start))
			f.set(func() {
				f.slow = 0
				if len(got) == 2 {
					f.slow = 2500 * time.Millisecond
				}
			})
			if len(got) == 4 {
				time.Sleep(1200 * time.Millisecond)
			}
		}
		var want []time.Duration
		for _, s := range []float64{1, 2, 5.5, 6, 8, 9} {
			want = append(want, time.Duration(s*1e9))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// The loop ends if there is nothing to wait for.
func TestSamplesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newChanging()
		c := f.dial(t)
		g := func(ctx context.Context, c *Context, o SampleOptions, want error, metrics ...string) {
			t.Helper()
			n := 0
			for s, err := range c.Samples(ctx, o, metrics...) {
				if n++; !errors.Is(err, want) || len(s.Values) > 0 {
					t.Errorf("%q: %v, %v, want %v", metrics, s, err, want)
				}
			}
			if n != 1 {
				t.Errorf("%q: %d samples", metrics, n)
			}
		}
		ctx := t.Context()
		g(ctx, c, SampleOptions{}, pcp.ErrName, "demo.nope", "demo.neither")
		g(ctx, c, SampleOptions{}, pcp.ErrTooSmall)
		g(ctx, c, SampleOptions{}, pcp.ErrGeneric, "demo.load[")
		g(ctx, c, SampleOptions{}, pcp.ErrConv, "demo.count,furlong")
		g(ctx, c, SampleOptions{}, pcp.ErrConv, "demo.count,10 count")
		g(ctx, c, SampleOptions{}, pcp.ErrInDom, "demo.count[one]")
		g(ctx, c, SampleOptions{Interval: -1}, -pcp.Error(22), "demo.count")
		ended, cancel := context.WithCancel(ctx)
		cancel()
		g(ended, c, SampleOptions{}, context.Canceled, "demo.count")
		// In the middle of a fetch.
		f.set(func() { f.slow = time.Second })
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		g(short, c, SampleOptions{}, context.DeadlineExceeded, "demo.count")
		f.set(func() { f.slow = 0 })
		c.Close()
		g(ctx, c, SampleOptions{}, pcp.ErrNoContext, "demo.count")
		for range c.Samples(ctx, SampleOptions{Finish: pcp.Timestamp{Sec: 1}}, "demo.count") {
			t.Error("a sample after its time")
		}
		f.wg.Wait()
	})
}

// writeGaps writes an archive of a counter, a load with instances that come and go
// and a size recorded less often, with a gap, and returns its path and start.
func writeGaps(t testing.TB) (string, pcp.Timestamp) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gaps")
	im, err := importer.Start(path, importer.Options{Host: "host", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	requests, err := im.NewMetric("web.requests", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemCounter})
	check(err)
	load, err := im.NewMetric("web.load", importer.Spec{Type: pcp.TypeDouble, InDom: im.NewInDom(), Sem: pcp.SemInstant})
	check(err)
	size, err := im.NewMetric("web.size", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemInstant, Units: pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0)})
	check(err)
	const start = 1_700_000_000
	for i := range 10 {
		if i == 5 {
			check(im.PutMark())
		}
		if i == 7 {
			check(size.PutInt(2048))
			check(im.Write(time.Unix(start+10*int64(i)-5, 0)))
		}
		check(requests.PutInt(int64(100 * i)))
		name := "a"
		if i >= 3 {
			name = "b"
		}
		in, err := load.Instance(name)
		check(err)
		check(in.PutDouble(float64(i)))
		check(im.Write(time.Unix(start+10*int64(i), 0)))
	}
	check(im.End())
	return path, pcp.Timestamp{Sec: start}
}

func TestSamplesOfArchive(t *testing.T) {
	path, start := writeGaps(t)
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f := func(o SampleOptions, metrics []string, want ...string) {
		t.Helper()
		var got []string
		for s, err := range c.Samples(t.Context(), o, metrics...) {
			text := sampleText(s, err)
			if s.Time.Sec > 0 {
				_, text, _ = strings.Cut(text, " | ")
				text = fmt.Sprint(s.Time.Sec-start.Sec, ": ", text)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", o, diff)
		}
	}
	at := func(sec int) pcp.Timestamp { return start.Add(time.Duration(sec) * time.Second) }
	f(SampleOptions{}, []string{"web.requests,rate", "web.load"},
		"0: web.load[a] 0", "10: web.requests 10 / sec | web.load[a] 1", "20: web.requests 10 / sec | web.load[a] 2",
		"30: web.requests 10 / sec | web.load[b] 3", "40: web.requests 10 / sec | web.load[b] 4",
		"50: web.load[b] 5", "60: web.requests 10 / sec | web.load[b] 6", "70: web.requests 10 / sec | web.load[b] 7",
		"80: web.requests 10 / sec | web.load[b] 8", "90: web.requests 10 / sec | web.load[b] 9")
	f(SampleOptions{Start: at(15), Finish: at(35)}, []string{"web.requests", "web.load[a]"},
		"20: web.requests 200 | web.load[a] 2", "30: web.requests 300")
	f(SampleOptions{}, []string{"web.size,Mbyte"}, "65: web.size 2 Mbyte")
	// Interpolated, on a grid from before the start, over the gap.
	f(SampleOptions{Start: at(-19), Interval: 12 * time.Second, Finish: at(80)}, []string{"web.requests,rate", "web.requests"},
		"5: web.requests 50", "17: web.requests 10 / sec | web.requests 170", "29: web.requests 10 / sec | web.requests 290",
		"41: ", "53: web.requests 530", "65: web.requests 10 / sec | web.requests 650", "77: web.requests 10 / sec | web.requests 770")
	f(SampleOptions{Start: at(85)}, []string{"web.nope", "web.load[c]", "web.load"},
		"0 ! web.nope: Unknown metric name; web.load[c]: instance \"c\" of 245.1: Instance identifier not defined in the PCP archive log", "90: web.load[b] 9")
	f(SampleOptions{Start: at(95)}, []string{"web.load"})
	f(SampleOptions{}, []string{"web.nope"}, "0 ! web.nope: Unknown metric name")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range c.Samples(ctx, SampleOptions{}, "web.load") {
		if n++; n == 2 {
			cancel()
		}
		last = err
	}
	if n != 3 || last != context.Canceled {
		t.Errorf("after cancel: %d turns, %v", n, last)
	}
	if mode, err := c.Mode(t.Context()); mode != ModeForw || err != nil {
		t.Errorf("the context's mode has changed: %v, %v", mode, err)
	}
}

// openMany opens a context on an agent with a counter and a string of n instances.
func openMany(t testing.TB, n int) *Context {
	t.Helper()
	in := &pmda.InDom{Serial: 1}
	for i := range n {
		in.Instances = append(in.Instances, pcp.Instance{Inst: int32(i), Name: fmt.Sprint("instance ", i)})
	}
	count := uint64(0)
	text := pcp.StringValue("text")
	agent, err := pmda.NewTable(pmda.Config{Name: "many", Domain: 400, Metrics: []pmda.Metric{
		{
			Name: "many.count", Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: in,
			Value: func(int32, int) (pcp.Value, error) { count++; return pcp.Uint64Value(count), nil },
		},
		{
			Name: "many.text", Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, InDom: in,
			Value: func(int32, int) (pcp.Value, error) { return text, nil },
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := OpenLocal(LocalAgent{Name: "many", Domain: 400, Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A sample allocates nothing for each value: not for names, rates or strings.
func TestSamplesAllocateNothingForValues(t *testing.T) {
	f := func(what string, c *Context, o SampleOptions, values int, metrics ...string) {
		t.Helper()
		next, stop := iter.Pull2(c.Samples(context.Background(), o, metrics...))
		defer stop()
		sample := func() {
			if s, err, ok := next(); err != nil || !ok || len(s.Values) != values {
				t.Fatalf("%s: %d values, %v, %v", what, len(s.Values), err, ok)
			}
		}
		if _, err, _ := next(); err != nil {
			t.Fatal(err)
		}
		sample()
		if n := testing.AllocsPerRun(50, sample); n > 2 {
			t.Errorf("%s: %v allocations for each sample of %d values", what, n, values)
		}
	}
	const n = 500
	local := openMany(t, n)
	f("local", local, SampleOptions{Interval: time.Nanosecond}, 3*n, "many.count", "many.count,rate", "many.text")
	f("local, one", local, SampleOptions{Interval: time.Nanosecond}, 1, "many.count[instance 7]")
	path, _ := writeLong(t, n)
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f("records", c.Context, SampleOptions{}, 2*n, "long.count", "long.count,rate")
	f("interpolated", c.Context, SampleOptions{Interval: 7 * time.Second}, 2*n, "long.count", "long.count,rate")
}

// writeLong writes an archive of 100 records, 10 s apart, of a counter with n instances.
func writeLong(t testing.TB, n int) (string, pcp.Timestamp) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "long")
	im, err := importer.Start(path, importer.Options{Host: "host", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	count, err := im.NewMetric("long.count", importer.Spec{Type: pcp.TypeU64, InDom: im.NewInDom(), Sem: pcp.SemCounter})
	if err != nil {
		t.Fatal(err)
	}
	const start = 1_700_000_000
	for i := range 100 {
		for j := range n {
			in, err := count.Instance(fmt.Sprint("instance-", j))
			if err == nil {
				err = in.PutInt(int64(i * j))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := im.Write(time.Unix(start+10*int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	return path, pcp.Timestamp{Sec: start}
}

// BenchmarkSamples is a sample of a counter as a rate, of a source in the process and
// of an archive by records.
func BenchmarkSamples(b *testing.B) {
	const n = 1000
	path, _ := writeLong(b, n)
	a, err := OpenArchive(path)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	local := openMany(b, n)
	for _, bench := range []struct {
		name   string
		c      *Context
		o      SampleOptions
		metric string
	}{
		{"local", local, SampleOptions{Interval: time.Nanosecond}, "many.count,rate"},
		{"records", a.Context, SampleOptions{}, "long.count,rate"},
		{"interpolated", a.Context, SampleOptions{Interval: 7 * time.Second}, "long.count,rate"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; {
				for _, err := range bench.c.Samples(context.Background(), bench.o, bench.metric) {
					if err != nil {
						b.Fatal(err)
					}
					if i++; i == b.N {
						break
					}
				}
			}
		})
	}
}

func TestSampleClone(t *testing.T) {
	c := openMany(t, 2)
	var kept []Sample
	for s, err := range c.Samples(t.Context(), SampleOptions{Interval: time.Nanosecond}, "many.text", "many.count") {
		if err != nil {
			t.Fatal(err)
		}
		if kept = append(kept, s.Clone()); len(kept) == 3 {
			break
		}
	}
	for i, s := range kept {
		if text, _ := s.Values[0].Value.Text(); text != "text" || s.Values[3].Value.Uint64() != uint64(2*i+2) || s.Values[1].Instance != "instance 1" {
			t.Errorf("sample %d: %v", i, s)
		}
	}
}

// Derived metrics have values at an interval, and are an error in records.
func TestSamplesOfDerivedMetrics(t *testing.T) {
	path, _ := writeGaps(t)
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var set derive.Set
	if err := set.Add("web.double", "2 * web.requests"); err != nil {
		t.Fatal(err)
	}
	c.UseDerived(&set, nil)
	var got []float64
	for s, err := range c.Samples(t.Context(), SampleOptions{Interval: 10 * time.Second}, "web.double,rate") {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Values {
			got = append(got, v.Value.Double())
		}
	}
	if len(got) == 0 || got[0] != 20 {
		t.Errorf("rates %v, want 20 and more of these", got)
	}
	n := 0
	for _, err := range c.Samples(t.Context(), SampleOptions{}, "web.double") {
		if n++; !errors.Is(err, pcp.ErrBadDerive) {
			t.Errorf("records: %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d samples, want the error alone", n)
	}
}
