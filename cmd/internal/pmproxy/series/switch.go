package series

import (
	"context"
	"iter"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// A Switch is a Store that passes calls to another one, which may be replaced while it is in use. Until it has one, calls return an
// error. The user closes the stores.
type Switch struct {
	mu  sync.RWMutex
	now Store
	err error
}

// NewSwitch returns a Switch without a store, whose calls return err.
func NewSwitch(err error) *Switch { return &Switch{err: err} }

// Set replaces the store for calls that begin from now on.
func (w *Switch) Set(s Store) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now, w.err = s, nil
}

func (w *Switch) store() (Store, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.now, w.err
}

// ask calls a method of the store.
func ask[T any](w *Switch, f func(Store) (T, error)) (none T, err error) {
	s, err := w.store()
	if err != nil {
		return none, err
	}
	return f(s)
}

// yield calls a method of the store that returns samples.
func (w *Switch) yield(f func(Store) iter.Seq2[*Sample, error]) iter.Seq2[*Sample, error] {
	s, err := w.store()
	if err != nil {
		return func(yield func(*Sample, error) bool) { yield(nil, err) }
	}
	return f(s)
}

// Select implements Store.
func (w *Switch) Select(ctx context.Context, m Matcher) ([]sid.ID, error) {
	return ask(w, func(s Store) ([]sid.ID, error) { return s.Select(ctx, m) })
}

// Strings implements Store.
func (w *Switch) Strings(ctx context.Context, field Field, label string) ([]string, error) {
	return ask(w, func(s Store) ([]string, error) { return s.Strings(ctx, field, label) })
}

// Metric implements Store.
func (w *Switch) Metric(ctx context.Context, id sid.ID) (Metric, error) {
	return ask(w, func(s Store) (Metric, error) { return s.Metric(ctx, id) })
}

// Instances implements Store.
func (w *Switch) Instances(ctx context.Context, id sid.ID) ([]Instance, error) {
	return ask(w, func(s Store) ([]Instance, error) { return s.Instances(ctx, id) })
}

// Instance implements Store.
func (w *Switch) Instance(ctx context.Context, id sid.ID) (Instance, error) {
	return ask(w, func(s Store) (Instance, error) { return s.Instance(ctx, id) })
}

// Labels implements Store.
func (w *Switch) Labels(ctx context.Context, id sid.ID) ([]pcp.Label, error) {
	return ask(w, func(s Store) ([]pcp.Label, error) { return s.Labels(ctx, id) })
}

// ContextNames implements Store.
func (w *Switch) ContextNames(ctx context.Context, source sid.ID) ([]string, error) {
	return ask(w, func(s Store) ([]string, error) { return s.ContextNames(ctx, source) })
}

// Sources implements Store.
func (w *Switch) Sources(ctx context.Context) ([]sid.ID, error) {
	return ask(w, func(s Store) ([]sid.ID, error) { return s.Sources(ctx) })
}

// Values implements Store.
func (w *Switch) Values(ctx context.Context, ids []sid.ID, win Window) iter.Seq2[*Sample, error] {
	return w.yield(func(s Store) iter.Seq2[*Sample, error] { return s.Values(ctx, ids, win) })
}

// Sweep implements Store.
func (w *Switch) Sweep(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) iter.Seq2[*Sample, error] {
	return w.yield(func(s Store) iter.Seq2[*Sample, error] { return s.Sweep(ctx, ids, start, end) })
}

// Within implements Store.
func (w *Switch) Within(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp, insts bool) ([]Presence, error) {
	return ask(w, func(s Store) ([]Presence, error) { return s.Within(ctx, ids, start, end, insts) })
}

// PutExpr implements Store.
func (w *Switch) PutExpr(ctx context.Context, id sid.ID, e Expr) error {
	s, err := w.store()
	if err != nil {
		return err
	}
	return s.PutExpr(ctx, id, e)
}

// Expr implements Store.
func (w *Switch) Expr(ctx context.Context, id sid.ID) (Expr, error) {
	return ask(w, func(s Store) (Expr, error) { return s.Expr(ctx, id) })
}

// GC implements Store.
func (w *Switch) GC(ctx context.Context) error {
	s, err := w.store()
	if err != nil {
		return err
	}
	return s.GC(ctx)
}

// Stats implements Store.
func (w *Switch) Stats() Stats {
	s, err := w.store()
	if err != nil {
		return Stats{}
	}
	return s.Stats()
}

// Close implements Store. It does nothing.
func (w *Switch) Close() error { return nil }
