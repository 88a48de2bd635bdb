package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

const (
	direct    = 2 * time.Hour // samples of shorter times are requested without a question for their number
	atOnce    = 100_000       // samples that are requested at once
	firstSpan = 5 * time.Minute
	nameBatch = 40 // metrics of a question whether they have samples
)

// noExport remembers that the engine does not have /api/v1/export.
type noExport struct {
	mu    sync.Mutex
	until time.Time
}

func (n *noExport) is() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.until)
}

func (n *noExport) set() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.until = time.Now().Add(10 * time.Minute) // another replica may have it
}

// seconds returns a time in milliseconds for a parameter.
func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }

// instant returns the parameters of a query at a time. The last two are for VictoriaMetrics, which otherwise hides the newest samples and
// answers from a cache.
func instant(expr string, at int64) url.Values {
	return url.Values{"query": {expr}, "time": {seconds(at)}, "latency_offset": {"1ms"}, "nocache": {"1"}}
}

// fetch returns the samples of a selector between two times in milliseconds, both included.
func (s *Store) fetch(ctx context.Context, selector string, from, to int64) ([]track, error) {
	var list []track
	if !s.blind.is() {
		form := url.Values{"match[]": {selector}, "start": {seconds(from)}, "end": {seconds(to)}}
		err := s.get(ctx, "export", form, func(r io.Reader) (err error) {
			list, err = decodeExport(r)
			return err
		})
		var refused *Refusal
		if !errors.As(err, &refused) || refused.Status != http.StatusNotFound && refused.Status != http.StatusMethodNotAllowed && refused.Status/100 != 3 {
			return cut(list, from, to), err
		}
		s.blind.set()
	}
	// Whether the beginning of a range is a part of it depends on the version.
	expr := fmt.Sprintf("%s[%dms]", selector, to-from+1)
	err := s.get(ctx, "query", instant(expr, to), func(r io.Reader) (err error) {
		list, err = decodeMatrix(r)
		return err
	})
	return cut(list, from, to), err
}

// cut leaves the samples between two times.
func cut(list []track, from, to int64) []track {
	for i := range list {
		t := &list[i]
		a, _ := slices.BinarySearch(t.times, from)
		b, _ := slices.BinarySearch(t.times, to+1)
		t.times, t.values = t.times[a:b], t.values[a:b]
	}
	return list
}

// count returns the number of samples of a selector between two times, or a number above atOnce if that is too many to count.
func (s *Store) count(ctx context.Context, selector string, from, to int64) (int, error) {
	var list []float64
	err := s.get(ctx, "query", instant(fmt.Sprintf("sum(count_over_time(%s[%dms]))", selector, to-from+1), to), func(r io.Reader) (err error) {
		list, err = decodePoints(r)
		return err
	})
	var refused *Refusal
	if errors.As(err, &refused) && refused.Status != http.StatusUnauthorized && refused.Status != http.StatusForbidden && to-from > direct.Milliseconds() {
		return 2 * atOnce, nil
	}
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return int(list[0]), nil
}

