package pmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// A Config says what an agent made of tables serves. Metrics and instance
// domains are written without the agent's domain; they get Domain when
// [NewTable] makes the agent.
type Config struct {
	Name    string // of the agent, such as "simple": in messages and its domain's labels
	Domain  int    // under which the agent is served, 1..MaxAgentDomain
	Metrics []Metric
	InDoms  []*InDom // those that no metric refers to; may be nil

	// Refresh, if not nil, reads the source for the metrics ids before they
	// are fetched, as [Refresher] says.
	Refresh func(ctx context.Context, ids []pcp.PMID) error

	// Value returns the value of the metrics that have no function of their
	// own; see [Metric.Value]. It also gets the request and the metric.
	Value func(req *FetchRequest, m *Metric, inst int32, i int) (pcp.Value, error)

	// Labels of the domain and of clusters are JSON objects, such as
	// {"role":"testing"}. Without Labels the domain has {"agent":Name}; "{}"
	// means none. Here and below, Notes are further labels that are optional:
	// no part of a series' identity.
	Labels, Notes string
	ClusterLabels map[int]string

	// Log gets one line when a metric's function starts to fail with an error
	// that is no pcp.Error; nil discards.
	Log *slog.Logger
}

// A Metric is one row of an agent's table of metrics (pmdaMetric).
type Metric struct {
	Name          string // full name in the name space; "" for none
	Cluster, Item int
	Type          pcp.Type
	InDom         *InDom // nil for a metric with a single value
	Sem           pcp.Sem
	Units         pcp.Units
	OneLine, Help string // help text; an empty Help falls back to OneLine
	Labels, Notes string // of the item, JSON objects; "" for none

	// Value returns the value for one instance: inst is its number (InNull
	// for a metric with a single value), and i its index in the list of
	// instances that the instance domain has just given (else 0). The
	// value's type must be Type; its Inst is set by the caller.
	//
	// An error is the metric's if no instance has a value; otherwise the
	// instance is left out. [ErrNoValue] leaves an instance out and is no error.
	// A nil Value falls back to Config.Value.
	Value func(inst int32, i int) (pcp.Value, error)

	// Store sets the value for one instance; inst and i are as for Value, and
	// the instance exists. Nil refuses with pcp.ErrPermission. The value has the
	// metric's type, but the size of strings and aggregates is the peer's.
	Store func(client *Client, inst int32, i int, v pcp.Value) error

	// User is the author's own, for a Config.Value or Config.Refresh that
	// serves many metrics (m_user).
	User any
}

// An InDom is an instance domain of an agent (pmdaIndom). Metrics share one by
// pointing at it.
type InDom struct {
	Serial        int
	Instances     []pcp.Instance // the members, unless List is set
	OneLine, Help string
	Labels, Notes string // of the domain, JSON objects; "" for none

	// List returns the members. It is called for every fetch of a metric of
	// this domain and so must not read the source again. The slice is used
	// only until the agent's next call.
	List func(ctx context.Context) ([]pcp.Instance, error)

	// Refresh, if not nil, is called before List when not a fetch but a
	// question about the instances themselves, or their labels, has come.
	Refresh func(ctx context.Context) error

	// InstanceLabels and InstanceNotes return the labels of one instance as a
	// JSON object, "" for none; i is its index in the list.
	InstanceLabels, InstanceNotes func(inst int32, i int) string
}

// ErrNoValue is returned for an instance that has no value now
// (PMDA_FETCH_NOVALUES).
var ErrNoValue = errors.New("no value available")

// A Table is an agent made of tables; it has every optional interface that
// tables can serve. An agent that needs more embeds a *Table and overrides
// methods, as C agents wrap pmdaFetch and its like.
type Table struct {
	cfg     Config
	metrics map[pcp.PMID]*tableMetric
	indoms  map[pcp.InDom]*tableInDom
	tree    *pmns.Tree

	labels   []pcp.LabelSet // of the domain
	clusters map[int][]pcp.LabelSet
}

// A tableMetric is a metric under the domain of its table.
type tableMetric struct {
	*Metric
	desc   pcp.Desc
	indom  *tableInDom
	labels []pcp.LabelSet
	failed bool // the last fetch failed and the log has it
}

type tableInDom struct {
	*InDom
	id     pcp.InDom
	labels []pcp.LabelSet
}

