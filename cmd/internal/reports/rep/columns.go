package rep

import (
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// A cell is a column of a header: a metric and one of its instances.
type cell struct {
	metric int
	index  int // in the instances of the metric, or of the results if the header is dynamic
	inst   int32
	name   string
}

// eachCell calls f for the columns: the instances of the metrics, or for a dynamic header the instances in s.
func (p *reporter) eachCell(s *pmrep.Sample, f func(cell)) {
	for i := range p.set.Metrics {
		p.eachOf(i, s, f)
	}
}

// eachOf is eachCell for one metric.
func (p *reporter) eachOf(i int, s *pmrep.Sample, f func(cell)) {
	if p.dynamic {
		if s == nil {
			return
		}
		for j, v := range s.Results[i] {
			f(cell{i, j, v.Inst, v.Name})
		}
		return
	}
	for j, in := range p.set.Metrics[i].Instances {
		f(cell{i, j, in.Inst, in.Name})
	}
}

// format determines the columns, of all instances or of those in s.
func (p *reporter) format(s *pmrep.Sample) {
	p.empty = -1
	if p.swapped {
		p.formatSwapped(s)
		return
	}
	p.widths, p.cells = p.widths[:0], p.cells[:0]
	for i, m := range p.set.Metrics {
		if s == nil {
			for j, in := range m.Instances {
				p.widths = append(p.widths, m.Width)
				p.cells = append(p.cells, cell{i, j, in.Inst, in.Name})
			}
			continue
		}
		for j, v := range s.Results[i] {
			p.widths = append(p.widths, m.Width)
			p.cells = append(p.cells, cell{i, j, v.Inst, v.Name})
		}
	}
}

// begin begins a line with the time, or with blanks in its place.
func (p *reporter) begin(stamp string) {
	p.row = p.row[:0]
	if !p.stamps {
		return
	}
	p.row = appendLeft(p.row, stamp, p.stampWidth)
	if n := runes(stamp); p.swapped && n > p.stampWidth {
		p.row = []byte(string([]rune(stamp)[:p.stampWidth]))
	}
}

// stamp begins a line with the time of a sample.
func (p *reporter) stamp(t pcp.Timestamp) {
	p.row = p.row[:0]
	if !p.stamps {
		return
	}
	p.row = p.clock.Append(p.row, t)
	n := len(p.row)
	for i := range n {
		if p.row[i] >= 0x80 {
			n = runes(string(p.row))
			break
		}
	}
	if n > p.stampWidth && p.swapped {
		p.row = []byte(string([]rune(string(p.row))[:p.stampWidth]))
	}
	for ; n < p.stampWidth; n++ {
		p.row = append(p.row, ' ')
	}
}

// text adds a column of text.
func (p *reporter) text(s string, width int) {
	p.row = append(p.row, p.delim...)
	p.row = appendRight(p.row, s, width)
}

// end writes the line.
func (p *reporter) end() {
	p.row = append(p.row, '\n')
	p.out.Write(p.row)
}

// writeColumns writes the line of a sample.
func (p *reporter) writeColumns(s *pmrep.Sample) {
	if p.dynamic {
		p.updateHeader(s)
		if !s.Has() {
			p.row = p.row[:0]
			if p.stamps {
				p.row = p.clock.Append(p.row, s.Time)
			}
			width, _ := p.r.Settings.Natural("width")
			p.row = append(p.row, p.delim...)
			for n := len(noValue); n < width; n++ {
				p.row = append(p.row, ' ')
			}
			p.row = append(p.row, noValue...)
			p.end()
			return
		}
	}
	p.stamp(s.Time)
	metric, next := -1, 0
	for k := range p.cells {
		c := &p.cells[k]
		m := p.set.Metrics[c.metric]
		if c.metric != metric {
			metric, next = c.metric, 0
		}
		p.row = append(p.row, p.delim...)
		v, ok := find(s.Results[metric], c.inst, &next)
		if !ok {
			p.row = appendRight(p.row, noValue, m.Width)
			continue
		}
		p.row = p.appendCell(p.row, v.Value, m)
	}
	p.end()
}

// find returns the value of an instance, which is probably the next.
func find(values []pmrep.Value, inst int32, next *int) (*pmrep.Value, bool) {
	if i := *next; i < len(values) && values[i].Inst == inst {
		*next = i + 1
		return &values[i], true
	}
	for i := len(values) - 1; i >= 0; i-- {
		if values[i].Inst == inst {
			*next = i + 1
			return &values[i], true
		}
	}
	return nil, false
}

// metricInsts are the instances of a metric that had values.
type metricInsts struct {
	metric int
	insts  []int32
}

// updateHeader writes a header if the instances have changed.
func (p *reporter) updateHeader(s *pmrep.Sample) {
	if p.set.Options().Rank != 0 {
		for i := range s.Results {
			slices.SortStableFunc(s.Results[i], func(a, b pmrep.Value) int { return int(int64(a.Inst) - int64(b.Inst)) })
		}
	}
	var insts []metricInsts
	if p.fixed {
		p.formatSwapped(s)
		return
	}
	for i, r := range s.Results {
		if len(r) == 0 {
			continue
		}
		one := metricInsts{metric: i}
		for _, v := range r {
			one.insts = append(one.insts, v.Inst)
		}
		insts = append(insts, one)
	}
	changed := !p.hadInsts || !slices.EqualFunc(insts, p.prevInsts, func(a, b metricInsts) bool {
		return a.metric == b.metric && slices.Equal(a.insts, b.insts)
	})
	if len(insts) > 0 && (p.repeat == p.lines || changed) || p.repeatAuto && p.lines >= p.repeat {
		if p.output == outCSV {
			p.writeCSVHeader(s)
		} else {
			p.format(s)
			p.writeStdoutHeader(s, p.hadInsts)
		}
		p.lines = 0
	}
	p.lines++
	p.prevInsts, p.hadInsts = insts, true
}
