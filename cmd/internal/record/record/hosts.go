package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/rendezvous"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
	"github.com/go-pcp/pcp/internal/pacing"
)

const (
	findEvery = 30 * time.Second // interval at which the name service and registrations are asked
	findTime  = 10 * time.Second // time limit of the name service
	tidyEvery = 10 * time.Minute // interval at which the archives of hosts that others record are maintained
	maxSpread = 10 * time.Second // time in which the hosts of a recorder that died are started
)

// errFleet is the reason of an error that ends the recorder.
var errFleet = errors.New("the recorder cannot be in this fleet")

// openFleet opens the directory of the fleet. It returns nil without a fleet.
func (set *settings) openFleet(ctx context.Context, env *cli.Env) (share.Store, error) {
	if set.fleet == "" {
		return nil, nil
	}
	if set.fleetID == "" {
		name, err := os.Hostname()
		if err == nil {
			err = share.CheckID(name)
		}
		if err != nil {
			return nil, fmt.Errorf("this host's name cannot be that of the recorder: %w; choose another with --fleet-id", err)
		}
		set.fleetID = name
	}
	if err := shipping.TryDir(ctx, env, "--fleet", set.fleet, "fleet/check/pcp-check"); err != nil {
		return nil, err
	}
	return share.OpenStore(set.fleet, env.Getenv)
}

// hosts decides which hosts this process records: those that are named, found in the name service, or registered; in a fleet only
// its part of them.
type hosts struct {
	set      *settings
	f        *fleet.Fleet
	store    share.Store // of the fleet, or nil
	registry *share.Registry
	resolver share.Resolver
	begun    time.Time

	mu         sync.Mutex
	named      []fleet.Host
	found      map[share.Name][]string // in the name service
	registered []string
	members    []string        // of the fleet
	own        map[string]bool // names of recorded hosts
	all        map[string]bool // names of all hosts
}

func newHosts(set *settings, f *fleet.Fleet, store share.Store) *hosts {
	h := &hosts{set: set, f: f, store: store, resolver: net.DefaultResolver, begun: time.Now(), found: make(map[share.Name][]string)}
	if store != nil {
		h.registry = &share.Registry{Store: store}
	}
	return h
}

// setNamed sets the hosts of the command line or the list. If there is a mistake in it, nothing changes.
func (h *hosts) setNamed(list []fleet.Host) error {
	if _, err := h.f.Complete(list); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.named
	h.named = list
	err := h.apply()
	if err != nil {
		h.named = old
	}
	return err
}

// apply records the hosts of this process; h.mu is held.
func (h *hosts) apply() error {
	all := h.named[:len(h.named):len(h.named)]
	names := make(map[string]bool, len(all))
	name := func(x *fleet.Host) string {
		if x.Name != "" {
			return x.Name
		}
		return fleet.DefaultName(x.Spec)
	}
	for i := range all {
		names[name(&all[i])] = true
	}
	add := func(list []string) {
		for _, address := range list {
			if n := fleet.DefaultName(address); !names[n] {
				names[n] = true
				all = append(all, fleet.Host{Spec: address, Name: n})
			}
		}
	}
	for _, n := range h.set.dns {
		add(h.found[n])
	}
	add(h.registered)
	mine := all
	if h.store != nil {
		mine = nil
		for i := range all {
			if j := rendezvous.Owner(name(&all[i]), h.members); j >= 0 && h.members[j] == h.set.fleetID {
				mine = append(mine, all[i])
			}
		}
	}
	if err := h.f.Set(mine); err != nil {
		return err
	}
	own := make(map[string]bool, len(mine))
	for i := range mine {
		own[name(&mine[i])] = true
	}
	changed := !maps.Equal(own, h.own) || len(names) != len(h.all)
	h.own, h.all = own, names
	if changed && h.store != nil {
		h.event(fmt.Sprintf("recording %d of %d hosts", len(own), len(all)), nil)
	} else if changed && len(h.set.dns) > 0 {
		h.event(fmt.Sprintf("recording %d hosts", len(own)), nil)
	}
	return nil
}

// event reports an event of the fleet or of many hosts.
func (h *hosts) event(text string, err error) {
	h.f.Say(fleet.Event{Time: time.Now(), Host: "-", Text: text, Err: err})
}

// change changes something and records the hosts that follow from it.
func (h *hosts) change(do func()) {
	h.changeIf(func() bool {
		do()
		return true
	})
}

