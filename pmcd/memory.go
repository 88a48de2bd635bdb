package pmcd

import (
	"runtime"
	"runtime/metrics"
	"sync"
)

// A memoryLimit adjusts the soft limit of the process's memory to the number of clients,
// the long requests and replies held for them, and the memory of agents in the process:
// under a limit below the memory in use, collecting garbage would take all of a
// processor.
type memoryLimit struct {
	base int64 // for few clients; 0 means unlimited
	set  func(limit int64) int64

	mu   sync.Mutex
	n    int   // of clients
	held int64 // bytes
	live int64 // bytes of the heap that the last collection found in use
	over bool  // watch ends
	step int64 // how many times memoryStep are added to base
}

const (
	// clientMemory is the memory of one client, with as much again for garbage.
	clientMemory = 16 << 10
	// memoryStep is by how much the limit changes. Setting it stops all
	// goroutines for a moment.
	memoryStep = 16 << 20
	// besideHeap is memory that is not of the heap, stacks and what the runtime keeps, and a
	// step, as only whole ones count.
	besideHeap = 8<<20 + memoryStep
)

func (m *memoryLimit) start() {
	if m.base > 0 {
		m.set(m.base)
	}
}

// watch makes the limit follow the memory in use after each garbage collection, until stop
// is called.
func (m *memoryLimit) watch() (stop func()) {
	if m.base > 0 {
		m.awaitCollection()
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.over = true
	}
}

// awaitCollection has collected called after the next collection, as the cleanup of an
// unused object.
func (m *memoryLimit) awaitCollection() {
	runtime.AddCleanup(new([64]byte), func(m *memoryLimit) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		if sample[0].Value.Kind() == metrics.KindUint64 && m.collected(int64(sample[0].Value.Uint64())) {
			m.awaitCollection()
		}
	}, m)
}

// collected receives the size of the heap in use. It reports whether it wants further
// calls.
func (m *memoryLimit) collected(live int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return false
	}
	m.live = live
	m.adjust()
	return true
}

// clients receives the number of clients.
func (m *memoryLimit) clients(n int) {
	if m.base <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n = n
	m.adjust()
}

// hold adds n, which may be negative, to the bytes that are held.
func (m *memoryLimit) hold(n int) {
	if m.base <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held += int64(n)
	m.adjust()
}

// adjust sets the limit if need be. It goes down later than it came up, so that
// one client that comes and goes does not change it. Called with m.mu held.
func (m *memoryLimit) adjust() {
	more := max(int64(m.n)*clientMemory+m.held*3/2, m.live*3/2+besideHeap-m.base)
	if more < (m.step+1)*memoryStep && more >= m.step*memoryStep-memoryStep/2 {
		return
	}
	m.step = more / memoryStep
	m.set(m.base + m.step*memoryStep)
}
