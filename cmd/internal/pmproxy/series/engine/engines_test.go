package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// push sends archives to servers.
func push(t *testing.T, urls []string, bases ...string) {
	t.Helper()
	for _, u := range urls {
		for _, base := range bases {
			a, err := archive.Open(base)
			if err != nil {
				t.Fatal(err)
			}
			end, err := a.End()
			if err != nil {
				t.Fatal(err)
			}
			c, err := remote.New(remote.Config{URL: u})
			if err != nil {
				t.Fatal(err)
			}
			p := send.Push{Archive: a, Start: a.Label().Start, Finish: end, To: &send.Server{Client: c, Blind: true}, Progress: func(int64) {}}
			if err := p.Run(t.Context()); err != nil || p.Sum.Rejected > 0 {
				t.Fatalf("%v, %+v", err, p.Sum)
			}
			c.Close()
			a.Close()
		}
	}
}

// dial returns a store, which the end of the test closes.
func dial(t *testing.T, urls ...string) *Store {
	t.Helper()
	c, err := Dial(Config{URLs: urls})
	if err != nil {
		t.Fatal(err)
	}
	s := New(c)
	t.Cleanup(func() { s.Close() })
	return s
}

// filled waits until a store shows the last samples of both hosts.
func filled(t *testing.T, s *Store, set *seriestest.Archives) {
	t.Helper()
	await.Until(t, "the engine shows all samples", func() bool {
		ids, err := s.Select(t.Context(), series.Matcher{Field: series.MetricName, Match: func(name string) bool { return strings.HasPrefix(name, "c.") }})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for sample, err := range s.Values(t.Context(), ids, series.Window{Newest: true, Count: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			if sample.Time == set.At(seriestest.Records-1) {
				n++
			}
		}
		return n == 10
	})
}

// TestPrometheus checks the contract and random requests with Debian's Prometheus.
func TestPrometheus(t *testing.T) { real(t, sendtest.Prometheus(t)) }

// TestVictoriaMetrics does so with VictoriaMetrics, where it is installed.
func TestVictoriaMetrics(t *testing.T) {
	if s := sendtest.Victoria(t); s != nil {
		real(t, s)
	}
}

func real(t *testing.T, server *sendtest.Server) {
	t.Parallel()
	dir := t.TempDir()
	set := seriestest.WriteArchives(t, dir, time.Now().Add(-2*time.Hour).Truncate(time.Minute))
	push(t, []string{server.URL()}, set.Bases...)
	s := dial(t, server.URL())
	filled(t, s, set)

	ours, err := archives.Open(t.Context(), archives.Config{Dirs: []string{dir}, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	t.Run("random", func(t *testing.T) { random(t, s, ours, set, longtest.N(500, 5000)) })
	t.Run("joined", func(t *testing.T) {
		other, err := archives.Open(t.Context(), archives.Config{Dirs: []string{dir}, Interval: -1})
		if err != nil {
			t.Fatal(err)
		}
		set.Contract(t, Join(dial(t, server.URL()), other), true)
	})
	t.Run("contract", func(t *testing.T) { set.Contract(t, s, false) })
}

// random makes random requests of both stores through /series, and compares the answers.
func random(t *testing.T, s *Store, other series.Store, set *seriestest.Archives, n int) {
	start := time.Now()
	r := rand.New(rand.NewPCG(longtest.Seed(t), 1))
	handler := func(s series.Store) *seriesapi.Handler {
		h, err := seriesapi.New(seriesapi.Config{Store: s, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	// The archives have strings, too.
	a, b := handler(s), handler(series.Hide(other, func(m series.Metric) bool { return m.Name == "c.name" }))
	ids, err := s.Select(t.Context(), series.Matcher{Field: series.MetricName, Match: func(string) bool { return true }})
	if err != nil || len(ids) != 10 {
		t.Fatalf("%d series, %v", len(ids), err)
	}
	var insts []sid.ID
	for _, id := range ids {
		list, err := s.Instances(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range list {
			insts = append(insts, in.ID)
		}
	}
	sources, err := s.Sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	some := func(list []sid.ID) string {
		var words []string
		for range 1 + r.IntN(3) {
			words = append(words, list[r.IntN(len(list))].String())
		}
		return strings.Join(words, ",")
	}
	at := func() string {
		return fmt.Sprint(set.Start.Unix() + int64(r.IntN(seriestest.Records+20)-10)*10 + int64(r.IntN(3)-1))
	}
	metric := func() string {
		return pick("c.load", "c.disk.reads", "c.ncpu", "c.temp", "c.low", "c.*", "*.reads", "none")
	}
	cond := func() string {
		return pick("", `{hostname=="www"}`, `{hostname=="db"}`, `{instance.name=="sda"}`, `{instance.name~"5*"}`, `{metric.name~"c.l*"}`, `{agent=="import"}`,
			`{hostname!="www"}`, `{device=="first"}`, `{hostname=="www" && agent=="import"}`, `{hostname=="www" || hostname=="db"}`, `{hostname=~"^w"}`, `{rack==true}`)
	}
	window := func() string {
		return pick("[count:1]", "[count:4]", fmt.Sprintf("[samples:%d]", 1+r.IntN(50)), fmt.Sprintf("[start:@%s,finish:@%s]", at(), at()),
			fmt.Sprintf("[start:@%s,finish:@%s,interval:%d]", at(), at(), 10+r.IntN(60)), fmt.Sprintf("[start:@%s,samples:%d]", at(), 1+r.IntN(9)))
	}
	request := func() (string, url.Values) {
		v := url.Values{}
		switch r.IntN(9) {
		case 0:
			v.Set("expr", metric()+cond())
			return "query", v
		case 1:
			v.Set("expr", metric()+cond()+window())
			return "query", v
		case 2:
			v.Set("expr", pick("rate", "max", "min", "avg", "sum", "abs", "rescale")+"("+metric()+cond()+window()+pick(")", ",\"1\")"))
			return "query", v
		case 3:
			v.Set("series", some(ids))
			return pick("descs", "metrics", "instances", "labels"), v
		case 4:
			v.Set("match", pick("*", "c.*", "s*", "hostname", "1*", "x", "[", "?d?"))
			return pick("metrics", "instances", "labels"), v
		case 5:
			v.Set(pick("name", "names"), pick("hostname", "agent", "rack", "device", "hostname,device", "nothing"))
			return "labels", v
		case 6:
			v.Set("series", some(insts))
			return pick("instances", "labels"), v
		case 7:
			v.Set("source", some(sources))
			return "sources", v
		}
		v.Set("series", some(ids))
		switch r.IntN(4) {
		case 0:
			v.Set("samples", fmt.Sprint(1+r.IntN(200)))
		case 1:
			v.Set("start", at())
			v.Set("finish", at())
		case 2:
			v.Set("start", at())
			v.Set("interval", fmt.Sprint(10+r.IntN(100)))
		}
		if r.IntN(4) == 0 {
			v.Set("iname", pick("sda", "s*", "5*"))
		}
		return "values", v
	}
	ask := func(h *seriesapi.Handler, path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		b, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, string(b)
	}
	full := 0
	for i := range n {
		kind, v := request()
		path := "/series/" + kind + "?" + v.Encode()
		gotStatus, got := ask(a, path)
		wantStatus, want := ask(b, path)
		if kind == "sources" {
			want = withoutPaths(t, want)
			got = withoutPaths(t, got)
		}
		if gotStatus != wantStatus || got != want && !sameJSON(got, want) {
			t.Fatalf("request %d: %s %v\nengine:   %d %.2000s\narchives: %d %.2000s", i, kind, v, gotStatus, got, wantStatus, want)
		}
		if len(got) > 100 && gotStatus == 200 {
			full++
		}
	}
	if full < n/3 {
		t.Errorf("only %d of %d answers have contents", full, n)
	}
	t.Logf("%d requests of both stores, %d with contents, in %v", n, full, time.Since(start).Round(time.Millisecond))
}

// withoutPaths leaves out the paths of archives.
func withoutPaths(t *testing.T, text string) string {
	var list []struct{ Source, Name string }
	if json.Unmarshal([]byte(text), &list) != nil {
		return text
	}
	for i := range list {
		if strings.HasPrefix(list[i].Name, "/") {
			list[i].Name = ""
		}
	}
	list = slices.DeleteFunc(list, func(one struct{ Source, Name string }) bool { return one.Name == "" })
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sameJSON reports whether two answers have the same contents.
func sameJSON(a, b string) bool {
	var x, y any
	da, db := json.NewDecoder(bytes.NewReader([]byte(a))), json.NewDecoder(bytes.NewReader([]byte(b)))
	da.UseNumber()
	db.UseNumber()
	return da.Decode(&x) == nil && db.Decode(&y) == nil && reflect.DeepEqual(x, y)
}
