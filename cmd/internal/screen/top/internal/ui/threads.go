package ui

import (
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
)

// toggleThreads shows threads as well as processes, or processes alone.
func (t *processes) toggleThreads() {
	t.sel.Threads = !t.sel.Threads
	t.arrange()
}

// counted returns how many processes, and threads, there are in the table.
func (t *processes) counted() string {
	s := t.film.now
	all, threads := len(s.Processes), 0
	for i := range s.Processes {
		if s.Processes[i].Thread() {
			threads++
		}
	}
	shown, what := len(t.visible()), "processes"
	if t.sel.Threads && threads > 0 {
		what = "processes and threads"
	} else {
		all -= threads
	}
	if shown != all {
		return fmt.Sprintf("%d of %d %s", shown, all, what)
	}
	return fmt.Sprintf("%d %s", shown, what)
}

// drawThreads draws a line for each thread of a process, the busiest first.
func (t *processes) drawThreads(area screen.Area, p *model.Process) {
	s := t.film.now
	sel := model.Selection{By: model.ByCPU, Threads: true, Group: p.PID}
	var order model.Order
	rows := order.Rows(s, &sel)
	threads := make([]*model.Process, 0, len(rows))
	for _, r := range rows {
		if q := &s.Processes[r.Index]; q.Thread() {
			threads = append(threads, q)
		}
	}
	in := area.Rule("Threads", fmt.Sprint(len(threads)))
	switch why := s.NoThreads(); {
	case why != "":
		absent(in, why)
		return
	case len(threads) == 0 && s.Groups&model.Threads == 0:
		in.Text(1, 0, screen.Dim, "The next sample has them.")
		return
	case len(threads) == 0:
		in.Text(1, 0, screen.Dim, "The process has one thread, its own.")
		return
	}
	var l list
	table := newTable(in, &l, nil, []field{
		{head: "TID", width: 7},
		{head: "S", width: 1, left: true},
		{head: "CPU%", width: 6},
		{head: "TIME+", width: 9},
		{head: "ON", width: 4},
		{head: "NAME", width: 20, left: true},
	})
	for y := 1; y < in.H && y <= len(threads); y++ {
		q, row := threads[y-1], in.Rows(y, 1)
		if y == in.H-1 && y < len(threads) {
			row.Text(0, 0, screen.Dim, fmt.Sprintf("and %d more", len(threads)-y+1))
			break
		}
		table.put(row, 0, screen.Normal, fmt.Sprint(q.PID))
		table.put(row, 1, stateStyle(q), stateText(q.State))
		table.put(row, 2, cpuStyle(q), hundredths(q.CPU))
		table.put(row, 3, screen.Normal, clock(q.Time))
		table.put(row, 4, screen.Dim, fmt.Sprint(q.Processor))
		table.put(row, 5, screen.Normal, q.Name)
	}
}
