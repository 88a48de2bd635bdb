package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// Limits of requests and answers.
const (
	// MaxNamed is the number of hosts whose history one request may have.
	MaxNamed = 500
	// MaxPoints is the number of points of a heat map.
	MaxPoints = 240
	// MaxLabels is the number of labels of hosts that an answer has; further ones, in the order of names, are left out, with a note.
	MaxLabels = 50

	maxName   = 1024 // bytes of a metric or an instance
	maxUnique = 1000 // hosts from which on labels are left out that are different for each host
	heats     = 2    // heat maps that are computed at once
	heatsKept = 8    // answers that are kept
)

// A View is what a group of clients may see.
type View struct {
	// Source has the values of heat maps; nil means that of the Fleet.
	Source Source
	// Recording shows the state of recordings, with the errors of recorders.
	Recording bool
}

// Handler returns a handler for requests below /fleet/.
func (f *Fleet) Handler(v View) http.Handler {
	if v.Source == nil {
		v.Source = f.cfg.Source
	}
	return &handler{f: f, v: v, room: make(chan struct{}, heats)}
}

type handler struct {
	f    *Fleet
	v    View
	room chan struct{} // for heat maps that are computed

	mu   sync.Mutex
	kept []keptHeat // the last one was used last
}

// A keptHeat is a heat map that is kept for later requests.
type keptHeat struct {
	expr             string
	start, end, step int64
	until            time.Time
	heat             *heat
}

// A badRequest is a mistake of the client.
type badRequest string

func (e badRequest) Error() string { return string(e) }

// ServeHTTP answers a request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var do func(context.Context, url.Values) ([]byte, error)
	switch r.URL.Path {
	case "/fleet/hosts":
		do = h.hosts
	case "/fleet/heat":
		do = h.heat
	case "/fleet/openapi.json":
		do = func(context.Context, url.Values) ([]byte, error) { return openAPI(), nil }
	default:
		rest.Refuse(w, "fleet", "no handler for URL")
		return
	}
	params, ok := rest.Query(w, r, "fleet")
	if !ok {
		return
	}
	body, err := do(r.Context(), params)
	if err != nil {
		h.fail(w, err)
		return
	}
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if slices.ContainsFunc(strings.Split(r.Header.Get("If-None-Match"), ","), func(s string) bool {
		return strings.TrimPrefix(strings.TrimSpace(s), "W/") == tag
	}) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	rest.Send(w, http.StatusOK, rest.TypeJSON, body)
}

// fail sends an error.
func (h *handler) fail(w http.ResponseWriter, err error) {
	var bad badRequest
	switch {
	case errors.As(err, &bad):
		rest.Fail(w, http.StatusBadRequest, err.Error())
	case errors.Is(err, errNotReady), errors.Is(err, errClosed):
		w.Header().Set("Retry-After", "2")
		rest.Fail(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, errTooMany):
		rest.Fail(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		rest.Fail(w, http.StatusServiceUnavailable, fmt.Sprintf("the values of the hosts took longer than %v", Timeout))
	case errors.Is(err, context.Canceled): // the client is gone
	default:
		// The error may name files or servers, which clients must not see.
		h.f.cfg.Log.Error("request of /fleet", "err", err)
		rest.Fail(w, http.StatusInternalServerError, "the values of the hosts cannot be read")
	}
}

// number reads a number between two limits.
func number(q url.Values, name string, otherwise, least, most float64) (float64, error) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= least && v <= most) {
		return 0, badRequest(fmt.Sprintf("%s: want a number from %s to %s", name, short(least), short(most)))
	}
	return v, nil
}

