package pmapi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

// A FetchGroup fetches the values that a program wants together, converted to
// the types and scales that it wants, counters to rates (PMAPI(3),
// pmCreateFetchGroup(3)). It is for one goroutine.
type FetchGroup struct {
	c        *Context
	ids      []pcp.PMID
	items    []*GroupItem
	insts    []*GroupInstances
	events   []*GroupEvents
	structs  []*GroupStruct
	names    map[pcp.InDom]map[int32]string
	whole    bool               // the group has derived metrics, and so all instances fetched
	profiled map[pcp.InDom]bool // domains whose wanted instances are in the profile
	res      [2]pcp.Result      // the newest at cur, the one before at 1-cur
	cur      int
	hasPrev  bool
	changes  Changes
	preserve bool // keep values of discrete metrics without a new value
	wrap     bool // assume that a counter that fell has wrapped
}

// A GroupItem is one value of a FetchGroup. Fetch sets Value and Err.
type GroupItem struct {
	// Value has the type that was asked for. Where there is an error it is
	// -1, all bits set, NaN or the empty string.
	Value pcp.Value
	// Err is nil if Value is good; pcp.ErrAgain if it is a rate, which takes
	// two fetches; pcp.ErrValue if there is none.
	Err error

	m    conversion
	inst int32
}

// GroupInstances are the values of all instances of a metric in a FetchGroup.
// Fetch sets Values and Err.
type GroupInstances struct {
	Values []InstanceValue // in ascending order of the instances
	Err    error           // why there are no Values

	m conversion
}

// An InstanceValue is the value of one instance, as in GroupItem.
type InstanceValue struct {
	Inst  int32
	Name  string // external name, "" for a metric with a single value or if it is not known
	Value pcp.Value
	Err   error
}

// A conversion is a metric and the conversion of its values.
type conversion struct {
	desc  pcp.Desc
	set   int // index of its set in a result; -1 for a field of events
	out   pcp.Type
	rate  bool
	scale bool // to units, then times mult
	units pcp.Units
	mult  float64

	factor float64 // of units, if ready
	ready  bool
}

// NewFetchGroup returns an empty group that fetches from c. It takes c over:
// the group decides on its profile. PCP_COUNTER_WRAP and PCP_DISCRETE_ONCE in
// the environment of the process have effect; NewFetchGroupConfig asks another.
func NewFetchGroup(c *Context) (*FetchGroup, error) {
	return NewFetchGroupConfig(c, config.Process())
}

// NewFetchGroupConfig is NewFetchGroup with the environment of cfg.
func NewFetchGroupConfig(c *Context, cfg *config.Config) (*FetchGroup, error) {
	g := &FetchGroup{c: c, wrap: cfg.IsSet("PCP_COUNTER_WRAP"), preserve: !cfg.IsSet("PCP_DISCRETE_ONCE")}
	return g, g.Clear()
}

// Context returns the context of the group (pmGetFetchGroupContext(3)).
func (g *FetchGroup) Context() *Context { return g.c }

// Clear forgets all that was added to the group and fetched
// (pmClearFetchGroup(3)).
func (g *FetchGroup) Clear() error {
	g.ids, g.items, g.insts, g.events, g.structs, g.hasPrev = nil, nil, nil, nil, nil, false
	g.names = make(map[pcp.InDom]map[int32]string)
	// Domains that the group does not name keep all instances: derived metrics may need them.
	for indom := range g.profiled {
		if err := g.c.AddProfile(indom); err != nil {
			return err
		}
	}
	g.profiled, g.whole = make(map[pcp.InDom]bool), false
	return nil
}

// wantInstance adds an instance to those of its domain that are fetched.
func (g *FetchGroup) wantInstance(indom pcp.InDom, inst int32) error {
	if g.whole {
		return nil
	}
	if !g.profiled[indom] {
		if err := g.c.DelProfile(indom); err != nil {
			return err
		}
		g.profiled[indom] = true
	}
	return g.c.AddProfile(indom, inst)
}

// Close closes the context of the group (pmDestroyFetchGroup(3)).
func (g *FetchGroup) Close() error { return g.c.Close() }

// Changes returns the changes that the collector reported at the last Fetch.
func (g *FetchGroup) Changes() Changes { return g.changes }

// Time returns when the values of the last Fetch were taken.
func (g *FetchGroup) Time() pcp.Timestamp { return g.res[g.cur].Time }

