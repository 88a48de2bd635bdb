package webapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// A null is a ResponseWriter that discards the response.
type null struct {
	header http.Header
	n      int
}

func (w *null) Header() http.Header         { return w.header }
func (w *null) WriteHeader(int)             {}
func (w *null) Write(b []byte) (int, error) { w.n += len(b); return len(b), nil }

// BenchmarkFetch fetches for one client, and for many at a time, without HTTP.
func BenchmarkFetch(b *testing.B) {
	h := serve(b, Config{Host: startCollector(b).spec()})
	for _, names := range []string{"sample.long.one", "sample.long.one,sample.bin,sample.colour,sample.string.hullo"} {
		n := newContext(b, h, "?polltimeout=3600")
		b.Run(strconv.Itoa(strings.Count(names, ",")+1), func(b *testing.B) {
			r := httptest.NewRequest("GET", "/pmapi/"+n+"/fetch?names="+names, nil)
			w := &null{header: make(http.Header)}
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(50)
		b.RunParallel(func(pb *testing.PB) {
			n := newContext(b, h, "?polltimeout=3600")
			r := httptest.NewRequest("GET", "/pmapi/"+n+"/fetch?names=sample.long.one", nil)
			w := &null{header: make(http.Header)}
			for pb.Next() {
				h.ServeHTTP(w, r)
			}
		})
	})
}

// BenchmarkFetchHTTP fetches for clients with a connection each.
func BenchmarkFetchHTTP(b *testing.B) {
	h := serve(b, Config{Host: startCollector(b).spec()})
	srv := httptest.NewServer(h)
	defer srv.Close()
	for _, clients := range []int{1, 100} {
		b.Run(strconv.Itoa(clients), func(b *testing.B) {
			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			done := make(chan error, clients)
			for range clients {
				n := newContext(b, h, "?polltimeout=3600")
				conn, err := net.Dial("tcp", srv.Listener.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				request := []byte("GET /pmapi/" + n + "/fetch?names=sample.long.one HTTP/1.1\r\nHost: x\r\n\r\n")
				go func() {
					in := bufio.NewReader(conn)
					for left.Add(-1) >= 0 {
						if _, err := conn.Write(request); err != nil {
							done <- err
							return
						}
						if err := readAnswer(in); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
			}
			for range clients {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
		})
	}
}

// readAnswer reads a response with a length.
func readAnswer(in *bufio.Reader) error {
	size := -1
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if text, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			size, _ = strconv.Atoi(strings.TrimSpace(text))
		}
	}
	if size < 0 {
		return fmt.Errorf("an answer without a length")
	}
	_, err := io.CopyN(io.Discard, in, int64(size))
	return err
}

// BenchmarkScrape scrapes all metrics as text.
func BenchmarkScrape(b *testing.B) {
	h := serve(b, Config{Host: startCollector(b).spec()})
	for _, accept := range []string{"text/plain", "application/json"} {
		b.Run(accept, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.Header.Set("Accept", accept)
			w := &null{header: make(http.Header)}
			h.ServeHTTP(w, r)
			b.ReportAllocs()
			b.SetBytes(int64(w.n))
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}

// BenchmarkScrapeInstances scrapes a metric with many instances, like those of processes.
func BenchmarkScrapeInstances(b *testing.B) {
	c := startCollector(b)
	store(b, c, "sample.many.count", 5000)
	h := serve(b, Config{Host: c.spec()})
	r := httptest.NewRequest("GET", "/metrics?names=sample.many.int", nil)
	w := &null{header: make(http.Header)}
	h.ServeHTTP(w, r)
	if w.n < 100_000 {
		b.Fatalf("%d bytes", w.n)
	}
	b.ReportAllocs()
	b.SetBytes(int64(w.n))
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}

// store stores a value of a metric.
func store(t testing.TB, c *collector, name string, value uint32) {
	t.Helper()
	pc, err := pmapi.Dial(t.Context(), c.spec())
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	ids, err := pc.LookupName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	res := &pcp.Result{}
	res.AddSet(ids[0])
	res.Add(pcp.Int32Value(int32(value)))
	if err := pc.Store(t.Context(), res); err != nil {
		t.Fatal(err)
	}
}
