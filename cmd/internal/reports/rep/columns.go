package rep

import (
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// A cell is a column of a header: a metric and one of its instances.
type cell struct {
	metric int
	index  int // in the instances of the metric, or of the results if the header is dynamic
	inst   int32
	name   string
}

// eachCell calls f for the columns: the instances of the metrics, or for a dynamic header the instances in s.
func eachCell(set *pmrep.Set, dynamic bool, s *pmrep.Sample, f func(cell)) {
	for i := range set.Metrics {
		eachOf(set, i, dynamic, s, f)
	}
}

// eachOf is eachCell for one metric.
func eachOf(set *pmrep.Set, i int, dynamic bool, s *pmrep.Sample, f func(cell)) {
	if !dynamic {
		for j, in := range set.Metrics[i].Instances {
			f(cell{i, j, in.Inst, in.Name})
		}
		return
	}
	if s == nil {
		return
	}
	for j, v := range s.Results[i] {
		f(cell{i, j, v.Inst, v.Name})
	}
}

// A columnTable writes a line for each sample, with a column for each instance.
type columnTable struct {
	*line
	set    *pmrep.Set
	repeat *repeater
	width  int    // the default width of columns
	cells  []cell // the columns of the header
}

// arrange determines the columns, of all instances or of those in s.
func (t *columnTable) arrange(s *pmrep.Sample) {
	t.cells = t.cells[:0]
	eachCell(t.set, s != nil, s, func(c cell) { t.cells = append(t.cells, c) })
}

// header implements writer.
func (t *columnTable) header(s *pmrep.Sample, again bool) {
	if again {
		t.out.WriteByte('\n')
	}
	if t.form.separate {
		t.separateHeader(s)
		return
	}
	insts := false
	inst := make([]string, len(t.cells))
	for k, c := range t.cells {
		insts = insts || t.set.Metrics[c.metric].Desc.InDom != pcp.InDomNull
		if inst[k] = t.form.delim; insts && c.name != "" {
			inst[k] = c.name
		}
	}
	if t.form.dynamic { // metrics without values count as well
		insts = insts || anyInstances(t.set)
	}
	line := func(text func(k int, c cell) string) {
		t.begin()
		for k, c := range t.cells {
			t.text(text(k, c), t.set.Metrics[c.metric].Width)
		}
		t.end()
	}
	line(func(_ int, c cell) string { return t.set.Metrics[c.metric].Label })
	if t.form.instInfo && insts {
		line(func(k int, _ cell) string { return inst[k] })
	}
	if t.form.labelled {
		line(func(_ int, c cell) string {
			if t.form.dynamic { // as in the Python program, which mistakes an index for a number
				return dynamicLabels(t.set, c, c.metric)
			}
			return t.set.Metrics[c.metric].LabelText(c.inst)
		})
	}
	if t.form.unitInfo {
		line(func(_ int, c cell) string { return t.set.Metrics[c.metric].Unit })
	}
}

// separateHeader writes a line for each column, and the numbers of the columns.
func (t *columnTable) separateHeader(s *pmrep.Sample) {
	n := 0
	for i, m := range t.set.Metrics {
		switch {
		case t.form.static:
			n += len(m.Instances)
		case s != nil:
			n += len(s.Results[i])
		}
	}
	list := newColumnList(t.line, t.set, n)
	k := 0
	eachCell(t.set, t.form.dynamic, s, func(c cell) {
		k++
		list.describe(k, c, c.name)
	})
	t.out.WriteByte('\n')
	t.begin()
	for k, c := range t.cells {
		t.text(strconv.Itoa(k+1), t.set.Metrics[c.metric].Width)
	}
	t.end()
}

// sample implements writer.
func (t *columnTable) sample(s *pmrep.Sample) error {
	if t.form.dynamic {
		unrank(t.set, s)
		if due, again := t.repeat.nextDynamic(s); due {
			t.arrange(s)
			if t.form.header {
				t.header(s, again)
			}
		}
		if !s.Has() {
			t.nothing(s.Time, t.width)
			return nil
		}
	} else if t.repeat.next() && t.form.header {
		t.header(nil, true)
	}
	t.stamp(s.Time)
	metric, next := -1, 0
	for k := range t.cells {
		c := &t.cells[k]
		m := t.set.Metrics[c.metric]
		if c.metric != metric {
			metric, next = c.metric, 0
		}
		if v, ok := find(s.Results[metric], c.inst, &next); ok {
			t.cell(v.Value, m)
		} else {
			t.text(noValue, m.Width)
		}
	}
	t.end()
	return nil
}

// finish implements writer.
func (t *columnTable) finish() error { return nil }

// find returns the value of an instance, which is probably the next.
func find(values []pmrep.Value, inst int32, next *int) (*pmrep.Value, bool) {
	if i := *next; i < len(values) && values[i].Inst == inst {
		*next = i + 1
		return &values[i], true
	}
	for i := len(values) - 1; i >= 0; i-- {
		if values[i].Inst == inst {
			*next = i + 1
			return &values[i], true
		}
	}
	return nil, false
}
