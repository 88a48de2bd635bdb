package fleet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/go-pcp/pcp/internal/testing/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A call is a query of a fake source.
type call struct {
	expr       string
	start, end int64 // seconds
}

// A fake is a source with computed values: value is called for each host and time.
type fake struct {
	hosts []string
	extra []string // labels, in pairs
	value func(expr, host string, t int64) float64
	fail  error
	block chan struct{}

	mu    sync.Mutex
	calls []call
}

func (f *fake) Range(ctx context.Context, expr string, start, end time.Time, step time.Duration, each func(labels.Labels, []promql.FPoint) error) error {
	f.mu.Lock()
	f.calls = append(f.calls, call{expr, start.Unix(), end.Unix()})
	err := f.fail
	f.mu.Unlock()
	if f.block != nil {
		select {
		case <-f.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	var points []promql.FPoint
	for _, host := range f.hosts {
		points = points[:0]
		for t := start; !t.After(end); t = t.Add(step) {
			if v := f.value(expr, host, t.Unix()); !math.IsNaN(v) {
				points = append(points, promql.FPoint{T: t.UnixMilli(), F: v})
			}
		}
		if err := each(labels.FromStrings(append([]string{HostLabel, host}, f.extra...)...), points); err != nil {
			return err
		}
	}
	return nil
}

// taken returns the calls since the last one, without those for facts.
func (f *fake) taken() (list []call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list = slices.DeleteFunc(f.calls, func(c call) bool { return c.start == c.end && c.expr != columns[0].expr })
	f.calls = nil
	return list
}

// constant has the same values at all times: 2 processors, a load of 3, half of the memory, and no pressure.
func constant(expr, host string, _ int64) float64 {
	switch {
	case strings.Contains(expr, "ncpu"):
		return 2
	case strings.HasPrefix(expr, "kernel_all_load"):
		return 3
	case strings.Contains(expr, "physmem"):
		return 1000
	case strings.Contains(expr, "available"):
		return 500
	}
	return 0
}

// An answer is the JSON of /fleet/hosts.
type answer struct {
	Time, Step            float64
	Points, Count, Offset int
	Columns               []Column
	Hosts                 []string
	Trouble               []*float64
	Age                   []*int
	Values                map[string][]*float64
	Labels                []struct {
		Name   string
		Values []string
		Of     []int
	}
	LeftOut   []string `json:"labels_left_out"`
	Recording *struct {
		Owner, Error []*string
		Lag          []*float64
	}
	History map[string]rows
	Message string
	Success bool
}

type rows struct {
	Low, High []*float64
	Levels    []*string
}

func get(t *testing.T, h http.Handler, target string) (*httptest.ResponseRecorder, answer) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	var a answer
	if strings.Contains(w.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatalf("%s: %v\n%s", target, err, w.Body)
		}
	}
	return w, a
}

func (a *answer) value(column, host string) float64 {
	i := slices.Index(a.Hosts, host)
	if i < 0 || a.Values[column][i] == nil {
		return math.NaN()
	}
	return *a.Values[column][i]
}

func hostNames(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("host%05d", i)
	}
	return list
}

