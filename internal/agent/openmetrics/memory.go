package openmetrics

import (
	"fmt"
	"sync"
)

// DefaultMemory is how much memory is kept of all sources together, in bytes.
const DefaultMemory = 256 << 20

// The approximate memory of a source besides the text itself, in bytes. TestMemoryIsCounted compares.
const (
	seriesCost   = 192 // of a series: its entries in lists, its place in two sets of values
	instanceCost = 320 // of the name of an instance, its labels
	metricCost   = 2 << 10
)

// A budget is the memory that the sources share.
type budget struct {
	limit int64

	mu      sync.Mutex
	used    int64
	sources int
}

// memoryError is the error of a source for which there is no memory left.
type memoryError struct{ source, limit int64 }

func (e *memoryError) Error() string {
	return fmt.Sprintf("the rest is left out: this source takes %d MB, and all sources together may take %d MB", e.source>>20, e.limit>>20)
}

// take counts n bytes more for a source that has some. At the limit a source can still have an equal
// share, so a source with too much data takes nothing from others.
func (b *budget) take(have *int64, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.limit && *have+n > b.limit/int64(max(b.sources, 1)) {
		return &memoryError{*have, b.limit}
	}
	b.used += n
	*have += n
	return nil
}

// add counts n bytes that are kept in any case.
func (b *budget) add(have *int64, n int64) {
	b.mu.Lock()
	b.used += n
	*have += n
	b.mu.Unlock()
}

// give takes n bytes back.
func (b *budget) give(have *int64, n int64) {
	b.mu.Lock()
	b.used -= n
	*have -= n
	b.mu.Unlock()
}

// count changes how many sources there are.
func (b *budget) count(by int) {
	b.mu.Lock()
	b.sources += by
	b.mu.Unlock()
}

// costOf is what a series takes, apart from its instance.
func costOf(key string) int64 { return seriesCost + int64(len(key)) }

// nameCost is what an instance takes: its name, that with its number, and its labels.
func nameCost(name string) int64 { return instanceCost + 3*int64(len(name)) }

// release frees the memory of a source whose file was removed, except the numbers of its names. Called with a.mu and s.mu held,
// while nothing reads the source.
func (s *source) release() {
	b := &s.a.budget
	for i := range s.series {
		b.give(&s.held, costOf(s.series[i].key))
	}
	for _, v := range []*values{&s.front, &s.back} {
		b.give(&s.held, v.held)
		*v = values{}
	}
	s.series, s.index, s.owners, s.scanner, s.inflate = nil, nil, nil, nil, nil
	for _, m := range s.metrics {
		m.slots = nil
	}
}

// drop forgets a source that has gone, with its names, when these are in files. Called without locks.
func (a *Agent) drop(s *source) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.retired[s.name] != s || s.run != nil || s.names(func(n *numbering) bool { return n.changed }) {
		return
	}
	delete(a.retired, s.name)
	a.budget.give(&s.held, s.held)
}

// names reports whether any of the source's lists of names is as asked. Called with s.mu held.
func (s *source) names(is func(*numbering) bool) bool {
	if is(s.items) {
		return true
	}
	for _, m := range s.metrics {
		if m.insts != nil && is(m.insts) {
			return true
		}
	}
	return false
}
