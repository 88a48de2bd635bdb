package openmetrics

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/openmetrics"
	"github.com/go-pcp/pcp/pmns"
)

// Limits of a source.
const (
	maxMetrics   = 1 << 10 // the numbers that there are in a PMID
	maxInstances = 1 << 18 // of a metric, those of the past too
	maxSeries    = 1 << 19 // of a text
	maxLabels    = 128     // of a series
)

// introduce adds a series that has not been seen yet. What cannot be counted is not wanted.
func (s *source) introduce(key, rest []byte) (int32, error) {
	parsed, _, err := openmetrics.ParseSeries(key, false)
	if err != nil {
		return 0, err
	}
	if word, _ := openmetrics.Field(rest); len(word) == 0 {
		return 0, errNoValue
	}
	if len(s.series) >= maxSeries {
		return 0, fmt.Errorf("more than %d series", maxSeries)
	}
	if len(parsed.Labels) > maxLabels {
		return 0, fmt.Errorf("more than %d labels", maxLabels)
	}
	if err := s.a.budget.take(&s.held, seriesCost+int64(len(key))); err != nil {
		return 0, err
	}
	s.mu.Lock()
	slot, kind, err := s.slot(&parsed)
	s.mu.Unlock()
	if err != nil {
		s.a.budget.give(&s.held, seriesCost+int64(len(key)))
		return 0, err
	}
	at := int32(len(s.series))
	sr := series{key: string(key), next: at + 1, slot: slot, kind: kind}
	s.series = append(s.series, sr)
	s.index[sr.key] = at
	for len(s.back.bits) < len(s.owners) {
		s.back.bits, s.back.state = append(s.back.bits, 0), append(s.back.state, absent)
	}
	return at, nil
}

// slot returns where the values of a series are kept, and their type; -1 means nowhere.
func (s *source) slot(p *openmetrics.Series) (int32, pcp.Type, error) {
	naming, opt := s.filterLabels(p.Labels)
	m := s.metrics[p.Name]
	if m == nil {
		var err error
		if m, err = s.newMetric(p.Name, len(naming)+len(opt) > 0, naming, opt); m == nil || err != nil {
			return -1, pcp.TypeDouble, err
		}
	}
	inst := int32(0)
	if !m.singular {
		name := m.instanceName(naming)
		var ok bool
		if _, known := m.insts.index[name]; !known && len(m.insts.names) < maxInstances {
			if err := s.a.budget.take(&s.held, nameCost(name)); err != nil {
				return -1, pcp.TypeDouble, err
			}
		}
		if inst, ok = m.insts.add(name, maxInstances); !ok {
			s.lost++
			return -1, pcp.TypeDouble, nil
		}
		set, err := labelSet(pcp.LabelInstances, naming, "instname")
		if err == nil {
			set.Inst = inst
			m.byInst[inst] = set
		}
	}
	for int(inst) >= len(m.slots) {
		m.slots = append(m.slots, -1)
	}
	if m.slots[inst] < 0 {
		m.slots[inst] = int32(len(s.owners))
		s.owners = append(s.owners, owner{m, inst})
	}
	return m.slots[inst], m.desc.Type, nil
}

// instanceName returns the name of the instance with some labels.
func (m *metric) instanceName(naming []openmetrics.Label) string {
	if m.declared {
		for _, name := range []string{"instname", "instance"} {
			for _, l := range naming {
				if l.Name == name {
					return l.Value
				}
			}
		}
	}
	if !m.insts.prefixed {
		m.insts.prefixed, m.insts.changed, m.insts.list = true, true, nil
	}
	var b strings.Builder
	for i, l := range naming {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(l.Name + ":" + l.Value)
		m.labels[l.Name] = l.Value
	}
	return b.String()
}

// filterLabels returns the labels that are part of names of instances, and those that are not.
func (s *source) filterLabels(labels []openmetrics.Label) (naming, opt []openmetrics.Label) {
	if s.url == nil || len(s.url.labels) == 0 {
		return labels, nil
	}
	for _, l := range labels {
		switch decide(s.url.labels, l.Name) {
		case include:
			naming = append(naming, l)
		case optional:
			opt = append(opt, l)
		}
	}
	return naming, opt
}

// newMetric adds a metric. It returns nil if the metric is not wanted.
func (s *source) newMetric(name string, labelled bool, naming, opt []openmetrics.Label) (m *metric, err error) {
	if s.url != nil && decide(s.url.metrics, name) != include {
		s.debug("metric is excluded by a filter", "metric", name)
		return nil, nil
	}
	if !validName(name) {
		return nil, fmt.Errorf("%.60q cannot be the name of a metric", name)
	}
	cost := metricCost + 3*int64(len(name)) + 2*int64(len(s.lines.help))
	if err := s.a.budget.take(&s.held, cost); err != nil {
		return nil, err
	}
	defer func() {
		if m == nil || err != nil {
			s.a.budget.give(&s.held, cost)
		}
	}()
	item, ok := s.items.add(name, maxMetrics)
	if !ok {
		s.lost++
		return nil, nil
	}
	line := string(s.lines.pcp5)
	if s.url != nil {
		for _, d := range s.url.metadata {
			if d.re.MatchString(name) {
				line = "METADATA " + name + " " + strings.Join(d.pcp, " ")
				break
			}
		}
	}
	a := s.a
	m, err = newMetric(pcp.NewPMID(a.domain, s.cluster, int(item)), name, line, &s.lines)
	if err != nil {
		return nil, err
	}
	if !pmns.ValidName(m.pcpName) {
		return nil, fmt.Errorf("%.60q cannot be the name of a metric", m.pcpName)
	}
	m.singular = m.singular || !labelled
	m.labels, m.optional = make(map[string]string), make(map[string]string)
	for _, l := range naming {
		m.labels[l.Name] = l.Value
	}
	for _, l := range opt {
		m.optional[l.Name] = l.Value
	}
	if !m.singular {
		serial := firstSerial + s.cluster*maxMetrics + int(item)
		m.desc.InDom = pcp.NewInDom(a.domain, serial)
		if m.insts, err = openNumbering(a.namesPath(serial)); err != nil {
			a.log.Warn("instances of before are not known", "metric", name, "err", err)
			err = nil
		}
		for _, name := range m.insts.names {
			a.budget.add(&s.held, nameCost(name))
		}
		m.byInst = make(map[int32]pcp.LabelSet)
	}
	s.metrics[name] = m
	s.byItem[item] = m
	a.announce(s, m)
	return m, nil
}

// firstSerial is the serial number of the first instance domain of a metric.
const firstSerial = 1 << 12

// prune forgets series that have not been there for some time, if these are many.
func (s *source) prune() {
	const patience = 20
	if s.gen%patience != 0 || len(s.series) < 64 {
		return
	}
	live := 0
	for i := range s.series {
		if s.gen-s.series[i].gen < patience {
			live++
		}
	}
	if live*2 > len(s.series) {
		return
	}
	kept := make([]series, 0, live)
	for _, sr := range s.series {
		if s.gen-sr.gen < patience {
			sr.next = int32(len(kept)) + 1
			kept = append(kept, sr)
			continue
		}
		s.a.budget.give(&s.held, costOf(sr.key))
	}
	s.series, s.index = kept, nil
}

// changedNames returns the files of numbers that are to be written.
func (s *source) changedNames() (list []record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.items.record(); ok {
		list = append(list, r)
	}
	for _, m := range s.metrics {
		if m.insts != nil {
			if r, ok := m.insts.record(); ok {
				list = append(list, r)
			}
		}
	}
	return list
}