// A GroupMetric selects the values of a metric that a FetchGroup fetches, and
// their type and units.
type GroupMetric struct {
	Metric   string
	Instance string // external name; "" of a metric that has no instances
	// Scale is "" for the value as it is, counters as a rate each second; "rate"
	// and "instant" for one or the other of any metric; or units, as
	// pcp.ParseUnits reads them, of the metric's dimension or of its rate. A rate of
	// temperatures must be in the metric's own degrees.
	Scale string
	Type  pcp.Type // of the values: a numeric type or pcp.TypeString
}

// Add adds one value to the group (pmExtendFetchGroup_item(3)).
func (g *FetchGroup) Add(ctx context.Context, m GroupMetric) (*GroupItem, error) {
	return g.add(ctx, m, newConversion)
}

// A converter determines how values of a metric are converted to the wanted ones.
type converter func(pcp.Desc, GroupMetric) (conversion, error)

func (g *FetchGroup) add(ctx context.Context, m GroupMetric, conv converter) (*GroupItem, error) {
	desc, err := g.lookup(ctx, m.Metric)
	if err != nil {
		return nil, err
	}
	item := &GroupItem{}
	if item.inst, err = g.instance(ctx, m.Metric, desc.InDom, m.Instance); err != nil {
		return nil, err
	}
	if item.m, err = conv(desc, m); err != nil {
		return nil, fmt.Errorf("%s in %q: %w", m.Metric, m.Scale, err)
	}
	if desc.InDom != pcp.InDomNull {
		if err := g.wantInstance(desc.InDom, item.inst); err != nil {
			return nil, err
		}
	}
	item.Value, item.Err = missingValue(m.Type), pcp.ErrValue
	g.items = append(g.items, item)
	item.m.set = g.addID(desc.PMID)
	return item, nil
}

// AddInstances adds the values of all instances of a metric, or its single
// value, to the group (pmExtendFetchGroup_indom(3)). It ignores m.Instance.
func (g *FetchGroup) AddInstances(ctx context.Context, m GroupMetric) (*GroupInstances, error) {
	return g.addInstances(ctx, m, newConversion)
}

func (g *FetchGroup) addInstances(ctx context.Context, m GroupMetric, conv converter) (*GroupInstances, error) {
	desc, err := g.lookup(ctx, m.Metric)
	if err != nil {
		return nil, err
	}
	all := &GroupInstances{Err: pcp.ErrValue}
	if all.m, err = conv(desc, m); err != nil {
		return nil, fmt.Errorf("%s in %q: %w", m.Metric, m.Scale, err)
	}
	if desc.InDom != pcp.InDomNull {
		if err := g.c.AddProfile(desc.InDom); err != nil {
			return nil, err
		}
		g.profiled[desc.InDom] = true
	}
	g.insts = append(g.insts, all)
	all.m.set = g.addID(desc.PMID)
	return all, nil
}

// lookup returns the descriptor of a metric. What a derived metric is computed of has instances that the
// group does not know: then the group has all instances fetched.
func (g *FetchGroup) lookup(ctx context.Context, metric string) (pcp.Desc, error) {
	ids, err := g.c.LookupName(ctx, metric)
	if err != nil {
		return pcp.Desc{}, err
	}
	desc, err := g.c.LookupDesc(ctx, ids[0])
	if err == nil && desc.PMID.IsDerived() && !g.whole {
		g.whole = true
		err = g.c.AddProfile(pcp.InDomNull)
	}
	return desc, err
}

// instance finds the instance of a metric, which it must have just if there are
// any.
func (g *FetchGroup) instance(ctx context.Context, metric string, indom pcp.InDom, name string) (int32, error) {
	if (indom == pcp.InDomNull) != (name == "") {
		return 0, fmt.Errorf("%s[%s]: %w", metric, name, pcp.ErrInDom)
	}
	if indom == pcp.InDomNull {
		return pcp.InNull, nil
	}
	inst, err := g.c.LookupInDom(ctx, indom, name)
	if err != nil {
		// The start of an archive is before its first instances.
		if a, ok := g.c.Archive(); ok {
			return a.lastInstance(ctx, indom, name)
		}
	}
	return inst, err
}

