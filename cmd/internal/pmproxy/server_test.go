package pmproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/internal/tlsconf"
)

// start runs a Server on a loopback address until the test ends.
func start(t testing.TB, cfg Config) (address string, s *Server) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listeners = append(cfg.Listeners, ln)
	if s, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return ln.Addr().String(), s
}

// collector is a server that calls serve for each connection.
func collector(t testing.TB, serve func(net.Conn)) (port int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		all.Wait()
	})
	return ln.Addr().(*net.TCPAddr).Port
}

func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	network := "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	t.Cleanup(func() { c.Close() })
	return c
}

// shake does the proxy handshake.
func shake(t testing.TB, c net.Conn, port int) {
	t.Helper()
	fmt.Fprint(c, "pmproxy-client 1\n")
	hello := make([]byte, len(serverHello))
	if _, err := io.ReadFull(c, hello); err != nil || string(hello) != "pmproxy-server 1\n" {
		t.Fatalf("proxy says %q, %v", hello, err)
	}
	fmt.Fprintf(c, "localhost %d\n", port)
}

// TestForward checks that bytes are relayed in both directions, half-closed connections included.
func TestForward(t *testing.T) {
	want := bytes.Repeat([]byte("some long answer; "), 20000)
	port := collector(t, func(c net.Conn) {
		io.WriteString(c, "greeting")
		in, _ := io.ReadAll(c) // to the end of the client's data
		fmt.Fprintf(c, "%d:", len(in))
		c.Write(want)
	})
	dir := t.TempDir()
	socket, err := safefile.Listen(filepath.Join(dir, "s"), safefile.SocketMode{Perm: 0o666, Uid: -1, Gid: -1})
	if err != nil {
		t.Fatal(err)
	}
	address, _ := start(t, Config{Listeners: []net.Listener{socket}})
	for _, a := range []string{address, filepath.Join(dir, "s")} {
		c := dial(t, a)
		shake(t, c, port)
		b := make([]byte, len("greeting"))
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "greeting" {
			t.Fatalf("%q, %v", b, err)
		}
		c.Write(make([]byte, 100000))
		c.(interface{ CloseWrite() error }).CloseWrite()
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, append([]byte("100000:"), want...)) {
			t.Errorf("%s: %d bytes, %v", a, len(got), err)
		}
	}
}

