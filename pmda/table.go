package pmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/go-pcp/pcp"
)

// A Config describes an agent made of tables. Metrics and instance domains
// are written without the agent's domain; they get Domain when [NewTable]
// makes the agent.
type Config struct {
	Name    string // of the agent, such as "simple": in messages and its domain's labels
	Domain  int    // under which the agent is served, 1..MaxAgentDomain
	Metrics []Metric
	InDoms  []*InDom // instance domains without metrics; may be nil

	// Refresh, if not nil, reads the source for the metrics ids before they are
	// fetched; see [Refresher].
	Refresh func(ctx context.Context, ids []pcp.PMID) error

	// Value returns the value of the metrics that have no function of their
	// own; see [Metric.Value]. It also gets the request and the metric.
	Value func(req *FetchRequest, m *Metric, inst int32, i int) (pcp.Value, error)

	// Dynamic names the roots of subtrees whose names may change while the
	// agent runs, such as "disk.part": rows below one can come and go, and
	// collectors ask the agent for them (pmdaDynamicPMNS(3)).
	Dynamic []string
	// Update, if not nil, is called before a request for names, descriptors
	// or help texts is answered. It is for an agent that looks only then
	// which metrics there are, and may call [Table.SetMetrics].
	Update func(ctx context.Context) error

	// Labels of the domain and of clusters are JSON objects, such as
	// {"role":"testing"}. If Labels is empty, the domain has {"agent":Name};
	// "{}" means no labels. Here and below, Notes are further labels that are
	// optional, which means that they are not part of a series' identity.
	Labels, Notes string
	ClusterLabels map[int]string

	// Log gets one line when a metric's function starts to fail with an error
	// that is not a pcp.Error; nil discards.
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
	// An error leaves the instance out. If no instance has a value, the
	// metric has the error. [ErrNoValue] leaves the instance out without an
	// error. If Value is nil, Config.Value is called.
	Value func(inst int32, i int) (pcp.Value, error)

	// Store sets the value for one instance; inst and i are as for Value, and
	// the instance exists. If Store is nil, the error is pcp.ErrPermission. The
	// value has the metric's type, but strings and aggregates may have any size.
	Store func(client *Client, inst int32, i int, v pcp.Value) error

	// User is for the author's use, as in a Config.Value or Config.Refresh
	// that serves many metrics (m_user).
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
	// this domain, so it must not read the source again. The slice is used
	// only until the agent's next call.
	List func(ctx context.Context) ([]pcp.Instance, error)

	// Refresh, if not nil, is called before List for a request for the
	// instances themselves, or for their labels, but not for a fetch.
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
	cfg      Config
	labels   []pcp.LabelSet // of the domain
	clusters map[int][]pcp.LabelSet

	mu   sync.Mutex // held to change rows
	rows atomic.Pointer[rows]
	news atomic.Bool // names have changed, and no collector was notified yet

	doing     atomic.Pointer[tableMetric] // the metric being read; nil if there is none
	doingInst atomic.Int32
	storing   atomic.Bool
}

// A tableMetric is a metric under the domain of its table.
type tableMetric struct {
	*Metric
	desc   pcp.Desc
	indom  *tableInDom
	labels []pcp.LabelSet
	failed atomic.Bool // the last fetch failed and the log has it
}

type tableInDom struct {
	*InDom
	id     pcp.InDom
	labels []pcp.LabelSet
}

// NewTable returns the agent that cfg describes. The error names the row that is
// wrong. The table keeps cfg's slices and pointers; do not change them later.
func NewTable(cfg Config) (*Table, error) {
	t := &Table{cfg: cfg}
	if t.cfg.Log == nil {
		t.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Domain < 1 || cfg.Domain > pcp.MaxAgentDomain {
		return nil, fmt.Errorf("agent %s: domain %d is not in 1..%d", cfg.Name, cfg.Domain, pcp.MaxAgentDomain)
	}
	if err := t.parseLabels(); err != nil {
		return nil, fmt.Errorf("agent %s: %w", cfg.Name, err)
	}
	r, err := t.newRows(cfg.Metrics)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", cfg.Name, err)
	}
	t.rows.Store(r)
	return t, nil
}

// Name returns the name of the agent.
func (t *Table) Name() string { return t.cfg.Name }

// Domain returns the domain that the agent is served under.
func (t *Table) Domain() int { return t.cfg.Domain }

// Metric returns the row of a metric, nil if there is none.
func (t *Table) Metric(id pcp.PMID) *Metric {
	if m := t.rows.Load().metrics[id]; m != nil {
		return m.Metric
	}
	return nil
}

