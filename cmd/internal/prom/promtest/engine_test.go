package promtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// cases evaluates the queries of the tests. A case that reads samples that archives cannot have is left out: it gets the result of
// Prometheus' own storage.
type cases struct {
	promql.QueryEngine
	exprs   []string // of all cases, in order
	current int      // the current case
	left    []string // the reason why each case is left out, "" if it is not
	last    string   // the expression of the last instant query
	at      time.Time
	asked   int // queries through HTTP
}

var _ promql.QueryEngine = (*cases)(nil)

// begin finds the current case: the next one if the expression is that of the next one.
func (c *cases) begin(expr string) {
	if c.current+1 < len(c.exprs) && c.exprs[c.current+1] == expr {
		c.current++
	}
}

// NewInstantQuery implements [promql.QueryEngine].
func (c *cases) NewInstantQuery(ctx context.Context, data storage.Queryable, opts promql.QueryOpts, expr string, at time.Time) (promql.Query, error) {
	c.begin(expr)
	c.last, c.at = expr, at
	return c.query(data, expr, func(data storage.Queryable) (promql.Query, error) {
		return c.QueryEngine.NewInstantQuery(ctx, data, opts, expr, at)
	}, "query", url.Values{"query": {expr}, "time": {stampText(at)}})
}

// NewRangeQuery implements [promql.QueryEngine].
func (c *cases) NewRangeQuery(ctx context.Context, data storage.Queryable, opts promql.QueryOpts, expr string, start, end time.Time, step time.Duration) (promql.Query, error) {
	// Each instant query is made a second time, in the middle of a range.
	if expr != c.last || !start.Add(time.Minute).Equal(c.at) || step != time.Minute {
		c.begin(expr)
	}
	return c.query(data, expr, func(data storage.Queryable) (promql.Query, error) {
		return c.QueryEngine.NewRangeQuery(ctx, data, opts, expr, start, end, step)
	}, "query_range", url.Values{
		"query": {expr}, "start": {stampText(start)}, "end": {stampText(end)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	})
}

func stampText(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

// query returns a query of the tests: if Prometheus' storage has only samples for it that archives can have, one over the archives and
// through HTTP.
func (c *cases) query(data storage.Queryable, expr string, begin func(storage.Queryable) (promql.Query, error), path string, params url.Values) (promql.Query, error) {
	d := data.(*disk)
	seen := &watched{Queryable: d.full}
	full, err := begin(seen)
	if err != nil {
		return nil, err
	}
	res := full.Exec(d.t.Context())
	if seen.why != "" {
		c.left[c.current] = seen.why
		return done{full, res}, nil
	}
	full.Close()
	own, err := begin(d)
	if err != nil {
		return nil, err
	}
	res = own.Exec(d.t.Context())
	c.asked++
	value, err := d.ask(c, path, params, expr, res)
	if err != nil {
		own.Close()
		return nil, fmt.Errorf("%s %v: %w", path, params, err)
	}
	return done{own, &promql.Result{Err: res.Err, Value: value, Warnings: res.Warnings}}, nil
}

// done is a query that was executed.
type done struct {
	promql.Query
	res *promql.Result
}

func (q done) Exec(context.Context) *promql.Result { return q.res }

// ask makes a query through HTTP, and compares it with the result of the engine.
func (d *disk) ask(c *cases, path string, params url.Values, expr string, want *promql.Result) (parser.Value, error) {
	h := api.New(api.Config{Store: d, Queries: c.QueryEngine})
	r := httptest.NewRequest(http.MethodPost, "/api/v1/"+path, strings.NewReader(params.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var reply struct {
		Status, ErrorType, Error string
		Warnings, Infos          []string
		Data                     struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		return nil, fmt.Errorf("%w: %.1000s", err, w.Body)
	}
	if want.Err != nil || w.Code != http.StatusOK {
		if want.Err == nil || reply.Error != want.Err.Error() || w.Code != http.StatusUnprocessableEntity || reply.ErrorType != "execution" || reply.Status != "error" {
			return nil, fmt.Errorf("%d %.1000s, want %v", w.Code, w.Body, want.Err)
		}
		return nil, nil
	}
	warnings, infos := store.Notes(want.Warnings).AsStrings(expr, 0, 0)
	for _, list := range [][]string{warnings, infos, reply.Warnings, reply.Infos} {
		slices.Sort(list)
	}
	if !slices.Equal(warnings, reply.Warnings) || !slices.Equal(infos, reply.Infos) {
		return nil, fmt.Errorf("warnings %q, infos %q, want %q and %q", reply.Warnings, reply.Infos, warnings, infos)
	}
	value, err := decode(reply.Data.ResultType, reply.Data.Result)
	if err == nil && lines(value) != lines(want.Value) {
		err = fmt.Errorf("the result is\n%s\nand that of the engine\n%s", value, want.Value)
	}
	return value, err
}

// lines returns a value as text. The tests check the order themselves where a query determines it.
func lines(v parser.Value) string {
	list := strings.Split(v.String(), "\n")
	slices.Sort(list)
	return string(v.Type()) + "\n" + strings.Join(list, "\n")
}

// A pair is a time and a value.
type pair struct {
	t    int64
	text string
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *pair) UnmarshalJSON(b []byte) error {
	var sec float64
	if err := json.Unmarshal(b, &[]any{&sec, &p.text}); err != nil {
		return err
	}
	p.t = int64(math.Round(sec * 1000))
	return nil
}

func (p *pair) number() (float64, error) { return strconv.ParseFloat(p.text, 64) }

// decode decodes a result.
func decode(kind string, b []byte) (parser.Value, error) {
	switch kind {
	case "scalar", "string":
		var p pair
		if err := json.Unmarshal(b, &p); err != nil {
			return nil, err
		}
		if kind == "string" {
			return promql.String{T: p.t, V: p.text}, nil
		}
		v, err := p.number()
		return promql.Scalar{T: p.t, V: v}, err
	case "vector", "matrix":
		var list []struct {
			Metric map[string]string
			Value  *pair
			Values []pair
		}
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, err
		}
		vector, matrix := make(promql.Vector, 0), make(promql.Matrix, 0)
		for _, s := range list {
			metric := labels.FromMap(s.Metric)
			if kind == "vector" {
				if s.Value == nil {
					return nil, errors.New("a series without a value")
				}
				v, err := s.Value.number()
				if err != nil {
					return nil, err
				}
				vector = append(vector, promql.Sample{Metric: metric, T: s.Value.t, F: v})
				continue
			}
			series := promql.Series{Metric: metric}
			for _, p := range s.Values {
				v, err := p.number()
				if err != nil {
					return nil, err
				}
				series.Floats = append(series.Floats, promql.FPoint{T: p.t, F: v})
			}
			matrix = append(matrix, series)
		}
		if kind == "vector" {
			return vector, nil
		}
		return matrix, nil
	}
	return nil, fmt.Errorf("a result of type %q", kind)
}

// watched notes whether a query reads samples that archives cannot have.
type watched struct {
	storage.Queryable
	why string
}

// Querier implements [storage.Queryable].
func (w *watched) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := w.Queryable.Querier(mint, maxt)
	return &watchedQuerier{q, w}, err
}

type watchedQuerier struct {
	storage.Querier
	w *watched
}

func (q *watchedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return &watchedSet{q.Querier.Select(ctx, sorted, hints, matchers...), q.w}
}

type watchedSet struct {
	storage.SeriesSet
	w *watched
}

func (s *watchedSet) Next() bool {
	if !s.SeriesSet.Next() {
		return false
	}
	it := s.At().Iterator(nil)
	for {
		switch t := it.Next(); {
		case t == chunkenc.ValNone:
			return true
		case t != chunkenc.ValFloat:
			s.w.why = noHistograms
		case it.AtST() != 0:
			s.w.why = noStarts
		}
	}
}
