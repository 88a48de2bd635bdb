package recordings

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of the view of a recording.
const (
	MaxCharts = 200
	MaxPlots  = 1000 // of all charts
	maxText   = 1000 // bytes of a title, a legend, an instance or a pattern
)

// A chart is a chart of the view.
type chart struct {
	Title string `json:"title"`
	Style string `json:"style"`
	Plots []plot `json:"plots"`
}

// A plot is a metric in a chart, with all its instances, one, or those whose names a pattern matches.
type plot struct {
	Metric   string `json:"metric"`
	Legend   string `json:"legend"`
	Instance string `json:"instance"`
	Match    string `json:"match"`
	Unmatch  string `json:"unmatch"`
}

// styles are pmchart's names of the styles of charts.
func styles() map[string]string {
	return map[string]string{"": "line", "line": "line", "area": "area", "stack": "stacking", "share": "utilization", "bar": "bar"}
}

// checkCharts returns an error if a view cannot have the charts.
func checkCharts(charts []chart, metrics []string) error {
	if len(charts) > MaxCharts {
		return badRequest(fmt.Sprintf("more than %d charts", MaxCharts))
	}
	plots := 0
	for _, c := range charts {
		if _, ok := styles()[c.Style]; !ok {
			return badRequest(fmt.Sprintf("%.80q is not the style of a chart", c.Style))
		}
		if plots += len(c.Plots); plots > MaxPlots {
			return badRequest(fmt.Sprintf("more than %d plots", MaxPlots))
		}
		texts := []string{c.Title}
		for _, p := range c.Plots {
			if !slices.Contains(metrics, p.Metric) {
				return badRequest(fmt.Sprintf("the metric %.80q of a chart is not among the metrics", p.Metric))
			}
			texts = append(texts, p.Legend, p.Instance, p.Match, p.Unmatch)
		}
		for _, text := range texts {
			if len(text) > maxText {
				return badRequest(fmt.Sprintf("a text of a chart is longer than %d bytes", maxText))
			}
		}
	}
	return nil
}

// keep removes the plots of metrics that are not recorded, and charts without plots.
func keep(charts []chart, recorded func(metric string) bool) []chart {
	var kept []chart
	for _, c := range charts {
		c.Plots = slices.DeleteFunc(slices.Clone(c.Plots), func(p plot) bool { return !recorded(p.Metric) })
		if len(c.Plots) > 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// quoted writes a text as a word of a view. A view has no control characters, and a word no quotation marks.
func quoted(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r == '\\':
			return '/'
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e:
			return ' '
		}
		return r
	}, s) + `"`
}

// exact reports whether a text is the same as the rest of a line of a view.
func exact(s string) bool {
	return s != "" && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) && s[0] != '"'
}

// writeView returns a view of pmchart with charts; without any it has a chart for each metric.
func writeView(charts []chart, metrics []string) string {
	if len(charts) == 0 {
		for _, name := range metrics {
			charts = append(charts, chart{Title: name, Plots: []plot{{Metric: name}}})
		}
	}
	var b strings.Builder
	b.WriteString("#kmchart\nversion 1\n")
	for _, c := range charts {
		fmt.Fprintf(&b, "\nchart title %s style %s\n", quoted(c.Title), styles()[c.Style])
		for _, p := range c.Plots {
			b.WriteString("\tplot")
			if p.Legend != "" {
				b.WriteString(" legend " + quoted(p.Legend))
			}
			b.WriteString(" metric " + p.Metric)
			// Without what cannot be written exactly, a chart has all instances.
			switch {
			case exact(p.Instance):
				b.WriteString(" instance " + p.Instance)
			case exact(p.Match):
				b.WriteString(" matching " + p.Match)
			case exact(p.Unmatch):
				b.WriteString(" not-matching " + p.Unmatch)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
