package sample

import "slices"

// Recorded returns the metrics that an archive must have for a Sampler: the metrics recorded once, and those of
// each sample, those of PCP 7 if seven.
func Recorded(hot, seven bool) (once, often []string) {
	once = slices.Concat(hostMetrics, linkMetrics)
	r := newReader(nil)
	newPlan(r, systemScalars(seven), seven)
	prefix := "proc"
	if hot {
		prefix = "hotproc"
	}
	p := newTaskPlan(r, prefix, seven)
	for _, name := range r.names {
		if !slices.Contains(once, name) && !slices.ContainsFunc(p.net, func(m metric) bool { return r.names[m] == name }) {
			often = append(often, name)
		}
	}
	return once, often
}