// addID adds a metric to those that are fetched and returns where its values
// will be.
func (g *FetchGroup) addID(id pcp.PMID) int {
	if i := slices.Index(g.ids, id); i >= 0 {
		return i
	}
	g.ids = append(g.ids, id)
	return len(g.ids) - 1
}

// newConversion works out the conversion (fetchgroup.c: pmfg_prep_conversion).
func newConversion(desc pcp.Desc, want GroupMetric) (conversion, error) {
	m := conversion{desc: desc, out: want.Type}
	for _, t := range []pcp.Type{desc.Type, want.Type} {
		if !t.IsNumeric() && t != pcp.TypeString {
			return m, pcp.ErrType
		}
	}
	switch want.Scale {
	case "":
		m.rate = desc.Sem == pcp.SemCounter
		return m, nil
	case "rate":
		m.rate = true
		return m, nil
	case "instant":
		return m, nil
	}
	var err error
	if m.units, m.mult, err = pcp.ParseUnits(want.Scale); err != nil {
		return m, err
	}
	m.scale = true
	from, to := desc.Units, m.units
	if from.DimSpace != to.DimSpace || from.DimCount != to.DimCount {
		return m, pcp.ErrConv
	}
	sameExtra := from.Extra.Unit() == to.Extra.Unit()
	switch from.DimTime {
	case to.DimTime:
		if !sameExtra {
			return m, pcp.ErrConv
		}
		return m, nil
	case to.DimTime + 1:
		// Rates are computed for each second. Units as "millisec / s" have their factor in mult, which is divided as in
		// C: to multiply it by 1e-9 would round it differently.
		switch to.ScaleTime {
		case pcp.TimeNsec:
			m.mult /= 1e9
		case pcp.TimeUsec:
			m.mult /= 1e6
		case pcp.TimeMsec:
			m.mult /= 1e3
		case pcp.TimeSec:
		case pcp.TimeMin:
			m.mult *= 60
		case pcp.TimeHour:
			m.mult *= 3600
		default:
			return m, pcp.ErrConv
		}
		m.units.DimTime++
		m.rate = true
		if !sameExtra {
			return m, pcp.ErrConv
		}
		// A rate of degrees Celsius has no value in degrees Fahrenheit: the zero of one is not that of the other.
		if zero, err := pcp.ConvScale(pcp.DoubleValue(0), from, m.units); err != nil || zero.Double() != 0 {
			return m, pcp.ErrConv
		}
		return m, nil
	}
	return m, pcp.ErrConv
}

// Fetch fetches all values of the group and sets what Add and AddInstances
// returned (pmFetchGroup(3)). If it returns an error, they have no values.
func (g *FetchGroup) Fetch(ctx context.Context) error {
	for _, item := range g.items {
		if item.m.desc.Sem != pcp.SemDiscrete || !g.preserve {
			item.Value, item.Err = missingValue(item.m.out), pcp.ErrValue
		}
	}
	for _, all := range g.insts {
		if all.m.desc.Sem != pcp.SemDiscrete || !g.preserve {
			all.Values, all.Err = all.Values[:0], pcp.ErrValue
		}
	}
	next := 1 - g.cur
	changes, err := g.c.FetchInto(ctx, g.ids, &g.res[next])
	if g.changes = changes; err != nil {
		g.hasPrev = false
		for _, item := range g.items {
			item.Value, item.Err = missingValue(item.m.out), pcp.ErrValue
		}
		for _, all := range g.insts {
			all.Values, all.Err = all.Values[:0], pcp.ErrValue
		}
		for _, events := range g.events {
			events.Records, events.Err = events.Records[:0], pcp.ErrValue
		}
		for _, gs := range g.structs {
			gs.fill()
		}
		return err
	}
	var prev *pcp.Result
	if g.hasPrev {
		prev = &g.res[g.cur]
	}
	g.cur, g.hasPrev = next, true
	res := &g.res[next]
	res.SortInstances()
	// Strings point into memory that the next call overwrites. First all
	// values are taken, then names are asked for.
	for _, item := range g.items {
		if g.keep(&item.m, &res.Sets[item.m.set]) {
			continue
		}
		v, err := item.m.raw(item.inst, res)
		if err != nil {
			item.Value, item.Err = missingValue(item.m.out), err
			continue
		}
		item.Err = g.convert(&item.m, &item.Value, v, 0, res, prev)
	}
	for _, all := range g.insts {
		g.fill(all, res, prev)
	}
	for _, events := range g.events {
		g.unpack(events, res, prev)
	}
	for _, all := range g.insts {
		g.nameInstances(ctx, all)
	}
	for _, gs := range g.structs {
		gs.fill()
	}
	return ctx.Err()
}

