package pmie

import (
	"encoding/json"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
)

// labels are the labels of a metric and its instances.
type labels struct {
	common []pcp.LabelSet
	insts  map[int32]pcp.LabelSet
	asked  float64
}

// labelsOf returns the labels of a value. They are requested once, and again for a new
// instance. If no labels are available it returns nil.
func (src *sources) labelsOf(m *eval.Metric, inst int32, now float64) map[string]string {
	l := src.labels[m]
	known := false
	if l != nil {
		_, known = l.insts[inst]
		known = known || inst == pcp.InNull
	}
	if !known && (l == nil || l.asked != now) {
		l = src.askLabels(m, now)
		src.labels[m] = l
	}
	sets := l.common
	if set, ok := l.insts[inst]; ok {
		sets = append(sets[:len(sets):len(sets)], set)
	}
	var all map[string]string
	for i := range sets {
		for label := range sets[i].All() {
			if label.Flags&pcp.LabelOptional != 0 {
				continue
			}
			if all == nil {
				all = make(map[string]string)
			}
			value := label.Value
			var text string
			if json.Unmarshal([]byte(value), &text) == nil {
				value = text
			}
			all[label.Name] = value
		}
	}
	return all
}

func (src *sources) askLabels(m *eval.Metric, now float64) *labels {
	l := &labels{asked: now, insts: make(map[int32]pcp.LabelSet)}
	c, err := src.context(m.Conn)
	if err != nil {
		return l
	}
	// A collector without support for labels is like a collector without labels.
	l.common, _ = c.LookupLabels(src.ctx, m.Desc.PMID)
	if m.Desc.InDom == pcp.InDomNull {
		return l
	}
	sets, err := c.Labels(src.ctx, pcp.LabelInstances, uint32(m.Desc.InDom))
	if err != nil {
		return l
	}
	for _, s := range sets {
		l.insts[s.Inst] = s
	}
	// Instances without labels are known not to have any.
	for _, inst := range m.Insts {
		if _, ok := l.insts[inst]; !ok {
			l.insts[inst] = pcp.LabelSet{Inst: inst}
		}
	}
	return l
}