// TestTable orders hosts by their trouble: a host whose values ended first, hosts without any last.
func TestTable(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	src := &fake{hosts: []string{"idle", "busy", "gone", hostile}, extra: []string{"place", "oslo"}}
	src.value = func(expr, host string, at int64) float64 {
		switch {
		case host == "gone" && at > now.Unix()-600 && !strings.Contains(expr, "[25h]"):
			return math.NaN()
		case host == "busy" && strings.HasPrefix(expr, "kernel_all_load"):
			return 2 * 4 // at High for two processors
		}
		return constant(expr, host, at)
	}
	f := New(Config{
		Source: src, Now: func() time.Time { return now },
		Hosts: func(context.Context) ([]string, error) { return []string{"busy", "unseen"}, nil },
		Recording: func(context.Context) ([]Recording, error) {
			return []Recording{{Host: "elsewhere", Owner: "recorder-2", Error: "no route"}, {Host: "busy", Owner: "recorder-1", Lag: 12300 * time.Millisecond}, {Host: "idle", Lag: -1, Error: hostile}}, nil
		},
	})
	defer f.Close()
	w, a := get(t, f.Handler(View{Recording: true}), "/fleet/hosts")
	if w.Code != 200 || !a.Success {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if want := []string{"gone", "busy", hostile, "idle", "unseen", "elsewhere"}; !slices.Equal(a.Hosts, want) {
		t.Fatalf("hosts are %q, want %q", a.Hosts, want)
	}
	var trouble []float64
	for _, v := range a.Trouble {
		if v == nil {
			trouble = append(trouble, -1)
			continue
		}
		trouble = append(trouble, *v)
	}
	// idle: a load of 1.5 per processor is a sixth of the way from 1 to 4.
	if want := []float64{100, rounded(90 + 10./6), rounded(15 + 10./36), rounded(15 + 10./36), -1, -1}; !slices.Equal(trouble, want) {
		t.Errorf("trouble is %v, want %v", trouble, want)
	}
	if got := *a.Age[0]; got != 600 {
		t.Errorf("the values of the host that is gone are %d seconds old", got)
	}
	if a.Age[4] != nil || !math.IsNaN(a.value("load", "unseen")) || !math.IsNaN(a.value("load", "gone")) {
		t.Error("there are values of hosts without any")
	}
	if l, m := a.value("load", "busy"), a.value("memory", "busy"); l != 4 || m != 0.5 {
		t.Errorf("load %v, memory %v", l, m)
	}
	if len(a.Labels) != 1 || a.Labels[0].Name != "place" || !slices.Equal(a.Labels[0].Values, []string{"oslo"}) || !slices.Equal(a.Labels[0].Of, []int{0, 0, 0, 0, -1, -1}) {
		t.Errorf("labels are %v", a.Labels)
	}
	if r := a.Recording; r == nil || r.Owner[0] != nil || *r.Owner[1] != "recorder-1" || *r.Lag[1] != 12.3 || r.Lag[3] != nil || *r.Error[3] != hostile || *r.Owner[5] != "recorder-2" {
		t.Errorf("recording is %v", a.Recording)
	}
	if _, a := get(t, f.Handler(View{}), "/fleet/hosts"); a.Recording != nil {
		t.Error("a view without recordings has them")
	}
	// A page has the same order.
	if _, a := get(t, f.Handler(View{}), "/fleet/hosts?offset=1&limit=2"); a.Count != 5 || a.Offset != 1 || !slices.Equal(a.Hosts, []string{"busy", hostile}) {
		t.Errorf("a page has %q of %d", a.Hosts, a.Count)
	}
	// The history of two hosts.
	_, a = get(t, f.Handler(View{}), "/fleet/hosts?host=gone&host=busy&host=nosuch&host=gone")
	if !slices.Equal(a.Hosts, []string{"gone", "busy"}) || len(a.History) != len(columns) {
		t.Fatalf("history of %q, %d columns", a.Hosts, len(a.History))
	}
	b, err := base64.StdEncoding.DecodeString(*a.History["load"].Levels[0])
	if err != nil || len(b) != Points || b[0] != 1 || b[Points-11] != 1 || b[Points-10] != 0 {
		t.Errorf("history is %v, %v", b, err)
	}
}

const hostile = "<img src=x onerror=alert(1)>\"\\\x01\u202e"

// TestRefresh refreshes the table in the background: with one query for each column, for the newest points only, while clients ask for it.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fake{hosts: hostNames(3)}
		began := time.Now().Unix()
		src.value = func(expr, host string, at int64) float64 {
			if strings.HasPrefix(expr, "kernel_all_load") && host == "host00001" && at == began {
				return math.NaN() // arrives late
			}
			return constant(expr, host, at)
		}
		f := New(Config{Source: src})
		defer f.Close()
		h := f.Handler(View{})
		_, a := get(t, h, "/fleet/hosts")
		if !a.Success || len(a.Hosts) != 3 {
			t.Fatalf("%+v", a)
		}
		first := src.taken()
		if len(first) != len(columns) || first[0].end-first[0].start != 59*60 {
			t.Fatalf("the first table takes %v", first)
		}
		src.value = constant
		time.Sleep(61 * time.Second)
		synctest.Wait()
		next := src.taken()
		if len(next) != len(columns) || next[0].end != first[0].end+60 || next[0].end-next[0].start != again*60 {
			t.Fatalf("the next table takes %v after %v", next, first)
		}
		_, a = get(t, h, "/fleet/hosts?host=host00001")
		b, err := base64.StdEncoding.DecodeString(*a.History["load"].Levels[0])
		if err != nil || slices.Contains(b, 0) {
			t.Errorf("points are missing: %v, %v", b, err)
		}
		time.Sleep(idle + 2*Step)
		synctest.Wait()
		src.taken()
		time.Sleep(time.Hour)
		synctest.Wait()
		if list := src.taken(); len(list) > 0 {
			t.Errorf("without clients %v is requested", list)
		}
		if _, a = get(t, h, "/fleet/hosts"); !a.Success || a.Time < float64(began)+3600 {
			t.Errorf("after a pause the table is old: %v", a.Time)
		}
	})
}

