package dumptext

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmapi"
)

// A metric is a metric of the report, with its values in the current and the previous sample.
type metric struct {
	from     *from
	name     string
	desc     pcp.Desc
	place    int     // index among the fetched ones
	scale    float64 // by which values are divided; 0: 1
	explicit bool    // the instances were named
	scaled   bool    // values are converted to units
	units    pcp.Units
	values   []value
}

// A value is that of an instance.
type value struct {
	inst              int32
	instance          string
	rate              float64 // converted, for a counter per second
	now, before       float64
	text              string
	err               pcp.Error // of rate
	nowErr, beforeErr pcp.Error
}

// add makes a metric one of the report. If that fails, it prints the reason and returns nil.
func (g *group) add(ctx context.Context, spec pmapi.MetricSpec, scale float64) *metric {
	f := g.use(ctx, spec.Kind, spec.Source)
	if f == nil {
		return nil
	}
	m := &metric{from: f, name: spec.Metric, scale: scale}
	ids, err := f.c.LookupName(ctx, spec.Metric)
	if err == nil && (len(ids) == 0 || ids[0] == pcp.PMIDNull) {
		err = pcp.ErrName
	}
	if err == nil {
		m.desc, err = f.c.LookupDesc(ctx, ids[0])
	}
	var insts []pcp.Instance
	if err == nil {
		insts, err = f.instances(ctx, m.desc.InDom)
	}
	switch {
	case err != nil:
		g.errorf("%s: %s", f.errSpec(m.name), cli.ErrText(err))
		return nil
	case m.desc.Type == pcp.TypeNoSupport:
		g.errorf("%s is not supported on %s", f.errSpec(m.name), f.host)
		return nil
	case m.desc.Type == pcp.TypeAggregate || m.desc.Type == pcp.TypeAggregateStatic || m.desc.Type == pcp.TypeUnknown:
		g.errorf(`%s has type "%s", which is not a number or a string`, f.errSpec(m.name), m.desc.Type)
		return nil
	case m.desc.InDom == pcp.InDomNull && len(spec.Insts) == 0:
		m.values = []value{missing(pcp.Instance{})}
	case len(spec.Insts) == 0:
		for _, i := range insts {
			m.values = append(m.values, missing(i))
		}
	default:
		m.explicit = true
		for _, name := range spec.Insts {
			i := find(insts, name)
			if i < 0 {
				g.errorf("%s[%s]: %s", f.spec(m.name), name, cli.ErrText(pcp.ErrInst))
				return nil
			}
			m.values = append(m.values, missing(insts[i]))
		}
	}
	if m.place = slices.Index(f.ids, m.desc.PMID); m.place < 0 {
		m.place = len(f.ids)
		f.ids = append(f.ids, m.desc.PMID)
	}
	f.metrics = append(f.metrics, m)
	return m
}

// missing returns the value of an instance before any fetch.
func missing(i pcp.Instance) value {
	return value{inst: i.Inst, instance: i.Name, err: pcp.ErrValue, nowErr: pcp.ErrValue, beforeErr: pcp.ErrValue}
}

// instances returns the instances of a domain, of an archive those of all
// times.
func (f *from) instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if indom == pcp.InDomNull {
		return nil, nil
	}
	if a, ok := f.c.Archive(); ok {
		return a.GetInDomArchive(ctx, indom)
	}
	return f.c.GetInDom(ctx, indom)
}

