package webapi

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// An event is a sample of a stream.
type event struct {
	Timestamp json.Number
	Instances map[string]map[string]any
	Values    map[string]json.RawMessage
	Others    map[string][2]float64
	Since     json.Number
	Before    map[string]json.RawMessage
}

// A subscription is a client of /stream.
type subscription struct {
	t      testing.TB
	body   *http.Response
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

// streamServer serves a handler's streams, as pmproxy does for a peer.
func streamServer(t testing.TB, h *Handler, peer rest.Peer) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Stream().ServeHTTP(w, r.WithContext(rest.WithPeer(r.Context(), &peer)))
	}))
	t.Cleanup(srv.Close)
	return srv
}

// subscribe opens a stream.
func subscribe(t testing.TB, srv *httptest.Server, query string) *subscription {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/stream?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	s := &subscription{t, resp, bufio.NewScanner(resp.Body), cancel}
	s.lines.Buffer(nil, 1<<24)
	t.Cleanup(s.end)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != typeEvents {
		t.Fatalf("%s: %d %s", query, resp.StatusCode, kind)
	}
	return s
}

func (s *subscription) end() {
	s.cancel()
	s.body.Body.Close()
}

// next returns the next sample, or the reason why the stream ended.
func (s *subscription) next() (e event, end string) {
	s.t.Helper()
	name := ""
	for s.lines.Scan() {
		line := s.lines.Text()
		if n, ok := strings.CutPrefix(line, "event: "); ok {
			name = n
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		if name == "end" {
			return e, data
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			s.t.Fatalf("%v: %s", err, data)
		}
		return e, ""
	}
	return e, fmt.Sprint("closed: ", s.lines.Err())
}

// counted relays connections to a collector, and counts the requests for values.
func counted(t testing.TB, c *collector) (spec string, fetches *atomic.Int64) {
	t.Helper()
	path := c.socket + ".relay"
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	fetches = new(atomic.Int64)
	var all sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", c.socket)
			if err != nil {
				t.Error(err)
				from.Close()
				continue
			}
			all.Go(func() {
				defer from.Close()
				io.Copy(from, to)
			})
			all.Go(func() {
				defer to.Close()
				var head [12]byte // length, type, sender
				for {
					if _, err := io.ReadFull(from, head[:]); err != nil {
						return
					}
					if kind := wire.Type(binary.BigEndian.Uint32(head[4:])); kind == wire.TypeFetch || kind == wire.TypeHighResFetch {
						fetches.Add(1)
					}
					rest := int64(binary.BigEndian.Uint32(head[:])) - int64(len(head))
					if _, err := to.Write(head[:]); err != nil {
						return
					}
					if _, err := io.CopyN(to, from, rest); err != nil {
						return
					}
				}
			})
		}
	})
	return "unix:" + path, fetches
}

// TestStreamShared sends samples to a hundred clients, which have different metrics, and counts the fetches of the collector: one for each
// sample, however many clients there are.
func TestStreamShared(t *testing.T) {
	c := startCollector(t)
	spec, fetches := counted(t, c)
	h := serve(t, Config{Host: spec})
	srv := streamServer(t, h, trusted)
	const clients, samples = 100, 4
	names := []string{"sample.long.one,sample.bin", "sample.long.one", "sample.string.hullo,sample.long.ten", "sample.bin,no.such"}
	list := make([]*subscription, clients)
	for i := range list {
		list[i] = subscribe(t, srv, "interval=0.25&names="+names[i%len(names)])
	}
	for _, s := range list {
		if _, end := s.next(); end != "" { // all are known, and so are all names
			t.Fatal(end)
		}
	}
	before, began := fetches.Load(), time.Now()
	var all sync.WaitGroup
	for _, s := range list {
		all.Go(func() {
			for range samples {
				if _, end := s.next(); end != "" {
					t.Error(end)
					return
				}
			}
		})
	}
	all.Wait()
	n := fetches.Load() - before
	// One for each time, and perhaps one at both ends. On a busy machine fetches are slow, and clients with different metrics have their own.
	h.streams.mu.Lock()
	sets := int64(1)
	for _, b := range h.streams.hubs {
		if !b.apart.IsZero() {
			sets = int64(len(names))
		}
	}
	h.streams.mu.Unlock()
	if most := sets * (int64(time.Since(began)/(250*time.Millisecond)) + 4); n > most || n < samples-1 {
		t.Errorf("%d fetches for %d clients with %d samples each, want %d at most", n, clients, samples, most)
	}
}

