package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// Limits of requests.
const (
	MaxForm       = 1 << 20          // bytes of a form in the body
	MaxExpr       = 64 << 10         // bytes of an expression
	MaxNesting    = store.MaxNesting // operators and parentheses of an expression
	MaxMatchers   = 100              // match[] parameters
	MaxPoints     = 11000            // points of a series, as in Prometheus
	MaxConcurrent = 8                // requests for series and labels at once
	maxNotes      = 10               // warnings and infos of a reply, as in Prometheus
)

// A Store has the series of archives, as [store.Store].
type Store interface {
	storage.Queryable
	// Metadata returns the descriptions of the metric with a name, or of all if name is "".
	Metadata(ctx context.Context, name string) (map[string][]store.Metadata, error)
}

// A Config configures a Handler.
type Config struct {
	Store Store
	Live  *store.Live // current values, or nil

	Engine store.EngineConfig
	// Queries evaluates queries; nil means an engine with the configuration Engine.
	Queries promql.QueryEngine

	// Rules evaluates rules, whose series queries see too; nil means no rules.
	Rules *rules.Engine
	// Alerts returns alerts of others that fire; nil means none.
	Alerts func() []Alert

	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Log receives the errors of the handler itself; nil discards them.
	Log *slog.Logger
}

// A Handler answers requests below /api/v1/. It is safe for concurrent use.
type Handler struct {
	cfg    Config
	start  time.Time
	data   storage.Queryable
	engine promql.QueryEngine
	parser parser.Parser
	room   chan struct{} // for requests for labels and series
	reads  chan struct{} // for remote read
	bodies budget
	held   budget // samples of results
}

// New returns a Handler.
func New(cfg Config) *Handler {
	cfg.Engine = cfg.Engine.WithDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handler{cfg: cfg, start: cfg.Now(), data: cfg.Store, engine: cfg.Queries, parser: store.NewParser()}
	if h.engine == nil {
		h.engine = store.NewEngine(cfg.Engine)
	}
	h.room, h.reads = make(chan struct{}, MaxConcurrent), make(chan struct{}, MaxReads)
	h.bodies.max, h.held.max = MaxBodies, heldResults*int64(cfg.Engine.MaxSamples)
	if cfg.Live != nil {
		h.data = store.Both(cfg.Store, cfg.Live)
	}
	if cfg.Rules != nil {
		h.data = store.Joined(h.data, cfg.Rules.Recorded())
	}
	return h
}

// A result is the answer to a request.
type result struct {
	data  any // nil: no content
	notes annotations.Annotations
	expr  string // to which the notes refer
}

// A failure is an error with its kind in Prometheus.
type failure struct {
	kind   string
	status int
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// statusClosed is the status for a client that has gone, as in Prometheus.
const statusClosed = 499

func badData(err error) *failure { return &failure{"bad_data", http.StatusBadRequest, err} }

// executed returns the failure of a query or of the storage.
func executed(err error) *failure {
	var canceled promql.ErrQueryCanceled
	var timeout promql.ErrQueryTimeout
	switch {
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return &failure{"canceled", statusClosed, err}
	case errors.As(err, &timeout):
		return &failure{"timeout", http.StatusServiceUnavailable, err}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{"timeout", http.StatusServiceUnavailable, promql.ErrQueryTimeout("query execution")}
	}
	return &failure{"execution", http.StatusUnprocessableEntity, err}
}

// An endpoint answers requests for one path.
type endpoint struct {
	post bool // it also answers POST
	do   func(h *Handler, r *http.Request) (*result, error)
}

// endpointOf returns the endpoint of a path below /api/v1/.
func endpointOf(path string) (endpoint, bool) {
	if name, ok := strings.CutPrefix(path, "label/"); ok {
		name, ok = strings.CutSuffix(name, "/values")
		return endpoint{false, func(h *Handler, r *http.Request) (*result, error) { return h.labelValues(r, name) }}, ok
	}
	switch path {
	case "query":
		return endpoint{true, (*Handler).query}, true
	case "query_range":
		return endpoint{true, (*Handler).queryRange}, true
	case "query_exemplars":
		return endpoint{true, (*Handler).queryExemplars}, true
	case "format_query":
		return endpoint{true, (*Handler).formatQuery}, true
	case "parse_query":
		return endpoint{true, (*Handler).parseQuery}, true
	case "labels":
		return endpoint{true, (*Handler).labelNames}, true
	case "series":
		return endpoint{true, (*Handler).series}, true
	case "metadata":
		return endpoint{false, (*Handler).metadata}, true
	case "rules":
		return endpoint{false, (*Handler).rules}, true
	case "alerts":
		return endpoint{false, (*Handler).alerts}, true
	case "status/buildinfo":
		return endpoint{false, (*Handler).buildInfo}, true
	case "status/flags":
		return endpoint{false, (*Handler).flags}, true
	case "status/runtimeinfo":
		return endpoint{false, (*Handler).runtimeInfo}, true
	}
	return endpoint{}, false
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.cfg.Log.Error("request failed", "path", r.URL.Path, "err", p, "stack", string(debug.Stack()))
			h.fail(w, &failure{"internal", http.StatusInternalServerError, errors.New("internal error")})
		}
	}()
	path, _ := strings.CutPrefix(r.URL.Path, "/api/v1/")
	if path == "read" {
		h.read(w, r)
		return
	}
	e, ok := endpointOf(path)
	switch {
	case !ok:
		h.fail(w, &failure{"not_found", http.StatusNotFound, errors.New("there is no such endpoint")})
		return
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	case r.Method == http.MethodHead:
		w.Header().Set("Content-Type", "application/json")
		return
	case r.Method != http.MethodGet && !(e.post && r.Method == http.MethodPost):
		w.Header().Set("Allow", "GET")
		if e.post {
			w.Header().Set("Allow", "GET, POST")
		}
		h.fail(w, &failure{"bad_data", http.StatusMethodNotAllowed, errors.New("method not allowed")})
		return
	}
	give, err := h.takeBody(r, MaxForm)
	if err != nil {
		h.fail(w, err)
		return
	}
	defer give()
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
	}
	if err := r.ParseForm(); err != nil {
		h.fail(w, badData(err))
		return
	}
	res, err := e.do(h, r)
	if err != nil {
		h.fail(w, err)
		return
	}
	if res.data == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	h.send(w, res)
}

