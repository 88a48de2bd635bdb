package logsummary

import (
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Flags of -D, which trace the processing of each value (the C tool's are documented
// only in the source of pmlogsummary(1)).
const (
	traceValues = 1 << iota // appl0: values and bins
	traceSums               // appl1: the sums
	traceBounds             // appl2: new minima and maxima
)

// traceFlags returns the trace flags of the debug options of o.
func traceFlags(o *cli.Options) (flags int) {
	for i, name := range []string{"appl0", "appl1", "appl2"} {
		if o.Debugging(name) {
			flags |= 1 << i
		}
	}
	return flags
}

func (t *tool) tracef(which int, format string, args ...any) {
	if t.trace&which != 0 {
		t.complain(format, args...)
	}
}

// traceMark reports a mark.
func (t *tool) traceMark(now int64) {
	if t.trace&traceValues == 0 {
		return
	}
	delimiter := t.delimiter
	t.delimiter = '\n'
	t.out.Write(t.appendTime(nil, now))
	t.delimiter = delimiter
	fmt.Fprint(t.out, " - mark record\n\n")
}

// traceFirst reports the first value of an instance.
func (t *tool) traceFirst(m *metric) {
	i := &m.insts[len(m.insts)-1]
	t.tracef(traceValues, "%s Initially - min/max=%f/%f\n", t.names(m.desc.PMID), i.min, i.max)
}

// traceBin reports the bin of a value.
func (t *tool) traceBin(m *metric, k, bin int, v float64) {
	i := &m.insts[k]
	t.tracef(traceValues, "%s selected bin %d/%d (val=%s, min=%s, max=%s)\n", t.names(m.desc.PMID), bin, t.bins,
		t.appendNumber(nil, v), t.appendNumber(nil, i.min), t.appendNumber(nil, i.max))
}

// traced processes a value and reports its effect.
func (t *tool) traced(m *metric, i *instance, v float64, now int64) {
	names := t.names(m.desc.PMID)
	diff, last := m.since(i.lastTime, now), i.last
	if !m.counter {
		m.observe(i, v, now)
		t.traceSum(names, i, diff)
		t.tracef(traceSums, "lastval=%f timesum=%f (+%f) timespan=%f\n", last, i.timed, last*diff, seconds(now-i.first))
		return
	}
	if diff *= m.scale; diff == 0 {
		return
	}
	w := v
	if !i.marked && v < i.last && t.unwrap {
		w = m.unwrap(v)
	}
	t.tracef(traceValues, "%s base value is %f, count %d\n", names, w, i.count+1)
	if i.marked || w < i.last {
		t.tracef(traceSums, "%s counter wrapped or <mark>\n", names)
		m.countUp(i, v, now, t.unwrap)
		return
	}
	rate := (w - i.last) / diff
	if i.count > 0 {
		inst, _ := t.meta.LastName(m.desc.InDom, i.inst)
		bound := func(what string) {
			layout := "15:04:05.000"
			if t.env.Seven() {
				layout = "15:04:05.000000000"
			}
			t.tracef(traceBounds, "new %s value for %s (inst[%s]: %f) at %s\n", what, names, inst, rate,
				absolute(t.base, now).Time().In(t.loc).Format(layout))
		}
		if rate < i.min {
			bound("min")
		}
		if rate > i.max {
			bound("max")
		}
	}
	m.countUp(i, v, now, t.unwrap)
	t.traceSum(names, i, diff)
	t.tracef(traceSums, "rate=%f timesum=%f (+%f) timespan=%f\n", rate, i.timed, diff*(w-last)/2, seconds(now-i.first))
}

func (t *tool) traceSum(names string, i *instance, diff float64) {
	t.tracef(traceSums, "++ %s timedelta=%f count=%d\nsum=%f min=%f max=%f stocsum=%f\n", names, diff, i.count, i.sum, i.min, i.max, i.stochastic)
}