func short(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// A span is the time that a request is about.
type span struct {
	end  time.Time // zero for now
	step time.Duration
}

// times reads the window and the end of a request for a number of points.
func times(q url.Values, points int) (span, error) {
	window, err := number(q, "window", (Points * Step).Seconds(), MinWindow.Seconds(), MaxWindow.Seconds())
	if err != nil {
		return span{}, err
	}
	s := span{step: max(time.Second, (time.Duration(window*float64(time.Second)) / time.Duration(points)).Truncate(time.Second))}
	end, err := number(q, "end", 0, 0, 1e11)
	if err != nil {
		return span{}, err
	}
	if end != 0 {
		// Requests for nearly the same time have one answer.
		s.end = time.UnixMilli(int64(end * 1000)).Truncate(s.step)
	}
	return s, nil
}

// hosts is the request for the table.
func (h *handler) hosts(ctx context.Context, q url.Values) ([]byte, error) {
	if q.Has("count") {
		return h.count(ctx)
	}
	t, err := times(q, Points)
	if err != nil {
		return nil, err
	}
	limit, err := number(q, "limit", MaxHosts, 1, MaxHosts)
	if err != nil {
		return nil, err
	}
	offset, err := number(q, "offset", 0, 0, MaxHosts)
	if err != nil {
		return nil, err
	}
	named := q["host"]
	if len(named) > MaxNamed {
		return nil, badRequest(fmt.Sprintf("host: %d hosts, at most %d", len(named), MaxNamed))
	}
	snap, err := h.table(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(named) > 0 {
		return h.histories(snap, named), nil
	}
	var recording []*Recording
	if h.v.Recording && h.f.cfg.Recording != nil && t.end.IsZero() {
		list, err := h.f.cfg.Recording(ctx)
		if err != nil {
			h.f.cfg.Log.Error("the state of recordings", "err", err)
		} else {
			snap, recording = snap.recorded(list)
		}
	}
	return appendTable(snap, recording, int(limit), int(offset)), nil
}

// table returns the table of a span.
func (h *handler) table(ctx context.Context, t span) (*snapshot, error) {
	switch {
	case !t.end.IsZero():
		return h.f.at(ctx, t.end, t.step)
	case t.step == Step:
		return h.f.now(ctx)
	}
	return h.f.at(ctx, h.f.cfg.Now().Truncate(t.step), t.step)
}

// count answers with the number of hosts only.
func (h *handler) count(ctx context.Context) ([]byte, error) {
	n := 0
	if f := h.f.cfg.Hosts; f != nil {
		list, err := f(ctx)
		if err != nil {
			return nil, err
		}
		n = len(list)
	}
	if f := h.f.cfg.Recording; f != nil && h.v.Recording {
		if list, err := f(ctx); err == nil { // the table reports errors
			n = max(n, len(list))
		}
	}
	return fmt.Appendf(nil, "{\"count\":%d,\"success\":true}\r\n", n), nil
}

// rounded rounds to the four digits that answers have.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return r
}

func appendNumber(b []byte, v float64) []byte {
	if !usable(v) {
		return append(b, "null"...)
	}
	if v = rounded(v); math.Abs(v) >= 1e15 || v != 0 && math.Abs(v) < 1e-5 {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// appendList appends a JSON array of n elements.
func appendList(b []byte, n int, element func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(b, i)
	}
	return append(b, ']')
}

// appendTable appends the answer for a table: the hosts in the order of their trouble, those without values last.
func appendTable(s *snapshot, recording []*Recording, limit, offset int) []byte {
	trouble := make([]float64, len(s.hosts))
	order := make([]int, len(s.hosts))
	for i := range order {
		order[i], trouble[i] = i, rounded(s.trouble(i))
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := trouble[a], trouble[b]
		switch {
		case math.IsNaN(x) || math.IsNaN(y):
			return boolean(math.IsNaN(x)) - boolean(math.IsNaN(y))
		default:
			return cmp.Compare(y, x)
		}
	})
	offset = min(offset, len(order))
	order = order[offset:min(len(order), offset+limit)]

	b := make([]byte, 0, 256+80*len(order))
	b = fmt.Appendf(b, `{"time":%s,"step":%s,"points":%d,"count":%d,"offset":%d,"columns":`,
		short(float64(s.end)/1000), short(float64(s.step)/1000), Points, len(s.hosts), offset)
	b = appendColumns(b)
	b = append(b, `,"hosts":`...)
	b = appendList(b, len(order), func(b []byte, i int) []byte { return rest.AppendString(b, s.hosts[order[i]]) })
	b = append(b, `,"trouble":`...)
	b = appendList(b, len(order), func(b []byte, i int) []byte { return appendNumber(b, trouble[order[i]]) })
	b = append(b, `,"age":`...)
	b = appendList(b, len(order), func(b []byte, i int) []byte {
		n := s.newest(order[i])
		if n < 0 {
			return append(b, "null"...)
		}
		return strconv.AppendInt(b, int64(Points-1-n)*s.step/1000, 10)
	})
	b = append(b, `,"values":{`...)
	for c := range columns {
		if c > 0 {
			b = append(b, ',')
		}
		b = append(rest.AppendString(b, columns[c].Name), ':')
		b = appendList(b, len(order), func(b []byte, i int) []byte { return appendNumber(b, s.now(c, order[i])) })
	}
	b = append(b, "},"...)
	b = s.appendLabels(b, order)
	if recording != nil {
		b = append(b, ',')
		b = s.appendRecording(b, order, recording)
	}
	return append(b, ",\"success\":true}\r\n"...)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func appendColumns(b []byte) []byte {
	return appendList(b, len(columns), func(b []byte, i int) []byte {
		c := &columns[i]
		b = rest.AppendString(append(b, `{"name":`...), c.Name)
		b = rest.AppendString(append(b, `,"title":`...), c.Title)
		b = rest.AppendString(append(b, `,"help":`...), c.Help)
		b = rest.AppendString(append(b, `,"unit":`...), c.Unit)
		return fmt.Appendf(b, `,"low":%s,"high":%s}`, short(c.Low), short(c.High))
	})
}

// appendLabels appends the labels of hosts: the values of each, and for each host an index of these or -1.
func (s *snapshot) appendLabels(b []byte, order []int) []byte {
	type label struct {
		name   string
		values []string
		index  map[string]int
		of     []int
	}
	by := map[string]*label{}
	for i, row := range order {
		s.labels[row].Range(func(l labels.Label) {
			switch l.Name {
			case names.NameLabel, HostLabel, "instid", "instname", "agent":
				return
			}
			lb := by[l.Name]
			if lb == nil {
				lb = &label{name: l.Name, index: map[string]int{}}
				by[l.Name] = lb
			}
			n, ok := lb.index[l.Value]
			if !ok {
				n = len(lb.values)
				lb.values = append(lb.values, l.Value)
				lb.index[l.Value] = n
			}
			for len(lb.of) < i {
				lb.of = append(lb.of, -1)
			}
			lb.of = append(lb.of, n)
		})
	}
	var list []*label
	var out []string
	for _, l := range by {
		if n := len(l.values); n > maxUnique && n == len(l.of) {
			out = append(out, l.name)
			continue
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *label) int { return strings.Compare(a.name, b.name) })
	for len(list) > MaxLabels {
		out = append(out, list[len(list)-1].name)
		list = list[:len(list)-1]
	}
	slices.Sort(out)
	b = append(b, `"labels":`...)
	b = appendList(b, len(list), func(b []byte, i int) []byte {
		l := list[i]
		b = rest.AppendString(append(b, `{"name":`...), l.name)
		b = append(b, `,"values":`...)
		b = appendList(b, len(l.values), func(b []byte, i int) []byte { return rest.AppendString(b, l.values[i]) })
		b = append(b, `,"of":`...)
		b = appendList(b, len(order), func(b []byte, i int) []byte {
			if i >= len(l.of) {
				return append(b, "-1"...)
			}
			return strconv.AppendInt(b, int64(l.of[i]), 10)
		})
		return append(b, '}')
	})
	b = append(b, `,"labels_left_out":`...)
	return appendList(b, len(out), func(b []byte, i int) []byte { return rest.AppendString(b, out[i]) })
}

// recorded returns the state of the recording of each host, nil for those that are not recorded, and the table with the recorded hosts
// that are missing from it. A name without a domain is also that of the only host with a domain that begins with it.
func (s *snapshot) recorded(list []Recording) (*snapshot, []*Recording) {
	full := map[string]int{} // rows by names without domains, -1 for several
	for row, name := range s.hosts {
		if first, _, ok := strings.Cut(name, "."); ok {
			if _, several := full[first]; several {
				row = -1
			}
			full[first] = row
		}
	}
	with := *s
	of := make([]*Recording, len(s.hosts), len(s.hosts)+len(list))
	with.hosts, with.labels = slices.Clip(s.hosts), slices.Clip(s.labels)
	for i := range list {
		r := &list[i]
		row, ok := s.rows[r.Host]
		if !ok {
			row, ok = full[r.Host]
		}
		switch {
		case ok && row >= 0:
			of[row] = r
		case len(with.hosts) < MaxHosts:
			with.hosts, with.labels, of = append(with.hosts, r.Host), append(with.labels, labels.EmptyLabels()), append(of, r)
		}
	}
	return &with, of
}

// appendRecording appends the state of recordings, null for hosts that are not recorded.
func (s *snapshot) appendRecording(b []byte, order []int, recording []*Recording) []byte {
	each := func(b []byte, name string, value func(b []byte, r *Recording) []byte) []byte {
		b = append(rest.AppendString(b, name), ':')
		return appendList(b, len(order), func(b []byte, i int) []byte {
			if r := recording[order[i]]; r != nil {
				return value(b, r)
			}
			return append(b, "null"...)
		})
	}
	b = append(b, `"recording":{`...)
	b = each(b, "owner", func(b []byte, r *Recording) []byte { return rest.AppendString(b, r.Owner) })
	b = append(b, ',')
	b = each(b, "lag", func(b []byte, r *Recording) []byte {
		if r.Lag < 0 {
			return append(b, "null"...)
		}
		return appendNumber(b, r.Lag.Seconds())
	})
	b = append(b, ',')
	b = each(b, "error", func(b []byte, r *Recording) []byte { return rest.AppendString(b, r.Error) })
	return append(b, '}')
}

// appendRows appends rows, null for those that are not usable.
func appendRows(b []byte, rows []*Row) []byte {
	each := func(b []byte, name string, value func(b []byte, r *Row) []byte) []byte {
		b = append(rest.AppendString(b, name), ':')
		return appendList(b, len(rows), func(b []byte, i int) []byte {
			if rows[i] == nil {
				return append(b, "null"...)
			}
			return value(b, rows[i])
		})
	}
	b = each(b, "low", func(b []byte, r *Row) []byte { return appendNumber(b, r.Low) })
	b = append(b, ',')
	b = each(b, "high", func(b []byte, r *Row) []byte { return appendNumber(b, r.High) })
	b = append(b, ',')
	return each(b, "levels", func(b []byte, r *Row) []byte { return append(append(append(b, '"'), r.text()...), '"') })
}

// histories returns the answer with the history of hosts.
func (h *handler) histories(s *snapshot, named []string) []byte {
	var rows []int
	for _, name := range named {
		if row, ok := s.rows[name]; ok && !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	b := fmt.Appendf(nil, `{"time":%s,"step":%s,"points":%d,"hosts":`, short(float64(s.end)/1000), short(float64(s.step)/1000), Points)
	b = appendList(b, len(rows), func(b []byte, i int) []byte { return rest.AppendString(b, s.hosts[rows[i]]) })
	b = append(b, `,"history":{`...)
	for c := range columns {
		if c > 0 {
			b = append(b, ',')
		}
		list := make([]*Row, len(rows))
		for i, row := range rows {
			if r, ok := NewRow(s.history(c, row)); ok {
				list[i] = &r
			}
		}
		b = append(appendRows(append(append(rest.AppendString(b, columns[c].Name), ':'), '{'), list), '}')
	}
	return append(b, "},\"success\":true}\r\n"...)
}

// heat is the request for a heat map.
func (h *handler) heat(ctx context.Context, q url.Values) ([]byte, error) {
	column, metric := q.Get("column"), q.Get("metric")
	switch {
	case column == "" && metric == "":
		return nil, badRequest("want the parameter column or metric")
	case column != "" && metric != "":
		return nil, badRequest("want one of the parameters column and metric")
	case column != "":
		c := slices.IndexFunc(columns, func(c Column) bool { return c.Name == column })
		if c < 0 {
			return nil, badRequest("column: there is no such column")
		}
		t, err := times(q, Points)
		if err != nil {
			return nil, err
		}
		snap, err := h.table(ctx, t)
		if err != nil {
			return nil, err
		}
		m := &heat{start: snap.start(), step: snap.step, n: Points}
		for row, name := range snap.hosts {
			if r, ok := NewRow(snap.history(c, row)); ok {
				m.hosts, m.rows = append(m.hosts, name), append(m.rows, r)
			}
		}
		return m.answer(), nil
	}
	points, err := number(q, "points", Points, 2, MaxPoints)
	if err != nil {
		return nil, err
	}
	t, err := times(q, int(points))
	if err != nil {
		return nil, err
	}
	expr, err := heatExpr(q, t.step)
	if err != nil {
		return nil, err
	}
	end := t.end
	if end.IsZero() {
		end = h.f.cfg.Now().Truncate(t.step)
	}
	m, err := h.compute(ctx, expr, end.Add(-time.Duration(int(points)-1)*t.step), end, t.step)
	if err != nil {
		return nil, err
	}
	return m.answer(), nil
}

// heatExpr returns the expression of a heat map.
func heatExpr(q url.Values, step time.Duration) (string, error) {
	metric, instance := q.Get("metric"), q.Get("instance")
	for _, s := range []string{metric, instance} {
		if len(s) > maxName {
			return "", badRequest(fmt.Sprintf("a name of %d bytes, at most %d", len(s), maxName))
		}
	}
	of := cmp.Or(q.Get("of"), "max")
	if !slices.Contains([]string{"max", "min", "sum", "avg"}, of) {
		return "", badRequest("of: want max, min, sum or avg")
	}
	selector := "{__name__=" + strconv.Quote(names.Metric(metric))
	if instance != "" {
		selector += ",instname=" + strconv.Quote(strings.ToValidUTF8(instance, "\uFFFD"))
	}
	selector += "}"
	switch q.Get("rate") {
	case "", "false":
	case "true":
		selector = "rate(" + selector + "[" + rateRange(step) + "])"
	default:
		return "", badRequest("rate: want true or false")
	}
	return of + " by (hostname) (" + selector + ")", nil
}

// compute evaluates the expression of a heat map, or returns a result that is kept.
func (h *handler) compute(ctx context.Context, expr string, start, end time.Time, step time.Duration) (*heat, error) {
	key := keptHeat{expr: expr, start: start.UnixMilli(), end: end.UnixMilli(), step: step.Milliseconds()}
	now := h.f.cfg.Now()
	h.mu.Lock()
	h.kept = slices.DeleteFunc(h.kept, func(k keptHeat) bool { return now.After(k.until) })
	for _, k := range h.kept {
		if k.expr == key.expr && k.start == key.start && k.end == key.end && k.step == key.step {
			h.mu.Unlock()
			return k.heat, nil
		}
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	stop := context.AfterFunc(h.f.ctx, cancel)
	defer stop()
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m, err := newHeat(ctx, h.v.Source, expr, start, end, step)
	if err != nil {
		return nil, err
	}
	key.heat, key.until = m, now.Add(step)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.kept) >= heatsKept {
		h.kept = h.kept[1:]
	}
	h.kept = append(h.kept, key)
	return m, nil
}

// answer returns the answer for a heat map.
func (m *heat) answer() []byte {
	rows := make([]*Row, len(m.rows))
	for i := range m.rows {
		rows[i] = &m.rows[i]
	}
	b := fmt.Appendf(nil, `{"start":%s,"step":%s,"points":%d,"hosts":`, short(float64(m.start)/1000), short(float64(m.step)/1000), m.n)
	b = appendList(b, len(m.hosts), func(b []byte, i int) []byte { return rest.AppendString(b, m.hosts[i]) })
	b = appendRows(append(b, ','), rows)
	return append(b, ",\"success\":true}\r\n"...)
}
