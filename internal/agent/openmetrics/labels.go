package openmetrics

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/openmetrics"
)

func sortNamed(list []named) {
	slices.SortFunc(list, func(a, b named) int { return cmp.Compare(a.m.desc.PMID, b.m.desc.PMID) })
}

// Text implements [pmda.Texter].
func (a *Agent) Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	a.look(ctx)
	if kind&pcp.TextInDom != 0 {
		return a.indomText(pcp.InDom(ident), kind)
	}
	id := pcp.PMID(ident)
	if id.Cluster() == 0 {
		c := controlOf(id.Item())
		if c == nil {
			return "", pcp.ErrText
		}
		return choose(kind, c.oneLine, c.help)
	}
	s := a.source(id.Cluster())
	if s == nil {
		return "", pcp.ErrText
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.byItem[int32(id.Item())]
	if m == nil || m.hidden {
		return "", pcp.ErrText
	}
	return choose(kind, m.oneLine, m.help)
}

func choose(kind pcp.TextKind, oneLine, help string) (string, error) {
	if kind&pcp.TextOneLine != 0 {
		return oneLine, nil
	}
	return help, nil
}

func (a *Agent) indomText(indom pcp.InDom, kind pcp.TextKind) (string, error) {
	if indom.Serial() == 0 {
		return choose(kind, "sources", "The files of sources, as parts of names: a path without its suffix, with dots for\nslashes. The instance control is all of them together.")
	}
	cluster := indom.Serial()
	what := "metrics of"
	if cluster >= firstSerial {
		cluster, what = (cluster-firstSerial)>>10, "instances of a metric of"
	}
	s := a.source(cluster)
	if s == nil {
		return "", pcp.ErrText
	}
	return choose(kind, what+" "+s.name, "All that the source "+s.name+" has had so far, also in earlier runs of the agent:\nnumbers are not given again.")
}

// labelSet makes a set of labels, without one.
func labelSet(flags pcp.LabelFlags, labels []openmetrics.Label, without string) (pcp.LabelSet, error) {
	pairs := make([]string, 0, 2*len(labels))
	for _, l := range labels {
		if l.Name != without {
			pairs = append(pairs, l.Name, l.Value)
		}
	}
	set, err := pcp.StringLabels(flags, pairs...)
	set.Inst = pcp.InNull
	return set, err
}

// Labels implements [pmda.Labeler].
func (a *Agent) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	a.look(ctx)
	level := kind.Level()
	var pairs, notes []openmetrics.Label
	switch level {
	case pcp.LabelDomain:
		pairs = append(pairs, openmetrics.Label{Name: "agent", Value: a.root})
	case pcp.LabelInDom:
		if serial := pcp.InDom(ident).Serial(); serial >= firstSerial {
			if s := a.source((serial - firstSerial) >> 10); s != nil {
				pairs = append(pairs, openmetrics.Label{Name: "source", Value: s.name})
			}
		}
	case pcp.LabelCluster:
		if s := a.source(pcp.PMID(ident).Cluster()); s != nil {
			pairs = s.labels()
		}
	case pcp.LabelItem:
		id := pcp.PMID(ident)
		s := a.source(id.Cluster())
		if s == nil {
			return nil, nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		m := s.byItem[int32(id.Item())]
		if m == nil {
			return nil, nil
		}
		pairs, notes = sortedLabels(m.labels), sortedLabels(m.optional)
	case pcp.LabelInstances:
		return a.instanceLabels(pcp.InDom(ident))
	}
	if len(pairs)+len(notes) == 0 {
		return nil, nil
	}
	set, err := labelSet(level, pairs, "")
	if err == nil && len(notes) > 0 {
		err = addNotes(&set, level, notes)
	}
	return []pcp.LabelSet{set}, err
}

func addNotes(set *pcp.LabelSet, level pcp.LabelFlags, notes []openmetrics.Label) error {
	m := make(map[string]string, len(notes))
	for _, l := range notes {
		m[l.Name] = l.Value
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return set.Add(string(b), level|pcp.LabelOptional)
}

// labels returns the labels of the cluster of a source.
func (s *source) labels() []openmetrics.Label {
	source := openmetrics.Label{Name: "source", Value: s.name}
	if s.script {
		return []openmetrics.Label{{Name: "script", Value: s.path}, source}
	}
	s.mu.Lock()
	u := s.shown
	s.mu.Unlock()
	if u == nil {
		return nil // not read yet
	}
	host := u.host
	if host == "" || host == "localhost" {
		name := os.Hostname
		if s.a.hostName != nil {
			name = s.a.hostName
		}
		host, _ = name()
	}
	return []openmetrics.Label{{Name: "hostname", Value: host}, source, {Name: "url", Value: u.shown}}
}

func (a *Agent) instanceLabels(indom pcp.InDom) ([]pcp.LabelSet, error) {
	serial := indom.Serial()
	if serial < firstSerial {
		return nil, nil
	}
	s := a.source((serial - firstSerial) >> 10)
	if s == nil {
		return nil, pcp.ErrInDom
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.byItem[int32((serial-firstSerial)&(maxMetrics-1))]
	if m == nil || m.insts == nil {
		return nil, pcp.ErrInDom
	}
	sets := make([]pcp.LabelSet, 0, len(m.insts.names))
	for i, name := range m.insts.names {
		set := m.byInst[int32(i)]
		set.Index = slices.Clone(set.Index)
		note := strconv.Itoa(i) + " " + name
		if err := addNotes(&set, pcp.LabelInstances, []openmetrics.Label{{Name: "instname", Value: note}}); err != nil {
			a.log.Warn("instance has no labels", "source", s.name, "metric", m.name, "err", err)
			continue
		}
		set.Inst = int32(i)
		sets = append(sets, set)
	}
	return sets, nil
}
