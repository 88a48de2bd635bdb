package pmapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
)

// A Poller takes samples of a live source for many goroutines: one runs it, and any
// number ask for the newest sample, which costs them no request.
type Poller struct {
	c       *Context
	o       SampleOptions
	metrics []string
	first   chan struct{} // closed when there is a sample or an error

	mu   sync.Mutex
	last Sample    // the last good one
	at   time.Time // when it was taken
	err  error     // of the newest, nil if that is last
	done bool      // first is closed
}

// NewPoller returns a Poller of the samples of c.Samples(ctx, o, metrics...).
func (c *Context) NewPoller(o SampleOptions, metrics ...string) *Poller {
	return &Poller{c: c, o: o, metrics: metrics, first: make(chan struct{})}
}

// Run takes samples as [Context.Samples] does and returns the last error of that, which
// is the cause of ctx when that ended. It continues when the collector is lost.
// Archives are pcp.ErrNotHost.
func (p *Poller) Run(ctx context.Context) error {
	var last error
	if p.c.Kind() == SourceArchive {
		last = fmt.Errorf("poll an archive: %w", pcp.ErrNotHost)
		p.put(Sample{}, last)
		return last
	}
	for s, err := range p.c.Samples(ctx, p.o, p.metrics...) {
		p.put(s, err)
		last = err
	}
	return last
}

func (p *Poller) put(s Sample, err error) {
	at := time.Now()
	if s.Time.IsZero() {
		s = Sample{}
	} else {
		s = s.Clone()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.Time.IsZero() {
		p.last, p.at = s, at
	}
	p.err = err
	if !p.done {
		p.done = true
		close(p.first)
	}
}

// Latest returns the newest sample that was had, and how long ago that was. If
// something was wrong since, it also returns the error of the newest attempt:
// then either the sample is an older one, or it lacks some metrics. Before the first
// attempt Latest waits for it.
//
// Latest may be called from many goroutines. They share the sample, which stays as it
// is: it must not be changed.
func (p *Poller) Latest(ctx context.Context) (s Sample, age time.Duration, err error) {
	select {
	case <-p.first:
	case <-ctx.Done():
		return Sample{}, 0, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() {
		age = time.Since(p.at)
	}
	return p.last, age, p.err
}
