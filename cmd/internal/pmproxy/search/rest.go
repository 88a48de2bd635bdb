package search

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// queryTime limits the search of a request.
const queryTime = 2 * time.Second

// Config configures a Handler.
type Config struct {
	// Index is the index to search; nil means a new index.
	Index *Index
	// Sources are fed into Index, in addition to documents it gets otherwise.
	Sources []Source
	// Feed configures the updates from Sources. Its Report defaults to a line in Log.
	Feed FeedConfig
	// Limit is the number of results of an answer if the request does not set
	// it (result.count of the section pmsearch in pmproxy.conf); 0:
	// DefaultLimit.
	Limit int
	Log   *slog.Logger // nil disables logging
}

// A Handler answers /search/text, /search/suggest, /search/indom and
// /search/info of PMWEBAPI(3).
type Handler struct {
	index  *Index
	limit  int
	cancel context.CancelFunc
	fed    sync.WaitGroup
}

// New returns a Handler and starts to feed its index.
func New(c Config) (*Handler, error) {
	h := &Handler{index: c.Index, limit: limit(c.Limit)}
	if h.index == nil {
		h.index = NewIndex(Limits{})
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Feed.Report == nil {
		c.Feed.Report = reporter(c.Log)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.fed.Go(func() { Feed(ctx, h.index, c.Feed, c.Sources...) })
	return h, nil
}

// reporter returns a Report that logs changes of a source's error.
func reporter(log *slog.Logger) func(source string, err error) {
	var mu sync.Mutex
	last := make(map[string]string)
	return func(source string, err error) {
		mu.Lock()
		defer mu.Unlock()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text == last[source] {
			return
		}
		if last[source] = text; err != nil {
			log.Warn("the search index cannot be fed", "source", source, "err", err)
			return
		}
		log.Info("the search index is fed again", "source", source)
	}
}

// Index returns the index that the handler searches.
func (h *Handler) Index() *Index { return h.index }

// Close stops feeding the index.
func (h *Handler) Close() error {
	h.cancel()
	h.fed.Wait()
	return nil
}

const servlet = "search"

// ServeHTTP answers a request. Text after a command is ignored, as in the C
// pmproxy.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer func(ctx context.Context, p rest.Params, req Request) (body []byte, contentType string, err error)
	name, ok := strings.CutPrefix(r.URL.Path, "/search/")
	query := true
	switch {
	case !ok:
	case strings.HasPrefix(name, "text"):
		answer = h.text
	case strings.HasPrefix(name, "suggest"):
		answer = h.suggest
	case strings.HasPrefix(name, "indom"):
		answer = h.indom
	case strings.HasPrefix(name, "info"):
		answer, query = h.info, false
	}
	if answer == nil {
		rest.Refuse(w, "unknown", "no handler for URL")
		return
	}
	if len(r.URL.RawQuery) > rest.MaxQuery {
		rest.RefuseWith(w, http.StatusRequestURITooLong, servlet, "failed to process URL")
		return
	}
	p, err := rest.ParseParams(r.URL.RawQuery)
	text, given := p.Get("query")
	if err != nil || query && !given {
		rest.Refuse(w, servlet, "failed to process URL")
		return
	}
	req := Request{Query: text, Limit: number(p.Value("limit")), Offset: number(p.Value("offset"))}
	if req.Limit == 0 {
		req.Limit = h.limit
	}
	req.Limit = limit(req.Limit)
	if r.Method == http.MethodHead || r.Method == http.MethodOptions || r.Method == http.MethodTrace {
		req.Query, req.Limit = "", h.limit
	}
	ctx, cancel := context.WithTimeout(r.Context(), queryTime)
	defer cancel()
	body, typ, err := answer(ctx, p, req)
	if err != nil {
		b := []byte("{")
		if id, ok := client(p); ok {
			b = append(rest.AppendString(append(b, `"client":`...), id), ',')
		}
		rest.Send(w, http.StatusBadRequest, rest.TypeJSON, append(b, "\"success\":false}\r\n"...))
		return
	}
	rest.Send(w, http.StatusOK, typ, body)
}

// client returns the identifier to repeat in the response.
func client(p rest.Params) (string, bool) {
	if id, ok := p.Get("clientid"); ok {
		return id, true
	}
	return p.Get("client")
}

// number parses a number of any base like strtoul(3). Text that is not a number
// is 0, and a number that is too large is the maximum.
func number(s string) int {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	s = strings.TrimPrefix(s, "+")
	base, digits := 10, "0123456789"
	switch {
	case len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'):
		base, digits, s = 16, "0123456789abcdefABCDEF", s[2:]
	case len(s) > 1 && s[0] == '0':
		base, digits = 8, "01234567"
	}
	s = s[:len(s)-len(strings.TrimLeft(s, digits))]
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, base, 31)
	if err != nil {
		return 1<<31 - 1
	}
	return int(n)
}

// fields parses a list of fields.
func fields(list string) (f Field) {
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "name":
			f |= FieldName
		case "oneline":
			f |= FieldOneLine
		case "helptext":
			f |= FieldHelp
		}
	}
	return f
}

// Parts of results that a request may select.
const (
	wantName = 1 << iota
	wantType
	wantInDom
	wantOneLine
	wantHelp
	wantScore // an extension

	wantAll = wantName | wantType | wantInDom | wantOneLine | wantHelp
)

