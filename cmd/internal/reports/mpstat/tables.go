package mpstat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/table"
)

// all is the row of all processors.
const all = "all"

// A cpuTable is a table with a row for each processor.
type cpuTable struct {
	name    string // in JSON
	heading string // before the titles of the columns
	format  string // of the time and the processor
	columns table.Columns[*int32]
	end     string // of each line
	apart   bool   // there is no row of all processors
}

// print prints a table.
func (r *report) print(t *cpuTable) {
	if !r.headed[t.name] && !r.m.JSON {
		fmt.Fprintln(r.m.Out, t.heading+t.columns.Titles()+t.end)
	}
	r.headed[t.name] = !r.repeats() && (t.name == usageName || r.kind != "ALL")
	if r.together() && !t.apart {
		r.row(t, all, nil)
	}
	if !r.filter && !t.apart {
		return
	}
	for _, cpu := range r.cpus(false) {
		r.row(t, fmt.Sprint(cpu), &cpu)
	}
}

// row prints the row of a processor, or of all if it is nil. Missing values are question marks.
func (r *report) row(t *cpuTable, name string, one *int32) {
	if r.m.JSON {
		row := r.m.Row(t.name, name)
		t.columns.AddTo(&row.Columns, one)
		row.Write()
		return
	}
	fmt.Fprintln(r.m.Out, pmcc.Marked(fmt.Sprintf(t.format, r.stamp, name)+t.columns.Line(one)+t.end))
}

// cpus returns the numbers of the processors that -P selects, or all of them if every is
// set.
func (r *report) cpus(every bool) []int32 {
	var list []int32
	for _, v := range r.m.All(numbers) {
		if n := v.Int32(); every || r.selected(n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

func (r *report) selected(cpu int32) bool {
	switch {
	case r.which == onlineCPU:
		v := r.m.Of(online, cpu)
		return v.OK() && v.Int() == 1
	case r.which == "" && r.filter:
		return slices.Contains(r.list, int64(cpu))
	}
	return true
}

// repeats reports whether each sample of a table has a heading.
func (r *report) repeats() bool { return r.which == everyCPU || r.which == onlineCPU }

// together reports whether there is a row of all processors.
func (r *report) together() bool { return r.which != "" || !r.filter }

// growth returns the increase of a counter since the previous sample.
func growth(now, before pmcc.Value) (float64, bool) {
	diff, ok := now.Minus(before)
	if !ok {
		return 0, false
	}
	f, _ := diff.Number()
	return f, true
}

// share returns the share of the time of a processor, or of all processors if one is
// nil.
func (r *report) share(name string, one *int32) pmcc.Figure {
	count, ok := r.m.One(ncpu).Number()
	if !ok {
		return pmcc.Figure{}
	}
	metric := "kernel.all.cpu." + name
	now, before := r.m.One(metric), r.m.OneBefore(metric)
	if one != nil {
		metric = "kernel.percpu.cpu." + name
		now, before = r.m.Of(metric, *one), r.m.Before(metric, *one)
	}
	spent, ok := growth(now, before)
	if !ok {
		return pmcc.Figure{}
	}
	spent = 100 * spent / (1000 * r.m.Elapsed())
	if one == nil {
		spent /= count
	}
	return pmcc.Round(spent)
}

// rate returns the number of interrupts per second.
func (r *report) rate(now, before pmcc.Value) pmcc.Figure {
	n, ok := growth(now, before)
	if !ok {
		return pmcc.Figure{}
	}
	return pmcc.Round(n / r.m.Elapsed())
}

// usageName is the name of the table of processor time.
const usageName = "cpu"

// usageTable is the table of the shares of processor time.
func (r *report) usageTable() *cpuTable {
	t := &cpuTable{name: usageName, heading: "\nTimestamp \tCPU", format: "%-10s\t%-3s"}
	for _, s := range shares {
		t.columns = append(t.columns, table.Column[*int32]{
			Name: s.json, Title: s.title, Format: s.format, Cell: func(one *int32) table.Cell { return r.share(r.metric(s.name), one) },
		})
	}
	return t
}

// sums is the table of the total numbers of interrupts.
func (r *report) sums() *cpuTable {
	return &cpuTable{
		name: "interrupts", heading: "\nTimestamp\tCPU  ", format: "%-10s\t%-5s",
		columns: table.Columns[*int32]{{Name: "interrupts", Title: "intr/s", Format: "\t%-5s", Cell: func(one *int32) table.Cell {
			if one == nil {
				return r.rate(r.m.One("kernel.all.intr"), r.m.OneBefore("kernel.all.intr"))
			}
			return r.rate(r.m.Of("kernel.percpu.intr", *one), r.m.Before("kernel.percpu.intr", *one))
		}}},
	}
}

// each is the table of the numbers of each interrupt.
func (r *report) each(kind string, metrics []string) *cpuTable {
	t := &cpuTable{name: kind + " interrupts", heading: "\nTimestamp\tCPU ", format: "%-10s\t%-4s", end: "\t", apart: true}
	for _, metric := range metrics {
		name := strings.TrimPrefix(metric[strings.LastIndexByte(metric, '.')+1:], "line")
		t.columns = append(t.columns, table.Column[*int32]{
			Name: name, Title: name + "/s", Format: fmt.Sprintf("\t%%-%ds", len(name)+2),
			Cell: func(one *int32) table.Cell { return r.rate(r.m.Of(metric, *one), r.m.Before(metric, *one)) },
		})
	}
	return t
}
