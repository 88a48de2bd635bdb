package engine

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// Join returns a store that has the series of both an engine and archives. It closes both.
//
// Samples of a series that the engine has are those of the engine; of all others, such as strings and events, those of the archives. Names, labels,
// instances and sources are those of both. Expressions are kept by the archives.
func Join(e *Store, archives series.Store) series.Store { return &joined{Store: archives, engine: e} }

type joined struct {
	series.Store // the archives
	engine       *Store
}

// either returns what the first store returns, or the second one if the first does not know it.
func either[T any](first func() (T, error), second func() (T, error)) (T, error) {
	v, err := first()
	if errors.Is(err, series.ErrUnknown) {
		return second()
	}
	return v, err
}

// both returns the elements of two lists, sorted and without duplicates. A list of a store that does not know the subject is empty.
func both[T any](first, second []T, ferr, serr error, compare func(a, b T) int) ([]T, error) {
	unknown := errors.Is(ferr, series.ErrUnknown) && errors.Is(serr, series.ErrUnknown)
	switch {
	case unknown:
		return nil, series.ErrUnknown
	case ferr != nil && !errors.Is(ferr, series.ErrUnknown):
		return nil, ferr
	case serr != nil && !errors.Is(serr, series.ErrUnknown):
		return nil, serr
	}
	list := slices.Concat(first, second)
	slices.SortStableFunc(list, compare)
	return slices.CompactFunc(list, func(a, b T) bool { return compare(a, b) == 0 }), nil
}

// Select implements [series.Store].
func (j *joined) Select(ctx context.Context, m series.Matcher) ([]sid.ID, error) {
	a, aerr := j.engine.Select(ctx, m)
	b, berr := j.Store.Select(ctx, m)
	return both(a, b, aerr, berr, sid.ID.Compare)
}

// Strings implements [series.Store].
func (j *joined) Strings(ctx context.Context, field series.Field, label string) ([]string, error) {
	a, aerr := j.engine.Strings(ctx, field, label)
	b, berr := j.Store.Strings(ctx, field, label)
	return both(a, b, aerr, berr, strings.Compare)
}

// Metric implements [series.Store].
func (j *joined) Metric(ctx context.Context, id sid.ID) (series.Metric, error) {
	return either(func() (series.Metric, error) { return j.Store.Metric(ctx, id) }, func() (series.Metric, error) { return j.engine.Metric(ctx, id) })
}

// Instances implements [series.Store].
func (j *joined) Instances(ctx context.Context, id sid.ID) ([]series.Instance, error) {
	a, aerr := j.Store.Instances(ctx, id)
	b, berr := j.engine.Instances(ctx, id)
	if aerr == nil && berr == nil {
		known := make(map[sid.ID]bool, len(a))
		for _, in := range a {
			known[in.ID] = true
		}
		b = slices.DeleteFunc(b, func(in series.Instance) bool { return known[in.ID] })
	}
	return both(a, b, aerr, berr, func(a, b series.Instance) int {
		return cmp.Or(cmp.Compare(a.Inst, b.Inst), strings.Compare(a.Name, b.Name), a.ID.Compare(b.ID))
	})
}

// Instance implements [series.Store].
func (j *joined) Instance(ctx context.Context, id sid.ID) (series.Instance, error) {
	return either(func() (series.Instance, error) { return j.Store.Instance(ctx, id) }, func() (series.Instance, error) { return j.engine.Instance(ctx, id) })
}

// Labels implements [series.Store].
func (j *joined) Labels(ctx context.Context, id sid.ID) ([]pcp.Label, error) {
	return either(func() ([]pcp.Label, error) { return j.Store.Labels(ctx, id) }, func() ([]pcp.Label, error) { return j.engine.Labels(ctx, id) })
}

// ContextNames implements [series.Store].
func (j *joined) ContextNames(ctx context.Context, source sid.ID) ([]string, error) {
	a, aerr := j.engine.ContextNames(ctx, source)
	b, berr := j.Store.ContextNames(ctx, source)
	return both(a, b, aerr, berr, strings.Compare)
}

// Sources implements [series.Store].
func (j *joined) Sources(ctx context.Context) ([]sid.ID, error) {
	a, aerr := j.engine.Sources(ctx)
	b, berr := j.Store.Sources(ctx)
	return both(a, b, aerr, berr, sid.ID.Compare)
}

// from returns the store that has the samples of a series.
func (j *joined) from(ctx context.Context, id sid.ID) (series.Store, error) {
	switch _, err := j.engine.metric(ctx, id); {
	case err == nil:
		return j.engine, nil
	case errors.Is(err, series.ErrUnknown):
		return j.Store, nil
	default:
		return nil, err
	}
}

// each yields the samples of series from the store of each.
func (j *joined) each(ctx context.Context, ids []sid.ID, of func(series.Store, []sid.ID) iter.Seq2[*series.Sample, error]) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		for len(ids) > 0 {
			store, err := j.from(ctx, ids[0])
			if err != nil {
				yield(nil, err)
				return
			}
			n := 1 // the next ones that are of the same store
			for n < len(ids) {
				next, err := j.from(ctx, ids[n])
				if err != nil || next != store {
					break
				}
				n++
			}
			for sample, err := range of(store, ids[:n]) {
				if !yield(sample, err) || err != nil {
					return
				}
			}
			ids = ids[n:]
		}
	}
}

// Values implements [series.Store].
func (j *joined) Values(ctx context.Context, ids []sid.ID, w series.Window) iter.Seq2[*series.Sample, error] {
	return j.each(ctx, ids, func(s series.Store, ids []sid.ID) iter.Seq2[*series.Sample, error] { return s.Values(ctx, ids, w) })
}

// Sweep implements [series.Store].
func (j *joined) Sweep(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) iter.Seq2[*series.Sample, error] {
	return j.each(ctx, ids, func(s series.Store, ids []sid.ID) iter.Seq2[*series.Sample, error] {
		return s.Sweep(ctx, ids, start, end)
	})
}

// Within implements [series.Store].
func (j *joined) Within(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp, insts bool) ([]series.Presence, error) {
	var ofEngine, others []sid.ID
	for _, id := range ids {
		store, err := j.from(ctx, id)
		if err != nil {
			return nil, err
		}
		if store == j.engine {
			ofEngine = append(ofEngine, id)
		} else {
			others = append(others, id)
		}
	}
	a, err := j.engine.Within(ctx, ofEngine, start, end, insts)
	if err != nil {
		return nil, err
	}
	b, err := j.Store.Within(ctx, others, start, end, insts)
	return append(a, b...), err
}

// GC implements [series.Store].
func (j *joined) GC(ctx context.Context) error { return errors.Join(j.engine.GC(ctx), j.Store.GC(ctx)) }

// Stats implements [series.Store]. They are those of the archives.
func (j *joined) Stats() series.Stats { return j.Store.Stats() }

// Close implements [series.Store].
func (j *joined) Close() error { return errors.Join(j.engine.Close(), j.Store.Close()) }
