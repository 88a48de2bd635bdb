package rep

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// A swapColumn is a column of swapped output: the metrics with one label, whose instances are lines.
type swapColumn struct {
	label   string
	metrics []int
	width   int
}

// An instName is the name of a line; a metric without instances has one too.
type instName struct {
	name string
	flat bool
}

// cornerDefault is the width of the column of instances if it has no label.
const cornerDefault = 8

// A swappedTable writes a line for each instance in a sample, with a column for each label of metrics.
type swappedTable struct {
	*line
	set     *pmrep.Set
	repeat  *repeater
	corner  string       // the label of the instances
	sortBy  []string     // metrics, with - for an ascending order
	columns []swapColumn // of the header
	found   []instName   // the lines
}

func (t *swappedTable) cornerWidth() int {
	if t.corner == "" {
		return cornerDefault
	}
	return runes(t.corner)
}

// arrange determines columns and lines, of all instances or of those in s.
func (t *swappedTable) arrange(s *pmrep.Sample) {
	t.columns = t.columns[:0]
	for i, m := range t.set.Metrics {
		if t.form.dynamic && s != nil && len(s.Results[i]) == 0 {
			continue
		}
		if k := slices.IndexFunc(t.columns, func(c swapColumn) bool { return c.label == m.Label }); k >= 0 {
			t.columns[k].metrics = append(t.columns[k].metrics, i)
			continue
		}
		t.columns = append(t.columns, swapColumn{m.Label, []int{i}, m.Width})
	}
	seen := make(map[instName]bool)
	add := func(inst int32, name string) {
		n := instName{name, inst == pcp.InNull}
		if !seen[n] {
			seen[n] = true
			t.found = append(t.found, n)
		}
	}
	if t.form.static {
		for _, n := range t.found {
			seen[n] = true
		}
		for _, m := range t.set.Metrics {
			for _, in := range m.Instances {
				add(in.Inst, in.Name)
			}
		}
		return
	}
	t.found = nil
	if s == nil {
		return
	}
	for _, r := range s.Results {
		for _, v := range r {
			add(v.Inst, v.Name)
		}
	}
}

// header implements writer.
func (t *swappedTable) header(s *pmrep.Sample, again bool) {
	if again {
		t.out.WriteByte('\n')
	}
	if t.form.separate {
		t.separateHeader(s)
		return
	}
	line := func(corner string, text func(*pmrep.Metric) string) {
		t.begin()
		t.text(corner, t.cornerWidth())
		for _, c := range t.columns {
			t.text(text(t.set.Metrics[c.metrics[0]]), c.width)
		}
		t.end()
	}
	line(t.corner, func(m *pmrep.Metric) string { return m.Label })
	if t.form.labelled {
		line("", func(m *pmrep.Metric) string { return m.LabelText(pcp.InNull) })
	}
	if t.form.unitInfo {
		line("", func(m *pmrep.Metric) string { return m.Unit })
	}
}

// separateHeader writes a line for each metric, and the numbers of the columns.
func (t *swappedTable) separateHeader(s *pmrep.Sample) {
	n := len(t.set.Metrics)
	if !t.form.static && s == nil {
		n = 0
	}
	list := newColumnList(t.line, t.set, n)
	for k, col := range t.columns {
		for _, i := range col.metrics {
			if t.form.fixed {
				list.describe(k+1, cell{metric: i, inst: pcp.InNull}, "")
				continue
			}
			eachOf(t.set, i, t.form.dynamic, s, func(c cell) { list.describe(k+1, c, c.name) })
		}
	}
	t.out.WriteByte('\n')
	t.begin()
	t.text("", t.cornerWidth())
	for k, col := range t.columns {
		t.text(strconv.Itoa(k+1), col.width)
	}
	t.end()
}

// follow has the header and the lines follow the instances in a sample.
func (t *swappedTable) follow(s *pmrep.Sample) {
	if !t.form.dynamic && t.repeat.next() && t.form.header {
		t.header(nil, true)
	}
	if t.form.static {
		return
	}
	unrank(t.set, s)
	if t.form.fixed {
		t.arrange(s)
		return
	}
	if due, again := t.repeat.nextDynamic(s); due {
		t.arrange(s)
		if t.form.header {
			t.header(s, again)
		}
	}
}

// sample implements writer.
func (t *swappedTable) sample(s *pmrep.Sample) error {
	t.follow(s)
	if len(t.sortBy) > 0 {
		t.sortLines(s)
	}
	any := false
	for _, line := range t.found {
		t.stamp(s.Time)
		name := line.name
		if line.flat || name == "" {
			name = singular
		}
		t.text(name, t.cornerWidth())
		blank := true
		for _, c := range t.columns {
			v, m, missing := t.lineValue(s, c, line)
			if v == nil {
				t.text(missing, c.width)
				blank = blank && missing == noInst
				continue
			}
			begin := len(t.row) + len(t.form.delim)
			t.cell(v.Value, m)
			blank = blank && strings.TrimLeft(string(t.row[begin:]), " ") == noInst
		}
		if t.form.dynamic && blank && len(t.columns) > 0 {
			continue
		}
		any = true
		t.end()
	}
	switch {
	case any:
		return nil
	case t.form.dynamic:
		t.nothing(s.Time, runes(t.corner))
		return nil
	}
	t.stamp(s.Time)
	t.text(noValue, t.cornerWidth())
	for _, c := range t.columns {
		t.text(noInst, c.width)
	}
	t.end()
	return nil
}

// finish implements writer.
func (t *swappedTable) finish() error { return nil }

// lineValue returns the value of a line in a column, and its metric, or a placeholder.
func (t *swappedTable) lineValue(s *pmrep.Sample, c swapColumn, line instName) (v *pmrep.Value, m *pmrep.Metric, missing string) {
	for _, i := range c.metrics {
		m := t.set.Metrics[i]
		if !t.form.static {
			// All lines are of all metrics.
			for k := len(s.Results[i]) - 1; k >= 0; k-- {
				if v := &s.Results[i][k]; v.Name == line.name && (v.Inst == pcp.InNull) == line.flat {
					return v, m, ""
				}
			}
			return nil, nil, noInst
		}
		at := slices.IndexFunc(m.Instances, func(in pcp.Instance) bool { return in.Name == line.name && (in.Inst == pcp.InNull) == line.flat })
		if at < 0 {
			continue
		}
		next := 0
		if v, ok := find(s.Results[i], m.Instances[at].Inst, &next); ok {
			return v, m, ""
		}
		return nil, nil, noValue
	}
	return nil, nil, noInst
}

// sortLines sorts the lines by values of a metric, or if these are missing by those of the next.
func (t *swappedTable) sortLines(s *pmrep.Sample) {
	before := t.found
	t.found = nil
	add := func(n instName) {
		if !slices.Contains(t.found, n) {
			t.found = append(t.found, n)
		}
	}
	for _, name := range t.sortBy {
		up := strings.HasPrefix(name, "-")
		i := t.set.Find(strings.TrimPrefix(name, "-"))
		if i < 0 {
			continue // after the names have changed
		}
		values := slices.Clone(s.Results[i])
		pmrep.Sort(values, !up)
		for _, v := range values {
			add(instName{v.Name, v.Inst == pcp.InNull})
		}
	}
	for _, n := range before {
		add(n)
	}
}
