package rep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// A ranking keeps the highest or lowest values of all samples, one for each instance, and writes them at the end.
type ranking struct {
	*line
	set  *pmrep.Set
	rank int             // the number of values of a metric, negative for the lowest
	spec bool            // as specifications of metrics
	best [][]pmrep.Value // by metric
}

// header implements writer. There is none.
func (r *ranking) header(*pmrep.Sample, bool) {}

// sample implements writer.
func (r *ranking) sample(s *pmrep.Sample) error {
	if r.best == nil {
		r.best = make([][]pmrep.Value, len(r.set.Metrics))
	}
	for i, m := range r.set.Metrics {
		if m.IsString() {
			continue
		}
		down, rank := r.rank > 0, max(r.rank, -r.rank)
		if m.Desc.InDom == pcp.InDomNull {
			rank = 1
		}
		all := slices.Concat(s.Results[i], r.best[i])
		pmrep.Sort(all, down)
		best := make([]pmrep.Value, 0, min(rank, len(all)))
		for _, v := range all {
			if len(best) < rank && !slices.ContainsFunc(best, func(o pmrep.Value) bool { return o.Inst == v.Inst }) {
				best = append(best, v)
			}
		}
		r.best[i] = best
	}
	return nil
}

// finish implements writer.
func (r *ranking) finish() error {
	if r.spec {
		r.specifications()
	} else {
		r.lines()
	}
	return nil
}

// lines writes the ranking with a line for each value.
func (r *ranking) lines() {
	nameWidth, instWidth, unitWidth, valueWidth := 3, 3, 3, 3
	for i, values := range r.best {
		m := r.set.Metrics[i]
		for _, v := range values {
			instWidth = max(instWidth, runes(v.Name))
			valueWidth = max(valueWidth, len(overallValue(m, v)))
		}
		if len(values) > 0 {
			nameWidth, unitWidth = max(nameWidth, runes(m.Name)), max(unitWidth, runes(m.Unit))
		}
	}
	for i, values := range r.best {
		m := r.set.Metrics[i]
		for _, v := range values {
			b := appendLeft(r.row[:0], m.Name, nameWidth+1)
			b = appendLeft(b, r.form.delim, 2)
			b = appendLeft(b, strings.ReplaceAll(v.Name, "\n", " "), instWidth+1)
			b = appendLeft(b, r.form.delim, 2)
			b = fmt.Appendf(b, "%*s ", unitWidth, m.Unit)
			b = append(b, r.form.delim...)
			r.row = fmt.Appendf(b, "%*s", valueWidth+1, overallValue(m, v))
			r.end()
		}
	}
}

// specifications writes the ranking as specifications of metrics.
func (r *ranking) specifications() {
	for i, values := range r.best {
		if len(values) == 0 {
			continue
		}
		r.out.WriteString(r.set.Metrics[i].Name + ",,")
		for k, v := range values {
			name := strings.ReplaceAll(v.Name, "\n", " ")
			switch {
			case name == "":
			case k == 0:
				r.out.WriteString(`"'` + name + "'")
			default:
				r.out.WriteString(",'" + name + "'")
			}
		}
		if values[0].Name != "" {
			r.out.WriteByte('"')
		}
		r.out.WriteByte('\n')
	}
}

// overallValue formats a value with no more decimals than the width of its column.
func overallValue(m *pmrep.Metric, v pmrep.Value) string {
	switch v.Type() {
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'f', min(m.Precision, m.Width), 64)), "+")
	case pcp.Type32, pcp.Type64:
		return strconv.FormatInt(v.Int64(), 10)
	}
	return strconv.FormatUint(v.Uint64(), 10)
}
