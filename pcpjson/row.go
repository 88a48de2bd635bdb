package pcpjson

import (
	"bytes"
	"encoding/json"

	"github.com/go-pcp/pcp"
)

// A Row is a row of a table of a report.
type Row struct {
	Time     string  `json:"time,omitempty"`
	Host     string  `json:"host,omitempty"`
	Table    string  `json:"table,omitempty"`    // name of the table, if the report has several
	Instance string  `json:"instance,omitempty"` // the instance of the row
	Units    string  `json:"units,omitempty"`    // of all columns
	Columns  Columns `json:"columns"`
}

// Columns are the columns of a row: an object in JSON, whose fields are in this order.
type Columns []Column

// A Column is a value below a heading.
type Column struct {
	Name  string
	Value json.RawMessage // nil: unknown
}

// Number adds a column.
func (c *Columns) Number(name string, f float64) { *c = append(*c, Column{name, Float(f)}) }

// Text adds a column.
func (c *Columns) Text(name, text string) { *c = append(*c, Column{name, marshal(text)}) }

// Value adds a column with a value of a metric.
func (c *Columns) Value(name string, v pcp.Value) {
	*c = append(*c, Column{name, Value(v, v.Type(), nil)})
}

// Unknown adds a column without a value, which is null.
func (c *Columns) Unknown(name string) { *c = append(*c, Column{Name: name}) }

// MarshalJSON returns the object.
func (c Columns) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, column := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(marshal(column.Name))
		b.WriteByte(':')
		if column.Value == nil {
			b.WriteString("null")
			continue
		}
		b.Write(column.Value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
