package send

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

const (
	// mends is the number of further requests for the contents of a window that was refused.
	mends = 200
	// fewMends is the number after a window that was refused in all its parts.
	fewMends = 40
	// maxBad limits the series that are known to be refused.
	maxBad = 10_000
	// maxSelector is the size of a selector, which VictoriaMetrics limits to 16 kB.
	maxSelector = 6 << 10
)

// ready makes the client, and makes it again if secrets may have changed.
func (s *stream) ready() error {
	if n := s.n.renewal(); s.client == nil || n != s.renewed {
		c, err := s.n.client()
		if err != nil {
			return err
		}
		s.client, s.renewed = c, n
	}
	return nil
}

// request makes a request when the server may be asked.
func (s *stream) request(ctx context.Context, f func(*remote.Client) error) error {
	if err := s.n.enter(ctx); err != nil {
		return err
	}
	err := s.ready()
	if err == nil {
		err = f(s.client)
	}
	if ctx.Err() != nil {
		<-s.n.slots
		return context.Cause(ctx)
	}
	s.n.leave(err)
	return err
}

// ask repeats a query until it is answered. If the server does not answer queries, ok is false.
func (s *stream) ask(ctx context.Context, f func(*remote.Client) error) (ok bool, err error) {
	for !s.n.isBlind() {
		var blind error
		err := s.request(ctx, func(c *remote.Client) error {
			err := f(c)
			if err != nil && cannotAsk(err) && ctx.Err() == nil {
				blind = err
				return nil
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case blind != nil:
			s.n.blinded(blind)
			return false, nil
		case err == nil:
			return true, nil
		}
	}
	return false, nil
}

// window sends a window.
func (s *stream) window(ctx context.Context, m *markers, w *window) error {
	if s.ahead(w.end) > maxAhead {
		if err := s.without(ctx, func() error { return s.ripe(ctx, w.end) }); err != nil {
			return err
		}
	}
	here := place{Base: s.at.Base, Started: s.at.Started, Sent: w.after}
	careful := s.cautious(w)
	end := here
	end.Sent = w.end
	began := time.Now()
	s.setLag(time.UnixMilli(w.end))
	budget := mends
	if !s.hopeful {
		budget = fewMends
	}
	refused := false
	s.took = false
	parts := w.split()
	for i := range parts {
		p := &parts[i]
		list := p.list
		last := i == len(parts)-1
		if careful {
			var err error
			if list, err = s.missing(ctx, w, list); err != nil {
				return err
			}
		}
		var mark []remote.Series
		if w.end > s.marked || !last && w.end >= s.marked {
			mark = []remote.Series{m.marker(w.end, i+1, last)}
		}
		if len(list) == 0 && (len(mark) == 0 || !last) {
			continue
		}
		good, bad := s.divide(list)
		whole := len(good) == len(list)
		var err error
		if len(good)+len(mark) > 0 {
			var ok bool
			ok, err = s.post(ctx, w, good, mark, careful, &budget)
			whole = whole && ok
		}
		if err == nil && len(bad) > 0 {
			var ok bool
			few := min(budget, fewMends)
			ok, err = s.post(ctx, w, bad, nil, careful, &few)
			if ok {
				clear(s.bad)
			}
		}
		if err != nil {
			return err
		}
		refused = refused || !whole
		if last && refused && len(mark) > 0 {
			if _, err := s.send(ctx, mark); err != nil {
				return err
			}
		}
	}
	if refused {
		s.hopeful = s.took
	}
	if s.careful.compare(here) <= 0 {
		s.doubt = false // the window is at least as long as the one of which it is not known whether it arrived
	}
	before, last := s.before, s.acks[len(s.acks)-1].time
	s.moved(end)
	if n, until := s.n.breaks(s.breaks); n != s.breaks {
		s.breaks = n
		// The server may have been restarted. Samples lost then were accepted shortly before, or are a part of this window.
		if !s.n.isBlind() && before.compare(s.at) < 0 && !careful && (until.Before(last.Add(s.loses)) || until.After(began)) {
			return s.back(before)
		}
	}
	return s.check(ctx, m)
}

// send makes a request until the server has answered it.
func (s *stream) send(ctx context.Context, list []remote.Series) (out remote.Outcome, err error) {
	for {
		err = s.request(ctx, func(c *remote.Client) error {
			out, err = c.Try(ctx, list)
			return err
		})
		var f *remote.Failure
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return out, context.Cause(ctx)
		case errors.As(err, &f) && f.Unclear:
			return out, s.unclear()
		}
	}
}

// divide returns the series that were not refused before, and the others, so that these do not spoil the requests of those.
func (s *stream) divide(list []remote.Series) (good, bad []remote.Series) {
	if len(s.bad) == 0 {
		return list, nil
	}
	for _, one := range list {
		if s.bad[keyOf(one.Labels)] {
			bad = append(bad, one)
		} else {
			good = append(good, one)
		}
	}
	return good, bad
}

func countSamples(list []remote.Series) (n int) {
	for i := range list {
		if !described(&list[i]) {
			n += len(list[i].Samples)
		}
	}
	return n
}

// post sends series of a window, and reports whether the server took all. If it refuses them, it gets smaller requests, without samples that it has,
// to find those that it accepts.
func (s *stream) post(ctx context.Context, w *window, list, mark []remote.Series, careful bool, budget *int) (whole bool, err error) {
	out, err := s.send(ctx, slices.Concat(list, mark))
	n := countSamples(list)
	if err != nil {
		return false, err
	}
	if out.Rejected == 0 {
		s.n.accepted(n)
		return true, nil
	}
	if out.Rejected < n+len(mark) { // a part of them, by version 2.0
		bad := min(out.Rejected, n)
		s.n.accepted(n - bad)
		s.n.refused(bad, out.Reason)
		return false, nil
	}
	if !careful && !s.n.isBlind() && n > 0 {
		s.quiet = time.Now().Add(s.settle)
		if list, err = s.missing(ctx, w, list); err != nil {
			return false, err
		}
		if k := countSamples(list); k < n {
			if k == 0 {
				return false, nil
			}
			_, err := s.post(ctx, w, list, nil, true, budget)
			return false, err
		}
	}
	left, right := halves(list)
	if right == nil || *budget < 2 {
		s.n.refused(n, out.Reason)
		if len(list) == 1 && len(s.bad) < maxBad {
			s.bad[keyOf(list[0].Labels)] = true
		}
		return false, nil
	}
	*budget -= 2
	for _, half := range [][]remote.Series{left, right} {
		ok, err := s.post(ctx, w, half, nil, true, budget)
		if err != nil {
			return false, err
		}
		s.took = s.took || ok
	}
	return false, nil
}

// halves divides series, or the samples of one. The second half is nil if there is one sample.
func halves(list []remote.Series) (left, right []remote.Series) {
	if n := len(list); n > 1 {
		return list[:n/2], list[n/2:]
	}
	if len(list) == 0 || len(list[0].Samples) < 2 {
		return list, nil
	}
	a, b := list[0], list[0]
	n := len(a.Samples) / 2
	a.Samples, b.Samples = a.Samples[:n], b.Samples[n:]
	return []remote.Series{a}, []remote.Series{b}
}

// missing returns the series with the samples that the server does not have.
func (s *stream) missing(ctx context.Context, w *window, list []remote.Series) ([]remote.Series, error) {
	if wait := time.Until(s.quiet); wait > 0 {
		if err := s.without(ctx, func() error { return pause(ctx, wait) }); err != nil {
			return nil, err
		}
	}
	first := int64(math.MaxInt64)
	for i := range list {
		first = min(first, list[i].Samples[0].Time)
	}
	there := make(map[string][]int64)
	for _, selector := range selectors(list) {
		ok, err := s.ask(ctx, func(c *remote.Client) error {
			tracks, err := c.Tracks(ctx, selector, first-1, w.end)
			for _, t := range tracks {
				labels := make([]remote.Label, 0, len(t.Labels))
				for name, value := range t.Labels {
					labels = append(labels, remote.Label{Name: name, Value: value})
				}
				slices.SortFunc(labels, func(a, b remote.Label) int { return strings.Compare(a.Name, b.Name) })
				k := keyOf(labels)
				there[k] = append(there[k], t.Times...)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if !ok {
			return list, s.forward()
		}
	}
	var left []remote.Series
	for _, one := range list {
		has := there[keyOf(one.Labels)]
		slices.Sort(has)
		if len(has) > 0 {
			one.Samples = slices.DeleteFunc(slices.Clone(one.Samples), func(sample remote.Sample) bool {
				if sample.Bits == remote.Stale && has[len(has)-1] > sample.Time {
					return true // answers do not have stale markers
				}
				_, ok := slices.BinarySearch(has, sample.Time)
				return ok
			})
		}
		if len(one.Samples) > 0 {
			left = append(left, one)
		}
	}
	return left, nil
}

// selectors returns the selectors of series: of their names, and of the labels that all have.
func selectors(list []remote.Series) []string {
	common := slices.Clone(list[0].Labels)
	names := make(map[string]bool)
	var order []string
	for i := range list {
		common = slices.DeleteFunc(common, func(l remote.Label) bool { return l.Name == nameLabel || !slices.Contains(list[i].Labels, l) })
		if name := nameOf(list[i].Labels); !names[name] {
			names[name] = true
			order = append(order, name)
		}
	}
	var all []string
	for len(order) > 0 {
		var b strings.Builder
		n := 0
		for n < len(order) && (n == 0 || b.Len()+len(order[n]) < maxSelector) {
			if n > 0 {
				b.WriteByte('|')
			}
			b.WriteString(regexp.QuoteMeta(order[n]))
			n++
		}
		order = order[n:]
		text := "{" + nameLabel + "=~" + strconv.Quote(b.String())
		for _, l := range common {
			text += "," + l.Name + "=" + strconv.Quote(l.Value)
		}
		all = append(all, fmt.Sprintf(`%s,asked!="%d"}`, text, time.Now().UnixNano()))
	}
	return all
}
