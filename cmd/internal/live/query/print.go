package query

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

const (
	stampLayout = "2006-01-02 15:04:05"
	plotWidth   = 60 // columns of a plot
	minColumn   = 10 // columns of a number in a table
	width       = 80 // columns of an output that is not a terminal
)

// print prints the result of an expression.
func (r *request) print(v parser.Value) error {
	w := bufio.NewWriter(r.env.Stdout)
	switch {
	case r.json:
		data := struct {
			Type   parser.ValueType `json:"resultType"`
			Result parser.Value     `json:"result"`
		}{v.Type(), v}
		if err := json.NewEncoder(w).Encode(data); err != nil {
			return err
		}
	default:
		switch v := v.(type) {
		case promql.Scalar:
			fmt.Fprintln(w, number(v.V))
		case promql.String:
			fmt.Fprintln(w, v.V)
		case promql.Vector:
			r.vector(w, v)
		case promql.Matrix:
			r.matrix(w, v)
		default:
			fmt.Fprintln(w, v)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.env.FlushOut()
}

// number returns the text of a value.
func number(f float64) string {
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e15) {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	s := strconv.FormatFloat(f, 'f', 6, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// seriesNames returns a name for each series: its labels without those that all have with the same value, which are in
// common.
func seriesNames(list []labels.Labels) (short []string, common string) {
	if len(list) == 0 {
		return nil, ""
	}
	var same labels.ScratchBuilder
	shared := map[string]bool{}
	if len(list) > 1 {
		list[0].Range(func(l labels.Label) {
			for _, other := range list[1:] {
				if other.Get(l.Name) != l.Value {
					return
				}
			}
			shared[l.Name] = true
			if l.Name != names.NameLabel {
				same.Add(l.Name, l.Value)
			}
		})
		same.Sort()
		if all := same.Labels(); !all.IsEmpty() {
			common = all.String()
		}
	}
	for _, l := range list {
		b := labels.NewBuilder(l)
		for name := range shared {
			if name != names.NameLabel {
				b.Del(name)
			}
		}
		short = append(short, metricName(b.Labels()))
	}
	return short, common
}

// metricName returns the text of a metric: NAME{LABELS}.
func metricName(l labels.Labels) string {
	name := l.Get(names.NameLabel)
	rest := labels.NewBuilder(l).Del(names.NameLabel).Labels()
	if rest.IsEmpty() && name != "" {
		return name
	}
	return name + rest.String()
}

// vector prints values of one time.
func (r *request) vector(w io.Writer, v promql.Vector) {
	list := make([]labels.Labels, len(v))
	wide := 0
	values := make([]string, len(v))
	for i := range v {
		list[i] = v[i].Metric
		if values[i] = number(v[i].F); v[i].H != nil {
			values[i] = v[i].H.String()
		}
		wide = max(wide, len(values[i]))
	}
	short, common := seriesNames(list)
	if len(v) > 0 {
		fmt.Fprintf(w, "# %s", time.UnixMilli(v[0].T).In(r.loc).Format(stampLayout))
		if common != "" {
			fmt.Fprintf(w, " %s", common)
		}
		fmt.Fprintln(w)
	}
	for i := range v {
		fmt.Fprintf(w, "%*s  %s\n", wide, values[i], short[i])
	}
}

// matrix prints values over time.
func (r *request) matrix(w io.Writer, m promql.Matrix) {
	list := make([]labels.Labels, len(m))
	for i := range m {
		list[i] = m[i].Metric
	}
	short, common := seriesNames(list)
	if common != "" {
		fmt.Fprintf(w, "# %s\n", common)
	}
	if r.plot {
		r.plots(w, m, short)
		return
	}
	columns := width
	if r.env.Columns != nil && r.env.Columns() > 0 {
		columns = r.env.Columns()
	}
	per := max(1, (columns-len(stampLayout))/(minColumn+2))
	for start := 0; start < len(m); start += per {
		part := m[start:min(start+per, len(m))]
		for i := range part {
			fmt.Fprintf(w, "# [%d] %s\n", start+i+1, short[start+i])
		}
		r.table(w, part, start)
	}
}

// table prints a table with a column for each series.
func (r *request) table(w io.Writer, m promql.Matrix, first int) {
	fmt.Fprintf(w, "%-*s", len(stampLayout), "# time")
	wide := make([]int, len(m))
	at := make([]int, len(m))
	for i := range m {
		wide[i] = minColumn
		for _, p := range m[i].Floats {
			wide[i] = max(wide[i], len(number(p.F)))
		}
		fmt.Fprintf(w, "  %*s", wide[i], fmt.Sprintf("[%d]", first+i+1))
	}
	fmt.Fprintln(w)
	for {
		t := int64(math.MaxInt64)
		for i := range m {
			if at[i] < len(m[i].Floats) {
				t = min(t, m[i].Floats[at[i]].T)
			}
		}
		if t == math.MaxInt64 {
			return
		}
		line := time.UnixMilli(t).In(r.loc).Format(stampLayout)
		for i := range m {
			text := "-"
			if at[i] < len(m[i].Floats) && m[i].Floats[at[i]].T == t {
				text = number(m[i].Floats[at[i]].F)
				at[i]++
			}
			line += fmt.Sprintf("  %*s", wide[i], text)
		}
		fmt.Fprintln(w, line)
	}
}

// blocks are the characters of a plot, from the lowest to the highest value.
const blocks = "▁▂▃▄▅▆▇█"

// plots prints a line for each series: the least and the greatest value, and a plot.
func (r *request) plots(w io.Writer, m promql.Matrix, short []string) {
	begin, end := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range m {
		if n := len(m[i].Floats); n > 0 {
			begin, end = min(begin, m[i].Floats[0].T), max(end, m[i].Floats[n-1].T)
		}
	}
	if begin > end {
		return
	}
	fmt.Fprintf(w, "# %s to %s\n", time.UnixMilli(begin).In(r.loc).Format(stampLayout), time.UnixMilli(end).In(r.loc).Format(stampLayout))
	for i := range m {
		line, least, most := plot(m[i].Floats, begin, end)
		fmt.Fprintf(w, "%s  %s to %s  %s\n", line, number(least), number(most), short[i])
	}
}

// plot draws points between two times: the mean of each column.
func plot(points []promql.FPoint, begin, end int64) (line string, least, most float64) {
	var sum [plotWidth]float64
	var n [plotWidth]int
	least, most = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if math.IsNaN(p.F) || math.IsInf(p.F, 0) {
			continue
		}
		least, most = min(least, p.F), max(most, p.F)
		column := 0
		if end > begin {
			column = int((p.T - begin) * (plotWidth - 1) / (end - begin))
		}
		sum[column] += p.F
		n[column]++
	}
	if least > most {
		return strings.Repeat(" ", plotWidth), math.NaN(), math.NaN()
	}
	all := []rune(blocks)
	var b strings.Builder
	for i := range plotWidth {
		if n[i] == 0 {
			b.WriteByte(' ')
			continue
		}
		height := 0.0
		if most > least {
			height = (sum[i]/float64(n[i]) - least) / (most - least)
		}
		b.WriteRune(all[min(utf8.RuneCountInString(blocks)-1, int(height*float64(len(all))))])
	}
	return b.String(), least, most
}
