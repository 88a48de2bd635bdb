package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A source is slow, and takes, hangs or fails as configured.
type source struct {
	mu    sync.Mutex
	n     int
	takes time.Duration
	deaf  bool // to its context
	err   error
	boom  bool
	ended atomic.Int32 // readings that were canceled
}

func (s *source) read(ctx context.Context) (int, error) {
	s.mu.Lock()
	s.n++
	n, takes, deaf := s.n, s.takes, s.deaf
	s.mu.Unlock()
	if deaf {
		time.Sleep(takes)
	} else {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			s.ended.Add(1)
			return 0, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boom {
		panic("boom")
	}
	return n, s.err
}

// is changes how the source behaves.
func (s *source) is(change func(s *source)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// TestSnapshot follows readings second by second, on a fake clock.
func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		src := &source{takes: 2 * time.Second}
		s := pmda.NewSnapshot(src.read, pmda.SnapshotOptions{
			Every: 10 * time.Second, Stale: 25 * time.Second, Limit: 20 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		start := time.Now()
		at := func(second int, want string) {
			t.Helper()
			time.Sleep(time.Duration(second)*time.Second - time.Since(start) + time.Millisecond)
			synctest.Wait()
			v, err := s.Get()
			got := fmt.Sprint(v)
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("after %d s there is %s, want %s", second, got, want)
			}
		}
		none := pmda.ErrNoValue.Error()
		at(0, pcp.ErrAgain.Error())
		if !s.Time().IsZero() {
			t.Error("there is a time before the first reading")
		}
		at(2, "1")
		at(11, "1")
		at(12, "2")
		if got := s.Time().Sub(start); got != 12*time.Second {
			t.Errorf("the second reading is of second %v", got)
		}
		src.is(func(s *source) { s.takes = time.Hour }) // from the third on, begun at 20: it hangs until its limit
		at(22, "2")
		at(36, "2") // 24 s old
		at(38, none)
		src.is(func(s *source) { s.takes = 2 * time.Second })
		at(41, none) // a reading has begun at 40
		at(42, "4")
		if !strings.Contains(log.String(), "within 20s") || !strings.Contains(log.String(), "source is read again") {
			t.Errorf("the log says\n%s", &log)
		}
		if strings.Count(log.String(), "cannot be read") != 1 {
			t.Errorf("the log repeats itself:\n%s", &log)
		}
		src.is(func(s *source) { s.err = errors.New("no route") })
		at(66, "4")
		at(68, none)
		src.is(func(s *source) { s.err, s.boom = nil, true })
		at(73, none)
		src.is(func(s *source) { s.boom = false })
		at(82, "8")
		src.is(func(s *source) { s.takes, s.deaf = time.Hour, true })
		at(92, "8") // a reading that never ends has begun
		at(106, "8")
		at(108, none)
		if err := s.Close(); err == nil {
			t.Error("Close waits for a reading that does not heed its context")
		}
		if n := src.ended.Load(); n != 1 {
			t.Errorf("%d readings were told to end, want 1", n)
		}
		time.Sleep(2 * time.Hour)
	})
}

// TestSnapshotFails has no reading succeed.
func TestSnapshotFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{err: pcp.ErrNoAgent}
		s := pmda.NewSnapshot(src.read, pmda.SnapshotOptions{})
		synctest.Wait()
		if _, err := s.Get(); !errors.Is(err, pcp.ErrNoAgent) {
			t.Errorf("error is %v", err)
		}
		src.is(func(s *source) { s.takes = time.Hour })
		time.Sleep(11 * time.Second)
		if err := s.Close(); err != nil || src.ended.Load() != 1 {
			t.Errorf("Close: %v, %d readings were told to end", err, src.ended.Load())
		}
	})
}

