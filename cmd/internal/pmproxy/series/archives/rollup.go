package archives

import (
	"maps"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/period"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
)

// extents returns the times of some parts, and reports whether a roll-up is among them.
func extents(parts []part, some []int) (list []period.Extent, rollup bool) {
	for _, i := range some {
		p := &parts[i]
		list = append(list, period.Extent{Step: p.step, Start: nanos(p.start), End: nanos(p.end)})
		rollup = rollup || p.step > 0
	}
	return list, rollup
}

// best returns the interval of the roll-ups for values that may be as far apart as resolution.
func (v *walker) best(resolution time.Duration) time.Duration {
	window := time.Duration(0)
	if !v.from.IsZero() && !v.to.IsZero() {
		window = time.Duration(max(1, nanos(v.to)-nanos(v.from)))
	}
	return period.Best(resolution, window)
}

// choose leaves of the parts those with the resolution, and finds out which of them overlap.
func (v *walker) choose(resolution time.Duration) {
	all := make([]int, len(v.parts))
	for i := range all {
		all[i] = i
	}
	if list, rollup := extents(v.parts, all); rollup {
		kept := make([]part, 0, len(v.parts))
		for _, k := range period.Choose(list, v.best(resolution)) {
			kept = append(kept, v.parts[k])
		}
		v.parts = kept
	}
	var end pcp.Timestamp
	for i := range v.parts {
		p := &v.parts[i]
		p.overlap = p.start.Compare(end) <= 0
		if p.end.Compare(end) > 0 {
			end = p.end
		}
	}
}

// choose leaves for each target the parts with the resolution of the context.
func (w *sweeper) choose() {
	rollup := false
	for i := range w.parts {
		rollup = rollup || w.parts[i].step > 0
	}
	if !rollup {
		return
	}
	best := w.best(series.Resolution(w.ctx))
	of := make([][]int, len(w.targets)) // the parts with each target
	for i, has := range w.has {
		for _, list := range has {
			for _, n := range list {
				of[n] = append(of[n], i)
			}
		}
	}
	type use struct{ part, target int }
	chosen := map[use]bool{}
	for n, parts := range of {
		list, _ := extents(w.parts, parts)
		for _, k := range period.Choose(list, best) {
			chosen[use{parts[k], n}] = true
		}
	}
	parts, kept := w.parts[:0], w.has[:0]
	for i, has := range w.has {
		maps.DeleteFunc(has, func(id pcp.PMID, list []int) bool {
			left := list[:0]
			for _, n := range list {
				if chosen[use{i, n}] {
					left = append(left, n)
				}
			}
			has[id] = left
			return len(left) == 0
		})
		if len(has) > 0 {
			parts, kept = append(parts, w.parts[i]), append(kept, has)
		}
	}
	w.parts, w.has = parts, kept
}
