package pmapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/pmns"
)

// UseDerived adds the derived metrics of set to the context, after those of the
// source; where names are the same, that of the source counts. Contexts may share a
// set. If a definition makes no sense at this source, report is called with a
// [*derive.SemanticError] when its metric is first requested; a nil report discards
// it. UseDerived may be called at any time; with a nil set it removes the metrics.
//
// A derived metric is like any other: it has a PMID, a descriptor, help text, the
// instances and labels of its operands' domain, and values in fetches and groups. Only
// [ArchiveContext.FetchArchive], which returns records, has no derived metrics. The
// first request for a metric asks the source for the operands; a derived metric
// without them still has a name, as with the C library, but its descriptor is
// pcp.ErrBadDerive.
func (c *Context) UseDerived(set *derive.Set, report func(error)) {
	if set == nil {
		c.derived.uses.Store(nil)
		return
	}
	c.derived.uses.Store(c.derived.use(set, report))
}

// AddDerived defines the metric name by an expression in this context only
// (pmAddDerivedMetric(3)). It may have the name of a metric of
// [Context.UseDerived], which it hides. The error is a [*derive.Error] if the
// expression cannot be parsed or lacks an operand, a [*derive.SemanticError] if
// it makes no sense for its operands. Reconnect forgets the metric.
func (c *Context) AddDerived(ctx context.Context, name, expr string) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	if c.derived.uses.Load() == nil {
		c.derived.uses.CompareAndSwap(nil, c.derived.use(new(derive.Set), nil))
	}
	return c.derived.binding().Add(ctx, name, expr)
}

// RemoveDerived removes a metric of [Context.AddDerived] (pmUnregisterDerived(3)),
// pcp.ErrName if there is none. A metric of [Context.UseDerived] that it hid is
// visible again; [derive.Set.Remove] removes those, in all contexts at once.
func (c *Context) RemoveDerived(ctx context.Context, name string) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	if b := c.derived.binding(); b == nil || !b.Remove(name) {
		return nameError(name, pcp.ErrName)
	}
	return nil
}

// AddDerivedText gives a derived metric of this context a help text
// (pmAddDerivedText(3)), see [derive.Set.AddText].
func (c *Context) AddDerivedText(ctx context.Context, name string, kind pcp.TextKind, text string) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	defer c.unlock()
	b := c.derived.binding()
	if b == nil {
		return nameError(name, pcp.ErrName)
	}
	return b.AddText(name, kind, text)
}

// A derived is a source with derived metrics on top of those below it.
type derived struct {
	source
	plain source                     // without the event metrics
	uses  atomic.Pointer[derivedUse] // nil for none
	stale atomic.Bool                // names below have changed

	below operands // of the request under way
}

// A derivedUse has the arguments of UseDerived.
type derivedUse struct {
	set    *derive.Set
	report func(error)
	b      *derive.Binding // of the request under way
}

func (d *derived) use(set *derive.Set, report func(error)) *derivedUse {
	return &derivedUse{set, report, set.Bind(&d.below, report)}
}

// binding returns the definitions over the source, nil if there are none.
func (d *derived) binding() *derive.Binding {
	u := d.uses.Load()
	if u == nil {
		return nil
	}
	if d.stale.CompareAndSwap(true, false) {
		u.b.Rebind()
	}
	return u.b
}

// log returns the log of the definitions if it is for derived metrics, else nil.
func (d *derived) log() *debug.Log {
	if u := d.uses.Load(); u != nil && u.set.Debug.On(debugname.Derive) {
		return u.set.Debug
	}
	return nil
}

// operands is how a binding sees the source below.
type operands struct {
	source
	profile profile // of the fetch under way
}

// unasked returns err if it means that the source could not be asked; any other
// error means that the source lacks something.
func unasked(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTimeout) || errors.Is(err, pcp.ErrNoContext) {
		return err
	}
	return nil
}

// LookupNames implements derive.Source.
func (o *operands) LookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	return unasked(ctx, o.lookupNames(ctx, names, ids))
}

// Descs implements derive.Source.
func (o *operands) Descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	return unasked(ctx, o.descs(ctx, ids, descs))
}

