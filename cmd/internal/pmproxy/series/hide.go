package series

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// Hide returns a view of a store without the metrics for which hidden is true, for users with limited access.
// Strings that only hidden metrics have, such as instance names and labels, are hidden as well. The caller
// closes the store.
func Hide(s Store, hidden func(Metric) bool) Store { return &hiding{s, hidden} }

type hiding struct {
	Store
	hidden func(Metric) bool
}

// check returns ErrUnknown for a series that is hidden.
func (h *hiding) check(ctx context.Context, id sid.ID) error {
	_, err := h.Metric(ctx, id)
	return err
}

// Metric implements Store.
func (h *hiding) Metric(ctx context.Context, id sid.ID) (Metric, error) {
	m, err := h.Store.Metric(ctx, id)
	if err == nil && h.hidden(m) {
		return Metric{}, ErrUnknown
	}
	return m, err
}

// Select implements Store.
func (h *hiding) Select(ctx context.Context, m Matcher) ([]sid.ID, error) {
	list, err := h.Store.Select(ctx, m)
	if err != nil {
		return nil, err
	}
	var failed error
	list = slices.DeleteFunc(list, func(id sid.ID) bool {
		err := h.check(ctx, id)
		if err != nil && !errors.Is(err, ErrUnknown) {
			failed = err
		}
		return err != nil
	})
	return list, failed
}

// Strings implements Store.
func (h *hiding) Strings(ctx context.Context, field Field, label string) ([]string, error) {
	list, err := h.Store.Strings(ctx, field, label)
	if err != nil {
		return nil, err
	}
	var failed error
	list = slices.DeleteFunc(list, func(v string) bool {
		if failed != nil {
			return true
		}
		m := Matcher{Field: field, Label: label, Value: v}
		if field == LabelName {
			m.Label = ""
		}
		seen, err := h.any(ctx, m)
		failed = err
		return !seen
	})
	return list, failed
}

// any reports whether m matches a series that is not hidden.
func (h *hiding) any(ctx context.Context, m Matcher) (bool, error) {
	list, err := h.Store.Select(ctx, m)
	if err != nil {
		return false, err
	}
	for _, id := range list {
		switch err := h.check(ctx, id); {
		case err == nil:
			return true, nil
		case !errors.Is(err, ErrUnknown):
			return false, err
		}
	}
	return false, nil
}

// Instances implements Store.
func (h *hiding) Instances(ctx context.Context, id sid.ID) ([]Instance, error) {
	if err := h.check(ctx, id); err != nil {
		return nil, err
	}
	return h.Store.Instances(ctx, id)
}

// Instance implements Store.
func (h *hiding) Instance(ctx context.Context, id sid.ID) (Instance, error) {
	in, err := h.Store.Instance(ctx, id)
	if err != nil {
		return in, err
	}
	// The instance is visible if a visible series with an instance of this name has it.
	list, err := h.Select(ctx, Matcher{Field: InstanceName, Value: in.Name})
	if err != nil {
		return Instance{}, err
	}
	for _, owner := range list {
		have, err := h.Store.Instances(ctx, owner)
		if err != nil {
			return Instance{}, err
		}
		if slices.ContainsFunc(have, func(i Instance) bool { return i.ID == id }) {
			return in, nil
		}
	}
	return Instance{}, ErrUnknown
}

// Labels implements Store.
func (h *hiding) Labels(ctx context.Context, id sid.ID) ([]pcp.Label, error) {
	if _, err := h.Store.Metric(ctx, id); errors.Is(err, ErrUnknown) {
		if _, err := h.Instance(ctx, id); err != nil {
			return nil, err
		}
	} else if err := h.check(ctx, id); err != nil {
		return nil, err
	}
	return h.Store.Labels(ctx, id)
}

// Values implements Store.
func (h *hiding) Values(ctx context.Context, ids []sid.ID, w Window) iter.Seq2[*Sample, error] {
	seen := slices.DeleteFunc(slices.Clone(ids), func(id sid.ID) bool { return h.check(ctx, id) != nil })
	return h.Store.Values(ctx, seen, w)
}

// Sweep implements Store.
func (h *hiding) Sweep(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) iter.Seq2[*Sample, error] {
	seen := slices.DeleteFunc(slices.Clone(ids), func(id sid.ID) bool { return h.check(ctx, id) != nil })
	return h.Store.Sweep(ctx, seen, start, end)
}

// Within implements Store.
func (h *hiding) Within(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp, insts bool) ([]Presence, error) {
	seen := slices.DeleteFunc(slices.Clone(ids), func(id sid.ID) bool { return h.check(ctx, id) != nil })
	return h.Store.Within(ctx, seen, start, end, insts)
}

// Close does nothing.
func (h *hiding) Close() error { return nil }
