package timectl

import "sync"

// A bell counts changes, and lets goroutines wait for the next one.
type bell struct {
	mu   sync.Mutex
	n    int
	next chan struct{} // closed by the next change
}

func newBell() *bell { return &bell{next: make(chan struct{})} }

// ring counts a change.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	close(b.next)
	b.next = make(chan struct{})
}

// state returns the number of changes, and a channel that the next change closes.
func (b *bell) state() (n int, next <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n, b.next
}
