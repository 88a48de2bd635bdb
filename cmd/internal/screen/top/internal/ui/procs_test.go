package ui

import (
	"slices"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
)

// family returns a table of four processes: 1 is the parent of 2 and 3, and 3 of 4, which is the busiest.
func family() (*processes, *string) {
	said := new(string)
	t := &processes{film: newFilm(), mouse: new(mouse), say: func(format string, _ ...any) { *said = format }}
	s := taken(1)
	s.Processes = []model.Process{
		{PID: 1, Name: "init", CPU: 0.1, RSS: 4},
		{PID: 2, Name: "sshd", CPU: 0.2, RSS: 1, Parent: 1, Owner: "ann"},
		{PID: 3, Name: "cron", CPU: 0.3, RSS: 2, Parent: 1, Owner: "bob", CGroup: "/a"},
		{PID: 4, Name: "job", CPU: 0.4, RSS: 3, Parent: 3, Owner: "ann", CGroup: "/a/b"},
	}
	t.film.push(s)
	return t, said
}

// pids returns the processes of the rows.
func pids(t *processes) []int32 {
	var list []int32
	for _, r := range t.visible() {
		list = append(list, t.film.now.Processes[r.Index].PID)
	}
	return list
}

func TestProcessesSelect(t *testing.T) {
	p, _ := family()
	rows := func(want ...int32) {
		t.Helper()
		if got := pids(p); !slices.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
	}
	rows(4, 3, 2, 1)
	p.moveRows(2)
	p.sortBy(model.ByPID)
	rows(1, 2, 3, 4)
	if c := p.chosen(); c.PID != 2 || p.list.cursor != 1 {
		t.Errorf("after sorting %d is chosen", c.PID)
	}
	p.sortBy(model.ByPID)
	rows(4, 3, 2, 1)
	p.within("/a")
	rows(4, 3)
	m := p.chooseOwner()
	if !slices.Equal(m.items, []string{"(all users)", "ann", "bob"}) {
		t.Errorf("users %q", m.items)
	}
	m.accept(1)
	rows(4)
	if got := p.conditions(); !slices.Equal(got, []string{"user ann", "cgroup /a"}) {
		t.Errorf("conditions %q", got)
	}
	f := p.askFilter()
	f.change("nothing")
	rows()
	if p.chosen() != nil {
		t.Error("a process of no row is chosen")
	}
	if !p.escape() {
		t.Error("the filters stay")
	}
	rows(4, 3, 2, 1)
	if p.escape() {
		t.Error("there is nothing to clear")
	}
}

// TestProcessesTree folds branches.
func TestProcessesTree(t *testing.T) {
	p, said := family()
	if p.fold(); *said == "" {
		t.Error("rows are folded without a tree")
	}
	p.sel.Tree = true
	p.arrange()
	for p.chosen().PID != 3 {
		at := p.list.cursor
		if p.moveRows(1); p.list.cursor == at {
			t.Fatal("process 3 has no row")
		}
	}
	n := len(pids(p))
	p.fold()
	if got := len(pids(p)); got != n-1 || p.chosen().PID != 3 {
		t.Errorf("%d rows of %d, chosen is %d", got, n, p.chosen().PID)
	}
	p.fold()
	if got := len(pids(p)); got != n {
		t.Errorf("%d rows of %d", got, n)
	}
}

// TestProcessesPage opens the page of a process, which follows it.
func TestProcessesPage(t *testing.T) {
	p, _ := family()
	p.click(1)
	if p.detail != 0 || p.pid != 3 {
		t.Errorf("after a click %d is chosen, %d open", p.pid, p.detail)
	}
	p.click(1)
	if p.detail != 3 {
		t.Fatalf("after another click %d is open", p.detail)
	}
	p.follow(p.film.now)
	if got := p.film.values(model.ProcCPU, "", 1); got[0] != 0.3 {
		t.Errorf("the graph is %v", got)
	}
	if !p.escape() || p.detail != 0 {
		t.Error("the page stays open")
	}
	p.first()
	if p.visible(); p.chosen().PID != 4 {
		t.Errorf("the first process is %d", p.chosen().PID)
	}
}

// TestColumns sorts by the column beside, of those that fit.
func TestColumns(t *testing.T) {
	p, _ := family()
	if p.needs(80) != 0 || p.needs(ioFrom) != model.ProcessIO || p.needs(gpuFrom) != model.ProcessIO|model.ProcessNet|model.ProcessGPU {
		t.Error("the columns needed do not depend on the width")
	}
	p.sortBeside(1, 80, false)
	if p.sel.By != model.ByTime {
		t.Errorf("sorted by %d", p.sel.By)
	}
	p.sortBeside(-1, ioFrom, true)
	if p.sel.By != model.ByWritten || p.needs(80) != model.ProcessIO {
		t.Errorf("sorted by %d", p.sel.By)
	}
	p.sel.By = model.ByStart // its column is not shown otherwise
	p.sortBeside(1, 80, false)
	if p.sel.By != model.ByCommand {
		t.Errorf("sorted by %d", p.sel.By)
	}
	p.sortBeside(1, 80, false)
	if p.sel.By != model.ByCommand {
		t.Errorf("behind the last column is %d", p.sel.By)
	}
}
