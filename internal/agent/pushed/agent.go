package pushed

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// A Control is a metric below ROOT.control. Those of agents have items from 64 on and no instances.
type Control struct {
	Name          string
	Item          int
	Type          pcp.Type
	Sem           pcp.Sem
	Units         pcp.Units
	OneLine, Help string
	Value         func() pcp.Value // of those of agents

	of     serial
	values func(t *Table, inst int32) pcp.Value
}

// serial is the instance domain of a control.
type serial int

const (
	noInstances serial = iota - 1
	ofSenders
	ofReasons
)

func (t *Table) controls() []Control {
	count := pcp.Units{DimCount: 1}
	list := []Control{
		{
			Name: "samples", Item: 1, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, of: ofSenders,
			OneLine: "values taken of each sender",
			Help:    "Values taken of each sender since the agent started.",
			values:  func(t *Table, i int32) pcp.Value { return pcp.Uint64Value(t.bySender[i].samples) },
		},
		{
			Name: "series", Item: 2, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: count, of: ofSenders,
			OneLine: "series of each sender",
			Help:    "Series whose numbers are known, those that have vanished included.",
			values:  func(t *Table, i int32) pcp.Value { return pcp.Uint32Value(uint32(t.bySender[i].series)) },
		},
		{
			Name: "metrics", Item: 3, Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: count, of: ofSenders,
			OneLine: "metrics of each sender",
			Help:    "Metrics whose numbers are known.",
			values:  func(t *Table, i int32) pcp.Value { return pcp.Uint32Value(uint32(t.bySender[i].metrics)) },
		},
		{
			Name: "memory", Item: 4, Type: pcp.TypeU64, Sem: pcp.SemInstant, Units: pcp.Units{DimSpace: 1}, of: ofSenders,
			OneLine: "memory for each sender",
			Help:    "Approximate memory for the metrics and series of each sender.",
			values:  func(t *Table, i int32) pcp.Value { return pcp.Uint64Value(uint64(t.bySender[i].bytes)) },
		},
		{
			Name: "sender_rejected", Item: 5, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, of: ofSenders,
			OneLine: "values of each sender that were rejected",
			Help:    "Values of each sender that were rejected since the agent started, for whatever\nreason. Those of senders beyond the limit of senders are only in control.rejected.",
			values:  func(t *Table, i int32) pcp.Value { return pcp.Uint64Value(t.bySender[i].rejected) },
		},
		{
			Name: "rejected", Item: 6, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: count, of: ofReasons,
			OneLine: "values that were rejected, by reason",
			Help:    "Values and requests that were rejected since the agent started, by reason.",
			values:  func(t *Table, i int32) pcp.Value { return pcp.Uint64Value(t.rejected[i].count) },
		},
		{
			Name: "last_rejected", Item: 7, Type: pcp.TypeString, Sem: pcp.SemDiscrete, of: ofReasons,
			OneLine: "the last value that was rejected, by reason",
			Help:    "The sender and the metric of the last value that was rejected, by reason.",
			values:  func(t *Table, i int32) pcp.Value { return pcp.StringValue(t.rejected[i].last) },
		},
	}
	for _, c := range t.cfg.Controls {
		c.of, c.values = noInstances, func(*Table, int32) pcp.Value { return c.Value() }
		list = append(list, c)
	}
	return list
}

func (t *Table) control(item int) (Control, bool) {
	for _, c := range t.controls() {
		if c.Item == item {
			return c, true
		}
	}
	return Control{}, false
}

func (t *Table) controlInDom(s serial) pcp.InDom {
	if s == noInstances {
		return pcp.InDomNull
	}
	return pcp.NewInDom(t.cfg.Domain, int(s))
}

// Desc implements [pmda.Agent].
func (t *Table) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	if id.Cluster() == 0 {
		if c, ok := t.control(id.Item()); ok {
			return pcp.Desc{PMID: id, Type: c.Type, Sem: c.Sem, Units: c.Units, InDom: t.controlInDom(c.of)}, nil
		}
		return pcp.Desc{}, pcp.ErrPMID
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.byNumber[numberOf(id)]; m != nil {
		return m.desc, nil
	}
	return pcp.Desc{}, pcp.ErrPMID
}

// each calls with each instance of a domain that exists now.
func (t *Table) each(indom pcp.InDom, with func(inst int32, name string, s *series)) error {
	switch n := indom.Serial(); {
	case serial(n) == ofSenders:
		for _, s := range t.bySender {
			with(s.number, s.name, nil)
		}
	case serial(n) == ofReasons:
		for i, r := range t.reasons {
			with(int32(i), string(r), nil)
		}
	default:
		m := t.byNumber[n-firstSerial]
		if m == nil {
			return pcp.ErrInDom
		}
		now := t.cfg.Now()
		for _, s := range m.series {
			if t.fresh(s, now) {
				with(s.inst, t.instanceName(s), s)
			}
		}
	}
	return nil
}

func (t *Table) instanceName(s *series) string {
	switch {
	case !t.cfg.Numbered:
		return s.name
	case s.name == "":
		return strconv.Itoa(int(s.inst))
	}
	return strconv.Itoa(int(s.inst)) + " " + s.name
}

// Instances implements [pmda.Agent].
func (t *Table) Instances(_ context.Context, indom pcp.InDom) (list []pcp.Instance, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.each(indom, func(inst int32, name string, _ *series) {
		list = append(list, pcp.Instance{Inst: inst, Name: name})
	})
	return list, err
}

