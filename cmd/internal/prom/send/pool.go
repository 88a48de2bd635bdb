package send

import (
	"context"
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

const (
	// places is the number of windows with samples at a time for a server: those of its requests, and as many that are being filled.
	places = 2 * requests
	// keptSamples is the size of a window whose memory is kept for the next one: 30 samples of each of 2,000 series.
	keptSamples = 60_000
)

// A pool has the memory for the windows of a server. A stream takes some for the first sample of a window and gives it back when the
// window was sent, so that a thousand streams that wait for a server do not have a window each.
type pool struct {
	places chan struct{}

	mu   sync.Mutex
	free []memory // the last one is given first
}

func newPool(n int) *pool { return &pool{places: make(chan struct{}, n)} }

// enter waits for a place.
func (p *pool) enter(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave gives a place back.
func (p *pool) leave() { <-p.places }

// take waits for a place, and returns memory.
func (p *pool) take(ctx context.Context) (m memory, err error) {
	if err := p.enter(ctx); err != nil {
		return m, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		m, p.free[n-1] = p.free[n-1], m
		p.free = p.free[:n-1]
	}
	return m, nil
}

// give gives memory and its place back.
func (p *pool) give(m memory) {
	m.clear()
	p.mu.Lock()
	if cap(m.samples) <= keptSamples && len(p.free) < cap(p.places) {
		p.free = append(p.free, m)
	}
	p.mu.Unlock()
	p.leave()
}

// Limits of a shared. Beyond one, sharing begins again.
const (
	maxFamilies  = 100_000
	maxTextBytes = 32 << 20
)

// A shared has what the archives of many hosts have in common: names, help texts, and the descriptions of metrics. A nil shared
// shares nothing.
type shared struct {
	mu       sync.Mutex
	families map[remote.Family]*remote.Family
	texts    map[string]string
	bytes    int // of texts
}

// family returns a family, the same one for all that are equal.
func (s *shared) family(f remote.Family) *remote.Family {
	if s == nil {
		return &f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.families[f]; one != nil {
		return one
	}
	if s.families == nil || len(s.families) >= maxFamilies {
		s.families = make(map[remote.Family]*remote.Family)
	}
	s.families[f] = &f
	return &f
}

// text returns a text as a string, the same one for all that are equal.
func (s *shared) text(b []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.texts[string(b)]; ok {
		return one
	}
	if s.texts == nil || s.bytes+len(b) > maxTextBytes {
		s.texts, s.bytes = make(map[string]string), 0
	}
	one := string(b)
	s.texts[one] = one
	s.bytes += len(b)
	return one
}
