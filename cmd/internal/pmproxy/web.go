package pmproxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// web is the web server.
type web struct {
	s         *Server
	prefixes  []string // of handlers, the longest first
	passwords passwords
	access    *pageAccess // nil if the page has no token

	server *http.Server
	conns  chan net.Conn // connections for net/http to accept
	done   chan struct{} // closed when net/http stops
	once   sync.Once
}

func newWeb(s *Server) (*web, error) {
	w := &web{s: s, conns: make(chan net.Conn), done: make(chan struct{})}
	for prefix := range s.cfg.Handlers {
		if !strings.HasPrefix(prefix, "/") || strings.HasPrefix(prefix, "/-/") {
			return nil, fmt.Errorf("handlers cannot have the prefix %q", prefix)
		}
		w.prefixes = append(w.prefixes, prefix)
	}
	slices.SortFunc(w.prefixes, func(a, b string) int { return len(b) - len(a) })
	w.passwords.init(s.cfg.Auth)
	var err error
	if w.access, err = newPageAccess(s.cfg.PageToken); err != nil {
		return nil, err
	}
	w.server = s.newHTTPServer(http.HandlerFunc(w.answer))
	return w, nil
}

// take hands a connection to net/http. It reports whether net/http has accepted it.
func (w *web) take(c *conn) bool {
	select {
	case w.conns <- c:
		return true
	case <-w.done:
		return false
	case <-w.s.closing:
		return false
	}
}

// Accept, Close and Addr make web the listener of net/http.
func (w *web) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (w *web) Close() error {
	w.once.Do(func() { close(w.done) })
	return nil
}

// Addr returns an empty address: connections are accepted by other listeners.
func (w *web) Addr() net.Addr { return new(net.TCPAddr) }

func (w *web) serve() { w.server.Serve(w) }

// shutdown waits for requests to finish, up to a limit.
func (w *web) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	if w.server.Shutdown(ctx) != nil {
		w.server.Close()
	}
}

// answer answers one request.
func (w *web) answer(rw http.ResponseWriter, r *http.Request) {
	c, _ := r.Context().Value(connKey{}).(*conn)
	if c == nil {
		panic("pmproxy: request without a connection")
	}
	st := w.s.stats
	st.serving.Inc()
	out := newResponse(rw, r)
	defer func() {
		st.serving.Dec()
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			w.s.lines.log(w.s.log, slog.LevelError, "request failed", "path", r.URL.Path, "err", p, "stack", string(debug.Stack()))
			if !out.started {
				rest.Fail(out, http.StatusInternalServerError, "internal error")
				p = nil
			} else {
				p = http.ErrAbortHandler // the response was cut short
			}
		}
		if p == nil {
			out.finish()
		}
		st.requests.Inc()
		if out.status >= 400 {
			st.errors.Inc()
		}
		st.responseBytes.Add(out.sent)
		if w.s.log.Enabled(r.Context(), slog.LevelDebug) {
			w.s.log.Debug("request", "client", c.from(), "method", r.Method, "url", w.access.hide(r.RequestURI), "status", out.status, "bytes", out.sent)
		}
		if out.gz != nil {
			st.compressed.Inc()
		}
		out.release()
		if p != nil {
			panic(p)
		}
	}()
	set := w.s.now.Load()
	protect(out, r, set)
	if err := set.checkHost(c, r); err != nil {
		st.denied.Inc()
		rest.Fail(out, http.StatusForbidden, err.Error())
		return
	}
	if len(r.RequestURI) >= maxURL {
		w.tooLong(out, rw)
		return
	}
	if len(r.RequestURI) > rest.MaxQuery {
		rest.Refuse(out, "unknown", "no handler for URL")
		return
	}
	if r.URL.Path == "/-/healthy" || r.URL.Path == "/-/ready" {
		w.health(out, r)
		return
	}
	if r.URL.Path == pagePath && w.access != nil && r.Method != http.MethodOptions {
		w.page(c, out, r)
		return
	}
	prefix, h := w.find(r.URL.Path)
	switch r.Method {
	case http.MethodOptions:
		if h != nil && prefix != "/" {
			if p := probe(h, r); p.refuses() {
				p.send(out, true)
				return
			}
		}
		options(out, r, set, h != nil && (prefix != "/" || r.URL.Path == "/"))
		return
	case http.MethodTrace:
		trace(out, r)
		out.WriteHeader(http.StatusOK)
		return
	}
	if h == nil {
		rest.Refuse(out, "unknown", "no handler for URL")
		return
	}
	known := w.access.knows(r)
	var peer rest.Peer
	var err error
	if known {
		peer = rest.Peer{Local: isLocal(c, r), Trusted: true, Sockets: true, User: pageUser}
		if private := w.s.cfg.Private[prefix]; private != nil {
			h = private
		}
	} else {
		peer, err = w.authorise(c, r, set)
	}
	if err != nil {
		st.denied.Inc()
		out.Header()["WWW-Authenticate"] = []string{`Basic realm="pmproxy", charset="UTF-8"`, `Bearer realm="pmproxy"`}
		rest.Fail(out, http.StatusUnauthorized, err.Error())
		return
	}
	if r.Method == http.MethodHead && prefix != "/" {
		p := probe(h, r)
		if p.refuses() {
			p.send(out, false)
			return
		}
		out.Header().Set("Content-Type", cmp.Or(p.header.Get("Content-Type"), rest.TypeJSON))
		// The name is spelled as in C; net/http would normalise it.
		out.Header()["Transfer-encoding"] = []string{"chunked"}
		out.WriteHeader(http.StatusOK)
		return
	}
	if r.ContentLength > set.MaxBody {
		out.Header().Set("Connection", "close")
		rest.Fail(out, http.StatusRequestEntityTooLarge, fmt.Sprintf("request body of more than %d bytes", set.MaxBody))
		return
	}
	if r.ContentLength != 0 {
		r.Body = &limitedBody{ReadCloser: http.MaxBytesReader(rw, r.Body, set.MaxBody), rc: http.NewResponseController(rw)}
	}
	h.ServeHTTP(out, r.WithContext(rest.WithClosing(rest.WithPeer(r.Context(), &peer), w.s.closing)))
}

