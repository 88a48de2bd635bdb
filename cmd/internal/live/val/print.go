package val

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pcptime"
)

func (x *viewer) printf(format string, args ...any) { x.out = fmt.Appendf(x.out, format, args...) }

// howWide returns the width of a column for values of a type, -1 if they
// cannot be shown.
func howWide(t pcp.Type) int {
	switch t {
	case pcp.Type32, pcp.TypeU32:
		return 11
	case pcp.TypeFloat:
		return 13
	case pcp.Type64, pcp.TypeU64, pcp.TypeDouble, pcp.TypeString, pcp.TypeAggregate, pcp.TypeAggregateStatic:
		return 21
	case pcp.TypeEvent, pcp.TypeHighResEvent:
		return 0
	}
	return -1
}

// date returns a date. With PCP_COMPAT=7 it has microseconds or nanoseconds if the times of values have them.
func (x *viewer) date(t pcp.Timestamp) string {
	switch {
	case x.stamps == 0 || !x.env.Seven():
		return pcptime.Ctime(t, x.loc)
	case x.stamps == 1:
		return t.Time().In(x.loc).Format("Mon Jan _2 15:04:05.000000 2006")
	}
	return t.Time().In(x.loc).Format("Mon Jan _2 15:04:05.000000000 2006")
}

// header prints the description of the values.
func (x *viewer) header(interval time.Duration) {
	if !x.events {
		x.printf("metric:    %s\n", x.metric)
	}
	if x.archive != nil {
		x.printf("archive:   %s\n", x.source)
	}
	x.printf("host:      %s\n", x.host)
	if x.archive != nil {
		x.printf("start:     %s\n", x.date(x.window.Origin))
		if x.window.Finish.Sec != pcp.MaxSec {
			x.printf("end:       %s\n", x.date(x.window.Finish))
		}
	}
	if !x.events {
		x.printf("semantics: %s", semantics(x.desc.Sem))
		if x.rates() {
			x.printf(" (converting to rate)")
		}
		x.printf("\nunits:     %s", unitsText(x.desc.Units))
		if x.rates() {
			u := rateUnits(x.desc.Units)
			text := "time utilization"
			if u.HasDim() {
				text = unitsText(u)
			}
			x.printf(" (converting to %s)", text)
		}
		x.out = append(x.out, '\n')
	}
	if x.samples < 0 {
		x.printf("samples:   all\n")
	} else {
		x.printf("samples:   %d\n", x.samples)
	}
	if x.samples > 1 && !x.unfiltered {
		x.printf("interval:  %1.2f sec\n", inSeconds(interval))
	}
}

// stampWidths are those of times as -X makes them, by how often it was given.
var stampWidths = [...]int{12, 31, 34}

// stamped reports whether samples start with their time: those of an archive do, and
// those that a time control requests.
func (x *viewer) stamped() bool { return x.archive != nil || x.control != nil }

// stamp appends the time of a sample if samples start with it.
func (x *viewer) stamp(t pcp.Timestamp) {
	if !x.stamped() {
		return
	}
	if x.stamps == 0 {
		x.out = t.AppendStamp(x.out, x.loc)
		return
	}
	tm := time.Unix(t.Sec, 0).In(x.loc)
	x.out = t.AppendHighResStamp(tm.AppendFormat(x.out, "Mon Jan _2 "), x.loc)
	if x.stamps == 1 {
		x.out = x.out[:len(x.out)-len("nnn")]
	}
	x.out = ctext.AppendDigits(append(x.out, ' '), uint32(tm.Year()), 4)
}

// stampGap is stamp with two spaces after it.
func (x *viewer) stampGap(t pcp.Timestamp) {
	if x.stamped() {
		x.stamp(t)
		x.out = append(x.out, "  "...)
	}
}

// rateUnits returns the units of the rate of a counter.
func rateUnits(u pcp.Units) pcp.Units {
	if u.DimTime == 0 {
		u.ScaleTime = pcp.TimeSec
	}
	u.DimTime--
	return u
}

func semantics(s pcp.Sem) string {
	switch s {
	case pcp.SemCounter:
		return "cumulative counter"
	case pcp.SemInstant:
		return "instantaneous value"
	case pcp.SemDiscrete:
		return "discrete instantaneous value"
	}
	return "unknown"
}

