package pmcd

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
)

// An admission is the permission of a client to be here, by the access rules for its host and, after
// its handshake, for its user. New rules decide again, from another goroutine. No other mutex
// is locked while its own is held.
type admission struct {
	entry *entry
	noted func(denied access.Ops) // is called when the host is admitted

	mu         sync.Mutex
	rules      *access.Rules    // that count the client; nil before and after
	counted    access.Admission // by rules
	identified bool             // the identity is known, and does not change
	who        *access.User     // nil if it is not a user of this host

	deny     atomic.Uint32 // access.Ops
	expelled atomic.Int32  // the pcp.Error with which new rules end the client
}

// denied are the operations that the client may not do.
func (a *admission) denied() access.Ops { return access.Ops(a.deny.Load()) }

// denyAll denies all operations.
func (a *admission) denyAll() { a.deny.Store(uint32(access.OpAll)) }

// ended returns the error with which new rules end the client, or nil.
func (a *admission) ended() error {
	if code := a.expelled.Load(); code != 0 {
		return pcp.Error(code)
	}
	return nil
}

// admit applies the rules to a new connection, from a host or a Unix socket.
func (a *admission) admit(from net.Addr, unix bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.apply(from, unix)
}

// apply is called with a.mu held.
func (a *admission) apply(from net.Addr, unix bool) error {
	rules := a.entry.rules.Load()
	counted, err := rules.Admit(from, unix)
	if err != nil {
		return err
	}
	a.rules, a.counted = rules, counted
	a.deny.Store(uint32(counted.Deny))
	a.noted(counted.Deny)
	if a.identified {
		return a.applyUser()
	}
	return nil
}

// identify applies the rules for users and groups to the client's identity, which is
// final: nil means that the client is not a user of this host.
func (a *admission) identify(who *access.User) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rules == nil {
		return nil // new rules have ended it
	}
	a.identified, a.who = true, who
	return a.applyUser()
}

// applyUser is called with a.mu held, after apply.
func (a *admission) applyUser() error {
	if a.who == nil && a.entry.credsRequired() {
		return fmt.Errorf("the client has not authenticated: %w", pcp.ErrPermission)
	}
	if err := a.rules.AdmitUser(&a.counted, a.who); err != nil {
		return err
	}
	a.deny.Store(uint32(a.counted.Deny))
	return nil
}

// readmit applies new rules to an admitted client. If they refuse it, it calls wake, for the client's own
// goroutine to end it.
func (a *admission) readmit(from net.Addr, unix bool, wake func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rules == nil || a.rules == a.entry.rules.Load() {
		return
	}
	a.release()
	if err := a.apply(from, unix); err != nil {
		a.release() // its host may be admitted, but not its account
		a.denyAll()
		a.expelled.Store(int32(pcp.Code(err)))
		wake()
	}
}

// depart undoes the count of admit.
func (a *admission) depart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release()
}

// release is depart with a.mu held.
func (a *admission) release() {
	if a.rules != nil {
		a.rules.Leave(a.counted)
		a.rules = nil
	}
}
