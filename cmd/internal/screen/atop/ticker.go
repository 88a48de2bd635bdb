package atop

import (
	"context"
	"os"
	"os/signal"
	"time"
)

// A ticker schedules samples of a live source: at each interval, or when a signal or a key asks for one.
type ticker struct {
	last bool // the next sample is the last one

	every   time.Duration // 0: only when asked for
	timer   *time.Timer
	due     chan struct{}
	signals chan os.Signal
}

func (t *ticker) start(every time.Duration) {
	t.every = every
	t.due = make(chan struct{}, 1)
	t.signals = make(chan os.Signal, 4)
	if list := wakeSignals(); len(list) > 0 {
		signal.Notify(t.signals, list...)
	}
	t.set(every)
}

// set makes the next sample due after d, and those after it at the interval; 0 stops the clock.
func (t *ticker) set(d time.Duration) {
	if t.timer != nil {
		t.timer.Stop()
	}
	t.timer = nil
	if d > 0 {
		t.timer = time.AfterFunc(d, t.ask)
	}
}

// ask requests a sample now.
func (t *ticker) ask() {
	select {
	case t.due <- struct{}{}:
	default:
	}
}

func (t *ticker) stop() {
	signal.Stop(t.signals)
	t.set(0)
}

// wait waits until a sample is due. It returns false if ctx is done before.
func (t *ticker) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-t.due:
	case sig := <-t.signals:
		t.last = isLast(sig)
	}
	t.set(t.every)
	return true
}