// TestForwardEarly forwards data that a client sends too early.
func TestForwardEarly(t *testing.T) {
	port := collector(t, func(c net.Conn) { io.Copy(c, c) })
	address, _ := start(t, Config{})
	c := dial(t, address)
	fmt.Fprintf(c, "pmproxy-client 1\n127.0.0.1 %d\nearly", port)
	c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != "pmproxy-server 1\nearly" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestCollectorLeaves disconnects the client of a collector that has disconnected.
func TestCollectorLeaves(t *testing.T) {
	port := collector(t, func(net.Conn) {})
	address, _ := start(t, Config{})
	c := dial(t, address)
	shake(t, c, port)
	if b, err := io.ReadAll(c); len(b) != 0 || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// TestRefusedForwards ends the connections of clients that cannot be forwarded.
func TestRefusedForwards(t *testing.T) {
	port := collector(t, func(c net.Conn) { io.WriteString(c, "reached") })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := free.Addr().(*net.TCPAddr).Port
	free.Close()
	cfg := Config{Collectors: []string{fmt.Sprintf("127.0.0.1:%d", port), "*.example.com", fmt.Sprintf("127.0.0.1:%d", closed), "dead.invalid"}}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "dead.invalid") {
			return nil, &net.DNSError{Err: "no such host", Name: "dead.invalid"}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	address, _ := start(t, cfg)
	for _, c := range []struct{ say, want string }{
		{"pmproxy-client 1\n127.0.0.1 %d\n", "pmproxy-server 1\nreached"},
		{"pmproxy-client 1\n127.0.0.1 %d\r\n", "pmproxy-server 1\nreached"},
		{"pmproxy-client 1\nlocalhost %d\n", "pmproxy-server 1\n"}, // not on the list
		{"pmproxy-client 1\n127.0.0.1 1%d\n", "pmproxy-server 1\n"},
		{fmt.Sprintf("pmproxy-client 1\n127.0.0.1 %d\n", closed), "pmproxy-server 1\n"},
		{"pmproxy-client 1\ndead.invalid 1\n", "pmproxy-server 1\n"},
		{"pmproxy-client 1\n127.0.0.1\n", "pmproxy-server 1\n"},
		{"pmproxy-client 1\n127.0.0.1 4432x\n", "pmproxy-server 1\n"},
		{"pmproxy-client 1\n127.0.0.1 44 1\n", "pmproxy-server 1\n"},
		{"pmproxy-client 1\n" + strings.Repeat("h", 1000), "pmproxy-server 1\n"},
		{"pmproxy-client 2\n", ""},
		{"pmproxy-client 12\n", ""},
		{"p" + strings.Repeat("m", 1000), ""},
		{"p\n", ""},
	} {
		say := c.say
		if strings.Contains(say, "%d") {
			say = fmt.Sprintf(say, port)
		}
		conn := dial(t, address)
		io.WriteString(conn, say)
		got, err := io.ReadAll(conn)
		if string(got) != c.want && !(err != nil && strings.HasPrefix(c.want, string(got))) {
			t.Errorf("%.60q: %q, %v, want %q", say, got, err, c.want)
		}
	}
}

// TestCollectorPatterns checks which collectors can be reached.
func TestCollectorPatterns(t *testing.T) {
	s, err := New(Config{Collectors: []string{"a", "b:44321", "*.x.org", "[::1]:1", "::2"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host string
		port int
		want bool
	}{
		{"a", 1, true},
		{"A.", 1, true},
		{"aa", 1, false},
		{"b", 44321, true},
		{"b", 44322, false},
		{"m.x.org", 5, true},
		{"x.org", 5, false},
		{"::1", 1, true},
		{"::1", 2, false},
		{"::2", 2, true},
	} {
		if got := s.MayReach(c.host, c.port); got != c.want {
			t.Errorf("%s %d: %v", c.host, c.port, got)
		}
	}
	for _, bad := range []string{"", "a:b", "[", "a:70000", ":1"} {
		if _, err := New(Config{Collectors: []string{bad}}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// api returns a handler that prints its request.
func api(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("panic") {
			panic("a mistake of ours")
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			var tooLong *http.MaxBytesError
			if errors.As(err, &tooLong) {
				rest.Fail(w, http.StatusRequestEntityTooLarge, "too long")
			}
			return
		}
		rest.Send(w, 200, rest.TypeJSON, fmt.Appendf(nil, "%s %s %q %+v\n", name, r.Method, b, rest.PeerOf(r.Context())))
	})
}

// ask sends a request verbatim, and returns the response and its body.
func ask(t testing.TB, c net.Conn, in *bufio.Reader, request string) (*http.Response, string) {
	t.Helper()
	if request != "" {
		io.WriteString(c, request)
	}
	method, _, _ := strings.Cut(request, " ")
	r, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	return r, string(b)
}

// get sends a request on a new connection.
func get(t testing.TB, address, request string) (*http.Response, string) {
	t.Helper()
	c := dial(t, address)
	return ask(t, c, bufio.NewReader(c), request)
}

// TestRequests checks responses against pmproxy's.
func TestRequests(t *testing.T) {
	address, _ := start(t, Config{
		Handlers: map[string]http.Handler{"/metrics": api("metrics"), "/pmapi": api("pmapi"), "/pmapi/x": api("x")},
		MaxBody:  1000, AllowHeaders: []string{"X-Grafana-Device-ID"},
	})
	const headers = "Accept, Accept-Language, Content-Language, Content-Type, X-Grafana-Device-ID"
	const peer = "{Local:true Trusted:false User: Address:127.0.0.1 Push:<nil> Sockets:false}\n"
	const unknown = "<b>unknown servlet</b>: "
	for _, c := range []struct {
		request string
		status  int
		want    string // in the body
		headers string // name: value|…
	}{
		{"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "metrics GET \"\" " + peer, "Access-Control-Allow-Origin: *|Access-Control-Allow-Headers: " + headers + "|Access-Control-Max-Age: 86400|X-Frame-Options: |X-Content-Type-Options: "},
		{"GET /metrics HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0 (X11)\r\n\r\n", 200, "metrics GET", "X-Frame-Options: DENY|X-Content-Type-Options: nosniff|Content-Security-Policy: default-src 'none'; frame-ancestors 'none'"},
		{"GET /metricsfoo?a=b HTTP/1.1\r\nHost: localhost:44322\r\n\r\n", 200, "metrics GET", ""},
		{"GET /pmapi/xyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 200, "x GET", ""},
		{"DELETE /pmapi/y HTTP/1.1\r\nHost: [::1]:1\r\n\r\n", 200, "pmapi DELETE", ""},
		{"POST /pmapi/y HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 3\r\n\r\nabc", 200, `pmapi POST "abc"`, ""},
		{"POST /pmapi/y HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 1001\r\n\r\n", 413, "1000", ""},
		{"POST /pmapi/y HTTP/1.1\r\nHost: a.localhost\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" + strings.Repeat("x", 1024) + "\r\n0\r\n\r\n", 413, "too long", ""},
		{"GET /metrics HTTP/1.0\r\n\r\n", 200, "metrics GET", ""},
		{"GET /nosuch HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, unknown + "no handler for URL", "Content-Type: text/html|Access-Control-Allow-Origin: *"},
		{"GET /" + strings.Repeat("x", 8191) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414, unknown + "request URL too long</p><hr>", "Content-Type: text/html|Access-Control-Allow-Origin: *"},
		{"GET /metrics?" + strings.Repeat("x", 8001) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "no handler", ""},
		{"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "", "Access-Control-Allow-Origin: *"},
		{"HEAD /nosuch HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "", ""},
		{"TRACE /metrics HTTP/1.1\r\nHost: localhost\r\nX-Secret: y\r\n\r\n", 200, "", "X-Secret: |Host: localhost|Access-Control-Allow-Origin: "},
		{"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "", "Access-Control-Allow-Methods: GET, PUT, HEAD, POST, TRACE, OPTIONS|Access-Control-Allow-Origin: "},
		{"OPTIONS /nosuch HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, unknown + "no handler for OPTIONS", ""},
		{"OPTIONS /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x\r\nAccess-Control-Request-Method: GET\r\n\r\n", 200, "", "Access-Control-Allow-Methods: GET, HEAD, TRACE, OPTIONS|Access-Control-Allow-Origin: http://x|Access-Control-Allow-Headers: "},
		{"OPTIONS /metrics HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: POST\r\n\r\n", 405, "", "Access-Control-Allow-Methods: "},
		{"OPTIONS /pmapi/12/_derive HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x\r\n\r\n", 200, "", "Access-Control-Allow-Methods: GET, HEAD, POST, TRACE, OPTIONS|Access-Control-Allow-Headers: " + headers},
		{"OPTIONS /pmapi/store HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "", "Access-Control-Allow-Methods: GET, HEAD, POST, TRACE, OPTIONS"},
		{"GET /metrics HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", 403, "is not a name of this server", ""},
		{"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "pmproxy works", ""},
		{"GET /-/ready HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "pmproxy is ready", ""},
		{"GET /metrics?panic HTTP/1.1\r\nHost: localhost\r\n\r\n", 500, "internal error", ""},
		{"BREW /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "metrics BREW", ""},
		{"GET\x00 / HTTP/1.1\r\n\r\n", 400, "", ""},
	} {
		r, body := get(t, address, c.request)
		if r.StatusCode != c.status || !strings.Contains(body, c.want) || c.want == "" && c.status == 200 && body != "" {
			t.Errorf("%.70q: %d %q", c.request, r.StatusCode, body)
		}
		if c.status == 414 && r.Status != "414 URI Too Long" {
			t.Errorf("status %q", r.Status)
		}
		for _, h := range strings.Split(c.headers, "|") {
			if name, value, ok := strings.Cut(h, ": "); ok && r.Header.Get(name) != value {
				t.Errorf("%.70q: %s is %q, want %q", c.request, name, r.Header.Get(name), value)
			}
		}
	}
}

// TestLongHeaders checks that long headers are not read to their end.
func TestLongHeaders(t *testing.T) {
	address, _ := start(t, Config{Handlers: map[string]http.Handler{"/": api("")}})
	c := dial(t, address)
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nA: "+strings.Repeat("x", 60000)+"\r\n\r\n")
	// The response may be lost, as the request was not read completely.
	if b, _ := io.ReadAll(c); len(b) > 0 && !bytes.HasPrefix(b, []byte("HTTP/1.1 431 ")) {
		t.Errorf("%q", b)
	}
}

// TestPipelined answers pipelined requests, in order, on one connection.
func TestPipelined(t *testing.T) {
	address, _ := start(t, Config{Handlers: map[string]http.Handler{"/": api("page")}})
	c := dial(t, address)
	in := bufio.NewReader(c)
	var all strings.Builder
	for i := range 50 {
		fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", i, i, strings.Repeat("x", i))
	}
	go io.WriteString(c, all.String())
	for i := range 50 {
		if r, body := ask(t, c, in, ""); r.StatusCode != 200 || !strings.Contains(body, fmt.Sprintf("%q", strings.Repeat("x", i))) {
			t.Fatalf("%d: %d %q", i, r.StatusCode, body)
		}
	}
}

// TestGzip checks that long responses are compressed, for clients that accept gzip.
func TestGzip(t *testing.T) {
	long := strings.Repeat("kernel.all.load ", 1000)
	address, s := start(t, Config{MetricsDir: t.TempDir(), Handlers: map[string]http.Handler{
		"/long":  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { rest.Send(w, 200, rest.TypeJSON, []byte(long)) }),
		"/short": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { rest.Send(w, 200, rest.TypeJSON, []byte("{}")) }),
		"/none":  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}),
		"/parts": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			for i := 0; i < len(long); i += 16 {
				io.WriteString(w, long[i:i+16])
			}
		}),
		"/two": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			io.WriteString(w, "b")
		}),
		"/png": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { rest.Send(w, 200, "image/png", []byte(long)) }),
	}})
	tr := &http.Transport{} // it requests gzip, and decompresses
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	for _, c := range []struct {
		path, want string
		gzip       bool
	}{{"/long", long, true}, {"/short", "{}", false}, {"/none", "", false}, {"/parts", long, true}, {"/two", "ab", true}, {"/png", long, false}} {
		r, err := client.Get("http://" + address + c.path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(b) != c.want || r.Uncompressed != c.gzip {
			t.Errorf("%s: %d bytes, %v, compressed %v", c.path, len(b), err, r.Uncompressed)
		}
		if r, body := get(t, address, "GET "+c.path+" HTTP/1.0\r\nAccept-Encoding: gzip;q=0, *\r\n\r\n"); body != c.want || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d bytes, %v", c.path, len(body), r.Header)
		}
	}
	for text, want := range map[string]bool{"": false, "gzip": true, "deflate, GZIP;q=0.5": true, "gzip;q=0": false, "*": true, "identity": false, "*;q=0": false, "gzip;q=x": false} {
		if got := acceptsGzip([]string{text}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if n := s.stats.compressed.Value(); n != 3 {
		t.Errorf("%d answers were compressed", n)
	}
}

type accounts map[string]string

func (a accounts) CheckPassword(user, password string) error {
	if want, ok := a[user]; ok && want == password {
		return nil
	}
	return errors.New("no")
}

// TestSameOrigin checks that pages of other origins cannot read responses with SameOrigin.
func TestSameOrigin(t *testing.T) {
	address, _ := start(t, Config{SameOrigin: true, Handlers: map[string]http.Handler{"/pmapi": api("pmapi"), "/": api("page")}})
	for _, request := range []string{
		"GET /pmapi/x", "GET /", "HEAD /pmapi/x", "POST /pmapi/x", "OPTIONS /pmapi/x", "OPTIONS *", "OPTIONS /nosuch", "TRACE /pmapi/x", "GET /-/healthy", "GET /-/page",
		"GET /pmapi/x?" + strings.Repeat("x", 8001), "GET /" + strings.Repeat("x", 8191), "GET /pmapi?panic", "BREW /pmapi",
	} {
		for _, origin := range []string{"", "Origin: http://evil.example.com\r\nAccess-Control-Request-Method: GET\r\n", "Origin: null\r\n"} {
			r, _ := get(t, address, request+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"+origin+"\r\n")
			for name := range r.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%.30s: %s: %s", request, name, r.Header.Get(name))
				}
			}
			if r.StatusCode != 414 && (r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" || r.Header.Get("X-Frame-Options") != "DENY") {
				t.Errorf("%.30s: %v", request, r.Header)
			}
		}
	}
}

// TestUnserved checks OPTIONS and HEAD for paths that GET does not serve, also where there is a page, and
// below a prefix.
func TestUnserved(t *testing.T) {
	some := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pmapi/context" {
			rest.Refuse(w, "webapi", "there is nothing at this address")
		}
	})
	address, _ := start(t, Config{Handlers: map[string]http.Handler{"/pmapi": some, "/": api("page")}})
	for request, want := range map[string]int{
		"OPTIONS /nosuch": 400, "OPTIONS /pmapi/nosuch": 400, "HEAD /pmapi/nosuch": 400, "OPTIONS /": 200, "OPTIONS /pmapi/context": 200, "HEAD /pmapi/context": 200, "OPTIONS *": 200,
	} {
		r, body := get(t, address, request+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if r.StatusCode != want || want == 400 && r.Header.Get("Content-Type") != "text/html" || (body != "") != (want == 400 && strings.HasPrefix(request, "OPTIONS")) {
			t.Errorf("%s: %d %v %q", request, r.StatusCode, r.Header, body)
		}
	}
}

// TestAuthorise checks the identification of clients.
func TestAuthorise(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("# those who may push\nharvester 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Auth: accounts{"tom": "secret"}, TokenFile: tokens, TrustLocal: true, Handlers: map[string]http.Handler{"/a": api("a")}}
	open, _ := start(t, cfg)
	cfg.RequireAuth = true
	closed, _ := start(t, cfg)
	const basic, wrong = "Authorization: Basic dG9tOnNlY3JldA==\r\n", "Authorization: Basic dG9tOndyb25n\r\n"
	const bearer = "Authorization: Bearer 0123456789abcdef\r\n"
	const foreign = "Origin: http://evil.example.com\r\n"
	for _, c := range []struct {
		address, headers string
		status           int
		want             string
	}{
		{open, "", 200, "{Local:true Trusted:true User: "},
		{open, foreign, 200, "{Local:true Trusted:false User: "},
		{open, "Origin: http://localhost\r\n", 200, "{Local:true Trusted:true User: "},
		{open, "Sec-Fetch-Site: cross-site\r\n", 200, "{Local:true Trusted:false User: "},
		{open, "X-Forwarded-For: 192.0.2.1\r\n", 200, "{Local:false Trusted:false User: "},
		{open, basic, 200, "Trusted:true User:tom "},
		{open, basic + foreign, 200, "Trusted:false User:tom "},
		{open, bearer + foreign, 200, "Trusted:true User:harvester "},
		{open, wrong, 401, `{"message":"authorisation failed","success":false}`},
		{open, "Authorization: Basic !\r\n", 401, "authorisation failed"},
		{open, "Authorization: Bearer 0123456789abcdeX\r\n", 401, "authorisation failed"},
		{open, "Authorization: Digest x\r\n", 200, "User: "},
		{closed, "", 401, "authorisation is required"},
		{closed, "Authorization: Digest x\r\n", 401, "authorisation is required"},
		{closed, basic, 200, "User:tom"},
		{closed, bearer, 200, "User:harvester"},
	} {
		r, body := get(t, c.address, "GET /a HTTP/1.1\r\nHost: localhost\r\n"+c.headers+"\r\n")
		if r.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%q: %d %q", c.headers, r.StatusCode, body)
		}
		if h := r.Header.Values("WWW-Authenticate"); (len(h) == 2) != (c.status == 401) {
			t.Errorf("%q: %v", c.headers, h)
		}
	}
	// Only an authorised client acts as the server's user, unless LendRights is set.
	cfg.RequireAuth, cfg.LendRights = false, true
	lent, _ := start(t, cfg)
	for _, c := range []struct {
		address, headers string
		sockets          bool
	}{
		{open, "", false},
		{open, foreign, false},
		{open, "Authorization: Digest x\r\n", false},
		{open, "X-Forwarded-For: 127.0.0.1\r\n", false},
		{open, basic, true},
		{open, bearer, true},
		{open, basic + foreign, false},
		{lent, "", true},
		{lent, foreign, true},
	} {
		_, body := get(t, c.address, "GET /a HTTP/1.1\r\nHost: localhost\r\n"+c.headers+"\r\n")
		if !strings.Contains(body, fmt.Sprintf("Sockets:%v}", c.sockets)) {
			t.Errorf("%q: %q, want %v", c.headers, body, c.sockets)
		}
	}
	if r, _ := get(t, closed, "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n"); r.StatusCode != 200 {
		t.Errorf("health: %d", r.StatusCode)
	}
}

// TestTokens reads token files.
func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"a 0123456789abcdef": "", "": "", "# x\n\n": "", "a": "line 1: want", "a b c": "line 1: a token of less", "a 0123456789abcdef c": `line 1: "c": after a name and a token`,
		"a 0123456789abcdef push=www*,db quota=10gb": "", "a 0123456789abcdef quota=1gb": "is for a token with push", "a 0123456789abcdef push=": "is not a pattern",
		"a 0123456789abcdef push=[": "is not a pattern", "a 0123456789abcdef push=a push=b": "after a name", "a 0123456789abcdef push=a quota=0": "is not a size", "\na short": "line 2: a token of less",
		strings.Repeat("#", maxTokenFile+1): "more than", strings.Repeat("x", 100000): "token too long",
	} {
		if _, err := parseTokens([]byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		os.Remove(path)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("a 0123456789abcdef", 0o604)
	if _, err := openTokens(path); err == nil {
		t.Error("a file that all can read is taken")
	}
	write("a 0123456789abcdef", 0o600)
	f, err := openTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	find := func(token, want string, wantErr bool) {
		t.Helper()
		f.asked = time.Time{}
		if k, err := f.find(token); k.name != want || (err != nil) != wantErr {
			t.Errorf("%s: %q, %v", token, k.name, err)
		}
	}
	find("0123456789abcdef", "a", false)
	write("b fedcba98765432100", 0o600)
	find("0123456789abcdef", "", false)
	find("fedcba98765432100", "b", false)
	write("b", 0o600)
	find("fedcba98765432100", "", true)
	os.Remove(path)
	find("fedcba98765432100", "", true)
	if _, err := New(Config{TokenFile: path}); err == nil {
		t.Error("a server without its file of tokens")
	}
}

// TestPasswords checks that passwords are verified again after they expire from the cache.
func TestPasswords(t *testing.T) {
	var p passwords
	book := accounts{"a": "b"}
	p.init(book)
	if !p.check("a", "b") || p.check("a", "c") || p.check("ab", "") {
		t.Error("wrong answers")
	}
	delete(book, "a")
	if !p.check("a", "b") {
		t.Error("is not remembered")
	}
	for k := range p.good {
		p.good[k] = time.Now()
	}
	if p.check("a", "b") {
		t.Error("is remembered for ever")
	}
}

// TestTLS speaks both protocols inside TLS, and recognises a client with a certificate.
func TestTLS(t *testing.T) {
	ca := tlstest.NewCA(t, "CA")
	cert := ca.Cert(t, tlstest.Server())
	f, err := tlsconf.ReadFile(tlstest.Conf(t, "tls-cert-file", cert.File, "tls-key-file", cert.Key, "tls-ca-cert-file", ca.File))
	if err != nil {
		t.Fatal(err)
	}
	server, err := f.Server()
	if err != nil {
		t.Fatal(err)
	}
	port := collector(t, func(c net.Conn) { io.Copy(c, c) })
	address, _ := start(t, Config{TLS: server, Handlers: map[string]http.Handler{"/": api("page")}})
	mine := ca.Cert(t, tlstest.Want{})
	pair, err := tls.LoadX509KeyPair(mine.File, mine.Key)
	if err != nil {
		t.Fatal(err)
	}
	secure := func(certs ...tls.Certificate) *tls.Conn {
		return tls.Client(dial(t, address), &tls.Config{InsecureSkipVerify: true, Certificates: certs})
	}
	c := secure()
	shake(t, c, port)
	io.WriteString(c, "through")
	c.CloseWrite()
	if b, err := io.ReadAll(c); err != nil || string(b) != "through" {
		t.Errorf("%q, %v", b, err)
	}
	for want, certs := range map[string][]tls.Certificate{"Trusted:false User: ": nil, "Trusted:true User:test ": {pair}} {
		c := secure(certs...)
		if r, body := ask(t, c, bufio.NewReader(c), "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); r.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%d %q, want %q", r.StatusCode, body, want)
		}
	}
	c = secure()
	io.WriteString(c, "\x16\x03")
	if b, err := io.ReadAll(c); len(b) > 0 {
		t.Errorf("TLS in TLS: %q, %v", b, err)
	}
	if r, _ := get(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); r.StatusCode != 200 {
		t.Errorf("without TLS: %d", r.StatusCode)
	}
}

// TestSwitchedOff checks NoPCP and NoHTTP.
func TestSwitchedOff(t *testing.T) {
	address, _ := start(t, Config{NoPCP: true, NoHTTP: true})
	for _, say := range []string{"pmproxy-client 1\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01", "*1\r\n$4\r\nPING\r\n", "\x00", "x"} {
		c := dial(t, address)
		io.WriteString(c, say)
		if b, _ := io.ReadAll(c); len(b) > 0 {
			t.Errorf("%q: %q", say, b)
		}
	}
}

// TestTooMany refuses clients above the limit, and accepts others when one has disconnected.
func TestTooMany(t *testing.T) {
	address, s := start(t, Config{MaxClients: 2, MetricsDir: t.TempDir(), Handlers: map[string]http.Handler{"/": api("")}})
	request := "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	a, b := dial(t, address), dial(t, address)
	ask(t, a, bufio.NewReader(a), request)
	ask(t, b, bufio.NewReader(b), request)
	c := dial(t, address)
	if got, _ := io.ReadAll(c); len(got) > 0 {
		t.Errorf("%q", got)
	}
	a.Close()
	for s.stats.clients.Value() > 1 {
		time.Sleep(time.Millisecond)
	}
	get(t, address, request)
	if n := s.stats.refused.Value(); n != 1 {
		t.Errorf("%d refused", n)
	}
}

// TestHandlerPrefixes refuses invalid prefixes.
func TestHandlerPrefixes(t *testing.T) {
	for _, p := range []string{"", "pmapi", "/-/healthy"} {
		if _, err := New(Config{Handlers: map[string]http.Handler{p: api("")}}); err == nil {
			t.Errorf("%q is accepted", p)
		}
	}
	if _, err := New(Config{AllowHeaders: []string{"a\r\nb"}}); err == nil {
		t.Error("a header of two lines is accepted")
	}
}

// TestNotReady checks that /-/ready gives the reason.
func TestNotReady(t *testing.T) {
	address, _ := start(t, Config{Ready: func() error { return errors.New("the index is being built") }})
	if r, body := get(t, address, "GET /-/ready HTTP/1.1\r\nHost: localhost\r\n\r\n"); r.StatusCode != 503 || !strings.Contains(body, "index") {
		t.Errorf("%d %q", r.StatusCode, body)
	}
}

// TestMetrics checks the files of metrics.
func TestMetrics(t *testing.T) {
	dir := t.TempDir()
	address, s := start(t, Config{MetricsDir: dir, Handlers: map[string]http.Handler{"/": api("")}})
	get(t, address, "GET / HTTP/1.0\r\n\r\n")
	get(t, address, "GET /-/x HTTP/1.0\r\n\r\n")
	for s.stats.requests.Value() < 2 {
		time.Sleep(time.Millisecond)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Equal(files, []string{dir + "/http", dir + "/pcp", dir + "/server"}) {
		t.Errorf("%v, %v", files, err)
	}
	s.stats.sample()
	if got := s.stats.maxRSS.String(); got == "" || got == "0" {
		t.Errorf("maxrss is %q", got)
	}
}

// TestManyIdle checks that many silent connections do not stop the server from serving.
func TestManyIdle(t *testing.T) {
	address, s := start(t, Config{MetricsDir: t.TempDir(), Handlers: map[string]http.Handler{"/": api("")}})
	const n = 300
	for i := range n {
		c := dial(t, address)
		if i%3 == 1 {
			io.WriteString(c, "pmproxy-cl")
		} else if i%3 == 2 {
			io.WriteString(c, "GET / HT")
		}
	}
	for s.stats.clients.Value() < n {
		time.Sleep(time.Millisecond)
	}
	if r, _ := get(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
}

// FuzzConnection sends arbitrary bytes to the server, which must end the
// connection after the client's last byte.
func FuzzConnection(f *testing.F) {
	for _, s := range []string{
		"pmproxy-client 1\nlocalhost 1\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01\x00\x05hello",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nffffffffffffffff\r\n", "p", "\x00", "OPTIONS * HTTP/1.1\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	address, _ := start(f, Config{
		Handlers: map[string]http.Handler{"/": api("")},
		Dial: func(context.Context, string, string) (net.Conn, error) {
			a, b := net.Pipe()
			b.Close()
			return a, nil
		},
	})
	f.Fuzz(func(t *testing.T, say []byte) {
		c := dial(t, address)
		c.Write(say)
		c.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no end: %v", err)
		}
		c.Close()
	})
}

// FuzzTarget parses lines that name collectors.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"localhost 44321", "::1 44321", "a 0", "a  1", " 1", "a 65536", "a 1\r", "a\x00 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		host, port, err := parseTarget(line)
		if err == nil && (host == "" || port < 1 || port > 65535 || strings.ContainsAny(host, " \x00/")) {
			t.Errorf("%q: %q, %d", line, host, port)
		}
	})
}

// TestPushTokens checks that a token for pushing archives is for nothing else.
func TestPushTokens(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("www 0123456789abcdef push=www*,db quota=1gb\nall fedcba9876543210\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{TokenFile: tokens, Handlers: map[string]http.Handler{"/a": api("a"), "/logger/": api("logger")}}
	open, _ := start(t, cfg)
	cfg.RequireAuth = true
	closed, _ := start(t, cfg)
	const host, all = "Authorization: Bearer 0123456789abcdef\r\n", "Authorization: Bearer fedcba9876543210\r\n"
	for _, c := range []struct {
		address, path, headers string
		status                 int
		want                   string
	}{
		{closed, "/logger/ping", host, 200, "Trusted:false User:www Address:127.0.0.1 Push:0x"},
		{closed, "/logger/ping", all, 200, "Trusted:true User:all Address:127.0.0.1 Push:<nil>"},
		{closed, "/logger/ping", "", 401, "authorisation is required"},
		{closed, "/a", host, 401, "authorisation is required"},
		{closed, "/a", all, 200, "Trusted:true User:all"},
		{open, "/a", host, 200, "Trusted:false User:www"},
		{open, "/logger/ping", host, 200, "Trusted:false User:www Address:127.0.0.1 Push:0x"},
	} {
		if r, body := get(t, c.address, "GET "+c.path+" HTTP/1.1\r\nHost: localhost\r\n"+c.headers+"\r\n"); r.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %q: %d %q", c.path, c.headers, r.StatusCode, body)
		}
	}
	list, err := parseTokens([]byte("www 0123456789abcdef push=www*,db quota=1gb"))
	if err != nil || len(list) != 1 || !slices.Equal(list[0].push.Hosts, []string{"www*", "db"}) || list[0].push.Quota != 1<<30 {
		t.Errorf("%+v, %v", list, err)
	}
}
