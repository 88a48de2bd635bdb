package pmcd

import (
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// join adds a client to r, at the end of the returned connection.
func join(r *roster) (*client, net.Conn) {
	conn, other := net.Pipe()
	return r.add(func(id, number int) *client {
		return &client{conn: conn, number: number, pub: pmda.Client{ID: id}}
	}), other
}

func TestRoster(t *testing.T) {
	var counts []int
	r := &roster{counted: func(n int) { counts = append(counts, n) }}
	a, _ := join(r)
	b, _ := join(r)
	r.forget(a)
	r.forget(a)
	c, _ := join(r)
	if a.pub.ID != 0 || b.pub.ID != 1 || c.pub.ID != 0 || c.number != 3 {
		t.Errorf("clients have the numbers %d, %d, %d, and the last is the %dth", a.pub.ID, b.pub.ID, c.pub.ID, c.number)
	}
	if want := []int{1, 2, 1, 2}; !slices.Equal(counts, want) || r.size() != 2 {
		t.Errorf("counted %v, want %v", counts, want)
	}
	states := r.states()
	if len(states) != 2 || states[0].Number != 2 || states[1].Number != 3 {
		t.Errorf("states are %v", states)
	}
	r.mark(wire.AddAgent)
	r.mark(wire.LabelChange)
	r.meetAgents()
	for _, cl := range []*client{b, c} {
		if got := wire.State(cl.changes.Load()); got != wire.AddAgent|wire.LabelChange || !cl.meetMore.Load() {
			t.Errorf("client %d has the changes %v", cl.number, got)
		}
	}
	if a.changes.Load() != 0 {
		t.Error("a client that left has changes")
	}
}

func TestRoomForProfiles(t *testing.T) {
	r := &roster{counted: func(int) {}}
	c, _ := join(r)
	c.profiles.bytes = maxAllProfileBytes
	if !r.roomForProfile(0, c.profiles.bytes) {
		t.Error("no room for the first")
	}
	if r.roomForProfile(0, smallProfileBytes+1) {
		t.Error("room for a large profile beyond the limit")
	}
	if !r.roomForProfile(0, smallProfileBytes) || !r.roomForProfile(smallProfileBytes, -smallProfileBytes) {
		t.Error("no room for a small profile, or for less")
	}
	r.forget(c)
	if n := r.profileBytes.Load(); n != 0 {
		t.Errorf("%d bytes are left when all clients are", n)
	}
}

func TestRosterCloses(t *testing.T) {
	f := func(name string, held bool, freed bool, wait time.Duration, want bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := &roster{counted: func(int) {}}
			c, _ := join(r)
			var release sync.WaitGroup
			release.Add(1)
			go func() {
				defer r.done()
				c.conn.Read(make([]byte, 1)) // until it is closed
				if held {
					release.Wait()
				}
			}()
			start := time.Now()
			got := r.close(func() {
				if freed {
					release.Done()
				}
			})
			if got != want || time.Since(start) != wait {
				t.Errorf("%s: close = %t after %v, want %t after %v", name, got, time.Since(start), want, wait)
			}
			if held && !freed {
				release.Done()
			}
		})
	}
	f("all end", false, false, 0, true)
	f("released", true, true, closeGrace, true)
	f("left behind", true, false, 2*closeGrace, false)
}
