package recordings

import (
	"fmt"
	"strings"
	"testing"
)

// TestView checks that texts of charts cannot add lines or words to a view, and the limits of charts.
func TestView(t *testing.T) {
	evil := "x\" style bar\nplot metric b \\\u2028"
	got := writeView([]chart{{Title: evil, Style: "share", Plots: []plot{
		{Metric: "a", Legend: evil, Instance: evil},
		{Metric: "a", Instance: "sda 1", Match: "no"},
		{Metric: "a", Match: "\"x"},
		{Metric: "a", Unmatch: "^lo$"},
	}}}, []string{"a"})
	const text = `"x' style bar plot metric b / "`
	want := "#kmchart\nversion 1\n\nchart title " + text + " style utilization\n\tplot legend " + text + " metric a\n\tplot metric a instance sda 1\n\tplot metric a\n\tplot metric a not-matching ^lo$\n"
	if got != want {
		t.Errorf("the view is %q,\nwant %q", got, want)
	}
	if got := writeView(nil, []string{"a.b"}); got != "#kmchart\nversion 1\n\nchart title \"a.b\" style line\n\tplot metric a.b\n" {
		t.Errorf("without charts the view is %q", got)
	}
	f := func(want string, charts ...chart) {
		t.Helper()
		if err := checkCharts(charts, []string{"a"}); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	f("<nil>", chart{Title: "t", Style: "area", Plots: []plot{{Metric: "a"}}})
	f("more than 200 charts", make([]chart, MaxCharts+1)...)
	f("more than 1000 plots", chart{Plots: make([]plot, MaxPlots+1)})
	f(`"pie" is not the style of a chart`, chart{Style: "pie"})
	f(`the metric "b" of a chart is not among the metrics`, chart{Plots: []plot{{Metric: "b"}}})
	f("a text of a chart is longer than 1000 bytes", chart{Title: strings.Repeat("x", maxText+1)})
}
