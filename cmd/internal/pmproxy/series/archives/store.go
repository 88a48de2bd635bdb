package archives

import (
	"cmp"
	"context"
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
