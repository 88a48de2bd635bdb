package derive

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
)

// A Source has the metrics in expressions. A request may be for many metrics; a
// source on the network answers each request in one round trip.
type Source interface {
	// LookupNames sets ids[i] to the PMID of names[i], pcp.PMIDNull if there
	// is no such metric. It fails only if the source fails.
	LookupNames(ctx context.Context, names []string, ids []pcp.PMID) error
	// Descs sets descs[i] to the descriptor of ids[i]; the descriptor of a metric
	// that the source does not know gets the PMID pcp.PMIDNull. It fails as
	// LookupNames does.
	Descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error

	// InstanceName returns the name of an instance at the time of the values
	// that are being evaluated.
	InstanceName(ctx context.Context, indom pcp.InDom, inst int32, at pcp.Timestamp) (string, error)
	// LookupInstance returns the instance that has a name.
	LookupInstance(ctx context.Context, indom pcp.InDom, name string) (int32, error)
	// Instances returns the instances of a domain that the profile selects.
	Instances(ctx context.Context, indom pcp.InDom) ([]int32, error)
}

// A Binding is the metrics of a [Set] over one [Source], with the values that they
// need from the previous fetch. A definition is bound on the first request for it,
// together with the others in that request: one look-up of names and one of
// descriptors for all of them.
//
// A Binding is for one goroutine at a time.
type Binding struct {
	set    *Set
	source Source
	report func(error)

	shared []*bound // by index in the set
	own    []*bound // by index of definition, those of Add
	byName map[string]*bound
	byID   map[pcp.PMID]*bound // of own
	limit  int
	number int // of the context, in messages
	opened int // number of definitions at that time

	asked    []pcp.PMID // the last argument of Operands
	operands []pcp.PMID // its result; nil if definitions have changed since
	frame    frame
}

// A bound is a definition in one binding.
type bound struct {
	*definition
	state  bindState
	masked bool // a definition of the binding has its name
	root   *expr
}

// hidden reports whether d is hidden from requests.
func (d *bound) hidden() bool { return d.masked || d.gone.Load() }

type bindState uint8

const (
	unbound  bindState = iota
	good               // root is set
	bad                // it has been reported why
	replaced           // the source has a metric of this name
)

// unknownOperand is the message about a missing operand.
const unknownOperand = "Unknown operand metric"

// Bind makes a binding of the definitions of s over source. It does not ask the
// source yet. If a definition cannot be bound because of a [*SemanticError],
// report gets that once, when it happens; missing operands are only reported with
// [Set.Version7]. A nil report discards the errors.
func (s *Set) Bind(source Source, report func(error)) *Binding {
	if report == nil {
		report = func(error) {}
	}
	s.mu.RLock()
	b := &Binding{set: s, source: source, report: report, limit: s.controls.ownLimit}
	s.mu.RUnlock()
	b.traceOpen()
	return b
}

// Reset drops the bound metrics, for a source that is connected again: the next
// requests bind them again. It drops the definitions of the binding itself, as
// pmReconnectContext(3) does.
func (b *Binding) Reset() {
	b.Closed()
	b.shared, b.own, b.byName, b.byID, b.operands = nil, nil, nil, nil, nil
	b.traceOpened()
}

// Closed only logs that the source is closed. It may be called while the binding
// is in use.
func (b *Binding) Closed() {
	if log := b.set.tracing(); log != nil {
		log.Printf("__dmclosecontext(->ctx %d) called dm->%p %d metrics\n", b.number, b, indexBase+b.set.Len())
	}
}

// Rebind tries again to bind the metrics that could not be bound, for a source that
// may have got their operands, or has other names. The others do not change, but a
// metric that the source now has itself takes precedence.
func (b *Binding) Rebind() {
	b.operands = nil
	for _, d := range b.shared {
		if d.state == bad || d.state == replaced {
			d.state = unbound
		}
	}
}

// setLimit sets the maximum number of b's own definitions
// (PCP_DERIVED_CONTEXT_LIMIT). With n <= 0 it is about two million.
func (b *Binding) setLimit(n int) { b.limit = n }

// maxOwn is the maximum number of a binding's own definitions.
const maxOwn = 2048 * pcp.MaxItem

