package pidstat

import (
	"context"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// objects prints a row for each process of the selected table.
func (r *report) objects(ctx context.Context) {
	if r.state {
		for p, key := range r.inStates() {
			row := r.row(ctx, "states", p)
			if r.special == detail {
				row.Table = "time in states"
				for _, s := range shownStates {
					row.Columns.Number(s, 1000*r.spent[stateOf{s, key.pid}])
				}
			} else {
				row.Value("State", p.Get("proc.psinfo.sname"))
				since(&row, "Utime", p, "proc.psinfo.utime")
				since(&row, "Stime", p, "proc.psinfo.stime")
				row.Columns.Number("Total", 1000*r.spent[key])
				row.Value("Function", p.Get("proc.psinfo.wchan_s"))
			}
			row.Value("Command", r.command(p))
			row.Write()
		}
		return
	}
	table, columns := "cpu", r.cpuColumns
	switch {
	case r.stack:
		table, columns = "stack", func(row *pmcc.Row, p pmcc.Process) { row.Value("StkSize", p.Get("proc.memory.vmstack")) }
	case r.memory:
		table, columns = "memory", memoryColumns
	case r.priority:
		table, columns = "priority", func(row *pmcc.Row, p pmcc.Process) {
			row.Value("prio", p.Get("proc.psinfo.rt_priority"))
			row.Policy("policy", p)
		}
	}
	for _, p := range r.m.Processes() {
		if !r.selected(p) {
			continue
		}
		row := r.row(ctx, table, p)
		columns(&row, p)
		row.Value("Command", r.command(p))
		row.Write()
	}
}

// row begins the row of a process, with its owner.
func (r *report) row(ctx context.Context, table string, p pmcc.Process) pmcc.Row {
	row := r.m.Row(ctx, table, p.Get("proc.psinfo.pid").String())
	row.Value("PID", p.Get("proc.psinfo.pid"))
	row.Value("UID", p.Get("proc.id.uid"))
	row.Value("UName", p.Get("proc.id.uid_nm"))
	return row
}

func (r *report) cpuColumns(row *pmcc.Row, p pmcc.Process) {
	row.Figure("usr", p.User())
	row.Figure("system", p.System())
	row.Figure("guest", p.Guest())
	row.Figure("%CPU", r.total(p))
	row.Value("CPU", p.Get("proc.psinfo.processor"))
}

func memoryColumns(row *pmcc.Row, p pmcc.Process) {
	row.Figure("MinFlt/s", p.Rate("proc.psinfo.minflt"))
	row.Figure("MajFlt/s", p.Rate("proc.psinfo.maj_flt"))
	row.Value("VSize", p.Get("proc.psinfo.vsize"))
	row.Value("RSS", p.Get("proc.psinfo.rss"))
	row.Figure("%Mem", p.Memory())
}

// since adds a column with the increase of a counter since the previous sample.
func since(row *pmcc.Row, name string, p pmcc.Process, metric string) {
	diff, ok := p.Since(metric)
	if !ok {
		row.Columns.Unknown(name)
		return
	}
	row.Value(name, diff)
}