// TestFailures answers with an error while the source fails, and recovers; slow sources do not hold requests for longer than a while.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fake{hosts: hostNames(2), value: constant, fail: errors.New("/secret/path")}
		f := New(Config{Source: src})
		defer f.Close()
		h := f.Handler(View{})
		for _, target := range []string{"/fleet/hosts", "/fleet/hosts?end=1600000000", "/fleet/heat?metric=x"} {
			if w, _ := get(t, h, target); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s: %d %s", target, w.Code, w.Body)
			}
		}
		src.fail = nil
		time.Sleep(2 * Step)
		for _, target := range []string{"/fleet/hosts", "/fleet/hosts?end=1600000000", "/fleet/heat?metric=x"} {
			if w, _ := get(t, h, target); w.Code != 200 {
				t.Errorf("%s after the failure: %d %s", target, w.Code, w.Body)
			}
		}
		block := make(chan struct{})
		src.block = block
		for i := range 2 * keep {
			began := time.Now()
			w, _ := get(t, h, fmt.Sprintf("/fleet/hosts?end=%d", 1_500_000_000+60*i))
			if w.Code != 503 || w.Header().Get("Retry-After") == "" || time.Since(began) > patience {
				t.Errorf("%d after %v: %s", w.Code, time.Since(began), w.Body)
			}
		}
		// The table of now is the last one meanwhile.
		if w, _ := get(t, h, "/fleet/hosts"); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		close(block)
		synctest.Wait()
		if w, _ := get(t, h, "/fleet/hosts?end=1500000060"); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// TestRequests checks parameters, limits and headers.