// Add defines a metric in this binding only (pmAddDerivedMetric(3)), and binds
// it at once. If the set has the name too, the new definition hides that of the
// set. The error is an [*Error] or a [*SemanticError], or the error of the source.
func (b *Binding) Add(ctx context.Context, name, expr string) error {
	refuse := func(column int, msg string) error {
		return &Error{Name: name, Expr: expr, Column: column, Msg: msg}
	}
	b.traceOwn(traceParse, "name=\"%s\" expr=\"%s\"", name, expr)
	limit := maxOwn
	if b.limit > 0 {
		limit = min(limit, b.limit)
	}
	if len(b.own) >= limit {
		return refuse(0, "Too many per-context derived metrics")
	}
	if _, ok := b.byName[name]; ok {
		return refuse(0, "Duplicate per-context derived metric name")
	}
	if !validName(name) {
		return refuse(0, "Illegal derived metric name")
	}
	def := &definition{Definition: Definition{Name: name, Expr: expr}, quiet: true}
	if err := def.check(new(string), b.set.tracing(traceParse)); err != nil {
		return refuse(err.pos, err.msg)
	}
	// They start at the largest PMID and go down; their flag bit is set.
	n := maxOwn - 1 - len(b.own)
	id := pcp.NewPMID(pcp.DomainDynamic, n/pcp.MaxItem, n%pcp.MaxItem+1) | 1<<31
	def.PMID = id
	d := &bound{definition: def}
	var why error
	if err := b.bindAll(ctx, []*bound{d}, bindNow, func(err error) { why = err }); err != nil {
		return err
	}
	switch {
	case d.state == replaced:
		return fmt.Errorf("%s: %w", name, pcp.ErrName)
	case d.state == bad && why == nil:
		b.traceOwn("", "%s: bind failed: %s", name, unknownOperand)
		return refuse(0, unknownOperand)
	case d.state == bad:
		b.traceOwn("", "%s: bind failed: %v", name, why)
		return why
	}
	if b.byName == nil {
		b.byName, b.byID = make(map[string]*bound), make(map[pcp.PMID]*bound)
	}
	if i, ok := b.set.index(name); ok {
		b.at(i).masked = true
		b.traceOwn("", "per-context metric \"%s\" masks global derived metric of the same name", name)
	}
	b.own = append(b.own, d)
	b.byName[name], b.byID[id] = d, d
	if log := b.traceOwn("", "per-context metric[%d] %s = %s", b.index(d), name, expr); log.On(traceParse) {
		log.Write(dump(def.tree()))
	}
	b.operands = nil
	return nil
}

// Remove removes the definition of name that [Binding.Add] made. A definition of
// the set that it hid is visible again. It reports whether there was a
// definition.
func (b *Binding) Remove(name string) bool {
	d, ok := b.byName[name]
	if !ok {
		return false
	}
	// Its place stays in use: the next one gets another PMID.
	d.gone.Store(true)
	delete(b.byName, name)
	delete(b.byID, d.PMID)
	if i, ok := b.set.index(name); ok {
		b.at(i).masked = false
	}
	b.operands = nil
	return true
}

func (s *Set) index(name string) (int, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, ok := s.byName[name]
	return i, ok
}

// at returns definition i of the set.
func (b *Binding) at(i int) *bound {
	b.refresh()
	return b.shared[i]
}

// refresh adds the new definitions of the set.
func (b *Binding) refresh() {
	defs := b.set.snapshot(len(b.shared))
	if len(defs) == 0 {
		return
	}
	room := make([]bound, len(defs))
	log := b.set.tracing(traceBind)
	for i, d := range defs {
		room[i].definition = d
		if log != nil && len(b.shared) >= b.opened {
			log.Printf("refresh: append metric \"%s\" for ctx %d\n", d.Name, b.number)
		}
		b.shared = append(b.shared, &room[i])
	}
}

func (b *Binding) find(id pcp.PMID) *bound {
	if id>>31 != 0 {
		return b.byID[id]
	}
	i := indexOf(id)
	if i >= len(b.shared) {
		b.refresh()
	}
	if i < 0 || i >= len(b.shared) || b.shared[i].hidden() {
		return nil
	}
	return b.shared[i]
}

// Lookup returns the PMID of a derived metric. It does not bind it, so it also
// finds metrics without a descriptor.
func (b *Binding) Lookup(name string) (pcp.PMID, bool) {
	if d, ok := b.byName[name]; ok {
		return d.PMID, true
	}
	if i, ok := b.set.index(name); ok {
		return pmidOf(i), true
	}
	return pcp.PMIDNull, false
}

// Name returns the name of a derived metric. It does not bind it.
func (b *Binding) Name(id pcp.PMID) (string, bool) {
	if d := b.find(id); d != nil {
		return d.Name, true
	}
	return "", false
}

// Text returns the help text of a derived metric, see [Definition.Text], and
// pcp.ErrPMID if there is no such metric.
func (b *Binding) Text(id pcp.PMID, kind pcp.TextKind) (string, error) {
	d := b.find(id)
	if d == nil {
		return "", pcp.ErrPMID
	}
	b.set.mu.RLock()
	defer b.set.mu.RUnlock()
	return d.Text(kind)
}

// AddText gives a help text to a metric of the set or of b, as [Set.AddText].
func (b *Binding) AddText(name string, kind pcp.TextKind, text string) error {
	d, ok := b.byName[name]
	if !ok {
		return b.set.AddText(name, kind, text)
	}
	return d.addText(kind, text)
}

// Names calls yield for the names of the derived metrics in their order, those
// of the set first, until it returns false. Metrics that could not be bound are
// left out; see [Binding.Bind].
func (b *Binding) Names(yield func(name string) bool) {
	b.Tried(func(name string, ok bool) bool { return !ok || yield(name) })
}

// Tried is like Names, but calls yield for all derived metrics, with false for those
// that are known not to bind.
func (b *Binding) Tried(yield func(name string, ok bool) bool) {
	b.refresh()
	for _, list := range [...][]*bound{b.shared, b.own} {
		for _, d := range list {
			if !d.hidden() && !yield(d.Name, d.state != bad && d.state != replaced) {
				return
			}
		}
	}
}

