package pmapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// pendingContext returns a context on c by a socket, with a time-out for requests. Answers to fetches wait for gate.
func pendingContext(t *testing.T, timeout time.Duration) (c *Context, gate chan struct{}) {
	t.Helper()
	gate = make(chan struct{}, 10)
	fake := newCollector()
	fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
		if hdr.Type == wire.TypeHighResFetch {
			<-gate
		}
		return false
	}
	addr := fake.listen(t)
	d := fake.dialer()
	d.DialContext, d.RequestTimeout = nil, timeout
	c, err := d.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		close(gate)
	})
	return c, gate
}

func start(t *testing.T, ctx context.Context, c *Context, wait time.Duration) PendingFetch {
	t.Helper()
	p, started, err := c.StartFetch(ctx, []pcp.PMID{idCount, idLoad}, time.Now().Add(wait))
	if err != nil || !started {
		t.Fatal(started, err)
	}
	return p
}

func TestStartFetch(t *testing.T) {
	c, gate := pendingContext(t, -1)
	var res pcp.Result
	for i := range 3 {
		p := start(t, t.Context(), c, time.Minute)
		gate <- struct{}{}
		if i < 2 && !p.Ready(t.Context()) {
			t.Fatal("not ready")
		}
		if _, err := p.Finish(t.Context(), &res); err != nil || len(res.Sets) != 2 || res.Sets[0].Values[0].Uint32() != uint32(i+1) || len(res.Sets[1].Values) != 3 {
			t.Fatalf("%d: %v, %v", i, res.Sets, err)
		}
	}

	// An answer that comes later than Ready waits is not lost, and other requests wait for it.
	p := start(t, t.Context(), c, time.Millisecond)
	if p.Ready(t.Context()) {
		t.Fatal("ready without an answer")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.LookupName(ctx, "demo.count"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request meanwhile: %v", err)
	}
	gate <- struct{}{}
	if _, err := p.Finish(t.Context(), &res); err != nil || res.Sets[0].Values[0].Uint32() != 4 {
		t.Fatalf("a late answer: %v, %v", res.Sets, err)
	}
	if _, err := c.LookupName(t.Context(), "demo.count"); err != nil {
		t.Error(err)
	}

	// Metrics that cannot be fetched in this way are refused.
	if _, started, err := c.StartFetch(t.Context(), []pcp.PMID{pcp.NewPMID(pcp.DomainDynamic, 0, 1)}, time.Now()); started || err != nil {
		t.Errorf("a derived metric: %t, %v", started, err)
	}
	if _, started, err := newCollector().dial(t).StartFetch(t.Context(), []pcp.PMID{idCount}, time.Now()); started || err != nil {
		t.Errorf("a pipe: %t, %v", started, err)
	}
}

// TestStartFetchFails has fetches that were started end without an answer.
func TestStartFetchFails(t *testing.T) {
	var res pcp.Result
	for _, ready := range []bool{false, true} {
		c, _ := pendingContext(t, 50*time.Millisecond)
		p := start(t, t.Context(), c, time.Minute)
		if ready && !p.Ready(t.Context()) {
			t.Error("Ready waits for longer than the request may take")
		}
		if _, err := p.Finish(t.Context(), &res); !errors.Is(err, pcp.ErrTimeout) {
			t.Errorf("time-out, ready %t: %v", ready, err)
		}
		if _, _, err := c.StartFetch(t.Context(), []pcp.PMID{idCount}, time.Now()); !errors.Is(err, pcp.ErrIPC) {
			t.Errorf("after a time-out: %v", err)
		}

		c, _ = pendingContext(t, -1)
		ctx, cancel := context.WithCancelCause(t.Context())
		p = start(t, ctx, c, time.Minute)
		why := errors.New("why")
		time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
		if ready && !p.Ready(ctx) {
			t.Error("Ready waits for what was given up")
		}
		if _, err := p.Finish(ctx, &res); !errors.Is(err, why) {
			t.Errorf("given up, ready %t: %v", ready, err)
		}

		c, _ = pendingContext(t, -1)
		p = start(t, t.Context(), c, time.Minute)
		time.AfterFunc(10*time.Millisecond, func() { c.Close() })
		if ready && !p.Ready(t.Context()) {
			t.Error("Ready waits for a closed context")
		}
		if _, err := p.Finish(t.Context(), &res); !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("closed, ready %t: %v", ready, err)
		}
	}
}
