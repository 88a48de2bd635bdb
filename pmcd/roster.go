package pmcd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	agentpmcd "github.com/go-pcp/pcp/internal/agent/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

// A roster is the clients of a server. Its mutex is held for short: no agent
// and no client is called meanwhile.
type roster struct {
	counted func(n int) // is called with the number of clients when that changes, and the mutex held

	mu      sync.Mutex
	slots   []*client // by number; nil is free
	last    int       // number of the client that came last
	count   atomic.Int32
	running sync.WaitGroup // their goroutines

	profileBytes atomic.Int64
}

// add adds the client that make makes for the lowest free number, as expected by
// C agents that index arrays with it. The caller starts its goroutine, which
// ends with a call of done.
func (r *roster) add(make func(id, number int) *client) *client {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := 0
	for id < len(r.slots) && r.slots[id] != nil {
		id++
	}
	r.last++
	c := make(id, r.last)
	if id == len(r.slots) {
		r.slots = append(r.slots, c)
	} else {
		r.slots[id] = c
	}
	r.counted(int(r.count.Add(1)))
	r.running.Add(1)
	return c
}

// forget frees a client's number.
func (r *roster) forget(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots[c.pub.ID] == c {
		r.slots[c.pub.ID] = nil
		r.counted(int(r.count.Add(-1)))
		r.profileBytes.Add(-int64(c.profiles.bytes))
	}
}

// more notes another goroutine of a client.
func (r *roster) more() { r.running.Add(1) }

// done notes the end of a goroutine.
func (r *roster) done() { r.running.Done() }

// size returns how many clients there are.
func (r *roster) size() int { return int(r.count.Load()) }

func (r *roster) tooMany() bool { return r.size() > maxClients }

// all returns the clients by number.
func (r *roster) all() []*client {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*client, 0, r.size())
	for _, c := range r.slots {
		if c != nil {
			list = append(list, c)
		}
	}
	return list
}

// mark notifies all clients, with their next result, of changes.
func (r *roster) mark(changes wire.State) {
	for _, c := range r.all() {
		c.changes.Or(uint32(changes))
	}
}

// meetAgents has all clients meet the agents at their next request.
func (r *roster) meetAgents() {
	for _, c := range r.all() {
		c.meetMore.Store(true)
	}
}

// readmit applies new access rules to all clients.
func (r *roster) readmit() {
	for _, c := range r.all() {
		c.readmit()
	}
}

// roomForProfile counts the bytes by which a client's profiles grow, if there is
// room for them.
func (r *roster) roomForProfile(has, more int) bool {
	all := r.profileBytes.Add(int64(more))
	if more > 0 && has+more > smallProfileBytes && all > maxAllProfileBytes {
		r.profileBytes.Add(-int64(more))
		return false
	}
	return true
}

// closeGrace is how long clients' goroutines have to end, and hanging calls
// with them.
const closeGrace = time.Second

// close ends the connections of all clients, and waits for their goroutines. If these do not
// end, it calls release, and waits again. It reports whether all have ended.
func (r *roster) close(release func()) bool {
	for _, c := range r.all() {
		c.conn.Close()
	}
	done := make(chan struct{})
	go func() {
		r.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(closeGrace):
	}
	release()
	select {
	case <-done:
		return true
	case <-time.After(closeGrace):
		return false
	}
}

// states lists the clients in the order in which they came.
func (r *roster) states() []agentpmcd.ClientState {
	clients := r.all()
	list := make([]agentpmcd.ClientState, len(clients))
	for i, c := range clients {
		container, _ := c.container.Load().(string)
		list[i] = agentpmcd.ClientState{Number: c.number, ID: c.pub.ID, Start: c.started, Container: container}
	}
	slices.SortFunc(list, func(a, b agentpmcd.ClientState) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// describe writes the table of clients. It shows their addresses only and
// does not ask a name server.
func (r *roster) describe(b *strings.Builder) {
	b.WriteString("     fd  client connection from                    ipc ver  operations denied\n" +
		"     ==  ========================================  =======  =================\n")
	for _, c := range r.all() {
		fmt.Fprintf(b, "    %3s  %-40.40s  %7d", descriptorOf(c.conn), c.from(), wire.PDUVersion)
		if deny := c.admission.denied(); deny != 0 {
			b.WriteString("  ")
			if deny&access.OpFetch != 0 {
				b.WriteString("fetch ")
			}
			if deny&access.OpStore != 0 {
				b.WriteString("store ")
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}