// pieces calls f with the samples of a metric between two times, in parts: the earliest first, or the newest first. It ends if f returns false.
func (s *Store) pieces(ctx context.Context, m *metric, from, to int64, newest bool, f func([]track) bool) (more bool, err error) {
	if from > to {
		return true, nil
	}
	n := 0
	if to-from > direct.Milliseconds() {
		if n, err = s.count(ctx, m.selector(), from, to); err != nil {
			return false, err
		}
		if n == 0 {
			return true, nil
		}
	}
	if n <= atOnce {
		list, err := s.fetch(ctx, m.selector(), from, to)
		switch {
		case err == nil:
			return f(list), nil
		case !errors.Is(err, errTooLarge) || to-from < 2:
			return false, err
		}
		n = 2 * atOnce
	}
	parts := int64(min(max(n/atOnce+1, 2), 16))
	width := (to - from + parts) / parts
	for i := range parts {
		if newest {
			i = parts - 1 - i
		}
		a := from + i*width
		if more, err = s.pieces(ctx, m, a, min(a+width-1, to), newest, f); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// A cell is a value of an instance at a time.
type cell struct {
	at    int64
	inst  *instance
	value float64
}

// samples calls yield with the samples of tracks in the order of time, or in reverse.
func (s *Store) samples(m *metric, list []track, reverse bool, yield func(*series.Sample) bool) bool {
	n := 0
	for i := range list {
		n += len(list[i].times)
	}
	cells := make([]cell, 0, n)
	for i := range list {
		t := &list[i]
		if len(t.times) == 0 || !m.has(t.labels) {
			continue
		}
		in := m.instance(t.labels)
		if m.Desc.InDom != pcp.InDomNull {
			s.remember(in)
		}
		for j, at := range t.times {
			cells = append(cells, cell{at, in, t.values[j]})
		}
	}
	slices.SortStableFunc(cells, func(a, b cell) int {
		c := cmp.Compare(a.at, b.at)
		if reverse {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.inst.Inst, b.inst.Inst), a.inst.ID.Compare(b.inst.ID))
	})
	sample := series.Sample{Series: m.ID}
	for len(cells) > 0 {
		at := cells[0].at
		sample.Time, sample.Values = timestamp(at), sample.Values[:0]
		for ; len(cells) > 0 && cells[0].at == at; cells = cells[1:] {
			c := &cells[0]
			if k := len(sample.Values); k > 0 && sample.Values[k-1].Instance == c.inst.ID && sample.Values[k-1].Value.Inst == instOf(m, c.inst) {
				continue // the labels changed, and both series have it
			}
			sample.Values = append(sample.Values, series.InstValue{Instance: c.inst.ID, Value: m.value(c.value, instOf(m, c.inst))})
		}
		if !yield(&sample) {
			return false
		}
	}
	return true
}

// instOf returns the number of an instance.
func instOf(m *metric, in *instance) int32 {
	if m.Desc.InDom == pcp.InDomNull {
		return pcp.InNull
	}
	return in.Inst
}

// timestamp returns a time of the engine.
func timestamp(ms int64) pcp.Timestamp {
	sec := ms / 1000
	if ms %= 1000; ms < 0 {
		sec, ms = sec-1, ms+1000
	}
	return pcp.Timestamp{Sec: sec, Nsec: int32(ms * 1e6)}
}

// span returns a window in milliseconds.
func span(start, end pcp.Timestamp) (from, to int64) {
	from, to = 1, time.Now().Add(future).UnixMilli()
	if !start.IsZero() {
		from = max(from, millis(start))
	}
	if !end.IsZero() {
		to = min(to, millis(end))
	}
	return from, to
}

func millis(t pcp.Timestamp) int64 {
	if t.Sec > maxTime/1000 {
		return maxTime
	}
	return max(t.Sec, -maxTime/1000)*1000 + int64(t.Nsec)/1e6
}

// Values implements [series.Store].
func (s *Store) Values(ctx context.Context, ids []sid.ID, w series.Window) iter.Seq2[*series.Sample, error] {
	return s.all(ctx, ids, func(m *metric, yield func(*series.Sample, error) bool) bool {
		if w.Newest {
			return s.newest(ctx, m, w.Count, yield)
		}
		return s.window(ctx, m, w, yield)
	})
}

// all calls one for each known series.
func (s *Store) all(ctx context.Context, ids []sid.ID, one func(*metric, func(*series.Sample, error) bool) bool) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		for _, id := range ids {
			m, err := s.metric(ctx, id)
			if err == series.ErrUnknown {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !one(m, yield) {
				return
			}
		}
		if err := s.usable(ctx); err != nil && len(ids) == 0 {
			yield(nil, err)
		}
	}
}

// window yields the samples of a window, and reports whether to continue.
func (s *Store) window(ctx context.Context, m *metric, w series.Window, yield func(*series.Sample, error) bool) bool {
	from, to := span(w.Start, w.End)
	thin := series.NewThinner(w)
	var before series.Sample
	have, ended := false, false
	more, err := s.pieces(ctx, m, from, to, false, func(list []track) bool {
		return s.samples(m, list, false, func(now *series.Sample) bool {
			if thin.Next(now.Time) && !yield(&before, nil) {
				ended = true
				return false
			}
			if thin.Done() {
				return false
			}
			have = true
			before.Series, before.Time, before.Values = now.Series, now.Time, append(before.Values[:0], now.Values...)
			return true
		})
	})
	switch {
	case ended:
		return false
	case err != nil:
		yield(nil, err)
		return false
	case more && have && thin.Last():
		return yield(&before, nil)
	}
	return true
}

