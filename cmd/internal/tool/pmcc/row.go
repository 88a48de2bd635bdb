package pmcc

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcpjson"
)

// A Row is a row of a table of the sample, as --json prints it. Write prints it.
type Row struct {
	pcpjson.Row
	m *Manager
}

// Row begins a row.
func (m *Manager) Row(ctx context.Context, table, instance string) Row {
	return Row{pcpjson.Row{Time: pcpjson.Time(m.Time()), Host: m.Host(ctx), Table: table, Instance: instance}, m}
}

// Value adds a column with a value, null if there is none.
func (r *Row) Value(name string, v Value) {
	if !v.ok {
		r.Columns.Unknown(name)
		return
	}
	if v.v.Type() == pcp.TypeString {
		r.Columns.Text(name, v.String())
		return
	}
	r.Columns.Value(name, v.v)
}

// Number is Value for a number or null.
func (r *Row) Number(name string, v Value) {
	f, ok := v.Number()
	r.Figure(name, Figure{f, ok})
}

// Figure adds a column with a number, null if there is none.
func (r *Row) Figure(name string, f Figure) {
	if !f.OK {
		r.Columns.Unknown(name)
		return
	}
	r.Columns.Number(name, f.F)
}

// Policy adds a column with the scheduling policy of a process, null if it is not known.
func (r *Row) Policy(name string, p Process) {
	if policy := p.Policy(); policy != (Value{}).String() {
		r.Columns.Text(name, policy)
		return
	}
	r.Columns.Unknown(name)
}

// Write prints the row.
func (r *Row) Write() { r.m.env.Stdout.Write(pcpjson.Line(&r.Row)) }
