package pidstat

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// shownStates are the states whose times -B detail shows.
var shownStates = [...]string{"R", "S", "Z", "T", "D"}

// states prints the processes in the states that -B names, or the time that each process
// has been seen in each state. There is a heading only if there is a process.
func (r *report) states() {
	headed := false
	for p, key := range r.inStates() {
		if r.m.JSON {
			r.stateObject(p, key)
			continue
		}
		if !headed {
			headed = true
			if r.special == detail {
				r.print("\nTimestamp\tPID\t\tR\t\tS\t\tZ\t\tT\t\tD\t\tCommand")
			} else {
				r.print("\nTimestamp\tPID\tState\tUtime\tStime\tTotal Time\tFunction\t\t\tCommand")
			}
		}
		state := p.Get("proc.psinfo.sname")
		switch {
		case r.special == detail:
			line := r.clock + "\t" + key.pid
			for _, s := range shownStates {
				line += fmt.Sprintf("\t\t%.2f", r.spent[stateOf{s, key.pid}])
			}
			r.print(fmt.Sprintf("%s\t\t%s", line, r.command(p)))
		case state.OK():
			r.print(r.clock + "\t" + r.stateRow(p, state.String(), r.spent[key]))
		}
	}
}

// stateObject prints the row of a process with --json, which is not cut to fit as that in text.
func (r *report) stateObject(p pmcc.Process, key stateOf) {
	row := r.row("states", p)
	if r.special == detail {
		row.Table = "time in states"
		for _, s := range shownStates {
			row.Columns.Number(s, 1000*r.spent[stateOf{s, key.pid}])
		}
	} else {
		row.Value("State", p.Get("proc.psinfo.sname"))
		row.Value("Utime", p.Grown("proc.psinfo.utime"))
		row.Value("Stime", p.Grown("proc.psinfo.stime"))
		row.Columns.Number("Total", 1000*r.spent[key])
		row.Value("Function", p.Get("proc.psinfo.wchan_s"))
	}
	row.Value("Command", r.command(p))
	row.Write()
}

// inStates iterates over the processes in the states that -B names, and adds the time since the previous sample to
// the time spent in them.
func (r *report) inStates() iter.Seq2[pmcc.Process, stateOf] {
	return func(yield func(pmcc.Process, stateOf) bool) {
		for _, p := range r.m.Processes() {
			if !r.selected(p) {
				continue
			}
			state := p.Get("proc.psinfo.sname")
			// Lists of states may contain "all".
			if r.special == "" && !slices.Contains(r.wanted, allStates) && !(state.OK() && slices.Contains(r.wanted, state.String())) {
				continue
			}
			key := stateOf{state.String(), p.Get("proc.psinfo.pid").String()}
			r.spent[key] += r.m.Elapsed()
			if !yield(p, key) {
				return
			}
		}
	}
}

// stateRow returns the row of a process after the time.
func (r *report) stateRow(p pmcc.Process, state string, spent float64) string {
	waits := p.Get("proc.psinfo.wchan_s").String()
	function, tabs, command := waits, 1, p.Get("proc.psinfo.cmd")
	n := utf8.RuneCountInString(waits)
	if state == "R" {
		function, n = "N/A", 0
	}
	// The last column needs fewer tabs the longer the function is. The C program ignores -l if
	// one is left.
	if n < 24 {
		tabs, command = 4-n/8, r.command(p)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%.2f\t\t%s%s%s", p.Get("proc.psinfo.pid"), state, p.Grown("proc.psinfo.utime"),
		p.Grown("proc.psinfo.stime"), spent, function, strings.Repeat("\t", tabs), command)
}
