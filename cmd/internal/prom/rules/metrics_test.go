package rules

import (
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	f, err := Parse("rules.yml", []byte(`groups:
- name: a
  rules:
  - record: load:sum
    expr: sum(kernel_all_load)
  - alert: Busy
    expr: load:sum > 1 and rate(disk_all_read[5m]) > 2
  - alert: Gone
    expr: absent(mem_freemem) or absent_over_time(x[1m]) or (y > 1 or z > 2)
  - alert: Named
    expr: '{__name__="kernel_all_load", a="b"} / {__name__=~"k.*"} > 1'
`))
	if err != nil {
		t.Fatal(err)
	}
	needed, recorded := f.Metrics()
	if got, want := strings.Join(needed, " "), "disk_all_read kernel_all_load load:sum"; got != want {
		t.Errorf("needed %s, want %s", got, want)
	}
	if got := strings.Join(recorded, " "); got != "load:sum" {
		t.Errorf("recorded %s", got)
	}
}
