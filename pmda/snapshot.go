package pmda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
)

// A Snapshot is the last reading of a source that is too slow for a request to
// wait for. A goroutine takes one reading after the other, and requests get the
// last one. While a new reading takes long, hangs or fails, the last one stays,
// until it is too old:
//
//	shot := pmda.NewSnapshot(readRouter, pmda.SnapshotOptions{Every: 10 * time.Second, Log: log})
//	...
//	Value: shot.Value(func(r *router) (pcp.Value, error) { return pcp.Uint64Value(r.bytes), nil }),
//
// An agent whose metrics must all be from the same reading takes it in its
// Refresh.
//
// Several goroutines may get the same reading, so it must not change once read
// has returned it. Agents close their Snapshots in their Close.
type Snapshot[T any] struct {
	read func(context.Context) (T, error)
	opts SnapshotOptions
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	value T
	at    time.Time // when value was read, zero for never
	err   error     // why the last reading failed; nil after a success
}

// SnapshotOptions are the settings of [NewSnapshot]; the zero value has the
// defaults.
type SnapshotOptions struct {
	// Every is the time from the start of a reading to that of the next, 0 means
	// ten seconds. A reading that takes longer delays the next.
	Every time.Duration
	// Limit is how long a reading may take until its context is done; 0 means
	// Stale.
	Limit time.Duration
	// Stale is the maximum age of a reading, counted from its end. After that
	// there are no values. 0 means three times Every; negative means unlimited.
	Stale time.Duration
	// Log gets one line when readings start to fail or take longer than Limit,
	// and one when they succeed again; nil discards.
	Log *slog.Logger
}

// closeGrace is how long Close waits for a reading that does not heed its
// context.
const closeGrace = 2 * time.Second

// NewSnapshot starts to read at once. A panic of read counts as its error.
func NewSnapshot[T any](read func(ctx context.Context) (T, error), opts SnapshotOptions) *Snapshot[T] {
	if opts.Every <= 0 {
		opts.Every = 10 * time.Second
	}
	if opts.Stale == 0 {
		opts.Stale = 3 * opts.Every
	}
	if opts.Limit <= 0 {
		opts.Limit = max(opts.Stale, opts.Every)
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Snapshot[T]{read: read, opts: opts, stop: stop, done: make(chan struct{})}
	go s.run(ctx)
	return s
}

// Get returns the last reading. Before the first, the error is pcp.ErrAgain, or
// the reason why it failed. If the last one is too old, the error is
// [ErrNoValue]. Get does not wait.
func (s *Snapshot[T]) Get() (v T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.at.IsZero() && s.err != nil:
		return v, s.err
	case s.at.IsZero():
		return v, pcp.ErrAgain
	case s.stale():
		return v, ErrNoValue
	}
	return s.value, nil
}

// Time returns when the last successful reading ended, even if it is too old to
// be handed out, or zero if there was none.
func (s *Snapshot[T]) Time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// stale reports whether the value is too old. The caller holds s.mu.
func (s *Snapshot[T]) stale() bool {
	return s.opts.Stale > 0 && time.Since(s.at) > s.opts.Stale
}

// Close ends the readings. It waits for a reading under way, but at most two
// seconds if that ignores its context. The last reading stays.
func (s *Snapshot[T]) Close() error {
	s.stop()
	select {
	case <-s.done:
		return nil
	case <-time.After(closeGrace):
		return errors.New("a reading of the source does not end")
	}
}

func (s *Snapshot[T]) run(ctx context.Context) {
	defer close(s.done)
	next := time.NewTicker(s.opts.Every)
	defer next.Stop()
	for ctx.Err() == nil {
		s.once(ctx)
		select {
		case <-next.C:
		case <-ctx.Done():
		}
	}
}

// once takes one reading.
func (s *Snapshot[T]) once(life context.Context) {
	tooLong := fmt.Errorf("no reading within %v: %w", s.opts.Limit, pcp.ErrTimeout)
	ctx, cancel := context.WithTimeoutCause(life, s.opts.Limit, tooLong)
	defer cancel()
	late := time.AfterFunc(s.opts.Limit, func() { s.failed(tooLong) })
	defer late.Stop()
	var v T
	err := protect(func() (err error) { v, err = s.read(ctx); return err })
	if p, ok := errors.AsType[*PanicError](err); ok {
		err = fmt.Errorf("%w at %s", err, p.At)
	}
	switch {
	case err == nil:
	case life.Err() != nil: // Close
		return
	case errors.Is(err, context.DeadlineExceeded):
		s.failed(context.Cause(ctx))
		return
	default:
		s.failed(err)
		return
	}
	s.mu.Lock()
	s.value, s.at = v, time.Now()
	was := s.err
	s.err = nil
	s.mu.Unlock()
	if was != nil {
		s.opts.Log.Info("source is read again")
	}
}

// failed records why a reading failed, and logs the first failure of a series.
func (s *Snapshot[T]) failed(err error) {
	s.mu.Lock()
	was := s.err
	s.err = err
	s.mu.Unlock()
	if was == nil {
		s.opts.Log.Warn("source cannot be read; the last reading is used until it is too old", "err", err)
	}
}

// Value makes the Value function of a metric without instances, which calls f
// with the last reading.
func (s *Snapshot[T]) Value(f func(T) (pcp.Value, error)) func(inst int32, i int) (pcp.Value, error) {
	return func(int32, int) (pcp.Value, error) {
		v, err := s.Get()
		if err != nil {
			return pcp.Value{}, err
		}
		return f(v)
	}
}
