package keys

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
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
