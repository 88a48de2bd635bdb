package info

import (
	"context"
	"crypto/sha1"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmapi"
)

// labels returns the labels of one level that all its instances share; it
// remembers them.
func (c *cache) labels(ctx context.Context, from *pmapi.Context, kind pcp.LabelFlags, ident uint32) pcp.LabelSet {
	key := labelKey{kind, ident}
	if set, ok := c.levels[key]; ok {
		return set
	}
	var set pcp.LabelSet
	if sets, err := from.Labels(ctx, kind, ident); err == nil && len(sets) > 0 {
		set = sets[0]
	}
	if kind == pcp.LabelContext && set.JSON == "" {
		// An old collector: the host's name is always available.
		if host, err := from.HostName(ctx); err == nil {
			set, _ = pcp.StringLabels(pcp.LabelContext, "hostname", host)
		}
	}
	if c.levels == nil {
		c.levels = map[labelKey]pcp.LabelSet{}
	}
	for old := range c.levels {
		if c.single && old.kind == kind {
			delete(c.levels, old)
		}
	}
	c.levels[key] = set
	return set
}

type labelKey struct {
	kind  pcp.LabelFlags
	ident uint32
}

// instanceLabels returns a set for each instance of a domain, without labels
// where there are none.
func (c *cache) instanceLabels(ctx context.Context, from *pmapi.Context, indom pcp.InDom) []pcp.LabelSet {
	if sets, ok := c.insts[indom]; ok {
		return sets
	}
	sets, err := from.Labels(ctx, pcp.LabelInstances, uint32(indom))
	if err != nil || len(sets) == 0 {
		sets = nil
		for _, inst := range c.instances(ctx, from, indom).insts {
			sets = append(sets, pcp.LabelSet{Inst: inst.Inst})
		}
	}
	if c.insts == nil || c.single {
		c.insts = map[pcp.InDom][]pcp.LabelSet{}
	}
	c.insts[indom] = sets
	return sets
}

// inDomSets returns the sets of labels that the instances of a domain share.
func (r *reporter) inDomSets(ctx context.Context, indom pcp.InDom) []pcp.LabelSet {
	return []pcp.LabelSet{
		r.cache.labels(ctx, r.c, pcp.LabelContext, 0),
		r.cache.labels(ctx, r.c, pcp.LabelDomain, uint32(indom.Domain())),
		r.cache.labels(ctx, r.c, pcp.LabelInDom, uint32(indom)),
	}
}

// metricSets returns the sets of labels that a metric has.
func (r *reporter) metricSets(ctx context.Context, d *pcp.Desc) []pcp.LabelSet {
	sets := []pcp.LabelSet{
		r.cache.labels(ctx, r.c, pcp.LabelContext, 0),
		r.cache.labels(ctx, r.c, pcp.LabelDomain, uint32(d.PMID.Domain())),
	}
	if d.InDom != pcp.InDomNull {
		sets = append(sets, r.cache.labels(ctx, r.c, pcp.LabelInDom, uint32(d.InDom)))
	}
	return append(sets,
		r.clusterLabels(ctx, d.PMID),
		r.cache.labels(ctx, r.c, pcp.LabelItem, uint32(d.PMID)))
}

// clusterLabels returns the labels of a metric's cluster. In an archive the C
// library finds them by the first metric of the cluster that is looked at only
// if that is item 0, whose identifier is that of the cluster.
func (r *reporter) clusterLabels(ctx context.Context, id pcp.PMID) pcp.LabelSet {
	cluster := uint32(id) &^ pcp.MaxItem
	if r.archive == nil {
		return r.cache.labels(ctx, r.c, pcp.LabelCluster, cluster)
	}
	if r.cache.cluster != cluster || !r.cache.clusterKnown {
		delete(r.cache.levels, labelKey{pcp.LabelCluster, uint32(id)})
		r.cache.clusterSet = r.cache.labels(ctx, r.c, pcp.LabelCluster, uint32(id))
		r.cache.cluster, r.cache.clusterKnown = cluster, true
	}
	return r.cache.clusterSet
}