// Desc implements [Agent].
func (t *Table) Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error) {
	r, err := t.updated(ctx)
	if err != nil {
		return pcp.Desc{}, err
	}
	m := r.metrics[id]
	if m == nil {
		return pcp.Desc{}, pcp.ErrPMID
	}
	return m.desc, nil
}

// Instances implements [Agent].
func (t *Table) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	d := t.rows.Load().indoms[indom]
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
	t.doing.Store(nil)
	if t.cfg.Refresh == nil {
		return nil
	}
	return t.cfg.Refresh(ctx, ids)
}

// Fetch implements [Agent].
func (t *Table) Fetch(ctx context.Context, req *FetchRequest) error {
	req.Result.Grow(len(req.PMIDs), len(req.PMIDs))
	r := t.rows.Load()
	if t.storing.Load() {
		t.storing.Store(false)
	}
	for _, id := range req.PMIDs {
		if m := r.metrics[id]; m != nil {
			t.fetch(ctx, req, m)
		} else {
			req.Result.AddError(id, pcp.ErrPMID)
		}
	}
	t.doing.Store(nil)
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
	t.doing.Store(m)
	n, last := 0, error(nil)
	var failed pcp.Instance // with the last error
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
				last, failed = err, insts[i]
				continue
			}
			req.Result.Add(v)
			n++
		}
	}
	if last == nil || errors.Is(last, ErrNoValue) {
		if m.failed.Load() {
			m.failed.Store(false)
		}
		return
	}
	code, known := status(last)
	if _, wrong := last.(*typeError); (!known || wrong) && !m.failed.Load() {
		m.failed.Store(true)
		attrs := []any{"metric", m.Name, "pmid", id.String()}
		if failed.Name != "" {
			attrs = append(attrs, "inst", failed.Inst, "name", failed.Name)
		}
		t.cfg.Log.Error("metric has no value", append(attrs, "err", last)...)
	}
	if n == 0 {
		req.Result.Sets[len(req.Result.Sets)-1].Err = code
	}
}

// A typeError means that a function returned a value of the wrong type. Its
// status is pcp.ErrType.
type typeError struct{ got, want pcp.Type }

func (e *typeError) Error() string {
	return fmt.Sprintf("its function gives a value of type %v, the metric's is %v", e.got, e.want)
}

func (e *typeError) Unwrap() error { return pcp.ErrType }

func (t *Table) value(req *FetchRequest, m *tableMetric, inst int32, i int) (v pcp.Value, err error) {
	t.doingInst.Store(inst)
	if m.Value != nil {
		v, err = m.Value(inst, i)
	} else {
		v, err = t.cfg.Value(req, m.Metric, inst, i)
	}
	if err == nil && v.Type() != m.Type {
		err = &typeError{v.Type(), m.Type}
	}
	v.Inst = inst
	return v, err
}

// Store implements [Storer].
func (t *Table) Store(ctx context.Context, client *Client, res *pcp.Result) error {
	r := t.rows.Load()
	t.storing.Store(true)
	for i := range res.Sets {
		vs := &res.Sets[i]
		m := r.metrics[vs.PMID]
		if m == nil {
			return pcp.ErrPMID
		}
		if m.Store == nil {
			return pcp.ErrPermission
		}
		t.doing.Store(m)
		if err := t.store(ctx, m, client, vs); err != nil {
			return err
		}
	}
	t.doing.Store(nil)
	return nil
}

func (t *Table) store(ctx context.Context, m *tableMetric, client *Client, vs *pcp.ValueSet) error {
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
		t.doingInst.Store(v.Inst)
		if err := m.Store(client, v.Inst, i, v); err != nil {
			return err
		}
	}
	return nil
}

// Text implements [Texter].
func (t *Table) Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	r, err := t.updated(ctx)
	if err != nil {
		return "", err
	}
	var oneline, help string
	if kind&pcp.TextInDom != 0 {
		if d := r.indoms[pcp.InDom(ident)]; d != nil {
			oneline, help = d.OneLine, d.Help
		}
	} else if m := r.metrics[pcp.PMID(ident)]; m != nil {
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

// Doing implements [Narrator].
func (t *Table) Doing() string {
	m := t.doing.Load()
	if m == nil {
		return ""
	}
	at := "value of "
	if t.storing.Load() {
		at = "store into "
	}
	if m.Name != "" {
		at += m.Name + " "
	}
	at += m.desc.PMID.String()
	if m.indom != nil {
		at += fmt.Sprintf(" instance %d", t.doingInst.Load())
	}
	return at
}
