package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/go-pcp/pcp/internal/pacing"
)

// A step is a reply of the server of a test.
type step struct {
	status  int // 0: the connection is closed without a reply; -1: no reply
	header  string
	body    string
	version string // of the request, "" any
}

// script returns a client of a server that replies with steps, the last one repeatedly, and a function that returns the number of requests.
func script(t *testing.T, cfg Config, steps ...step) (*Client, func() int) {
	t.Helper()
	var n atomic.Int32
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		i := int(n.Add(1)) - 1
		s := steps[min(i, len(steps)-1)]
		version := V1
		if strings.Contains(r.Header.Get("Content-Type"), "proto=io.prometheus.write.v2.Request") {
			version = V2
		}
		if b, err := s2.Decode(nil, b); err != nil {
			t.Errorf("request %d: %v", i, err)
		} else if list, err := decode(version, b); err != nil || len(list) != 2 {
			t.Errorf("request %d: %v, %v", i, list, err)
		}
		if got := r.Header.Get("X-Prometheus-Remote-Write-Version"); s.version != "" && got != s.version {
			t.Errorf("request %d: version %s, want %s", i, got, s.version)
		}
		if got := r.Header.Get("Content-Encoding"); got != "snappy" {
			t.Errorf("request %d: encoding %q", i, got)
		}
		if name, value, ok := strings.Cut(s.header, ": "); ok {
			w.Header().Set(name, value)
		}
		switch s.status {
		case 0:
			panic(http.ErrAbortHandler)
		case -1:
			<-release
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(s.status)
		io.WriteString(w, s.body)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(release) })
	cfg.URL = srv.URL
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.wait = func(ctx context.Context, d time.Duration) bool { return ctx.Err() == nil }
	return c, func() int { return int(n.Load()) }
}

func TestReplies(t *testing.T) {
	f := func(name string, cfg Config, version Version, requests, rejected int, reason, errs string, steps ...step) {
		t.Helper()
		c, n := script(t, cfg, steps...)
		out, err := c.Write(t.Context(), example(), nil)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if n() != requests || out.Rejected != rejected || out.Reason != reason || c.Version() != version || errs == "" != (err == nil) || !strings.Contains(text, errs) {
			t.Errorf("%s: %d requests, %+v, version %d, %v", name, n(), out, c.Version(), err)
		}
	}
	ok2 := step{204, written + ": 3", "", "2.0.0"}
	ok1 := step{204, "", "", "0.1.0"}
	f("2.0", Config{}, V2, 1, 0, "", "", ok2)
	f("only 1.0", Config{Version: V1}, V1, 1, 0, "", "", ok1)
	f("only 2.0", Config{Version: V2}, V2, 1, 0, "", "does not confirm", step{204, "", "", "2.0.0"})
	f("415", Config{}, V1, 2, 0, "", "", step{415, "", "unsupported", "2.0.0"}, ok1)
	f("200 without headers", Config{}, V1, 2, 0, "", "", step{200, "", "", "2.0.0"}, ok1)
	f("400 without headers", Config{}, V1, 2, 0, "", "", step{400, "", "cannot parse", "2.0.0"}, ok1)
	f("refused in both", Config{}, 0, 2, 3, "400 Bad Request: no", "", step{400, "", "no\nsecond line", "2.0.0"}, step{400, "", "no", "0.1.0"})
	f("partly", Config{}, V2, 1, 2, "400 Bad Request: out of order sample", "", step{400, written + ": 1", "out of order sample\n", "2.0.0"})
	f("fewer", Config{}, V2, 1, 2, "not written", "", step{200, written + ": 1", "", ""})
	f("422", Config{Version: V1}, V1, 1, 3, "422 Unprocessable Entity: limit", "", step{422, "", "limit", ""})
	f("a page", Config{Version: V1}, V1, 1, 3, "413 Request Entity Too Large", "", step{413, "", "<html>nginx", ""})
	f("5xx", Config{}, V2, 3, 0, "", "", step{500, "", "later", "2.0.0"}, step{503, "", "", ""}, ok2)
	f("429", Config{Version: V1}, V1, 3, 0, "", "", step{429, "Retry-After: 7", "", ""}, step{429, "Retry-After: 7", "", ""}, ok1)
	f("closed", Config{Version: V1}, V1, 2, 0, "", "", step{}, ok1)
	f("hangs", Config{Version: V1, Timeout: 50 * time.Millisecond}, V1, 2, 0, "", "", step{status: -1}, ok1)
	f("Retry-After is too long", Config{Version: V1, Retry: time.Second}, V1, 1, 0, "", "given up after 0s", step{503, "Retry-After: 60", "", ""})
	f("not authorized", Config{}, 0, 1, 0, "", "401 Unauthorized: who?", step{401, "", "who?", ""})
	f("wrong path", Config{}, 0, 1, 0, "", "404 Not Found", step{404, "", "", ""})
	f("led elsewhere", Config{}, 0, 1, 0, "", "302 Found", step{302, "Location: http://192.0.2.1/", "", ""})
}

