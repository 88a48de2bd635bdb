package httpmmv

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/mmvtest"
	"github.com/go-pcp/pcp/mmv"
)

func TestMain(m *testing.M) { leak.Main(m) }

// newTestServer serves mux with counts.
func newTestServer(t *testing.T, reg *mmv.Registry, mux http.Handler, opt Options) *httptest.Server {
	s := httptest.NewUnstartedServer(Handler(reg, mux, opt))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of panics
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// check waits for values: a handler may not have returned yet when its client has
// the response.
func check(t *testing.T, reg *mmv.Registry, want map[string]string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got, wrong := mmvtest.Values(t, reg), ""
		for name, value := range want {
			if got[name] != value {
				wrong += fmt.Sprintf("%s = %q, want %s\n", name, got[name], value)
			}
		}
		if wrong == "" {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%s%v", wrong, got)
			return
		}
	}
}

func TestHandler(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		if n := reg.Lookup("http.in_flight").String(); n != "1" {
			t.Errorf("%s requests in flight", n)
		}
		io.WriteString(w, "order "+r.PathValue("id"))
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		io.Copy(io.Discard, r.Body)
		time.Sleep(2 * time.Millisecond)
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusTeapot) // too late
	})
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("on purpose") })
	mux.HandleFunc("/nothing", func(http.ResponseWriter, *http.Request) {})
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 100000)), 0o644); err != nil {
		t.Fatal(err)
	}
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	s := newTestServer(t, reg, mux, Options{})
	do := func(method, path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Client().Do(req)
		if err != nil {
			if path != "/panic" {
				t.Error(err)
			}
			return
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	do("GET", "/orders/1", "")
	do("GET", "/orders/23", "")
	do("POST", "/orders", strings.Repeat("o", 1234))
	do("POST", "/panic", "") // the client would repeat a GET
	do("GET", "/nothing", "")
	do("GET", "/file", "")
	do("GET", "/made/up", "")
	do("GET", "/made/up/too", "")
	s.Close()
	reg.Flush()
	check(t, reg, map[string]string{
		"http.in_flight":                            "0",
		"http.requests[GET:/orders/{id}:200]":       "2",
		"http.response.bytes[GET:/orders/{id}:200]": "15",
		"http.latency.count[GET:/orders/{id}:200]":  "2",
		"http.requests[POST:/orders:201]":           "1",
		"http.request.bytes[POST:/orders:201]":      "1234",
		"http.requests[/panic:500]":                 "1",
		"http.requests[/nothing:200]":               "1",
		"http.requests[/file:200]":                  "1",
		"http.response.bytes[/file:200]":            "100000",
		"http.requests[other:404]":                  "2",
		"http.request.bytes[GET:/orders/{id}:200]":  "0",
		"http.latency.count[POST:/orders:201]":      "1",
		"http.latency.stats[/nothing:200::p99]":     mmvtest.Values(t, reg)["http.latency.stats[/nothing:200::max]"],
	})
	if ns, _ := strconv.Atoi(mmvtest.Values(t, reg)["http.latency.sum[POST:/orders:201]"]); ns < 2e6 {
		t.Errorf("POST took %d ns", ns)
	}
	if err := reg.Err(); err != nil {
		t.Error(err)
	}
}

func TestFlushAndHijack(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	mux := http.NewServeMux()
	mux.HandleFunc("/flush", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		io.WriteString(w, "flushed")
	})
	hijack := func(w http.ResponseWriter, hijacker http.Hijacker) {
		conn, rw, err := hijacker.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		rw.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhijacked")
		rw.Flush()
	}
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, r *http.Request) { hijack(w, w.(http.Hijacker)) })
	s := newTestServer(t, reg, mux, Options{Prefix: "web"})
	for path, want := range map[string]string{"/flush": "flushed", "/hijack": "hijacked"} {
		res, err := s.Client().Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %q", path, body)
		}
	}
	s.Close()
	check(t, reg, map[string]string{"web.requests[/flush:200]": "1", "web.requests[/hijack:101]": "1", "web.response.bytes[/flush:200]": "7"})
}

func TestHTTP2(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	s := httptest.NewUnstartedServer(Handler(reg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(http.Hijacker); ok {
			t.Error("HTTP/2 can be hijacked")
		}
		w.(http.Flusher).Flush()
		bufio.NewReader(r.Body).ReadString(0)
	}), Options{}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	res, err := s.Client().Post(s.URL, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	// Closing it sooner would end the request, which may not be completely sent.
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if res.ProtoMajor != 2 {
		t.Errorf("%s", res.Proto)
	}
	s.Close()
	check(t, reg, map[string]string{"http.requests[other:200]": "1", "http.request.bytes[other:200]": "5"})
}

func TestBoundAndTotals(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	h := Handler(reg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.URL.Query().Get("code"))
		w.WriteHeader(code)
	}), Options{MaxInstances: 50})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for code := 200; code < 900; code++ {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/?code="+strconv.Itoa(code), nil))
			}
		})
	}
	wg.Wait()
	total, n := 0, 0
	for name, value := range mmvtest.Values(t, reg) {
		if strings.HasPrefix(name, "http.requests[") {
			k, _ := strconv.Atoi(value)
			total += k
			n++
		}
	}
	if total != 4*700 || n != 51 {
		t.Errorf("%d requests in %d instances", total, n)
	}
	if err := reg.Err(); err != nil {
		t.Error(err)
	}
}

// A null is a response without cost.
type null struct{}

func (null) Header() http.Header         { return nil }
func (null) Write(b []byte) (int, error) { return len(b), nil }
func (null) WriteHeader(int)             {}

func TestAllocations(t *testing.T) {
	reg := mmvtest.New(t, "a", mmv.Options{})
	text := []byte("hello")
	mux := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(text) })
	h := Handler(reg, mux, Options{})
	r := httptest.NewRequest("GET", "/", nil)
	r.Pattern = "GET /"
	var w http.ResponseWriter = null{}
	h.ServeHTTP(w, r)
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }); n > 1 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkHandler(b *testing.B) {
	reg := mmvtest.New(b, "a", mmv.Options{})
	h := Handler(reg, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), Options{})
	r := httptest.NewRequest("GET", "/", nil)
	r.Pattern = "GET /"
	var w http.ResponseWriter = null{}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
