package mmv

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

// Text implements [pmda.Texter].
func (a *Agent) Text(_ context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	a.check(false)
	if kind&pcp.TextInDom != 0 {
		d := a.index.indoms[pcp.InDom(ident)]
		if d == nil {
			return "", pcp.ErrInDom
		}
		def := d.parts[0].def
		return choose(kind, def.OneLine, def.Help, def.Texts)
	}
	id := pcp.PMID(ident)
	if id.Cluster() == 0 {
		c := controlOf(id)
		if c == nil {
			return "", pcp.ErrPMID
		}
		return choose(kind, c.oneLine, c.help, mmv.FileTexts{OneLine: true, Help: true})
	}
	m := a.index.metrics[id]
	if m == nil {
		return "", pcp.ErrPMID
	}
	// As in C the first with a value counts, and only the first of a file.
	var before *file
	for i := range m.sources {
		src := &m.sources[i]
		if src.file == before || len(src.m.Values) == 0 {
			continue
		}
		before = src.file
		if src.m.Type >= 0 {
			return choose(kind, src.m.OneLine, src.m.Help, src.m.Texts)
		}
	}
	return "", pcp.ErrPMID
}

func choose(kind pcp.TextKind, oneLine, help string, there mmv.FileTexts) (string, error) {
	switch {
	case kind&pcp.TextOneLine != 0 && there.OneLine:
		return oneLine, nil
	case kind&pcp.TextHelp != 0 && there.Help:
		return help, nil
	}
	return "", pcp.ErrText
}

// Labels implements [pmda.Labeler].
func (a *Agent) Labels(_ context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	level := kind.Level()
	set := pcp.LabelSet{Inst: pcp.InNull}
	add := func(l *mmv.FileLabel) {
		if err := set.Add(l.JSON, level|l.Kind&pcp.LabelOptional); err != nil {
			a.debugf("label %q: %v", l.JSON, err)
		}
	}
	switch level {
	case pcp.LabelDomain:
		set, err := pcp.StringLabels(level, "agent", a.prefix)
		set.Inst = pcp.InNull
		return []pcp.LabelSet{set}, err
	case pcp.LabelCluster:
		// A file that leaves the choice to the agent has cluster 0 in its labels, which
		// no file has (mmv_label_lookup in mmv.c).
		a.eachLabel(level, pcp.PMID(ident).Cluster(), func(f *file, l *mmv.FileLabel) {
			if l.Identity == f.cluster {
				add(l)
			}
		})
	case pcp.LabelItem:
		a.eachLabel(level, pcp.PMID(ident).Cluster(), func(_ *file, l *mmv.FileLabel) {
			if l.Identity == pcp.PMID(ident).Item() {
				add(l)
			}
		})
	case pcp.LabelInDom:
		a.eachLabel(level, -1, func(f *file, l *mmv.FileLabel) {
			if a.inDomOf(f.cluster, l.Identity) == pcp.InDom(ident) {
				add(l)
			}
		})
	case pcp.LabelInstances:
		return a.instanceLabels(pcp.InDom(ident)), nil
	default:
		return nil, nil
	}
	if len(set.Index) == 0 {
		return nil, nil
	}
	return []pcp.LabelSet{set}, nil
}

// eachLabel calls fn for the labels of a level in files of a cluster, or of
// all with -1.
func (a *Agent) eachLabel(level pcp.LabelFlags, cluster int, fn func(*file, *mmv.FileLabel)) {
	for _, f := range a.files {
		if f.cur == nil || f.cluster < 0 || cluster >= 0 && f.cluster != cluster {
			continue
		}
		for i := range f.cur.def.Labels {
			if l := &f.cur.def.Labels[i]; l.Kind&level != 0 {
				fn(f, l)
			}
		}
	}
}

// instanceLabels returns a set for each instance, empty for those without labels.
func (a *Agent) instanceLabels(id pcp.InDom) []pcp.LabelSet {
	d := a.index.indoms[id]
	if d == nil {
		return nil
	}
	insts := d.list()
	sets := make([]pcp.LabelSet, len(insts))
	for i, in := range insts {
		sets[i].Inst = in.Inst
	}
	a.eachLabel(pcp.LabelInstances, -1, func(f *file, l *mmv.FileLabel) {
		if a.inDomOf(f.cluster, l.Identity) != id {
			return
		}
		i, ok := d.position(l.Inst)
		if !ok {
			return
		}
		if err := sets[i].Add(l.JSON, pcp.LabelInstances|l.Kind&pcp.LabelOptional); err != nil {
			a.debugf("label %q: %v", l.JSON, err)
		}
		sets[i].Inst = l.Inst
	})
	return sets
}
