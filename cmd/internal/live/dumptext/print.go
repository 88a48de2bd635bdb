package dumptext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pcptime"
)

// A column is a value of a metric.
type column struct {
	m *metric
	i int
}

// each calls fn for each column, with the delimiter between them.
func (d *dumper) each(fn func(column)) {
	n := 1
	for _, m := range d.metrics {
		for i := range m.values {
			fn(column{m, i})
			if n < d.columns {
				d.out.text(d.delimiter)
				n++
			}
		}
	}
	d.out.end()
}

// stamp returns the time printed before the values of a sample.
func (d *dumper) stamp(t pcp.Timestamp) string {
	offset := ""
	if d.offset {
		o := t.Sub(d.start)
		switch {
		case o < 10:
			offset = fmt.Sprintf("%.2f", o)
		case o < 100:
			offset = fmt.Sprintf("%.1f", o)
		default:
			offset = fmt.Sprintf("%.0f", o)
		}
		offset += d.delimiter
	}
	if d.format != "" {
		return offset + pcptime.Strftime(d.format, t.Time().In(d.loc))
	}
	return offset + pcptime.Ctime(t, d.loc)[:19]
}

// title writes the title of a line of the heading.
func (d *dumper) title(width int, text string) {
	if d.timed {
		d.out.in(width, text[:min(len(text), width)])
		d.out.text(d.delimiter)
	}
}

// heading writes the requested lines above the columns.
func (d *dumper) heading() {
	width := 0 // of the times
	if d.nice {
		width = utf8.RuneCountInString(d.stamp(pcp.Timestamp{}))
	}
	if d.full {
		d.numbered = true
		n := 1
		for _, m := range d.metrics {
			for i := range m.values {
				d.out.text(fmt.Sprintf("[%2d] %s", n, m.spec(d.source, true, i)))
				d.out.end()
				n++
			}
		}
		d.out.end()
	}
	if d.numbered {
		d.title(width, "Column")
		n := 0
		d.each(func(column) {
			n++
			d.out.in(d.width, strconv.Itoa(n))
		})
	}
	if d.nice && d.source {
		d.title(width, "Source")
		d.each(func(c column) { d.out.in(d.width, first(c.m.from.host, d.width)) })
	}
	indexed := false
	if d.names || d.source && !d.nice {
		if d.nice {
			d.title(width, "Metric")
		} else if d.timed {
			d.out.text("Time" + d.delimiter)
		}
		d.each(func(c column) {
			if !d.nice {
				d.out.text(c.m.spec(d.source, true, c.i))
				return
			}
			indexed = indexed || c.m.indexed()
			d.out.in(d.width, last(c.m.name, d.width))
		})
	}
	if indexed {
		d.title(width, "Inst")
		d.each(func(c column) {
			name := "n/a"
			if c.m.indexed() {
				name = first(c.m.values[c.i].instance, d.width)
			}
			d.out.in(d.width, name)
		})
	}
	if d.normal {
		d.other(width, "Normal", d.unknown)
		d.each(func(c column) {
			switch {
			case d.shortest:
				d.out.in(d.width, d.out.number(c.m.scale))
			case d.six:
				d.out.in(d.width, format(c.m.scale))
			default:
				d.out.in(d.width, strconv.FormatFloat(c.m.scale, 'f', d.out.precision, 64))
			}
		})
	}
	if d.units {
		d.other(width, "Units", "none")
		d.each(func(c column) {
			if !d.nice {
				d.out.text(c.m.unitsText())
				return
			}
			u := c.m.shortUnits()
			d.out.in(d.width, u[max(len(u)-d.width, 0):])
		})
	}
}

// other writes the start of a line of the heading: a title with -i, else a text that scripts take
// for a value.
func (d *dumper) other(width int, title, text string) {
	switch {
	case d.nice:
		d.title(width, title)
	case d.timed:
		d.out.text(text + d.delimiter)
	}
}

// first is the beginning of a text that has room.
func first(s string, width int) string {
	r := []rune(s)
	return string(r[:min(len(r), width)])
}

// last is the end of a name that has room: whole parts of it, if one fits.
func last(name string, width int) string {
	over := len(name) - width
	if over <= 0 {
		return name
	}
	from := max(over-1, 0)
	if i := strings.IndexByte(name[from:], '.'); i >= 0 && from+i+1 < len(name) {
		return name[from+i+1:]
	}
	return name[over:]
}

// row writes the values of a sample.
func (d *dumper) row(t pcp.Timestamp) {
	if d.json {
		d.jsonRow(t)
		return
	}
	if d.timed {
		d.out.text(d.stamp(t))
		d.out.text(d.delimiter)
	}
	d.each(func(c column) {
		v := &c.m.values[c.i]
		err, f := v.err, v.rate
		if d.raw {
			err, f = v.nowErr, v.now
		}
		switch {
		case err != 0 && d.nice:
			d.out.in(d.width, d.unknown)
		case err != 0:
			d.out.text(d.unknown)
		case !c.m.number():
			d.string(v.text)
		case d.nice:
			d.out.in(d.width, format(f))
		case d.six:
			d.out.text(format(f))
		default:
			d.out.text(d.out.number(f))
		}
	})
}

// string writes a string in quotes, of which the C program leaves out the second if there is a width and
// the string is shorter.
func (d *dumper) string(s string) {
	n := utf8.RuneCountInString(s)
	switch {
	case d.nice && n > d.width-2:
		d.out.in(d.width, `"`+first(s, d.width-2)+`"`)
	case d.nice:
		d.out.width = d.width // which lasts
		d.out.text(`"` + s + `"`)
	case d.wide && n > d.width-2 && d.width > 5:
		d.out.in(d.width, `"`+first(s, d.width-5)+`..."`)
	case d.wide && n >= d.width-2:
		d.out.in(d.width, `"`+first(s, d.width-2)+`"`)
	case d.wide:
		d.out.in(d.width, `"`+s)
	default:
		d.out.text(`"` + s + `"`)
	}
}

// jsonRow writes the values of a sample with --json.
func (d *dumper) jsonRow(t pcp.Timestamp) {
	row := pcpjson.Row{Time: pcpjson.Time(t)}
	for _, m := range d.metrics {
		for i := range m.values {
			v := &m.values[i]
			err, f := v.err, v.rate
			if d.raw {
				err, f = v.nowErr, v.now
			}
			switch name := m.spec(d.source, true, i); {
			case err != 0:
				row.Columns.Unknown(name)
			case m.number():
				row.Columns.Number(name, f)
			default:
				row.Columns.Text(name, v.text)
			}
		}
	}
	d.out.w.Write(pcpjson.Line(&row))
}
