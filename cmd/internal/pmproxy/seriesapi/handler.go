package seriesapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/query"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/version"
)

// Limits of requests.
const (
	// MaxBody is the maximum size of a POST body, in bytes.
	MaxBody = 4 << 20
	// MaxSeries is the maximum number of identifiers in a request.
	MaxSeries = 20_000
	// Timeout is the default time limit of a request.
	Timeout = time.Minute
)

// A Config configures a Handler.
type Config struct {
	Store series.Store // required; the handler does not close it
	// Zone is the time zone of dates in queries, time.Local if nil.
	Zone *time.Location
	// Timeout limits a request, [Timeout] if it is 0.
	Timeout time.Duration
	// MaxValues limits the values that one expression reads, query.MaxValues if
	// it is 0.
	MaxValues int
	// Log receives the errors of the store; nil discards them.
	Log *slog.Logger
}

// A Handler answers requests. It is safe for concurrent use.
type Handler struct {
	engine  query.Engine
	timeout time.Duration
	log     *slog.Logger
}

// New returns a Handler.
func New(cfg Config) (*Handler, error) {
	if cfg.Store == nil {
		return nil, errors.New("seriesapi: no store")
	}
	h := &Handler{
		engine:  query.Engine{Store: cfg.Store, Zone: cfg.Zone, MaxValues: cfg.MaxValues},
		timeout: cfg.Timeout, log: cfg.Log,
	}
	if h.timeout <= 0 {
		h.timeout = Timeout
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	return h, nil
}

// Close stops the handler. Its store stays open.
func (h *Handler) Close() error { return nil }

// A request is a request with its parsed parameters.
type request struct {
	*Handler
	ctx    context.Context
	params rest.Params
	post   bool
	answer
}

// errURL is the error of missing or malformed parameters. The response is an
// HTML page, as in the C implementation.
var errURL = errors.New("failed to process URL")

// errQuiet is the error of a request that fails without a message.
var errQuiet = errors.New("")

// errDenied is the error of requests that need a trusted client.
var errDenied = errors.New("No permission to perform requested operation") //lint:ignore ST1005 clients look for this text

// A badRequest is an error caused by the client.
type badRequest string

func (e badRequest) Error() string { return string(e) }

// A command answers one kind of request.
type command struct {
	name    string
	run     func(*request) error
	none    string // the answer without elements
	summary string
	params  []param
}

// A param describes a parameter.
type param struct{ name, text string }

// commands returns all commands, in the order in which the C implementation
// compares them with a path.
func commands() []command {
	client := param{"client", "any text, which comes back in the answer"}
	ids := param{"series", "identifiers, separated by commas"}
	match := param{"match", "a pattern for the names that are listed if no identifier is given"}
	expr := param{"expr", "a query, in the language of pmseries(1)"}
	return []command{
		{"query", (*request).query, "[]", "Find series, or with a time window their values", []param{expr, client}},
		{"descs", (*request).descs, "[]", "Describe series", []param{ids, client}},
		{"instances", (*request).instances, "[]", "List the instances of series, or the names of all", []param{ids, match, client}},
		{"labels", (*request).labels, "[]", "List the labels of series, the values of labels, or the names of all", []param{
			ids, match, {"name", "names of labels, separated by commas, of which to list the values"}, {"names", "the same as name, which counts more"}, client,
		}},
		{"metrics", (*request).metrics, "[]", "List the names of series, or of all metrics", []param{ids, match, client}},
		{"sources", (*request).sources, "[]", "List the names of sources, or of all", []param{{"source", "identifiers of sources, separated by commas"}, match, client}},
		{"values", (*request).values, "[]", "Return values of series", []param{
			ids,
			{"samples", "how many samples; alone, the newest ones, newest first"},
			{"count", "the same as samples, which counts more"},
			{"interval", "thin samples out: an interval, such as 10 or 5min"},
			{"delta", "the same as interval, which counts more"},
			{"start", "the first time, in seconds or as pmParseTimeWindow(3) reads it"},
			{"begin", "the same as start, which counts more"},
			{"finish", "the last time"},
			{"end", "the same as finish, which counts more"},
			{"range", "an interval that ends now, in place of start and finish"},
			{"offset", "how many samples to leave out first"},
			{"align", "a time from which intervals are counted"},
			{"zone", "the time zone of dates"},
			{"iname", "a pattern for the names of instances: values of others are left out"},
			{"top", "only so many instances of each series: those with the largest values, of counters with the largest rates; the others as their number and sum"},
			client,
		}},
		{"load", (*request).load, "", "Look for new archives; for trusted clients", []param{expr, client}},
		{"ping", (*request).ping, "", "Say that the server is there", []param{client}},
	}
}

// find returns the command whose name is a prefix of the path.
func find(path string) (command, bool) {
	name, ok := strings.CutPrefix(path, "/series/")
	if !ok {
		return command{}, false
	}
	for _, c := range commands() {
		if strings.HasPrefix(name, c.name) {
			return c, true
		}
	}
	return command{}, false
}

// openAPI describes the requests.
func openAPI() []byte {
	type object = map[string]any
	paths := object{}
	for _, c := range commands() {
		var list []object
		form := object{}
		for _, p := range c.params {
			list = append(list, object{"name": p.name, "in": "query", "description": p.text, "schema": object{"type": "string"}})
			form[p.name] = object{"type": "string", "description": p.text}
		}
		answers := object{
			"200": object{"description": "the answer", "content": object{rest.TypeJSON: object{}}},
			"400": object{"description": "a mistake in the request", "content": object{rest.TypeJSON: object{}, rest.TypeHTML: object{}}},
		}
		item := object{"get": object{"operationId": "series-" + c.name, "summary": c.summary, "parameters": list, "responses": answers}}
		if c.name != "ping" {
			item["post"] = object{
				"operationId": "series-" + c.name + "-post", "summary": c.summary, "responses": answers,
				"requestBody": object{"content": object{"application/x-www-form-urlencoded": object{"schema": object{"type": "object", "properties": form}}}},
			}
		}
		paths["/series/"+c.name] = item
	}
	b, err := json.Marshal(object{
		"openapi": "3.0.3",
		"info":    object{"title": "PMWEBAPI: series", "version": version.Number, "description": "Metrics of many hosts and their archives over HTTP."},
		"paths":   paths,
	})
	if err != nil {
		panic(err) // a mistake in this function
	}
	return append(b, "\r\n"...)
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/series/openapi.json" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		rest.Send(w, http.StatusOK, rest.TypeJSON, openAPI())
		return
	}
	cmd, ok := find(r.URL.Path)
	if !ok {
		rest.Refuse(w, "series", errURL.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
	defer cancel()
	q := request{Handler: h, ctx: ctx, post: r.Method == http.MethodPost, answer: answer{w: w, none: cmd.none}}
	err := q.read(w, r)
	if err == nil {
		switch r.Method {
		case http.MethodHead, http.MethodOptions, http.MethodTrace: // nothing is executed
		default:
			err = cmd.run(&q)
		}
	}
	if err == nil {
		q.end()
		return
	}
	q.fail(err)
}

// read reads the parameters: from the URL, or from the body if the URL has no parameters.
func (q *request) read(w http.ResponseWriter, r *http.Request) (err error) {
	if len(r.URL.RawQuery) > rest.MaxQuery {
		return errURL
	}
	if q.params, err = rest.ParseParams(r.URL.RawQuery); err != nil {
		return errURL
	}
	if q.post && q.params.Len() == 0 {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		if err != nil {
			return err
		}
		if q.params, err = rest.ParseParams(strings.TrimRight(string(body), "\r\n")); err != nil {
			return errURL
		}
	}
	q.client, q.hasClient = q.params.Get("client")
	return nil
}

// list returns a list parameter, and whether it is present. An empty list is an
// error.
func (q *request) list(name string) ([]string, bool, error) {
	v, ok := q.params.Get(name)
	if !ok {
		return nil, false, nil
	}
	if v == "" {
		return nil, false, errURL
	}
	list := strings.Split(v, ",")
	if len(list) > MaxSeries {
		return nil, false, badRequest(fmt.Sprintf("%d identifiers in one request, at most %d", len(list), MaxSeries))
	}
	return list, true, nil
}

// fail sends an error response.
func (q *request) fail(err error) {
	var tooLarge *http.MaxBytesError
	status, message := http.StatusBadRequest, err.Error()
	var bad badRequest
	switch {
	case errors.Is(err, errURL):
		rest.Refuse(q.w, "series", message)
		return
	case q.started():
		// Too late for an error response: the connection is closed, so that the
		// client notices the truncation.
		q.log.Error("answer of /series was cut", "err", err)
		panic(http.ErrAbortHandler)
	case errors.Is(err, errQuiet), errors.As(err, &bad), query.IsMistake(err):
	case errors.As(err, &tooLarge):
		status, message = http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit)
	case errors.Is(err, errDenied):
		status = http.StatusForbidden
	case errors.Is(err, context.DeadlineExceeded):
		status, message = http.StatusServiceUnavailable, fmt.Sprintf("the request took longer than %v", q.timeout)
	case errors.Is(err, context.Canceled):
		return // the client is gone
	case errors.Is(err, series.ErrTooMany), errors.Is(err, series.ErrUnknown):
	case errors.Is(err, series.ErrClosed), errors.Is(err, series.ErrAway):
		status = http.StatusServiceUnavailable
	default:
		// The error may name files, which clients must not see.
		q.log.Error("request of /series", "err", err)
		status, message = http.StatusInternalServerError, "the store of series failed"
	}
	b := []byte{'{'}
	if q.hasClient {
		b = append(rest.AppendString(append(b, `"client":`...), q.client), ',')
	}
	if message != "" {
		b = append(rest.AppendString(append(b, `"message":`...), message), ',')
	}
	rest.Send(q.w, status, rest.TypeJSON, append(b, "\"success\":false}\r\n"...))
}

// query answers with series, or with values.
func (q *request) query() error {
	expr := q.params.Value("expr")
	if expr == "" {
		return errURL
	}
	r, err := q.engine.Query(q.ctx, expr, false)
	if err != nil {
		return err
	}
	for _, id := range r.Series {
		q.element()
		q.id(id)
	}
	for v, err := range r.Values() {
		if err != nil {
			return err
		}
		if err := q.value(v); err != nil {
			return err
		}
	}
	return nil
}

// values answers with values of series.
func (q *request) values() error {
	spec := query.Spec{
		Samples:  q.first("samples", "count"),
		Interval: q.first("interval", "delta"),
		Start:    q.first("start", "begin"),
		Finish:   q.first("finish", "end"),
		Range:    q.params.Value("range"),
		Offset:   q.params.Value("offset"),
		Align:    q.params.Value("align"),
		Zone:     q.params.Value("zone"),
	}
	list, ok, err := q.list("series")
	if err != nil {
		return err
	}
	if !ok {
		return errQuiet
	}
	ids := make([]sid.ID, 0, len(list))
	for _, text := range list {
		id, off := parseSID(text)
		if off >= 0 {
			return badRequest(fmt.Sprintf("Invalid SID %s near offset %d", text, off))
		}
		ids = append(ids, id)
	}
	loc := q.engine.Zone
	if loc == nil {
		loc = time.Local
	}
	w, err := spec.Parse(time.Now(), loc)
	if err != nil {
		return badRequest(err.Error())
	}
	wanted, err := q.named(ids)
	if err != nil {
		return err
	}
	top, err := q.top()
	if err != nil {
		return err
	}
	if top > 0 {
		return q.largest(q.engine.Values(q.ctx, ids, w), wanted, top)
	}
	for v, err := range q.engine.Values(q.ctx, ids, w) {
		if err != nil {
			return err
		}
		if wanted != nil && !wanted[v.Instance] {
			continue
		}
		if err := q.value(v); err != nil {
			return err
		}
	}
	return nil
}

// named returns the instances of series whose names match the parameter iname, or nil without it. The C
// implementation has no such parameter; clients that show one of many processes need it.
func (q *request) named(ids []sid.ID) (map[sid.ID]bool, error) {
	pattern, ok := q.params.Get("iname")
	if !ok {
		return nil, nil
	}
	if len(pattern) > query.MaxPattern {
		return nil, fmt.Errorf("%w: a pattern of %d bytes, at most %d", query.ErrLimit, len(pattern), query.MaxPattern)
	}
	wanted := make(map[sid.ID]bool)
	for _, id := range ids {
		list, err := q.engine.Instances(q.ctx, id)
		if err != nil && !errors.Is(err, series.ErrUnknown) {
			return nil, err
		}
		for _, in := range list {
			if query.Glob(pattern, in.Name) {
				wanted[in.ID] = true
			}
		}
	}
	return wanted, nil
}

// first returns the first of two parameters that is present.
func (q *request) first(name, other string) string {
	if v, ok := q.params.Get(name); ok {
		return v
	}
	return q.params.Value(other)
}

// parseSID parses an identifier; off is the offset of the error, or -1. Text
// after 40 digits is ignored.
func parseSID(text string) (id sid.ID, off int) {
	for i := range id {
		off := 2 * i
		if off+2 > len(text) {
			return id, off
		}
		high, ok := ctext.HexDigit(text[off])
		low, ok2 := ctext.HexDigit(text[off+1])
		if !ok || !ok2 {
			return id, off
		}
		id[i] = high<<4 | low
	}
	return id, -1
}

// value writes a value.
func (q *request) value(v *query.Value) error {
	q.element()
	q.text(`{"series":`)
	q.id(v.Series)
	if v.Instance != v.Series {
		q.text(`,"instance":`)
		if v.Instance.IsZero() {
			q.text(`""`)
		} else {
			q.id(v.Instance)
		}
	}
	q.text(`,"timestamp":`)
	q.timestamp(v.Time)
	q.text(`,"value":`)
	q.buf = appendQuoted(q.buf, v.Text)
	q.text("}")
	return q.flush(q.ctx)
}

// descs answers with descriptors. An unknown identifier gets a descriptor with the text for unknown series.
func (q *request) descs() error {
	list, ok, err := q.list("series")
	if err != nil {
		return err
	}
	if !ok {
		return errURL
	}
	for _, text := range list {
		source, pmid, indom, sem, kind, units := "unknown", "PM_ID_NULL", "unknown", "unknown", "unknown", "unknown"
		if id, off := parseSID(text); off < 0 {
			d, err := q.engine.Describe(q.ctx, id)
			switch {
			case err == nil:
				source, pmid, indom = d.Source.String(), d.PMIDText(), d.InDomText()
				sem, kind, units = d.Sem.String(), d.TypeText(), d.UnitsText()
			case !errors.Is(err, series.ErrUnknown):
				return err
			}
		}
		q.element()
		q.object("series", text, "source", source, "pmid", pmid, "indom", indom, "semantics", sem, "type", kind, "units", units)
		if err := q.flush(q.ctx); err != nil {
			return err
		}
	}
	return nil
}

// metrics answers with names of series, or of all metrics.
func (q *request) metrics() error {
	return q.each("series", series.MetricName, func(text string, id sid.ID) error {
		name, err := q.engine.Name(q.ctx, id)
		if err == nil {
			q.element()
			q.object("series", text, "name", name)
		}
		return err
	})
}

// sources answers with the names of sources, or of all.
func (q *request) sources() error {
	if q.params.Len() == 0 && !q.post {
		return errURL
	}
	return q.each("source", series.ContextName, func(text string, id sid.ID) error {
		names, err := q.engine.Store.ContextNames(q.ctx, id)
		for _, name := range names {
			q.element()
			q.object("source", text, "name", name)
		}
		return err
	})
}

// instances answers with the instances of series, or with the names of all.
func (q *request) instances() error {
	return q.each("series", series.InstanceName, func(text string, id sid.ID) error {
		list, err := q.engine.Instances(q.ctx, id)
		for _, in := range list {
			q.element()
			q.text(`{"series":`)
			q.quoted(text)
			q.text(`,"source":`)
			q.id(in.Source)
			q.text(`,"instance":`)
			q.id(in.ID)
			q.text(fmt.Sprintf(`,"id":%d,"name":`, in.Inst))
			q.quoted(in.Name)
			q.text("}")
		}
		return err
	})
}

// labels answers with the labels of series, the values of labels, or the names of
// all labels.
func (q *request) labels() error {
	names, ok, err := q.list("name")
	if err == nil && !ok {
		names, ok, err = q.list("names")
	}
	if err != nil {
		return err
	}
	if ok {
		return q.labelValues(names)
	}
	return q.each("series", series.LabelName, func(text string, id sid.ID) error {
		list, err := q.engine.Store.Labels(q.ctx, id)
		if err != nil || len(list) == 0 {
			return err
		}
		q.element()
		q.text(`{"series":`)
		q.quoted(text)
		for i, l := range list {
			if i == 0 {
				q.text(`,"labels":{`)
			} else {
				q.text(",")
			}
			q.label(l)
		}
		q.text("}}")
		return nil
	})
}

// label writes the name and the value of a label; the value is already JSON.
func (q *request) label(l pcp.Label) {
	q.quoted(l.Name)
	q.text(":")
	q.text(l.Value)
}

// labelValues answers with an object of the values of labels.
func (q *request) labelValues(names []string) error {
	q.none = "{}"
	q.isObject = true
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		values, err := q.engine.Store.Strings(q.ctx, series.LabelValue, name)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			continue
		}
		q.element()
		q.quoted(name)
		q.text(":[" + strings.Join(values, ",") + "]")
		if err := q.flush(q.ctx); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with the identifiers that a parameter lists; unknown and malformed
// identifiers are skipped. Without the parameter it writes all strings of a field
// that match the parameter match, if present.
func (q *request) each(name string, field series.Field, f func(string, sid.ID) error) error {
	list, ok, err := q.list(name)
	if err != nil {
		return err
	}
	if !ok {
		return q.all(field)
	}
	for _, text := range list {
		id, off := parseSID(text)
		if off >= 0 {
			continue
		}
		if err := f(text, id); err != nil && !errors.Is(err, series.ErrUnknown) {
			return err
		}
		if err := q.flush(q.ctx); err != nil {
			return err
		}
	}
	return nil
}

func (q *request) all(field series.Field) error {
	match, ok := q.params.Get("match")
	if len(match) > query.MaxPattern {
		return fmt.Errorf("%w: a pattern of %d bytes, at most %d", query.ErrLimit, len(match), query.MaxPattern)
	}
	list, err := q.engine.Store.Strings(q.ctx, field, "")
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := q.ctx.Err(); err != nil {
			return err
		}
		if ok && !query.Glob(match, s) {
			continue
		}
		q.element()
		q.quoted(s)
		if err := q.flush(q.ctx); err != nil {
			return err
		}
	}
	return nil
}

// load makes the store look for new archives. The store decides where: a
// request cannot name files.
func (q *request) load() error {
	expr := q.params.Value("expr")
	if expr == "" {
		if q.post && q.params.Len() == 0 {
			return badRequest("no load expression")
		}
		return errURL
	}
	if _, err := query.Parse(expr, time.Now(), q.engine.Zone); err != nil {
		return badRequest(err.Error())
	}
	if !rest.PeerOf(q.ctx).Trusted {
		return errDenied
	}
	return q.engine.Store.GC(q.ctx)
}

// ping confirms that the server is running.
func (q *request) ping() error { return nil }
