package send

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// A fake is a database that keeps samples in the order of arrival.
type fake struct {
	url string
	srv *httptest.Server

	mu       sync.Mutex
	before   func(n int, w http.ResponseWriter) bool // of a request; it reports whether the request ends there
	after    func(n int)                             // may end the connection
	refuse   func(s *remote.Series) bool             // the whole request, as Prometheus does
	mute     bool                                    // queries are not answered
	requests int
	data     sendtest.Contents
	labels   map[string][]remote.Label
	undo     []func() // of each request
	times    []time.Time
	late     time.Duration // after which accepted samples are visible
	asked    int           // queries for samples
}

// count returns the number of queries for samples.
func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func newFake(t *testing.T) *fake {
	f := &fake{data: make(sendtest.Contents), labels: make(map[string][]remote.Label)}
	srv := httptest.NewServer(f)
	srv.Config.ErrorLog = nil
	t.Cleanup(srv.Close)
	f.url, f.srv = srv.URL, srv
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/query") {
		if f.mute {
			http.NotFound(w, r)
			return
		}
		r.ParseForm()
		f.query(w, r.Form.Get("query"))
		return
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if b, err = s2.Decode(nil, b); err != nil || r.Header.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" {
		http.Error(w, "version 1.0 only", http.StatusUnsupportedMediaType)
		return
	}
	f.requests++
	if f.before != nil && f.before(f.requests, w) {
		return
	}
	list := decode(b)
	if f.late > 0 {
		time.AfterFunc(f.late, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.store(list)
		})
		w.WriteHeader(http.StatusNoContent)
		return
	}
	for i := range list {
		if f.refuse != nil && f.refuse(&list[i]) {
			http.Error(w, "out of order sample", http.StatusBadRequest)
			return
		}
	}
	f.store(list)
	if f.after != nil {
		f.after(f.requests)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (f *fake) store(list []remote.Series) {
	var undo []func()
	for _, s := range list {
		k := keyOf(s.Labels)
		f.labels[k] = s.Labels
		f.data[k] = append(f.data[k], s.Samples...)
		undo = append(undo, func() {
			for _, sample := range s.Samples {
				i := slices.Index(f.data[k], sample)
				f.data[k] = slices.Delete(f.data[k], i, i+1)
			}
		})
	}
	f.undo = append(f.undo, func() {
		for _, u := range undo {
			u()
		}
	})
	f.times = append(f.times, time.Now())
}

// forgetSince loses the samples that were accepted since a time.
func (f *fake) forgetSince(t time.Time) {
	for n := len(f.times); n > 0 && !f.times[n-1].Before(t); n-- {
		f.forget(1)
		f.times = f.times[:n-1]
	}
}

// forget loses the samples of the last requests.
func (f *fake) forget(requests int) {
	for range min(requests, len(f.undo)) {
		f.undo[len(f.undo)-1]()
		f.undo = f.undo[:len(f.undo)-1]
	}
}

var (
	rangeOf = regexp.MustCompile(`__name__=~"([^"]*)"`)
	lastOf  = regexp.MustCompile(`^last_over_time\((\w+)\{hostname="([^"]*)",pid="\d+",recorder="push",started="([^"]*)"`)
)

func (f *fake) query(w http.ResponseWriter, q string) {
	var out []string
	if m := rangeOf.FindStringSubmatch(q); m != nil {
		f.asked++
		names := regexp.MustCompile("^(" + m[1] + ")$")
		for k, list := range f.data {
			if !names.MatchString(nameOf(f.labels[k])) {
				continue
			}
			var labels, values []string
			for _, l := range f.labels[k] {
				labels = append(labels, fmt.Sprintf("%q:%q", l.Name, l.Value))
			}
			for _, s := range list {
				if s.Bits != remote.Stale {
					values = append(values, fmt.Sprintf(`[%.3f,"1"]`, float64(s.Time)/1000))
				}
			}
			out = append(out, fmt.Sprintf(`{"metric":{%s},"values":[%s]}`, strings.Join(labels, ","), strings.Join(values, ",")))
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, strings.Join(out, ","))
		return
	}
	m := lastOf.FindStringSubmatch(q)
	for k, list := range f.data {
		l := f.labels[k]
		if m == nil || nameOf(l) != m[1] || len(list) == 0 || !slices.Contains(l, remote.Label{Name: "hostname", Value: m[2]}) || !slices.Contains(l, remote.Label{Name: "started", Value: m[3]}) {
			continue
		}
		part := ""
		for _, one := range l {
			if one.Name == "part" {
				part = one.Value
			}
		}
		last := slices.MaxFunc(list, func(a, b remote.Sample) int { return cmp.Compare(a.Time, b.Time) })
		out = append(out, fmt.Sprintf(`{"metric":{"part":%q},"value":[1,"%.3f"]}`, part, math.Float64frombits(last.Bits)))
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(out, ","))
}

// contents returns the samples without markers. Stale markers may arrive twice, as queries do not show them.
func (f *fake) contents() sendtest.Contents {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(sendtest.Contents)
	for k, list := range f.data {
		if s := (remote.Series{Labels: f.labels[k]}); !strings.HasPrefix(nameOf(s.Labels), sentMarker) && len(list) > 0 {
			list = slices.Clone(list)
			slices.SortStableFunc(list, func(a, b remote.Sample) int { return int(a.Time - b.Time) })
			c[sendtest.KeyOf(&s)] = slices.CompactFunc(list, func(a, b remote.Sample) bool { return a == b && a.Bits == remote.Stale })
		}
	}
	return c
}

// decode decodes a request of version 1.0 from our encoder.
func decode(b []byte) (list []remote.Series) {
	fields(b, func(n protowire.Number, v []byte, _ uint64) {
		if n != 1 {
			return
		}
		var s remote.Series
		fields(v, func(n protowire.Number, v []byte, _ uint64) {
			switch n {
			case 1:
				var l remote.Label
				fields(v, func(n protowire.Number, v []byte, _ uint64) {
					if n == 1 {
						l.Name = string(v)
					} else {
						l.Value = string(v)
					}
				})
				s.Labels = append(s.Labels, l)
			case 2:
				var one remote.Sample
				fields(v, func(n protowire.Number, _ []byte, x uint64) {
					if n == 1 {
						one.Bits = x
					} else {
						one.Time = int64(x)
					}
				})
				s.Samples = append(s.Samples, one)
			}
		})
		list = append(list, s)
	})
	return list
}

func fields(b []byte, f func(n protowire.Number, v []byte, x uint64)) {
	for len(b) > 0 {
		n, kind, k := protowire.ConsumeTag(b)
		b = b[k:]
		var v []byte
		var x uint64
		switch kind {
		case protowire.BytesType:
			v, k = protowire.ConsumeBytes(b)
		case protowire.Fixed64Type:
			x, k = protowire.ConsumeFixed64(b)
		default:
			x, k = protowire.ConsumeVarint(b)
		}
		b = b[k:]
		f(n, v, x)
	}
}

// A grower writes an archive that grows.
type grower struct {
	t    *testing.T
	dir  string
	host string // "" means www
	im   *importer.Importer
	at   time.Time
	base string

	metrics map[string]*importer.Metric
}

func (g *grower) begin() {
	g.t.Helper()
	if g.im != nil {
		if err := g.im.End(); err != nil {
			g.t.Fatal(err)
		}
	}
	g.base = filepath.Join(g.dir, strconv.FormatInt(g.at.Unix(), 10))
	im, err := importer.Start(g.base, importer.Options{Host: cmp.Or(g.host, "www"), TimeZone: "UTC"})
	if err != nil {
		g.t.Fatal(err)
	}
	g.im, g.metrics = im, make(map[string]*importer.Metric)
}

// add writes a record of some metrics of three instances, the last one of a metric that was not there before.
func (g *grower) add(n int, names ...string) {
	g.t.Helper()
	for range n {
		for _, name := range names {
			m := g.metrics[name]
			if m == nil {
				var err error
				m, err = g.im.NewMetric(name, importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: g.im.NewInDom()})
				if err != nil {
					g.t.Fatal(err)
				}
				g.metrics[name] = m
			}
			for i := range 3 {
				h, err := m.Instance(fmt.Sprint("i", i))
				if err == nil {
					err = h.PutUint(uint64(g.at.Unix()%1e6 + int64(i)))
				}
				if err != nil {
					g.t.Fatal(err)
				}
			}
		}
		if err := errors.Join(g.im.Write(g.at), g.im.Flush()); err != nil {
			g.t.Fatal(err)
		}
		g.at = g.at.Add(10 * time.Second)
	}
}

