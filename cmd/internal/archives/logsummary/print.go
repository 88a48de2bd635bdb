package logsummary

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pcpjson"
)

// micro truncates nanoseconds.
func micro(t pcp.Timestamp) pcp.Timestamp {
	t.Nsec -= t.Nsec % 1000
	return t
}

// real returns a time of microseconds in seconds (pmtimevalToReal).
func real(t pcp.Timestamp) float64 {
	return extended(t.Sec, int64(t.Nsec/1000))
}

// minus returns the time from b to a, zero if that is negative.
func minus(a, b pcp.Timestamp) pcp.Timestamp {
	a.Sec -= b.Sec
	if a.Nsec -= b.Nsec; a.Nsec < 0 {
		a.Sec, a.Nsec = a.Sec-1, a.Nsec+1e9
	}
	if a.Sec < 0 {
		return pcp.Timestamp{}
	}
	return a
}

func (t *tool) printLabel(label archive.Label) {
	fmt.Fprintf(t.out, "Log Label (Log Format Version %d)\n", label.Version)
	fmt.Fprintf(t.out, "Performance metrics from host %s\n", label.Host)
	layout := "Mon Jan _2 15:04:05.000 2006"
	if t.env.Seven() {
		layout = "Mon Jan _2 15:04:05.000000000 2006"
	}
	fmt.Fprintf(t.out, "  commencing %s\n", t.window.Start.Time().In(t.loc).Format(layout))
	if t.window.Finish.Sec == pcp.MaxSec {
		fmt.Fprint(t.out, "  ending     UNKNOWN\n")
		return
	}
	fmt.Fprintf(t.out, "  ending     %s\n", t.window.Finish.Time().In(t.loc).Format(layout))
}

func (t *tool) printHeader() {
	column := func(want bool, name string) {
		if want {
			t.b = append(append(t.b, t.delimiter), name...)
		}
	}
	t.b = append(t.b[:0], "metric"...)
	column(t.stochastic, "stochastic_average")
	column(t.timeAverage, "time_average")
	column(t.flags.sum, "sum")
	column(t.min, "minimum")
	column(t.minTime, "minimum_time")
	column(t.max, "maximum")
	column(t.maxTime, "maximum_time")
	column(t.count, "count")
	column(t.bins > 0, "bins")
	column(true, "units")
	t.out.Write(append(t.b, '\n'))
}

// printMetric prints the summary of a metric; insts names the selected instances, and
// if empty selects all. Nothing is printed twice.
func (t *tool) printMetric(name string, id pcp.PMID, insts []string) {
	m := t.metrics[id]
	if m == nil || !m.started {
		return
	}
	delete(t.metrics, id)
	for k := range m.insts {
		t.b = t.b[:0]
		if !t.appendInstance(m, k, name, insts) {
			break
		}
		t.out.Write(t.b)
	}
}

// appendInstance appends the line of an instance, and reports whether other instances
// of the metric may be selected.
func (t *tool) appendInstance(m *metric, k int, name string, insts []string) bool {
	i := &m.insts[k]
	last := absolute(t.base, i.lastTime)
	if m.desc.Sem == pcp.SemDiscrete {
		// The last value holds until the end.
		i.stochastic += i.last
		i.timed += float64(i.last * real(minus(t.window.Finish, last)))
		last = t.window.Finish
		i.count++
	}
	span := real(minus(last, absolute(t.base, i.first)))
	star := m.counter && span/t.span <= 0.1

	b := t.b
	instName, ok := "", false
	if m.desc.InDom != pcp.InDomNull {
		instName, ok = t.meta.LastName(m.desc.InDom, i.inst)
	}
	if !ok && len(insts) > 0 && m.desc.InDom == pcp.InDomNull {
		return false
	}
	if ok && len(insts) > 0 && !slices.Contains(insts, instName) {
		return true
	}
	if star {
		b = append(b, '*')
	}
	b = append(append(b, name...), t.delimiter)
	switch {
	case ok:
		b = append(append(append(b, `["`...), instName...), `"]`...)
	case m.desc.InDom != pcp.InDomNull:
		b = append(strconv.AppendUint(append(b, '['), uint64(uint32(i.inst)), 10), ']')
	}

	if m.counter {
		if span <= 0 && t.json {
			t.b = append(t.b, pcpjson.Line(&jsonSummary{Metric: name, Instance: instName, Error: "insufficient archive data"})...)
			return true
		}
		if span <= 0 {
			t.b = append(append(b, t.delimiter), "- insufficient archive data.\n"...)
			return true
		}
		i.stochastic /= float64(i.count)
		i.timed /= float64(span * m.scale)
	} else {
		i.stochastic /= float64(i.count)
		if span == 0 {
			span = 1
		}
		i.timed /= span
	}
	if t.json {
		t.jsonInstance(m, i, name, instName, star)
		return true
	}
	column := func(want bool, v float64) {
		if want {
			b = t.appendNumber(append(b, t.delimiter), v)
		}
	}
	column(t.stochastic, i.stochastic)
	column(t.timeAverage, i.timed)
	column(t.flags.sum, i.sum)
	column(t.min, i.min)
	if t.minTime {
		b = t.appendTime(b, i.minTime)
	}
	column(t.max, i.max)
	if t.maxTime {
		b = t.appendTime(b, i.maxTime)
	}
	if m.desc.Sem == pcp.SemDiscrete {
		i.count -= i.marks + 1 // the ends that were added
	}
	if t.count {
		b = strconv.AppendUint(append(b, t.delimiter), uint64(i.count), 10)
	}
	for j := range t.bins {
		b = append(append(b, t.delimiter), '[')
		n := uint32(0)
		if j == 0 || i.min != i.max {
			b = append(b, "<="...)
			b = t.appendNumber(b, float64((i.max-i.min)/float64(t.bins)*float64(j+1))+i.min)
			n = m.bins[k*t.bins+j]
		}
		b = append(b, ']', t.delimiter)
		b = strconv.AppendUint(b, uint64(n), 10)
	}
	b = append(b, t.delimiter)
	units := len(b)
	if b = m.desc.Units.AppendText(b); len(b) == units {
		b = append(b, "none"...)
	}
	t.b = append(b, '\n')
	return true
}

// appendNumber appends a number in the format of printf's %.*f.
func (t *tool) appendNumber(b []byte, v float64) []byte {
	return ctext.AppendFloat(b, v, 'f', t.precision)
}

// appendTime appends the delimiter and a time of day, with the date if the
// window is longer than a day.
func (t *tool) appendTime(b []byte, now int64) []byte {
	b = append(b, t.delimiter)
	at := absolute(t.base, now).Time().In(t.loc)
	if t.days {
		return append(at.AppendFormat(append(b, '\''), "Mon Jan _2 15:04:05.000 2006"), '\'')
	}
	return at.AppendFormat(b, "15:04:05.000")
}
