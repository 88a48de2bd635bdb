package fleet

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Limits of computations, and of the tables that are kept.
const (
	// Timeout limits the computation of a table or of a heat map.
	Timeout = 2 * time.Minute
	// idle is the time without requests after which the table is no longer refreshed.
	idle = 5 * time.Minute
	// patience is the time for which a request waits for its table.
	patience = 5 * time.Second
	// keep is the number of tables of the past that are kept.
	keep = 4
)

// A Recording is the state of the recording of a host.
type Recording struct {
	Host  string
	Owner string        // the recorder that records it
	Lag   time.Duration // since its newest recorded sample; negative if not known
	Error string        // the last one, "" if there is none
}

// A Config configures a Fleet.
type Config struct {
	// Source has the values of the table.
	Source Source
	// Hosts returns the names of all hosts, which appear in the table even without values. It is cheap to call. Nil means
	// that only hosts with values appear.
	Hosts func(ctx context.Context) ([]string, error)
	// Recording returns the state of recordings; nil means that it is not known.
	Recording func(ctx context.Context) ([]Recording, error)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Log receives errors; nil discards them.
	Log *slog.Logger
}

// A Fleet has the table of hosts for its handlers. It is safe for concurrent use.
type Fleet struct {
	cfg     Config
	ctx     context.Context
	cancel  context.CancelFunc
	turn    chan struct{} // held while a table is computed
	tasks   sync.WaitGroup
	wait    time.Duration // patience, less in tests
	stepNow time.Duration // Step, less in tests

	mu      sync.Mutex
	closed  bool
	live    *snapshot
	liveErr error
	running bool          // the table is refreshed in the background
	fresh   chan struct{} // closed when live or liveErr changes
	asked   time.Time     // last request for live
	past    []*pastTable  // the last one was used last
	pending int           // tables of the past that are not ready
}

// A pastTable is a table of the past.
type pastTable struct {
	end, step int64
	ready     chan struct{} // closed when snap or err is set
	snap      *snapshot
	err       error
}

// New returns a Fleet, which does nothing until it is asked.
func New(cfg Config) *Fleet {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{cfg: cfg, turn: make(chan struct{}, 1), fresh: make(chan struct{}), wait: patience, stepNow: Step}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

var (
	errClosed   = errors.New("the server is ending")
	errNotReady = errors.New("the table is being computed")
)

// Close ends computations and waits for them.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.tasks.Wait()
	return nil
}

// now returns the table of now. It is errNotReady if the first one is still computed after the patience of requests.
func (f *Fleet) now(ctx context.Context) (*snapshot, error) {
	wait := time.NewTimer(f.wait)
	defer wait.Stop()
	for {
		f.mu.Lock()
		if f.closed {
			f.mu.Unlock()
			return nil, errClosed
		}
		now := f.cfg.Now()
		f.asked = now
		fresh, live, err := f.fresh, f.live, f.liveErr
		started := !f.running
		if started {
			f.running = true
			f.tasks.Go(f.refresh)
		}
		f.mu.Unlock()
		old := live == nil || now.UnixMilli()-live.end > 2*f.stepNow.Milliseconds()
		if !old || err != nil && !started {
			return live, err
		}
		select {
		case <-fresh:
		case <-wait.C:
			if live != nil {
				return live, nil
			}
			return nil, errNotReady
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// refresh refreshes the table of now until it is not asked for any more.
func (f *Fleet) refresh() {
	for {
		f.mu.Lock()
		old := f.live
		f.mu.Unlock()
		now := f.cfg.Now()
		end := now
		if old != nil {
			// The points stay at the same times, so that the old ones can be used.
			if n := (now.UnixMilli() - old.end) / f.stepNow.Milliseconds(); n >= 0 && n < 3 {
				end = time.UnixMilli(old.end + n*f.stepNow.Milliseconds())
			}
		}
		snap, err := f.build(end, f.stepNow, old)
		f.mu.Lock()
		if err == nil {
			f.live = snap
		}
		f.liveErr = err
		close(f.fresh)
		f.fresh = make(chan struct{})
		f.mu.Unlock()
		if err != nil && f.ctx.Err() == nil {
			f.cfg.Log.Error("the table of hosts cannot be refreshed", "err", err)
		}
		wait := f.stepNow - f.cfg.Now().Sub(end)
		if err != nil {
			wait = f.stepNow
		}
		select {
		case <-time.After(max(wait, f.stepNow/10)):
		case <-f.ctx.Done():
		}
		f.mu.Lock()
		if f.ctx.Err() != nil || f.cfg.Now().Sub(f.asked) > idle {
			f.running = false
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
	}
}

// build computes a table, one at a time.
func (f *Fleet) build(end time.Time, step time.Duration, old *snapshot) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(f.ctx, Timeout)
	defer cancel()
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b := &builder{src: f.cfg.Source, end: end, step: step, names: f.cfg.Hosts, old: old, now: f.cfg.Now()}
	return b.build(ctx)
}

// at returns the table at a time in the past.
func (f *Fleet) at(ctx context.Context, end time.Time, step time.Duration) (*snapshot, error) {
	t, err := f.find(end.UnixMilli(), step)
	if err != nil {
		return nil, err
	}
	wait := time.NewTimer(f.wait)
	defer wait.Stop()
	select {
	case <-t.ready:
		return t.snap, t.err
	case <-wait.C:
		return nil, errNotReady
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// find returns a table of the past, which it begins to compute if there is none.
func (f *Fleet) find(end int64, step time.Duration) (*pastTable, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	for i, t := range f.past {
		if t.end == end && t.step == step.Milliseconds() {
			f.past = append(append(f.past[:i:i], f.past[i+1:]...), t)
			return t, nil
		}
	}
	t := &pastTable{end: end, step: step.Milliseconds(), ready: make(chan struct{})}
	if len(f.past) >= keep {
		f.past = f.past[len(f.past)-keep+1:]
	}
	f.past = append(f.past, t)
	f.tasks.Go(func() {
		t.snap, t.err = f.build(time.UnixMilli(end), step, nil)
		f.mu.Lock()
		f.pending--
		if i := slices.Index(f.past, t); t.err != nil && i >= 0 { // the next request tries again
			f.past = append(f.past[:i:i], f.past[i+1:]...)
		}
		f.mu.Unlock()
		close(t.ready)
	})
	return t, nil
}