// BindNames binds the derived metrics whose names match. It fails only if the
// source fails.
func (b *Binding) BindNames(ctx context.Context, match func(name string) bool) error {
	b.refresh()
	var todo []*bound
	for _, d := range b.shared {
		if d.state == unbound && !d.hidden() && match(d.Name) {
			todo = append(todo, d)
		}
	}
	return b.bindAll(ctx, todo, bindName, b.report)
}

// Descs sets descs[i] to the descriptor of ids[i] if that is a derived metric; a metric that
// cannot be bound gets the PMID pcp.PMIDNull. It leaves the others unchanged. It fails only
// if the source fails.
func (b *Binding) Descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	if err := b.bindIDs(ctx, ids); err != nil {
		return err
	}
	for i, id := range ids {
		if !isDerived(id) {
			continue
		}
		if d := b.find(id); d != nil {
			descs[i] = pcp.Desc{PMID: pcp.PMIDNull}
			if d.state == good {
				descs[i] = d.root.desc
			}
		}
	}
	return nil
}

// isDerived reports whether id can be the PMID of a derived metric, of a set or
// of a binding.
func isDerived(id pcp.PMID) bool { return id != pcp.PMIDNull && id.IsDerived() }

// bindIDs binds those of ids that are not bound yet.
func (b *Binding) bindIDs(ctx context.Context, ids []pcp.PMID) error {
	var todo []*bound
	for _, id := range ids {
		if !isDerived(id) {
			continue
		}
		if d := b.find(id); d != nil && d.state == unbound {
			todo = append(todo, d)
		}
	}
	if todo == nil {
		return nil
	}
	return b.bindAll(ctx, todo, bindID, b.report)
}

// known has the source's answers about names.
type known struct {
	ids   map[string]pcp.PMID
	descs map[pcp.PMID]pcp.Desc
}

// bindAll binds those of todo that are not bound.
func (b *Binding) bindAll(ctx context.Context, todo []*bound, why bindReason, report func(error)) error {
	if len(todo) == 0 {
		return nil
	}
	b.operands = nil
	k, err := b.ask(ctx, todo)
	if err != nil {
		return err
	}
	noValue, _ := b.set.Control(NoValue)
	for _, d := range todo {
		if d.state != unbound {
			continue // twice in todo
		}
		c := checker{b: b, known: k, name: d.Name, noValue: noValue == 1}
		log := b.set.tracing()
		b.traceBegin(d, why)
		if id := k.ids[d.Name]; id != pcp.PMIDNull {
			log.Printf("Warning: %s: derived name matches metric %s: derived ignored\n", d.Name, id)
			d.state = replaced
			continue
		}
		if log != nil {
			log.Printf("__dmgetpmid: metric \"%s\" -> PMID %s\n", d.Name, d.PMID)
			c.traceOperands(log, d.tree())
		}
		root := c.expr(d.tree())
		if root == nil {
			d.state = bad
			switch {
			case c.err != nil:
				report(c.err)
			case c.lacks != "" && b.set.Version7 && !d.quiet:
				report(&SemanticError{d.Name, "operand " + c.lacks, unknownOperand})
			}
			b.traceBad(d, c.wrong)
			continue
		}
		root.desc.PMID = d.PMID
		d.root, d.state = root, good
		if log != nil {
			b.traceBound(d)
		}
	}
	return nil
}

// ask asks the source for the names and operands of todo.
func (b *Binding) ask(ctx context.Context, todo []*bound) (known, error) {
	k := known{make(map[string]pcp.PMID), make(map[pcp.PMID]pcp.Desc)}
	var names []string
	add := func(name string) {
		if _, ok := k.ids[name]; !ok && name != "" {
			k.ids[name] = pcp.PMIDNull
			names = append(names, name)
		}
	}
	for _, d := range todo {
		add(d.Name)
		d.tree().walk(func(n *node) {
			if n.op == opName || n.op == opDefined {
				add(n.text)
			}
			add(n.metaName())
		})
	}
	ids := make([]pcp.PMID, len(names))
	for i := range ids {
		ids[i] = pcp.PMIDNull
	}
	if err := b.source.LookupNames(ctx, names, ids); err != nil {
		return known{}, err
	}
	var wanted []pcp.PMID
	for i, name := range names {
		id := ids[i]
		if k.ids[name] = id; id == pcp.PMIDNull {
			continue
		}
		if _, ok := k.descs[id]; !ok {
			k.descs[id] = pcp.Desc{PMID: pcp.PMIDNull}
			wanted = append(wanted, id)
		}
	}
	if len(wanted) == 0 {
		return k, nil
	}
	descs := make([]pcp.Desc, len(wanted))
	for i := range descs {
		descs[i].PMID = pcp.PMIDNull
	}
	if err := b.source.Descs(ctx, wanted, descs); err != nil {
		return known{}, err
	}
	for i, id := range wanted {
		k.descs[id] = descs[i]
	}
	return k, nil
}