// A reply is the JSON of a failure.
type reply struct {
	Status string `json:"status"`
	Kind   string `json:"errorType"`
	Error  string `json:"error"`
}

func (h *Handler) fail(w http.ResponseWriter, err error) {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{"internal", http.StatusInternalServerError, err}
	}
	b, err := json.Marshal(reply{"error", f.kind, f.Error()})
	if err != nil {
		b = []byte(`{"status":"error","errorType":"internal","error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(f.status)
	w.Write(b) // an error is the connection's
}

// An outcome is the result of a query.
type outcome struct {
	value parser.Value
	stats stats.QueryStats // nil if not requested
	end   func()           // frees the memory of the value
}

// send sends a result. That of a query may be long: its series are written one by one.
func (h *Handler) send(w http.ResponseWriter, res *result) {
	w.Header().Set("Content-Type", "application/json")
	b := bufio.NewWriterSize(w, 32<<10)
	b.WriteString(`{"status":"success","data":`)
	err := writeData(b, res.data)
	warnings, infos := store.Notes(res.notes).AsStrings(res.expr, maxNotes, maxNotes)
	for _, notes := range []struct {
		name string
		list []string
	}{{"warnings", warnings}, {"infos", infos}} {
		if len(notes.list) > 0 && err == nil {
			b.WriteString(`,"` + notes.name + `":`)
			err = writeJSON(b, notes.list)
		}
	}
	b.WriteString("}")
	if o, ok := res.data.(*outcome); ok {
		o.end()
	}
	if err != nil {
		h.cfg.Log.Error("a result cannot be written", "err", err)
		panic(http.ErrAbortHandler)
	}
	b.Flush() // an error is the connection's
}

func writeJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// list writes the elements of a list of n.
func list(w *bufio.Writer, n int, element func(i int) any) error {
	w.WriteByte('[')
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := writeJSON(w, element(i)); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

func writeData(w *bufio.Writer, data any) (err error) {
	o, ok := data.(*outcome)
	if !ok {
		return writeJSON(w, data)
	}
	w.WriteString(`{"resultType":"` + string(o.value.Type()) + `","result":`)
	switch v := o.value.(type) {
	case promql.Matrix:
		err = list(w, len(v), func(i int) any { return v[i] })
	case promql.Vector:
		err = list(w, len(v), func(i int) any { return v[i] })
	default:
		err = writeJSON(w, v)
	}
	if err == nil && o.stats != nil {
		w.WriteString(`,"stats":`)
		err = writeJSON(w, o.stats)
	}
	if err == nil {
		err = w.WriteByte('}')
	}
	return err
}
