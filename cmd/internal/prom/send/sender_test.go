package send

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
)

// marked returns a sender to a server with markers, which reply returns for a name, and which closes the connection at the request with
// the number lose.
func marked(t *testing.T, base string, lose int, reply func(name string) string) (s *Push, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/api/v1/query" {
			name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Query().Get("query"), "last_over_time("), "{")
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, reply(name))
			return
		}
		if int(requests.Add(1)) == lose {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(srv.Close)
	c, err := remote.New(remote.Config{URL: srv.URL, Version: remote.V1})
	if err != nil {
		t.Fatal(err)
	}
	a := open1(t, base)
	end, err := a.End()
	if err != nil {
		t.Fatal(err)
	}
	return &Push{Archive: a, To: &Server{Client: c, Settle: time.Millisecond}, Start: a.Label().Start, Finish: end, Progress: func(int64) {}}, requests
}

// TestParts checks that parts of a window that the server has are not sent again.
func TestParts(t *testing.T) {
	base, _ := sendtest.Generate(t, 12, 1500)
	s, n := marked(t, base, 0, func(string) string { return "" })
	if err := s.Run(t.Context()); err != nil || n.Load() != 2 {
		t.Fatalf("%d requests, %v", n.Load(), err)
	}
	all, end := s.Sum.Samples, s.at.sent
	s, n = marked(t, base, 0, func(name string) string {
		if name == partMarker {
			return fmt.Sprintf(`{"metric":{"part":"1"},"value":[1,"%.3f"]}`, float64(end)/1000)
		}
		return ""
	})
	if err := s.Run(t.Context()); err != nil || n.Load() != 1 || s.Sum.Samples >= all || s.Sum.Samples == 0 || s.at.sent != end {
		t.Errorf("%d requests, %d of %d samples, %v", n.Load(), s.Sum.Samples, all, err)
	}
}

// TestUnclear checks a request without a reply: it is not repeated if the server has it, and if the server has lost earlier ones the push begins where
// the server is.
func TestUnclear(t *testing.T) {
	base, _ := sendtest.Generate(t, 100, 4)
	list, _ := windows(t, open1(t, base), nowhere(), false)
	if len(list) != 4 {
		t.Fatalf("%d windows", len(list))
	}
	f := func(marker, requests int) {
		t.Helper()
		var s *Push
		var n *atomic.Int32
		s, n = marked(t, base, 2, func(name string) string {
			if name != sentMarker || marker < 0 || n == nil || n.Load() == 0 {
				return ""
			}
			return fmt.Sprintf(`{"metric":{},"value":[1,"%.3f"]}`, float64(list[marker].end)/1000)
		})
		if err := s.Run(t.Context()); err != nil || int(n.Load()) != requests || s.at.sent != list[3].end {
			t.Errorf("marker %d: %d requests, want %d: %v", marker, n.Load(), requests, err)
		}
	}
	f(1, 4)  // the second request has arrived
	f(0, 5)  // it has not
	f(-1, 6) // nor is the first one there any more
}

// TestMissing checks that samples which a server accepts and does not keep are noticed.
func TestMissing(t *testing.T) {
	base, _ := sendtest.Generate(t, 100, 4)
	s, _ := marked(t, base, 0, func(string) string { return "" })
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if missing, err := s.Missing(t.Context()); !missing || err != nil {
		t.Errorf("lost: %v, %v", missing, err)
	}
}

// BenchmarkPush measures a push of 1,000 series to a server that takes everything, in this process too.
func BenchmarkPush(b *testing.B) {
	base, _ := sendtest.Generate(b, 1000, 500)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "1000000")
	}))
	defer srv.Close()
	c, err := remote.New(remote.Config{URL: srv.URL})
	if err != nil {
		b.Fatal(err)
	}
	a := open1(b, base)
	end, err := a.End()
	if err != nil {
		b.Fatal(err)
	}
	n, size := 0, 0
	for b.Loop() {
		s := &Push{Archive: a, To: &Server{Client: c, Blind: true}, Start: a.Label().Start, Finish: end, Progress: func(int64) {}}
		if err := s.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		n += s.Sum.Samples
		size += s.Sum.Bytes
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(float64(size)/float64(n), "B/sample")
}
