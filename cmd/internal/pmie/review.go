package pmie

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/pmapi"
)

// review asks a host whether the known metadata of metrics are still valid: an agent may have been replaced by
// another with other descriptors. It is part of a flight; the function that it returns is called when the
// flight has landed.
func (get *fetcher) review(ctx context.Context, h *host, c *pmapi.Context, metrics []*eval.Metric) (adapt func()) {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.Name
	}
	// A missing metric has no values, and its rules are unknown: that needs no request.
	ids, err := c.LookupName(ctx, names...)
	if err != nil && len(ids) < len(names) {
		return func() {}
	}
	var known []pcp.PMID
	for _, id := range ids {
		if id != pcp.PMIDNull {
			known = append(known, id)
		}
	}
	descs := make(map[pcp.PMID]pcp.Desc, len(known))
	if len(known) > 0 {
		list, _ := c.LookupDescs(ctx, known...)
		for _, d := range list {
			descs[d.PMID] = d
		}
	}
	all := true
	found := make([]*metadata, len(metrics))
	for i, m := range metrics {
		d, ok := descs[ids[i]]
		switch {
		case ids[i] == pcp.PMIDNull || !ok || d.PMID == pcp.PMIDNull:
			all = false // it is requested again the next time
		case d != m.Current:
			f := get.lookUp(ctx, c, m.Name)
			if f.nameErr != nil || f.descErr != nil || f.indomErr != nil {
				all = false
				continue
			}
			found[i] = &f
		}
	}
	return func() {
		h.recheck = !all
		said := make(map[string]bool) // of metrics that some rules use
		for i, m := range metrics {
			if found[i] == nil {
				continue
			}
			if level, text := get.adapt(m, *found[i]); text != "" && !said[text] {
				said[text] = true
				get.notify(level, text)
			}
		}
		if len(said) > 0 {
			h.ids, h.series = nil, nil
			for _, m := range h.metrics {
				if m.Ready {
					m.Attach(h.of(m))
				}
			}
		}
	}
}

// adapt handles a changed descriptor of a metric and returns the message about it. The rule that uses the
// metric starts again; if the rule does not make sense for that metric, it is unknown until the metric changes
// back.
func (get *fetcher) adapt(m *eval.Metric, found metadata) (level slog.Level, text string) {
	was := m.Current
	m.Current = found.desc
	root := m.X
	for root.Parent != nil {
		root = root.Parent
	}
	root.Unknown()
	m.Attach(nil)
	m.Before, m.Ready = 0, false
	if why := unfit(m, found.desc); why != "" {
		return slog.LevelWarn, fmt.Sprintf("metric %s from %s is another one than before (%s): what uses it is unknown\n", m.Name, get.where(m), why)
	}
	get.known(m, found, true)
	return slog.LevelInfo, fmt.Sprintf("metric %s from %s has changed: %s\n", m.Name, get.where(m), changes(was, found.desc))
}

// unfit returns why the rule that uses m does not make sense for a metric with a descriptor, "" if it does.
func unfit(m *eval.Metric, d pcp.Desc) string {
	dims := func(d pcp.Desc) (space, time, count int8) {
		time = d.Units.DimTime
		if d.Sem == pcp.SemCounter && eval.IsCounted(m.X) {
			time--
		}
		return d.Units.DimSpace, time, d.Units.DimCount
	}
	s1, t1, c1 := dims(m.First)
	s2, t2, c2 := dims(d)
	switch {
	case (m.First.Type == pcp.TypeString) != (d.Type == pcp.TypeString):
		return changes(m.First, d)
	case s1 != s2 || t1 != t2 || c1 != c2 || m.First.Units.Extra != d.Units.Extra:
		return changes(m.First, d)
	case m.Named > 0 && d.InDom == pcp.InDomNull:
		return "it has no instances"
	case (m.First.InDom == pcp.InDomNull) != (d.InDom == pcp.InDomNull):
		return "it has instances, or none any more"
	}
	switch d.Type {
	case pcp.TypeAggregate, pcp.TypeAggregateStatic, pcp.TypeEvent, pcp.TypeHighResEvent, pcp.TypeUnknown:
		return changes(m.First, d)
	}
	return ""
}

// changes describes the differences between two descriptors.
func changes(a, b pcp.Desc) string {
	text := func(d pcp.Desc) string { return fmt.Sprintf("%v %v %q", d.Type, d.Sem, d.Units.String()) }
	if text(a) == text(b) {
		return fmt.Sprintf("%v %v, then %v %v", a.PMID, a.InDom, b.PMID, b.InDom)
	}
	return text(a) + ", then " + text(b)
}
