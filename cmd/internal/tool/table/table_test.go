package table_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/table"
	"github.com/go-pcp/pcp/pcpjson"
)

// A disk is a row of the example.
type disk struct {
	name  string
	reads float64
}

func Example() {
	columns := table.Columns[disk]{
		{Name: "name", Title: "Device", Format: "%-8s", Cell: func(d disk) table.Cell { return table.Text(d.name) }},
		{Name: "reads", Title: "r/s", Format: " %6s", Cell: func(d disk) table.Cell {
			return table.Fixed{F: d.reads, Text: fmt.Sprintf("%.1f", d.reads)}
		}},
	}
	disks := []disk{{"sda", 12.25}, {"nvme0n1", 0}}
	fmt.Println(columns.Titles())
	for _, d := range disks {
		fmt.Println(columns.Line(d))
	}
	for _, d := range disks {
		row := pcpjson.Row{Host: "app1"}
		columns.AddTo(&row.Columns, d)
		fmt.Printf("%s", pcpjson.Line(&row))
	}
	// Output:
	// Device      r/s
	// sda        12.2
	// nvme0n1     0.0
	// {"host":"app1","columns":{"name":"sda","reads":12.25}}
	// {"host":"app1","columns":{"name":"nvme0n1","reads":0}}
}

// TestOneSided has a column only in text and another only in JSON.
func TestOneSided(t *testing.T) {
	text := func(s string) func(int) table.Cell { return func(int) table.Cell { return table.Text(s) } }
	columns := table.Columns[int]{
		{Title: "A", Format: "<%3s>", Cell: text("a\tb")},
		{Name: "b", Title: "B", Cell: text("only JSON")},
		{Name: "c", Title: "", Format: "[%-2s]", Cell: text("wider")},
	}
	if got, want := columns.Titles(), "<  A>[  ]"; got != want {
		t.Errorf("Titles = %q, want %q", got, want)
	}
	if got, want := columns.Line(0), "<a\tb>[wider]"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	var c pcpjson.Columns
	columns.AddTo(&c, 0)
	b, err := json.Marshal(c)
	if want := `{"b":"only JSON","c":"wider"}`; err != nil || string(b) != want {
		t.Errorf("AddTo = %s, %v, want %s", b, err, want)
	}
	var none table.Columns[int]
	if none.Titles()+none.Line(0) != "" {
		t.Error("no columns have text")
	}
}
