package archives

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// numbered calls f with each series number at the end of a key in dom with a prefix.
func numbered(tx *tx, prefix []byte, f func(num uint32)) error {
	return tx.each("dom", prefix, func(rest, _ []byte) error {
		if len(rest) < 4 {
			return errDamaged
		}
		f(binary.BigEndian.Uint32(rest[len(rest)-4:]))
		return nil
	})
}

// Select implements [series.Store].
func (s *Store) Select(ctx context.Context, m series.Matcher) ([]sid.ID, error) {
	// Strings are matched first, since the caller's function may be slow.
	values := []string{m.Value}
	if m.Match != nil {
		all, err := s.Strings(ctx, m.Field, m.Label)
		if err != nil {
			return nil, err
		}
		values = all[:0]
		for _, v := range all {
			// A pattern may take a millisecond for each.
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if m.Match(v) {
				values = append(values, v)
			}
		}
	}
	st := s.state.Load()
	var list []sid.ID
	err := s.view(ctx, func(tx *tx) error {
		nums := map[uint32]bool{}
		take := func(num uint32) { nums[num] = true }
		for _, v := range values {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.selectOne(tx, st, m, v, take); err != nil {
				return err
			}
		}
		list = make([]sid.ID, 0, len(nums))
		for num := range nums {
			v := tx.get("ser", u32(nil, num))
			if len(v) < sid.Size {
				if v == nil {
					continue // a source removed meanwhile
				}
				return errDamaged
			}
			list = append(list, sid.ID(v[:sid.Size]))
		}
		return nil
	})
	slices.SortFunc(list, sid.ID.Compare)
	return list, err
}

func (s *Store) selectOne(tx *tx, st *state, m series.Matcher, value string, take func(uint32)) error {
	if strings.IndexByte(value, 0) >= 0 || len(value) > maxKey {
		return nil
	}
	key := []byte(value + "\x00")
	switch m.Field {
	case series.MetricName:
		return tx.each("name", key, func(rest, _ []byte) error {
			num, err := number(rest)
			take(num)
			return err
		})
	case series.InstanceName:
		return tx.each("iname", key, func(where, _ []byte) error { return numbered(tx, where, take) })
	case series.ContextName:
		for source, list := range st.bySource {
			for _, a := range list {
				if a.host == value {
					if err := numbered(tx, u32(nil, source), take); err != nil {
						return err
					}
					break
				}
			}
		}
		if a := st.archs[value]; a != nil && a.err == "" {
			return eachHas(tx.get("has", u32(nil, a.num)), func(s seriesOf) bool { take(s.series); return true })
		}
		return nil
	case series.LabelName:
	case series.LabelValue:
		if strings.IndexByte(m.Label, 0) >= 0 || len(m.Label) > maxKey {
			return nil
		}
		key = []byte(m.Label + "\x00" + value + "\x00")
	default:
		return fmt.Errorf("series: no field %d", m.Field)
	}
	return tx.each("label", key, func(rest, _ []byte) error {
		if len(rest) < 4 {
			return errDamaged
		}
		set := rest[len(rest)-4:]
		if err := tx.each("setser", set, func(rest, _ []byte) error {
			num, err := number(rest)
			take(num)
			return err
		}); err != nil {
			return err
		}
		return tx.each("setdom", set, func(where, _ []byte) error { return numbered(tx, where, take) })
	})
}

// Strings implements [series.Store].
func (s *Store) Strings(ctx context.Context, field series.Field, label string) ([]string, error) {
	var list []string
	st := s.state.Load()
	err := s.view(ctx, func(tx *tx) error {
		list = nil
		add := func(text string) error { list = append(list, text); return nil }
		// Labels without remaining series are ignored.
		used := func(prefix string) bool {
			found := errors.New("found")
			return tx.each("label", []byte(prefix), func(rest, _ []byte) error {
				if len(rest) < 4 {
					return errDamaged
				}
				if set := rest[len(rest)-4:]; tx.has("setser", set) || tx.has("setdom", set) {
					return found
				}
				return nil
			}) == found
		}
		switch field {
		case series.MetricName:
			return tx.texts("name", nil, add)
		case series.InstanceName:
			return tx.texts("iname", nil, add)
		case series.ContextName:
			for _, a := range st.archs {
				if a.err == "" {
					list = append(list, a.path, a.host)
				}
			}
			return nil
		case series.LabelName:
			return tx.texts("label", nil, func(name string) error {
				if used(name + "\x00") {
					list = append(list, name)
				}
				return nil
			})
		case series.LabelValue:
			return tx.texts("label", []byte(label+"\x00"), func(value string) error {
				if used(label + "\x00" + value + "\x00") {
					list = append(list, value)
				}
				return nil
			})
		}
		return fmt.Errorf("series: no field %d", field)
	})
	slices.Sort(list)
	return slices.Compact(list), err
}

// Metric implements [series.Store].
func (s *Store) Metric(ctx context.Context, id sid.ID) (series.Metric, error) {
	var m series.Metric
	err := s.view(ctx, func(tx *tx) error {
		_, rec, err := tx.record(id)
		if err != nil {
			return err
		}
		m = series.Metric{ID: id, Name: rec.name, Desc: rec.desc, Source: s.state.Load().ids[rec.source]}
		return nil
	})
	return m, err
}

// instances calls f with each instance of a domain.
func (t *tx) instances(source uint32, indom pcp.InDom, f func(id sid.ID, inst int32, set uint32, name []byte)) error {
	return t.each("inst", u32(u32(nil, source), uint32(indom)), func(rest, value []byte) error {
		if len(rest) != sid.Size+4 {
			return errDamaged
		}
		d := decoder{b: value}
		set := d.number()
		name := d.bytes(d.uvarint())
		if err := d.end(); err != nil {
			return err
		}
		f(sid.ID(rest[:sid.Size]), int32(binary.BigEndian.Uint32(rest[sid.Size:])), set, name)
		return nil
	})
}