// want returns the samples of the archives in a directory, with the stale markers between them.
func (g *grower) want() sendtest.Contents {
	g.t.Helper()
	if err := g.im.End(); err != nil {
		g.t.Fatal(err)
	}
	d := directory{path: g.dir}
	list, err := d.list()
	if err != nil {
		g.t.Fatal(err)
	}
	c := make(sendtest.Contents)
	for i, f := range list {
		a := open1(g.t, filepath.Join(g.dir, f.base))
		windows, _ := windows(g.t, a, nowhere(), i+1 < len(list))
		for _, w := range windows {
			for _, part := range w.parts {
				for i := range part {
					k := sendtest.KeyOf(&part[i])
					c[k] = append(c[k], part[i].Samples...)
				}
			}
		}
	}
	return c
}

func testRecorder(f *fake, dir string, events func(string, error)) *Recorder {
	t, err := NewTarget(f.url)
	if err != nil {
		panic(err)
	}
	r := NewRecorder(Config{
		Targets: []*Target{t}, Agent: "test", Settle: 10 * time.Millisecond, Poll: 5 * time.Millisecond, Event: events,
		delays: pacing.Backoff{First: 10 * time.Millisecond, Longest: 30 * time.Millisecond},
	})
	r.Set([]Dir{{Path: dir, Name: "www"}})
	return r
}

