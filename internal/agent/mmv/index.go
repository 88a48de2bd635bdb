package mmv

import (
	"log/slog"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/pmns"
)

// An index combines the contents of all files.
type index struct {
	metrics map[pcp.PMID]*metric
	indoms  map[pcp.InDom]*indom
	tree    *pmns.Tree
	names   []named // the names of the tree, in order
	labels  []mmv.FileLabel
	loaded  int // files
}

type named struct {
	name string
	id   pcp.PMID
}

// A metric is the metric served under one PMID.
type metric struct {
	desc    pcp.Desc
	indom   *indom // nil if there is no domain, or it is not in a file
	sources []source
	// places has the place of the value of each instance of the domain, or a
	// single place for a metric without a domain.
	places []place
	ready  bool // indom and places are known
}

// A source is a metric of one file. Files of the same cluster may have the
// same item; then the first that has a value for an instance counts.
type source struct {
	file *file
	l    *loaded
	m    *mmv.FileMetric
	span
	text int // start of the strings of m.Values in l.texts
}

// A span is a range of value records.
type span struct{ lo, hi int }

// A place names a value of a source; k is -1 if there is none.
type place struct{ src, k int32 }

// An indom is an instance domain, of one or several files.
type indom struct {
	parts []indomPart
	insts []pcp.Instance // merged
	index map[int32]int  // into insts, made on demand
	ready bool
}

type indomPart struct {
	def *mmv.FileInDom
}

// inDomOf returns the domain of a serial in a file: several clusters can use the
// same serial. Bits that do not fit are cut off as in C.
func (a *Agent) inDomOf(cluster, serial int) pcp.InDom {
	return pcp.NewInDom(a.domain, cluster<<11|serial)
}

// clusters are those of the files so far.
type clusters struct {
	n     int
	used  [mmv.MaxCluster + 1]bool
	taken [mmv.MaxCluster + 1]bool // those that choose avoids
	free  int                      // none below it is free
}

// choose returns the cluster of a file that wants one, or if wanted is 0 the
// lowest that is free. The cluster of the first file is not avoided, unless it is
// 1, as in the C agent (choose_cluster in mmv.c starts its search over with the
// second file): clients know the resulting PMIDs.
func (c *clusters) choose(wanted int) int {
	if wanted != 0 {
		return wanted
	}
	for c.free = max(c.free, 1); c.free <= mmv.MaxCluster && c.taken[c.free]; {
		c.free++
	}
	return c.free
}

// take records the cluster of a file.
func (c *clusters) take(cluster int) {
	c.used[cluster] = true
	if c.n > 0 || cluster == 1 {
		c.taken[cluster] = true
	}
	c.n++
}

// build rebuilds the index.
func (a *Agent) build() {
	a.forget()
	old := a.index
	x := &index{metrics: map[pcp.PMID]*metric{}, indoms: map[pcp.InDom]*indom{}}
	a.index = x
	for item, c := range controls() {
		x.names = append(x.names, named{a.prefix + "." + c.name, pcp.NewPMID(a.domain, 0, item)})
	}
	var clusters clusters
	seen := map[string]bool{} // files
	given := map[string]bool{}
	total := 0
	for _, f := range a.files {
		if f.cur == nil {
			continue
		}
		switch {
		case len(a.dirs) > 1 && seen[f.name]:
			a.debugf("%s: left out, as another folder has a file of this name", f.path)
			f.cluster = -1
			continue
		case total+f.cur.def.ValuesCount > maxValues:
			a.report(f, slog.LevelError, "values count: %d > %d of all files", total+f.cur.def.ValuesCount, maxValues)
			f.cluster = -1
			continue
		}
		f.cluster = clusters.choose(f.cur.def.Cluster)
		if f.cluster > mmv.MaxCluster {
			a.report(f, slog.LevelError, "choose_cluster failed")
			f.cluster = -1
			continue
		}
		if clusters.used[f.cluster] {
			a.debugf("duplicate cluster %d in use", f.cluster)
		}
		seen[f.name] = true
		total += f.cur.def.ValuesCount
		clusters.take(f.cluster)
		a.add(x, f, given)
	}
	x.loaded = clusters.n
	for id, m := range x.metrics {
		if m.desc.PMID != id { // all of its names were refused
			delete(x.metrics, id)
		}
	}
	a.plant(old)
	if a.built {
		a.labelsChanged = a.labelsChanged || !slices.Equal(old.labels, x.labels)
		a.debugf("%d metrics and %d indoms after reload", len(x.names), len(x.indoms))
	}
	a.built = true
}

