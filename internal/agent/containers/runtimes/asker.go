package runtimes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/peercred"
)

// Limits on requests.
const (
	timeout   = 3 * time.Second // of all requests to a socket
	atOnce    = 4               // sockets that are asked at a time
	maxUsers  = 256             // whose sockets are asked
	interval  = time.Second     // between two rounds of requests
	firstWait = 10 * time.Second
	lastWait  = 5 * time.Minute // between requests to a socket that fails
)

// A Config is for an Asker.
type Config struct {
	Root string       // root directory of the host; "" means /
	Log  *slog.Logger // gets one line for each socket that cannot be asked, and reason; nil discards
}

// An Asker knows the containers of a host. Its methods may be called by several goroutines at a time.
type Asker struct {
	cfg     Config
	timeout time.Duration
	ctx     context.Context
	stop    context.CancelFunc
	tasks   sync.WaitGroup

	answers atomic.Pointer[answers]
	rounds  atomic.Uint64 // that brought an answer

	mu      sync.Mutex
	busy    bool // a round of requests is being made, or waited for
	again   bool // there was a call of Ask since it began
	closed  bool
	last    time.Time // end of the last round
	sockets map[string]*socket
}

// answers are the last ones of all sockets. They are not changed.
type answers struct {
	byID map[key]*Container
	pods map[string]*Container // by identifier of the pod
	list []*Container
}

// A key finds a container. Users can make up containers, so theirs are only for control groups of their own.
type key struct{ id, uid string }

// A socket is the state of a socket file.
type socket struct {
	place
	list   []Container
	err    error
	wait   time.Duration // after a failure
	next   time.Time     // when it may be asked again
	logged string        // the reason in the log
}

// A place is where the socket of a runtime may be.
type place struct {
	name string // of the file, below the root directory
	uid  string // of the user whose socket it is, "" for a socket of the system
	ask  func(context.Context, dialer) ([]Container, error)
}

// A dialer connects to a socket, whatever the address.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// system are the sockets of the system. Of two that know a container, the first counts.
var system = []place{
	{name: "/run/containerd/containerd.sock", ask: askContainerd},
	{name: "/run/k3s/containerd/containerd.sock", ask: askContainerd},
	{name: "/run/k0s/containerd.sock", ask: askContainerd},
	{name: "/var/snap/microk8s/common/run/containerd.sock", ask: askContainerd},
	{name: "/run/crio/crio.sock", ask: askCRIO},
	{name: "/run/cri-dockerd.sock", ask: askCRIDocker},
	{name: "/run/podman/podman.sock", ask: askPodman},
	{name: "/run/docker.sock", ask: askDocker},
}

// users are the sockets of each user, below /run/user/UID.
var users = []place{
	{name: "podman/podman.sock", ask: askPodman},
	{name: "docker.sock", ask: askDocker},
}

// New returns an Asker that has not asked yet.
func New(cfg Config) *Asker {
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Asker{cfg: cfg, timeout: timeout, sockets: make(map[string]*socket)}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.answers.Store(new(answers))
	return a
}

// Close ends requests, and waits until they have ended.
func (a *Asker) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.tasks.Wait()
	return nil
}

// Ask has the runtimes asked in the background, within a second of the last time.
func (a *Asker) Ask() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy || a.closed {
		a.again = true
		return
	}
	a.busy = true
	a.tasks.Go(a.run)
}

// Rounds returns a number that changes when the answers do.
func (a *Asker) Rounds() uint64 { return a.rounds.Load() }

// Find returns the container with an identifier by the last answers. uid is the user, in decimal, whose control group has it, if it is
// known.
func (a *Asker) Find(id, uid string) (*Container, bool) {
	all := a.answers.Load().byID
	if c, ok := all[key{id, ""}]; ok || uid == "" {
		return c, ok
	}
	c, ok := all[key{id, uid}]
	return c, ok
}

// Pod returns the container that holds the pod with an identifier, by the last answers.
func (a *Asker) Pod(uid string) (*Container, bool) {
	c, ok := a.answers.Load().pods[uid]
	return c, ok
}

// All returns the containers of the system by the last answers. They must not be changed.
func (a *Asker) All() []*Container { return a.answers.Load().list }

// run asks until there was no further call of Ask.
func (a *Asker) run() {
	for {
		a.mu.Lock()
		wait := interval - time.Since(a.last)
		a.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-a.ctx.Done():
		}
		a.mu.Lock()
		a.again = false
		a.mu.Unlock()
		if a.ctx.Err() == nil {
			a.round()
		}
		a.mu.Lock()
		a.last = time.Now()
		if !a.again || a.ctx.Err() != nil {
			a.busy = false
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
	}
}

