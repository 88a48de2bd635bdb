package ps

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/table"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pcptime"
)

// A layout is the form of a list: its heading, and its rows without the time.
type layout struct {
	heading string
	row     func(l *list, p pmcc.Process) string
}

// layout returns the layout for the options, which is the same for all lists.
func (l *list) layout() layout {
	const family = "PID\t\tPPID\t\tTTY\tTIME\t\tCMD"
	switch {
	case l.all:
		return layout{"PID\t\t\tTTY\tTIME\t\tCMD", func(_ *list, p pmcc.Process) string {
			return fmt.Sprintf("%s\t\t%s\t%s\t%s", pid(p), tty(p), used(p), name(p))
		}}
	case l.plain():
		return layout{"PID\t\tTIME\t\tCMD", func(l *list, p pmcc.Process) string {
			return fmt.Sprintf("%s\t%s\t%s", pid(p), used(p), name(p))
		}}
	case l.pids, l.parents:
		return layout{family, familyRow}
	case l.user:
		return layout{"USERNAME\t\tPID\t\t%CPU\t%MEM\tVSZ\tRSS\tTTY\tSTAT\t\tTIME\t\tSTART\t\tCOMMAND", func(l *list, p pmcc.Process) string {
			return l.ownerRow(p, "\t\t", parent(p))
		}}
	case l.owners:
		return layout{"USERNAME\tPID\t\t%CPU\t%MEM\tVSZ\tRSS\tTTY\tSTAT\tTIME\t\tSTART\t\tCOMMAND", func(l *list, p pmcc.Process) string {
			return l.ownerRow(p, "\t", text(p, "proc.psinfo.sname"))
		}}
	}
	return layout{family, familyRow} // of commands
}

func familyRow(_ *list, p pmcc.Process) string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", pid(p), parent(p), tty(p), used(p), name(p))
}

// ownerRow returns a row with the owner of a process. Its columns are those of the C program,
// which do not match its headings: system time is below %CPU, total time below %MEM. With -O,
// which the C program does not have, memory is below %MEM.
func (l *list) ownerRow(p pmcc.Process, tabs, state string) string {
	second := p.Total()
	if l.order != "" {
		second = p.Memory()
	}
	return fmt.Sprintf("%s%s%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", owner(p), tabs, pid(p), p.System(), second,
		text(p, "proc.psinfo.vsize"), text(p, "proc.psinfo.rss"), tty(p), state, used(p), l.start(p), name(p))
}

func (l *list) print(y layout) {
	l.line("Timestamp" + l.header + y.heading)
	for _, p := range l.processes() {
		l.line(l.stamp + y.row(l, p))
	}
}

func (l *list) line(s string) { fmt.Fprintln(l.m.Out, pmcc.Marked(s)) }

// A columnSpec is a column of -o. The values in JSON match its name, even where the columns of the C program show
// something else.
type columnSpec struct {
	name, heading string
	text          func(l *list, p pmcc.Process) string
	value         func(l *list, p pmcc.Process) table.Cell // in JSON
}

// columns are the columns of -o. The names are those of the C program, and args.
func columns() []columnSpec {
	of := func(f func(pmcc.Process) string) func(*list, pmcc.Process) string {
		return func(_ *list, p pmcc.Process) string { return f(p) }
	}
	get := func(metric string) func(*list, pmcc.Process) string {
		return func(_ *list, p pmcc.Process) string { return text(p, metric) }
	}
	value := func(metric string) func(*list, pmcc.Process) table.Cell {
		return func(_ *list, p pmcc.Process) table.Cell { return p.Get(metric) }
	}
	return []columnSpec{
		{"%cpu", "%CPU", func(_ *list, p pmcc.Process) string { return p.System().String() }, func(_ *list, p pmcc.Process) table.Cell { return p.Total() }},
		{"%mem", "%MEM", func(_ *list, p pmcc.Process) string { return p.Memory().String() }, func(_ *list, p pmcc.Process) table.Cell { return p.Memory() }},
		{"start", "START\t", (*list).start, (*list).startTime},
		{"time", "TIME\t", of(used), func(_ *list, p pmcc.Process) table.Cell { return usedTime(p) }},
		{"cls", "CLS", func(_ *list, p pmcc.Process) string { return p.Policy().String() }, func(_ *list, p pmcc.Process) table.Cell { return p.Policy() }},
		{"cmd", "Command\t\t\t", of(arguments), value("proc.psinfo.psargs")},
		{"args", "Command", get("proc.psinfo.psargs"), value("proc.psinfo.psargs")},
		{"pid", "PID\t", of(pid), value("proc.psinfo.pid")},
		{"ppid", "PPID\t", of(parent), value("proc.psinfo.ppid")},
		{"pri", "PRI", get("proc.psinfo.priority"), value("proc.psinfo.priority")},
		{"state", "S", get("proc.psinfo.sname"), value("proc.psinfo.sname")},
		{"rss", "RSS", get("proc.psinfo.rss"), value("proc.psinfo.rss")},
		{"rtprio", "RTPRIO", get("proc.psinfo.priority"), value("proc.psinfo.rt_priority")},
		{"tty", "TT", of(tty), value("proc.psinfo.ttyname")},
		{"pname", "Pname\t\t", of(name), value("proc.psinfo.cmd")},
		{"vsize", "VSZ", get("proc.psinfo.vsize"), value("proc.psinfo.vsize")},
		{"uname", "USER\t", of(owner), value("proc.id.uid_nm")},
		{"uid", "USER_ID", get("proc.id.uid"), value("proc.id.uid")}, // which is not fetched for text: None, as in C
		{"wchan", "WCHAN\t\t\t", of(function), value("proc.psinfo.wchan_s")},
	}
}