// keep reports whether the old values stay, as those of discrete metrics do until
// new ones come.
func (g *FetchGroup) keep(m *conversion, vs *pcp.ValueSet) bool {
	return g.preserve && m.desc.Sem == pcp.SemDiscrete && vs.Err == 0 && len(vs.Values) == 0
}

func (g *FetchGroup) fill(all *GroupInstances, res, prev *pcp.Result) {
	vs := &res.Sets[all.m.set]
	if g.keep(&all.m, vs) {
		return
	}
	n := len(vs.Values)
	all.Values, all.Err = slices.Grow(all.Values[:0], n)[:n], setError(vs)
	for i := range vs.Values {
		v, iv := &vs.Values[i], &all.Values[i]
		iv.Inst, iv.Name = v.Inst, ""
		iv.Err = g.convert(&all.m, &iv.Value, v, i, res, prev)
	}
}

// nameInstances fills in the names. The instance domain is asked for at the first fetch, and again when an instance
// appears that was not known. As in C those that are not there any more have no name then, and if the question
// fails none has.
func (g *FetchGroup) nameInstances(ctx context.Context, all *GroupInstances) {
	indom := all.m.desc.InDom
	if indom == pcp.InDomNull || all.Err != nil {
		return
	}
	names, asked := g.names[indom]
	if g.setNames(all, names) && asked {
		return
	}
	list, err := g.c.GetInDom(ctx, indom)
	if err != nil {
		delete(g.names, indom)
		g.setNames(all, nil)
		return
	}
	names = make(map[int32]string, len(list))
	for _, in := range list {
		names[in.Inst] = in.Name
	}
	g.names[indom] = names
	g.setNames(all, names)
}

// setNames gives the values their names, and reports whether each has one.
func (g *FetchGroup) setNames(all *GroupInstances, names map[int32]string) bool {
	known := true
	for i := range all.Values {
		v := &all.Values[i]
		name, ok := names[v.Inst]
		v.Name, known = name, known && ok
	}
	return known
}

// raw returns the value of an instance as it came, of a result whose instances
// are sorted.
func (m *conversion) raw(inst int32, res *pcp.Result) (*pcp.Value, error) {
	if m.set < 0 || m.set >= len(res.Sets) {
		return nil, pcp.ErrValue // the metric was not in the group then
	}
	vs := &res.Sets[m.set]
	if vs.Err < 0 {
		return nil, vs.Err
	}
	if m.desc.InDom == pcp.InDomNull && len(vs.Values) > 0 {
		return &vs.Values[0], nil
	}
	i, ok := slices.BinarySearchFunc(vs.Values, inst, func(v pcp.Value, inst int32) int { return cmp.Compare(v.Inst, inst) })
	if !ok {
		return nil, pcp.ErrValue
	}
	return &vs.Values[i], nil
}

// setError returns why a set has no values, nil if it may have some.
func setError(vs *pcp.ValueSet) error {
	if vs.Err == 0 {
		return nil
	}
	return vs.Err
}

// convert converts v, value number i of its set in res, to the wanted value.
func (g *FetchGroup) convert(m *conversion, out, v *pcp.Value, i int, res, prev *pcp.Result) error {
	err := g.converted(m, out, v, i, res, prev)
	if err != nil {
		*out = missingValue(m.out)
	}
	out.Inst = v.Inst
	return err
}

func (g *FetchGroup) converted(m *conversion, out, v *pcp.Value, i int, res, prev *pcp.Result) (err error) {
	if !m.rate && !m.scale {
		*out, err = castValue(*v, m.desc.Type, m.out)
		return err
	}
	d, err := double(v, m.desc.Type)
	if err != nil {
		return err
	}
	if m.rate {
		if prev == nil {
			return pcp.ErrAgain
		}
		p, err := m.before(v.Inst, i, prev)
		if err != nil {
			return err
		}
		before, err := double(p, m.desc.Type)
		if err != nil {
			return err
		}
		if d, err = m.perSecond(d, before, res.Time.Sub(prev.Time), g.wrap); err != nil {
			return err
		}
	}
	*out, err = m.scaled(d)
	return err
}