// round asks each socket that is due.
func (a *Asker) round() {
	places := a.places()
	for name := range a.sockets {
		if !slices.ContainsFunc(places, func(p place) bool { return p.name == name }) {
			delete(a.sockets, name)
		}
	}
	var tasks sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	now := time.Now()
	for _, p := range places {
		s := a.sockets[p.name]
		if s == nil {
			s = &socket{place: p}
			a.sockets[p.name] = s
		}
		if now.Before(s.next) {
			continue
		}
		slots <- struct{}{}
		tasks.Go(func() {
			a.ask(s)
			<-slots
		})
	}
	tasks.Wait()
	all := &answers{byID: make(map[key]*Container), pods: make(map[string]*Container)}
	for _, p := range places {
		s := a.sockets[p.name]
		a.report(s)
		for i := range s.list {
			c := &s.list[i]
			k := key{c.ID, s.uid}
			if all.byID[k] == nil && len(all.byID) < maxContainers {
				all.byID[k] = c
				if s.uid == "" {
					all.list = append(all.list, c)
					if c.Name == "" && c.PodUID != "" {
						all.pods[c.PodUID] = c
					}
				}
			}
		}
	}
	a.answers.Store(all)
	a.rounds.Add(1)
}

// places returns the sockets that exist.
func (a *Asker) places() (list []place) {
	real := make(map[string]bool)
	add := func(p place) {
		resolved, err := hostroot.Resolve(a.cfg.Root, p.name)
		if err != nil || real[resolved] {
			return // the socket of docker may be a link to that of podman
		}
		info, err := os.Lstat(filepath.Join(a.cfg.Root, resolved))
		if errors.Is(err, fs.ErrPermission) && p.uid == "" {
			list = append(list, p) // the reason for the log comes with the request
			return
		}
		if err != nil || info.Mode().Type() != fs.ModeSocket {
			return
		}
		real[resolved] = true
		list = append(list, p)
	}
	for _, p := range system {
		add(p)
	}
	d, err := os.Open(filepath.Join(a.cfg.Root, "run/user"))
	if err != nil {
		return list
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxUsers)
	slices.Sort(names)
	for _, uid := range names {
		if _, err := strconv.ParseUint(uid, 10, 32); err != nil {
			continue
		}
		for _, p := range users {
			p.name, p.uid = "/run/user/"+uid+"/"+p.name, uid
			add(p)
		}
	}
	return list
}

// ask asks a socket, and keeps the last answer if that fails.
func (a *Asker) ask(s *socket) {
	ctx, cancel := context.WithTimeout(a.ctx, a.timeout)
	defer cancel()
	list, err := s.ask(ctx, func(ctx context.Context, _, _ string) (net.Conn, error) { return a.dial(ctx, s.place) })
	s.err = err
	if err == nil {
		s.list, s.wait, s.next = list, 0, time.Time{}
		return
	}
	if ctx.Err() == context.DeadlineExceeded {
		s.err = fmt.Errorf("no answer within %v", a.timeout)
	}
	s.wait = min(max(2*s.wait, firstWait), lastWait)
	s.next = time.Now().Add(s.wait)
	if errors.Is(err, syscall.ECONNREFUSED) {
		s.list = nil // the runtime has ended
	}
}

// dial connects to a socket. The other end of that of a user must be a process of the user: the file may be a link to any
// socket.
func (a *Asker) dial(ctx context.Context, p place) (net.Conn, error) {
	name, err := hostroot.Resolve(a.cfg.Root, p.name)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(a.cfg.Root, name))
	if err != nil || p.uid == "" {
		return conn, err
	}
	peer, err := peercred.Of(conn.(*net.UnixConn))
	if err == nil && strconv.Itoa(peer.UID) != p.uid {
		err = fmt.Errorf("user %d listens", peer.UID)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// report logs the reason for which a socket cannot be asked, once.
func (a *Asker) report(s *socket) {
	if s.err == nil || a.ctx.Err() != nil {
		return
	}
	why := s.err.Error()
	if errno := syscall.Errno(0); errors.As(s.err, &errno) {
		why = errno.Error()
	}
	if s.logged != why {
		s.logged = why
		a.cfg.Log.Warn("labels of containers are incomplete: cannot ask the runtime", "socket", s.name, "why", why)
	}
}
