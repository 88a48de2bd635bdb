package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// Limits of readers.
const (
	scanCount    = 256     // strings asked for at once
	memberCount  = 1000    // members of a set asked for at once
	maxStrings   = 1 << 20 // of a map, and of members of sets in one answer
	maxCached    = 1 << 17 // strings
	pageValues   = 1 << 14 // values asked for at once, about
	maxEntries   = 1 << 10 // of a stream, asked for at once
	pipeline     = 256     // commands sent at once
	statsTimeout = time.Second
)

// A Store is the series in a key server. It implements [series.Store], and writes archives.
type Store struct {
	cfg    Config
	log    *slog.Logger
	client valkey.Client
	closed atomic.Bool
	marked atomic.Bool // with the version

	mu     sync.Mutex
	cached map[cacheKey]string // strings by identifier, which never change
}

type cacheKey struct {
	name string // of the map
	id   sid.ID
}

var _ series.Store = (*Store)(nil)

// Open connects to a key server or cluster.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxLen <= 0 {
		cfg.MaxLen = DefaultMaxLen
	}
	if cfg.Expire <= 0 {
		cfg.Expire = DefaultExpire
	}
	if cfg.ScanCount <= 0 {
		cfg.ScanCount = scanCount
	}
	c, err := dial(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	return &Store{cfg: cfg, log: cfg.Log, client: c, cached: map[cacheKey]string{}}, nil
}

// Close implements [series.Store].
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		s.client.Close()
	}
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return series.ErrClosed
	}
	return ctx.Err()
}

// read makes a command that reads, which the client repeats at another node if its node fails.
func (s *Store) read(name, key string, args ...string) valkey.Completed {
	return s.client.B().Arbitrary(name).Keys(key).Args(args...).ReadOnly()
}

// failed returns an error with the key.
func (s *Store) failed(key string, err error) error {
	if s.closed.Load() {
		return series.ErrClosed
	}
	return fmt.Errorf("key %s: %w", key, err)
}

// fields returns a hash.
func (s *Store) fields(ctx context.Context, key string) (map[string]string, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	m, err := s.client.Do(ctx, s.read("HGETALL", key)).AsStrMap()
	if err != nil {
		return nil, s.failed(key, err)
	}
	return m, nil
}

// scan yields the elements of a hash or set.
func (s *Store) scan(ctx context.Context, command, key string, count int, f func(list []string) error) error {
	for cursor, n := uint64(0), 0; ; {
		if err := s.usable(ctx); err != nil {
			return err
		}
		e, err := s.client.Do(ctx, s.read(command, key, strconv.FormatUint(cursor, 10), "COUNT", strconv.Itoa(count))).AsScanEntry()
		if err != nil {
			return s.failed(key, err)
		}
		if n += len(e.Elements); n > 2*maxStrings {
			return s.failed(key, series.ErrTooMany)
		}
		if err := f(e.Elements); err != nil {
			return err
		}
		if cursor = e.Cursor; cursor == 0 {
			return nil
		}
	}
}

// strings yields the strings of a map.
func (s *Store) strings(ctx context.Context, name string, f func(id sid.ID, text string) error) error {
	key := "pcp:map:" + name
	return s.scan(ctx, "HSCAN", key, s.cfg.ScanCount, func(list []string) error {
		for i := 0; i+1 < len(list); i += 2 {
			id, err := binaryID(list[i])
			if err != nil || len(list[i+1]) > maxText {
				return s.failed(key, fmt.Errorf("field %.60q: %w", list[i], cmp.Or(err, series.ErrTooMany)))
			}
			if err := f(id, list[i+1]); err != nil {
				return err
			}
		}
		return nil
	})
}