// wanted parses the parameter return.
func wanted(list string) (want int) {
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "name":
			want |= wantName
		case "type":
			want |= wantType
		case "indom":
			want |= wantInDom
		case "oneline":
			want |= wantOneLine
		case "helptext":
			want |= wantHelp
		case "score":
			want |= wantScore
		}
	}
	if want == 0 {
		return wantAll
	}
	return want
}

// types parses a list of types.
func types(list string) (t []Type) {
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "metric":
			t = append(t, Metric)
		case "indom":
			t = append(t, InDom)
		case "instance":
			t = append(t, Instance)
		}
	}
	return t
}

func (h *Handler) text(ctx context.Context, p rest.Params, req Request) ([]byte, string, error) {
	req.Types = types(p.Value("type"))
	req.Fields = fields(p.Value("field"))
	req.Highlight = fields(p.Value("highlight"))
	res, err := h.index.Text(ctx, req)
	if err != nil {
		return nil, "", err
	}
	body, typ := results(p, req, res, wanted(p.Value("return")))
	return body, typ, nil
}

func (h *Handler) indom(_ context.Context, p rest.Params, req Request) ([]byte, string, error) {
	res, err := h.index.InDomains(req)
	if err != nil {
		return nil, "", err
	}
	body, typ := results(p, req, res, wantAll)
	return body, typ, nil
}

// results formats the results.
func results(p rest.Params, req Request, res Result, want int) ([]byte, string) {
	b := append(make([]byte, 0, 256+512*len(res.Hits)), '{')
	if id, ok := client(p); ok {
		b = append(rest.AppendString(append(b, `"client":`...), id), ',')
	}
	b = strconv.AppendInt(append(b, `"total":`...), int64(res.Total), 10)
	b = append(b, `,"elapsed":`...)
	if len(res.Hits) == 0 {
		b = append(b, '0')
	} else {
		b = strconv.AppendFloat(b, res.Elapsed.Seconds(), 'f', 6, 64)
	}
	b = strconv.AppendInt(append(b, `,"offset":`...), int64(req.Offset), 10)
	b = strconv.AppendInt(append(b, `,"limit":`...), int64(req.Limit), 10)
	b = append(b, `,"results":[`...)
	for i := range res.Hits {
		d := &res.Hits[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		start := len(b)
		field := func(flag int, name, value string) {
			if want&flag == 0 || value == "" {
				return
			}
			if len(b) > start {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = append(b, name...)
			b = rest.AppendString(append(b, `":`...), value)
		}
		field(wantName, "name", d.Name)
		field(wantType, "type", d.Type.String())
		field(wantInDom, "indom", d.InDom)
		field(wantOneLine, "oneline", d.OneLine)
		field(wantHelp, "helptext", d.Help)
		if want&wantScore != 0 {
			if len(b) > start {
				b = append(b, ',')
			}
			b = strconv.AppendFloat(append(b, `"score":`...), d.Score, 'f', 4, 64)
		}
		b = append(b, '}')
	}
	b = append(b, "]}\r\n"...)
	if len(res.Hits) == 0 {
		return b, rest.TypeNone
	}
	return b, rest.TypeJSON
}

func (h *Handler) suggest(ctx context.Context, p rest.Params, req Request) ([]byte, string, error) {
	res, err := h.index.Suggest(ctx, req)
	if err != nil {
		return nil, "", err
	}
	id, wrap := client(p)
	var b []byte
	if wrap {
		b = append(rest.AppendString(append(b, `{"client":`...), id), `,"result":`...)
	}
	b = append(b, '[')
	for i, hit := range res.Hits {
		if i > 0 {
			b = append(b, ',')
		}
		b = rest.AppendString(b, hit.Name)
	}
	b = append(b, ']')
	if wrap {
		b = append(b, '}')
	}
	b = append(b, "\r\n"...)
	if len(res.Hits) == 0 {
		return b, rest.TypeNone, nil
	}
	return b, rest.TypeJSON, nil
}

func (h *Handler) info(_ context.Context, p rest.Params, _ Request) ([]byte, string, error) {
	i := h.index.Info()
	b := []byte{'{'}
	if id, ok := client(p); ok {
		b = append(rest.AppendString(append(b, `"client":`...), id), ',')
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"docs", i.Documents}, {"terms", i.Terms}, {"records", i.Records}} {
		b = append(append(append(b, '"'), n.name...), `":`...)
		b = append(strconv.AppendInt(b, int64(n.n), 10), ',')
	}
	for k, n := range []struct {
		name string
		n    float64
	}{
		{"records_per_doc_avg", i.RecordsPerDoc},
		{"bytes_per_record_avg", i.BytesPerRecord},
		{"inverted_sz_mb", i.InvertedMB},
		{"inverted_cap_mb", i.InvertedCapMB},
		{"inverted_cap_ovh", i.InvertedOverhead},
		{"skip_index_size_mb", i.SkipIndexMB},
		{"score_index_size_mb", i.ScoreIndexMB},
		{"offsets_per_term_avg", i.OffsetsPerTerm},
		{"offset_bits_per_record_avg", i.OffsetBits},
	} {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), n.name...), `":`...)
		b = strconv.AppendFloat(b, n.n, 'f', 2, 64)
	}
	return append(b, "}\r\n"...), rest.TypeJSON, nil
}