// TestFollow sends an archive that grows and is followed by others, with recorders that end and begin, to servers that fail in
// different ways. Each sample must be there once, and none is sent for ever.
func TestFollow(t *testing.T) {
	abort := func(int) { panic(http.ErrAbortHandler) }
	status := func(code int, numbers ...int) func(int, http.ResponseWriter) bool {
		return func(n int, w http.ResponseWriter) bool {
			if slices.Contains(numbers, n) {
				w.WriteHeader(code)
				return true
			}
			return false
		}
	}
	for _, test := range []struct {
		name     string
		set      func(f *fake)
		event    string // one of the events
		rejected bool   // samples of i1
	}{
		{"sound", func(*fake) {}, "", false},
		{"500", func(f *fake) { f.before = status(500, 2, 3) }, "500 Internal Server Error", false},
		{"503", func(f *fake) { f.before = status(503, 1, 4) }, "503 Service Unavailable", false},
		{"429", func(f *fake) { f.before = status(429, 2, 3) }, "429 Too Many Requests", false},
		{"408", func(f *fake) { f.before = status(408, 2) }, "408 Request Timeout", false},
		{"401", func(f *fake) { f.before = status(401, 2, 3) }, "401 Unauthorized", false},
		{"404", func(f *fake) { f.before = status(404, 1) }, "404 Not Found", false},
		{"redirect", func(f *fake) { f.before = status(307, 2) }, "307 Temporary Redirect", false},
		{"cut before", func(f *fake) {
			f.before = func(n int, _ http.ResponseWriter) bool {
				if n == 2 || n == 5 {
					panic(http.ErrAbortHandler)
				}
				return false
			}
		}, "is tried again", false},
		{"cut after", func(f *fake) {
			f.after = func(n int) {
				if n == 2 || n == 3 {
					abort(n)
				}
			}
		}, "is tried again", false},
		{"loses", func(f *fake) {
			f.after = func(n int) {
				if n == 4 {
					f.forget(3)
					abort(n)
				}
			}
		}, "is tried again", false},
		{"forgets everything", func(f *fake) {
			f.after = func(n int) {
				if n == 4 {
					f.forget(100)
					abort(n)
				}
			}
		}, "is tried again", false},
		{"too large", func(f *fake) {
			f.refuse = func(s *remote.Series) bool { return len(s.Samples) > 7 }
		}, "", false},
		{"refuses a series", func(f *fake) {
			f.refuse = func(s *remote.Series) bool {
				return slices.Contains(s.Labels, remote.Label{Name: "instname", Value: "i1"})
			}
		}, "rejected", true},
		{"in order only", func(f *fake) {
			f.refuse = func(s *remote.Series) bool {
				had := f.data[keyOf(s.Labels)]
				if len(had) == 0 || had[len(had)-1] == s.Samples[0] {
					return false
				}
				return had[len(had)-1].Time >= s.Samples[0].Time
			}
			f.after = func(n int) {
				if n == 3 {
					abort(n)
				}
			}
		}, "is tried again", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			test.set(f)
			var mu sync.Mutex
			var events []string
			event := func(text string, err error) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, fmt.Sprint(text, ": ", err))
			}
			g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
			arrived := func() {
				at := g.at.Add(-10 * time.Second).UnixMilli()
				await.Until(t, fmt.Sprintf("the samples of %v arrive", g.at), func() bool {
					for k, list := range f.contents() {
						if strings.Contains(k, "instname=i2") && slices.ContainsFunc(list, func(s remote.Sample) bool { return s.Time == at }) {
							return true
						}
					}
					return false
				})
			}
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				if t.Failed() {
					t.Logf("events:\n%s", strings.Join(events, "\n"))
				}
			}()
			g.begin()
			g.add(3, "a.b", "a.c")
			r := testRecorder(f, g.dir, event)
			arrived()
			g.add(40, "a.b", "a.c", "a.d")
			arrived()
			g.begin()
			g.add(2, "a.b")
			arrived()
			r.Drain(time.Minute)
			g.add(70, "a.b", "a.e") // while none is there
			r = testRecorder(f, g.dir, event)
			arrived()
			g.begin()
			g.add(5, "a.b")
			want := g.want()
			r.Drain(time.Minute)
			if test.rejected {
				for k := range want {
					if strings.Contains(k, "instname=i1") {
						delete(want, k)
					}
				}
			}
			sendtest.Exact(t, f.contents(), want)
			st := r.Status()[0]
			if test.rejected != (st.Rejected > 0) || st.Lost != 0 || st.Err != "" || st.Lag != 0 || st.Sent == 0 {
				t.Errorf("status: %+v", st)
			}
			if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, test.event) }) && test.event != "" || t.Failed() {
				t.Errorf("no event with %q in\n%s", test.event, strings.Join(events, "\n"))
			}
			if n := f.requests; n > 1000 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestAhead sends an archive of a host whose clock is a day ahead: its samples wait for their time, also in another recorder.