// members returns the identifiers in sets, sorted.
func (s *Store) members(ctx context.Context, keys ...string) ([]sid.ID, error) {
	all := map[sid.ID]bool{}
	add := func(key string, list []string) error {
		for _, m := range list {
			id, err := binaryID(m)
			if err != nil {
				return s.failed(key, err)
			}
			if all[id] = true; len(all) > maxStrings {
				return s.failed(key, series.ErrTooMany)
			}
		}
		return nil
	}
	for part := range slices.Chunk(keys, pipeline) {
		if err := s.usable(ctx); err != nil {
			return nil, err
		}
		multi := make([]valkey.Completed, len(part))
		for i, key := range part {
			multi[i] = s.read("SSCAN", key, "0", "COUNT", strconv.Itoa(memberCount))
		}
		for i, r := range s.client.DoMulti(ctx, multi...) {
			e, err := r.AsScanEntry()
			if err != nil {
				return nil, s.failed(part[i], err)
			}
			if e.Cursor == 0 {
				err = add(part[i], e.Elements)
			} else {
				err = s.scan(ctx, "SSCAN", part[i], memberCount, func(list []string) error { return add(part[i], list) })
			}
			if err != nil {
				return nil, err
			}
		}
	}
	list := make([]sid.ID, 0, len(all))
	for id := range all {
		list = append(list, id)
	}
	slices.SortFunc(list, sid.ID.Compare)
	return list, nil
}

// lookup returns the strings of identifiers in a map. Missing ones are empty.
func (s *Store) lookup(ctx context.Context, name string, ids []sid.ID) ([]string, error) {
	texts := make([]string, len(ids))
	var missing []int
	s.mu.Lock()
	for i, id := range ids {
		text, ok := s.cached[cacheKey{name, id}]
		if texts[i] = text; !ok {
			missing = append(missing, i)
		}
	}
	s.mu.Unlock()
	key := "pcp:map:" + name
	for part := range slices.Chunk(missing, memberCount) {
		if err := s.usable(ctx); err != nil {
			return nil, err
		}
		args := make([]string, len(part))
		for k, i := range part {
			args[k] = string(ids[i][:])
		}
		found, err := s.client.Do(ctx, s.read("HMGET", key, args...)).ToArray()
		if err != nil {
			return nil, s.failed(key, err)
		}
		if len(found) != len(part) {
			return nil, s.failed(key, fmt.Errorf("%d answers to %d questions", len(found), len(part)))
		}
		s.mu.Lock()
		for k, i := range part {
			if found[k].IsNil() {
				continue
			}
			text, err := found[k].ToString()
			if err != nil || len(text) > maxText {
				s.mu.Unlock()
				return nil, s.failed(key, cmp.Or(err, series.ErrTooMany))
			}
			if len(s.cached) >= maxCached {
				clear(s.cached)
			}
			texts[i] = text
			s.cached[cacheKey{name, ids[i]}] = text
		}
		s.mu.Unlock()
	}
	return texts, nil
}

// mapOf returns the map with the strings of a field.
func mapOf(field series.Field, label string) (string, error) {
	switch field {
	case series.MetricName:
		return "metric.name", nil
	case series.InstanceName:
		return "inst.name", nil
	case series.ContextName:
		return "context.name", nil
	case series.LabelName:
		return "label.name", nil
	case series.LabelValue:
		return "label." + sid.String(label).String() + ".value", nil
	}
	return "", fmt.Errorf("series: no field %d", field)
}

// Select implements [series.Store].
func (s *Store) Select(ctx context.Context, m series.Matcher) ([]sid.ID, error) {
	name, err := mapOf(m.Field, m.Label)
	if err != nil {
		return nil, err
	}
	var ids []sid.ID
	if m.Match == nil {
		ids = []sid.ID{sid.String(m.Value)}
	} else if err := s.strings(ctx, name, func(id sid.ID, text string) error {
		if m.Match(text) {
			ids = append(ids, id)
		}
		return ctx.Err() // a pattern may take a millisecond
	}); err != nil {
		return nil, err
	}
	var keys []string
	switch m.Field {
	case series.ContextName:
		return s.ofContexts(ctx, ids)
	case series.LabelName:
		for _, id := range ids {
			name := "label." + id.String() + ".value"
			if err := s.strings(ctx, name, func(value sid.ID, _ string) error {
				keys = append(keys, "pcp:series:"+name+":"+value.String())
				return nil
			}); err != nil {
				return nil, err
			}
		}
	default:
		for _, id := range ids {
			keys = append(keys, "pcp:series:"+name+":"+id.String())
		}
	}
	return s.members(ctx, keys...)
}

