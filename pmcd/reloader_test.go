package pmcd

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// testReloader runs f with a reloader whose changes are noted: how long after the start, and how many so far.
func testReloader(t *testing.T, f func(r *reloader, changes *[]time.Duration, count *atomic.Int32)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		closing := make(chan struct{})
		no := func() bool { return false }
		r := &reloader{log: slog.New(slog.DiscardHandler), interval: time.Minute, closing: closing, dead: no, missing: no}
		r.init()
		var changes []time.Duration
		var count atomic.Int32
		start := time.Now()
		r.change = func(running bool) {
			if !running {
				t.Error("change without agents")
			}
			changes = append(changes, time.Since(start))
			count.Add(1)
		}
		r.begin(func() {})
		var g sync.WaitGroup
		r.watch(&g)
		f(r, &changes, &count)
		close(closing)
		g.Wait()
	})
}

func TestReloader(t *testing.T) {
	f := func(name string, call func(r *reloader, count *atomic.Int32), after time.Duration, hangUps uint32, want ...time.Duration) {
		t.Helper()
		testReloader(t, func(r *reloader, changes *[]time.Duration, count *atomic.Int32) {
			call(r, count)
			time.Sleep(after)
			synctest.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(*changes) != len(want) {
				t.Fatalf("%s: changes at %v, want %v", name, *changes, want)
			}
			for i := range want {
				if (*changes)[i] != want[i] {
					t.Errorf("%s: changes at %v, want %v", name, *changes, want)
				}
			}
			if n := r.hangUps.Load(); n != hangUps {
				t.Errorf("%s: %d hang-ups, want %d", name, n, hangUps)
			}
		})
	}
	f("nothing", func(*reloader, *atomic.Int32) {}, time.Hour, 0)
	f("hang-up", func(r *reloader, _ *atomic.Int32) {
		post(r.asked)
	}, time.Second, 1, 0)
	f("dead until the third change", func(r *reloader, count *atomic.Int32) {
		r.dead = func() bool { return count.Load() < 3 }
		post(r.died)
	}, time.Hour, 0, 0, time.Minute, 2*time.Minute)
	f("missing until the third change", func(r *reloader, count *atomic.Int32) {
		r.missing = func() bool { return count.Load() < 3 }
		post(r.absent)
	}, time.Hour, 0, time.Minute, 3*time.Minute, 7*time.Minute)
	f("missing until a hang-up", func(r *reloader, count *atomic.Int32) {
		r.missing = func() bool { return count.Load() < 1 }
		post(r.absent)
		time.AfterFunc(time.Second, func() { post(r.asked) })
	}, time.Hour, 1, time.Second)
}

// TestPost checks that a request that was not served yet counts for further ones.
func TestPost(t *testing.T) {
	c := make(chan struct{}, 1)
	post(c)
	post(c)
	if len(c) != 1 {
		t.Errorf("the channel holds %d", len(c))
	}
}

// TestNewClientAwaitsChange checks that a new client waits for a change of the agents, up to a limit.
func TestNewClientAwaitsChange(t *testing.T) {
	f := func(change, limit, want time.Duration) {
		t.Helper()
		testReloader(t, func(r *reloader, _ *[]time.Duration, _ *atomic.Int32) {
			r.change = func(bool) { time.Sleep(change) }
			if change > 0 {
				post(r.asked)
				synctest.Wait()
			}
			start := time.Now()
			r.await(limit)
			if got := time.Since(start); got != want {
				t.Errorf("change of %v, limit %v: waited %v, want %v", change, limit, got, want)
			}
		})
	}
	f(0, time.Second, 0)
	f(time.Second, 3*time.Second, time.Second)
	f(time.Minute, 3*time.Second, 3*time.Second)
}