// changeIf is change if do reports that there was one.
func (h *hosts) changeIf(do func() bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !do() {
		return
	}
	if err := h.apply(); err != nil {
		h.event("the hosts stay as they are", err)
	}
}

// start keeps the hosts up to date until ctx is done and end is called. If the recorder cannot be in the fleet, it calls cancel.
func (h *hosts) start(ctx context.Context, cancel context.CancelCauseFunc, version string) (end func()) {
	var tasks sync.WaitGroup
	if h.store != nil || len(h.set.dns) > 0 {
		tasks.Go(func() { h.find(ctx) })
	}
	if h.store != nil {
		tasks.Go(func() {
			if err := h.member(ctx); err != nil {
				cancel(fmt.Errorf("--fleet %s: %w: %w", h.set.fleet, errFleet, err))
			}
		})
		tasks.Go(func() { h.status(ctx, version) })
		tasks.Go(func() { h.tidy(ctx) })
	}
	return func() {
		cancel(nil)
		tasks.Wait()
	}
}

// member keeps the lease of the recorder.
func (h *hosts) member(ctx context.Context) error {
	m, err := share.New(share.Config{
		Store: h.store, ID: h.set.fleetID, Event: h.event,
		Changed: func(members []string) { h.change(func() { h.members = members }) },
	})
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

// find asks the name service and the registry for hosts.
func (h *hosts) find(ctx context.Context) {
	bad := make(map[string]bool)
	check := func(what string, err error) bool {
		if ctx.Err() != nil {
			return false
		}
		if err != nil && !bad[what] {
			h.event(what+" cannot be asked, its hosts stay as they are", err)
		}
		bad[what] = err != nil
		return err == nil
	}
	for {
		for _, n := range h.set.dns {
			soon, cancel := context.WithTimeout(ctx, findTime)
			list, err := n.Lookup(soon, h.resolver)
			cancel()
			if check("name "+n.String(), err) {
				h.changeIf(func() bool {
					same := slices.Equal(h.found[n], list)
					h.found[n] = list
					return !same
				})
			}
		}
		if h.registry != nil {
			list, err := h.registry.List(ctx)
			if check("the list of registered hosts", err) {
				h.changeIf(func() bool {
					same := slices.Equal(h.registered, list)
					h.registered = list
					return !same
				})
			}
		}
		if !pacing.Sleep(ctx, findEvery) {
			return
		}
	}
}

// status writes the status of the recorder to the fleet's directory, and removes it in the end.
func (h *hosts) status(ctx context.Context, version string) {
	bad := false
	for {
		h.mu.Lock()
		s := share.Status{ID: h.set.fleetID, Start: h.begun, Version: version, Members: h.members, Listed: len(h.all)}
		h.mu.Unlock()
		s.Time, s.Hosts = time.Now(), hostStatus(h.f.Status())
		wait := time.Second
		if len(s.Members) > 0 { // otherwise another recorder may have this identifier
			wait = share.StatusEvery
			err := share.WriteStatus(ctx, h.store, &s)
			if err != nil && !bad && ctx.Err() == nil {
				h.event("the status cannot be written", err)
			}
			bad = err != nil
		}
		if !pacing.Sleep(ctx, wait) {
			break
		}
	}
	h.mu.Lock()
	joined := len(h.members) > 0
	h.mu.Unlock()
	if joined {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), findTime)
		defer cancel()
		_ = share.RemoveStatus(ctx, h.store, h.set.fleetID) // otherwise it gets old
	}
}

// tidy compresses and removes archives of hosts that other recorders have now.
func (h *hosts) tidy(ctx context.Context) {
	for pacing.Sleep(ctx, tidyEvery) {
		h.mu.Lock()
		var others []string
		for n := range h.all {
			if !h.own[n] {
				others = append(others, n)
			}
		}
		h.mu.Unlock()
		for _, n := range others {
			if ctx.Err() == nil {
				h.tidyDir(ctx, filepath.Join(h.set.dir, n))
			}
		}
	}
}

// tidyDir maintains a directory that this process does not record to.
func (h *hosts) tidyDir(ctx context.Context, dir string) {
	unlock, err := janitor.Lock(dir)
	if err != nil {
		return // it does not exist, or is maintained
	}
	defer unlock()
	if j, err := janitor.New(janitor.Config{Dir: dir, Policy: h.set.keep}); err == nil {
		j.Tidy(ctx)
	}
}