// TestBackOff checks the intervals between attempts, and that they end.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		c := &Client{cfg: Config{Retry: 10 * time.Minute, Warn: func(_ error, d time.Duration) { waits = append(waits, d) }}, wait: pacing.Sleep}
		start := time.Now()
		after := time.Duration(0)
		err := c.repeat(t.Context(), func() error {
			if len(waits) == 3 {
				after = 2 * time.Minute
			} else {
				after = 0
			}
			return &Failure{Err: io.ErrUnexpectedEOF, After: after}
		})
		if !errors.Is(err, io.ErrUnexpectedEOF) || time.Since(start) > 10*time.Minute || time.Since(start) < 9*time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		pause := delays.First
		for i, w := range waits {
			if i == 3 && w == 2*time.Minute {
			} else if w < pause/2 || w > pause {
				t.Errorf("wait %d: %v, want up to %v", i, w, pause)
			}
			pause = min(2*pause, delays.Longest)
		}
		if len(waits) < 20 {
			t.Errorf("only %d attempts", len(waits))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		err = c.repeat(ctx, func() error { return &Failure{Err: io.EOF, After: time.Minute} })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestArrived checks that a client asks before it repeats a request that the server may have.
func TestArrived(t *testing.T) {
	c, n := script(t, Config{Version: V1}, step{}, step{503, "", "", ""}, step{204, "", "", ""})
	asked := 0
	_, err := c.Write(t.Context(), example(), func(context.Context) (bool, error) { asked++; return asked == 2, nil })
	if err != nil || asked != 2 || n() != 2 {
		t.Errorf("%v: asked %d times, %d requests", err, asked, n())
	}
	c, n = script(t, Config{Version: V1}, step{429, "", "", ""}, step{204, "", "", ""})
	if _, err := c.Write(t.Context(), example(), func(context.Context) (bool, error) { t.Error("asked"); return false, nil }); err != nil || n() != 2 {
		t.Errorf("%v: %d requests", err, n())
	}
	lost := errors.New("lost")
	c, _ = script(t, Config{Version: V1}, step{})
	if _, err := c.Write(t.Context(), example(), func(context.Context) (bool, error) { return false, lost }); err != lost {
		t.Errorf("%v", err)
	}
}

func TestNew(t *testing.T) {
	f := func(cfg Config, write, query, errs string) {
		t.Helper()
		c, err := New(cfg)
		if errs != "" {
			if err == nil || !strings.Contains(err.Error(), errs) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%+v: %v", cfg, err)
			}
			return
		}
		if err != nil || c.write != write || c.query != query {
			t.Errorf("%+v: %v, %+v", cfg, err, c)
		}
	}
	f(Config{URL: "http://h:9090"}, "http://h:9090/api/v1/write", "http://h:9090/api/v1/query", "")
	f(Config{URL: "http://h:9090/"}, "http://h:9090/api/v1/write", "http://h:9090/api/v1/query", "")
	f(Config{URL: "https://h/prom/api/v1/write"}, "https://h/prom/api/v1/write", "https://h/prom/api/v1/query", "")
	f(Config{URL: "https://h/api/v1/push", Query: "https://h/prometheus/"}, "https://h/api/v1/push", "https://h/prometheus/api/v1/query", "")
	f(Config{URL: "https://h/api/v1/write?a=b"}, "https://h/api/v1/write?a=b", "https://h/api/v1/query", "")
	f(Config{URL: "https://me:s3cret@h/"}, "", "", "not accepted")
	f(Config{URL: "https://me:s3cret@h:x/"}, "", "", "http://HOST:PORT")
	f(Config{URL: "ftp://h"}, "", "", "http://HOST:PORT")
	f(Config{URL: "http://h", Token: "s3cret"}, "", "", "only over https")
	f(Config{URL: "http://h", User: "u", Password: "s3cret"}, "", "", "only over https")
	f(Config{URL: "https://h", Query: "http://q", User: "u", Password: "s3cret"}, "", "", "only over https")
	f(Config{URL: "https://h", Token: "s3cret", User: "u"}, "", "", "either")
	f(Config{URL: "http://127.0.0.1:1", Token: "s3cret"}, "http://127.0.0.1:1/api/v1/write", "http://127.0.0.1:1/api/v1/query", "")
}

