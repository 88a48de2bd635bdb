package query

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A cell is a value in a calculation. Functions read the text of their
// operands, as in the C implementation: a number has no more digits than its
// text.
type cell struct {
	at   pcp.Timestamp
	inst sid.ID
	text string
}

// made is a series during a calculation.
type made struct {
	id      sid.ID   // of the first operand, and finally of the expression
	names   []string // of the metrics of the operands
	source  sid.ID
	desc    pcp.Desc
	samples [][]cell
}

// name returns the names of the metrics as one text.
func (s *made) name() string { return strings.Join(s.names, ", ") }

type evaluator struct {
	e      *Engine
	ctx    context.Context
	window *Window // overrides the operands' windows, if not nil
	values bool
	left   int // number of values that may still be read
}

// expression calculates an expression and gives its series their identifiers.
// Series of one metric share an identifier. Without values, the store keeps the
// expression.
func (e *Engine) expression(ctx context.Context, x *Expr, w *Window, values bool) ([]*made, error) {
	ev := evaluator{e: e, ctx: ctx, window: w, values: values, left: e.MaxValues}
	if ev.left == 0 {
		ev.left = MaxValues
	}
	list, err := ev.eval(x)
	if err != nil {
		return nil, err
	}
	// The series of a metric on several hosts count as one, with one unit.
	first := map[string]*made{}
	for _, s := range list {
		f := first[s.name()]
		if f == nil {
			first[s.name()] = s
			s.id = exprID(x, s.names)
			continue
		}
		s.id = f.id
		if !sameDim(f.desc.Units, s.desc.Units) {
			return nil, operandErrorf("Incompatible units between operand metrics or expressions\n'%s' (%s)\nvs '%s' (%s)",
				f.name(), f.desc.Units, s.name(), s.desc.Units)
		}
		f.desc.Units = largest(f.desc.Units, s.desc.Units)
	}
	for _, s := range list {
		f := first[s.name()]
		if s.desc.Units != f.desc.Units {
			if err := s.rescale(f.desc.Units); err != nil {
				return nil, err
			}
			f.desc.Type = pcp.TypeDouble
		}
	}
	if w != nil {
		return list, nil
	}
	for _, s := range first {
		if err := e.Store.PutExpr(ctx, s.id, series.Expr{Query: textFor(x, s.names), Desc: exprDesc(s.desc)}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (ev *evaluator) eval(x *Expr) ([]*made, error) {
	switch {
	case x.Match != nil:
		return ev.operand(x)
	case x.Func != 0:
		list, err := ev.eval(x.Left)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if err := s.apply(x); err != nil {
				return nil, err
			}
		}
		return list, nil
	case x.Left.Number != "" || x.Right.Number != "":
		number, rest := x.Right.Number, x.Left
		if x.Left.Number != "" {
			number, rest = x.Left.Number, x.Right
		}
		list, err := ev.eval(rest)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if err := s.times(number); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	left, err := ev.eval(x.Left)
	if err != nil {
		return nil, err
	}
	right, err := ev.eval(x.Right)
	if err != nil {
		return nil, err
	}
	return pairs(x.Op, left, right)
}

// operand reads the descriptors of the matching series, and their values.
func (ev *evaluator) operand(x *Expr) ([]*made, error) {
	ids, err := ev.e.find(ev.ctx, x.Match)
	if err != nil {
		return nil, err
	}
	list := make([]*made, 0, len(ids))
	for _, id := range ids {
		m, err := ev.e.Store.Metric(ev.ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, &made{id: id, names: []string{m.Name}, source: m.Source, desc: m.Desc})
	}
	if !ev.values {
		return list, nil
	}
	w := ev.window
	if w == nil {
		w = x.Window
	}
	if w == nil {
		w = &Window{Count: 1, Newest: true}
	}
	i := 0
	var buf []byte
	for s, err := range ev.e.samples(ev.ctx, ids, *w) {
		if err != nil {
			return nil, err
		}
		for list[i].id != s.Series {
			if i++; i == len(list) {
				return nil, series.ErrUnknown // the store is inconsistent
			}
		}
		if s.Err != 0 || len(s.Values) == 0 {
			continue
		}
		if ev.left -= len(s.Values); ev.left < 0 {
			return nil, series.ErrTooMany
		}
		cells := make([]cell, 0, len(s.Values))
		for j := range s.Values {
			v := &s.Values[j]
			inst := v.Instance
			if inst.IsZero() {
				inst = s.Series
			}
			buf = series.AppendValue(buf[:0], v.Value, typeOf(v.Value, list[i].desc.Type))
			cells = append(cells, cell{s.Time, inst, string(buf)})
		}
		list[i].samples = append(list[i].samples, cells)
	}
	return list, nil
}

// number parses a value as a number.
func number(text string) float64 {
	f, _, _ := ctext.Strtod(text)
	return f
}

// scientific formats a number in the format %e of printf(3).
func scientific(f float64) string { return string(ctext.AppendFloat(nil, f, 'e', 6)) }

func isNumber(t pcp.Type) bool { return t <= pcp.TypeDouble }

// apply replaces the values of s by the results of a function.
func (s *made) apply(x *Expr) error {
	if x.Func == FuncRate && s.desc.Sem != pcp.SemCounter {
		return operandErrorf("Can't rate convert '%s', counter semantics required", Text(x.Left))
	}
	if !isNumber(s.desc.Type) {
		return operandErrorf("Series values' Type extract fail, unsupported type")
	}
	switch x.Func {
	case FuncRate:
		return s.rate()
	case FuncRescale:
		units, _, err := pcp.ParseUnits(x.Arg)
		if err != nil {
			return operandErrorf("Illegal units: '%s'", x.Arg)
		}
		if !sameDim(s.desc.Units, units) {
			return operandErrorf("Dimensions of units mismatch, for series %s the units is %s", s.id, unitsText(s.desc.Units))
		}
		return s.rescale(units)
	case FuncAbs, FuncFloor, FuncRound, FuncSqrt, FuncLog:
		s.each(x)
	case FuncMax, FuncMaxInst:
		s.overTime(func(c []cell) []cell { return []cell{extreme(c, 1)} })
	case FuncMin, FuncMinInst:
		s.overTime(func(c []cell) []cell { return []cell{extreme(c, -1)} })
	case FuncMaxSample:
		s.overInstances(func(c []cell) []cell { return []cell{extreme(c, 1)} })
	case FuncMinSample:
		s.overInstances(func(c []cell) []cell { return []cell{extreme(c, -1)} })
	case FuncSum, FuncSumInst, FuncAvg, FuncAvgInst, FuncStdevInst:
		s.overTime(func(c []cell) []cell { return []cell{{c[0].at, c[0].inst, scientific(statistic(x.Func, c))}} })
		s.became(x.Func != FuncSum && x.Func != FuncSumInst)
	case FuncSumSample, FuncAvgSample, FuncStdevSample:
		s.overInstances(func(c []cell) []cell { return []cell{{c[0].at, sid.ID{}, scientific(statistic(x.Func, c))}} })
		s.became(x.Func != FuncSumSample)
	case FuncTopkInst:
		// Each instance is a sample of its own.
		s.perInstance(func(c []cell) []cell { return largestOf(c, x.Arg) })
		s.became(true)
	case FuncTopkSample:
		s.overInstances(func(c []cell) []cell { return largestOf(c, x.Arg) })
		s.became(true)
	case FuncNthPercentileInst:
		s.overTime(func(c []cell) []cell { return []cell{percentile(c, x.Arg)} })
	case FuncNthPercentileSample:
		s.overInstances(func(c []cell) []cell { return []cell{percentile(c, x.Arg)} })
	}
	return nil
}

// became sets the type to floating point, and perhaps the semantics to instantaneous.
func (s *made) became(instant bool) {
	s.desc.Type = pcp.TypeDouble
	if instant {
		s.desc.Sem = pcp.SemInstant
	}
}

// rate calculates rates per second from consecutive samples. A rate has the
// time of the later sample.
func (s *made) rate() error {
	var out [][]cell
	for j := 1; j < len(s.samples); j++ {
		before, now := s.samples[j-1], s.samples[j]
		var cells []cell
		for k := range now {
			b := find(before, now[k].inst, k)
			if b < 0 || now[k].none() || before[b].none() {
				continue // it is new
			}
			ns := float64((now[k].at.Sec-before[b].at.Sec)*1e9 + int64(now[k].at.Nsec-before[b].at.Nsec))
			if ns == 0 {
				continue
			}
			r := (number(now[k].text) - number(before[b].text)) / (ns / 1e9)
			if r == 0 {
				r = 0 // not -0
			}
			cells = append(cells, cell{now[k].at, now[k].inst, string(ctext.AppendFloat(nil, r, 'f', 6))})
		}
		if cells != nil {
			out = append(out, cells)
		}
	}
	s.samples = out
	s.became(true)
	u := s.desc.Units
	if u.DimTime <= -8 {
		return operandErrorf("The rate of %s has units that cannot be written", s.name())
	}
	u.DimTime, u.ScaleTime = u.DimTime-1, pcp.TimeSec
	if u.DimTime == 0 {
		u.ScaleTime = 0
	}
	s.desc.Units = u
	return nil
}

// find returns the index of an instance in cells, most likely k, or -1.
func find(cells []cell, inst sid.ID, k int) int {
	if k < len(cells) && cells[k].inst == inst {
		return k
	}
	return slices.IndexFunc(cells, func(c cell) bool { return c.inst == inst })
}

// rescale converts values to units of the same dimensions.
func (s *made) rescale(to pcp.Units) error {
	for _, sample := range s.samples {
		for i := range sample {
			if sample[i].none() {
				continue
			}
			v, err := pcp.ConvScale(pcp.DoubleValue(number(sample[i].text)), s.desc.Units, to)
			if err != nil {
				return operandErrorf("Series %s cannot be converted from %s to %s", s.name(), unitsText(s.desc.Units), unitsText(to))
			}
			sample[i].text = scientific(v.Double())
		}
	}
	s.desc.Units, s.desc.Type = to, pcp.TypeDouble
	return nil
}

// each applies a function to each value.
func (s *made) each(x *Expr) {
	t := s.desc.Type
	whole := t != pcp.TypeFloat && t != pcp.TypeDouble
	base := math.E
	if x.Func == FuncLog && x.Arg != "" {
		base = number(x.Arg)
	}
	for _, sample := range s.samples {
		for i := range sample {
			if sample[i].none() {
				continue
			}
			f := number(sample[i].text)
			switch x.Func {
			case FuncAbs:
				if whole {
					if sample[i].text[0] == '-' {
						sample[i].text = sample[i].text[1:]
					}
					continue
				}
				f = math.Abs(f)
			case FuncFloor:
				if whole {
					continue
				}
				f = math.Floor(f)
			case FuncRound:
				if whole {
					continue
				}
				f = math.Round(f)
			case FuncSqrt:
				f = math.Sqrt(f)
			case FuncLog:
				f = math.Log(f)
				if x.Arg != "" {
					f /= math.Log(base)
				}
			}
			sample[i].text = scientific(f)
		}
	}
	if x.Func == FuncSqrt || x.Func == FuncLog {
		s.desc.Type = pcp.TypeDouble
	}
}

// instances returns the cells of each instance, in the order of first
// appearance.
func (s *made) instances() [][]cell {
	var out [][]cell
	at := map[sid.ID]int{}
	for _, sample := range s.samples {
		for _, c := range sample {
			i, ok := at[c.inst]
			if !ok {
				i = len(out)
				at[c.inst] = i
				out = append(out, nil)
			}
			out[i] = append(out[i], c)
		}
	}
	return out
}

// overTime makes one sample from all: for each instance the result of f.
func (s *made) overTime(f func([]cell) []cell) {
	var all []cell
	for _, c := range s.instances() {
		all = append(all, f(known(c))...)
	}
	if s.samples = nil; all != nil {
		s.samples = [][]cell{all}
	}
}

// perInstance makes one sample for each instance.
func (s *made) perInstance(f func([]cell) []cell) {
	var out [][]cell
	for _, c := range s.instances() {
		if c = f(known(c)); len(c) > 0 {
			out = append(out, c)
		}
	}
	s.samples = out
}

// overInstances replaces each sample by the result of f.
func (s *made) overInstances(f func([]cell) []cell) {
	var out [][]cell
	for _, sample := range s.samples {
		if sample = f(known(sample)); len(sample) > 0 {
			out = append(out, sample)
		}
	}
	s.samples = out
}

// known drops cells without a value, unless all lack one.
func known(cells []cell) []cell {
	if !slices.ContainsFunc(cells, cell.none) {
		return cells
	}
	if some := slices.DeleteFunc(slices.Clone(cells), cell.none); len(some) > 0 {
		return some
	}
	return cells
}

func (c cell) none() bool { return c.text == noValue }

// extreme returns the largest value, if sign is 1, or the smallest, if it is -1;
// the first of equal ones.
func extreme(cells []cell, sign float64) cell {
	best := cells[0]
	most := sign * number(best.text)
	for _, c := range cells[1:] {
		if f := sign * number(c.text); f > most {
			best, most = c, f
		}
	}
	return best
}

// statistic returns the sum, the mean or the standard deviation.
func statistic(f Func, cells []cell) float64 {
	sum := 0.0
	for _, c := range cells {
		sum += number(c.text)
	}
	n := float64(len(cells))
	switch f {
	case FuncSum, FuncSumInst, FuncSumSample:
		return sum
	case FuncAvg, FuncAvgInst, FuncAvgSample:
		return sum / n
	}
	mean, squares := sum/n, 0.0
	for _, c := range cells {
		d := number(c.text) - mean
		squares += d * d
	}
	return math.Sqrt(squares / n)
}

// descending returns the cells from the largest to the smallest value.
func descending(cells []cell) []cell {
	sorted := slices.Clone(cells)
	slices.SortStableFunc(sorted, func(a, b cell) int {
		x, y := number(a.text), number(b.text)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return sorted
}

func largestOf(cells []cell, arg string) []cell {
	n, err := strconv.Atoi(arg)
	if err != nil {
		n = math.MaxInt
	}
	return descending(cells)[:min(n, len(cells))]
}

func percentile(cells []cell, arg string) cell {
	n, _ := strconv.Atoi(arg)
	rank := int(float64(n) / 100 * float64(len(cells)))
	return descending(cells)[max(len(cells)-1-rank, 0)]
}

// times multiplies by a number from the query.
func (s *made) times(text string) error {
	if !isNumber(s.desc.Type) {
		return operandErrorf("Series values' Type extract fail, unsupported type")
	}
	n := number(text)
	for _, sample := range s.samples {
		for i := range sample {
			if !sample[i].none() {
				sample[i].text = scientific(number(sample[i].text) * n)
			}
		}
	}
	s.desc.Type = pcp.TypeDouble
	if _, err := strconv.Atoi(text); err != nil {
		s.desc.Sem = pcp.SemInstant
	}
	return nil
}

// unitsText formats units as in the descriptors of series.
func unitsText(u pcp.Units) string {
	if t := u.String(); t != "" {
		return t
	}
	return "none"
}
