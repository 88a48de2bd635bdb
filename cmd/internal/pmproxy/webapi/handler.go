package webapi

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// maxLone is the number of implicitly created contexts that are kept.
const maxLone = 1000

// A Handler answers requests for /pmapi/ and /metrics. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	owned   atomic.Int64 // contexts with their own connection
	buffers buffers
	api     func() []byte // openAPI, made for the first request
	streams *streams

	mu       sync.RWMutex
	contexts map[uint32]*webContext
	peers    map[string]int // number of contexts for each address
	sources  map[string]*source
	lone     [maxLone]*webContext // the latest ones
	loneAt   int
	closed   bool

	stop chan struct{}
	done chan struct{}
}

// New returns a Handler. It connects to collectors on demand.
func New(cfg Config) (*Handler, error) {
	h := &Handler{
		cfg: cfg.withDefaults(), contexts: make(map[uint32]*webContext), peers: make(map[string]int), sources: make(map[string]*source),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	h.api = sync.OnceValue(openAPI)
	h.streams = newStreams()
	go h.tidy()
	return h, nil
}

// Close ends all contexts and closes the connections to collectors. No requests may be in progress.
func (h *Handler) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	contexts, sources := h.contexts, h.sources
	h.contexts, h.sources, h.peers = nil, nil, nil
	h.mu.Unlock()
	h.streams.close()
	close(h.stop)
	<-h.done
	for _, wc := range contexts {
		wc.mu.Lock()
		wc.timer.Stop()
		if !wc.expired {
			wc.expired = true
			wc.end()
		}
		wc.mu.Unlock()
	}
	for _, s := range sources {
		s.forget()
	}
	return nil
}

// tidy closes unused connections, until the handler closes.
func (h *Handler) tidy() {
	defer close(h.done)
	tick := time.NewTicker(idleLink / 3)
	defer tick.Stop()
	for {
		var now time.Time
		select {
		case <-h.stop:
			return
		case now = <-tick.C:
		}
		h.mu.Lock()
		var gone, alive []*source
		for key, s := range h.sources {
			if s.using == 0 && now.Sub(s.used) > idleLink {
				delete(h.sources, key)
				gone = append(gone, s)
			} else {
				alive = append(alive, s)
			}
		}
		h.mu.Unlock()
		for _, s := range gone {
			s.forget()
		}
		for _, s := range alive {
			s.tidy(now)
		}
	}
}

// find returns the endpoint of a path, nil if there is none. Commands match by prefix, as in the C
// pmproxy.
func find(path string) (e *endpoint, context string, hasContext, old bool) {
	if rest, ok := strings.CutPrefix(path, "/pmapi/"); ok {
		n := 0
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if n > 0 {
			if n == len(rest) || rest[n] != '/' {
				return nil, "", false, false
			}
			context, hasContext, rest = rest[:n], true, rest[n+1:]
		}
		if strings.HasPrefix(rest, "_") {
			rest, old = rest[1:], true
		}
		for i := range endpoints {
			if strings.HasPrefix(rest, endpoints[i].name) {
				return &endpoints[i], context, hasContext, old
			}
		}
		return nil, "", false, false
	}
	if strings.HasPrefix(path, "/metrics") {
		return scrapeEndpoint(), "", false, false
	}
	return nil, "", false, false
}

// The content type of JSON, as net/http stores it.
var jsonType = []string{rest.TypeJSON}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/pmapi/openapi.json" && (req.Method == http.MethodGet || req.Method == http.MethodHead) {
		rest.Send(w, http.StatusOK, rest.TypeJSON, h.api())
		return
	}
	e, context, hasContext, old := find(req.URL.Path)
	if e == nil {
		rest.Refuse(w, "webapi", "there is nothing at this address")
		return
	}
	params, err := rest.ParseParams(req.URL.RawQuery)
	if err != nil || len(req.URL.RawQuery) > rest.MaxQuery {
		rest.Refuse(w, "webapi", "the parameters cannot be read")
		return
	}
	r := request{http: req, peer: rest.PeerOf(req.Context()), params: params, context: context, hasContext: hasContext, old: old, making: e.makes}
	post := req.Method == http.MethodPost && e.post
	if e.lacks != nil {
		if what := e.lacks(params, post); what != "" {
			rest.Refuse(w, "webapi", what)
			return
		}
	}
	switch req.Method {
	case http.MethodHead, http.MethodOptions, http.MethodTrace:
		w.Header()["Content-Type"] = []string{e.contentType}
		w.WriteHeader(http.StatusOK)
		return
	}
	if post {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxBody))
		if err != nil {
			rest.Fail(w, http.StatusRequestEntityTooLarge, "request body is too long")
			return
		}
		r.body = body
	}
	if c, ok := params.Get("client"); ok {
		r.client = string(rest.AppendString(nil, c))
	}
	if c, ok := params.Get("context"); ok { // it takes precedence over the path
		r.context, r.hasContext = c, true
	}
	buf := h.buffers.get()
	r.out = (*buf)[:0]
	contentType := e.contentType
	code := http.StatusOK
	err = h.run(req.Context(), e, &r)
	if err != nil {
		var msg string
		code, msg = status(err)
		r.out, r.shared = r.appendFailure(r.out[:0], msg), nil
		contentType = rest.TypeJSON
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="pmapi"`)
		}
	}
	if r.wc != nil {
		r.wc.leave()
	}
	body := r.out
	if r.shared != nil {
		body = r.shared
	}
	if contentType == rest.TypeJSON || r.json {
		w.Header()["Content-Type"] = jsonType
		w.WriteHeader(code)
		w.Write(body) // an error is the connection's, which net/http ends
	} else {
		rest.Send(w, code, contentType, body)
	}
	h.buffers.put(buf, r.out)
}

// run finds the context of a request and executes the request in it. The caller leaves r.wc.
func (h *Handler) run(ctx context.Context, e *endpoint, r *request) error {
	if e.check != nil {
		if err := e.check(r); err != nil {
			return err
		}
	}
	wc, err := h.resolve(r)
	if err != nil {
		return err
	}
	if err := wc.enter(ctx); err != nil {
		if wc.id == 0 {
			wc.src.unuse()
		}
		return err
	}
	if wc.id == 0 {
		if err := wc.connect(ctx); err != nil {
			wc.leave()
			return err
		}
	}
	r.wc = wc
	return e.run(ctx, r)
}

// connect checks that the collector of a new context answers.
func (wc *webContext) connect(ctx context.Context) error {
	err := wc.view.with(ctx, func(l *link, _ *known) error {
		_, err := wc.src.info(ctx, l)
		return err
	})
	if err != nil {
		text := errText(err)
		if strings.HasPrefix(text, "Authentication - ") {
			return fail("failed to get context labels: " + text) // in C this comes before the context is created
		}
		return fail("cannot connect to PMCD: " + text)
	}
	return nil
}
