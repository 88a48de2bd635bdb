package linux

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
)

// Labels implements pmda.Labeler.
func (a *Agent) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	switch kind.Level() {
	case pcp.LabelDomain:
		return labelSet(`{"agent":"linux"}`, kind)
	case pcp.LabelInDom:
		for _, d := range indoms {
			if pcp.NewInDom(a.domain, int(d.serial)) == pcp.InDom(ident) && d.labels != "" {
				return labelSet(d.labels, kind)
			}
		}
	case pcp.LabelItem:
		if m := a.metric(pcp.PMID(ident)); m != nil {
			switch {
			case strings.HasPrefix(m.name, "kernel.pernode.cpu."):
				return labelSet(`{"device_type":["numa_node","cpu"]}`, kind)
			case strings.HasPrefix(m.name, "kernel.all.cpu."):
				return labelSet(`{"device_type":"cpu"}`, kind)
			}
		}
	case pcp.LabelInstances:
		return a.instanceLabels(ctx, pcp.InDom(ident), kind)
	}
	return nil, nil
}

func labelSet(text string, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	set, err := pcp.ParseLabels(text, kind.Level())
	if err != nil {
		return nil, fmt.Errorf("linux: labels %s: %w", text, err)
	}
	set.Inst = pcp.InNull
	return []pcp.LabelSet{set}, nil
}

// instanceLabels returns a set for each instance, an empty one where the
// instances of a domain have no labels.
func (a *Agent) instanceLabels(ctx context.Context, indom pcp.InDom, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	b, err := a.indomBlock(ctx, indom)
	if err != nil {
		return nil, nil // a domain of which we know nothing has no labels
	}
	labels := a.instanceLabel(inDom(indom.Serial()))
	if labels == nil {
		sets := make([]pcp.LabelSet, len(b.insts))
		for i, inst := range b.insts {
			sets[i].Inst = inst
		}
		return sets, nil
	}
	sets := make([]pcp.LabelSet, 0, len(b.insts))
	for i, inst := range b.insts {
		var text strings.Builder
		enc := json.NewEncoder(&text) // sorts the names
		enc.SetEscapeHTML(false)
		if err := enc.Encode(labels(inst, b.names[i])); err != nil {
			return nil, fmt.Errorf("linux: labels of %v %s: %w", indom, b.names[i], err)
		}
		set, err := pcp.ParseLabels(text.String(), kind.Level())
		if err != nil {
			return nil, fmt.Errorf("linux: labels of %v %s: %w", indom, b.names[i], err)
		}
		set.Inst = inst
		sets = append(sets, set)
	}
	return sets, nil
}

// instanceLabel returns what makes the labels of an instance of a domain, nil
// for domains whose instances have none.
func (a *Agent) instanceLabel(d inDom) func(inst int32, name string) map[string]any {
	switch d {
	case cpuInDom:
		return func(inst int32, _ string) map[string]any { return map[string]any{"cpu": inst} }
	case nodeInDom:
		return func(inst int32, _ string) map[string]any { return map[string]any{"numa_node": inst} }
	case diskInDom, partInDom, dmInDom, mdInDom:
		return func(_ int32, name string) map[string]any { return map[string]any{"device_name": name} }
	case netInDom:
		return func(_ int32, name string) map[string]any { return map[string]any{"interface": name} }
	case buddyInDom:
		return func(inst int32, _ string) map[string]any {
			l := a.buddy.labels[inst]
			return map[string]any{"numa_node": l.node, "zone": l.zone, "order": l.lowmem}
		}
	case zoneInDom:
		return func(inst int32, _ string) map[string]any {
			l := a.zones.labels[inst]
			if l.zone == "" {
				return map[string]any{"numa_node": l.node}
			}
			return map[string]any{"numa_node": l.node, "zone": l.zone}
		}
	case zoneProtInDom:
		return func(inst int32, _ string) map[string]any {
			l := a.zones.prot[inst]
			return map[string]any{"numa_node": l.node, "zone": l.zone, "lowmem_reserved": l.lowmem}
		}
	case irqInDom:
		text := a.interrupts.texts()
		return func(_ int32, name string) map[string]any {
			return map[string]any{"irq": name, "irqtext": text[name]}
		}
	case cpuIRQInDom:
		text := a.interrupts.texts()
		return func(_ int32, name string) map[string]any {
			irq, cpu := splitCPU(name)
			return map[string]any{"cpu": cpu, "irq": irq, "irqtext": text[irq]}
		}
	case cpuSoftirqInDom:
		return func(_ int32, name string) map[string]any {
			irq, cpu := splitCPU(name)
			return map[string]any{"cpu": cpu, "softirq": irq}
		}
	}
	return nil
}

// splitCPU takes "24::cpu1" apart.
func splitCPU(name string) (irq string, cpu json.Number) {
	irq, digits, _ := strings.Cut(name, "::cpu")
	return irq, json.Number(digits)
}

// texts returns what the file says about each interrupt.
func (r *irqReader) texts() map[string]string {
	m := make(map[string]string, len(r.lines))
	for i := range r.lines {
		m[r.lines[i].name] = r.lines[i].text
	}
	return m
}
