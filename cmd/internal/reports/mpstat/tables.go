package mpstat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// all is the row of all processors.
const all = "all"

// print prints a line. Missing values are question marks.
func (r *report) print(line string) { fmt.Fprintln(r.env.Stdout, pmcc.Marked(line)) }

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

// row begins the row for --json. Without --json it is discarded.
func (r *report) row(table, instance string) pmcc.Row {
	if !r.json {
		return pmcc.Row{}
	}
	return r.m.Row(r.ctx, table, instance)
}

// printUsage prints the shares of processor time.
func (r *report) printUsage() {
	if !r.usageHead && !r.json {
		line := fmt.Sprintf("\n%-10s\t%-3s", "Timestamp", "CPU")
		for _, s := range shares {
			line += "\t" + fmt.Sprintf(s.format, s.title)
		}
		r.print(line)
	}
	r.usageHead = !r.repeats()
	if r.together() {
		r.usageRow(all, nil)
	}
	if !r.filter {
		return
	}
	for _, cpu := range r.cpus(false) {
		r.usageRow(fmt.Sprint(cpu), &cpu)
	}
}

func (r *report) usageRow(name string, one *int32) {
	line := fmt.Sprintf("%-10s\t%-3s", r.stamp, name)
	object := r.row("cpu", name)
	for _, s := range shares {
		f := r.share(s.name, one)
		line += "\t" + fmt.Sprintf(s.format, f)
		object.Figure(s.json, f)
	}
	if r.json {
		object.Write()
		return
	}
	r.print(line)
}

// printSums prints the total numbers of interrupts.
func (r *report) printSums() {
	if !r.sumHead && !r.json {
		r.print(fmt.Sprintf("%-10s\t%-5s\t%-5s", "\nTimestamp", "CPU", "intr/s"))
	}
	r.sumHead = !r.repeats() && r.kind != "ALL"
	row := func(name string, f pmcc.Figure) {
		if r.json {
			object := r.row("interrupts", name)
			object.Figure("interrupts", f)
			object.Write()
			return
		}
		r.print(fmt.Sprintf("%-10s\t%-5s\t%-5s", r.stamp, name, f))
	}
	if r.together() {
		row(all, r.rate(r.m.One("kernel.all.intr"), r.m.OneBefore("kernel.all.intr")))
	}
	if !r.filter {
		return
	}
	for _, cpu := range r.cpus(false) {
		row(fmt.Sprint(cpu), r.rate(r.m.Of("kernel.percpu.intr", cpu), r.m.Before("kernel.percpu.intr", cpu)))
	}
}

// printInterrupts prints the number of each interrupt.
func (r *report) printInterrupts(kind string, metrics []string, headed *bool) {
	if len(r.cpus(true)) == 0 {
		r.m.Errorf("%s has no values, so that it is not known which processors there are", numbers)
		r.failed = true
		return
	}
	names := make([]string, len(metrics))
	line := fmt.Sprintf("%-10s\t%-4s\t", "\nTimestamp", "CPU")
	for i, metric := range metrics {
		names[i] = strings.TrimPrefix(metric[strings.LastIndexByte(metric, '.')+1:], "line")
		line += fmt.Sprintf("%-*s\t", len(names[i])+2, names[i]+"/s")
	}
	if !*headed && !r.json {
		r.print(line)
	}
	*headed = !r.repeats() && r.kind != "ALL"
	for _, cpu := range r.cpus(false) {
		line := fmt.Sprintf("%-10s\t%-4d\t", r.stamp, cpu)
		object := r.row(kind+" interrupts", fmt.Sprint(cpu))
		for i, metric := range metrics {
			f := r.rate(r.m.Of(metric, cpu), r.m.Before(metric, cpu))
			line += fmt.Sprintf("%-*s\t", len(names[i])+2, f)
			object.Figure(names[i], f)
		}
		if r.json {
			object.Write()
			continue
		}
		r.print(line)
	}
}
