package pmrep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/pmapi"
)

// domainInsts are the instances of a domain.
type domainInsts struct {
	list []pcp.Instance
	err  error
}

// A named is a metric and its specification.
type named struct {
	name string
	spec conf.Metric
}

// resolve makes the metrics of the set from its specifications.
func (s *Set) resolve(ctx context.Context) error {
	s.Metrics, s.insts = nil, make(map[pcp.InDom]*domainInsts)
	defer func() { s.insts = nil }()
	list, err := s.leaves(ctx)
	if err != nil {
		return err
	}
	s.unknown = nil
	for _, n := range list {
		if err := s.check(ctx, n); err != nil {
			return s.afterUnknown(err)
		}
	}
	if err := s.tellUnknown(); err != nil {
		return err
	}
	if len(s.Metrics) == 0 && !s.o.IgnoreUnknown {
		return &NoInstancesError{s.o.Instances}
	}
	if s.o.Seven && s.o.IgnoreUnknown && len(s.Metrics) == 0 {
		return errorf("All metrics are unknown, quitting.")
	}
	var compatible []*Metric
	for _, m := range s.Metrics {
		if err := s.complete(m); err != nil {
			return err
		}
		err := s.extend(ctx, m)
		if err == nil {
			m.match, err = newMatcher(s.o.LiveFilter, m.Wanted)
		}
		if _, said := err.(*conf.Error); said {
			return err
		}
		switch {
		case err == nil:
			compatible = append(compatible, m)
		case !s.o.IgnoreIncompat || ctx.Err() != nil:
			return err
		}
	}
	s.Metrics = compatible
	switch {
	case len(s.Metrics) > 0:
	case s.o.IgnoreUnknown:
		return errorf("Not one known metric found.")
	default:
		return errorf("No compatible metrics found.")
	}
	return s.checkPredicate()
}

// leaves returns the metrics at and below the names of the specifications.
func (s *Set) leaves(ctx context.Context) ([]named, error) {
	specs := slices.Clone(s.specs)
	for _, name := range s.o.Predicate {
		if !slices.ContainsFunc(specs, func(m conf.Metric) bool { return m.Name == name }) {
			specs = append(specs, conf.Metric{Name: name})
		}
	}
	own := make(map[string]conf.Metric, len(specs))
	for _, m := range specs {
		own[m.Name] = m
	}
	var list []named
	at := make(map[string]int)
	put := func(name string, spec conf.Metric) {
		if i, ok := at[name]; ok {
			list[i].spec = spec
			return
		}
		at[name] = len(list)
		list = append(list, named{name, spec})
	}
	if s.o.LeafOnly {
		for _, m := range specs {
			put(m.Name, m)
		}
		return list, nil
	}
	for _, m := range specs {
		for leaf, err := range s.c.Traverse(ctx, m.Name) {
			switch {
			case err == nil && leaf == m.Name:
				put(leaf, m)
			case err == nil:
				if _, ok := at[leaf]; !ok {
					put(leaf, m)
				}
			case pcp.Code(err) != pcp.ErrName:
				return nil, err
			default:
				ignore := s.o.IgnoreUnknown && slices.ContainsFunc(s.specs, func(o conf.Metric) bool { return o.Name == m.Name })
				if ignore && s.o.Seven { // which reports derived metrics that cannot be bound
					_, err := s.c.LookupName(ctx, m.Name)
					ignore = pcp.Code(err) == pcp.ErrName
				}
				if !ignore {
					put(m.Name, m)
				}
			}
		}
	}
	return list, nil
}

// incompatible is the word for a metric that cannot be reported.
func (s *Set) incompatible() string {
	if s.o.Seven {
		return "Incompatible"
	}
	return "Invalid"
}

// check adds a metric to the set if it matches the options.
func (s *Set) check(ctx context.Context, n named) error {
	m := &Metric{Name: n.name, spec: n.spec}
	id, err := s.c.LookupName(ctx, n.name)
	unknown := pcp.Code(err) == pcp.ErrName
	if err == nil {
		if slices.ContainsFunc(s.Metrics, func(o *Metric) bool { return o.Desc.PMID == id[0] }) {
			return nil
		}
		err = s.describe(ctx, m, id[0])
		unknown = s.o.Seven && pcp.Code(err) == pcp.ErrBadDerive
	}
	if unknown && s.o.Seven {
		s.unknown = append(s.unknown, n.name)
		return nil
	}
	if unknown {
		return &conf.Error{Text: fmt.Sprintf("Invalid metric %s (%s).", n.name, ErrText(pcp.ErrName)), Metric: n.name}
	}
	if err != nil {
		if ctx.Err() != nil || s.o.IgnoreIncompat {
			return ctx.Err()
		}
		return errorf("%s metric %s (%s).", s.incompatible(), n.name, ErrText(err))
	}
	if s.o.OmitFlat && m.Flat() {
		return nil
	}
	wanted := n.spec.Instances
	if len(wanted) == 0 {
		wanted = s.o.Instances
	}
	if len(wanted) > 0 && !m.Flat() && !s.o.LiveFilter {
		if m.Instances, err = selectInstances(m.Instances, wanted); err != nil {
			return err
		}
		if len(m.Instances) == 0 {
			return nil
		}
	}
	if err := s.annotate(ctx, m); err != nil && (ctx.Err() != nil || !s.o.IgnoreIncompat) {
		return errorf("%s metric %s (%s).", s.incompatible(), n.name, ErrText(err))
	}
	s.Metrics = append(s.Metrics, m)
	return nil
}

