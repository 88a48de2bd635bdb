package pmcd

import (
	"runtime"
	"sync"
	"time"

	"github.com/go-pcp/pcp/pmcd/internal/backend"
)

// Beyond these sizes a request is heavy and passes the gate.
const (
	// heavyRequest is the length of a request's body in bytes: that of a fetch of
	// as many metrics as make the part of one agent heavy.
	heavyRequest = 4 * backend.HeavyPart
	// heavyReply is the length of the reply that the client got last.
	heavyReply = 256 << 10
)

const (
	// gateLease is how long a heavy request keeps its place while others wait.
	// After that another request is admitted in addition, so that a slow agent
	// delays no request to other agents for longer.
	gateLease = 50 * time.Millisecond
	// gateCredit is the maximum work, in bytes, by which a client with few
	// requests may precede those that always wait.
	gateCredit = 2 << 20
	// maxPending bounds the replies, in bytes, that wait for clients to take
	// them. Beyond it heavy requests wait until some have been taken, or the
	// clients that do not take them have been dropped.
	maxPending = 64 << 20
)

// A gate lets a few heavy requests be worked on at a time, one less than there
// are processors, so that small requests find one free. Those that wait are
// let in by the work that their clients have had, in bytes of requests and
// replies: a client that had less goes first, however many requests others send.
type gate struct {
	places     int           // how many requests have a place at a time
	lease      time.Duration // gateLease
	maxPending int64         // maxPending

	mu      sync.Mutex
	now     int64   // the work that each client had, were it there all the time
	inside  []*pass // have a place, in the order in which they got it
	waiting []*pass // by start
	pending int64   // bytes of replies that are being sent
	timer   *time.Timer
}

// A pass is a client's permit to be worked on. Only the gate's mutex guards
// its fields; one client has one request at a time.
type pass struct {
	wake   chan struct{} // closed when it is let in
	start  int64         // of the present request, in units of work
	finish int64         // of the last one: its start and its work
	since  time.Time     // when it got its place
}

// A turn is the client's side of the gate: whether its present request passed it. Only the
// client's goroutine uses it.
type turn struct {
	gate   *gate
	memory *memoryLimit
	pass   pass
	inside bool // the present request passed the gate
	body   int  // the request's length
}

// enter waits for the client's turn if the request is heavy: by its own length, or that of the
// last reply.
func (t *turn) enter(body, lastReply int, closing <-chan struct{}) {
	if body < heavyRequest && lastReply < heavyReply {
		return
	}
	t.inside, t.body = true, body
	t.memory.hold(2 * body)
	t.gate.enter(&t.pass, closing)
}

// leave lets others work, after a request that was answered with so many
// bytes.
func (t *turn) leave(reply int) {
	if !t.inside {
		return
	}
	t.inside = false
	t.gate.leave(&t.pass, t.body+reply)
	t.memory.hold(-2 * t.body)
}

// sending adds n, which may be negative, to the bytes that wait for the client to
// take them.
func (t *turn) sending(n int) {
	t.memory.hold(n)
	t.gate.sending(n)
}

func newGate() *gate {
	return &gate{places: max(1, runtime.GOMAXPROCS(0)-1), lease: gateLease, maxPending: maxPending}
}

// enter waits until p is let in, or closing is closed.
func (g *gate) enter(p *pass, closing <-chan struct{}) {
	g.join(p)
	select {
	case <-p.wake:
	case <-closing: // no more requests are let in, and all have to end
	}
}

// join puts p among those that wait, and lets it in if it can be.
func (g *gate) join(p *pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.wake == nil {
		p.finish = g.now // a new client has no credit
	}
	p.start = max(g.now-gateCredit, p.finish)
	p.wake = make(chan struct{})
	i := len(g.waiting)
	for i > 0 && g.waiting[i-1].start > p.start {
		i--
	}
	g.waiting = append(g.waiting, nil)
	copy(g.waiting[i+1:], g.waiting[i:])
	g.waiting[i] = p
	g.admit()
}

// leave gives p's place to another. work is what the request took.
func (g *gate) leave(p *pass, work int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.finish = p.start + int64(work)
	g.now += int64(work / max(1, len(g.inside)+len(g.waiting)))
	g.remove(p)
	g.admit()
}

// remove forgets p, wherever it is.
func (g *gate) remove(p *pass) {
	for _, list := range []*[]*pass{&g.inside, &g.waiting} {
		for i, q := range *list {
			if q == p {
				copy((*list)[i:], (*list)[i+1:])
				(*list)[len(*list)-1] = nil
				*list = (*list)[:len(*list)-1]
				return
			}
		}
	}
}

// admit lets in as many requests as there are places. Called with g.mu held.
func (g *gate) admit() {
	for len(g.waiting) > 0 && len(g.inside) < g.places && g.pending < g.maxPending {
		p := g.waiting[0]
		g.remove(p)
		p.since = time.Now()
		g.inside = append(g.inside, p)
		close(p.wake)
	}
	if len(g.waiting) == 0 || len(g.inside) == 0 {
		return
	}
	wait := time.Until(g.inside[0].since.Add(g.lease))
	if g.timer == nil {
		g.timer = time.AfterFunc(wait, g.expire)
	} else {
		g.timer.Reset(wait)
	}
}

// expire takes the places of requests that have had them for too long.
func (g *gate) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return
	}
	for len(g.inside) > 0 && time.Since(g.inside[0].since) >= g.lease {
		g.remove(g.inside[0])
	}
	g.admit()
}

// sending counts n bytes of a reply that is about to be sent. If n is negative,
// they were sent or given up.
func (g *gate) sending(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending += int64(n)
	if n < 0 {
		g.admit()
	}
}