// TestStreamValues compares a stream with a fetch.
func TestStreamValues(t *testing.T) {
	c := startCollector(t)
	srv := streamServer(t, serve(t, Config{Host: c.spec()}), trusted)
	s := subscribe(t, srv, "interval=0.25&names=sample.long.one,sample.bin,odd.quotes,no.such,sample.event.records&rare=sample.colour,sample.bin")
	e, end := s.next()
	if end != "" {
		t.Fatal(end)
	}
	for name, want := range map[string]string{
		"sample.long.one": "1", "sample.bin": "[100,100,200,200,300,300,400,400,500,500,600,600,700,700,800,800,900,900]",
		"odd.quotes": `"a\u0022b\u005Cc\u000A\u0009\u0001\u2028é"`,
	} {
		if got := string(e.Values[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if len(e.Values) != 4 || len(e.Values["sample.colour"]) == 0 {
		t.Errorf("the first sample has %v", e.Values)
	}
	if got := e.Instances["29.2"]["200"]; got != "bin-200" {
		t.Errorf("the instance 200 is %v: %v", got, e.Instances)
	}
	// The instances, and metrics that rarely change, are not sent again.
	e, end = s.next()
	if _, rare := e.Values["sample.colour"]; end != "" || rare || len(e.Instances) > 0 || len(e.Values) != 3 {
		t.Errorf("the second sample has %v, %v; %s", e.Values, e.Instances, end)
	}
}

// TestStreamEnds ends streams when the collector does, and refuses those that cannot be.
func TestStreamEnds(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec(), AllowHost: func(*pmapi.HostSpec) bool { return false }})
	s := subscribe(t, streamServer(t, h, trusted), "interval=0.25&names=sample.long.one")
	if _, end := s.next(); end != "" {
		t.Fatal(end)
	}
	f := func(peer rest.Peer, query string, status int, has string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/stream?"+query, nil)
		w := httptest.NewRecorder()
		h.Stream().ServeHTTP(w, r.WithContext(rest.WithPeer(r.Context(), &peer)))
		if w.Code != status || !strings.Contains(w.Body.String(), has) {
			t.Errorf("%s: %d %s, want %d with %q", query, w.Code, w.Body, status, has)
		}
	}
	f(trusted, "", 400, "names are missing")
	f(trusted, "names="+strings.Repeat("a,", MaxStreamNames/2)+"a&interval=0", 400, "interval")
	var many []string
	for i := range MaxStreamNames + 1 {
		many = append(many, fmt.Sprint("a", i))
	}
	f(trusted, "names="+strings.Join(many, ","), 400, "more than 1000")
	f(trusted, "names=a&interval=nan", 400, "interval")
	f(trusted, "names=a&share=-1", 400, "share")
	f(trusted, "names=a&changes=some", 400, "changes: want true or false")
	f(trusted, "names=a&top=5", 400, "top: want metrics in largest")
	f(trusted, "largest=a&top=1001", 400, "top: want a number from 1 to 1000")
	f(trusted, "largest=a&keep=-1", 400, "keep")
	f(trusted, "names=a&instance=x", 400, "instance")
	f(trusted, "names=no.such", 400, "Unknown metric name")
	f(trusted, "names=a&hostspec=192.0.2.1", 400, "Connection refused")
	f(stranger, "names=a&hostspec="+c.spec(), 403, "No permission")
	f(trusted, "names=%zz", 400, "servlet")
	c.stop()
	for {
		if _, end := s.next(); end != "" {
			if !strings.Contains(end, "IPC protocol failure") && !strings.Contains(end, "refused") && !strings.Contains(end, "No such file") {
				t.Errorf("the stream ended: %s", end)
			}
			break
		}
	}
	f(trusted, "names=sample.long.one", 400, "cannot connect")
	await.Until(t, "no stream is left", func() bool {
		h.streams.mu.Lock()
		defer h.streams.mu.Unlock()
		return h.streams.count == 0 && len(h.streams.hubs) == 0 && len(h.streams.peers) == 0
	})
}

// A stuck is a response whose client reads nothing.
type stuck struct {
	http.ResponseWriter
	block chan struct{}
	n     int
}

func (w *stuck) Write(b []byte) (int, error) {
	if w.n++; w.n > 1 { // the first byte is read
		<-w.block
		return 0, net.ErrClosed
	}
	return len(b), nil
}

func (w *stuck) Flush() {}

// TestStreamSlow drops a client that does not read, while another gets all its samples.
func TestStreamSlow(t *testing.T) {
	c := startCollector(t)
	h := serve(t, Config{Host: c.spec()})
	w := &stuck{httptest.NewRecorder(), make(chan struct{}), 0}
	r := httptest.NewRequest(http.MethodGet, "/stream?interval=0.25&names=sample.long.one", nil)
	var slow sync.WaitGroup
	slow.Go(func() { h.Stream().ServeHTTP(w, r.WithContext(rest.WithPeer(r.Context(), &trusted))) })
	s := subscribe(t, streamServer(t, h, trusted), "interval=0.25&names=sample.long.one")
	listeners := func() int {
		h.streams.mu.Lock()
		defer h.streams.mu.Unlock()
		n := 0
		for _, b := range h.streams.hubs {
			n += len(b.listeners)
		}
		return n
	}
	for range streamQueue + 2 {
		if _, end := s.next(); end != "" {
			t.Fatal(end)
		}
	}
	for listeners() != 1 {
		if _, end := s.next(); end != "" {
			t.Fatal(end)
		}
	}
	close(w.block)
	slow.Wait()
	s.end()
	await.Until(t, "the hub ends", func() bool { return listeners() == 0 })
}

// TestStreamClosing ends streams with the server.
func TestStreamClosing(t *testing.T) {
	c := startCollector(t)
	closing := make(chan struct{})
	h := serve(t, Config{Host: c.spec()})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.Stream().ServeHTTP(w, r.WithContext(rest.WithClosing(rest.WithPeer(r.Context(), &trusted), closing)))
	}))
	t.Cleanup(srv.Close)
	s := subscribe(t, srv, "names=sample.long.one&interval=3600")
	close(closing)
	if e, end := s.next(); end != "closed: <nil>" {
		t.Errorf("%v, %s", e, end)
	}
}

// FuzzStream checks the limits of parameters that are accepted.
func FuzzStream(f *testing.F) {
	for _, s := range []string{"names=a,b&rare=b,c&interval=1.1&share=20", "names=,,&interval=1e-9", "rare=a&interval=86400&share=100", "names=%00&interval=Inf", "largest=a,b&names=b&top=7&keep=1e3", "names=a&instance=4294967295", "names=a&changes=true"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p, err := rest.ParseParams(query)
		if err != nil {
			return
		}
		l, share, err := parseStream(p)
		if err != nil {
			return
		}
		if n := len(l.names) + len(l.rare) + len(l.largest); n == 0 || l.top < 1 || l.top > MaxTop || l.keep < 0 || l.keep > longestKeep || n > MaxStreamNames || share < 0 || share > maxShare || l.interval < streamGrid || l.interval > 25*time.Hour || l.interval%streamGrid != 0 {
			t.Errorf("%q: %+v, %d", query, l, share)
		}
		for _, name := range l.rare {
			if slices.Contains(l.names, name) {
				t.Errorf("%q: %s twice", query, name)
			}
		}
	})
}