// NewTable returns the agent that cfg describes. The error says which row is
// wrong. The table keeps cfg's slices and pointers; do not change them later.
func NewTable(cfg Config) (*Table, error) {
	t := &Table{
		cfg:     cfg,
		metrics: make(map[pcp.PMID]*tableMetric, len(cfg.Metrics)),
		indoms:  make(map[pcp.InDom]*tableInDom),
		tree:    pmns.New(),
	}
	if t.cfg.Log == nil {
		t.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Domain < 1 || cfg.Domain > pcp.MaxAgentDomain {
		return nil, fmt.Errorf("agent %s: domain %d is not in 1..%d", cfg.Name, cfg.Domain, pcp.MaxAgentDomain)
	}
	if err := t.parseLabels(); err != nil {
		return nil, fmt.Errorf("agent %s: %w", cfg.Name, err)
	}
	for _, d := range cfg.InDoms {
		if _, err := t.addInDom(d); err != nil {
			return nil, fmt.Errorf("agent %s: %w", cfg.Name, err)
		}
	}
	for i := range cfg.Metrics {
		if err := t.addMetric(&cfg.Metrics[i]); err != nil {
			return nil, fmt.Errorf("agent %s: metric %d %s: %w", cfg.Name, i, cfg.Metrics[i].Name, err)
		}
	}
	return t, nil
}

func (t *Table) addMetric(m *Metric) error {
	if m.Cluster < 0 || m.Cluster > pcp.MaxCluster || m.Item < 0 || m.Item > pcp.MaxItem {
		return fmt.Errorf("%d.%d does not fit a PMID", m.Cluster, m.Item)
	}
	id := pcp.NewPMID(t.cfg.Domain, m.Cluster, m.Item)
	if other := t.metrics[id]; other != nil {
		return fmt.Errorf("%v is also %s", id, other.Name)
	}
	if m.Value == nil && t.cfg.Value == nil && m.Type != pcp.TypeNoSupport {
		return errors.New("nothing gives its value")
	}
	tm := &tableMetric{Metric: m, desc: pcp.Desc{
		PMID: id, Type: m.Type, InDom: pcp.InDomNull, Sem: m.Sem, Units: m.Units,
	}}
	if m.InDom != nil {
		d, err := t.addInDom(m.InDom)
		if err != nil {
			return err
		}
		tm.indom, tm.desc.InDom = d, d.id
	}
	var err error
	if tm.labels, err = parseLabels(pcp.LabelItem, m.Labels, m.Notes); err != nil {
		return err
	}
	t.metrics[id] = tm
	if m.Name == "" {
		return nil
	}
	return t.tree.Add(m.Name, id)
}

func (t *Table) addInDom(d *InDom) (*tableInDom, error) {
	if d.Serial < 0 || d.Serial > pcp.MaxSerial {
		return nil, fmt.Errorf("instance domain serial %d does not fit", d.Serial)
	}
	id := pcp.NewInDom(t.cfg.Domain, d.Serial)
	if have := t.indoms[id]; have != nil {
		if have.InDom != d {
			return nil, fmt.Errorf("two instance domains have serial %d", d.Serial)
		}
		return have, nil
	}
	labels, err := parseLabels(pcp.LabelInDom, d.Labels, d.Notes)
	if err != nil {
		return nil, fmt.Errorf("instance domain serial %d: %w", d.Serial, err)
	}
	td := &tableInDom{InDom: d, id: id, labels: labels}
	t.indoms[id] = td
	return td, nil
}

// Name returns the name of the agent.
func (t *Table) Name() string { return t.cfg.Name }

// Domain returns the domain that the agent is served under.
func (t *Table) Domain() int { return t.cfg.Domain }

// Metric returns the row of a metric, nil if there is none.
func (t *Table) Metric(id pcp.PMID) *Metric {
	if m := t.metrics[id]; m != nil {
		return m.Metric
	}
	return nil
}

// Desc implements [Agent].
func (t *Table) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	m := t.metrics[id]
	if m == nil {
		return pcp.Desc{}, pcp.ErrPMID
	}
	return m.desc, nil
}

// Instances implements [Agent].
func (t *Table) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	d := t.indoms[indom]
	if d == nil {
		return nil, pcp.ErrInDom
	}
	if d.Refresh != nil {
		if err := d.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	return d.list(ctx)
}

// list returns the members without reading the source again.
func (d *tableInDom) list(ctx context.Context) ([]pcp.Instance, error) {
	if d.List == nil {
		return d.Instances, nil
	}
	return d.List(ctx)
}

