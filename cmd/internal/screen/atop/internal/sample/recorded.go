package sample

import "slices"

// Recorded returns the metrics that an archive must have for a Sampler: the metrics recorded once, and those of
// each sample.
func Recorded(hot bool) (once, often []string) {
	once = slices.Concat(hostMetrics, linkMetrics)
	r := newReader(nil)
	newPlan(r, systemScalars())
	prefix := "proc"
	if hot {
		prefix = "hotproc"
	}
	p := newTaskPlan(r, prefix)
	for _, name := range r.names {
		if !slices.Contains(once, name) && !slices.ContainsFunc(p.net, func(m metric) bool { return r.names[m] == name }) {
			often = append(often, name)
		}
	}
	return once, often
}
