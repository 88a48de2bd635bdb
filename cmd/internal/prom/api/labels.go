package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// enter waits until there is room for a request. The caller calls leave.
func (h *Handler) enter(r *http.Request, room chan struct{}) (ctx context.Context, leave func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), h.cfg.Engine.Timeout)
	select {
	case room <- struct{}{}:
		return ctx, func() { <-room; cancel() }, nil
	case <-ctx.Done():
		cancel()
		return nil, nil, executed(ctx.Err())
	}
}

// A selection is what requests for labels and series have in common.
type selection struct {
	storage.Querier
	ctx        context.Context
	sets       [][]*labels.Matcher
	start, end int64
	limit      int
}

// selection reads the common parameters. Errors of match[] pass through a function. The caller calls leave if there is no error.
func (h *Handler) selection(r *http.Request, ofMatch func(error) error) (*selection, func(), error) {
	s := &selection{}
	var err error
	if s.limit, err = limitOf(r); err != nil {
		return nil, nil, err
	}
	start, err := timeOf(r, "start", minTime())
	if err != nil {
		return nil, nil, err
	}
	end, err := timeOf(r, "end", maxTime())
	if err != nil {
		return nil, nil, err
	}
	s.start, s.end = start.UnixMilli(), end.UnixMilli()
	ctx, leave, err := h.enter(r, h.room)
	if err != nil {
		return nil, nil, err
	}
	if s.sets, err = h.matchersOf(r); err != nil {
		leave()
		return nil, nil, ofMatch(err)
	}
	s.ctx = ctx
	if s.Querier, err = h.data.Querier(s.start, s.end); err != nil {
		leave()
		return nil, nil, executed(err)
	}
	return s, func() { s.Close(); leave() }, nil
}

// strings returns the union of the strings that f returns for each set of matchers, or once without matchers.
func (s *selection) strings(f func(matchers ...*labels.Matcher) ([]string, annotations.Annotations, error)) (*result, error) {
	sets := s.sets
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	all := map[string]struct{}{}
	var notes annotations.Annotations
	for _, set := range sets {
		list, more, err := f(set...)
		notes.Merge(more)
		if err != nil {
			return nil, executed(err)
		}
		for _, v := range list {
			all[v] = struct{}{}
		}
	}
	list := slices.Sorted(maps.Keys(all))
	if list == nil {
		list = []string{}
	}
	if s.limit > 0 && len(list) > s.limit {
		list = list[:s.limit]
		notes.Add(errTruncated)
	}
	return &result{data: list, notes: notes}, nil
}

// labelNames is the endpoint labels.
func (h *Handler) labelNames(r *http.Request) (*result, error) {
	s, leave, err := h.selection(r, func(err error) error { return err })
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.strings(func(matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return s.LabelNames(s.ctx, nil, matchers...)
	})
}

// labelValues is the endpoint label/NAME/values.
func (h *Handler) labelValues(r *http.Request, name string) (*result, error) {
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if name == "" || !utf8.ValidString(name) {
		return nil, badData(fmt.Errorf("invalid label name: %q", name))
	}
	s, leave, err := h.selection(r, func(err error) error { return err })
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.strings(func(matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return s.LabelValues(s.ctx, name, nil, matchers...)
	})
}

// series is the endpoint series.
func (h *Handler) series(r *http.Request) (*result, error) {
	if len(r.Form["match[]"]) == 0 {
		return nil, badData(errors.New("no match[] parameter provided"))
	}
	// Unlike requests for labels, this one names the parameter in errors.
	s, leave, err := h.selection(r, func(err error) error { return invalid("match[]", err) })
	if err != nil {
		return nil, err
	}
	defer leave()
	hints := &storage.SelectHints{Start: s.start, End: s.end, Func: "series"}
	seen := map[uint64][]labels.Labels{}
	list := []labels.Labels{}
	var notes annotations.Annotations
	for _, set := range s.sets {
		found := s.Select(s.ctx, true, hints, set...)
		for found.Next() {
			if s.ctx.Err() != nil {
				return nil, executed(s.ctx.Err())
			}
			l := found.At().Labels()
			if hash := l.Hash(); !slices.ContainsFunc(seen[hash], func(o labels.Labels) bool { return labels.Equal(o, l) }) {
				seen[hash] = append(seen[hash], l)
				list = append(list, l)
			}
		}
		notes.Merge(found.Warnings())
		if err := found.Err(); err != nil {
			return nil, executed(err)
		}
	}
	if len(s.sets) > 1 {
		slices.SortFunc(list, labels.Compare)
	}
	if s.limit > 0 && len(list) > s.limit {
		list = list[:s.limit]
		notes.Add(errTruncated)
	}
	return &result{data: list, notes: notes}, nil
}

// metadata is the endpoint metadata.
func (h *Handler) metadata(r *http.Request) (*result, error) {
	limit, per := -1, -1
	for _, p := range []struct {
		name string
		to   *int
	}{{"limit", &limit}, {"limit_per_metric", &per}} {
		if text := r.Form.Get(p.name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, badData(errors.New(p.name + " must be a number"))
			}
			*p.to = n
		}
	}
	ctx, leave, err := h.enter(r, h.room)
	if err != nil {
		return nil, err
	}
	defer leave()
	name := r.Form.Get("metric")
	all, err := h.cfg.Store.Metadata(ctx, name)
	if err != nil {
		return nil, executed(err)
	}
	var notes annotations.Annotations
	if h.cfg.Live != nil {
		live, err := h.cfg.Live.Metadata(ctx, name)
		if err != nil {
			notes.Add(err)
		}
		maps.Copy(all, live) // a collector has the help texts
	}
	kept := map[string][]store.Metadata{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if limit >= 0 && len(kept) >= limit {
			break
		}
		list := all[name]
		if per > 0 && len(list) > per {
			list = list[:per]
		}
		kept[name] = list
	}
	return &result{data: kept, notes: notes}, nil
}
