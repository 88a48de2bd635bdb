package pmcc

import (
	"github.com/go-pcp/pcp/pcpjson"
)

// A Row is a row of a table of the sample, as --json prints it. Write prints it.
type Row struct {
	pcpjson.Row
	m *Manager
}

// Row begins a row. The table is "" if the report has only one, the instance if a row is of the whole host.
func (m *Manager) Row(table, instance string) Row {
	return Row{pcpjson.Row{Time: pcpjson.Time(m.Time()), Host: m.host, Table: table, Instance: instance}, m}
}

// Value adds a column with a value, null if there is none.
func (r *Row) Value(name string, v Value) { v.AddTo(&r.Columns, name) }

// Number is Value for a number or null.
func (r *Row) Number(name string, v Value) {
	f, ok := v.Number()
	r.Figure(name, Figure{f, ok})
}

// Figure adds a column with a number, null if there is none.
func (r *Row) Figure(name string, f Figure) { f.AddTo(&r.Columns, name) }

// Write prints the row.
func (r *Row) Write() { r.m.Out.Write(pcpjson.Line(&r.Row)) }
