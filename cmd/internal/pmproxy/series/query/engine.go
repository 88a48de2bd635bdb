package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// MaxValues is the default maximum number of values that an expression holds at
// once. Values that are only returned, without a calculation, do not count.
const MaxValues = 5_000_000

// ErrOperand is the error of an expression that cannot be calculated, such as
// the rate of a metric that is not a counter, or a sum of incompatible units.
// Its text has the details.
var ErrOperand = errors.New("expression")

// An operandError is an ErrOperand with the message of pmseries(1).
type operandError struct{ message string }

func (e *operandError) Error() string        { return e.message }
func (e *operandError) Is(target error) bool { return target == ErrOperand }

func operandErrorf(format string, args ...any) error {
	return &operandError{fmt.Sprintf(format, args...)}
}

// An Engine answers queries from a store. It is safe for concurrent use.
type Engine struct {
	Store series.Store
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// Zone is the time zone of dates in queries, time.Local if nil.
	Zone *time.Location
	// MaxValues limits the values of an expression, [MaxValues] if it is 0.
	MaxValues int
}

// A Value is a value of a series at a time.
type Value struct {
	Series sid.ID
	// Instance is the identifier of the instance. It is Series itself if the
	// metric has no instances, and zero if the value combines several instances. A
	// calculated series has the instances of its operands, so Instance can be the
	// series of an operand.
	Instance sid.ID
	Time     pcp.Timestamp
	// Text is the value as formatted by [series.AppendValue], valid until the
	// next value.
	Text []byte
}

// A Desc describes a series, of a metric or an expression.
type Desc struct {
	pcp.Desc
	Source sid.ID // zero for an expression

	made spelling // how C formats the descriptor of an expression
}

// exprDesc returns the descriptor of an expression, with the metric identifier
// of all expressions.
func exprDesc(d pcp.Desc) pcp.Desc {
	d.PMID = pcp.NewPMID(511, 0, 0)
	return d
}

// A Result is the result of a query: series, or values of series.
type Result struct {
	// Series are the matching series, sorted by identifier, without duplicates.
	// An expression's series is added to the store, so that Values finds it.
	Series []sid.ID
	// Windowed reports whether the query has a time window: the result is then
	// Values, not Series.
	Windowed bool

	values iter.Seq2[*Value, error]
}

// Values yields the values of a query with a window, one series after the
// other. It ends after an error. A value is valid until the next one.
func (r *Result) Values() iter.Seq2[*Value, error] {
	if r.values == nil {
		return func(func(*Value, error) bool) {}
	}
	return r.values
}

func (e *Engine) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

// Query parses and executes a query. If series is set it returns series, even
// if the query has a window.
//
// It returns the errors of [Parse] and of the store, [ErrOperand] and
// series.ErrTooMany.
func (e *Engine) Query(ctx context.Context, text string, onlySeries bool) (*Result, error) {
	q, err := Parse(text, e.now(), e.Zone)
	if err != nil {
		return nil, err
	}
	windowed := q.Window.Given && !onlySeries
	if q.Expr.Match != nil {
		ids, err := e.find(ctx, q.Expr.Match)
		if err != nil {
			return nil, err
		}
		if windowed {
			return &Result{Windowed: true, values: e.plain(ctx, ids, q.Window)}, nil
		}
		return &Result{Series: ids}, nil
	}
	list, err := e.expression(ctx, q.Expr, nil, windowed)
	if err != nil {
		return nil, err
	}
	if windowed {
		return &Result{Windowed: true, values: e.calculated(list)}, nil
	}
	r := &Result{}
	for _, s := range list {
		r.Series = append(r.Series, s.id)
	}
	slices.SortFunc(r.Series, sid.ID.Compare)
	r.Series = slices.Compact(r.Series)
	return r, nil
}

