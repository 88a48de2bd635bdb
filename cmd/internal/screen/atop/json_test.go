package atop

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// TestJSON compares the rows of --json with the lines of -P: as many of each label, and the same processor times.
func TestJSON(t *testing.T) {
	archive := fixture(t)
	type label struct {
		lines int
		times []float64
	}
	want, got := map[string]*label{}, map[string]*label{}
	at := func(m map[string]*label, name string) *label {
		if m[name] == nil {
			m[name] = new(label)
		}
		m[name].lines++
		return m[name]
	}
	out, _ := call(t, Command, "", archive, "-P", "ALL", "1", "3")
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 8 || f[0] == "PSI" || f[0] == "PRE" { // for which JSON has a row for each resource, and for its users
			continue
		}
		l := at(want, f[0])
		if f[0] != "cpu" {
			continue
		}
		sys, err := strconv.ParseFloat(f[8], 64)
		if err != nil {
			t.Fatal(line)
		}
		l.times = append(l.times, sys)
	}
	out, status := call(t, Command, "", archive, "--json", "1", "3")
	if status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	for line := range strings.Lines(out) {
		var row struct {
			Time, Host, Table string
			Interval          float64
			Columns           map[string]any
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.Time == "" || row.Host == "" || row.Interval < 1 || len(row.Columns) < 2 {
			t.Fatalf("%s: %v", line, err)
		}
		if row.Table == "PSI" || row.Table == "PRE" {
			continue
		}
		l := at(got, row.Table)
		if row.Table == "cpu" {
			l.times = append(l.times, row.Columns["sys"].(float64))
		}
	}
	for name, w := range want {
		g := got[name]
		if g == nil || g.lines != w.lines {
			t.Errorf("%s: %v rows, want %d", name, g, w.lines)
			continue
		}
		for i := range w.times {
			if g.times[i] != w.times[i] {
				t.Errorf("%s: time %d is %v, want %v", name, i, g.times[i], w.times[i])
			}
		}
	}
	if len(want) < 10 {
		t.Errorf("-P ALL has %d labels", len(want))
	}
	if out, _ := call(t, Command, "", archive, "--json", "-P", "DSK", "1", "3"); !strings.Contains(out, `"table":"DSK"`) || strings.Contains(out, `"CPU"`) {
		t.Errorf("-P DSK: %s", out)
	}
	if out, status := call(t, Command, "", archive, "--json", "-w", t.TempDir()); status != 1 || !strings.Contains(out, "-w") {
		t.Errorf("-w: status %d: %s", status, out)
	}
}