// find returns the place of an instance, -1 if it is not there. A name may be that before the first
// blank of an instance's, or a number that is equal to it.
func find(insts []pcp.Instance, name string) int {
	if i := slices.IndexFunc(insts, func(in pcp.Instance) bool { return in.Name == name }); i >= 0 {
		return i
	}
	word := func(in pcp.Instance) (string, bool) {
		w, _, ok := strings.Cut(in.Name, " ")
		return w, ok
	}
	if i := slices.IndexFunc(insts, func(in pcp.Instance) bool { w, ok := word(in); return ok && w == name }); i >= 0 {
		return i
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(insts, func(in pcp.Instance) bool {
		w, ok := word(in)
		k, err := strconv.Atoi(w)
		return ok && err == nil && k == n
	})
}

// canonical has sizes be in bytes, counts in ones, and times of counters a share of the time.
func (m *metric) canonical() {
	u := m.desc.Units
	var to pcp.Units
	switch {
	case u.Extra.Unit() != 0:
		return
	case u.DimTime == 0 && u.DimSpace == 1 && u.DimCount == 0 && u.ScaleSpace != pcp.SpaceByte:
		to = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	case u.DimTime == 0 && u.DimSpace == 0 && u.DimCount == 1 && u.ScaleCount != 0:
		to = pcp.Units{DimCount: 1}
	case m.desc.Sem == pcp.SemCounter && u.DimTime == 1 && u.DimSpace == 0 && u.DimCount == 0:
		to = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
	default:
		return
	}
	m.units, m.scaled = to, true
}

// number reports whether the values are numbers, and not strings.
func (m *metric) number() bool { return m.desc.Type < pcp.TypeString }

// indexed reports whether the metric has instances.
func (m *metric) indexed() bool { return m.desc.InDom != pcp.InDomNull }

// shift makes the values of the sample those of the one before.
func (m *metric) shift() {
	for i := range m.values {
		v := &m.values[i]
		v.before, v.beforeErr, v.nowErr = v.now, v.nowErr, 0
	}
}

func (v *value) fail(code pcp.Error) { v.now, v.text, v.nowErr = 0, "", code }

// fail sets the error of all values.
func (m *metric) fail(code pcp.Error) {
	for i := range m.values {
		m.values[i].fail(code)
	}
}

// extract takes the values of a sample.
func (m *metric) extract(ctx context.Context, set *pcp.ValueSet) {
	switch {
	case set.Err != 0:
		m.fail(set.Err)
	case len(set.Values) == 0:
		m.fail(pcp.ErrValue)
	case !m.indexed() && len(set.Values) != 1:
		m.fail(pcp.ErrValue)
	case !m.indexed():
		m.take(&m.values[0], set.Values[0])
	default:
		if !m.explicit && len(set.Values) != len(m.values) {
			m.grow(ctx)
		}
		for i := range m.values {
			v := &m.values[i]
			at := -1
			if i < len(set.Values) && set.Values[i].Inst == v.inst {
				at = i
			} else {
				at = slices.IndexFunc(set.Values, func(x pcp.Value) bool { return x.Inst == v.inst })
			}
			if at < 0 {
				v.fail(pcp.ErrValue)
			} else {
				m.take(v, set.Values[at])
			}
		}
	}
}

func (m *metric) take(v *value, x pcp.Value) {
	if !m.number() {
		if m.desc.Type != pcp.TypeString {
			return // event records are not shown
		}
		text, _ := x.As(m.desc.Type).Text()
		v.text = text
		return
	}
	x, err := x.Extract(m.desc.Type, pcp.TypeDouble)
	if err != nil {
		v.fail(pcp.Code(err))
		return
	}
	v.now = x.Double()
}

// grow adds new instances. In an archive all are known, and vanished ones stay.
func (m *metric) grow(ctx context.Context) {
	if m.from.kind == pmapi.SourceArchive {
		return
	}
	insts, err := m.from.instances(ctx, m.desc.InDom)
	if err != nil {
		return
	}
	for _, in := range insts {
		if !slices.ContainsFunc(m.values, func(v value) bool { return v.inst == in.Inst }) {
			m.values = append(m.values, missing(in))
		}
	}
}

// update calculates the values to show, from a sample that is delta seconds after the one before.
// With wrap a counter that has become less is taken to have passed its end.
func (m *metric) update(delta float64, wrap bool) {
	for i := range m.values {
		v := &m.values[i]
		v.err = v.nowErr
		if !m.number() {
			continue
		}
		if v.rate = 0; v.err != 0 {
			continue
		}
		v.rate = v.now
		if m.desc.Sem == pcp.SemCounter {
			v.count(m.desc.Type, delta, wrap)
		}
		if v.err == 0 && m.scale != 0 {
			v.rate /= m.scale
		}
		if v.err == 0 && m.scaled {
			x, err := pcp.ConvScale(pcp.DoubleValue(v.rate), m.desc.Units, m.units)
			if err != nil {
				v.err = pcp.Code(err)
			}
			v.rate = x.Double()
		}
	}
}

// count calculates the rate of a counter per second.
func (v *value) count(t pcp.Type, delta float64, wrap bool) {
	if v.beforeErr != 0 {
		v.rate, v.err = 0, v.beforeErr
		return
	}
	v.rate = v.now - v.before
	if v.rate < 0 && delta > 0 {
		if !wrap {
			v.rate, v.err = 0, pcp.ErrValue
			return
		}
		switch t {
		case pcp.Type32, pcp.TypeU32:
			v.rate += math.MaxUint32 + 1
		case pcp.Type64, pcp.TypeU64:
			v.rate += math.MaxUint64 + 1
		}
	}
	if delta != 0 {
		v.rate /= delta
	} else {
		v.rate = 0
	}
}

// spec is how the value at i is called in full.
func (m *metric) spec(withSource, withInstance bool, i int) string {
	s := m.name
	if withSource {
		s = m.from.spec(s)
	}
	if withInstance && m.indexed() {
		s += `["` + m.values[i].instance + `"]`
	}
	return s
}
