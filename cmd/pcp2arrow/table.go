package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/exchange/export"
)

// How many values a row group has at most. They are in memory until it is written.
const groupValues = 1 << 20

// A table is a directory with one file, as Arrow's datasets are.
type table struct {
	file    *os.File
	w       *parquet.Writer
	columns []export.Column
	at      []int // where in the schema a column is
	row     parquet.Row
	held    int // values since the last row group
}

// timeColumn is the name of the column with the times.
const timeColumn = "timestamp"

// create makes a directory, which must not be there, and the file in it.
func create(dir string, columns []export.Column) (export.Table, error) {
	t := &table{columns: columns}
	group := parquet.Group{timeColumn: parquet.Timestamp(parquet.Nanosecond)}
	names := make([]string, len(columns))
	for i, c := range columns {
		node, err := node(c)
		if err != nil {
			return nil, err
		}
		// Instances may have the same name, columns may not.
		name := strings.ToValidUTF8(c.Name, "\ufffd")
		for n := 2; group[name] != nil; n++ {
			name = fmt.Sprintf("%s#%d", c.Name, n)
		}
		names[i], group[name] = name, parquet.Optional(node)
	}
	schema := parquet.NewSchema("pcp", group)
	index := make(map[string]int)
	for i, path := range schema.Columns() {
		index[path[0]] = i
	}
	for _, name := range names {
		t.at = append(t.at, index[name])
	}
	t.row = make(parquet.Row, len(columns)+1)
	t.at = append(t.at, index[timeColumn])

	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	var err error
	if t.file, err = os.OpenFile(filepath.Join(dir, "part-0.parquet"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		return nil, err
	}
	t.w = parquet.NewWriter(t.file, schema, parquet.Compression(&parquet.Snappy))
	return t, nil
}

// node is the type of a column.
func node(c export.Column) (parquet.Node, error) {
	switch c.Type {
	case pcp.Type32:
		return parquet.Int(32), nil
	case pcp.TypeU32:
		return parquet.Uint(32), nil
	case pcp.Type64:
		return parquet.Int(64), nil
	case pcp.TypeU64:
		return parquet.Uint(64), nil
	case pcp.TypeFloat:
		return parquet.Leaf(parquet.FloatType), nil
	case pcp.TypeDouble:
		return parquet.Leaf(parquet.DoubleType), nil
	case pcp.TypeString:
		return parquet.String(), nil
	}
	return nil, fmt.Errorf("%s: %w: values of the type %v have no column", c.Name, pcp.ErrType, c.Type)
}

// Append is part of [export.Table].
func (t *table) Append(at pcp.Timestamp, row []*pcp.Value) error {
	last := len(t.columns)
	t.row[t.at[last]] = parquet.Int64Value(at.Sec*1e9+int64(at.Nsec)).Level(0, 0, t.at[last])
	for i, v := range row {
		c := t.at[i]
		if v == nil {
			t.row[c] = parquet.NullValue().Level(0, 0, c)
			continue
		}
		t.row[c] = value(*v, t.columns[i].Type).Level(0, 1, c)
	}
	if _, err := t.w.WriteRows([]parquet.Row{t.row}); err != nil {
		return err
	}
	if t.held += len(t.row); t.held >= groupValues {
		t.held = 0
		return t.w.Flush()
	}
	return nil
}

func value(v pcp.Value, as pcp.Type) parquet.Value {
	switch as {
	case pcp.Type32, pcp.TypeU32:
		return parquet.Int32Value(v.Int32())
	case pcp.Type64, pcp.TypeU64:
		return parquet.Int64Value(v.Int64())
	case pcp.TypeFloat:
		return parquet.FloatValue(float32(v.Double()))
	case pcp.TypeDouble:
		return parquet.DoubleValue(v.Double())
	}
	s, _ := v.Text()
	return parquet.ByteArrayValue([]byte(strings.ToValidUTF8(s, "\ufffd")))
}

// Close completes the file.
func (t *table) Close() error {
	err := t.w.Close()
	if cerr := t.file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.file.Name(), err)
	}
	return nil
}
