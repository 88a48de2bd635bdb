package pmapi

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
)

// TestPoller has many goroutines ask for the newest sample while the collector is
// lost and comes back.
func TestPoller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newChanging()
		c := f.dial(t)
		defer c.Close()
		p := c.NewPoller(SampleOptions{}, "demo.count", "demo.name")
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, _, err := p.Latest(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Latest before Run: %v", err)
		}
		cancel()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Run(ctx); err != context.Canceled {
				t.Errorf("Run: %v", err)
			}
		})
		check := func(sec int64, age time.Duration, failed bool) {
			t.Helper()
			s, got, err := p.Latest(ctx)
			if s.Time.Sec != 1000+sec || got != age || (err != nil) != failed || len(s.Values) != 2 {
				t.Errorf("Latest = %v, %v, %v, want second %d, age %v", s, got, err, sec, age)
			}
		}
		for range 20 {
			wg.Go(func() { check(1, 0, false) })
		}
		time.Sleep(500 * time.Millisecond)
		check(1, 500*time.Millisecond, false)
		time.Sleep(time.Second)
		check(2, 500*time.Millisecond, false)
		f.set(func() { f.lose(); f.away = true })
		time.Sleep(2 * time.Second)
		check(2, 2500*time.Millisecond, true)
		f.set(func() { f.away = false })
		time.Sleep(3 * time.Second)
		if s, age, err := p.Latest(ctx); s.Time.Sec != 1007 || age != 500*time.Millisecond || err != nil {
			t.Errorf("after reconnect: %v, %v, %v", s, age, err)
		}
		f.set(func() { f.err = pcp.ErrNoAgent })
		time.Sleep(time.Second)
		if s, _, err := p.Latest(ctx); len(s.Values) != 1 || !errors.Is(err, pcp.ErrNoAgent) {
			t.Errorf("without the agent: %v, %v", s, err)
		}
		cancel()
		wg.Wait()
	})
}

func TestPollerOfArchive(t *testing.T) {
	path, _ := writeGaps(t)
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := c.NewPoller(SampleOptions{}, "web.load")
	if err := p.Run(t.Context()); !errors.Is(err, pcp.ErrNotHost) {
		t.Errorf("Run: %v", err)
	}
	if _, _, err := p.Latest(t.Context()); !errors.Is(err, pcp.ErrNotHost) {
		t.Errorf("Latest: %v", err)
	}
}

// Readers take samples while they are taken, for the race detector.
func TestPollerManyReaders(t *testing.T) {
	c := openMany(t, 20)
	p := c.NewPoller(SampleOptions{Interval: time.Microsecond}, "many.count", "many.text")
	ctx, cancel := context.WithCancel(t.Context())
	var run, readers sync.WaitGroup
	run.Go(func() { p.Run(ctx) })
	for range 8 {
		readers.Go(func() {
			for range 200 {
				s, age, err := p.Latest(ctx)
				if err != nil || age < 0 || len(s.Values) != 40 {
					t.Errorf("Latest = %d values, %v, %v", len(s.Values), age, err)
					return
				}
				first := s.Values[0].Value.Uint64()
				if text, _ := s.Values[39].Value.Text(); text != "text" || s.Values[19].Value.Uint64() != first+19 {
					t.Errorf("a sample of two times: %v", s)
				}
			}
		})
	}
	readers.Wait()
	cancel()
	run.Wait()
}
