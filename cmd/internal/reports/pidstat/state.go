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

// stateTable prints the processes in the states that -B names, or the time that each process
// has been seen in each state. There is a heading only if there is a process.
func (r *report) stateTable(stamp string) {
	headed := false
	for p, key := range r.inStates() {
		state, pid := p.Get("proc.psinfo.sname"), key.pid
		if !headed {
			headed = true
			if r.special == detail {
				r.print("\nTimestamp\tPID\t\tR\t\tS\t\tZ\t\tT\t\tD\t\tCommand")
			} else {
				r.print("\nTimestamp\tPID\tState\tUtime\tStime\tTotal Time\tFunction\t\t\tCommand")
			}
		}
		switch {
		case r.special == detail:
			line := stamp + "\t" + pid
			for _, s := range shownStates {
				line += fmt.Sprintf("\t\t%.2f", r.spent[stateOf{s, pid}])
			}
			r.print(fmt.Sprintf("%s\t\t%s", line, r.command(p)))
		case state.OK():
			r.print(stamp + "\t" + r.stateRow(p, state.String(), r.spent[key]))
		}
	}
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
			if r.special == "" && !slices.Contains(r.states, allStates) && !(state.OK() && slices.Contains(r.states, state.String())) {
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
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%.2f\t\t%s%s%s", p.Get("proc.psinfo.pid"), state, ticks(p, "proc.psinfo.utime"),
		ticks(p, "proc.psinfo.stime"), spent, function, strings.Repeat("\t", tabs), command)
}

// ticks returns the processor time since the previous sample.
func ticks(p pmcc.Process, metric string) string {
	if diff, ok := p.Since(metric); ok {
		return diff.String()
	}
	return "?"
}
