package mmv

import (
	"fmt"

	"github.com/go-pcp/pcp"
)

// define checks def and adds it with type typ. The result is never nil: a refused
// metric has one value in memory.
func (r *Registry) define(def Metric, typ Type, multi bool) *metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &metric{r: r, def: def, typ: typ}
	if err := r.admit(m, multi); err != nil {
		r.fail(fmt.Errorf("metric %q: %w", def.Name, err))
		m.r, m.inDom = nil, nil
		m.slots.grow(m, 1, false)
		return m
	}
	n := 1
	if m.inDom != nil {
		m.inDom.metrics = append(m.inDom.metrics, m)
		n = len(m.inDom.insts)
	}
	m.slots.grow(m, n, r.m != nil)
	r.byName[def.Name] = m
	r.byItem[m.item] = m
	r.c.metrics = append(r.c.metrics, m)
	if r.m != nil {
		r.addMetric(m)
	}
	for _, l := range def.Labels {
		if err := r.addLabel(pcp.LabelItem, m.item, pcp.InNull, l); err != nil {
			r.fail(fmt.Errorf("metric %q: %w", def.Name, err))
		}
	}
	return m
}

// single defines a metric with a single value, and returns that.
func (r *Registry) single(def Metric, typ Type) *slot {
	return r.define(def, typ, false).slots.at(0)
}

// admit checks a definition and fills in its zero fields.
func (r *Registry) admit(m *metric, multi bool) error {
	switch {
	case r.closed:
		return errClosed
	case r.started && r.opt.Fixed:
		return errStarted
	case !m.typ.valid():
		return fmt.Errorf("type %d: %w", m.typ, errInvalid)
	case r.byName[m.def.Name] != nil:
		return fmt.Errorf("defined twice: %w", errExist)
	case len(r.c.metrics) >= maxMetrics:
		return fmt.Errorf("more than %d metrics: %w", maxMetrics, errTooMany)
	}
	if err := checkName(m.def.Name); err != nil {
		return err
	}
	if err := checkText("one-line help", m.def.OneLine); err != nil {
		return err
	}
	if err := checkText("help", m.def.Help); err != nil {
		return err
	}
	switch m.item = m.def.Item; {
	case m.item == ItemZero:
		m.item = 0
	case m.item == 0:
		for r.byItem[r.lowItem] != nil {
			r.lowItem++
		}
		m.item = r.lowItem
	}
	if m.item < 0 || m.item > MaxItem {
		return fmt.Errorf("item %d, not in 0..%d: %w", m.item, MaxItem, errInvalid)
	}
	if other := r.byItem[m.item]; other != nil {
		return fmt.Errorf("item %d is that of %s: %w", m.item, other.def.Name, errExist)
	}
	m.inDom = m.def.InDom
	switch {
	case m.inDom != nil && m.inDom.r != r:
		return fmt.Errorf("its instance domain belongs to another registry: %w", errNoInDom)
	case m.inDom == nil && multi:
		d, err := r.addInDom(InDomDef{})
		if err != nil {
			return err
		}
		m.inDom = d
	case m.inDom != nil && !multi:
		return fmt.Errorf("a single value has no instance domain: %w", errInvalid)
	}
	return nil
}

// checkName checks a metric's name by the rules of the name space, so that the
// agent does not drop it.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("no name: %w", errInvalid)
	}
	if err := checkText("name", name); err != nil {
		return err
	}
	if !pcp.ValidName(name) {
		return fmt.Errorf("%q is not a metric name, letters, digits and underscores after a letter, with dots between: %w", name, errInvalid)
	}
	return nil
}