// newest yields the last samples, the newest first, and reports whether to continue.
func (s *Store) newest(ctx context.Context, m *metric, count int, yield func(*series.Sample, error) bool) bool {
	ended := false
	take := func(list []track) bool {
		return s.samples(m, list, true, func(sample *series.Sample) bool {
			if count <= 0 {
				return false
			}
			count--
			if !yield(sample, nil) {
				ended = true
			}
			return !ended && count > 0
		})
	}
	// The time grows until there are enough samples.
	now := time.Now()
	to := now.Add(future).UnixMilli()
	back := firstSpan
	for count > 0 && to > 0 {
		from := max(0, now.Add(-back).UnixMilli())
		more, err := s.pieces(ctx, m, from, to, true, take)
		if err != nil {
			yield(nil, err)
			return false
		}
		if ended {
			return false
		}
		if !more {
			break
		}
		to, back = from-1, 6*back
		if back > 100*365*24*time.Hour {
			back = 100 * 365 * 24 * time.Hour
		}
	}
	return true
}

// Sweep implements [series.Store]. It yields neither blocks nor gaps, of which the engine does not know.
func (s *Store) Sweep(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) iter.Seq2[*series.Sample, error] {
	from, to := span(start, end)
	return s.all(ctx, ids, func(m *metric, yield func(*series.Sample, error) bool) bool {
		ended := false
		_, err := s.pieces(ctx, m, from, to, false, func(list []track) bool {
			return s.samples(m, list, false, func(sample *series.Sample) bool {
				ended = !yield(sample, nil)
				return !ended
			})
		})
		if err != nil && !ended {
			yield(nil, err)
			return false
		}
		return !ended
	})
}

// Within implements [series.Store]. A series exists if it has a sample then, as does an instance.
func (s *Store) Within(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp, insts bool) ([]series.Presence, error) {
	from, to := span(start, end)
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	var all []*metric
	hosts := map[string][]*metric{} // with a label hostname
	for _, id := range ids {
		m, err := s.metric(ctx, id)
		if err == series.ErrUnknown {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m)
		hosts[m.fixed[hostname]] = append(hosts[m.fixed[hostname]], m)
	}
	if from > to {
		return nil, nil
	}
	there := map[*metric][]map[string]string{}
	for host, list := range hosts {
		for part := range slices.Chunk(list, nameBatch) {
			var texts []string
			for _, m := range part {
				texts = append(texts, m.prom)
			}
			expr := fmt.Sprintf("last_over_time({%s,%s}[%dms])", matcher(names.NameLabel, "=~", alternatives(texts)), matcher(hostname, "=", host), to-from+1)
			if err := s.present(ctx, expr, part, to, there); err != nil {
				return nil, err
			}
		}
	}
	var list []series.Presence
	for _, m := range all {
		found, ok := there[m]
		if !ok {
			continue
		}
		p := series.Presence{Series: m.ID}
		if insts && m.Desc.InDom != pcp.InDomNull {
			p.Instances = s.take(m, found)
		}
		list = append(list, p)
	}
	return list, nil
}

// present adds the labels of the series that a query finds to those of their metrics.
func (s *Store) present(ctx context.Context, expr string, of []*metric, to int64, there map[*metric][]map[string]string) error {
	var found []map[string]string
	err := s.get(ctx, "query", instant(expr, to), func(r io.Reader) (err error) {
		found, err = decodeLabels(r)
		return err
	})
	if err != nil {
		return err
	}
	for _, labels := range found {
		for _, m := range of {
			if m.has(labels) {
				there[m] = append(there[m], labels)
			}
		}
	}
	return nil
}

// Range evaluates an expression at the times from start to end that are step apart, and calls each with the labels, times in milliseconds
// and values of every series of the result.
func (c *Client) Range(ctx context.Context, expr string, start, end time.Time, step time.Duration, each func(labels map[string]string, times []int64, values []float64) error) error {
	form := url.Values{
		"query": {expr}, "start": {seconds(start.UnixMilli())}, "end": {seconds(end.UnixMilli())},
		"step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	}
	var list []track
	err := c.get(ctx, "query_range", form, func(r io.Reader) (err error) {
		list, err = decodeMatrix(r)
		return err
	})
	for i := range list {
		if err == nil {
			err = each(list[i].labels, list[i].times, list[i].values)
		}
	}
	return err
}