// InstanceName implements derive.Source.
func (o *operands) InstanceName(ctx context.Context, indom pcp.InDom, inst int32, at pcp.Timestamp) (string, error) {
	if r := o.archive(); r != nil {
		return r.instanceAt(indom, inst, at)
	}
	list, err := o.instances(ctx, indom, inst, "")
	if err != nil || len(list) == 0 {
		return "", errors.Join(err, pcp.ErrInst)
	}
	return list[0].Name, nil
}

// LookupInstance implements derive.Source.
func (o *operands) LookupInstance(ctx context.Context, indom pcp.InDom, name string) (int32, error) {
	list, err := o.instances(ctx, indom, pcp.InNull, name)
	if err != nil || len(list) == 0 {
		return 0, errors.Join(err, pcp.ErrInst)
	}
	return list[0].Inst, nil
}

// Instances implements derive.Source.
func (o *operands) Instances(ctx context.Context, indom pcp.InDom) ([]int32, error) {
	list, err := o.instances(ctx, indom, pcp.InNull, "")
	if err != nil {
		return nil, err
	}
	var insts []int32
	for i := range list {
		if o.profile.Profile == nil || o.profile.Includes(indom, list[i].Inst) {
			insts = append(insts, list[i].Inst)
		}
	}
	return insts, nil
}

func (d *derived) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	err := d.source.lookupNames(ctx, names, ids)
	if err == nil {
		return nil
	}
	b := d.binding()
	if b == nil || unasked(ctx, err) != nil {
		return err
	}
	first, found := -1, false
	for i, name := range names {
		if ids[i] != pcp.PMIDNull {
			continue
		}
		id, ok := b.Lookup(name)
		if log := d.log(); log != nil {
			log.Printf("__dmgetpmid: metric \"%s\" -> %s\n", name, lookupText(id, ok))
		}
		if ok {
			ids[i], found = id, true
		} else if first < 0 {
			first = i
		}
	}
	switch {
	case first < 0:
		return nil
	case !found:
		return err
	}
	// Err may be about a name that is known now.
	var one [1]pcp.PMID
	one[0] = pcp.PMIDNull
	if err := d.source.lookupNames(ctx, names[first:first+1], one[:]); err != nil {
		return err
	}
	return nameError(names[first], pcp.ErrName)
}

func (d *derived) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	if id.IsDerived() {
		if b := d.binding(); b != nil {
			if name, ok := b.Name(id); ok {
				return []string{name}, nil
			}
		}
	}
	return d.source.names(ctx, id)
}

// below reports whether name is prefix or below it.
func below(name, prefix string) bool {
	return prefix == "" || strings.HasPrefix(name, prefix) && (len(name) == len(prefix) || name[len(prefix)] == '.')
}

// children has, as that of the C library, the names of definitions too that have
// not been bound and perhaps cannot be, unless these are reported.
func (d *derived) children(ctx context.Context, name string) ([]pmns.Child, error) {
	children, err := d.source.children(ctx, name)
	b := d.binding()
	if log := d.log(); log != nil {
		d.traceChildren(ctx, log, b, name)
	}
	if b == nil || err != nil && !errors.Is(err, pcp.ErrName) {
		return children, err
	}
	if d.uses.Load().set.Version7 {
		if err := b.BindNames(ctx, func(full string) bool { return below(full, name) }); err != nil {
			return nil, err
		}
	}
	b.Names(func(full string) bool {
		if !below(full, name) {
			return true
		}
		err = nil
		if full == name {
			return true // a leaf
		}
		rest := full
		if name != "" {
			rest = full[len(name)+1:]
		}
		part, _, deeper := strings.Cut(rest, ".")
		if !slices.ContainsFunc(children, func(c pmns.Child) bool { return c.Name == part }) {
			children = append(children, pmns.Child{Name: part, Leaf: !deeper})
		}
		return true
	})
	return children, err
}

