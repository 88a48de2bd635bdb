package dstat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/pmapi"
)

// minWidth is the minimum width of a column.
const minWidth = 3

// A result is the value of an instance in the last fetch.
type result struct {
	instance
	value pcp.Value
}

// defineMetrics adds the formulas of the plugins to the derived metrics. Their names there differ from
// those that users see, which may contain characters that are invalid in metric names.
func defineMetrics(set *derive.Set, plugins []*plugin) error {
	n := 0
	for _, p := range plugins {
		for _, m := range p.metrics {
			m.source = "dstat.m" + strconv.Itoa(n)
			n++
			for i, formula := range m.formulas {
				if err := m.define(set, formula, i == 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// define adds a formula. As in the C program, more definitions can follow it after semicolons.
func (m *metric) define(set *derive.Set, formula string, first bool) error {
	for i, part := range strings.Split(formula, ";") {
		name, source := m.name, m.source
		switch {
		case i == 0 && !first:
			continue // the name is defined
		case i > 0 && part == "":
			continue
		case i > 0:
			var ok bool
			if name, part, ok = strings.Cut(part, "="); !ok {
				//lint:ignore ST1005 these are the words of the C program, to the user
				return errors.New("Invalid syntax (expected metric=expression)")
			}
			name = strings.TrimSpace(name)
			if source = name; known(set, name) {
				continue
			}
		}
		err := set.Add(source, strings.TrimSpace(part))
		if e, ok := errors.AsType[*derive.Error](err); ok {
			e.Name = name
		}
		if err != nil {
			//lint:ignore ST1005 these are the words of the C program, to the user
			return fmt.Errorf("%s %w\n", pcp.ErrConv.Error(), err)
		}
	}
	return nil
}

// known reports whether a set has a metric.
func known(set *derive.Set, name string) bool {
	_, ok := set.Lookup(name)
	return ok
}

// original replaces the name in an error of a definition with the name that users see.
func original(err error, plugins []*plugin) error {
	e, ok := errors.AsType[*derive.SemanticError](err)
	if !ok {
		return err
	}
	for _, p := range plugins {
		for _, m := range p.metrics {
			if m.source == e.Name {
				return &derive.SemanticError{Name: m.name, Where: e.Where, Msg: e.Msg}
			}
		}
	}
	return err
}

// A metricError reports why a metric of a plugin is unavailable.
type metricError struct {
	name string
	err  error
}

func (e *metricError) Error() string {
	return fmt.Sprintf("Invalid metric %s (%s).", e.name, pmrep.ErrText(e.err))
}

func (e *metricError) Unwrap() error { return e.err }

// A plainError is printed without the name of the program, as the C program prints it.
type plainError struct{ text string }

func (e *plainError) Error() string { return e.text }

func plainf(format string, args ...any) error { return &plainError{fmt.Sprintf(format, args...)} }

// bind looks the metrics of the plugins up in the source and adds them to the group. Metrics without
// any of the requested instances are removed from their plugins.
func (r *report) bind(ctx context.Context) error {
	var all []*metric
	for _, p := range r.plugins {
		all = append(all, p.metrics...)
	}
	b := binder{c: r.c, instances: make(map[pcp.InDom][]pcp.Instance)}
	b.lookup(ctx, all)
	found := false
	for _, p := range r.plugins {
		kept := p.metrics[:0]
		for _, m := range p.metrics {
			ok, err := b.match(ctx, m)
			if err != nil {
				return err
			}
			if ok {
				kept = append(kept, m)
			}
		}
		p.metrics = kept
		found = found || p.time || len(kept) > 0
	}
	if !found {
		return &plainError{"No matching instances found."}
	}
	fetched := 0
	for _, p := range r.plugins {
		for _, m := range p.metrics {
			fetched++
			if err := m.finish(r.table.path == "archive"); err != nil {
				return err
			}
			var err error
			m.group, err = r.group.AddInstances(ctx, pmapi.GroupMetric{Metric: m.source, Scale: m.scale, Type: m.out})
			if err != nil {
				return err
			}
		}
		p.arrange()
	}
	if fetched > 0 {
		return nil
	}
	// The times shown are those of a metric that each source has.
	_, err := r.group.AddInstances(ctx, pmapi.GroupMetric{Metric: "event.missed", Type: pcp.TypeU32})
	return err
}

// A binder looks metrics up.
type binder struct {
	c         *pmapi.Context
	descs     map[string]pcp.Desc
	instances map[pcp.InDom][]pcp.Instance
}

// lookup looks up all metrics at once, and then retries those that failed one by one.
func (b *binder) lookup(ctx context.Context, all []*metric) {
	b.descs = make(map[string]pcp.Desc, len(all))
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.source
	}
	if len(names) == 0 {
		return
	}
	ids, _ := b.c.LookupName(ctx, names...)
	if len(ids) != len(names) {
		return
	}
	descs, _ := b.c.LookupDescs(ctx, ids...)
	if len(descs) != len(names) {
		return
	}
	for i, d := range descs {
		if ids[i] != pcp.PMIDNull && d.PMID != pcp.PMIDNull {
			b.descs[names[i]] = d
		}
	}
}

func (b *binder) desc(ctx context.Context, name string) (pcp.Desc, error) {
	if d, ok := b.descs[name]; ok {
		return d, nil
	}
	ids, err := b.c.LookupName(ctx, name)
	if err != nil {
		return pcp.Desc{}, err
	}
	return b.c.LookupDesc(ctx, ids[0])
}

// match finds the requested instances that a metric has, and reports whether there are any.
func (b *binder) match(ctx context.Context, m *metric) (bool, error) {
	var err error
	if m.desc, err = b.desc(ctx, m.source); err != nil {
		return false, &metricError{m.name, err}
	}
	all, err := b.of(ctx, m.desc.InDom)
	if err != nil {
		return false, &metricError{m.name, err}
	}
	if !m.desc.Type.IsNumeric() && m.desc.Type != pcp.TypeString {
		return false, &metricError{m.name, pcp.ErrType}
	}
	if len(m.instances) > 0 && all[0].Name != "" {
		if all, err = pmrep.SelectInstances(all, m.instances); err != nil {
			return false, err
		}
	}
	for _, in := range all {
		m.matched = append(m.matched, instance{in.Inst, in.Name, in.Inst != pcp.InNull})
	}
	return len(m.matched) > 0, nil
}

// of returns the instances of a domain, a nameless one if there are none.
func (b *binder) of(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	none := []pcp.Instance{{Inst: pcp.InNull}}
	if indom == pcp.InDomNull {
		return none, nil
	}
	if list, ok := b.instances[indom]; ok {
		return list, nil
	}
	var list []pcp.Instance
	var err error
	if a, ok := b.c.Archive(); ok {
		list, err = a.GetInDomArchive(ctx, indom)
	} else {
		list, err = b.c.GetInDom(ctx, indom)
	}
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = ascii(list[i].Name)
	}
	if len(list) == 0 {
		list = none
	}
	b.instances[indom] = list
	return list, nil
}

// ascii removes characters that are not ASCII, as the C program does in names of instances.
func ascii(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return -1
		}
		return r
	}, s)
}