// before is raw for a value whose instance is number i of another result.
func (m *conversion) before(inst int32, i int, res *pcp.Result) (*pcp.Value, error) {
	if m.set >= 0 && m.set < len(res.Sets) {
		if vs := &res.Sets[m.set]; vs.Err == 0 && i < len(vs.Values) && vs.Values[i].Inst == inst {
			return &vs.Values[i], nil
		}
	}
	return m.raw(inst, res)
}

// perSecond returns by how much a value rose each second, or pcp.ErrValue if it
// fell. With wrap a counter that fell has wrapped.
func (m *conversion) perSecond(now, before, seconds float64, wrap bool) (float64, error) {
	d := now - before
	if d < 0 {
		switch {
		case !wrap:
			return d, pcp.ErrValue
		case m.desc.Type == pcp.Type32, m.desc.Type == pcp.TypeU32:
			d += 1 << 32
		case m.desc.Type == pcp.Type64, m.desc.Type == pcp.TypeU64:
			d += 1 << 64
		}
	}
	return d / max(seconds, 1e-9), nil
}

// scaled returns d in the units and of the type that are wanted.
func (m *conversion) scaled(d float64) (pcp.Value, error) {
	switch {
	case m.scale && m.desc.Units.Extra != m.units.Extra:
		// Degrees are not converted by a factor alone.
		v, err := pcp.ConvScale(pcp.DoubleValue(d), m.desc.Units, m.units)
		if err != nil {
			return v, err
		}
		d = v.Double() * m.mult
	case m.scale:
		if !m.ready {
			one, err := pcp.ConvScale(pcp.DoubleValue(1), m.desc.Units, m.units)
			if err != nil {
				return one, err
			}
			m.factor, m.ready = one.Double(), true
		}
		d = d * m.factor * m.mult
	}
	if m.out == pcp.TypeDouble {
		return pcp.DoubleValue(d), nil
	}
	// Here the largest integers fit (fetchgroup.c: __pmStuffDoubleValue), while pmExtractValue(3) refuses them.
	switch {
	case m.out == pcp.Type32 && d == math.MaxInt32:
		return pcp.Int32Value(math.MaxInt32), nil
	case m.out == pcp.TypeU32 && d == math.MaxUint32:
		return pcp.Uint32Value(math.MaxUint32), nil
	case m.out == pcp.Type64 && d == 1<<63:
		return pcp.Int64Value(math.MaxInt64), nil
	case m.out == pcp.TypeU64 && d == 1<<64:
		return pcp.Uint64Value(math.MaxUint64), nil
	}
	return castValue(pcp.DoubleValue(d), pcp.TypeDouble, m.out)
}

// double returns a value of type from as a double, as castValue does.
func double(v *pcp.Value, from pcp.Type) (float64, error) {
	if v.Type() == from {
		switch from {
		case pcp.TypeU64:
			return float64(v.Uint64()), nil
		case pcp.Type64:
			return float64(v.Int64()), nil
		case pcp.TypeU32:
			return float64(v.Uint32()), nil
		case pcp.TypeDouble:
			return v.Double(), nil
		}
	}
	d, err := castValue(*v, from, pcp.TypeDouble)
	return d.Double(), err
}

// castValue is Extract that also goes between numbers and strings.
func castValue(v pcp.Value, from, to pcp.Type) (pcp.Value, error) {
	switch {
	case from == pcp.TypeString && to == pcp.TypeString:
		return pcp.StringValue(string(v.Bytes())), nil // of its own memory
	case from != pcp.TypeString && to == pcp.TypeString:
		v, err := v.Extract(from, from)
		if err != nil {
			return v, err
		}
		return pcp.StringValue(numberText(v)), nil
	case from == pcp.TypeString:
		return parseValue(string(v.Bytes()), to)
	}
	return v.Extract(from, to)
}

// missingValue returns the value that represents a missing one.
func missingValue(t pcp.Type) pcp.Value {
	switch t {
	case pcp.TypeFloat:
		return pcp.FloatValue(float32(math.NaN()))
	case pcp.TypeDouble:
		return pcp.DoubleValue(math.NaN())
	case pcp.TypeString:
		return pcp.StringValue("")
	case pcp.Type32, pcp.TypeU32:
		return pcp.RawValue(t, math.MaxUint32)
	}
	return pcp.RawValue(t, math.MaxUint64)
}
