package record

import (
	"cmp"
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
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
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
	follower *follower // or nil, if nothing is sent or stored
	resolver share.Resolver
	begun    time.Time

	mu         sync.Mutex
	named      []fleet.Host
	found      map[share.Name][]string // in the name service
	registered []string
	members    []string          // of the fleet
	own        map[string]bool   // names of recorded hosts
	all        map[string]bool   // names of all hosts
	dirs       map[string]string // of those with a directory of their own choice, by name
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
	dirs := make(map[string]string)
	for i := range all {
		names[name(&all[i])] = true
		if dir := all[i].Dir; dir != "" {
			dirs[name(&all[i])] = filepath.Clean(dir)
		}
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
	h.own, h.all, h.dirs = own, names, dirs
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

// followBy makes the follower.
func (h *hosts) followBy(out *send.Recorder, store *ship.Shipper, suffix string) {
	if out == nil && store == nil {
		return
	}
	h.follower = &follower{
		pace: h.set.pace, dir: h.set.dir, suffix: suffix, keeps: store != nil && h.set.keep.KeepShipped != 0,
		recorded: h.f.Status, others: h.others, event: h.event,
		tidy: func(ctx context.Context, dir string) { tidyDir(ctx, dir, h.set.keep) },
	}
	if out != nil {
		h.follower.out = out
	}
	if store != nil {
		h.follower.store = store
	}
}

// others returns the directories of the hosts that other recorders of the fleet have, by name. It reports whether the fleet is known.
func (h *hosts) others() (dirs map[string]string, joined bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.store == nil {
		return nil, false
	}
	dirs = make(map[string]string)
	for n := range h.all {
		if !h.own[n] {
			dirs[n] = cmp.Or(h.dirs[n], filepath.Join(h.set.dir, n))
		}
	}
	return dirs, len(h.members) > 0
}

// moved returns the number of hosts that have moved and whose archives are not all sent and stored.
func (h *hosts) moved() int {
	if h.follower == nil {
		return 0
	}
	return h.follower.count()
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
		s.Time, s.Hosts, s.Moved = time.Now(), hostStatus(h.f.Status()), h.moved()
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
		others, _ := h.others()
		keep := h.set.keep
		keep.Ready = nil // those of which archives are stored are followed
		for _, dir := range others {
			if ctx.Err() == nil && (h.follower == nil || !h.follower.follows(dir)) {
				tidyDir(ctx, dir, keep)
			}
		}
	}
}

// tidyDir maintains a directory that this process does not record to.
func tidyDir(ctx context.Context, dir string, keep janitor.Policy) {
	unlock, err := janitor.Lock(dir)
	if err != nil {
		return // it does not exist, or is maintained
	}
	defer unlock()
	if j, err := janitor.New(janitor.Config{Dir: dir, Policy: keep}); err == nil {
		j.Tidy(ctx)
	}
}
