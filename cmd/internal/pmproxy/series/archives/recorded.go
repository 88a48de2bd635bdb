package archives

import (
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/storage"
)

// Recorded returns the paths of the archives of a host between two times, by their start, for readers of whole archives. Those of one directory are
// returned: if several recorders had the host, of the one with most of the time. Roll-ups are returned only if there is nothing else.
func (s *Store) Recorded(host string, start, end pcp.Timestamp) []string {
	type group struct {
		rollup bool
		span   float64
		archs  []*arch
	}
	groups := map[string]*group{}
	for _, all := range s.state.Load().bySource {
		all = slices.DeleteFunc(slices.Clone(all), func(a *arch) bool { return a.host != host })
		list, _ := s.overlapping(all, start, end)
		for _, a := range list {
			dir := storage.Dir(a.path)
			g := groups[dir]
			if g == nil {
				g = &group{rollup: a.step > 0}
				groups[dir] = g
			}
			g.archs = append(g.archs, a)
			from, to := a.start, a.end
			if from.Compare(start) < 0 {
				from = start
			}
			if to.Compare(end) > 0 {
				to = end
			}
			g.span += max(to.Sub(from), 0)
		}
	}
	var best *group
	var bestDir string
	for dir, g := range groups {
		switch {
		case best == nil, best.rollup && !g.rollup:
		case g.rollup && !best.rollup, g.span < best.span, g.span == best.span && dir > bestDir:
			continue
		}
		best, bestDir = g, dir
	}
	if best == nil {
		return nil
	}
	slices.SortFunc(best.archs, func(a, b *arch) int { return a.start.Compare(b.start) })
	paths := make([]string, len(best.archs))
	for i, a := range best.archs {
		paths[i] = a.path
	}
	return paths
}
