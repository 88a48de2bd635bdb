package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/valkey-io/valkey-go"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// describe returns the descriptor of a series, or ErrUnknown.
func (s *Store) describe(ctx context.Context, id sid.ID) (description, error) {
	key := "pcp:desc:series:" + id.String()
	fields, err := s.fields(ctx, key)
	if err != nil {
		return description{}, err
	}
	if len(fields) == 0 {
		return description{}, series.ErrUnknown
	}
	d, err := parseDesc(fields)
	if err != nil {
		return d, s.failed(key, err)
	}
	return d, nil
}

// Metric implements [series.Store].
func (s *Store) Metric(ctx context.Context, id sid.ID) (series.Metric, error) {
	d, err := s.describe(ctx, id)
	if err != nil {
		return series.Metric{}, err
	}
	ids, err := s.members(ctx, "pcp:metric.name:series:"+id.String())
	if err != nil {
		return series.Metric{}, err
	}
	if len(ids) == 0 { // an expression
		return series.Metric{}, series.ErrUnknown
	}
	names, err := s.lookup(ctx, "metric.name", ids[:1])
	if err != nil {
		return series.Metric{}, err
	}
	return series.Metric{ID: id, Name: names[0], Desc: d.desc, Source: d.source}, nil
}

// Instances implements [series.Store].
func (s *Store) Instances(ctx context.Context, id sid.ID) ([]series.Instance, error) {
	d, err := s.describe(ctx, id)
	if err != nil {
		return nil, err
	}
	if d.desc.InDom == pcp.InDomNull {
		return nil, nil
	}
	ids, err := s.members(ctx, "pcp:instances:series:"+id.String())
	if err != nil {
		return nil, err
	}
	list, err := s.instances(ctx, ids)
	slices.SortFunc(list, func(a, b series.Instance) int {
		return cmp.Or(cmp.Compare(a.Inst, b.Inst), strings.Compare(a.Name, b.Name), a.ID.Compare(b.ID))
	})
	return list, err
}

// instances returns instances. Missing ones are left out.
func (s *Store) instances(ctx context.Context, ids []sid.ID) ([]series.Instance, error) {
	var list []series.Instance
	var names []sid.ID
	for part := range slices.Chunk(ids, pipeline) {
		if err := s.usable(ctx); err != nil {
			return nil, err
		}
		multi := make([]valkey.Completed, len(part))
		for i, id := range part {
			multi[i] = s.read("HMGET", "pcp:inst:series:"+id.String(), "inst", "name", "source")
		}
		for i, r := range s.client.DoMulti(ctx, multi...) {
			key := "pcp:inst:series:" + part[i].String()
			f, err := r.ToArray()
			if err != nil {
				return nil, s.failed(key, err)
			}
			if len(f) != 3 {
				return nil, s.failed(key, fmt.Errorf("%d answers to 3 questions", len(f)))
			}
			if f[0].IsNil() && f[1].IsNil() && f[2].IsNil() {
				continue
			}
			in, name, err := parseInstance(&f[0], &f[1], &f[2])
			if err != nil {
				return nil, s.failed(key, err)
			}
			in.ID = part[i]
			list, names = append(list, in), append(names, name)
		}
	}
	texts, err := s.lookup(ctx, "inst.name", names)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Name = texts[i]
	}
	return list, nil
}

func parseInstance(inst, name, source *valkey.ValkeyMessage) (in series.Instance, nameID sid.ID, err error) {
	number, err1 := inst.ToString()
	text, err2 := name.ToString()
	from, err3 := source.ToString()
	if err := errors.Join(err1, err2, err3); err != nil {
		return in, nameID, err
	}
	return decodeInstance(number, text, from)
}

