package importcmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
)

// promInDoms are the instance domains of an import.
type promInDoms struct {
	shared map[string]pcp.InDom     // of new metrics, by their instances
	stored map[pcp.InDom]*promIndom // of metrics of the archive that is continued
}

// A promIndom is an instance domain of the archive that is continued.
type promIndom struct {
	id    pcp.InDom
	names map[string]string // of instances, by the part after the number
	next  int32
	grown bool
}

// declareAll declares the metrics and their instances. Metrics with the same instances share an instance
// domain; a metric of the archive that is continued keeps its own.
func (p *prometheus) declareAll() error {
	domains := &promInDoms{make(map[string]pcp.InDom), make(map[pcp.InDom]*promIndom)}
	for _, m := range p.order {
		if err := p.declare(m, domains); err != nil {
			return fmt.Errorf("%s: %w", m.where, err)
		}
	}
	for _, d := range domains.stored {
		if d.grown {
			if err := p.repeatLabels(d.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// declare makes a metric and its instances known to the archive.
func (p *prometheus) declare(m *promMetric, domains *promInDoms) error {
	name := metricName(m.name)
	if p.prefix != "" {
		name = p.prefix + "." + name
	}
	desc, help := p.describe(m.name)
	old, stored := p.out.stored.desc(name)
	instances := make([]string, len(m.order))
	if m.labels {
		var err error
		if stored && old.InDom != pcp.InDomNull {
			desc.InDom = old.InDom
			err = p.continueInDom(m, domains.of(old.InDom, p.out.stored), instances)
		} else {
			desc.InDom, err = p.newInDom(m, domains, instances)
		}
		if err != nil {
			return err
		}
	}
	if err := p.out.add(name, desc); err != nil {
		return err
	}
	for i, s := range m.order {
		var err error
		if s.handle, err = p.out.im.Handle(name, instances[i]); err != nil {
			return err
		}
	}
	if help == "" || stored {
		return nil
	}
	id := uint32(m.order[0].handle.Desc().PMID)
	oneLine, _, _ := strings.Cut(help, "\n")
	if oneLine != "" {
		if err := p.out.im.PutText(pcp.TextOneLine|pcp.TextPMID, id, oneLine); err != nil {
			return err
		}
	}
	return p.out.im.PutText(pcp.TextHelp|pcp.TextPMID, id, help)
}

// newInDom returns the instance domain of a new metric, and fills in the names of its instances.
func (p *prometheus) newInDom(m *promMetric, domains *promInDoms, instances []string) (pcp.InDom, error) {
	for i, s := range m.order {
		instances[i] = s.name(i)
	}
	key := strings.Join(instances, "\x00")
	if indom, ok := domains.shared[key]; ok {
		return indom, nil
	}
	indom := p.out.stored.newInDom(p.out.im)
	domains.shared[key] = indom
	for i, s := range m.order {
		if err := p.addInstance(indom, s, instances[i], int32(i)); err != nil {
			return indom, err
		}
	}
	return indom, nil
}

// of returns an instance domain of the archive that is continued.
func (p *promInDoms) of(id pcp.InDom, s *stored) *promIndom {
	if d := p.stored[id]; d != nil {
		return d
	}
	d := &promIndom{id: id, names: make(map[string]string)}
	for _, in := range s.instances(id) {
		_, labels, _ := strings.Cut(in.Name, " ")
		d.names[labels] = in.Name
		d.next = max(d.next, in.Inst+1)
	}
	p.stored[id] = d
	return d
}

// continueInDom fills in the names of instances. Those that the archive lacks get the next numbers.
func (p *prometheus) continueInDom(m *promMetric, d *promIndom, instances []string) error {
	for i, s := range m.order {
		_, labels, _ := strings.Cut(s.name(0), " ")
		name, ok := d.names[labels]
		if !ok {
			if len(d.names) >= maxInstances {
				return errManyInstances
			}
			name = s.name(int(d.next))
			if err := p.addInstance(d.id, s, name, d.next); err != nil {
				return err
			}
			d.names[labels], d.grown = name, true
			d.next++
		}
		instances[i] = name
	}
	return nil
}

// addInstance adds an instance with its labels.
func (p *prometheus) addInstance(indom pcp.InDom, s *series, name string, inst int32) error {
	if err := p.out.im.AddInstance(indom, name, inst); err != nil {
		return err
	}
	for _, l := range s.labels {
		// A name that begins with an underscore is not one for a label of ours.
		if err := p.out.im.PutLabel(pcp.LabelInstances, uint32(indom), inst, cleanName(l.Name), jsonString(l.Value)); err != nil {
			return err
		}
	}
	return nil
}

// repeatLabels writes the labels of instances that the archive has again: labels of an instance domain replace
// all earlier ones.
func (p *prometheus) repeatLabels(indom pcp.InDom) error {
	done := make(map[int32]bool)
	for _, rec := range slices.Backward(p.out.stored.meta.LabelRecords()) {
		if rec.Level != pcp.LabelInstances || rec.Ident != uint32(indom) {
			continue
		}
		for i := range rec.Sets {
			set := &rec.Sets[i]
			if done[set.Inst] {
				continue // an older record
			}
			done[set.Inst] = true
			for l := range set.All() {
				if err := p.out.im.PutLabel(pcp.LabelInstances|l.Flags, uint32(indom), set.Inst, l.Name, l.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
