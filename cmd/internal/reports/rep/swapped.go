package rep

import (
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// A swapColumn is a column of swapped output: the metrics with one label, whose instances are lines.
type swapColumn struct {
	label   string
	metrics []int
	width   int
}

// An instName is the name of a line; a metric without instances has one too.
type instName struct {
	name string
	flat bool
}

// cornerDefault is the width of the column of instances if it has no label.
const cornerDefault = 8

func (p *reporter) cornerWidth() int {
	if p.corner == "" {
		return cornerDefault
	}
	return runes(p.corner)
}

// formatSwapped determines columns and lines, of all instances or of those in s.
func (p *reporter) formatSwapped(s *pmrep.Sample) {
	p.empty, p.columns = -1, p.columns[:0]
	for i, m := range p.set.Metrics {
		if p.dynamic && s != nil && len(s.Results[i]) == 0 {
			continue
		}
		if k := slices.IndexFunc(p.columns, func(c swapColumn) bool { return c.label == m.Label }); k >= 0 {
			p.columns[k].metrics = append(p.columns[k].metrics, i)
			continue
		}
		p.columns = append(p.columns, swapColumn{m.Label, []int{i}, m.Width})
	}
	seen := make(map[instName]bool)
	add := func(inst int32, name string) {
		n := instName{name, inst == pcp.InNull}
		if !seen[n] {
			seen[n] = true
			p.found = append(p.found, n)
		}
	}
	if p.static {
		for _, n := range p.found {
			seen[n] = true
		}
		for _, m := range p.set.Metrics {
			for _, in := range m.Instances {
				add(in.Inst, in.Name)
			}
		}
		return
	}
	p.found = nil
	if s == nil {
		return
	}
	for _, r := range s.Results {
		for _, v := range r {
			add(v.Inst, v.Name)
		}
	}
}

// writeSwappedHeader writes the lines above the columns.
func (p *reporter) writeSwappedHeader() {
	line := func(corner string, text func(*pmrep.Metric) string) {
		p.begin("")
		p.text(corner, p.cornerWidth())
		for _, c := range p.columns {
			p.text(text(p.set.Metrics[c.metrics[0]]), c.width)
		}
		p.end()
	}
	line(p.corner, func(m *pmrep.Metric) string { return m.Label })
	if p.labelled {
		line("", func(m *pmrep.Metric) string { return m.LabelText(pcp.InNull) })
	}
	if p.unitInfo {
		line("", func(m *pmrep.Metric) string { return m.Unit })
	}
}

// writeSwapped writes the lines of a sample.
func (p *reporter) writeSwapped(s *pmrep.Sample) {
	if !p.static {
		p.updateHeader(s)
	}
	if len(p.sortBy) > 0 {
		p.sortLines(s)
	}
	any := false
	for _, line := range p.found {
		p.stamp(s.Time)
		name := line.name
		if line.flat || name == "" {
			name = singular
		}
		p.text(name, p.cornerWidth())
		blank := true
		for _, c := range p.columns {
			p.row = append(p.row, p.delim...)
			v, m, missing := p.lineValue(s, c, line)
			if v == nil {
				p.row = appendRight(p.row, missing, c.width)
				blank = blank && missing == noInst
				continue
			}
			begin := len(p.row)
			p.row = p.appendCell(p.row, v.Value, m)
			blank = blank && strings.TrimLeft(string(p.row[begin:]), " ") == noInst
		}
		if p.dynamic && blank && len(p.columns) > 0 {
			continue
		}
		any = true
		p.end()
	}
	if any {
		return
	}
	p.row = p.row[:0]
	if p.dynamic {
		if p.stamps {
			p.row = p.clock.Append(p.row, s.Time)
		}
		p.row = append(p.row, p.delim...)
		for n := len(noValue); n < runes(p.corner); n++ {
			p.row = append(p.row, ' ')
		}
		p.row = append(p.row, noValue...)
		p.end()
		return
	}
	p.stamp(s.Time)
	p.text(noValue, p.cornerWidth())
	for _, c := range p.columns {
		p.text(noInst, c.width)
	}
	p.end()
}

// lineValue returns the value of a line in a column, and its metric, or a placeholder.
func (p *reporter) lineValue(s *pmrep.Sample, c swapColumn, line instName) (v *pmrep.Value, m *pmrep.Metric, missing string) {
	for _, i := range c.metrics {
		m := p.set.Metrics[i]
		if !p.static {
			// All lines are of all metrics.
			for k := len(s.Results[i]) - 1; k >= 0; k-- {
				if v := &s.Results[i][k]; v.Name == line.name && (v.Inst == pcp.InNull) == line.flat {
					return v, m, ""
				}
			}
			return nil, nil, noInst
		}
		at := slices.IndexFunc(m.Instances, func(in pcp.Instance) bool { return in.Name == line.name && (in.Inst == pcp.InNull) == line.flat })
		if at < 0 {
			continue
		}
		next := 0
		if v, ok := find(s.Results[i], m.Instances[at].Inst, &next); ok {
			return v, m, ""
		}
		return nil, nil, noValue
	}
	return nil, nil, noInst
}

// sortLines sorts the lines by values of a metric, or if these are missing by those of the next.
func (p *reporter) sortLines(s *pmrep.Sample) {
	before := p.found
	p.found = nil
	add := func(n instName) {
		if !slices.Contains(p.found, n) {
			p.found = append(p.found, n)
		}
	}
	for _, name := range p.sortBy {
		up := strings.HasPrefix(name, "-")
		i := p.set.Find(strings.TrimPrefix(name, "-"))
		if i < 0 {
			continue // after the names have changed
		}
		values := slices.Clone(s.Results[i])
		pmrep.Sort(values, !up)
		for _, v := range values {
			add(instName{v.Name, v.Inst == pcp.InNull})
		}
	}
	for _, n := range before {
		add(n)
	}
}
