package rep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// rankOverall keeps the highest or lowest values of all samples so far, one for each
// instance.
func (p *reporter) rankOverall(s *pmrep.Sample) {
	if p.ranked == nil {
		p.ranked = make([][]pmrep.Value, len(p.set.Metrics))
	}
	for i, m := range p.set.Metrics {
		if m.IsString() {
			continue
		}
		rank := p.set.Options().Rank
		down := rank > 0
		if rank = max(rank, -rank); m.Desc.InDom == pcp.InDomNull {
			rank = 1
		}
		all := slices.Concat(s.Results[i], p.ranked[i])
		pmrep.Sort(all, down)
		best := make([]pmrep.Value, 0, min(rank, len(all)))
		for _, v := range all {
			if len(best) < rank && !slices.ContainsFunc(best, func(o pmrep.Value) bool { return o.Inst == v.Inst }) {
				best = append(best, v)
			}
		}
		p.ranked[i] = best
	}
}

// writeOverall writes the ranking.
func (p *reporter) writeOverall() {
	if p.overallAlt {
		p.writeOverallAlt()
		return
	}
	nameWidth, instWidth, unitWidth, valueWidth := 3, 3, 3, 3
	for i, values := range p.ranked {
		m := p.set.Metrics[i]
		for _, v := range values {
			instWidth = max(instWidth, runes(v.Name))
			valueWidth = max(valueWidth, len(overallValue(m, v)))
		}
		if len(values) > 0 {
			nameWidth, unitWidth = max(nameWidth, runes(m.Name)), max(unitWidth, runes(m.Unit))
		}
	}
	for i, values := range p.ranked {
		m := p.set.Metrics[i]
		for _, v := range values {
			b := appendLeft(p.row[:0], m.Name, nameWidth+1)
			b = appendLeft(b, p.delim, 2)
			b = appendLeft(b, strings.ReplaceAll(v.Name, "\n", " "), instWidth+1)
			b = appendLeft(b, p.delim, 2)
			b = fmt.Appendf(b, "%*s ", unitWidth, m.Unit)
			b = append(b, p.delim...)
			p.row = fmt.Appendf(b, "%*s", valueWidth+1, overallValue(m, v))
			p.end()
		}
	}
}

// writeOverallAlt writes the ranking as specifications of metrics.
func (p *reporter) writeOverallAlt() {
	for i, values := range p.ranked {
		if len(values) == 0 {
			continue
		}
		p.out.WriteString(p.set.Metrics[i].Name + ",,")
		for k, v := range values {
			name := strings.ReplaceAll(v.Name, "\n", " ")
			switch {
			case name == "":
			case k == 0:
				p.out.WriteString(`"'` + name + "'")
			default:
				p.out.WriteString(",'" + name + "'")
			}
		}
		if values[0].Name != "" {
			p.out.WriteByte('"')
		}
		p.out.WriteByte('\n')
	}
}

// overallValue formats a value with no more decimals than the width of its column.
func overallValue(m *pmrep.Metric, v pmrep.Value) string {
	switch v.Type() {
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'f', min(m.Precision, m.Width), 64)), "+")
	case pcp.Type32, pcp.Type64:
		return strconv.FormatInt(v.Int64(), 10)
	}
	return strconv.FormatUint(v.Uint64(), 10)
}