// ofContexts returns the series of archives and hosts. The keys have those of archives; a host has those of all archives of its
// sources.
func (s *Store) ofContexts(ctx context.Context, names []sid.ID) ([]sid.ID, error) {
	var keys []string
	for _, id := range names {
		key := "pcp:series:context.name:" + id.String()
		n, err := s.client.Do(ctx, s.read("EXISTS", key)).AsInt64()
		if err != nil {
			return nil, s.failed(key, err)
		}
		if n > 0 {
			keys = append(keys, key)
			continue
		}
		sources, err := s.members(ctx, "pcp:source:context.name:"+id.String())
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			contexts, err := s.members(ctx, "pcp:context.name:source:"+source.String())
			if err != nil {
				return nil, err
			}
			for _, c := range contexts {
				keys = append(keys, "pcp:series:context.name:"+c.String())
			}
		}
	}
	return s.members(ctx, keys...)
}

// Strings implements [series.Store].
func (s *Store) Strings(ctx context.Context, field series.Field, label string) ([]string, error) {
	name, err := mapOf(field, label)
	if err != nil {
		return nil, err
	}
	var list []string
	err = s.strings(ctx, name, func(_ sid.ID, text string) error {
		list = append(list, text)
		return nil
	})
	slices.Sort(list)
	return slices.Compact(list), err
}

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

// PutExpr implements [series.Store].
func (s *Store) PutExpr(ctx context.Context, id sid.ID, e series.Expr) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := s.mark(ctx); err != nil {
		return err
	}
	pmid, indom := "none", "none"
	if id := e.Desc.PMID; id != pcp.PMIDNull {
		pmid = fmt.Sprintf("%d.%d.%d", id.Domain(), id.Cluster(), id.Item()) // 511.0.0; String has another form for it
	}
	if e.Desc.InDom != pcp.InDomNull {
		indom = e.Desc.InDom.String()
	}
	var source sid.ID // of expressions
	b := s.client.B()
	for _, r := range s.client.DoMulti(ctx,
		b.Arbitrary("HMSET").Keys("pcp:desc:series:"+id.String()).Args("indom", indom, "pmid", pmid, "semantics", e.Desc.Sem.String(),
			"source", string(source[:]), "type", typeText(e.Desc.Type), "units", unitsText(e.Desc.Units)).Build(),
		b.Arbitrary("HMSET").Keys("pcp:expr:series:"+id.String()).Args("query", e.Query).Build(),
	) {
		if err := r.Error(); err != nil {
			return s.failed("pcp:expr:series:"+id.String(), err)
		}
	}
	return nil
}

// Expr implements [series.Store].
func (s *Store) Expr(ctx context.Context, id sid.ID) (series.Expr, error) {
	fields, err := s.fields(ctx, "pcp:expr:series:"+id.String())
	if err != nil {
		return series.Expr{}, err
	}
	text, ok := fields["query"]
	if !ok {
		return series.Expr{}, series.ErrUnknown
	}
	d, err := s.describe(ctx, id)
	if err != nil {
		return series.Expr{}, err
	}
	return series.Expr{Query: text, Desc: d.desc}, nil
}

// GC implements [series.Store]. The server has all that writers wrote.
func (s *Store) GC(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.client.Do(ctx, s.client.B().Ping().Build()).Error()
}

// Stats implements [series.Store]. Only the number of sources is known.
func (s *Store) Stats() series.Stats {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	if s.usable(ctx) != nil {
		return series.Stats{}
	}
	n, err := s.client.Do(ctx, s.read("ZCARD", "pcp:source:location")).AsInt64()
	if err != nil {
		return series.Stats{}
	}
	return series.Stats{Sources: int(n)}
}