// merge merges sets, and prints why if it cannot. It is empty if there are no labels.
func (r *reporter) merge(sets []pcp.LabelSet, keep func(pcp.Label) bool, format string, args ...any) string {
	set, err := pcp.MergeLabels(sets, keep)
	if err != nil {
		r.env.Fatalf("%s labels merge failed: %s", fmt.Sprintf(format, args...), cli.ErrText(err))
		return ""
	}
	return set.JSON
}

func (r *reporter) inDomLabels(ctx context.Context, indom pcp.InDom) {
	if labels := r.merge(r.inDomSets(ctx, indom), nil, "indom %s", indom); labels != "" {
		r.printf("    labels %s\n", labels)
	}
}

func (r *reporter) metricLabels(ctx context.Context, d *pcp.Desc) {
	if labels := r.merge(r.metricSets(ctx, d), nil, "metric %s", d.PMID); labels != "" {
		r.printf("    labels %s\n", labels)
	}
}

func (r *reporter) instanceLabels(ctx context.Context, d *pcp.Desc) {
	if d.InDom == pcp.InDomNull {
		return
	}
	sets := append(r.inDomSets(ctx, d.InDom),
		r.clusterLabels(ctx, d.PMID),
		r.cache.labels(ctx, r.c, pcp.LabelItem, uint32(d.PMID)))
	r.eachInstance(ctx, d.InDom, sets, func(inst int32, name, labels string) {
		r.printf("    inst [%d or \"%s\"] labels %s\n", inst, name, labels)
	})
}

// eachInstance calls fn for the instances of a domain with their labels.
func (r *reporter) eachInstance(ctx context.Context, indom pcp.InDom, sets []pcp.LabelSet, fn func(inst int32, name, labels string)) {
	n := len(sets)
	for _, set := range r.cache.instanceLabels(ctx, r.c, indom) {
		labels := r.merge(append(sets[:n:n], set), nil, "%s instances", indom)
		if labels == "" {
			continue
		}
		name, ok := r.cache.instances(ctx, r.c, indom).name(set.Inst)
		if !ok {
			name = "DISAPPEARED"
		}
		fn(set.Inst, name, labels)
	}
}

// identifying refuses labels that are not part of a series' identity.
func identifying(l pcp.Label) bool { return l.Flags&pcp.LabelOptional == 0 }

// metricSeries prints the identifiers of the source and of a metric: hashes of
// what identifies them. The texts are part of what other programs compute.
func (r *reporter) metricSeries(ctx context.Context, m *metric) {
	sets := r.metricSets(ctx, &m.desc)
	if labels := r.merge(sets[:1], identifying, "context"); labels != "" {
		r.printf("    Source: %x\n", sha1.Sum([]byte(`{"series":"source","labels":`+labels+`}`)))
	}
	if labels := r.merge(sets, identifying, "metric %s", m.id); labels != "" {
		d := &m.desc
		r.printf("    Series: %x\n", sha1.Sum(fmt.Appendf(nil,
			`{"series":"metric","name":"%s","labels":%s,"semantics":"%s","type":"%s","units":"%s"}`,
			m.name, labels, d.Sem, d.Type, d.Units)))
	}
}

func (r *reporter) instanceSeries(ctx context.Context, indom pcp.InDom) {
	if indom == pcp.InDomNull {
		return
	}
	r.eachInstance(ctx, indom, r.inDomSets(ctx, indom), func(inst int32, name, labels string) {
		hashed := name
		if _, ok := r.cache.instances(ctx, r.c, indom).name(inst); !ok {
			hashed = "???"
		}
		r.printf("    inst [%d or \"%s\"] series %x\n", inst, name, sha1.Sum(fmt.Appendf(nil,
			`{"series":"instance","name":"%s","labels":%s}`, hashed, labels)))
	})
}