// finish determines how the values of a metric are fetched and printed. If plain is set, they are
// as in the source.
func (m *metric) finish(plain bool) error {
	raw := m.kind == "raw" || plain
	unit := m.unit
	if unit == "" || plain {
		unit = m.desc.Units.String()
	}
	units, _, err := pcp.ParseUnits(unit)
	if err != nil {
		why := ""
		if e, ok := errors.AsType[*pcp.UnitsError](err); ok {
			why = " " + e.Reason
		}
		return plainf("%s%s: %s.", pmrep.ErrText(pcp.ErrConv), why, unit)
	}
	counter := !raw && m.desc.Sem == pcp.SemCounter
	m.scale = unit
	if counter && m.desc.Type != pcp.TypeString && !strings.Contains(unit, "/") {
		m.scale += " / s"
	}
	if strings.Contains(m.scale, " / ") {
		m.scale = shortUnits().Replace(m.scale)
	}
	m.out = pcp.TypeDouble
	if !counter && units.String() == m.desc.Units.String() {
		m.out = m.desc.Type
	}
	if m.desc.Type == pcp.TypeString {
		m.out = pcp.TypeString
	}
	m.look.units = units
	switch {
	case m.look.print != 0:
	case m.out == pcp.TypeString:
		m.look.print = asString
	case m.out == pcp.TypeDouble, m.out == pcp.TypeFloat:
		m.look.print = asFloat
	default:
		m.look.print = asDecimal
	}
	width, err := integer(m.width)
	if err != nil || width < 0 {
		return plainf("Non-negative integer expected: %s", m.name)
	}
	if width == 0 {
		width = utf8.RuneCountInString(m.label)
	}
	m.look.width = max(width, minWidth)
	m.max = (max(len(m.matched), 1) + 999) / 1000 * 1000
	return nil
}

// shortUnits writes the units of rates as in the C program.
var shortUnits = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("nanosec", "ns", "microsec", "us", "millisec", "ms", "sec", "s", "hour", "h", " / ", "/")
})

// arrange determines the columns of a plugin.
func (p *plugin) arrange() {
	for _, m := range p.metrics {
		for _, in := range m.matched {
			if !slices.Contains(p.shown, in) && !slices.ContainsFunc(p.shown, in.sameName) {
				p.shown = append(p.shown, in)
			}
			name := m.columnName(in)
			if !slices.Contains(p.names, name) {
				p.names = append(p.names, name)
			}
		}
	}
}

// sameName reports whether two instances have the same name.
func (in instance) sameName(other instance) bool {
	return in.named == other.named && in.name == other.name
}

// take takes the values of a metric from the last fetch.
func (m *metric) take() {
	m.results = m.results[:0]
	if m.group.Err != nil || len(m.group.Values) > m.max {
		return
	}
	limit := float64(m.plugin.limit)
	for i := range m.group.Values {
		v := &m.group.Values[i]
		if v.Err != nil || v.Inst != pcp.InNull && v.Name == "" {
			continue
		}
		if limit != 0 && m.out != pcp.TypeString {
			f := number(v.Value)
			if limit > 0 && f < limit || limit < 0 && f > -limit {
				continue
			}
		}
		m.results = append(m.results, result{instance{v.Inst, v.Name, v.Name != ""}, v.Value})
	}
}

// number returns a value as a number, 0 if it is a string.
func number(v pcp.Value) float64 {
	f, _ := v.Float64()
	return f
}
