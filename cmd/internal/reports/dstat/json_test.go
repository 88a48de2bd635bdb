package dstat

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestJSON reads the --json output of all plugins, and compares some figures with those of the table that -o writes.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "barn")
	machine(t, base)
	archive := map[string]string{"PCP_ARCHIVE": base}
	type row struct {
		Time, Host, Table, Instance string
		Columns                     map[string]any
	}
	read := func(args ...string) []row {
		t.Helper()
		out, status := dstat(t, archive, append([]string{"--json"}, args...)...)
		if status != 0 {
			t.Errorf("%q: status %d: %s", args, status, out)
		}
		var list []row
		for line := range strings.Lines(out) {
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%q: %s: %v", args, line, err)
			}
			if r.Time == "" || r.Host == "" || len(r.Columns) == 0 {
				t.Errorf("%q: %s", args, line)
			}
			list = append(list, r)
		}
		return list
	}
	for _, name := range ours(t).Names() {
		if rows := read("--"+name, "1", "3"); len(rows) == 0 || rows[0].Table != name {
			t.Errorf("--%s: %v", name, rows)
		}
	}
	for _, r := range read("--color", "-t", "-c", "1", "3") {
		sum := 0.0
		for _, share := range r.Columns {
			sum += share.(float64)
		}
		if r.Table != "cpu" || r.Instance != total || sum < 1 || sum > 1000 {
			t.Errorf("%+v", r)
		}
	}
	if rows := read("-C", "0,1,total", "1", "2"); len(rows) < 3 || rows[0].Instance == rows[1].Instance {
		t.Errorf("-C 0,1,total: %v", rows)
	}
	if out, status := dstat(t, archive, "--json", "-o", filepath.Join(dir, "table"), "-c"); status != 1 || !strings.Contains(out, "-o") {
		t.Errorf("-o: status %d: %s", status, out)
	}
}
