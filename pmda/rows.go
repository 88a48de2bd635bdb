package pmda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// rows are the metrics of a table. They are found by PMID without a search
// (PMDA_EXT_FLAG_HASHED), and by name in a tree. They do not change.
type rows struct {
	list    []*tableMetric
	metrics map[pcp.PMID]*tableMetric
	indoms  map[pcp.InDom]*tableInDom
	tree    *pmns.Tree // of all metrics
	public  *pmns.Tree // with dynamic roots in place of their subtrees
}

// SetMetrics replaces all rows of the table, for an agent whose metrics come
// and go (pmdaRehash(3), pmdaDynamicMetricTable(3)). If a row is wrong, the
// error names it, and the table does not change. If names were added, removed
// or got another PMID, collectors are notified with the next values
// (PMDA_EXT_NAMES_CHANGE). The table keeps the slice.
//
// SetMetrics may be called at any time and by any goroutine; a fetch that has
// begun continues with the old rows. A collector that uses the agent's own
// names learns of new ones only below the roots of [Config.Dynamic].
func (t *Table) SetMetrics(metrics []Metric) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, err := t.newRows(metrics)
	if err != nil {
		return fmt.Errorf("agent %s: %w", t.cfg.Name, err)
	}
	old := t.rows.Load()
	for id, m := range r.metrics {
		if was := old.metrics[id]; was != nil {
			m.failed.Store(was.failed.Load())
		}
	}
	t.rows.Store(r)
	if !sameNames(old, r) {
		t.news.Store(true)
	}
	return nil
}

// sameNames reports whether a and b have the same names for the same metrics.
func sameNames(a, b *rows) bool {
	if len(a.metrics) != len(b.metrics) {
		return false
	}
	for id, m := range a.metrics {
		if other := b.metrics[id]; other == nil || other.Name != m.Name {
			return false
		}
	}
	return true
}

// Changes implements [Changer].
func (t *Table) Changes() (names, labels bool) {
	return t.news.Load() && t.news.Swap(false), false
}

// present returns the present rows. Agents that embed the table have this method
// too; the daemon finds it there.
func (t *Table) present() *rows { return t.rows.Load() }

// updated returns the present rows, after a call of Config.Update.
func (t *Table) updated(ctx context.Context) (*rows, error) {
	if t.cfg.Update != nil {
		if err := t.cfg.Update(ctx); err != nil {
			return nil, err
		}
	}
	return t.rows.Load(), nil
}

func (t *Table) newRows(metrics []Metric) (*rows, error) {
	r := &rows{
		list:    make([]*tableMetric, 0, len(metrics)),
		metrics: make(map[pcp.PMID]*tableMetric, len(metrics)),
		indoms:  make(map[pcp.InDom]*tableInDom),
		tree:    pmns.New(),
	}
	r.public = r.tree
	if len(t.cfg.Dynamic) > 0 {
		r.public = pmns.New()
		for _, name := range t.cfg.Dynamic {
			if err := r.public.Add(name, pcp.DynamicRoot(t.cfg.Domain)); err != nil {
				return nil, fmt.Errorf("dynamic names: %w", err)
			}
		}
	}
	for _, d := range t.cfg.InDoms {
		if _, err := t.addInDom(r, d); err != nil {
			return nil, err
		}
	}
	for i := range metrics {
		if err := t.addMetric(r, &metrics[i]); err != nil {
			return nil, fmt.Errorf("metric %d %s: %w", i, metrics[i].Name, err)
		}
	}
	return r, nil
}

func (t *Table) addMetric(r *rows, m *Metric) error {
	if m.Cluster < 0 || m.Cluster > pcp.MaxCluster || m.Item < 0 || m.Item > pcp.MaxItem {
		return fmt.Errorf("%d.%d does not fit a PMID", m.Cluster, m.Item)
	}
	id := pcp.NewPMID(t.cfg.Domain, m.Cluster, m.Item)
	if other := r.metrics[id]; other != nil {
		return fmt.Errorf("%v is also %s", id, other.Name)
	}
	if m.Value == nil && t.cfg.Value == nil && m.Type != pcp.TypeNoSupport {
		return errors.New("nothing gives its value")
	}
	tm := &tableMetric{Metric: m, desc: pcp.Desc{
		PMID: id, Type: m.Type, InDom: pcp.InDomNull, Sem: m.Sem, Units: m.Units,
	}}
	if m.InDom != nil {
		d, err := t.addInDom(r, m.InDom)
		if err != nil {
			return err
		}
		tm.indom, tm.desc.InDom = d, d.id
	}
	var err error
	if tm.labels, err = parseLabels(pcp.LabelItem, m.Labels, m.Notes); err != nil {
		return err
	}
	r.list = append(r.list, tm)
	r.metrics[id] = tm
	if m.Name == "" {
		return nil
	}
	if err := r.tree.Add(m.Name, id); err != nil {
		return err
	}
	if r.public == r.tree {
		return nil
	}
	if _, dynamic := r.public.DynamicRoot(m.Name); dynamic {
		return nil
	}
	return r.public.Add(m.Name, id)
}

func (t *Table) addInDom(r *rows, d *InDom) (*tableInDom, error) {
	if d.Serial < 0 || d.Serial > pcp.MaxSerial {
		return nil, fmt.Errorf("instance domain serial %d does not fit", d.Serial)
	}
	id := pcp.NewInDom(t.cfg.Domain, d.Serial)
	if have := r.indoms[id]; have != nil {
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
	r.indoms[id] = td
	return td, nil
}

// NameSpace implements [NameSpacer]. It has all names, with the roots of
// [Config.Dynamic] in place of those that may change.
func (t *Table) NameSpace() *pmns.Tree { return t.rows.Load().public }

// LookupName implements [DynamicNamer] (pmdaTreePMID(3)).
func (t *Table) LookupName(ctx context.Context, name string) (pcp.PMID, error) {
	r, err := t.updated(ctx)
	if err != nil {
		return pcp.PMIDNull, err
	}
	return TreeNamer{r.tree}.LookupName(ctx, name)
}

// Names implements [DynamicNamer] (pmdaTreeName(3)).
func (t *Table) Names(ctx context.Context, id pcp.PMID) ([]string, error) {
	r, err := t.updated(ctx)
	if err != nil {
		return nil, err
	}
	return TreeNamer{r.tree}.Names(ctx, id)
}

// Children implements [DynamicNamer] (pmdaTreeChildren(3)). A root of
// [Config.Dynamic] with no names below it has no children.
func (t *Table) Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error) {
	r, err := t.updated(ctx)
	if err != nil {
		return nil, err
	}
	list, err := TreeNamer{r.tree}.Children(ctx, name, traverse)
	if err != nil {
		if _, dynamic := r.public.DynamicRoot(name); dynamic && slices.Contains(t.cfg.Dynamic, name) {
			return nil, nil
		}
	}
	return list, err
}