// A page is a response held in memory.
type page struct {
	header http.Header
	status int
	body   []byte
}

func (p *page) Header() http.Header { return p.header }

func (p *page) WriteHeader(status int) {
	if p.status == 0 {
		p.status = status
	}
}

func (p *page) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	if len(p.body) < maxURL { // error pages are short
		p.body = append(p.body, b...)
	}
	return len(b), nil
}

func (p *page) send(out *response, body bool) {
	if body {
		rest.Send(out, p.status, rest.TypeHTML, p.body)
		return
	}
	out.Header().Set("Content-Type", rest.TypeHTML)
	out.WriteHeader(p.status)
}

// probe returns a handler's response to a request without carrying it out.
func probe(h http.Handler, r *http.Request) *page {
	p := &page{header: make(http.Header)}
	h.ServeHTTP(p, r)
	return p
}

// refuses reports whether the response is the page for a URL that is not served.
func (p *page) refuses() bool {
	kind, _, _ := strings.Cut(p.header.Get("Content-Type"), ";")
	return p.status >= 400 && kind == "text/html"
}

// find returns the handler with the longest prefix of a path.
func (w *web) find(path string) (string, http.Handler) {
	for _, p := range w.prefixes {
		if strings.HasPrefix(path, p) {
			return p, w.s.cfg.Handlers[p]
		}
	}
	return "", nil
}

// health answers health checks.
func (w *web) health(out *response, r *http.Request) {
	text, status := "pmproxy works\n", http.StatusOK
	if r.URL.Path == "/-/ready" {
		text = "pmproxy is ready\n"
		if w.s.cfg.Ready != nil {
			if err := w.s.cfg.Ready(); err != nil {
				text, status = "pmproxy is not ready: "+err.Error()+"\n", http.StatusServiceUnavailable
			}
		}
	}
	rest.Send(out, status, rest.TypeText, []byte(text))
}