// Instances implements [series.Store].
func (s *Store) Instances(ctx context.Context, id sid.ID) ([]series.Instance, error) {
	var list []series.Instance
	err := s.view(ctx, func(tx *tx) error {
		list = nil
		_, rec, err := tx.record(id)
		if err != nil || rec.desc.InDom == pcp.InDomNull {
			return err
		}
		source := s.state.Load().ids[rec.source]
		return tx.instances(rec.source, rec.desc.InDom, func(id sid.ID, inst int32, _ uint32, name []byte) {
			list = append(list, series.Instance{ID: id, Inst: inst, Name: string(name), Source: source})
		})
	})
	slices.SortFunc(list, func(a, b series.Instance) int {
		return cmp.Or(cmp.Compare(a.Inst, b.Inst), strings.Compare(a.Name, b.Name), a.ID.Compare(b.ID))
	})
	// An instance with several numbers gets the first.
	seen := make(map[sid.ID]bool, len(list))
	list = slices.DeleteFunc(list, func(in series.Instance) bool {
		again := seen[in.ID]
		seen[in.ID] = true
		return again
	})
	return list, err
}

// findInstance returns the first instance with an identifier, and its labels.
func (s *Store) findInstance(tx *tx, id sid.ID) (in series.Instance, set uint32, err error) {
	err = series.ErrUnknown
	found := tx.each("iid", id[:], func(rest, _ []byte) error {
		if len(rest) != 12 {
			return errDamaged
		}
		key := append(append(slices.Clone(rest[:8]), id[:]...), rest[8:]...)
		v := tx.get("inst", key)
		if v == nil {
			return errDamaged
		}
		d := decoder{b: v}
		set = d.number()
		in = series.Instance{
			ID: id, Inst: int32(binary.BigEndian.Uint32(rest[8:])), Name: d.text(),
			Source: s.state.Load().ids[binary.BigEndian.Uint32(rest)],
		}
		if err := d.end(); err != nil {
			return err
		}
		err = nil
		return errFound
	})
	if found != nil && found != errFound {
		return in, 0, found
	}
	return in, set, err
}

var errFound = errors.New("found")

// Instance implements [series.Store].
func (s *Store) Instance(ctx context.Context, id sid.ID) (in series.Instance, err error) {
	err = s.view(ctx, func(tx *tx) error {
		in, _, err = s.findInstance(tx, id)
		return err
	})
	return in, err
}

// Labels implements [series.Store].
func (s *Store) Labels(ctx context.Context, id sid.ID) (list []pcp.Label, err error) {
	err = s.view(ctx, func(tx *tx) error {
		_, rec, err := tx.record(id)
		set := rec.set
		if errors.Is(err, series.ErrUnknown) {
			_, set, err = s.findInstance(tx, id)
		}
		if err != nil {
			return err
		}
		list, err = tx.labels(set)
		return err
	})
	return list, err
}

// ContextNames implements [series.Store].
func (s *Store) ContextNames(ctx context.Context, source sid.ID) ([]string, error) {
	if err := s.view(ctx, func(*tx) error { return nil }); err != nil {
		return nil, err
	}
	st := s.state.Load()
	num, ok := st.sources[source]
	if !ok {
		return nil, series.ErrUnknown
	}
	var list []string
	for _, a := range st.bySource[num] {
		list = append(list, a.path, a.host)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Sources implements [series.Store].
func (s *Store) Sources(ctx context.Context) ([]sid.ID, error) {
	if err := s.view(ctx, func(*tx) error { return nil }); err != nil {
		return nil, err
	}
	var list []sid.ID
	for id := range s.state.Load().sources {
		list = append(list, id)
	}
	slices.SortFunc(list, sid.ID.Compare)
	return list, nil
}

// PutExpr implements [series.Store]. The index keeps the last 10,000.
func (s *Store) PutExpr(ctx context.Context, id sid.ID, e series.Expr) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return series.ErrClosed
	}
	return s.x.update(func(tx *tx) error {
		value := func(seq uint32) []byte {
			return putString(putDesc(u32(nil, seq), e.Desc), e.Query)
		}
		if old := tx.get("expr", id[:]); len(old) >= 4 {
			seq := binary.BigEndian.Uint32(old)
			return tx.put("expr", id[:], value(seq))
		}
		if tx.bucket("exprs").Stats().KeyN >= maxExprs {
			first, oldest := tx.bucket("exprs").Cursor().First()
			if err := errors.Join(tx.del("expr", slices.Clone(oldest)), tx.del("exprs", slices.Clone(first))); err != nil {
				return err
			}
		}
		seq, err := tx.next()
		if err != nil {
			return err
		}
		if err := tx.put("exprs", u32(nil, seq), slices.Clone(id[:])); err != nil {
			return err
		}
		return tx.put("expr", id[:], value(seq))
	})
}

// Expr implements [series.Store].
func (s *Store) Expr(ctx context.Context, id sid.ID) (e series.Expr, err error) {
	err = s.view(ctx, func(tx *tx) error {
		v := tx.get("expr", id[:])
		if v == nil {
			return series.ErrUnknown
		}
		if len(v) < 4 {
			return errDamaged
		}
		d := decoder{b: v[4:]}
		e = series.Expr{Desc: d.desc(), Query: d.text()}
		return d.end()
	})
	return e, err
}