// decodeInstance decodes the fields of an instance.
func decodeInstance(number, name, source string) (in series.Instance, nameID sid.ID, err error) {
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return in, nameID, fmt.Errorf("inst: %.40q is not a number of an instance", number)
	}
	in.Inst = int32(n)
	if nameID, err = binaryID(name); err != nil {
		return in, nameID, fmt.Errorf("name: %w", err)
	}
	if in.Source, err = binaryID(source); err != nil {
		return in, nameID, fmt.Errorf("source: %w", err)
	}
	return in, nameID, nil
}

// Instance implements [series.Store].
func (s *Store) Instance(ctx context.Context, id sid.ID) (series.Instance, error) {
	list, err := s.instances(ctx, []sid.ID{id})
	if err != nil {
		return series.Instance{}, err
	}
	if len(list) == 0 {
		return series.Instance{}, series.ErrUnknown
	}
	return list[0], nil
}

// Labels implements [series.Store]. For a series with instances it returns the labels that all instances have.
func (s *Store) Labels(ctx context.Context, id sid.ID) ([]pcp.Label, error) {
	list, err := s.labels(ctx, id)
	if err != nil || len(list) > 0 {
		return list, err
	}
	insts, err := s.Instances(ctx, id)
	if err != nil {
		return nil, err
	}
	for i, in := range insts {
		own, err := s.labels(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			list = own
		}
		list = slices.DeleteFunc(list, func(l pcp.Label) bool {
			return !slices.ContainsFunc(own, func(o pcp.Label) bool { return o.Name == l.Name && o.Value == l.Value })
		})
		if len(list) == 0 {
			break
		}
	}
	return list, nil
}

// labels returns the labels that are kept for a series or an instance.
func (s *Store) labels(ctx context.Context, id sid.ID) ([]pcp.Label, error) {
	key := "pcp:labelvalue:series:" + id.String()
	values, err := s.fields(ctx, key)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	flags, err := s.fields(ctx, "pcp:labelflags:series:"+id.String())
	if err != nil {
		return nil, err
	}
	var names []sid.ID
	for name := range values {
		n, err := binaryID(name)
		if err != nil {
			return nil, s.failed(key, err)
		}
		names = append(names, n)
	}
	texts, err := s.lookup(ctx, "label.name", names)
	if err != nil {
		return nil, err
	}
	list := make([]pcp.Label, len(names))
	for i, name := range names {
		value, err := binaryID(values[string(name[:])])
		if err != nil {
			return nil, s.failed(key, err)
		}
		text, err := s.lookup(ctx, "label."+name.String()+".value", []sid.ID{value})
		if err != nil {
			return nil, err
		}
		list[i] = pcp.Label{Name: texts[i], Value: text[0], Flags: pcp.LabelContext}
		if f, ok := flags[string(name[:])]; ok {
			n, err := strconv.ParseUint(f, 10, 8)
			if err != nil {
				return nil, s.failed("pcp:labelflags:series:"+id.String(), fmt.Errorf("%.40q are not flags", f))
			}
			list[i].Flags = pcp.LabelFlags(n)
		}
	}
	slices.SortFunc(list, func(a, b pcp.Label) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// ContextNames implements [series.Store].
func (s *Store) ContextNames(ctx context.Context, source sid.ID) ([]string, error) {
	ids, err := s.members(ctx, "pcp:context.name:source:"+source.String())
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, series.ErrUnknown
	}
	list, err := s.lookup(ctx, "context.name", ids)
	slices.Sort(list)
	return slices.Compact(list), err
}

// Sources implements [series.Store].
func (s *Store) Sources(ctx context.Context) ([]sid.ID, error) {
	const key = "pcp:source:location"
	var list []sid.ID
	err := s.scan(ctx, "ZSCAN", key, memberCount, func(all []string) error {
		for i := 0; i+1 < len(all); i += 2 {
			id, err := binaryID(all[i])
			if err != nil {
				return s.failed(key, err)
			}
			list = append(list, id)
		}
		return nil
	})
	slices.SortFunc(list, sid.ID.Compare)
	return slices.Compact(list), err
}
