package ps

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// printSeven prints the list of PCP 7: that of -o, or that of the last option that selects processes.
func (l *list) printSeven() {
	list := l.processes()
	if l.chosen {
		l.printChosen(list)
		return
	}
	if len(list) == 0 {
		return
	}
	y := l.layoutSeven()
	l.line("Timestamp" + l.header + y.heading)
	for _, p := range list {
		l.line(l.stamp + y.row(l, p))
	}
}

// refuse reports that -O cannot sort the list.
func (l *list) refuse() {
	l.failed = true
	l.env.FlushOut()
	if l.chosen {
		fmt.Fprintln(l.env.Stderr, "Sorting order not found in output columns")
		return
	}
	fmt.Fprintln(l.env.Stderr, "Sorting indices not set for selected flag, please remove sorting flag or choose another flag for output")
}

func (l *list) layoutSeven() layout {
	const family = "PID\t\tPPID\t\tTTY\tTIME\t\tCMD"
	switch l.last {
	case 'e':
		return layout{"PID\t\t\tTTY\tTIME\t\tCMD", func(_ *list, p pmcc.Process) string {
			return fmt.Sprintf("%s\t\t%s\t%s\t%s", pid(p), known(p, "proc.psinfo.ttyname"), used(p), known(p, "proc.psinfo.psargs"))
		}}
	case 'u':
		return layout{"USERNAME\tPID\t\t%CPU\t%MEM\tVSZ\tRSS\tTTY\tSTAT\tTIME\t\tSTART\t\tCOMMAND", func(l *list, p pmcc.Process) string {
			return l.ownerSeven(p, "\t", known(p, "proc.psinfo.sname"))
		}}
	case 'U':
		return layout{"USERNAME\t\tPID\t\t%CPU\t%MEM\tVSZ\tRSS\tTTY\tSTAT\t\tTIME\t\tSTART\t\tCOMMAND", func(l *list, p pmcc.Process) string {
			return l.ownerSeven(p, "\t\t", parent(p))
		}}
	case 'p', 'P', 'c':
		return layout{family, func(_ *list, p pmcc.Process) string {
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", pid(p), parent(p), known(p, "proc.psinfo.ttyname"), used(p), command(p))
		}}
	}
	return layout{"PID\t\tTIME\t\tCMD", func(_ *list, p pmcc.Process) string {
		return fmt.Sprintf("%s\t%s\t%s", pid(p), used(p), command(p))
	}}
}

// ownerSeven returns a row with the owner of a process, its system time and memory.
func (l *list) ownerSeven(p pmcc.Process, tabs, state string) string {
	user, memory := "", ""
	if p.Get("proc.id.uid_nm").OK() {
		user = owner(p)
	}
	if f := p.Memory(); f.OK {
		memory = f.String()
	}
	return strings.Join([]string{
		user + tabs + pid(p), system(p), memory, known(p, "proc.psinfo.vsize"), known(p, "proc.psinfo.rss"),
		known(p, "proc.psinfo.ttyname"), state, used(p), l.start(p), command(p),
	}, "\t")
}

// columnsOfAll returns the columns of -o ALL.
func columnsOfAll() []string {
	return []string{"uname", "pid", "ppid", "pri", "%cpu", "%mem", "vsize", "rss", "state", "start", "time", "wchan", "args"}
}

// printChosen prints the columns of -o.
func (l *list) printChosen(list []pmcc.Process) {
	names := l.columns
	if l.everything {
		names = columnsOfAll()
	}
	heading := "Timestamp\t"
	for _, name := range names {
		heading += headingSeven(name) + "\t"
	}
	l.line(heading)
	for _, p := range list {
		row := []string{l.clock}
		for i, name := range names {
			row = append(row, l.cell(p, name, i == len(names)-1))
		}
		l.line(strings.Join(row, "\t"))
	}
	if len(list) == 0 {
		l.line("")
	}
}

func headingSeven(name string) string {
	switch name {
	case "cmd":
		return "Command\t\t"
	case "args":
		return "Command\t\t\t"
	case "tty":
		return "TTY"
	}
	return column(name).heading
}

// cell returns the text of a process in a column. The last column has all arguments.
func (l *list) cell(p pmcc.Process, name string, last bool) string {
	value := p.Get
	switch {
	case name == "args" && !last && value("proc.psinfo.psargs").OK():
		return arguments(p)
	case name == "cmd", name == "pname":
		return command(p)
	case name == "%cpu":
		return system(p)
	case name == "uname" && !value("proc.id.uid_nm").OK():
		return "?"
	case name == "wchan":
		if v := value("proc.psinfo.wchan_s"); !v.OK() || v.String() == "" || v.String() == "0" {
			return pmcc.Cut("-", 30)
		}
	}
	return column(name).text(l, p)
}

// known returns the value of a metric, "" if it is missing.
func known(p pmcc.Process, metric string) string {
	if v := p.Get(metric); v.OK() {
		return v.String()
	}
	return ""
}

func command(p pmcc.Process) string {
	if !p.Get("proc.psinfo.cmd").OK() {
		return "-"
	}
	return name(p)
}

// system returns the share of system time.
func system(p pmcc.Process) string {
	if f := p.System(); f.OK {
		return f.String()
	}
	return "-"
}
