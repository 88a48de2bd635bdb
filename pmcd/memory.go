package pmcd

// A memoryLimit keeps the soft limit of the process's memory in step with how
// many clients there are. It is guarded by the mutex of the clients.
type memoryLimit struct {
	base int64 // for few; 0 is no limit
	set  func(limit int64) int64
	step int // how many times clientStep there are
}

const (
	// clientStep is by how many clients the limit changes: setting it stops
	// everybody for a moment.
	clientStep = 1024
	// clientMemory is what one takes, with as much again for garbage.
	clientMemory = 16 << 10
)

func (m *memoryLimit) start() {
	if m.base > 0 {
		m.set(m.base)
	}
}

// clients is told how many clients there are. The limit goes down later than
// it came up, so that one who comes and goes does not change it.
func (m *memoryLimit) clients(n int) {
	if m.base <= 0 || n < (m.step+1)*clientStep && n >= m.step*clientStep-clientStep/2 {
		return
	}
	m.step = n / clientStep
	m.set(m.base + int64(m.step)*clientStep*clientMemory)
}
