package archives

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/period"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/pacing"
)

// Limits and defaults.
const (
	DefaultInterval = 10 * time.Second // at least, between scans of the directories
	DefaultRescan   = 2 * time.Minute  // at most
	DefaultOpen     = 128              // archives kept open
	maxDepth        = 8                // depth of subdirectories that are searched
	maxArchives     = 1 << 20
	batch           = 16 // archives added to the index at once
)

// A Config configures a Store.
type Config struct {
	// Dirs are directories, which are searched with all directories below them, 8 deep, or base names of
	// archives. A missing directory counts as empty.
	Dirs []string

	// More, if not nil, returns additional directories at each scan.
	More func() []string

	// Background makes Open return before the first scan, with the existing index.
	Background bool

	// Index is the path of the index. If it is "", the index is a temporary file, which Close removes.
	Index string

	// Interval is the shortest time between scans of the directories: 0 for DefaultInterval, negative to scan
	// only when GC is called. Rescan is the longest, for changes that go unnoticed: 0 for DefaultRescan.
	Interval, Rescan time.Duration

	// Columns selects how files of columns (package columns) are used. They make Sweep fast.
	Columns Columns

	// ColumnsDir is a directory for columns of archives in directories that are not writable; "" means that they get none.
	ColumnsDir string

	// MaxOpen is the maximum number of unused archives that stay open; 0 for DefaultOpen.
	MaxOpen int

	// Log receives errors of archives and of the index; nil discards them.
	Log *slog.Logger
}

// A Store is a set of archives with an index. It implements [series.Store].
type Store struct {
	cfg    Config
	log    *slog.Logger
	remove string // directory of a temporary index

	watch    *watch            // of the directories
	scanning sync.Mutex        // held during a scan
	unread   map[string]string // errors of unreadable directories

	mu     sync.RWMutex // held for writing while the index is replaced or closed
	x      *index
	closed bool

	state atomic.Pointer[state]
	files *openFiles

	columns columnsMaker

	stop context.CancelFunc
	done chan struct{}
	once sync.Once
}

var _ series.Store = (*Store)(nil)

// A state is a set of archives. It is replaced, never changed.
type state struct {
	archs    map[string]*arch
	byNum    map[uint32]*arch
	bySource map[uint32][]*arch // by start
	sources  map[sid.ID]uint32
	ids      map[uint32]sid.ID
	series   int
}

// An arch is an archive.
type arch struct {
	archiveRecord
	path string
	step time.Duration // of a roll-up, 0 for recorded archives
}

// Open opens the index, scans the directories, and then rescans them when files change. It returns
// after the first scan, or when ctx is done.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{cfg: cfg, log: cfg.Log, unread: map[string]string{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.cfg.Interval == 0 {
		s.cfg.Interval = DefaultInterval
	}
	if s.cfg.Rescan <= 0 {
		s.cfg.Rescan = DefaultRescan
	}
	if s.cfg.MaxOpen <= 0 {
		s.cfg.MaxOpen = DefaultOpen
	}
	for i, dir := range cfg.Dirs {
		abs, err := absolute(dir)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.cfg.Dirs = nil
		}
		s.cfg.Dirs = append(s.cfg.Dirs, abs)
	}
	path := cfg.Index
	if path == "" {
		dir, err := os.MkdirTemp("", "pcp-series-")
		if err != nil {
			return nil, err
		}
		s.remove, path = dir, filepath.Join(dir, "series.db")
	}
	x, fresh, err := openIndex(path)
	if err != nil {
		s.cleanup()
		return nil, fmt.Errorf("index of series: %w", err)
	}
	if fresh && s.remove == "" {
		s.log.Warn("the index of series was not usable and is created again", "path", path)
	}
	s.x = x
	s.watch = newWatch(s.cfg.Interval > 0)
	s.files = newOpenFiles(s.cfg.MaxOpen)
	if err := s.reload(); err != nil {
		s.log.Warn("the index of series is created again", "path", path, "err", err)
		if err := s.renew(); err != nil {
			s.Close()
			return nil, err
		}
	}
	if !cfg.Background {
		if err := s.GC(ctx); err != nil {
			s.Close()
			return nil, err
		}
	}
	run, stop := context.WithCancel(context.Background())
	s.stop, s.done = stop, make(chan struct{})
	if s.cfg.Columns == MakeColumns {
		s.columns.queue, s.columns.done = make(chan string, columnsQueue), make(chan struct{})
		go s.makeColumns(run)
	}
	go s.run(run)
	return s, nil
}

func (s *Store) cleanup() {
	if s.remove != "" {
		os.RemoveAll(s.remove)
	}
}