// A limitedBody is a request body with a deadline.
type limitedBody struct {
	io.ReadCloser
	rc   *http.ResponseController
	set  bool
	over bool
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if !b.set {
		b.set = true
		b.rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.over {
		b.over = true
		var tooLong *http.MaxBytesError
		if !errors.As(err, &tooLong) {
			b.rc.SetReadDeadline(time.Time{})
		}
	}
	return n, err
}

// corsMaxAge is the time for which browsers may cache the CORS permissions, in
// seconds.
const corsMaxAge = 86400

// protect sets the headers of all responses. A handler can replace them. Headers that restrict browsers
// are sent to browsers alone, since responses to other programs must match byte for byte.
func protect(out *response, r *http.Request, set *settings) {
	h := out.Header()
	if set.SameOrigin || isBrowser(r) {
		h["X-Content-Type-Options"] = []string{"nosniff"}
		h["X-Frame-Options"] = []string{"DENY"}
		h["Referrer-Policy"] = []string{"no-referrer"}
		h["Content-Security-Policy"] = []string{"default-src 'none'; frame-ancestors 'none'"}
	}
	if set.SameOrigin {
		h["Cross-Origin-Resource-Policy"] = []string{"same-origin"}
	} else if r.Method != http.MethodOptions {
		allowAll(h, set)
	}
}

// allowAll lets pages of all origins read the response.
func allowAll(h http.Header, set *settings) {
	h["Access-Control-Allow-Origin"] = []string{"*"}
	h["Access-Control-Allow-Headers"] = []string{set.headers}
	h["Access-Control-Max-Age"] = []string{strconv.Itoa(corsMaxAge)}
}

// options lists the permissions of other origins (http.c: http_response_access).
func options(out *response, r *http.Request, set *settings, known bool) {
	methods := "GET, HEAD, TRACE, OPTIONS"
	switch {
	case r.URL.Path == "*" || r.RequestURI == "*":
		methods = "GET, PUT, HEAD, POST, TRACE, OPTIONS"
	case !known:
		rest.Refuse(out, "unknown", "no handler for OPTIONS")
		return
	case takesPost(r.URL.Path):
		methods = "GET, HEAD, POST, TRACE, OPTIONS"
	}
	h := out.Header()
	h.Set("Content-Length", "0")
	if want := r.Header.Get("Access-Control-Request-Method"); want != "" && !slices.Contains(strings.Split(methods, ", "), want) {
		out.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if set.SameOrigin {
		h.Set("Allow", methods)
		out.WriteHeader(http.StatusOK)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		h.Set("Access-Control-Allow-Origin", origin)
	}
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Max-Age", strconv.Itoa(corsMaxAge))
	if r.Header.Get("Access-Control-Request-Headers") != "" {
		h.Set("Access-Control-Allow-Headers", set.headers)
	}
	out.WriteHeader(http.StatusOK)
}

// trace returns the request's headers, without secrets.
func trace(out *response, r *http.Request) {
	h := out.Header()
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Headers", "Access-Control-Max-Age"} {
		h.Del(name)
	}
	for _, name := range []string{"Accept", "User-Agent"} {
		if v := r.Header.Get(name); v != "" {
			h.Set(name, v)
		}
	}
	h.Set("Host", r.Host)
	h.Set("Content-Length", "0")
	out.WriteHeader(http.StatusOK)
}

// isBrowser reports whether a request is from a browser. All browsers name themselves in User-Agent.
func isBrowser(r *http.Request) bool {
	return strings.Contains(r.UserAgent(), "Mozilla/") || r.Header.Get("Sec-Fetch-Site") != ""
}

// tooLong answers a URL that is too long, with the message of C, which differs from that of net/http.
func (w *web) tooLong(out *response, rw http.ResponseWriter) {
	const title = "414 URI Too Long"
	body := rest.Page(title, "unknown", "request URL too long")
	h := out.Header()
	h["Content-Type"] = []string{rest.TypeHTML}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	h["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
	if set := w.s.now.Load(); !set.SameOrigin {
		allowAll(h, set)
	}
	c, _, err := http.NewResponseController(rw).Hijack()
	if err != nil { // not over HTTP/1
		out.WriteHeader(http.StatusRequestURITooLong)
		out.Write(body)
		return
	}
	defer c.Close()
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %s\r\n", title)
	h.Write(&b)
	b.WriteString("\r\n")
	b.Write(body)
	out.taken(http.StatusRequestURITooLong)
	c.Write(b.Bytes()) // an error is the client's
}

// takesPost reports whether a path belongs to an interface that also accepts
// its parameters or data by POST.
func takesPost(path string) bool {
	if strings.HasPrefix(path, "/series/") || strings.HasPrefix(path, "/logger/") {
		return true
	}
	rest, ok := strings.CutPrefix(path, "/pmapi/")
	if !ok {
		return false
	}
	if _, command, ok := strings.Cut(rest, "/"); ok { // after the context number
		rest = command
	}
	rest = strings.TrimPrefix(rest, "_")
	return strings.HasPrefix(rest, "store") || strings.HasPrefix(rest, "derive")
}

func isToken(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
