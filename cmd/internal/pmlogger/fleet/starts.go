package fleet

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// maxStarts is the number of hosts that start at a time: they shake hands, look up metrics and
// record metadata, which takes as much work as dozens of samples. The others wait, so that hosts
// already being recorded are not late, and those starting finish soon.
const maxStarts = 32

// starts limits the number of starting hosts.
type starts struct {
	mu    sync.Mutex
	n     int             // places in use
	queue []chan struct{} // waiting hosts, the longest first
}

// take waits for a place. It returns false, without a place, if ctx is done first.
func (s *starts) take(ctx context.Context) bool {
	s.mu.Lock()
	if s.n < maxStarts && len(s.queue) == 0 {
		s.n++
		s.mu.Unlock()
		return true
	}
	mine := make(chan struct{})
	s.queue = append(s.queue, mine)
	s.mu.Unlock()
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(s.queue, mine)
	if i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // it arrived at the same time
		s.give()
	}
	return false
}

// retake takes a place at once, even if there is none: a connected host should start soon.
func (s *starts) retake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
}

// give returns a place.
func (s *starts) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	for s.n < maxStarts && len(s.queue) > 0 {
		s.n++
		close(s.queue[0])
		s.queue = s.queue[1:]
	}
}

// dialPatience is the time for which a host keeps its place while it waits for a connection.
const dialPatience = time.Second

// dial returns a dial function that releases the host's place during a long wait: unresponsive
// hosts do not keep others from starting.
func (h *host) dial(below dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if h.starting {
			t := time.AfterFunc(dialPatience, h.f.starts.give)
			defer func() {
				if !t.Stop() {
					h.f.starts.retake()
				}
			}()
		}
		return below(ctx, network, address)
	}
}

// begin waits for a place to start the host. It returns false if ctx is done first.
func (h *host) begin(ctx context.Context) bool {
	h.starting = h.f.starts.take(ctx)
	return h.starting
}

// begun returns the place, if the host has it.
func (h *host) begun() {
	if h.starting {
		h.starting = false
		h.f.starts.give()
	}
}