func TestRequests(t *testing.T) {
	src := &fake{hosts: hostNames(3), value: constant}
	f := New(Config{Source: src, Hosts: func(context.Context) ([]string, error) { return hostNames(7), nil }})
	defer f.Close()
	h := f.Handler(View{})
	many := "/fleet/hosts?" + strings.Repeat("host=a&", MaxNamed+1)
	for _, c := range []struct {
		target string
		code   int
		want   string
	}{
		{"/fleet/hosts?count", 200, `"count":7`},
		{"/fleet/nosuch", 400, "no handler"},
		{"/fleet/hosts?%zz", 400, "bad parameters"},
		{"/fleet/hosts?limit=0", 400, "limit: want a number from 1 to 20000"},
		{"/fleet/hosts?limit=x", 400, "limit"},
		{"/fleet/hosts?offset=-1", 400, "offset"},
		{"/fleet/hosts?window=1", 400, "window: want a number from 300 to 2678400"},
		{"/fleet/hosts?window=NaN", 400, "window"},
		{"/fleet/hosts?end=-1", 400, "end"},
		{many, 400, "501 hosts, at most 500"},
		{"/fleet/heat", 400, "column or metric"},
		{"/fleet/heat?column=load&metric=x", 400, "one of"},
		{"/fleet/heat?column=nosuch", 400, "no such column"},
		{"/fleet/heat?metric=x&of=median", 400, "max, min"},
		{"/fleet/heat?metric=x&rate=maybe", 400, "true or false"},
		{"/fleet/heat?metric=x&points=241", 400, "points"},
		{"/fleet/heat?metric=" + strings.Repeat("x", maxName+1), 400, "1025 bytes, at most 1024"},
		{"/fleet/heat?column=load", 200, `"points":60`},
		{"/fleet/heat?metric=kernel.all.load&instance=1+minute&points=5&window=300", 200, `"step":60,"points":5`},
		{"/fleet/openapi.json", 200, `"/fleet/heat"`},
	} {
		if w, _ := get(t, h, c.target); w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%.60s: %d %.300s, want %d %s", c.target, w.Code, w.Body, c.code, c.want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/fleet/hosts", nil))
	if w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
	w, _ = get(t, h, "/fleet/heat?column=load")
	r := httptest.NewRequest("GET", "/fleet/heat?column=load", nil)
	r.Header.Set("If-None-Match", `"x", W/`+w.Header().Get("ETag"))
	again := httptest.NewRecorder()
	h.ServeHTTP(again, r)
	if again.Code != 304 || again.Body.Len() > 0 {
		t.Errorf("the same answer again: %d, %d bytes", again.Code, again.Body.Len())
	}
	for text, want := range map[string]string{
		"metric=disk.dev.read&rate=true":               `max by (hostname) (rate({__name__="disk_dev_read"}[300s]))`,
		"metric=a.b&instance=x%22%7D)&of=sum":          `sum by (hostname) ({__name__="a_b",instname="x\"})"})`,
		"metric=a%22%7D+or+x&of=avg&window=86400":      `avg by (hostname) ({__name__="a___or_x"})`,
		"metric=a.b&rate=true&window=604800&points=60": `max by (hostname) (rate({__name__="a_b"}[20160s]))`,
	} {
		src.taken()
		if w, _ := get(t, h, "/fleet/heat?"+text); w.Code != 200 {
			t.Errorf("%s: %d %s", text, w.Code, w.Body)
		}
		if list := src.taken(); len(list) != 1 || list[0].expr != want {
			t.Errorf("%s asks for %v, want %s", text, list, want)
		}
		get(t, h, "/fleet/heat?"+text)
		if list := src.taken(); len(list) > 0 {
			t.Errorf("%s is computed twice: %v", text, list)
		}
	}
}

// TestTooManyHosts refuses more hosts than a table may have.
func TestTooManyHosts(t *testing.T) {
	src := &fake{hosts: hostNames(MaxHosts + 1), value: func(string, string, int64) float64 { return 1 }}
	f := New(Config{Source: src})
	defer f.Close()
	for _, target := range []string{"/fleet/hosts?window=300", "/fleet/heat?metric=x&points=2"} {
		if w, _ := get(t, f.Handler(View{}), target); w.Code != 503 || !strings.Contains(w.Body.String(), "more than 20000 hosts") {
			t.Errorf("%s: %d %.200s", target, w.Code, w.Body)
		}
	}
}

// TestFacts looks for facts in the order of their costs, and no more often than needed.
func TestFacts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	src := &fake{hosts: hostNames(3)}
	src.value = func(expr, host string, at int64) float64 {
		if expr == cpus.exprs[0] && host != "host00000" || expr == cpus.exprs[1] && host == "host00002" {
			return math.NaN()
		}
		if expr == cpus.exprs[1] {
			return 4
		}
		if expr == cpus.exprs[2] {
			return 8
		}
		return constant(expr, host, at)
	}
	b := &builder{src: src, end: now, step: Step, now: now}
	s, err := b.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.facts.values[factCPUs], (map[string]float64{"host00000": 2, "host00001": 4, "host00002": 8}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("processors are %v, want %v", got, want)
	}
	asked := func() (n int) {
		for _, c := range src.calls {
			if slices.Contains(cpus.exprs, c.expr) || slices.Contains(memory.exprs, c.expr) {
				n++
			}
		}
		src.calls = nil
		return n
	}
	if n := asked(); n != 4 {
		t.Errorf("%d queries for facts, want 3 and 1", n)
	}
	for _, c := range []struct {
		after time.Duration
		new   bool
		want  int
	}{{Step, false, 0}, {Step, true, 0}, {retry, true, 3}, {retry, false, 0}, {retry + factsAge, false, 4}} {
		if c.new {
			src.hosts = append(src.hosts, fmt.Sprint("new", c.after))
		}
		b.old, b.now = s, now.Add(c.after)
		if s, err = b.build(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := asked(); n != c.want {
			t.Errorf("after %v: %d queries for facts, want %d", c.after, n, c.want)
		}
	}
}

