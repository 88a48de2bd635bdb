package rep

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// writeHeader writes the header of the output. repeat is set for all but the first header.
func (p *reporter) writeHeader(s *pmrep.Sample, repeat bool) {
	switch p.output {
	case outArchive:
		p.writeArchiveHeader()
	case outCSV:
		p.writeCSVHeader(s)
	default:
		p.writeStdoutHeader(s, repeat)
	}
}

// writeStdoutHeader writes the lines above the columns.
func (p *reporter) writeStdoutHeader(s *pmrep.Sample, repeat bool) {
	if !p.header {
		return
	}
	if repeat {
		p.out.WriteByte('\n')
	}
	if p.separate {
		p.writeSeparate(s)
		return
	}
	if p.swapped {
		p.writeSwappedHeader()
		return
	}
	insts := false
	inst := make([]string, len(p.cells))
	for k, c := range p.cells {
		insts = insts || p.set.Metrics[c.metric].Desc.InDom != pcp.InDomNull
		if inst[k] = p.delim; insts && c.name != "" {
			inst[k] = c.name
		}
	}
	if p.dynamic { // metrics without values count as well
		for _, m := range p.set.Metrics {
			insts = insts || m.Desc.InDom != pcp.InDomNull
		}
	}
	line := func(text func(k int, c cell) string) {
		p.begin("")
		for k, c := range p.cells {
			p.text(text(k, c), p.widths[k])
		}
		p.end()
	}
	line(func(_ int, c cell) string { return p.set.Metrics[c.metric].Label })
	if p.instInfo && insts {
		line(func(k int, _ cell) string { return inst[k] })
	}
	if p.labelled {
		line(func(_ int, c cell) string {
			if p.dynamic { // as in the Python program, which mistakes an index for a number
				return p.dynamicLabels(c, c.metric)
			}
			return p.set.Metrics[c.metric].LabelText(c.inst)
		})
	}
	if p.unitInfo {
		line(func(_ int, c cell) string { return p.set.Metrics[c.metric].Unit })
	}
}

// dynamicLabels returns the labels of a column of a dynamic header: those of the metric and, if it has instances,
// those of the instance with the number index.
func (p *reporter) dynamicLabels(c cell, index int) string {
	inst := pcp.InNull
	if c.inst != pcp.InNull {
		inst = int32(index)
	}
	return p.set.Metrics[c.metric].LabelText(int32(inst))
}

// writeSeparate writes a header with a line for each column, and the numbers of the columns.
func (p *reporter) writeSeparate(s *pmrep.Sample) {
	width := len(strconv.Itoa(p.columnCount(s))) + 1
	line := func(k int, text string) { fmt.Fprintf(p.out, "[%*d] - %s\n", width, k, text) }
	describe := func(k int, m *pmrep.Metric, name string) {
		text := m.Name
		if name != "" {
			text += `["` + name + `"]`
		}
		if p.unitInfo {
			unit := m.Unit
			if unit == "" {
				unit = "none"
			}
			text += " - " + unit
		}
		line(k, text)
	}
	labels := func(k int, c cell) {
		switch m := p.set.Metrics[c.metric]; {
		case !p.labelled:
		case p.dynamic:
			line(k, p.dynamicLabels(c, c.index))
		default:
			line(k, m.LabelText(c.inst))
		}
	}
	k := 0
	if !p.swapped {
		p.eachCell(s, func(c cell) {
			k++
			describe(k, p.set.Metrics[c.metric], c.name)
			labels(k, c)
		})
	}
	for _, col := range p.columns {
		k++
		for _, i := range col.metrics {
			if p.fixed {
				describe(k, p.set.Metrics[i], "")
				labels(k, cell{metric: i, inst: pcp.InNull})
				continue
			}
			p.eachOf(i, s, func(c cell) {
				describe(k, p.set.Metrics[i], c.name)
				labels(k, c)
			})
		}
	}
	p.out.WriteByte('\n')
	p.begin("")
	if p.swapped {
		p.text("", p.cornerWidth())
		for k, col := range p.columns {
			p.text(strconv.Itoa(k+1), col.width)
		}
	} else {
		for k, w := range p.widths {
			p.text(strconv.Itoa(k+1), w)
		}
	}
	p.end()
}

// columnCount returns the number of columns, which determines the width of the numbers of a separate header.
func (p *reporter) columnCount(s *pmrep.Sample) int {
	if p.swapped {
		if !p.static && s == nil {
			return 0
		}
		return len(p.set.Metrics)
	}
	n := 0
	for i, m := range p.set.Metrics {
		switch {
		case p.static:
			n += len(m.Instances)
		case s != nil:
			n += len(s.Results[i])
		}
	}
	return n
}

// oneLine converts a text to a single line for a quoted field.
func (p *reporter) oneLine(s, instead string) string {
	if p.delim != "" {
		s = strings.ReplaceAll(s, p.delim, instead)
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), `"`, " ")
}
