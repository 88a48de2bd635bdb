package pmcd

import "sync"

// A memoryLimit keeps the soft limit of the process's memory in step with how
// many clients there are, and with the long requests and replies that are held
// for them: under a limit below what is in use, collecting garbage would take
// all of a processor.
type memoryLimit struct {
	base int64 // for few clients; 0 means unlimited
	set  func(limit int64) int64

	mu   sync.Mutex
	n    int   // of clients
	held int64 // bytes
	step int64 // how many times memoryStep are added to base
}

const (
	// clientMemory is what one client takes, with as much again for garbage.
	clientMemory = 16 << 10
	// memoryStep is by how much the limit changes. Setting it stops all
	// goroutines for a moment.
	memoryStep = 16 << 20
)

func (m *memoryLimit) start() {
	if m.base > 0 {
		m.set(m.base)
	}
}

// clients is told how many clients there are.
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
	more := int64(m.n)*clientMemory + m.held*3/2
	if more < (m.step+1)*memoryStep && more >= m.step*memoryStep-memoryStep/2 {
		return
	}
	m.step = more / memoryStep
	m.set(m.base + m.step*memoryStep)
}