// add adds the definitions of a file.
func (a *Agent) add(x *index, f *file, given map[string]bool) {
	def := f.cur.def
	for i := range def.InDoms {
		d := &def.InDoms[i]
		if d.Serial > mmv.MaxSerial {
			a.report(f, slog.LevelError, "invalid serial %d, ignored", d.Serial)
			continue
		}
		id := a.inDomOf(f.cluster, d.Serial)
		in := x.indoms[id]
		if in == nil {
			in = &indom{}
			x.indoms[id] = in
		}
		in.parts = append(in.parts, indomPart{d})
	}
	for i := range def.Metrics {
		fm := &def.Metrics[i]
		if fm.Item > mmv.MaxItem {
			continue
		}
		id := pcp.NewPMID(a.domain, f.cluster, fm.Item)
		m := x.metrics[id]
		if m == nil {
			m = &metric{}
			x.metrics[id] = m
		}
		// Values of a metric whose name was refused still count (as in
		// mmv_lookup_stat_metric).
		m.sources = append(m.sources, source{file: f, l: f.cur, m: fm})
		name := f.cur.names[i]
		if name == "" || given[name] {
			continue
		}
		given[name] = true
		x.names = append(x.names, named{name, id})
		if m.desc.PMID != id { // otherwise that of the previous file stays
			m.desc = a.describe(f, fm, id)
		}
	}
	x.labels = append(x.labels, def.Labels...)
}

// describe returns the descriptor of a metric of a file.
func (a *Agent) describe(f *file, m *mmv.FileMetric, id pcp.PMID) pcp.Desc {
	desc := pcp.Desc{PMID: id, Type: m.Type.PCP(), InDom: pcp.InDomNull, Sem: m.Sem, Units: m.Units}
	if m.Type == mmv.TypeElapsed {
		desc.Sem, desc.Units = pcp.SemCounter, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}
	}
	if desc.Sem == 0 {
		desc.Sem = pcp.SemCounter
	}
	if m.InDom != 0 {
		desc.InDom = a.inDomOf(f.cluster, m.InDom)
	}
	return desc
}

// plant makes the tree of names, unless its names are those of old.
func (a *Agent) plant(old *index) {
	x := a.index
	if old != nil && slices.Equal(old.names, x.names) {
		x.tree = old.tree
		return
	}
	a.namesChanged = a.namesChanged || a.built
	x.tree = pmns.New()
	for _, n := range x.names {
		// New names come first: the order in which the C agent lists them.
		if err := x.tree.Prepend(n.name, n.id); err != nil {
			// A name that is also the beginning of another: the metric can be had
			// by its PMID alone.
			a.debugf("%v", err)
		}
	}
}

// list returns the instances: those of the first file, and of each other
// those that are new.
func (d *indom) list() []pcp.Instance {
	if d.ready {
		return d.insts
	}
	d.ready = true
	d.insts = d.parts[0].def.Instances
	if len(d.parts) == 1 {
		return d.insts
	}
	d.insts = slices.Clone(d.insts)
	seen := make(map[int32]bool, len(d.insts))
	for _, in := range d.insts {
		seen[in.Inst] = true
	}
	for _, p := range d.parts[1:] {
		for _, in := range p.def.Instances {
			if !seen[in.Inst] {
				seen[in.Inst] = true
				d.insts = append(d.insts, in)
			}
		}
	}
	return d.insts
}

// position returns the position of an instance in the list.
func (d *indom) position(inst int32) (int, bool) {
	list := d.list()
	if uint(inst) < uint(len(list)) && list[inst].Inst == inst {
		return int(inst), true
	}
	if d.index == nil {
		d.index = make(map[int32]int, len(list))
		for i := len(list) - 1; i >= 0; i-- {
			d.index[list[i].Inst] = i
		}
	}
	i, ok := d.index[inst]
	return i, ok
}

// prepare finds the places of the values of m.
func (a *Agent) prepare(m *metric) {
	if m.ready {
		return
	}
	m.ready = true
	n := 1
	if m.desc.InDom != pcp.InDomNull {
		n = 0
		if m.indom = a.index.indoms[m.desc.InDom]; m.indom != nil {
			n = len(m.indom.list())
		}
	}
	m.places = make([]place, n)
	for i := range m.places {
		m.places[i].k = -1
	}
	for s := range m.sources {
		src := &m.sources[s]
		for k, v := range src.m.Values {
			if k == 0 {
				src.span = span{v.Index, v.Index + 1}
			}
			src.lo, src.hi = min(src.lo, v.Index), max(src.hi, v.Index+1)
			if m.indom == nil {
				if n > 0 && m.places[0].k < 0 {
					m.places[0] = place{int32(s), int32(k)}
				}
				continue
			}
			if src.m.InDom == 0 { // all profiles include a single value
				for i := range m.places {
					if m.places[i].k < 0 {
						m.places[i] = place{int32(s), int32(k)}
					}
				}
				break
			}
			i := k // mostly instances and values are in the same order
			if i >= n || m.indom.insts[i].Inst != v.Inst {
				var ok bool
				if i, ok = m.indom.position(v.Inst); !ok {
					continue
				}
			}
			if m.places[i].k < 0 {
				m.places[i] = place{int32(s), int32(k)}
			}
		}
	}
	// A domain may list an instance twice.
	if m.indom != nil {
		for i, in := range m.indom.insts {
			if j, ok := m.indom.position(in.Inst); ok && j < i && m.places[i].k < 0 {
				m.places[i] = m.places[j]
			}
		}
	}
}