// Fetch implements [pmda.Agent].
func (t *Table) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.cfg.Now()
	for _, id := range req.PMIDs {
		if id.Cluster() == 0 {
			t.fetchControl(id, req)
			continue
		}
		m := t.byNumber[numberOf(id)]
		if m == nil {
			req.Result.AddError(id, pcp.ErrPMID)
			continue
		}
		req.Result.AddSet(id)
		for _, s := range m.series {
			if t.fresh(s, now) && (req.Profile == nil || req.Profile.Includes(m.desc.InDom, s.inst)) {
				req.Result.Add(s.value)
			}
		}
	}
	return nil
}

func (t *Table) fetchControl(id pcp.PMID, req *pmda.FetchRequest) {
	c, ok := t.control(id.Item())
	if !ok {
		req.Result.AddError(id, pcp.ErrPMID)
		return
	}
	req.Result.AddSet(id)
	indom, n := t.controlInDom(c.of), 1
	switch c.of {
	case ofSenders:
		n = len(t.bySender)
	case ofReasons:
		n = len(t.reasons)
	}
	for i := range int32(n) {
		inst := i
		switch c.of {
		case noInstances:
			inst = pcp.InNull
		case ofSenders:
			inst = t.bySender[i].number
		}
		if c.of == noInstances || req.Profile == nil || req.Profile.Includes(indom, inst) {
			req.Result.Add(c.values(t, i).WithInst(inst))
		}
	}
}

// Text implements [pmda.Texter].
func (t *Table) Text(_ context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	choose := func(oneLine, help string) (string, error) {
		switch {
		case oneLine == "" && help == "":
			return "", pcp.ErrText
		case kind&pcp.TextOneLine != 0:
			return oneLine, nil
		}
		return help, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kind&pcp.TextInDom != 0 {
		switch n := pcp.InDom(ident).Serial(); {
		case serial(n) == ofSenders:
			return choose("senders", "The programs that push values, by the name that the values have for them.")
		case serial(n) == ofReasons:
			return choose("reasons", "Why values were rejected.")
		default:
			m := t.byNumber[n-firstSerial]
			if m == nil {
				return "", pcp.ErrText
			}
			return choose("series of "+m.name, "Series of "+m.name+". Each keeps its number, also in later runs\nof the agent, and vanishes if it is not pushed for some time.")
		}
	}
	id := pcp.PMID(ident)
	if id.Cluster() == 0 {
		c, _ := t.control(id.Item())
		return choose(c.OneLine, c.Help)
	}
	m := t.byNumber[numberOf(id)]
	if m == nil {
		return "", pcp.ErrText
	}
	oneLine, _, _ := strings.Cut(m.help, "\n")
	return choose(oneLine, m.help)
}

// Labels implements [pmda.Labeler].
func (t *Table) Labels(_ context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	switch level := kind.Level(); level {
	case pcp.LabelDomain:
		set, err := labelSet(level, []Label{{"agent", t.cfg.Root}}, pcp.InNull)
		return []pcp.LabelSet{set}, err
	case pcp.LabelInstances:
		t.mu.Lock()
		defer t.mu.Unlock()
		var sets []pcp.LabelSet
		err := t.each(pcp.InDom(ident), func(inst int32, name string, s *series) {
			if s == nil || len(s.common)+len(s.labels) == 0 {
				return
			}
			set, err := labelSet(level, merge(s.common, s.labels), inst)
			if err != nil {
				t.cfg.Log.Debug("series has no labels", "instance", name, "err", err)
				return
			}
			sets = append(sets, set)
		})
		return sets, err
	}
	return nil, nil
}

// merge returns labels in the order of their names. Of two with one name it takes the latter.
func merge(common, own []Label) []Label {
	list := slices.Concat(common, own)
	slices.SortStableFunc(list, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	n := 0
	for i := range list {
		if n > 0 && list[n-1].Name == list[i].Name {
			n--
		}
		list[n] = list[i]
		n++
	}
	return list[:n]
}

func labelSet(flags pcp.LabelFlags, list []Label, inst int32) (pcp.LabelSet, error) {
	pairs := make([]string, 0, 2*len(list))
	for _, l := range list {
		pairs = append(pairs, l.Name, l.Value)
	}
	set, err := pcp.StringLabels(flags, pairs...)
	set.Inst = inst
	return set, err
}

// NameSpace implements [pmda.NameSpacer]: one dynamic root.
func (t *Table) NameSpace() *pmns.Tree { return t.dynamic }

// LookupName implements [pmda.DynamicNamer].
func (t *Table) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pmda.TreeNamer{Tree: t.tree}.LookupName(ctx, name)
}

// Names implements [pmda.DynamicNamer].
func (t *Table) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pmda.TreeNamer{Tree: t.tree}.Names(ctx, id)
}

// Children implements [pmda.DynamicNamer].
func (t *Table) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pmda.TreeNamer{Tree: t.tree}.Children(ctx, name, traverse)
}

// Changes implements [pmda.Changer].
func (t *Table) Changes() (names, labels bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	names, labels = t.names, t.labels
	t.names, t.labels = false, false
	return names, labels
}

// Close writes the file of names.
func (t *Table) Close() error { return t.stopSaving() }

var (
	_ pmda.Agent        = (*Table)(nil)
	_ pmda.NameSpacer   = (*Table)(nil)
	_ pmda.DynamicNamer = (*Table)(nil)
	_ pmda.Texter       = (*Table)(nil)
	_ pmda.Labeler      = (*Table)(nil)
	_ pmda.Changer      = (*Table)(nil)
)