func (s *Store) run(ctx context.Context) {
	defer close(s.done)
	look := func() {
		if err := s.GC(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("looking for archives", "err", err)
		}
	}
	if s.cfg.Background {
		look()
	}
	if s.cfg.Interval < 0 {
		<-ctx.Done()
		return
	}
	more := s.more()
	for last := time.Now(); ; last = time.Now() {
		for due := false; !due; {
			changed := false
			timer := time.NewTimer(min(s.cfg.Interval, s.cfg.Rescan))
			select {
			case <-ctx.Done():
			case <-s.watch.changed:
				changed = true
			case <-timer.C:
			}
			timer.Stop()
			if ctx.Err() != nil {
				return
			}
			before := more
			more = s.more()
			due = changed || s.watch.blind.Load() || !slices.Equal(more, before) || time.Since(last) >= s.cfg.Rescan
		}
		if !pacing.Until(ctx, last.Add(s.cfg.Interval)) {
			return
		}
		select {
		case <-s.watch.changed: // the scan sees the change
		default:
		}
		look()
	}
}

// more returns the additional directories.
func (s *Store) more() []string {
	if s.cfg.More == nil {
		return nil
	}
	return s.cfg.More()
}

// Close implements [series.Store]. It waits for calls in progress.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		if s.stop != nil {
			s.stop()
			<-s.done
			if s.columns.done != nil {
				<-s.columns.done
			}
		}
		s.watch.close()
		s.scanning.Lock()
		defer s.scanning.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		s.files.close()
		err = s.x.close()
		s.cleanup()
	})
	return err
}

// view reads the index. It rebuilds an index that proves to be damaged.
func (s *Store) view(ctx context.Context, f func(*tx) error) error {
	for try := 0; ; try++ {
		s.mu.RLock()
		if s.closed {
			s.mu.RUnlock()
			return series.ErrClosed
		}
		x := s.x
		err := ctx.Err()
		if err == nil {
			err = x.view(f)
		}
		s.mu.RUnlock()
		if !errors.Is(err, errDamaged) || try > 0 {
			return err
		}
		s.log.Warn("the index of series is created again", "path", x.path, "err", err)
		if err := s.rebuild(ctx, x); err != nil {
			return err
		}
	}
}

// rebuild rebuilds the index, unless another goroutine has.
func (s *Store) rebuild(ctx context.Context, damaged *index) error {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	if s.x != damaged {
		return nil
	}
	if err := s.renew(); err != nil {
		return err
	}
	return s.scan(ctx)
}

// renew replaces the index with an empty one.
func (s *Store) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return series.ErrClosed
	}
	path := s.x.path
	s.x.close()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	x, _, err := openIndex(path)
	if err != nil {
		return err
	}
	s.x = x
	s.state.Store(newState())
	return nil
}

func newState() *state {
	return &state{
		archs: map[string]*arch{}, byNum: map[uint32]*arch{}, bySource: map[uint32][]*arch{},
		sources: map[sid.ID]uint32{}, ids: map[uint32]sid.ID{},
	}
}

// reload reads the list of archives from the index.
func (s *Store) reload() error {
	st := newState()
	err := s.x.view(func(tx *tx) error {
		st.series = tx.bucket("sid").Stats().KeyN
		if err := tx.each("src", nil, func(key, v []byte) error {
			n, err := number(v)
			if err != nil || len(key) != sid.Size {
				return errDamaged
			}
			id := sid.ID(key)
			st.sources[id], st.ids[n] = n, id
			return nil
		}); err != nil {
			return err
		}
		return tx.each("arch", nil, func(key, v []byte) error {
			a := &arch{path: string(key), step: period.StepOf(string(key))}
			if err := a.decode(v); err != nil {
				return err
			}
			st.archs[a.path], st.byNum[a.num] = a, a
			if a.err == "" {
				st.bySource[a.source] = append(st.bySource[a.source], a)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, list := range st.bySource {
		slices.SortFunc(list, func(a, b *arch) int {
			return cmp.Or(a.start.Compare(b.start), strings.Compare(a.path, b.path))
		})
	}
	s.state.Store(st)
	return nil
}

// GC implements [series.Store].
func (s *Store) GC(ctx context.Context) error {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	err := s.scan(ctx)
	if errors.Is(err, errDamaged) {
		s.log.Warn("the index of series is created again", "path", s.x.path, "err", err)
		if err := s.renew(); err != nil {
			return err
		}
		err = s.scan(ctx)
	}
	return err
}

// Stats implements [series.Store].
func (s *Store) Stats() series.Stats {
	st := s.state.Load()
	stats := series.Stats{Sources: len(st.sources), Series: st.series, Open: s.files.len()}
	for _, a := range st.archs {
		if a.err == "" {
			stats.Archives++
		} else {
			stats.Damaged++
		}
	}
	return stats
}

// Damaged returns the errors of the archives that cannot be read, by their paths.
func (s *Store) Damaged() map[string]string {
	all := map[string]string{}
	for path, a := range s.state.Load().archs {
		if a.err != "" {
			all[path] = a.err
		}
	}
	return all
}

// Span returns the times of the first and the last record of all archives. Ok is false if there are none.
func (s *Store) Span() (first, last pcp.Timestamp, ok bool) {
	for _, a := range s.state.Load().archs {
		if a.err != "" {
			continue
		}
		if !ok || a.start.Compare(first) < 0 {
			first = a.start
		}
		if !ok || a.end.Compare(last) > 0 {
			last = a.end
		}
		ok = true
	}
	return first, last, ok
}

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
