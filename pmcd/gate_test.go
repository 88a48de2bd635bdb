package pmcd

import (
	"testing"
	"testing/synctest"
	"time"
)

func newTestGate(places int) *gate {
	return &gate{places: places, lease: gateLease, maxPending: maxPending}
}

// in reports whether p has been let in.
func (p *pass) in() bool {
	select {
	case <-p.wake:
		return true
	default:
		return false
	}
}

// TestGateIsFairByWork has five clients with long requests and one with short
// ones ask again as soon as they are done. All get the same work done, which
// are five requests of the one for two of each other.
func TestGateIsFairByWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(1)
		passes := make([]*pass, 6)
		for i := range passes {
			passes[i] = new(pass)
			g.join(passes[i])
		}
		work := []int{100000, 100000, 100000, 100000, 100000, 40000}
		done := map[*pass]int{}
		for range 1500 {
			p := g.inside[0]
			for i := range passes {
				if passes[i] == p {
					done[p] += work[i]
					g.leave(p, work[i])
				}
			}
			g.join(p)
		}
		for i, p := range passes {
			if d := done[p] - done[passes[0]]; d < -200000 || d > 200000 {
				t.Errorf("client %d with requests of %d has had %d done, and client 0 %d", i, work[i], done[p], done[passes[0]])
			}
		}
		// A pass that arrives now waits for at most one request of each.
		late := new(pass)
		g.join(late)
		for n := 0; !late.in(); n++ {
			if n > 30 {
				t.Fatal("one that comes late is not let in")
			}
			p := g.inside[0]
			g.leave(p, 100000)
			if n%2 == 0 { // others that come later do not go before it
				p = new(pass)
			}
			g.join(p)
		}
		g.timer.Stop()
	})
}

// TestGateLease checks that a request that does not leave loses its place after a
// while.
func TestGateLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(1)
		var slow, next, third pass
		g.join(&slow)
		g.join(&next)
		g.join(&third)
		time.Sleep(gateLease - 1)
		synctest.Wait()
		if !slow.in() || next.in() {
			t.Fatalf("before the lease is over: %v %v", slow.in(), next.in())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !next.in() || third.in() {
			t.Fatalf("after it: %v %v", next.in(), third.in())
		}
		g.leave(&slow, 1)
		if third.in() {
			t.Error("a place that was lost is given away again")
		}
		g.leave(&next, 1)
		if !third.in() {
			t.Error("a free place is not given away")
		}
		g.leave(&third, 1)
	})
}

// TestGatePending has replies wait for clients that do not take them.
func TestGatePending(t *testing.T) {
	g := newTestGate(2)
	g.sending(maxPending)
	var p pass
	g.join(&p)
	if p.in() {
		t.Fatal("let in while too many replies wait")
	}
	g.sending(-1)
	if !p.in() {
		t.Fatal("not let in when some have been taken")
	}
	g.leave(&p, 1)
	if len(g.inside)+len(g.waiting) != 0 {
		t.Errorf("left behind are %d inside and %d waiting", len(g.inside), len(g.waiting))
	}
}