// column returns a column, nil if none has the name.
func column(name string) *columnSpec {
	for _, c := range columns() {
		if c.name == name {
			return &c
		}
	}
	return nil
}

// printColumns prints the list of -o.
func (l *list) printColumns() {
	if l.everything {
		l.line("Timestamp" + l.header +
			"USER\t\tPID\t\tPPID\t\tPRI\t%CPU\t%MEM\tVSZ\tRSS\tS\tSTARTED\t\tTIME\t\tWCHAN\t\t\t\tCommand")
		for _, p := range l.processes() {
			l.line(l.stamp + l.wholeRow(p))
		}
		return
	}
	var chosen []*columnSpec
	heading := "Timestamp\t"
	for _, name := range l.columns {
		c := column(name)
		chosen = append(chosen, c)
		heading += c.heading + "\t\t"
	}
	fmt.Fprintln(l.m.Out, heading)
	for _, p := range l.processes() {
		row := l.clock + "\t"
		for _, c := range chosen {
			row += c.text(l, p) + "\t\t"
		}
		fmt.Fprintln(l.m.Out, row)
	}
}

// wholeRow returns a row of all columns.
func (l *list) wholeRow(p pmcc.Process) string {
	waits, tabs := function(p), "\t"
	if waits == "-" {
		tabs = "\t\t\t"
	}
	total, system := p.Total(), p.System()
	if l.order != "" {
		total, system = system, p.Memory()
	}
	return strings.Join([]string{
		owner(p), pid(p), parent(p), text(p, "proc.psinfo.priority"), total.String(), system.String(),
		text(p, "proc.psinfo.vsize"), text(p, "proc.psinfo.rss"), text(p, "proc.psinfo.sname"), l.start(p), used(p), waits,
	}, "\t") + tabs + arguments(p)
}

// objects prints a row for each selected process as JSON, once regardless of the number of lists: with the columns of
// -o, else with all.
func (l *list) objects() {
	var chosen []columnSpec
	if l.chosen && !l.everything {
		for _, name := range l.columns {
			chosen = append(chosen, *column(name))
		}
	} else {
		chosen = slices.DeleteFunc(columns(), func(c columnSpec) bool { return c.name == "cmd" }) // which equals args
	}
	for _, p := range l.processes() {
		row := l.m.Row("", text(p, "proc.psinfo.pid"))
		for _, c := range chosen {
			c.value(l, p).AddTo(&row.Columns, c.name)
		}
		row.Write()
	}
}

func text(p pmcc.Process, metric string) string { return p.Get(metric).String() }

func pid(p pmcc.Process) string { return fmt.Sprintf("%-8s", text(p, "proc.psinfo.pid")) }

func parent(p pmcc.Process) string { return fmt.Sprintf("%-8s", text(p, "proc.psinfo.ppid")) }

func tty(p pmcc.Process) string { return text(p, "proc.psinfo.ttyname") }

// owner, name and arguments return text of fixed width. An unknown value, at which the C program
// gives up, is a question mark.
func owner(p pmcc.Process) string { return cut(p, "proc.id.uid_nm", 10) }

func name(p pmcc.Process) string { return cut(p, "proc.psinfo.cmd", 20) }

func arguments(p pmcc.Process) string { return cut(p, "proc.psinfo.psargs", 30) }

func cut(p pmcc.Process, metric string, width int) string {
	if v := p.Get(metric); v.OK() {
		return pmcc.Cut(v.String(), width)
	}
	return pmcc.Cut("?", width)
}

// function returns the kernel function in which a process waits.
func function(p pmcc.Process) string {
	if v := p.Get("proc.psinfo.wchan_s"); v.OK() {
		return pmcc.Cut(v.String(), 30)
	}
	return "-"
}

// day is the age from which the start of a process is shown as a date.
const day = 24 * 60 * 60

// start returns the start time of a process.
func (l *list) start(p pmcc.Process) string {
	at, ok := l.started(p)
	switch {
	case !ok || math.Abs(at) > 1<<40:
		return "?"
	case float64(l.m.Now())-at >= day:
		return l.m.Clock("%b%d %H:%M", int64(at))
	}
	return l.m.Clock("%H:%M:%S", int64(at))
}

// startTime returns the start time of a process for JSON.
func (l *list) startTime(p pmcc.Process) table.Cell {
	at, ok := l.started(p)
	if !ok || at < 0 || at > 1<<40 {
		return pmcc.Value{}
	}
	return table.Text(pcpjson.Time(pcp.Timestamp{Sec: int64(at), Nsec: int32(1000*math.Mod(at, 1)) * 1e6}))
}

// started returns when a process started, in seconds.
func (l *list) started(p pmcc.Process) (at float64, ok bool) {
	since, ok := p.Get("proc.psinfo.start_time").Number()
	boot, okBoot := l.m.One("kernel.all.boottime").Number()
	return boot + since/1000, ok && okBoot
}

// used returns the processor time of a process: system time and, as in the C program, user time up to the
// previous sample. Days are dropped.
func used(p pmcc.Process) string {
	system, ok := p.Get("proc.psinfo.stime").Number()
	user, okUser := p.Before("proc.psinfo.utime").Number()
	total := 0.0
	if ok && okUser && system != 0 {
		total = math.Mod(system/1000+user/1000, 1<<40)
	}
	return pcptime.Strftime("%H:%M:%S", time.Unix(int64(total), 0).UTC())
}

// usedTime returns the processor time of a process in milliseconds, for JSON.
func usedTime(p pmcc.Process) table.Cell {
	system, ok := p.Get("proc.psinfo.stime").Number()
	user, okUser := p.Get("proc.psinfo.utime").Number()
	return pmcc.Figure{F: system + user, OK: ok && okUser}
}