func TestAhead(t *testing.T) {
	const day = 24 * time.Hour
	f := newFake(t)
	target, err := NewTarget(f.url)
	if err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64
	events := make(chan string, 100)
	start := func(dir string) *Recorder {
		r := NewRecorder(Config{
			Targets: []*Target{target}, Agent: "test", Settle: 10 * time.Millisecond, Poll: 5 * time.Millisecond,
			Event: func(text string, _ error) { events <- text }, now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
		})
		r.Set([]Dir{{Path: dir, Name: "www"}})
		return r
	}
	g := &grower{t: t, dir: t.TempDir(), at: time.Now().Add(day).Truncate(time.Millisecond)}
	g.begin()
	g.add(3, "a.b")
	r := start(g.dir)
	if text := <-events; !strings.Contains(text, "www: samples are ahead of the clock of this host by 24h0m") {
		t.Errorf("event %q", text)
	}
	if st := r.Status()[0]; st.Lag != 0 || st.Sent != 0 {
		t.Errorf("status %+v", st)
	}
	began := time.Now()
	r.Drain(time.Minute)
	if d := time.Since(began); d > 30*time.Second || size(f.contents()) > 0 {
		t.Errorf("a recorder ends after %v, with %d samples sent", d, size(f.contents()))
	}
	r = start(g.dir)
	<-events
	g.add(2, "a.b")
	later.Store(int64(day))
	await.Until(t, "samples arrive", func() bool { return size(f.contents()) == 15 })
	want := g.want()
	r.Drain(time.Minute)
	sendtest.Compare(t, f.contents(), want)
}

// TestBlind sends to a server that answers no queries.
func TestBlind(t *testing.T) {
	f := newFake(t)
	f.mute = true
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	g.begin()
	g.add(3, "a.b")
	blind := make(chan struct{}, 10)
	event := func(text string, _ error) {
		if strings.Contains(text, "does not answer queries") {
			blind <- struct{}{}
		}
	}
	r := testRecorder(f, g.dir, event)
	<-blind
	r.Drain(time.Minute)
	g.add(5, "a.b")
	r = testRecorder(f, g.dir, event)
	<-blind
	want := g.want()
	r.Drain(time.Minute)
	sendtest.Compare(t, f.contents(), want)
}

