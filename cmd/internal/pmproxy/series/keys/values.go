package keys

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/valkey-io/valkey-go"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// A reading reads the values of a series.
type reading struct {
	s    *Store
	id   sid.ID
	key  string
	typ  pcp.Type
	inst map[sid.ID]int32
	page int // entries at once
}

// reading prepares to read a series.
func (s *Store) reading(ctx context.Context, id sid.ID) (*reading, error) {
	d, err := s.describe(ctx, id)
	if err != nil {
		return nil, err
	}
	r := &reading{s: s, id: id, key: "pcp:values:series:" + id.String(), typ: d.desc.Type, inst: map[sid.ID]int32{}, page: maxEntries}
	if d.desc.InDom == pcp.InDomNull {
		return r, nil
	}
	ids, err := s.members(ctx, "pcp:instances:series:"+id.String())
	if err != nil {
		return nil, err
	}
	list, err := s.instances(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, in := range list {
		r.inst[in.ID] = in.Inst
	}
	r.page = max(1, min(r.page, pageValues/max(1, len(list))))
	return r, nil
}

// samples yields the samples between two identifiers of entries, or the newest ones first.
func (r *reading) samples(ctx context.Context, from, to string, newest bool, count int) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		for left := count; ; {
			if err := r.s.usable(ctx); err != nil {
				yield(nil, err)
				return
			}
			n := r.page
			if count > 0 {
				if left == 0 {
					return
				}
				n = min(n, left)
			}
			command := r.s.read("XRANGE", r.key, from, to, "COUNT", strconv.Itoa(n))
			if newest {
				command = r.s.read("XREVRANGE", r.key, to, from, "COUNT", strconv.Itoa(n))
			}
			list, err := r.s.client.Do(ctx, command).AsXRangeSlices()
			if err != nil && !valkey.IsValkeyNil(err) {
				yield(nil, r.s.failed(r.key, err))
				return
			}
			var last string
			for i := range list {
				last = list[i].ID
				sample, err := r.decode(&list[i])
				if err != nil {
					yield(nil, r.s.failed(r.key, fmt.Errorf("entry %.40q: %w", last, err)))
					return
				}
				if !yield(sample, nil) {
					return
				}
			}
			if len(list) < n {
				return
			}
			left -= len(list)
			var more bool
			if newest {
				to, more = before(last)
			} else {
				from, more = after(last)
			}
			if !more {
				return
			}
		}
	}
}

// after returns the identifier of the entry that may follow another one.
func after(id string) (string, bool) {
	ms, us, ok := strings.Cut(id, "-")
	n, err := strconv.ParseUint(us, 10, 64)
	if !ok || err != nil || n+1 == 0 {
		return "", false
	}
	return ms + "-" + strconv.FormatUint(n+1, 10), true
}

// before returns the identifier of the entry that may precede another one.
func before(id string) (string, bool) {
	msText, usText, ok := strings.Cut(id, "-")
	ms, err := strconv.ParseUint(msText, 10, 64)
	us, err2 := strconv.ParseUint(usText, 10, 64)
	switch {
	case !ok || err != nil || err2 != nil || ms == 0 && us == 0:
		return "", false
	case us == 0:
		return strconv.FormatUint(ms-1, 10), true // the last of this millisecond
	}
	return msText + "-" + strconv.FormatUint(us-1, 10), true
}

// decode decodes an entry.
func (r *reading) decode(e *valkey.XRangeSlice) (*series.Sample, error) {
	fields := make([][2]string, len(e.FieldValues))
	for i, f := range e.FieldValues {
		fields[i] = [2]string{f.Field, f.Value}
	}
	return decodeEntry(e.ID, fields, r.typ, r.id, r.inst)
}

