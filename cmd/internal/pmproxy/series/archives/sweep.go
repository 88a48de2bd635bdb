package archives

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

const (
	// pauseOf is the pause between two archives, in intervals of a series, from which the recording counts as
	// interrupted. Archives that follow each other, as those of each day, have no such pause.
	pauseOf = 3
	// shortWindow is the length of a window, in seconds, that needs few records of a volume.
	shortWindow = 900
)

// Sweep implements [series.Store].
func (s *Store) Sweep(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		list, err := s.newSweepers(ctx, ids, start, end)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range list {
			w.yield = yield
			more, err := w.run()
			w.close()
			if err != nil {
				yield(nil, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

// A sweeper reads samples of several series of a source.
type sweeper struct {
	walker
	targets []swept
	next    pcp.Timestamp        // start of the first archive after the window
	has     []map[pcp.PMID][]int // for each part, the targets by their metric
	yield   func(*series.Sample, error) bool
	now     series.Sample
}

// A swept is a series of a sweeper.
type swept struct {
	target
	num  uint32
	last pcp.Timestamp // time of the last sample
	gap  float64       // seconds between the last two samples
	end  pcp.Timestamp // of the archive of the last sample, after a change to another archive
}

// newSweepers returns a sweeper for each source of the series.
func (s *Store) newSweepers(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) (list []*sweeper, err error) {
	st := s.state.Load()
	err = s.view(ctx, func(tx *tx) error {
		bySource := map[uint32]*sweeper{}
		domains := map[[2]uint32]*domain{}
		for _, id := range ids {
			num, rec, err := tx.record(id)
			if err == series.ErrUnknown {
				continue
			}
			if err != nil {
				return err
			}
			w := bySource[rec.source]
			if w == nil {
				w = &sweeper{walker: walker{s: s, ctx: ctx, from: start, to: end}}
				w.sparse = !start.IsZero() && !end.IsZero() && end.Sub(start) <= shortWindow
				bySource[rec.source] = w
			}
			key := [2]uint32{rec.source, uint32(rec.desc.InDom)}
			d := domains[key]
			if d == nil {
				d = newDomain()
				if rec.desc.InDom != pcp.InDomNull {
					if err := d.read(tx, rec.source, rec.desc.InDom); err != nil {
						return err
					}
				}
				domains[key] = d
			}
			w.targets = append(w.targets, swept{target: target{id, rec.desc, d}, num: num})
		}
		list = nil
		for _, source := range slices.Sorted(maps.Keys(bySource)) {
			w := bySource[source]
			if err := w.find(tx, st.bySource[source]); err != nil {
				return err
			}
			list = append(list, w)
		}
		return nil
	})
	return list, err
}

// find finds the archives with the series.
func (w *sweeper) find(tx *tx, archs []*arch) error {
	slices.SortFunc(w.targets, func(a, b swept) int { return cmp.Compare(a.num, b.num) })
	w.targets = slices.CompactFunc(w.targets, func(a, b swept) bool { return a.num == b.num })
	for i, a := range archs {
		// Archives may have grown since the last scan. Those written last are always read.
		if a.end.Compare(w.from) < 0 && i < len(archs)-2 {
			continue
		}
		if !w.to.IsZero() && a.start.Compare(w.to) > 0 {
			if w.next.IsZero() {
				w.next = a.start
			}
			continue
		}
		has := map[pcp.PMID][]int{}
		err := eachHas(tx.get("has", u32(nil, a.num)), func(s seriesOf) bool {
			i, ok := slices.BinarySearchFunc(w.targets, s.series, func(t swept, num uint32) int { return cmp.Compare(t.num, num) })
			if ok {
				has[s.pmid] = append(has[s.pmid], i)
			}
			return true
		})
		if err != nil {
			return err
		}
		if len(has) > 0 {
			w.parts = append(w.parts, part{arch: a})
			w.has = append(w.has, has)
		}
	}
	w.choose()
	cutParts(w.parts, func(i int) bool {
		for id, list := range w.has[i] {
			if !slices.Equal(list, w.has[i+1][id]) {
				return false
			}
		}
		return true
	})
	return nil
}

// run yields the samples, and reports whether to continue.
func (w *sweeper) run() (more bool, err error) {
	for i := range w.parts {
		if err := w.ctx.Err(); err != nil {
			return false, err
		}
		rest, more := w.columns(i)
		if !more {
			return false, nil
		}
		if len(rest) > 0 {
			switch {
			case w.enter(i):
				if more, err := w.part(rest); err != nil || !more {
					return false, err
				}
				w.leave()
			case len(rest) == len(w.has[i]):
				continue
			}
		}
		if i+1 < len(w.parts) && !w.finish(i) {
			return false, nil
		}
	}
	return w.ahead(), nil
}

// ahead yields the gaps that the archive after the window shows: windows that end before it have the same ones as those that
// reach it. It reports whether to continue.
func (w *sweeper) ahead() bool {
	if w.next.IsZero() || len(w.parts) == 0 {
		return true
	}
	i := len(w.parts) - 1
	for _, list := range w.has[i] {
		for _, n := range list {
			t := &w.targets[n]
			end := w.parts[i].end.Add(archive.MarkGap)
			if t.last.IsZero() || t.gap <= 0 || w.next.Sub(t.last) <= pauseOf*t.gap || end.Compare(w.to) > 0 {
				continue
			}
			if !w.interrupt(n, end) {
				return false
			}
		}
	}
	return true
}

// part yields the samples of some metrics of the current archive.
func (w *sweeper) part(has map[pcp.PMID][]int) (bool, error) {
	if w.from.Compare(w.parts[w.i].start) > 0 {
		if err := w.place(w.from); err != nil {
			return false, err
		}
	}
	for w.r != nil {
		ok, more, err := w.step(archive.Forward)
		if err != nil {
			return false, err
		}
		if !more {
			break
		}
		if !ok || w.scan.Time.Compare(w.from) < 0 {
			continue
		}
		if !w.to.IsZero() && w.scan.Time.Compare(w.to) > 0 {
			break // the next archive may begin before this one ends
		}
		if w.parts[w.i].behind(w.scan.Time) {
			break
		}
		if w.scan.Sets == 0 {
			for _, list := range has {
				for _, i := range list {
					if !w.interrupt(i, w.scan.Time) {
						return false, nil
					}
				}
			}
			continue
		}
		for left := len(has); left > 0 && w.scan.Next(); {
			list := has[w.scan.PMID]
			if list == nil {
				continue
			}
			left--
			for _, i := range list {
				if !w.take(i) {
					return false, nil
				}
			}
		}
	}
	return true, nil
}

// take yields the sample of a target at the scanner's position, and reports whether to continue.
func (w *sweeper) take(i int) bool {
	t := &w.targets[i]
	at := w.scan.Time
	if at.Compare(t.last) <= 0 {
		return true // of an earlier archive too
	}
	if !w.follow(i, at) {
		return false
	}
	t.last = at
	w.target = t.target
	w.sample(&w.now)
	return w.yield(&w.now, nil)
}

// follow yields a gap before the sample of a target at a time, if the recording was interrupted between two archives, and reports
// whether to continue.
func (w *sweeper) follow(i int, at pcp.Timestamp) bool {
	t := &w.targets[i]
	if !t.last.IsZero() {
		pause := at.Sub(t.last)
		// Values of a roll-up follow those of another archive by up to its interval.
		gap := max(t.gap, w.parts[w.i].step.Seconds())
		if !t.end.IsZero() && t.gap > 0 && pause > pauseOf*gap && !w.interrupt(i, t.end) {
			return false
		}
		t.gap = pause
	}
	t.end = pcp.Timestamp{}
	return true
}

// interrupt yields a gap of a target, and reports whether to continue.
func (w *sweeper) interrupt(i int, at pcp.Timestamp) bool {
	t := &w.targets[i]
	if t.last.IsZero() || at.Compare(t.last) <= 0 {
		return true
	}
	t.gap, t.end = 0, pcp.Timestamp{}
	w.now = series.Sample{Series: t.id, Time: at, Gap: true, Values: w.now.Values[:0]}
	return w.yield(&w.now, nil)
}

// finish ends part i, after which there are others. Series that the next archive does not have end here.
func (w *sweeper) finish(i int) bool {
	for _, list := range w.has[i] {
		for _, n := range list {
			t := &w.targets[n]
			at := w.parts[i].finish()
			if t.last.Compare(at) < 0 {
				t.end = at
			}
		}
	}
	if w.parts[i+1].start.Compare(w.parts[i].end) <= 0 {
		return true
	}
	continued := map[int]bool{}
	for _, list := range w.has[i+1] {
		for _, n := range list {
			continued[n] = true
		}
	}
	for _, list := range w.has[i] {
		for _, n := range list {
			if end := w.targets[n].end; !continued[n] && !end.IsZero() && !w.interrupt(n, end) {
				return false
			}
		}
	}
	return true
}
