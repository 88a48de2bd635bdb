package pmda

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/hostlabels"
)

// siteLabels returns the labels that the administrator gave this host. A
// collector knows them without its agents, but dbpmda asks agents for them
// (pmdaLabel in src/libpcp_pmda/src/callback.c).
func siteLabels(cfg *config.Config, log *slog.Logger) []pcp.LabelSet {
	set := hostlabels.ReadSite(cfg.Get("PCP_SYSCONF_DIR"), log).Set
	if len(set.Index) == 0 {
		return nil
	}
	return []pcp.LabelSet{set}
}

// parseLabels returns the labels of one level; notes become optional labels.
func parseLabels(level pcp.LabelFlags, labels, notes string) ([]pcp.LabelSet, error) {
	set, err := pcp.ParseLabels(labels, level)
	if err == nil && notes != "" {
		err = set.Add(notes, level|pcp.LabelOptional)
	}
	if err != nil || len(set.Index) == 0 {
		return nil, err
	}
	set.Inst = pcp.InNull
	return []pcp.LabelSet{set}, nil
}

// parseLabels reads the labels of the domain and of clusters; those of items
// and instance domains are read with their rows.
func (t *Table) parseLabels() (err error) {
	labels := t.cfg.Labels
	if labels == "" {
		set, err := pcp.StringLabels(pcp.LabelDomain, "agent", t.cfg.Name)
		if err != nil {
			return err
		}
		labels = set.JSON
	}
	if t.labels, err = parseLabels(pcp.LabelDomain, labels, t.cfg.Notes); err != nil {
		return err
	}
	t.clusters = make(map[int][]pcp.LabelSet, len(t.cfg.ClusterLabels))
	for cluster, labels := range t.cfg.ClusterLabels {
		if t.clusters[cluster], err = parseLabels(pcp.LabelCluster, labels, ""); err != nil {
			return fmt.Errorf("cluster %d: %w", cluster, err)
		}
	}
	return nil
}

// Labels implements [Labeler].
func (t *Table) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	switch kind.Level() {
	case pcp.LabelContext:
		return nil, nil // the collector's business
	case pcp.LabelDomain:
		return t.labels, nil
	case pcp.LabelCluster:
		return t.clusters[pcp.PMID(ident).Cluster()], nil
	case pcp.LabelItem:
		if m := t.rows.Load().metrics[pcp.PMID(ident)]; m != nil {
			return m.labels, nil
		}
		return nil, nil
	case pcp.LabelInDom:
		if d := t.rows.Load().indoms[pcp.InDom(ident)]; d != nil {
			return d.labels, nil
		}
		return nil, nil
	case pcp.LabelInstances:
		return t.instanceLabels(ctx, t.rows.Load().indoms[pcp.InDom(ident)])
	}
	return nil, pcp.ErrType
}

// instanceLabels returns a set for each instance of d, empty for those without
// labels.
func (t *Table) instanceLabels(ctx context.Context, d *tableInDom) ([]pcp.LabelSet, error) {
	if d == nil {
		return nil, nil
	}
	insts, err := t.Instances(ctx, d.id)
	if err != nil {
		return nil, err
	}
	sets := make([]pcp.LabelSet, len(insts))
	for i := range insts {
		inst := insts[i].Inst
		set, err := d.labelsOf(inst, i)
		if err != nil {
			code, _ := status(err)
			t.cfg.Log.Error("labels of an instance are wrong", "indom", d.id.String(), "inst", inst, "err", err)
			set = pcp.LabelSet{Err: cmp.Or(code, pcp.ErrLabel)}
		}
		set.Inst = inst
		sets[i] = set
	}
	return sets, nil
}

func (d *tableInDom) labelsOf(inst int32, i int) (set pcp.LabelSet, err error) {
	set.Inst = inst
	if d.InstanceLabels != nil {
		if set, err = pcp.ParseLabels(d.InstanceLabels(inst, i), pcp.LabelInstances); err != nil {
			return set, err
		}
	}
	if d.InstanceNotes != nil {
		err = set.Add(d.InstanceNotes(inst, i), pcp.LabelInstances|pcp.LabelOptional)
	}
	return set, err
}
