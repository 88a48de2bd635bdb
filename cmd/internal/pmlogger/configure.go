package pmlogger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/pmapi"
)

// A compiler turns statements of a configuration into requests of a plan. It looks up the metrics, and logs those
// that cannot be recorded.
type compiler struct {
	c     *pmapi.Context
	plan  *plan
	log   journal
	meant func(ctx context.Context, name string) string // Config.Meant
	known map[string]pcp.Desc                           // by name, looked up so far
}

// all adds a configuration parsed by [conf.Read]. It looks up its metrics with few requests; other names are
// looked up one by one, with a message for each failure.
func (k *compiler) all(ctx context.Context, c *conf.Config) error {
	var names []string
	for _, g := range c.Groups {
		for _, m := range g.Metrics {
			names = append(names, m.Name)
		}
	}
	if err := k.learn(ctx, names); err != nil {
		return err
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		for _, m := range g.Metrics {
			if err := k.add(ctx, g.Statement, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds the metric of a statement. It logs metrics that cannot be
// recorded; an error ends the recorder.
func (k *compiler) add(ctx context.Context, s conf.Statement, m conf.Metric) error {
	t := k.plan.task(s)
	if _, ok := t.byName[m.Name]; ok {
		return k.activate(ctx, t, m.Name, &m)
	}
	names, leaf, err := k.leaves(ctx, m.Name)
	if len(names) > 1 && err == nil {
		if err := k.learn(ctx, names); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := k.activate(ctx, t, name, &m); err != nil {
			return err
		}
	}
	if err != nil {
		k.log.warn(m.Place, fmt.Sprintf("Problem with lookup for metric %q ... logging not activated", m.Name))
		meant := ""
		if k.meant != nil && pcp.Code(err) == pcp.ErrName {
			meant = k.meant(ctx, m.Name)
		}
		k.log.printf("Reason: %s%s\n", pcp.Code(err), meant)
		if lost(err) {
			return fmt.Errorf("the collector was lost: %w", err)
		}
	}
	if !leaf {
		k.plan.addRoot(m.Name, s)
	}
	return nil
}

// learn caches the descriptors of those names that are metrics. It returns an error only if
// the collector cannot be reached.
func (k *compiler) learn(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	all, err := k.c.LookupName(ctx, names...)
	if lost(err) || ctx.Err() != nil {
		return err
	}
	var metrics []string
	var ids []pcp.PMID
	for i, id := range all {
		if id != pcp.PMIDNull {
			metrics, ids = append(metrics, names[i]), append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	descs, err := k.c.LookupDescs(ctx, ids...)
	if lost(err) || ctx.Err() != nil {
		return err
	}
	if k.known == nil {
		k.known = make(map[string]pcp.Desc)
	}
	for i, d := range descs {
		if d.PMID == ids[i] {
			k.known[metrics[i]] = d
		}
	}
	return nil
}

// leaves returns the metrics at or below a name, and reports whether the name is a
// metric itself.
func (k *compiler) leaves(ctx context.Context, name string) (names []string, leaf bool, err error) {
	if _, ok := k.known[name]; ok {
		return []string{name}, true, nil
	}
	for leaf, err := range k.c.Traverse(ctx, name) {
		if err != nil {
			return names, false, err
		}
		names = append(names, leaf)
	}
	return names, len(names) == 1 && names[0] == name, nil
}

// describe looks up a metric. Many names are looked up in advance with few requests.
func (k *compiler) describe(ctx context.Context, name string) (pcp.Desc, string, error) {
	if d, ok := k.known[name]; ok {
		return d, "", nil
	}
	ids, err := k.c.LookupName(ctx, name)
	if err != nil || ids[0] == pcp.PMIDNull {
		if err == nil {
			err = pcp.ErrName
		}
		return pcp.Desc{}, fmt.Sprintf("Metric %q is unknown ... not logged", name), err
	}
	d, err := k.c.LookupDesc(ctx, ids[0])
	if err != nil {
		return d, fmt.Sprintf("Description unavailable for metric %q ... not logged", name), err
	}
	return d, "", nil
}

// activate starts recording a metric in a task, with the instances of m.
func (k *compiler) activate(ctx context.Context, t *task, name string, m *conf.Metric) error {
	i, ok := t.byName[name]
	if !ok {
		d, problem, err := k.describe(ctx, name)
		if err != nil {
			k.log.warn(m.Place, problem)
			k.log.printf("Reason: %s\n", pcp.Code(err))
			if lost(err) {
				return fmt.Errorf("the collector was lost: %w", err)
			}
			return nil
		}
		i = t.add(name, d)
	}
	desc := t.metrics[i].desc
	var insts []int32
	if len(m.Instances) > 0 {
		insts = k.wanted(ctx, t, name, desc, m)
		if len(insts) == 0 {
			return nil
		}
	} else if problem, done := k.plan.checkAll(t, desc.PMID); problem != "" {
		k.log.warn(m.Place, fmt.Sprintf("Incompatible request for metric %q", name))
		return nil
	} else if done {
		return nil
	}
	k.plan.request(t, desc, insts)
	t.valid++
	return nil
}

// wanted returns the instances of m, without those that the task records already
// and those that cannot be recorded, which it reports.
func (k *compiler) wanted(ctx context.Context, t *task, name string, desc pcp.Desc, m *conf.Metric) []int32 {
	var insts []int32
	for _, want := range m.Instances {
		inst, what := want.ID, want.Name
		var err error
		if want.Name != "" {
			inst, err = k.c.LookupInDom(ctx, desc.InDom, want.Name)
		} else {
			what = fmt.Sprint(want.ID)
			_, err = k.c.NameInDom(ctx, desc.InDom, want.ID)
		}
		if err != nil {
			k.log.warn(m.Place, fmt.Sprintf("Instance \"%s\" is not defined for the metric %q", what, name))
			continue
		}
		problem, done := k.plan.checkOne(t, desc.PMID, inst)
		if problem != "" {
			k.log.warn(m.Place, fmt.Sprintf("Incompatible request for metric %q and instance \"%s\"", name, what))
			k.log.printf("%s\n", problem)
			continue
		}
		if !done && !slices.Contains(insts, inst) {
			insts = append(insts, inst)
		}
	}
	slices.Sort(insts)
	return insts
}

// discover records metrics that have appeared below names of the configuration.
func (k *compiler) discover(ctx context.Context) {
	for _, x := range k.plan.roots {
		names, _, err := k.leaves(ctx, x.name)
		if err != nil {
			continue // it may come back
		}
		for _, name := range names {
			ids, err := k.c.LookupName(ctx, name)
			if err != nil || ids[0] == pcp.PMIDNull || len(k.plan.requests[ids[0]]) > 0 {
				continue
			}
			d, err := k.c.LookupDesc(ctx, ids[0])
			if err != nil {
				continue
			}
			k.plan.adopt(conf.Statement{State: x.State, Interval: x.Interval}, name, d, time.Now())
		}
	}
}