// decodeEntry decodes an entry of a stream: the identifier, and its fields with values.
func decodeEntry(id string, fields [][2]string, t pcp.Type, of sid.ID, numbers map[sid.ID]int32) (*series.Sample, error) {
	at, err := parseStamp(id)
	if err != nil {
		return nil, err
	}
	sample := &series.Sample{Series: of, Time: at}
	for _, f := range fields {
		switch {
		case f[0] == "-1" && len(fields) == 1:
			n, err := strconv.ParseInt(f[1], 10, 32)
			if err != nil || n >= 0 {
				return nil, fmt.Errorf("%.40q is not an error", f[1])
			}
			sample.Err = pcp.Error(n)
			return sample, nil
		case f[0] == "0" && len(fields) == 1: // no values
			return sample, nil
		}
		v, err := parseValue(f[1], t)
		if err != nil {
			return nil, err
		}
		var inst sid.ID
		if f[0] != "" {
			if inst, err = binaryID(f[0]); err != nil {
				return nil, err
			}
			n, ok := numbers[inst]
			if !ok {
				continue // its metadata are on the way
			}
			v = v.WithInst(n)
		}
		sample.Values = append(sample.Values, series.InstValue{Instance: inst, Value: v})
	}
	return sample, nil
}

// Values implements [series.Store].
func (s *Store) Values(ctx context.Context, ids []sid.ID, w series.Window) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		for _, id := range ids {
			r, err := s.reading(ctx, id)
			if errors.Is(err, series.ErrUnknown) {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !r.values(ctx, w, yield) {
				return
			}
		}
	}
}

// span returns the identifiers of entries at the ends of a span of time.
func span(start, end pcp.Timestamp) (from, to string) {
	from, to = "-", "+"
	if !start.IsZero() {
		from = string(appendStamp(nil, start))
	}
	if !end.IsZero() {
		to = string(appendStamp(nil, end))
	}
	return from, to
}

// values yields the values that a window selects, and reports whether the caller wants more.
func (r *reading) values(ctx context.Context, w series.Window, yield func(*series.Sample, error) bool) bool {
	if w.Newest {
		for sample, err := range r.samples(ctx, "-", "+", true, w.Count) {
			if !yield(sample, err) || err != nil {
				return false
			}
		}
		return true
	}
	from, to := span(w.Start, w.End)
	t := series.NewThinner(w)
	var last *series.Sample
	for sample, err := range r.samples(ctx, from, to, false, 0) {
		if err != nil {
			yield(nil, err)
			return false
		}
		if t.Next(sample.Time) && !yield(last, nil) {
			return false
		}
		if t.Done() {
			return true
		}
		last = sample
	}
	if t.Last() {
		return yield(last, nil)
	}
	return true
}

// Sweep implements [series.Store].
func (s *Store) Sweep(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp) iter.Seq2[*series.Sample, error] {
	return func(yield func(*series.Sample, error) bool) {
		from, to := span(start, end)
		for _, id := range ids {
			r, err := s.reading(ctx, id)
			if errors.Is(err, series.ErrUnknown) {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for sample, err := range r.samples(ctx, from, to, false, 0) {
				if !yield(sample, err) || err != nil {
					return
				}
			}
		}
	}
}

// Within implements [series.Store]. A series exists from its first value to its last, with all instances that it has ever had.
func (s *Store) Within(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp, insts bool) ([]series.Presence, error) {
	var list []series.Presence
	for part := range slices.Chunk(ids, pipeline/2) {
		if err := s.usable(ctx); err != nil {
			return nil, err
		}
		var multi []valkey.Completed
		for _, id := range part {
			key := "pcp:values:series:" + id.String()
			multi = append(multi, s.read("XRANGE", key, "-", "+", "COUNT", "1"), s.read("XREVRANGE", key, "+", "-", "COUNT", "1"))
		}
		results := s.client.DoMulti(ctx, multi...)
		for i, id := range part {
			key := "pcp:values:series:" + id.String()
			first, ok, err := oneStamp(results[2*i])
			last, _, err2 := oneStamp(results[2*i+1])
			if err := errors.Join(err, err2); err != nil {
				return nil, s.failed(key, err)
			}
			if !ok || last.Compare(start) < 0 || !end.IsZero() && first.Compare(end) > 0 {
				continue
			}
			p := series.Presence{Series: id}
			if insts {
				if p.Instances, err = s.Instances(ctx, id); err != nil {
					return nil, err
				}
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// oneStamp returns the time of the only entry, if there is one.
func oneStamp(r valkey.ValkeyResult) (at pcp.Timestamp, ok bool, err error) {
	list, err := r.AsXRangeSlices()
	if valkey.IsValkeyNil(err) {
		return at, false, nil
	}
	if err != nil || len(list) == 0 {
		return at, false, err
	}
	at, err = parseStamp(list[0].ID)
	return at, err == nil, err
}
