package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// serve starts a server with one answer for all requests but those for markers.
func serve(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	return srv
}

// TestHostile has servers with wrong answers: each is a clear error, in bounded time.
func TestHostile(t *testing.T) {
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }
	}
	endless := func(begin, more string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, begin)
			block := []byte(strings.Repeat(more, 1000))
			for {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		is     error
	}{
		"text":         {text("hello"), "not that of a server of the Prometheus family", ErrAway},
		"no status":    {text(`{"data":[]}`), "not that of a server of the Prometheus family", ErrAway},
		"wrong type":   {text(`{"status":"success","data":{"a":1}}`), "instead of [", ErrAway},
		"wrong labels": {text(`{"status":"success","data":[{"a":1}]}`), "cannot unmarshal number", ErrAway},
		"partial":      {text(`{"status":"success","isPartial":true,"data":[]}`), "lacks the data of a part", ErrAway},
		"short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"status":"success","data":[{"a"`)
		}, "unexpected EOF", ErrAway},
		"endless list":   {endless(`{"status":"success","data":[{}`, `,{"__name__":"a"}`), "too large", series.ErrTooMany},
		"endless string": {endless(`{"status":"success","data":[{"a":"`, `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`), "too large", series.ErrTooMany},
		"deep":           {endless(``, `[`), "not that of a server", ErrAway},
		"slow": {func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"status":"success",`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "no answer within 300ms", ErrAway},
		"500": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "broken\x1b[2J\nmore", http.StatusInternalServerError)
		}, "500 Internal Server Error: broken[2J", ErrAway},
		"422": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"status":"error","error":"too many series"}`, http.StatusUnprocessableEntity)
		}, "the engine refuses the request: 422 Unprocessable Entity: too many series", nil},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.example.com/", http.StatusFound)
		}, "the engine refuses the request: 302 Found", nil},
		"401": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you", http.StatusUnauthorized) }, "401 Unauthorized: who are you", nil},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := Dial(Config{URLs: []string{serve(t, c.answer).URL}, Timeout: 300 * time.Millisecond})
			if name == "endless list" || name == "endless string" {
				client.cfg.Timeout = 20 * time.Second
			}
			if err != nil {
				t.Fatal(err)
			}
			s := New(client)
			defer s.Close()
			start := time.Now()
			_, err = s.Select(t.Context(), series.Matcher{Field: series.MetricName, Value: "a"})
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) || strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
			if d := time.Since(start); d > 15*time.Second {
				t.Errorf("after %v", d)
			}
		})
	}
}

// TestForeign has descriptions that are wrong, as anybody may write to a server: they are left out.
func TestForeign(t *testing.T) {
	good := `{"__name__":"pcp_series","series":"faf0408a60fc997b1f4fbd67aab70dcfc5a9f7bd","source":"2f0408a60fc997b1f4fbd67aab70dcfc5a9f7bd1","metric":"a.b","pmid":"1.2.3","type":"U32","semantics":"discrete"}`
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"status":"success","data":[%s,%s,%s,{"metric":"a.b"},null]}`, strings.Replace(good, `"U32"`, `"STRING"`, 1), good, strings.Replace(good, "1.2.3", "1.2.99999", 1))
	})
	s := dial(t, srv.URL)
	list, err := s.Select(t.Context(), series.Matcher{Field: series.MetricName, Value: "a.b"})
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestDial(t *testing.T) {
	f := func(want string, cfg Config) {
		t.Helper()
		c, err := Dial(cfg)
		if err == nil {
			c.Close()
		}
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%+v: %v, want %q", cfg.URLs, err, want)
		}
	}
	f("no address", Config{})
	f("", Config{URLs: []string{"http://a:8428", "http://b:8428/select/0/prometheus/", "https://c/api/v1/write"}})
	f("named twice", Config{URLs: []string{"http://a", "http://a"}})
	f("the URL of a server", Config{URLs: []string{"a:8428"}})
	f("user or password is not accepted", Config{URLs: []string{"http://me:s3cret@a"}})
	f("only over https", Config{URLs: []string{"http://a"}, Connection: remote.Config{Token: "s3cret"}})
	f("", Config{URLs: []string{"http://localhost:1"}, Connection: remote.Config{Token: "s3cret"}})
	f("at most 16", Config{URLs: make([]string, 17)})
}

// A replica is a server that counts requests and can be switched off.
type replica struct {
	*httptest.Server
	marker, requests atomic.Int64
	off, hang        atomic.Bool
}

func newReplica(t *testing.T, marker int64) *replica {
	r := &replica{}
	r.marker.Store(marker)
	r.Server = serve(t, func(w http.ResponseWriter, req *http.Request) {
		if r.off.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.hang.Load() {
			<-req.Context().Done()
			return
		}
		if strings.Contains(req.URL.Query().Get("query"), "pcp_sent") {
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"%d"]}]}}`, r.marker.Load())
			return
		}
		r.requests.Add(1)
		io.WriteString(w, `{"status":"success","data":["x"]}`)
	})
	return r
}

// TestReplicas asks servers of which some are away, behind, hanging, or back.
func TestReplicas(t *testing.T) {
	a, b := newReplica(t, 1000), newReplica(t, 1000)
	c, err := Dial(Config{URLs: []string{a.URL, b.URL}, probation: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := New(c)
	defer s.Close()
	ask := func() {
		t.Helper()
		list, err := s.Strings(t.Context(), series.MetricName, "")
		if err != nil || len(list) != 1 {
			t.Fatalf("%q, %v", list, err)
		}
	}
	asked := func(r *replica) bool {
		t.Helper()
		before := r.requests.Load()
		ask()
		return r.requests.Load() > before
	}
	if !asked(a) {
		t.Error("the first server is not asked")
	}
	a.off.Store(true)
	for range 2 {
		if !asked(b) {
			t.Error("the other server is not asked after a failure")
		}
	}
	a.off.Store(false)
	time.Sleep(probeEvery + time.Second/2)
	if !asked(b) {
		t.Error("the server that was away is asked before its gaps are filled")
	}
	// A server that hangs does not hold a request for longer than the probes need.
	b.hang.Store(true)
	start := time.Now()
	if !asked(a) || time.Since(start) > probeEvery+probeLimit+2*time.Second {
		t.Errorf("after %v", time.Since(start))
	}
	b.hang.Store(false)
	b.marker.Store(1100) // a is behind
	await.Until(t, "the server with the newest marker is asked", func() bool { return asked(b) })
	a.marker.Store(1100)
	b.off.Store(true)
	ask()
	a.off.Store(true)
	if _, err := s.Strings(t.Context(), series.MetricName, ""); !errors.Is(err, ErrAway) {
		t.Errorf("without servers: %v", err)
	}
	a.off.Store(false)
	ask()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Strings(ctx, series.MetricName, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