// TestSnapshotServes has an agent answer from its cache while the source hangs.
func TestSnapshotServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		s := pmda.NewSnapshot(src.read, pmda.SnapshotOptions{Every: time.Minute, Stale: time.Hour})
		defer s.Close()
		table, err := pmda.NewTable(pmda.Config{Name: "slow", Domain: domain, Metrics: []pmda.Metric{{
			Name: "slow.n", Type: pcp.Type32,
			Value: s.Value(func(n int) (pcp.Value, error) { return pcp.Int32Value(int32(n)), nil }),
		}}})
		if err != nil {
			t.Fatal(err)
		}
		c := start(t, table)
		c.conn.SetDeadline(time.Time{})
		fetch := func(want ...int32) {
			t.Helper()
			before := time.Now()
			p, ok := c.ask(1, &wire.Fetch{PMIDs: ids([2]int{0, 0})}).(*wire.Result)
			if !ok || len(p.Sets[0].Values) != len(want) || p.Sets[0].Err != 0 || len(want) > 0 && p.Sets[0].Values[0].Int32() != want[0] {
				t.Errorf("the answer is %+v, want %v", p, want)
			}
			if took := time.Since(before); took != 0 {
				t.Errorf("it took %v", took)
			}
		}
		synctest.Wait()
		fetch(1)
		src.is(func(s *source) { s.takes, s.deaf = 2*time.Hour, true })
		time.Sleep(30 * time.Minute)
		fetch(1)
		time.Sleep(30*time.Minute + time.Second)
		fetch()
		src.is(func(s *source) { s.takes = 0 })
		time.Sleep(time.Hour + time.Minute) // the reading that hung has ended
		synctest.Wait()
		p, ok := c.ask(1, &wire.Fetch{PMIDs: ids([2]int{0, 0})}).(*wire.Result)
		if !ok || len(p.Sets[0].Values) != 1 || p.Sets[0].Values[0].Int32() < 2 {
			t.Errorf("the answer is %+v, want a new reading", p)
		}
		c.end("")
	})
}

// TestSnapshotRace reads and asks at the same time: for the race detector.
func TestSnapshotRace(t *testing.T) {
	type reading struct{ a, b int }
	n := 0
	s := pmda.NewSnapshot(func(context.Context) (*reading, error) {
		n++
		return &reading{n, n}, nil
	}, pmda.SnapshotOptions{Every: time.Microsecond, Limit: time.Hour, Stale: -1})
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			last := 0
			for range 1000 {
				r, err := s.Get()
				if err == pcp.ErrAgain {
					continue
				}
				if err != nil || r.a != r.b || r.a < last {
					t.Errorf("after %d there is %+v, %v", last, r, err)
					return
				}
				last = r.a
			}
		})
	}
	g.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestPerClient keeps something for clients until they leave.
func TestPerClient(t *testing.T) {
	type agent struct {
		*pmda.Table
		pmda.PerClient[uint32]
	}
	a := &agent{}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{
		Name: "count", Domain: domain, Metrics: []pmda.Metric{{Name: "count.fetches", Type: pcp.TypeU32}},
		Value: func(req *pmda.FetchRequest, _ *pmda.Metric, _ int32, _ int) (pcp.Value, error) {
			n := a.Of(req.Client)
			*n++
			return pcp.Uint32Value(*n), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, a)
	fetch := func(client int32, want uint32) {
		t.Helper()
		p, ok := c.ask(client, &wire.Fetch{PMIDs: ids([2]int{0, 0})}).(*wire.Result)
		if !ok || p.Sets[0].Values[0].As(pcp.TypeU32).Uint32() != want {
			t.Errorf("client %d gets %+v, want %d", client, p, want)
		}
	}
	fetch(1, 1)
	fetch(2, 1)
	fetch(1, 2)
	if n := a.Clients(); n != 2 {
		t.Errorf("something is kept for %d clients", n)
	}
	c.send(1, &wire.Error{Code: pcp.ErrNotConn})
	fetch(1, 1) // another with the same number
	fetch(2, 2)
	c.end("")
	if n := a.Clients(); n != 0 {
		t.Errorf("when all have left something is kept for %d clients", n)
	}
}

// BenchmarkSnapshotGet measures what a value from a snapshot costs.
func BenchmarkSnapshotGet(b *testing.B) {
	s := pmda.NewSnapshot(func(context.Context) (int, error) { return 1, nil }, pmda.SnapshotOptions{})
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		s.Get()
	}
}