// TestHeaders checks authentication and headers of both kinds of requests.
func TestHeaders(t *testing.T) {
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, strings.Join([]string{r.Method, r.Header.Get("Authorization"), r.Header.Get("X-Scope-Orgid"), r.Header.Get("User-Agent")}, " "))
		w.Header().Set(written, "3")
		io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	}))
	defer srv.Close()
	for _, cfg := range []Config{{Token: "t"}, {User: "u", Password: "p"}} {
		cfg.URL, cfg.UserAgent, cfg.Header = srv.URL, "pcp-push/1", http.Header{"X-Scope-Orgid": {"a"}}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(t.Context(), example(), nil); err != nil {
			t.Error(err)
		}
		if _, err := c.Query(t.Context(), "1", 0); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"POST Bearer t a pcp-push/1", "GET Bearer t a pcp-push/1",
		"POST Basic dTpw a pcp-push/1", "GET Basic dTpw a pcp-push/1",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

func TestCertificate(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer srv.Close()
	c, err := New(Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start := time.Now()
	if _, err := c.Query(t.Context(), "1", 0); err == nil || !strings.Contains(err.Error(), "certificate") || time.Since(start) > 10*time.Second {
		t.Errorf("%v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-5": 0, "x": 0, "99999999999999999999": 0, "18446744073709551615": 1 << 30 * time.Second,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// FuzzReply checks that no reply of a server makes a client fail otherwise than with an error.
func FuzzReply(f *testing.F) {
	f.Add(204, "3", "", []byte(""))
	f.Add(400, "-1", "", []byte("out of order sample\x1b[2J\n"))
	f.Add(429, "", "99999999999", []byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"part":"1"},"value":[1,"2"]}]}}`))
	f.Add(503, "9999999999999999999", "Thu, 26 Nov 2026 12:00:00 GMT", []byte(`{"status":"success","data":{"resultType":"vector","result":[{"value":[]}]}}`))
	f.Add(200, "", "", []byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1763632800.123,"2"],[1e300,"3"]]}]}}`))
	f.Fuzz(func(t *testing.T, status int, took, after string, body []byte) {
		if d := retryAfter(after, time.Unix(1764158400, 0)); d < 0 {
			t.Errorf("%q: %v", after, d)
		}
		if text := reason(strconv.Itoa(status), body); len(text) > 3*maxReason+len(strconv.Itoa(status)) || strings.ContainsAny(text, "\n\x1b") {
			t.Errorf("%q: %q", body, text)
		}
		if list, err := tracks(body); err != nil && list != nil {
			t.Errorf("%v with %v", list, err)
		}
		if list, err := points(body); err != nil && list != nil {
			t.Errorf("%v with %v", list, err)
		}
		c := &Client{cfg: Config{URL: "http://h"}, http: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			w.Header().Set(written, took)
			w.Header().Set("Retry-After", after)
			res := w.Result()
			res.StatusCode, res.Body = status, io.NopCloser(strings.NewReader(string(body)))
			return res, nil
		})}, write: "http://h/w", query: "http://h/q"}
		out, err := c.send(t.Context(), example())
		if out.Rejected < 0 || out.Rejected > 3 || err == nil && out.Rejected > 0 && out.Reason == "" {
			t.Errorf("%d %q: %+v, %v", status, took, out, err)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTracks reads samples of a server, by a query that is too long for an address.
func TestTracks(t *testing.T) {
	f := func(answer string, want []Track, refused string) {
		t.Helper()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.FormValue("query"); r.Method != http.MethodPost || !strings.HasSuffix(q, `"}[1500ms]`) || r.FormValue("time") != "1763632801.500" {
				t.Errorf("%s %q", r.Method, r.Form)
			}
			io.WriteString(w, answer)
		}))
		defer srv.Close()
		c, err := New(Config{URL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Tracks(t.Context(), `{a="`+strings.Repeat("x", maxGet)+`"}`, 1763632800000, 1763632801500)
		if !reflect.DeepEqual(got, want) || (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v, %v", answer, got, err)
		}
	}
	f(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1763632800.123,"2"],[1763632801,"NaN"]]}]}}`,
		[]Track{{map[string]string{"a": "b"}, []int64{1763632800123, 1763632801000}}}, "")
	f(`{"status":"success","data":{"resultType":"vector","result":[]}}`, nil, "not one of /api/v1/query")
	f(`{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1]]}]}}`, nil, "without a time")
	f(`{"status":"success","data":{"resultType":"matrix","result":[{"values":[["x","1"]]}]}}`, nil, "for a time")
}
