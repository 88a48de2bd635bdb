package rules

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// Metrics returns the names of the metrics without which a rule has no result, and those of the series that rules record, both sorted.
// It leaves out metrics below "or" and absent, which have a result when there is no such metric.
func (f *File) Metrics() (needed, recorded []string) {
	p := limitedParser{store.NewParser()}
	for _, g := range f.groups {
		for _, r := range g.rules {
			if !r.alerting {
				recorded = append(recorded, r.name)
			}
			x, err := p.ParseExpr(r.expr)
			if err != nil {
				continue // Parse has accepted it
			}
			parser.Inspect(x, func(node parser.Node, path []parser.Node) error {
				v, ok := node.(*parser.VectorSelector)
				if !ok || slices.ContainsFunc(path, tolerant) {
					return nil
				}
				for _, m := range v.LabelMatchers {
					if m.Name == names.NameLabel && m.Type == labels.MatchEqual && m.Value != "" {
						needed = append(needed, m.Value)
					}
				}
				return nil
			})
		}
	}
	slices.Sort(needed)
	slices.Sort(recorded)
	return slices.Compact(needed), slices.Compact(recorded)
}

// tolerant reports whether an expression may have a result although a metric in it does not exist.
func tolerant(n parser.Node) bool {
	switch n := n.(type) {
	case *parser.BinaryExpr:
		return n.Op == parser.LOR || n.Op == parser.LUNLESS
	case *parser.Call:
		return n.Func.Name == "absent" || n.Func.Name == "absent_over_time"
	}
	return false
}