// TestRow checks that each value differs by less than a step of a byte from the original.
func TestRow(t *testing.T) {
	nan := float32(math.NaN())
	if r, ok := NewRow([]float32{nan, float32(math.Inf(1))}); ok || r.Bytes[0] != 0 || r.Bytes[1] != 0 {
		t.Errorf("a row without values: %v", r)
	}
	for _, values := range [][]float32{{7}, {0, 0, nan}, {1, 2, 3, nan}, {-1e-9, 1e9, 5}, {0.123456789, 0.1234567}} {
		r, ok := NewRow(values)
		if !ok {
			t.Fatal(values)
		}
		for i, v := range values {
			got, ok := r.Value(i)
			if ok != (v == v) {
				t.Errorf("%v: value %d: %v", values, i, ok)
			}
			if step := (r.High-r.Low)/254 + 5e-4*max(math.Abs(r.High), math.Abs(r.Low)); ok && math.Abs(got-float64(v)) > step {
				t.Errorf("%v: value %d is %v", values, i, got)
			}
		}
	}
}

// TestTrouble checks the documented score.
func TestTrouble(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{0, 0, 0, 0, 0, 0, 1e9}, 0},
		{[]float64{nan, nan, nan, nan, nan, nan, nan}, 0},
		{[]float64{4, 0, 0, 0, 0, 0, 0}, 90 + 10./6},
		{[]float64{2.5, 0.35, 0, 0, 0, 0, 0}, 45 + 10./6},
		{[]float64{100, 1, 1, 1, 1, 1, 0}, 100},
	} {
		if got := Trouble(c.values); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Trouble(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// TestDocs compares the table of columns in the documentation with the columns.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Columns() {
		part := func(v float64) string {
			switch {
			case c.High == c.Low:
				return ""
			case c.Unit == "share":
				return fmt.Sprintf("%g %%", 100*v)
			}
			return fmt.Sprintf("%g", v)
		}
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| `+"`%s`"+` \| [^|]+ \| *%s *\| *%s *\|$`, c.Name, part(c.Low), part(c.High)))
		if !row.Match(text) {
			t.Errorf("docs/web.md has no row %s", row)
		}
	}
}

// TestRecordedNames finds hosts of recorders by names without domains.
func TestRecordedNames(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	src := &fake{hosts: []string{"alpha.example.com", "beta.one", "beta.two", "gamma", "gamma.one"}, value: constant}
	s, err := (&builder{src: src, end: now, step: Step, now: now}).build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	with, of := s.recorded([]Recording{{Host: "alpha", Owner: "a"}, {Host: "beta", Owner: "b"}, {Host: "gamma", Owner: "c"}, {Host: "gamma.one", Owner: "d"}})
	var got []string
	for i, r := range of {
		if r != nil {
			got = append(got, with.hosts[i]+"="+r.Owner)
		}
	}
	if want := []string{"alpha.example.com=a", "gamma=c", "gamma.one=d", "beta=b"}; !slices.Equal(got, want) {
		t.Errorf("recordings are %q, want %q", got, want)
	}
	if len(s.hosts) != 5 || len(with.hosts) != 6 {
		t.Errorf("%d hosts, and %d with recordings", len(s.hosts), len(with.hosts))
	}
}