// tellUnknown reports the unknown metrics as PCP 7 does: all of them, and as an error unless they are to be ignored.
func (s *Set) tellUnknown() error {
	if len(s.unknown) == 0 {
		return nil
	}
	text := s.unknownText()
	if !s.o.IgnoreUnknown {
		return &conf.Error{Text: text, Metric: s.unknown[0]}
	}
	if s.o.Warn != nil {
		s.o.Warn(text)
	}
	return nil
}

// unknownText has a line for each unknown metric.
func (s *Set) unknownText() string {
	lines := make([]string, len(s.unknown))
	for i, name := range s.unknown {
		lines[i] = fmt.Sprintf("Unknown metric %s (%s).", name, ErrText(pcp.ErrName))
	}
	return strings.Join(lines, "\n")
}

// afterUnknown puts the lines of the unknown metrics before an error of a later metric, as PCP 7 does.
func (s *Set) afterUnknown(err error) error {
	e, ok := err.(*conf.Error)
	if !ok || len(s.unknown) == 0 {
		return err
	}
	return &conf.Error{Text: s.unknownText() + "\n" + e.Text, Metric: e.Metric}
}

// describe fills in the descriptor and the instances.
func (s *Set) describe(ctx context.Context, m *Metric, id pcp.PMID) (err error) {
	if m.Desc, err = s.c.LookupDesc(ctx, id); err != nil {
		return err
	}
	if m.Desc.InDom != pcp.InDomNull {
		d := s.instances(ctx, m.Desc.InDom)
		if d.err != nil {
			return d.err
		}
		m.Instances = slices.Clone(d.list)
	}
	if len(m.Instances) == 0 {
		m.Instances = []pcp.Instance{{Inst: pcp.InNull}}
	}
	if !m.Desc.Type.IsNumeric() && m.Desc.Type != pcp.TypeString {
		return pcp.ErrType
	}
	return nil
}

func (s *Set) instances(ctx context.Context, indom pcp.InDom) *domainInsts {
	d := s.insts[indom]
	if d == nil {
		d = new(domainInsts)
		if a, ok := s.c.Archive(); ok {
			d.list, d.err = a.GetInDomArchive(ctx, indom)
		} else {
			d.list, d.err = s.c.GetInDom(ctx, indom)
		}
		s.insts[indom] = d
	}
	return d
}

// annotate gets the texts and labels of a metric.
func (s *Set) annotate(ctx context.Context, m *Metric) error {
	if s.o.Texts {
		if err := s.texts(ctx, m); err != nil && pcp.Code(err) != pcp.ErrText {
			return err
		}
	}
	if s.o.Labels {
		s.getLabels(ctx, m)
		m.hadValues = true
	}
	return nil
}

func (s *Set) texts(ctx context.Context, m *Metric) (err error) {
	t := &m.Text
	if t.Line, err = s.c.LookupText(ctx, m.Desc.PMID, pcp.TextOneLine); err != nil {
		return err
	}
	if t.Help, err = s.c.LookupText(ctx, m.Desc.PMID, pcp.TextHelp); err != nil || m.Desc.InDom == pcp.InDomNull {
		return err
	}
	if t.InDomLine, err = s.c.LookupInDomText(ctx, m.Desc.InDom, pcp.TextOneLine); err != nil {
		return err
	}
	t.InDomHelp, err = s.c.LookupInDomText(ctx, m.Desc.InDom, pcp.TextHelp)
	return err
}

// extend adds the metric to the metrics fetched.
func (s *Set) extend(ctx context.Context, m *Metric) error {
	want := pmapi.GroupMetric{Metric: m.Name, Scale: m.Unit, Type: m.Type}
	if s.o.LiveFilter || len(m.Wanted) == 0 {
		var err error
		m.group, err = s.g.AddInstances(ctx, want)
		return err
	}
	m.items = nil
	var there []pcp.Instance
	for _, in := range m.Instances {
		want.Instance = in.Name
		it, err := s.g.Add(ctx, want)
		switch {
		case err == nil:
			m.items = append(m.items, item{in.Inst, in.Name, it})
			there = append(there, in)
		case pcp.Code(err) == pcp.ErrConv || ctx.Err() != nil:
			return err
		}
	}
	if len(there) > 0 {
		m.Instances = there
	}
	return nil
}

// checkPredicate checks the metrics of Predicate.
func (s *Set) checkPredicate() error {
	s.ranked = nil
	if len(s.o.Predicate) == 0 {
		return nil
	}
	s.kept = make(map[pcp.InDom][]int32)
	for _, name := range s.o.Predicate {
		i := s.Find(name)
		switch {
		case i < 0:
			return errorf("Predicate metric %s filtered out.", name)
		case s.Metrics[i].Flat():
			return errorf("Predicate metric must have instances.")
		case s.Metrics[i].IsString():
			return errorf("Predicate metric values must be numeric.")
		}
		s.kept[s.Metrics[i].Desc.InDom] = nil
	}
	s.ranked = make([]bool, len(s.Metrics))
	for i, m := range s.Metrics {
		_, s.ranked[i] = s.kept[m.Desc.InDom]
	}
	return nil
}
