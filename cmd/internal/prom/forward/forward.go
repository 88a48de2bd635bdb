package forward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/engine"
	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

const (
	listAge   = time.Minute // after which hidden metrics are listed again
	maxHidden = 12 << 10    // bytes of the expression that excludes them; VictoriaMetrics accepts selectors of 16 KiB
)

// A Config configures a Handler.
type Config struct {
	Engine *engine.Client
	// Local answers all other requests.
	Local http.Handler

	// Patterns are patterns of names of metrics in PCP, with * for any text, that clients must not see. More, if not nil, returns the names in
	// Prometheus of further ones, which change. With either, the descriptions of metrics are hidden too.
	Patterns []string
	More     func(ctx context.Context) ([]string, error)

	// Timeout limits a request; 0 means 2 minutes.
	Timeout time.Duration
	// Log receives errors; nil discards them.
	Log *slog.Logger
}

// A Handler answers requests below /api/v1/. It is safe for concurrent use.
type Handler struct {
	cfg    Config
	parser parser.Parser
	room   chan struct{}

	mu     sync.Mutex
	hidden *regexp.Regexp
	listed time.Time
}

// New returns a Handler.
func New(cfg Config) *Handler {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{cfg: cfg, parser: store.NewParser(), room: make(chan struct{}, api.MaxConcurrent)}
}

// forwarded reports whether a path below /api/v1/ is for the server, and whether it may be requested by POST.
func forwarded(path string) (ok, post bool) {
	switch path {
	case "query", "query_range", "query_exemplars", "series", "labels":
		return true, true
	}
	name, ok := strings.CutPrefix(path, "label/")
	name, end := strings.CutSuffix(name, "/values")
	return ok && end && name != "" && !strings.ContainsAny(name, "/?#%"), false
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, below := strings.CutPrefix(r.URL.Path, "/api/v1/")
	ok, post := forwarded(path)
	if !below || !ok || r.Method != http.MethodGet && !(post && r.Method == http.MethodPost) {
		h.cfg.Local.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.cfg.Timeout)
	defer cancel()
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
	case <-ctx.Done():
		fail(w, http.StatusServiceUnavailable, "timeout", errors.New("too many requests are under way"))
		return
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, api.MaxForm)
	}
	if err := r.ParseForm(); err != nil {
		fail(w, http.StatusBadRequest, "bad_data", err)
		return
	}
	form, err := h.rewrite(ctx, path, r.Form)
	if err != nil {
		var bad badData
		if errors.As(err, &bad) {
			fail(w, http.StatusBadRequest, "bad_data", err)
			return
		}
		h.cfg.Log.Error("hidden metrics cannot be listed", "err", err)
		fail(w, http.StatusServiceUnavailable, "unavailable", errors.New("the engine does not answer"))
		return
	}
	err = h.cfg.Engine.Pass(ctx, w, path, form)
	var refused *engine.Refusal
	switch {
	case err == nil, r.Context().Err() != nil:
	case errors.As(err, &refused) && refused.Status != http.StatusUnauthorized && refused.Status != http.StatusForbidden && refused.Status/100 == 4:
		fail(w, refused.Status, "bad_data", errors.New(refused.Reason))
	case ctx.Err() != nil:
		fail(w, http.StatusServiceUnavailable, "timeout", errors.New("query timed out"))
	default:
		h.cfg.Log.Error("the engine does not answer a query", "err", err) // it names the engine, of which clients need not know
		fail(w, http.StatusServiceUnavailable, "unavailable", errors.New("the engine does not answer"))
	}
}

