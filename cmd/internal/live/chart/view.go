package chart

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmapi"
)

// A plot is a plot of a view.
type plot struct {
	view     string // its path
	line     int
	metric   string
	optional bool
}

// styles are those of charts.
var styles = []string{"plot", "line", "bar", "stacking", "area", "utilization"}

// A wordReader takes the words of a line, which are in quotes or end at white space.
type wordReader struct {
	words []string
	err   error
}

var wordPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|(\S+)`) })

func newWordReader(line string) *wordReader {
	r := &wordReader{}
	for _, m := range wordPattern().FindAllStringSubmatch(line, -1) {
		if m[0][0] == '"' && m[2] == "" {
			r.words = append(r.words, m[1])
		} else {
			r.words = append(r.words, m[2])
		}
	}
	return r
}

func (r *wordReader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// word returns the next word; what describes it in errors.
func (r *wordReader) word(what string) string {
	if len(r.words) == 0 {
		r.failf("%s is missing", what)
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

// rest skips the words to the end of the line.
func (r *wordReader) rest(what string) {
	r.word(what)
	r.words = nil
}

func (r *wordReader) more() bool { return r.err == nil && len(r.words) > 0 }

// parseView reads a view of pmchart as the page does, and returns its plots. Errors name the line.
func parseView(path, text string) ([]plot, error) {
	var plots []plot
	version, charts := false, 0
	n := 0
	for line := range strings.Lines(text) {
		n++
		r := newWordReader(strings.TrimRight(line, "\r\n"))
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		switch key := strings.ToLower(r.word("a keyword")); key {
		case "version":
			version = true
		case "global":
		case "scheme", "colorscheme":
			r.word("the name of the scheme")
		case "chart":
			if !version {
				r.failf("a chart before the version")
			}
			charts++
			r.chart()
		case "plot", "optional-plot":
			if charts == 0 {
				r.failf("a plot before the first chart")
			}
			plots = append(plots, plot{path, n, r.plot(), key == "optional-plot"})
		default:
			r.failf("%q is unknown", key)
		}
		if r.err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, r.err)
		}
	}
	if charts == 0 {
		return nil, fmt.Errorf("%s: no chart", path)
	}
	return plots, nil
}

func (r *wordReader) chart() {
	for r.more() {
		switch k := strings.ToLower(r.word("a keyword")); k {
		case "title", "legend", "antialiasing", "scheme":
			r.word("the " + k)
		case "style":
			if s := r.word("the style"); r.err == nil && !slices.Contains(styles, strings.ToLower(s)) {
				r.failf("%q is not a style", s)
			}
		case "scale":
			for range 2 {
				s := r.word("a limit of the scale")
				if l := strings.ToLower(s); l == "from" || l == "to" {
					s = r.word("a limit of the scale")
				}
				if _, err := strconv.ParseFloat(s, 64); err != nil {
					r.failf("%q is not a number", s)
				}
			}
		default:
			r.failf("%q is unknown in a chart", k)
		}
	}
}

// plot returns the metric.
func (r *wordReader) plot() (name string) {
	for r.more() {
		switch k := strings.ToLower(r.word("a keyword")); k {
		case "legend", "title", "color", "colour", "host":
			r.word("the " + k)
		case "metric":
			name = r.word("the metric")
		case "instance", "matching", "not-matching":
			r.rest("the " + k)
		default:
			r.failf("%q is unknown in a plot", k)
		}
	}
	if name == "" {
		r.failf("a plot without a metric")
	}
	return name
}

// checkView reports the metrics of a view that do not exist or cannot be drawn.
func (x *chart) checkView(ctx context.Context, c *pmapi.Context) error {
	for _, p := range x.plots {
		bad := func(why error) error {
			return fmt.Errorf("%s, line %d: %s: %s", p.view, p.line, p.metric, cli.ErrText(why))
		}
		ids, err := c.LookupName(ctx, p.metric)
		if err == nil && (len(ids) == 0 || ids[0] == pcp.PMIDNull) {
			err = pcp.ErrName
		}
		if err != nil {
			if p.optional && pcp.Code(err) == pcp.ErrName {
				continue
			}
			return bad(err)
		}
		descs, err := c.LookupDescs(ctx, ids...)
		if err != nil {
			return bad(err)
		}
		if t := descs[0].Type; t > pcp.TypeDouble {
			return fmt.Errorf("%s, line %d: %s: values of type %s cannot be drawn", p.view, p.line, p.metric, t)
		}
	}
	return nil
}