// Refresh implements [Refresher].
func (t *Table) Refresh(ctx context.Context, ids []pcp.PMID) error {
	if t.cfg.Refresh == nil {
		return nil
	}
	return t.cfg.Refresh(ctx, ids)
}

// Fetch implements [Agent].
func (t *Table) Fetch(ctx context.Context, req *FetchRequest) error {
	req.Result.Grow(len(req.PMIDs), len(req.PMIDs))
	for _, id := range req.PMIDs {
		if m := t.metrics[id]; m != nil {
			t.fetch(ctx, req, m)
		} else {
			req.Result.AddError(id, pcp.ErrPMID)
		}
	}
	return nil
}

// fetch appends the values of one metric. As in pmdaFetch, the error of the
// last instance counts, and only if no instance has a value.
func (t *Table) fetch(ctx context.Context, req *FetchRequest, m *tableMetric) {
	id := m.desc.PMID
	if m.Type == pcp.TypeNoSupport {
		req.Result.AddError(id, pcp.ErrAppVersion)
		return
	}
	req.Result.AddSet(id)
	n, last := 0, error(nil)
	if m.indom == nil {
		v, err := t.value(req, m, pcp.InNull, 0)
		if err == nil {
			req.Result.Add(v)
			n++
		}
		last = err
	} else {
		insts, err := m.indom.list(ctx)
		if err != nil {
			last, insts = err, nil
		}
		profile := req.Profile.InDom(m.indom.id)
		all := profile.State == pcp.ProfileInclude && len(profile.Insts) == 0
		for i := range insts {
			inst := insts[i].Inst
			if !all && !profile.Includes(inst) {
				continue
			}
			v, err := t.value(req, m, inst, i)
			if err != nil {
				last = err
				continue
			}
			req.Result.Add(v)
			n++
		}
	}
	if last == nil || last == ErrNoValue {
		m.failed = false
		return
	}
	code, known := status(last)
	if !known && !m.failed {
		m.failed = true
		t.cfg.Log.Error("metric has no value", "metric", m.Name, "pmid", id.String(), "err", last)
	}
	if n == 0 {
		req.Result.Sets[len(req.Result.Sets)-1].Err = code
	}
}

func (t *Table) value(req *FetchRequest, m *tableMetric, inst int32, i int) (v pcp.Value, err error) {
	if m.Value != nil {
		v, err = m.Value(inst, i)
	} else {
		v, err = t.cfg.Value(req, m.Metric, inst, i)
	}
	if err == nil && v.Type() != m.Type {
		err = pcp.ErrType
	}
	v.Inst = inst
	return v, err
}

// Store implements [Storer].
func (t *Table) Store(ctx context.Context, client *Client, res *pcp.Result) error {
	for i := range res.Sets {
		vs := &res.Sets[i]
		m := t.metrics[vs.PMID]
		if m == nil {
			return pcp.ErrPMID
		}
		if m.Store == nil {
			return pcp.ErrPermission
		}
		if err := m.store(ctx, client, vs); err != nil {
			return err
		}
	}
	return nil
}

func (m *tableMetric) store(ctx context.Context, client *Client, vs *pcp.ValueSet) error {
	var insts []pcp.Instance
	if m.indom != nil {
		var err error
		if insts, err = m.indom.list(ctx); err != nil {
			return err
		}
	}
	for _, v := range vs.Values {
		i := 0
		if m.indom != nil {
			for i < len(insts) && insts[i].Inst != v.Inst {
				i++
			}
			if i == len(insts) {
				return pcp.ErrInst
			}
		} else {
			v.Inst = pcp.InNull
		}
		if v = v.As(m.Type); v.Type() != m.Type {
			return pcp.ErrConv
		}
		if err := m.Store(client, v.Inst, i, v); err != nil {
			return err
		}
	}
	return nil
}

// Text implements [Texter].
func (t *Table) Text(_ context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	var oneline, help string
	if kind&pcp.TextInDom != 0 {
		if d := t.indoms[pcp.InDom(ident)]; d != nil {
			oneline, help = d.OneLine, d.Help
		}
	} else if m := t.metrics[pcp.PMID(ident)]; m != nil {
		oneline, help = m.OneLine, m.Help
	}
	text := oneline
	if kind&pcp.TextHelp != 0 && (help != "" || kind&pcp.TextDirect != 0) {
		text = help
	}
	if text == "" {
		return "", pcp.ErrText
	}
	return text, nil
}

// NameSpace implements [NameSpacer].
func (t *Table) NameSpace() *pmns.Tree { return t.tree }