// leaves has those of the definitions that can be bound, after the names of the
// source, if a collector is asked. Elsewhere the C library goes from node to node.
func (d *derived) leaves(ctx context.Context, name string) ([]string, error) {
	b := d.binding()
	if b == nil {
		return d.source.leaves(ctx, name)
	}
	if d.location() != PMNSRemote {
		return d.walk(ctx, b, name)
	}
	names, err := d.source.leaves(ctx, name)
	if err != nil && !errors.Is(err, pcp.ErrName) {
		return names, err
	}
	if log := d.log(); log != nil {
		err := traceLeaves(ctx, log, b, name)
		if err != nil {
			return names, err
		}
	}
	if err := b.BindNames(ctx, func(full string) bool { return below(full, name) }); err != nil {
		return names, err
	}
	b.Names(func(full string) bool {
		if below(full, name) {
			names, err = append(names, full), nil
		}
		return true
	})
	return names, err
}

// walk returns the leaves below name in the order of the children of each node.
func (d *derived) walk(ctx context.Context, b *derive.Binding, name string) ([]string, error) {
	any := false
	b.Names(func(full string) bool {
		any = below(full, name)
		return !any
	})
	log := d.log()
	if !any && log == nil {
		return d.source.leaves(ctx, name)
	}
	children, err := d.children(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(children) == 0 {
		return []string{name}, nil
	}
	var names []string
	for _, c := range children {
		full := c.Name
		if name != "" {
			full = name + "." + c.Name
		}
		if c.Leaf {
			if log != nil {
				d.traceChildren(ctx, log, b, full)
			}
			names = append(names, full)
			continue
		}
		some, err := d.walk(ctx, b, full)
		names = append(names, some...)
		if err != nil {
			return names, err
		}
	}
	return names, nil
}

// derivedIDs reports whether ids has one of a derived metric; those of the event
// metrics look as such.
func derivedIDs(ids []pcp.PMID) bool {
	for _, id := range ids {
		if id.IsDerived() && !isEvent(id) {
			return true
		}
	}
	return false
}

func (d *derived) descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	if !derivedIDs(ids) {
		return d.source.descs(ctx, ids, descs)
	}
	b := d.binding()
	if b == nil {
		return d.source.descs(ctx, ids, descs)
	}
	if err := b.Descs(ctx, ids, descs); err != nil {
		return err
	}
	// The source is not asked for metrics that b knows, bound or not.
	var rest []pcp.PMID
	var places []int
	bad := -1
	for i, id := range ids {
		switch _, ours := b.Name(id); {
		case !ours:
			rest, places = append(rest, id), append(places, i)
		case descs[i].PMID == pcp.PMIDNull && bad < 0:
			bad = i
		}
	}
	var err error
	if len(rest) > 0 {
		some := make([]pcp.Desc, len(rest))
		for i := range some {
			some[i].PMID = pcp.PMIDNull
		}
		err = d.source.descs(ctx, rest, some)
		for i, place := range places {
			descs[place] = some[i]
		}
	}
	if unasked(ctx, err) != nil {
		return err
	}
	first := slices.IndexFunc(descs, func(desc pcp.Desc) bool { return desc.PMID == pcp.PMIDNull })
	if bad >= 0 && first == bad {
		return pcp.ErrBadDerive
	}
	return err
}

func (d *derived) text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if id := pcp.PMID(ident); kind&pcp.TextPMID != 0 && id.IsDerived() {
		if b := d.binding(); b != nil {
			if _, ok := b.Name(id); ok {
				return b.Text(id, kind)
			}
		}
	}
	return d.source.text(ctx, ident, kind)
}

func (d *derived) fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error) {
	var b *derive.Binding
	if derivedIDs(ids) {
		b = d.binding()
	}
	if b == nil {
		changes, err := d.source.fetch(ctx, p, ids, res, keep)
		d.note(changes)
		return changes, err
	}
	wanted, err := b.Operands(ctx, ids)
	if err != nil {
		return 0, err
	}
	d.below.profile = p
	defer func() { d.below.profile = profile{} }()
	changes, err := d.source.fetch(ctx, p, wanted, res, keep)
	if err == nil {
		b.Evaluate(ctx, res, len(ids))
	}
	d.note(changes)
	return changes, err
}

// note remembers that metrics may exist now that did not.
func (d *derived) note(changes Changes) {
	if changes&(NamesChange|AddAgent|RestartAgent) != 0 {
		d.stale.Store(true)
	}
}

func (d *derived) reconnect(ctx context.Context) error {
	err := d.source.reconnect(ctx)
	if u := d.uses.Load(); err == nil && u != nil {
		u.b.Reset()
	}
	return err
}
