package ui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// charts has the metrics that the user charts.
type charts struct {
	film  *film
	mouse *mouse
	loc   *time.Location
	names names    // of all metrics, for completion
	specs []string // the metrics
	at    int      // the chosen one
}

// taken reports whether the sample shown has all metrics.
func (h *charts) taken() bool {
	for _, spec := range h.specs {
		if !slices.ContainsFunc(h.film.now.Charts, func(c model.Chart) bool { return c.Spec == spec }) {
			return false
		}
	}
	return true
}

// move chooses another chart.
func (h *charts) move(n int) { h.at = max(0, min(len(h.specs)-1, h.at+n)) }

// maxCharts limits the number of charts.
const maxCharts = 8

// ask returns the prompt for a metric, which offers names.
func (h *charts) ask() prompt {
	return prompt{label: "Metric", names: &h.names, accept: func(text string) error {
		switch {
		case text == "":
			return nil
		case slices.Contains(h.specs, text):
			h.at = slices.Index(h.specs, text)
			return nil
		case len(h.specs) == maxCharts:
			return fmt.Errorf("%d charts are enough; d takes one away", maxCharts)
		}
		if name, _, _ := strings.Cut(text, "["); h.names.lacks(name) {
			return fmt.Errorf("there is no metric %s", name)
		}
		h.specs = append(slices.Clip(h.specs), text)
		h.at = len(h.specs) - 1
		return nil
	}}
}

// drop removes the chosen chart.
func (h *charts) drop() {
	if h.at < len(h.specs) {
		h.specs = slices.Delete(slices.Clone(h.specs), h.at, h.at+1)
		h.at = max(0, min(h.at, len(h.specs)-1))
	}
}

// mostLines limits the lines of a chart; of more instances those with the largest values
// are drawn.
const mostLines = 8

// draw draws a chart for each metric that the user named, of samples a step apart.
func (h *charts) draw(body screen.Area, step time.Duration) {
	if len(h.specs) == 0 {
		in := body.Rule("Chart", "")
		in.Text(1, 1, screen.Normal, "m charts a metric by its name; Tab completes it.")
		in.Text(1, 3, screen.Dim, "for example  kernel.all.load   mem.util.free   disk.dev.read_bytes[sda]")
		return
	}
	height := max(6, body.H/len(h.specs))
	fits := max(1, body.H/height)
	top := max(0, min(h.at-fits+1, len(h.specs)-fits))
	for i := 0; i < fits && top+i < len(h.specs); i++ {
		n := height
		if i == fits-1 {
			n = body.H - i*height
		}
		at := top + i
		area := body.Rows(i*height, n)
		h.drawChart(area, at, step)
		h.mouse.on(area, func() { h.at = at })
	}
}

func (h *charts) drawChart(area screen.Area, at int, step time.Duration) {
	spec := h.specs[at]
	title := spec
	if at == h.at && len(h.specs) > 1 {
		title = "> " + spec
	}
	var c *model.Chart
	for i := range h.film.now.Charts {
		if h.film.now.Charts[i].Spec == spec {
			c = &h.film.now.Charts[i]
		}
	}
	switch {
	case c == nil:
		absent(area.Rule(title, ""), "not sampled at this time")
		return
	case c.Err != nil:
		absent(area.Rule(title, ""), c.Err.Error())
		return
	}
	right := c.Units
	if len(c.Lines) > mostLines {
		right = fmt.Sprintf("%d of %d instances", mostLines, len(c.Lines))
	}
	in := area.Rule(title, right)
	shown := chartLines(c)
	legend := 0
	if len(c.Lines) > 0 && (len(shown) > 1 || shown[0].Name != "") {
		legend = min(32, max(16, in.W/4))
	}
	const axis = 10
	plot := &screen.Plot{Area: in.Part(axis, 0, in.W-axis-legend, in.H-1)}
	if plot.Area.W < 4 || plot.Area.H < 1 {
		return
	}
	n := plot.Places()
	plot.Min, plot.Max = 0, 0
	lines := make([][]float64, len(shown))
	for i, l := range shown {
		key := model.ChartKey(spec, l.Name)
		lines[i] = h.film.hist.Values(nil, key, h.film.end(), n)
		for _, v := range lines[i] {
			if !math.IsNaN(v) {
				plot.Min, plot.Max = min(plot.Min, v), max(plot.Max, v)
			}
		}
	}
	plot.Max = ceiling(plot.Max, c.Units)
	for i := len(lines) - 1; i >= 0; i-- { // the largest one on top
		plot.Line(lines[i], screen.LineStyle(i))
	}
	plot.Draw()
	in.TextRight(axis-1, 0, screen.Dim, units(plot.Max, c.Units))
	if plot.Area.H > 4 {
		in.TextRight(axis-1, (plot.Area.H-1)/2, screen.Dim, units((plot.Max+plot.Min)/2, c.Units))
	}
	in.TextRight(axis-1, plot.Area.H-1, screen.Dim, units(plot.Min, c.Units))
	h.drawTimes(in.Part(axis, in.H-1, plot.Area.W, 1), n, step)
	side := in.Part(in.W-legend+1, 0, legend-1, in.H)
	for i, l := range shown {
		if i >= side.H {
			break
		}
		mark := '●'
		if side.ASCII() {
			mark = '*'
		}
		side.Rune(0, i, screen.LineStyle(i), mark)
		value := units(l.Value, c.Units)
		side.TextIn(2, i, side.W-3-screen.Width(value, 20), screen.Normal, l.Name)
		side.TextRight(side.W, i, screen.Bold, value)
	}
	if legend == 0 && len(shown) == 1 {
		in.TextRight(in.W, 0, screen.Bold, units(shown[0].Value, c.Units))
	}
}

// chartLines returns the instances drawn: the largest of many, in the order of the source.
func chartLines(c *model.Chart) []model.Line {
	shown := slices.Clone(c.Lines)
	if len(shown) > mostLines {
		slices.SortStableFunc(shown, func(x, y model.Line) int { return cmp.Compare(zero(y.Value), zero(x.Value)) })
		shown = shown[:mostLines]
	}
	return shown
}

// ceiling returns a number with few digits that is not less than the values of a chart.
func ceiling(f float64, unit string) float64 {
	if f <= 0 {
		return 1
	}
	base := 10.0
	if unit == "byte" || unit == "byte/s" {
		base = 1024
	}
	scale := math.Pow(base, math.Floor(math.Log(f)/math.Log(base)))
	for _, m := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500, 600, 800, 1024} {
		if m*scale >= f {
			return m * scale
		}
	}
	return f
}

// drawTimes draws the times of the left and the right end of a chart of n samples.
func (h *charts) drawTimes(line screen.Area, n int, step time.Duration) {
	end := h.film.end()
	right := h.film.hist.Time(end)
	if right.IsZero() {
		return
	}
	layout := "15:04:05"
	line.TextRight(line.W, 0, screen.Dim, right.Time().In(h.loc).Format(layout))
	left := right.Add(-seconds(step.Seconds() * float64(n-1)))
	line.Text(0, 0, screen.Dim, left.Time().In(h.loc).Format(layout))
}
