package dstat

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcpjson"
)

// objects prints a row for each plugin except the time, or for each instance and sum that it shows.
func (r *report) objects() {
	for _, p := range r.plugins {
		switch {
		case p.time || len(p.metrics) == 0:
		case p.group == ungrouped:
			row := r.jsonRow(p, "")
			for _, m := range p.metrics {
				for i := range m.results {
					res := &m.results[i]
					row.Columns = append(row.Columns, m.jsonColumn(m.columnName(res.instance), res.value))
				}
			}
			r.writeObject(&row)
		default:
			r.groupObjects(p)
		}
	}
}

// groupObjects prints the rows of a plugin that repeats its columns.
func (r *report) groupObjects(p *plugin) {
	if p.group == onlyTop && !p.chooseTop() {
		return
	}
	if p.group != onlyTotal {
		for _, in := range p.shown {
			if !p.shows(in) {
				continue
			}
			row := r.jsonRow(p, in.name)
			for _, m := range p.metrics {
				if p.group == onlyTop && m.top {
					continue
				}
				if res := m.find(in); res != nil {
					row.Columns = append(row.Columns, m.jsonColumn(m.columnName(in), res.value))
				} else {
					row.Columns.Unknown(m.columnName(in))
				}
			}
			r.writeObject(&row)
		}
	}
	if p.group != onlyTotal && p.group != withTotal {
		return
	}
	row := r.jsonRow(p, total)
	for _, m := range p.metrics {
		sum, n := p.sum(m)
		if n == 0 {
			row.Columns.Unknown(m.label)
			continue
		}
		row.Columns.Number(m.label, m.jsonNumber(sum))
	}
	r.writeObject(&row)
}

func (r *report) jsonRow(p *plugin, instance string) pcpjson.Row {
	return pcpjson.Row{Time: pcpjson.Time(r.group.Time()), Host: r.host, Table: p.name, Instance: instance}
}

// writeObject prints a row, unless it has no values.
func (r *report) writeObject(row *pcpjson.Row) {
	for _, c := range row.Columns {
		if c.Value != nil {
			r.env.Stdout.Write(pcpjson.Line(row))
			return
		}
	}
}

// columnName returns the heading of the column of an instance.
func (m *metric) columnName(in instance) string {
	if in.inst == pcp.InNull {
		return m.label
	}
	number := strconv.Itoa(int(in.inst))
	return strings.NewReplacer("%d", number, "%s", in.name, "%i", number, "%I", in.name).Replace(m.label)
}

func (m *metric) jsonColumn(name string, v pcp.Value) pcpjson.Column {
	if v.Type() == pcp.TypeString {
		var c pcpjson.Columns
		text, _ := v.Text()
		c.Text(name, text)
		return c[0]
	}
	f := number(v)
	if converted := m.jsonNumber(f); converted != f {
		return pcpjson.Column{Name: name, Value: pcpjson.Float(converted)}
	}
	return pcpjson.Column{Name: name, Value: pcpjson.Value(v, v.Type(), nil)}
}

// jsonNumber returns a value of a metric, space in KiB and time in milliseconds.
func (m *metric) jsonNumber(f float64) float64 {
	if f = canonical(f, m.look.units); math.IsNaN(f) {
		return f
	}
	switch {
	case m.look.units.DimSpace != 0:
		f /= 1024
	case m.look.units.DimTime > 0 && m.look.print != asPercent:
		f *= 1000
	}
	return f
}
