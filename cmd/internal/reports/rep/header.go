package rep

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// anyInstances reports whether a metric of the set has instances.
func anyInstances(set *pmrep.Set) bool {
	return slices.ContainsFunc(set.Metrics, func(m *pmrep.Metric) bool { return m.Desc.InDom != pcp.InDomNull })
}

// dynamicLabels returns the labels of a column of a dynamic header: those of the metric and, if it has instances,
// those of the instance with the number index.
func dynamicLabels(set *pmrep.Set, c cell, index int) string {
	inst := pcp.InNull
	if c.inst != pcp.InNull {
		inst = int32(index)
	}
	return set.Metrics[c.metric].LabelText(inst)
}

// A columnList is a separate header: a line for each column.
type columnList struct {
	*line
	set   *pmrep.Set
	width int // of the numbers of columns
}

// newColumnList returns a list of n columns.
func newColumnList(l *line, set *pmrep.Set, n int) columnList {
	return columnList{l, set, len(strconv.Itoa(n)) + 1}
}

// describe writes the line of column k with the name of an instance, and one of its labels.
func (l columnList) describe(k int, c cell, name string) {
	m := l.set.Metrics[c.metric]
	text := m.Name
	if name != "" {
		text += `["` + name + `"]`
	}
	if l.form.unitInfo {
		unit := m.Unit
		if unit == "" {
			unit = "none"
		}
		text += " - " + unit
	}
	l.put(k, text)
	switch {
	case !l.form.labelled:
	case l.form.dynamic:
		l.put(k, dynamicLabels(l.set, c, c.index))
	default:
		l.put(k, m.LabelText(c.inst))
	}
}

func (l columnList) put(k int, text string) { fmt.Fprintf(l.out, "[%*d] - %s\n", l.width, k, text) }
