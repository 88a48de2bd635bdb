package pmcd

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
)

// authPlaces is how many clients of one address can have their passwords
// checked at a time. If a check failed, its place stays taken for failurePause,
// even if the client does not wait: more than authPlaces connections do not help
// a client that guesses passwords.
const authPlaces = 8

// A brake makes clients of one address wait for each other. No other client
// waits for them, and they hold no place while we wait for them.
type brake struct {
	mu    sync.Mutex
	hosts map[string]*brakeHost // with clients that hold a place or want one
}

type brakeHost struct {
	places chan struct{}
	users  int
}

// enter waits for a place until end, or closing is closed; leave gives it back.
func (b *brake) enter(host string, end time.Time, closing <-chan struct{}) (leave func(), err error) {
	b.mu.Lock()
	h := b.hosts[host]
	if h == nil {
		if b.hosts == nil {
			b.hosts = map[string]*brakeHost{}
		}
		h = &brakeHost{places: make(chan struct{}, authPlaces)}
		b.hosts[host] = h
	}
	h.users++
	b.mu.Unlock()
	left := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(b.hosts, host)
		}
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case h.places <- struct{}{}:
		return func() {
			<-h.places
			left()
		}, nil
	case <-timer.C:
		err = fmt.Errorf("too many clients of %s wait for authentication: %w", host, pcp.ErrTimeout)
	case <-closing:
		err = pcp.ErrNotConn
	}
	left()
	return nil, err
}

// brakeKey returns the address by which a client is slowed down. For IPv6 it is
// the /64, as a host can use all of its addresses.
func brakeKey(from string) string {
	if addr, err := netip.ParseAddr(from); err == nil && addr.Is6() && !addr.Is4In6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return from
}
