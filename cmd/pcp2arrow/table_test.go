package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/exchange/export"
)

// TestTable writes columns of all types and reads the file back.
func TestTable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	columns := []export.Column{
		{Name: "b.u32", Type: pcp.TypeU32},
		{Name: "a.s64", Type: pcp.Type64},
		{Name: "c.text[é]", Type: pcp.TypeString},
		{Name: "d.float", Type: pcp.TypeFloat},
		{Name: "d.double", Type: pcp.TypeDouble},
		{Name: "e.u64", Type: pcp.TypeU64},
		{Name: "f.s32", Type: pcp.Type32},
		{Name: "f.s32", Type: pcp.Type32},
	}
	tab, err := create(dir, columns)
	if err != nil {
		t.Fatal(err)
	}
	p := func(v pcp.Value) *pcp.Value { return &v }
	full := []*pcp.Value{
		p(pcp.Uint32Value(1 << 31)), p(pcp.Int64Value(-5)), p(pcp.StringValue("x\ny")), p(pcp.FloatValue(1.5)),
		p(pcp.DoubleValue(0.1)), p(pcp.Uint64Value(1 << 63)), p(pcp.Int32Value(-7)), p(pcp.Int32Value(8)),
	}
	for i, row := range [][]*pcp.Value{full, make([]*pcp.Value, len(columns))} {
		if err := tab.Append(pcp.Timestamp{Sec: 1700000000 + int64(i), Nsec: 250}, row); err != nil {
			t.Fatal(err)
		}
	}
	if err := tab.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "part-0.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := parquet.NewReader(f)
	var got []string
	for {
		rows := make([]parquet.Row, 1)
		n, err := r.ReadRows(rows)
		if n == 1 {
			for i, v := range rows[0] {
				got = append(got, r.Schema().Columns()[i][0]+"="+v.String())
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The reader prints the stored numbers; the schema has the unsigned types of b.u32 and e.u64.
	want := []string{
		"a.s64=-5", "b.u32=-2147483648", "c.text[é]=x\ny", "d.double=0.1", "d.float=1.5", "e.u64=-9223372036854775808", "f.s32=-7", "f.s32#2=8",
		"timestamp=1700000000000000250",
		"a.s64=<null>", "b.u32=<null>", "c.text[é]=<null>", "d.double=<null>", "d.float=<null>", "e.u64=<null>", "f.s32=<null>", "f.s32#2=<null>",
		"timestamp=1700000001000000250",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was read (-want +got):\n%s", diff)
	}

	if s := r.Schema().String(); !strings.Contains(s, "optional int64 e.u64 (INT(64,false))") || !strings.Contains(s, "required int64 timestamp (TIMESTAMP(isAdjustedToUTC=true,unit=NANOS))") {
		t.Errorf("schema %s", s)
	}

	if _, err := create(dir, columns); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory that is there: %v", err)
	}
	if _, err := create(dir+"2", []export.Column{{Name: "x", Type: pcp.TypeEvent}}); !errors.Is(err, pcp.ErrType) {
		t.Errorf("a column of events: %v", err)
	}
}