func unitsText(u pcp.Units) string {
	if s := u.String(); s != "" {
		return s
	}
	return "none"
}

// Styles of labels.
const (
	styleShift = iota // 3 columns to the left, over the digits before the point
	styleWide         // as wide as the column nearly
	styleLong         // some are too long and listed in full first
)

// labels prints the names of instances over their columns.
func (x *viewer) labels() {
	if x.events || x.json {
		return
	}
	if x.style < 0 {
		x.style = styleShift
		for i := range x.insts {
			if n := len(x.insts[i].Name); n > x.cols {
				x.style = styleLong
				break
			} else if n > x.cols-3 {
				x.style = styleWide
			}
		}
		if x.style == styleLong {
			for i := range x.insts {
				x.printf("full label for instance[%d]: %s\n", i, x.insts[i].Name)
			}
		}
	}
	x.out = append(x.out, '\n')
	if x.archive != nil && len(x.insts) > 0 {
		x.spaces(stampWidths[min(x.stamps, len(stampWidths)-1)])
	}
	for i := range x.insts {
		name := x.insts[i].Name
		if x.rates() && x.style == styleShift && x.fixed < 0 {
			x.label(name, x.cols-3)
			x.out = append(x.out, "    "...)
		} else {
			x.label(name, x.cols)
			x.out = append(x.out, ' ')
		}
	}
	if len(x.insts) > 0 {
		x.out = append(x.out, '\n')
	}
}

// label appends name in exactly width bytes; a negative width is to the left
// and does not cut, as in C.
func (x *viewer) label(name string, width int) {
	if width >= 0 && len(name) > width {
		name = name[:width]
	}
	x.pad(name, width)
}

// pad appends s in at least width bytes, to the left if width is negative.
func (x *viewer) pad(s string, width int) {
	start := len(x.out)
	x.out = append(x.out, s...)
	x.align(start, width)
}

// align pads the output from start on to at least width bytes, as pad does.
func (x *viewer) align(start, width int) {
	if width < 0 {
		x.spaces(-width - (len(x.out) - start))
		return
	}
	x.out = ctext.AlignRight(x.out, start, width)
}

func (x *viewer) spaces(n int) { x.out = ctext.AppendSpaces(x.out, n) }

// real appends a floating point number with four significant digits, its point
// in the same place for numbers of any size:
//
//	x.xxxE-xx   below 0.1
//	   0.0      0
//	   x.xxxx   to 0.9999
//	   x.xxx    to 9.999
//	  xx.xx     to 99.99
//	 xxx.x      to 999.9
//	xxxx.       to 9999
//	x.xxxE+xx   above
func (x *viewer) real(v float64, sem pcp.Sem, width int) {
	switch {
	case v < 0 && sem == pcp.SemCounter:
		x.pad("!", width)
	case x.fixed >= 0:
		x.float(v, 'f', x.fixed, width)
	case v == 0:
		x.float(v, 'f', 0, width-5)
		x.out = append(x.out, ".0   "...)
	case v < 0.1 || v > 9999:
		x.float(v, 'E', 3, width)
	case v <= 0.9999:
		x.float(v, 'f', 4, width)
	case v <= 9.999:
		x.float(v, 'f', 3, width-1)
		x.out = append(x.out, ' ')
	case v <= 99.99:
		x.float(v, 'f', 2, width-2)
		x.out = append(x.out, "  "...)
	case v <= 999.9:
		x.float(v, 'f', 1, width-3)
		x.out = append(x.out, "   "...)
	default:
		x.float(v, 'f', 0, width-5)
		x.out = append(x.out, ".    "...)
	}
}

// float appends v as pad does.
func (x *viewer) float(v float64, verb byte, prec, width int) {
	start := len(x.out)
	x.out = ctext.AppendFloat(x.out, v, verb, prec)
	x.align(start, width)
}

// value appends one value that is not converted to a rate.
func (x *viewer) value(v *pcp.Value, width int) {
	if x.desc.Type == pcp.TypeFloat || x.desc.Type == pcp.TypeDouble {
		report.TraceExtract(x.log, v, x.desc.Type, pcp.TypeDouble)
		if f, err := v.Extract(x.desc.Type, pcp.TypeDouble); err == nil {
			x.real(f.Double(), x.desc.Sem, width)
			return
		}
	}
	report.TracePrint(x.log, v, x.desc.Type)
	x.out = report.AppendValue(x.out, x.env, v, x.desc.Type, width, x.loc)
}