// fail answers with an error, in the form of Prometheus.
func fail(w http.ResponseWriter, status int, kind string, err error) {
	b, merr := json.Marshal(map[string]string{"status": "error", "errorType": kind, "error": err.Error()})
	if merr != nil {
		b = []byte(`{"status":"error","errorType":"internal","error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b) // an error is the connection's
}

// badData is a mistake in a request.
type badData struct{ error }

// rewrite returns the form for the server.
func (h *Handler) rewrite(ctx context.Context, path string, form url.Values) (url.Values, error) {
	for name, list := range form {
		for _, v := range list {
			if len(v) > api.MaxExpr {
				return nil, badData{fmt.Errorf("the parameter %.40q has %d bytes, more than %d", name, len(v), api.MaxExpr)}
			}
		}
	}
	if len(form["match[]"]) > api.MaxMatchers {
		return nil, badData{fmt.Errorf("%d parameters match[], more than %d", len(form["match[]"]), api.MaxMatchers)}
	}
	hidden, err := h.excluded(ctx)
	if err != nil || hidden == nil {
		return form, err
	}
	out := url.Values{}
	// A server may know other parameters that select series, such as extra_filters[].
	for _, name := range []string{"time", "start", "end", "step", "timeout", "limit", "lookback_delta", "stats"} {
		if v, ok := form[name]; ok {
			out[name] = v
		}
	}
	if strings.HasPrefix(path, "query") {
		text := form.Get("query")
		if !store.Flat(text) {
			return nil, badData{fmt.Errorf("the expression has more than %d operators and parentheses", api.MaxNesting)}
		}
		text, err := h.excludeFrom(text, hidden)
		if err != nil {
			return nil, badData{err}
		}
		out.Set("query", text)
		return out, nil
	}
	for _, text := range form["match[]"] {
		list, err := h.parser.ParseMetricSelector(text)
		if err != nil {
			return nil, badData{err}
		}
		list, _ = exclude(list, hidden)
		out.Add("match[]", selector(list))
	}
	if len(form["match[]"]) == 0 {
		list, _ := exclude([]*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, names.NameLabel, ".+")}, hidden)
		out.Set("match[]", selector(list))
	}
	return out, nil
}

// excludeFrom returns an expression whose selectors exclude hidden metrics.
func (h *Handler) excludeFrom(text string, hidden *regexp.Regexp) (string, error) {
	e, err := h.parser.ParseExpr(text)
	if err != nil {
		return "", err
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			if list, changed := exclude(v.LabelMatchers, hidden); changed {
				v.Name, v.LabelMatchers = "", list
			}
		}
		return nil
	})
	return e.String(), nil
}

// exclude adds a matcher that excludes hidden metrics, unless a metric that is not hidden is named.
func exclude(list []*labels.Matcher, hidden *regexp.Regexp) (_ []*labels.Matcher, changed bool) {
	for _, m := range list {
		if m.Name == names.NameLabel && m.Type == labels.MatchEqual && m.Value != "" && !hidden.MatchString(m.Value) {
			return list, false
		}
	}
	text := strings.TrimSuffix(strings.TrimPrefix(hidden.String(), "^(?s:"), ")$")
	return append(slices.Clone(list), labels.MustNewMatcher(labels.MatchNotRegexp, names.NameLabel, text)), true
}

// selector returns the text of matchers.
func selector(list []*labels.Matcher) string {
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = m.String()
	}
	return "{" + strings.Join(words, ",") + "}"
}

// excluded returns an expression for the names of hidden metrics, nil if there are none.
func (h *Handler) excluded(ctx context.Context) (*regexp.Regexp, error) {
	if len(h.cfg.Patterns) == 0 && h.cfg.More == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hidden != nil && time.Since(h.listed) < listAge {
		return h.hidden, nil
	}
	words := []string{names.Series}
	for _, p := range h.cfg.Patterns {
		words = append(words, pattern(p))
	}
	fixed, err := regexp.Compile("^(?s:" + strings.Join(words, "|") + ")$")
	if err != nil {
		return nil, err
	}
	if h.cfg.More != nil {
		more, err := h.cfg.More(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range more {
			if !fixed.MatchString(name) {
				words = append(words, regexp.QuoteMeta(name)+"("+names.BucketSuffix+"|"+names.CountSuffix+")?")
			}
		}
	}
	text := strings.Join(words, "|")
	if len(text) > maxHidden {
		return nil, fmt.Errorf("the names of the metrics that are hidden have %d bytes, more than %d", len(text), maxHidden)
	}
	if h.hidden, err = regexp.Compile("^(?s:" + text + ")$"); err != nil {
		return nil, err
	}
	h.listed = time.Now()
	return h.hidden, nil
}

// pattern returns an expression for the names in Prometheus of the metrics whose names match a pattern. It has the language of patterns of
// names: * is any text, ? a character, and [...] a class of characters, which here is any character.
func pattern(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteByte('.')
		case '[':
			if end := strings.IndexByte(p[i+1:], ']'); end >= 0 {
				b.WriteByte('.')
				i += end + 1
				continue
			}
			b.WriteByte('_')
		case '\\':
			b.WriteString(".*") // hides more than the pattern
		default:
			b.WriteString(regexp.QuoteMeta(names.Metric("a" + string(c))[1:]))
		}
	}
	return b.String()
}