// Values yields the values of series, of metrics and expressions, in the order
// of ids. An empty window yields the newest value of each. Unknown series have
// no values.
func (e *Engine) Values(ctx context.Context, ids []sid.ID, w Window) iter.Seq2[*Value, error] {
	if !w.Given {
		w.Count, w.Newest = 1, true
	}
	return func(yield func(*Value, error) bool) {
		for _, id := range ids {
			x, err := e.Store.Expr(ctx, id)
			seq := e.plain(ctx, []sid.ID{id}, w)
			if err == nil {
				var list []*made
				xw := w
				if w.Given {
					xw.Newest = false // as in C: a count alone selects the oldest samples
				}
				if list, err = e.stored(ctx, id, x, xw); err == nil {
					seq = e.calculated(list)
				}
			} else if errors.Is(err, series.ErrUnknown) {
				err = nil
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for v, err := range seq {
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// stored calculates the values of a stored expression.
func (e *Engine) stored(ctx context.Context, id sid.ID, x series.Expr, w Window) ([]*made, error) {
	q, err := Parse(x.Query, e.now(), e.Zone)
	if err != nil {
		return nil, fmt.Errorf("expression of series %s: %w", id, err)
	}
	return e.expression(ctx, q.Expr, &w, true)
}

// Instances returns the instances of a series, for an expression those of its
// newest value.
func (e *Engine) Instances(ctx context.Context, id sid.ID) ([]series.Instance, error) {
	x, err := e.Store.Expr(ctx, id)
	if errors.Is(err, series.ErrUnknown) {
		return e.Store.Instances(ctx, id)
	} else if err != nil {
		return nil, err
	}
	// A rate needs two samples.
	made, err := e.stored(ctx, id, x, Window{Count: 2, Newest: true, Given: true})
	if err != nil {
		return nil, err
	}
	var list []series.Instance
	seen := map[sid.ID]bool{}
	for _, s := range made {
		for _, sample := range s.samples {
			for _, c := range sample {
				if seen[c.inst] {
					continue
				}
				seen[c.inst] = true
				in, err := e.Store.Instance(ctx, c.inst)
				switch {
				case err == nil:
					list = append(list, in)
				case !errors.Is(err, series.ErrUnknown):
					return nil, err
				}
			}
		}
	}
	return list, nil
}

// Describe returns the descriptor of a series, or series.ErrUnknown.
func (e *Engine) Describe(ctx context.Context, id sid.ID) (Desc, error) {
	if x, err := e.Store.Expr(ctx, id); err == nil {
		d := Desc{Desc: exprDesc(x.Desc)}
		if q, err := Parse(x.Query, e.now(), e.Zone); err == nil {
			d.made = spellingOf(q.Expr)
		}
		return d, nil
	} else if !errors.Is(err, series.ErrUnknown) {
		return Desc{}, err
	}
	m, err := e.Store.Metric(ctx, id)
	return Desc{Desc: m.Desc, Source: m.Source}, err
}

// Name returns the name of a series' metric, or its expression. It may return
// series.ErrUnknown.
func (e *Engine) Name(ctx context.Context, id sid.ID) (string, error) {
	if x, err := e.Store.Expr(ctx, id); err == nil {
		q, err := Parse(x.Query, e.now(), e.Zone)
		if err != nil {
			return x.Query, nil
		}
		return Canonical(q.Expr), nil
	} else if !errors.Is(err, series.ErrUnknown) {
		return "", err
	}
	m, err := e.Store.Metric(ctx, id)
	return m.Name, err
}

// find returns the series that match conditions.
func (e *Engine) find(ctx context.Context, m *Match) ([]sid.ID, error) {
	switch m.Op {
	case OpAnd, OpOr:
		left, err := e.find(ctx, m.Left)
		if err != nil || len(left) == 0 && m.Op == OpAnd {
			return nil, err
		}
		right, err := e.find(ctx, m.Right)
		if err != nil {
			return nil, err
		}
		if m.Op == OpAnd {
			return intersect(left, right), nil
		}
		all := slices.Concat(left, right)
		slices.SortFunc(all, sid.ID.Compare)
		return slices.Compact(all), nil
	}
	matcher, err := m.matcher()
	if err != nil {
		return nil, err
	}
	return e.Store.Select(ctx, matcher)
}

// intersect returns the intersection of two sorted lists.
func intersect(a, b []sid.ID) []sid.ID {
	var list []sid.ID
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].Compare(b[0]); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			list = append(list, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return list
}

// plain returns the recorded values of series.
func (e *Engine) plain(ctx context.Context, ids []sid.ID, w Window) iter.Seq2[*Value, error] {
	return func(yield func(*Value, error) bool) {
		var v Value
		var buf []byte
		var kind pcp.Type
		var last sid.ID
		for s, err := range e.samples(ctx, ids, w) {
			if err != nil {
				yield(nil, err)
				return
			}
			if s.Series != last {
				last = s.Series
				m, err := e.Store.Metric(ctx, last)
				if err != nil {
					yield(nil, err)
					return
				}
				kind = m.Desc.Type
			}
			v.Series, v.Time = s.Series, s.Time
			for i := range s.Values {
				iv := &s.Values[i]
				v.Instance = iv.Instance
				if v.Instance.IsZero() {
					v.Instance = s.Series
				}
				buf = series.AppendValue(buf[:0], iv.Value, typeOf(iv.Value, kind))
				v.Text = buf
				if !yield(&v, nil) {
					return
				}
			}
		}
	}
}

// typeOf returns the type of a value, or the descriptor's type if the value has no type.
func typeOf(v pcp.Value, desc pcp.Type) pcp.Type {
	if t := v.Type(); t != pcp.TypeUnknown {
		return t
	}
	return desc
}

// samples returns the samples of a window. It adds an offset and an alignment
// to the store's windows.
func (e *Engine) samples(ctx context.Context, ids []sid.ID, w Window) iter.Seq2[*series.Sample, error] {
	sw := series.Window{Start: w.Start, End: w.Finish, Interval: w.Interval, Count: w.Count, Newest: w.Newest}
	if sw.Count > 0 {
		sw.Count += w.Offset
	}
	if w.Interval > 0 && !w.Align.IsZero() {
		return e.skip(e.aligned(ctx, ids, w, sw), w.Offset)
	}
	return e.skip(e.Store.Values(ctx, ids, sw), w.Offset)
}

// skip skips the first n samples of each series.
func (e *Engine) skip(seq iter.Seq2[*series.Sample, error], n int) iter.Seq2[*series.Sample, error] {
	if n == 0 {
		return seq
	}
	return func(yield func(*series.Sample, error) bool) {
		var last sid.ID
		left := 0
		for s, err := range seq {
			if err == nil {
				if s.Series != last {
					last, left = s.Series, n
				}
				if left > 0 {
					left--
					continue
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// aligned thins samples as the store does, with shifted times.
func (e *Engine) aligned(ctx context.Context, ids []sid.ID, w Window, sw series.Window) iter.Seq2[*series.Sample, error] {
	all := sw
	all.Interval, all.Count = 0, 0
	return func(yield func(*series.Sample, error) bool) {
		for _, id := range ids {
			var t *series.Thinner
			var before *series.Sample
			for s, err := range e.Store.Values(ctx, []sid.ID{id}, all) {
				if err != nil {
					yield(nil, err)
					return
				}
				if t == nil {
					start := sw
					if start.Start.IsZero() {
						start.Start = s.Time
					}
					start.Start = alignTime(start.Start, w.Align, w.Interval)
					t = series.NewThinner(start)
				}
				if t.Next(s.Time) && !yield(before, nil) {
					return
				}
				if t.Done() {
					break
				}
				c := *s
				c.Values = slices.Clone(s.Values)
				before = &c
			}
			if t != nil && t.Last() && !yield(before, nil) {
				return
			}
		}
	}
}

// alignTime returns the first time not before t that is a multiple of interval
// away from align.
func alignTime(t, align pcp.Timestamp, interval time.Duration) pcp.Timestamp {
	// Absurdly distant times are returned unchanged.
	d := t.Sec - align.Sec
	if d < -1<<33 || d > 1<<33 {
		return t
	}
	ns := d*1e9 + int64(t.Nsec) - int64(align.Nsec)
	if rest := ns % int64(interval); rest > 0 {
		return t.Add(interval - time.Duration(rest))
	} else if rest < 0 {
		return t.Add(-time.Duration(rest))
	}
	return t
}

// calculated returns the values of an expression.
func (e *Engine) calculated(list []*made) iter.Seq2[*Value, error] {
	return func(yield func(*Value, error) bool) {
		var v Value
		for _, s := range list {
			v.Series = s.id
			for _, sample := range s.samples {
				for _, c := range sample {
					v.Instance, v.Time = c.inst, c.at
					v.Text = append(v.Text[:0], c.text...)
					if !yield(&v, nil) {
						return
					}
				}
			}
		}
	}
}

// PMIDText returns the metric identifier in the format of series descriptors.
func (d Desc) PMIDText() string {
	return fmt.Sprintf("%d.%d.%d", d.PMID.Domain(), d.PMID.Cluster(), d.PMID.Item())
}

// InDomText returns the instance domain, or "none".
func (d Desc) InDomText() string {
	if d.InDom == pcp.InDomNull {
		return "none"
	}
	return d.InDom.String()
}

// TypeText returns the type in lower case, or in upper case if an operator produced it, as in C.
func (d Desc) TypeText() string {
	if d.made.upper {
		return d.Type.String()
	}
	return strings.ToLower(d.Type.String())
}

// UnitsText returns the units, "none" if there are none, or "" if an operator or a function produced them, as
// in C.
func (d Desc) UnitsText() string {
	if d.made.units {
		return d.Units.String()
	}
	return unitsText(d.Units)
}

// A spelling lists the texts of a descriptor that the C implementation formats from numbers,
// differently from the texts that it stores for metrics.
type spelling struct {
	upper bool // the type
	units bool
}

func spellingOf(x *Expr) spelling {
	switch {
	case x.Match != nil || x.Number != "":
		return spelling{}
	case x.Func != 0:
		s := spellingOf(x.Left)
		switch x.Func {
		case FuncRate:
			return spelling{units: true}
		case FuncRescale:
			s.units = true
		case FuncLog, FuncSqrt:
			s.upper = true
		case FuncAbs, FuncFloor, FuncRound, FuncMax, FuncMaxInst, FuncMaxSample, FuncMin, FuncMinInst, FuncMinSample,
			FuncNthPercentileInst, FuncNthPercentileSample:
		default:
			s.upper = false // it is double
		}
		return s
	case x.Left.Number != "" || x.Right.Number != "":
		number, s := x.Right.Number, spellingOf(x.Left)
		if x.Left.Number != "" {
			number, s = x.Left.Number, spellingOf(x.Right)
		}
		if _, err := strconv.Atoi(number); err != nil {
			s.upper = false
		}
		return s
	}
	return spelling{upper: true, units: true}
}

// IsMistake reports whether an error of [Parse] or [Engine.Query] is a mistake
// in the query, as opposed to an error of the store.
func IsMistake(err error) bool {
	var syntax *SyntaxError
	var m *mistake
	return errors.As(err, &syntax) || errors.As(err, &m) || errors.Is(err, ErrNoExpr) || errors.Is(err, ErrLimit) || errors.Is(err, ErrOperand)
}
