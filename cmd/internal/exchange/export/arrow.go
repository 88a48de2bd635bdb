package export

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// A Column is a column of a table: the values of a metric, or of an instance of
// one, with their type.
type Column struct {
	Name string
	Type pcp.Type // of its values: a number or TypeString
}

// A Table takes rows of values and stores them by columns.
type Table interface {
	// Append adds a row: a time, and for each column a value, or nil if there is none. Append must
	// not keep the values.
	Append(t pcp.Timestamp, row []*pcp.Value) error
	Close() error
}

// arrow fills a table whose columns are the metrics and instances of the first sample.
type arrow struct {
	*run
	open func(path string, columns []Column) (Table, error)

	table Table
	at    []map[int32]int // the column of an instance, by metric
	row   []*pcp.Value
	room  []pcp.Value
}

// columnType is the type of the column of a metric: rates are floats.
func columnType(m *pmrep.Metric) pcp.Type {
	if m.Desc.Sem == pcp.SemCounter && !m.Raw && !m.IsString() {
		return pcp.TypeDouble
	}
	return m.Type
}

func (x *arrow) WriteSample(s *pmrep.Sample) error {
	if x.table == nil {
		if err := x.begin(); err != nil {
			return err
		}
	}
	clear(x.row)
	for i := range x.set.Metrics {
		for j := range s.Results[i] {
			v := &s.Results[i][j]
			if c, ok := x.at[i][v.Inst]; ok {
				x.room[c] = v.Value
				x.row[c] = &x.room[c]
			}
		}
	}
	return x.table.Append(s.Time, x.row)
}

func (x *arrow) begin() (err error) {
	var columns []Column
	for _, m := range x.set.Metrics {
		at := make(map[int32]int)
		x.at = append(x.at, at)
		for _, in := range m.Instances {
			name := m.Name
			if !m.Flat() {
				name += "[" + in.Name + "]"
			}
			at[in.Inst] = len(columns)
			columns = append(columns, Column{name, columnType(m)})
		}
	}
	x.row, x.room = make([]*pcp.Value, len(columns)), make([]pcp.Value, len(columns))
	x.table, err = x.open(x.outfile, columns)
	return err
}

func (x *arrow) end(context.Context) bool {
	if x.table == nil {
		return true
	}
	if err := x.table.Close(); err != nil {
		fmt.Fprintf(x.env.Stderr, "%s: %v\n", x.env.Name, err)
		return false
	}
	return true
}