// valueRow prints the values of a sample, each in its column.
func (x *viewer) valueRow(s *sample) {
	if x.desc.InDom == pcp.InDomNull {
		if len(s.vs.Values) == 1 {
			x.value(&s.vs.Values[0], x.cols)
		} else {
			x.pad("?", x.cols)
		}
		x.out = append(x.out, '\n')
		return
	}
	values := s.vs.Values
	for i := range x.insts {
		if v := take(&values, x.insts[i].Inst); v != nil {
			x.value(v, x.cols)
		} else {
			x.pad("?", x.cols)
		}
		x.out = append(x.out, ' ')
	}
	x.out = append(x.out, '\n')
	if len(x.chosen) > 0 || x.named(s) {
		return
	}
	for i := range s.vs.Values {
		if v := &s.vs.Values[i]; x.column(v.Inst) < 0 {
			x.printf("Warning: value=")
			x.value(v, 1)
			x.printf(", but instance=%d is unknown\n", v.Inst)
		}
	}
}

// take returns the value of an instance, or nil. Values are sorted by instance;
// those before it are taken off their front.
func take(values *[]pcp.Value, inst int32) *pcp.Value {
	v := *values
	for len(v) > 0 && v[0].Inst < inst {
		v = v[1:]
	}
	*values = v
	if len(v) > 0 && v[0].Inst == inst {
		return &v[0]
	}
	return nil
}

// rateRow prints the rates from prev to s, each in its column.
func (x *viewer) rateRow(s, prev *sample) {
	delta := x.scale * (seconds(s.at) - seconds(prev.at))
	if x.desc.InDom == pcp.InDomNull {
		if len(s.vs.Values) == 1 && len(prev.vs.Values) == 1 {
			x.rate(&s.vs.Values[0], &prev.vs.Values[0], delta, x.cols)
		} else {
			x.pad("?", x.cols)
		}
		x.out = append(x.out, '\n')
		return
	}
	values, previous := s.vs.Values, prev.vs.Values
	for i := range x.insts {
		now, before := take(&values, x.insts[i].Inst), take(&previous, x.insts[i].Inst)
		if now != nil && before != nil {
			x.rate(now, before, delta, x.cols)
		} else {
			x.pad("?", x.cols)
		}
		x.out = append(x.out, ' ')
	}
	x.out = append(x.out, '\n')
	if len(x.chosen) > 0 || x.named(s) {
		return
	}
	previous = prev.vs.Values
	for i := range s.vs.Values {
		// The C tool looks for the one before in the same place only.
		now := &s.vs.Values[i]
		if i < len(previous) && previous[i].Inst == now.Inst && x.column(now.Inst) < 0 {
			x.printf("Warning: value=")
			x.rate(now, &previous[i], delta, 1)
			x.printf(", but instance=%d is unknown\n", now.Inst)
		}
	}
}

func (x *viewer) rate(now, before *pcp.Value, delta float64, width int) {
	if v, err := x.rateOf(now, before, delta); err == nil {
		x.real(v, pcp.SemCounter, width)
	} else {
		x.pad("?", width)
	}
}

// rateOf returns the rate at which a counter grew, below zero if it went back.
func (x *viewer) rateOf(now, before *pcp.Value, delta float64) (float64, error) {
	report.TraceExtract(x.log, now, x.desc.Type, pcp.TypeDouble)
	report.TraceExtract(x.log, before, x.desc.Type, pcp.TypeDouble)
	a, err := now.Extract(x.desc.Type, pcp.TypeDouble)
	if err != nil {
		return 0, err
	}
	b, err := before.Extract(x.desc.Type, pcp.TypeDouble)
	if err != nil {
		return 0, err
	}
	v := a.Double() - b.Double()
	if v < 0 && x.wrap {
		switch x.desc.Type {
		case pcp.Type32, pcp.TypeU32:
			v += 1 << 32
		case pcp.Type64, pcp.TypeU64:
			v += 1 << 64
		}
	}
	return v / delta, nil
}
