package mmv

import (
	"fmt"

	"github.com/go-pcp/pcp"
)

// addLabel adds a label at the level kind. The caller holds r.mu.
func (r *Registry) addLabel(kind pcp.LabelFlags, identity int, inst int32, l Label) error {
	err := func() error {
		if r.closed {
			return errClosed
		}
		if r.started && r.opt.Fixed {
			return errStarted
		}
		if len(r.c.labels) >= maxFileLabels {
			return fmt.Errorf("more than %d in a file: %w", maxFileLabels, errTooMany)
		}
		if l.Optional {
			kind |= pcp.LabelOptional
		}
		payload, err := l.payload(kind)
		if err != nil {
			return err
		}
		rec := label{kind, identity, inst, payload}
		if r.m != nil {
			if err := r.writeLabel(rec); err != nil {
				return err
			}
		}
		r.c.labels = append(r.c.labels, rec)
		return nil
	}()
	if err != nil {
		return fmt.Errorf("label %q: %w", l.Name, err)
	}
	return nil
}

// addLabels adds labels until one is refused.
func (r *Registry) addLabels(kind pcp.LabelFlags, identity int, inst int32, labels []Label) error {
	for _, l := range labels {
		if err := r.addLabel(kind, identity, inst, l); err != nil {
			return fmt.Errorf("mmv registry %s: %w", r.name, err)
		}
	}
	return nil
}

// AddLabel adds labels of all metrics of the file
// (mmv_stats_add_registry_label(3)).
func (r *Registry) AddLabel(labels ...Label) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addLabels(pcp.LabelCluster, r.c.cluster, pcp.InNull, labels)
}

// AddMetricLabel adds labels of a metric (mmv_stats_add_metric_label(3)).
func (r *Registry) AddMetricLabel(metric string, labels ...Label) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.byName[metric]
	if m == nil {
		return fmt.Errorf("mmv registry %s: metric %q: %w", r.name, metric, pcp.ErrName)
	}
	return r.addLabels(pcp.LabelItem, m.item, pcp.InNull, labels)
}

// AddLabel adds labels of the instance domain (mmv_stats_add_indom_label(3)).
func (d *InDom) AddLabel(labels ...Label) error {
	if d.r == nil {
		return errNoInDom
	}
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	return d.r.addLabels(pcp.LabelInDom, d.def.Serial, pcp.InNull, labels)
}

// AddInstanceLabel adds labels of the instance name, which must be in the domain
// (mmv_stats_add_instance_label(3)).
func (d *InDom) AddInstanceLabel(name string, labels ...Label) error {
	if d.r == nil {
		return errNoInDom
	}
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	_, i, ok := d.names.get(name)
	if !ok {
		return fmt.Errorf("mmv registry %s: instance %q: %w", d.r.name, name, pcp.ErrInst)
	}
	return d.r.addLabels(pcp.LabelInstances, d.def.Serial, d.insts[i].Inst, labels)
}