// TestRemoved removes archives before they are sent.
func TestRemoved(t *testing.T) {
	f := newFake(t)
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	g.begin()
	g.add(3, "a.b")
	events := make(chan string, 100)
	event := func(text string, _ error) { events <- text }
	r := testRecorder(f, g.dir, event)
	await.Until(t, "samples arrive", func() bool { return size(f.contents()) == 9 })
	r.Drain(time.Minute)
	first := g.base
	st, ok, err := readState(filepath.Join(g.dir, stateName(r.nodes[0], Dir{})))
	if err != nil || !ok || st.At.Base != filepath.Base(first) {
		t.Fatalf("%+v, %v", st, err)
	}
	st.Safe = st.At
	if err := st.write(filepath.Join(g.dir, stateName(r.nodes[0], Dir{}))); err != nil {
		t.Fatal(err)
	}
	g.add(3, "a.b")
	g.begin()
	g.add(2, "a.b")
	for _, ext := range []string{".meta", ".index", ".0"} {
		if err := os.Remove(first + ext); err != nil {
			t.Fatal(err)
		}
	}
	r = testRecorder(f, g.dir, event)
	await.Until(t, "samples arrive", func() bool { return size(f.contents()) == 15 })
	if err := g.im.End(); err != nil {
		t.Fatal(err)
	}
	r.Drain(time.Minute)
	if st := r.Status()[0]; st.Lost != 1 {
		t.Errorf("status: %+v", st)
	}
	said := ""
	for len(events) > 0 {
		said += <-events + "\n"
	}
	if want := "archive " + filepath.Base(first) + " was removed: its samples after 2026-11-20T10:00:20Z were not sent"; !strings.Contains(said, want) {
		t.Errorf("no event %q in\n%s", want, said)
	}
}

// TestShards sends to three servers, with two copies of each series.
func TestShards(t *testing.T) {
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	g.begin()
	g.add(40, "a.b", "a.c", "a.d", "a.e")
	target := &Target{Name: "three", Replicas: 2, drop: []string{"a.e"}}
	var fakes []*fake
	for range 3 {
		f := newFake(t)
		fakes = append(fakes, f)
		target.URLs = append(target.URLs, f.url)
	}
	r := NewRecorder(Config{Targets: []*Target{target}, Settle: time.Millisecond, Poll: 5 * time.Millisecond, Event: func(string, error) {}})
	r.Set([]Dir{{Path: g.dir, Name: "www"}})
	time.Sleep(50 * time.Millisecond)
	want := g.want().Data()
	r.Drain(time.Minute)
	got := make(map[string]int)
	for i, f := range fakes {
		c := f.contents().Data()
		if len(c) == 0 || len(c) == 9 {
			t.Errorf("server %d has %d series", i, len(c))
		}
		for k, list := range c {
			got[k]++
			if !slices.Equal(list, want[k]) {
				t.Errorf("server %d: %s: %d samples", i, k, len(list))
			}
		}
	}
	for k := range want {
		if n := map[bool]int{true: 0, false: 2}[strings.Contains(k, "a_e")]; got[k] != n {
			t.Errorf("%s: %d copies", k, got[k])
		}
	}
}

// BenchmarkFollow measures catching up with an archive, to a server that takes everything, in this process too.
func BenchmarkFollow(b *testing.B) {
	base, _ := sendtest.Generate(b, 1000, 500)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/query") {
			kind := "matrix"
			if strings.Contains(r.URL.RawQuery, "last_over_time") {
				kind = "vector"
			}
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":%q,"result":[]}}`, kind)
			return
		}
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "1000000")
	}))
	defer srv.Close()
	target, err := NewTarget(srv.URL)
	if err != nil {
		b.Fatal(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		b.Fatal(err)
	}
	l := a.Label()
	a.Close()
	n := uint64(0)
	for b.Loop() {
		r := NewRecorder(Config{Targets: []*Target{target}, Settle: time.Nanosecond, Poll: time.Millisecond, Event: func(string, error) {}})
		d := Dir{Path: filepath.Dir(base), Name: "www"}
		st := state{At: place{Base: filepath.Base(base), Started: l.Start.Sec*1e6 + int64(l.Start.Nsec)/1e3, Sent: noTime}}
		st.Safe = st.At
		if err := st.write(filepath.Join(d.Path, stateName(r.nodes[0], d))); err != nil {
			b.Fatal(err)
		}
		r.Set([]Dir{d})
		time.Sleep(time.Millisecond)
		r.Drain(time.Minute)
		n += r.Status()[0].Sent
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "samples/s")
}

// TestLateLabels checks that the records before the first labels of an archive, such as its prologue, have the name of the host.
func TestLateLabels(t *testing.T) {
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	g.begin()
	g.add(2, "a.b")
	for _, l := range [][2]string{{"hostname", "www"}, {"site", "berlin"}} {
		if err := g.im.PutLabel(pcp.LabelContext, 0, 0, l[0], l[1]); err != nil {
			t.Fatal(err)
		}
	}
	g.add(2, "a.b")
	for k := range g.want() {
		if !strings.Contains(k, "hostname=www") {
			t.Errorf("series %s", k)
		}
	}
}
