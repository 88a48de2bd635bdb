package root

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	labels "github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/agent/containers/runtimes"
	"github.com/go-pcp/pcp/pmda/cache"
)

// Times of requests to runtimes.
const (
	askEvery = 10 * time.Second // while the answers are wanted
	askFor   = 5 * time.Minute  // after the last request of a client

	// A container whose first process is not found is looked for again after firstSearch, then at longer intervals.
	firstSearch, lastSearch = 2 * time.Second, 5 * time.Minute
)

// sockets are the runtimes that answer at a socket. A container that an engine has files of is the engine's; the answer only adds to it.
// Those of users are left out, since a user can make up containers.
type sockets struct {
	asker   *runtimes.Asker
	host    host
	cgroups string
	rounds  uint64 // of the listed answers

	wanted atomic.Int64 // time of the last request of a client
	stop   context.CancelFunc
	tasks  sync.WaitGroup
}

// A search is the state of the search for the first process of a container.
type search struct {
	at    time.Time
	wait  time.Duration
	found bool // the process was found
	ended bool // the process that was found has ended, whatever the runtime answered since
}

// settle corrects the state of a container whose process has ended, or was found.
func (c *container) settle() {
	if c.pid > 0 {
		c.search.found, c.search.ended = true, false
	} else if c.search.found || c.search.ended {
		c.search.found, c.search.ended = false, true
		c.state = stopped
	}
}

// newSockets begins to ask the runtimes below root.
func newSockets(root string, h host, cgroups string, log *slog.Logger) *sockets {
	s := &sockets{asker: runtimes.New(runtimes.Config{Root: root, Log: log}), host: h, cgroups: cgroups}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.want()
	s.tasks.Go(func() { s.keepAsking(ctx) })
	return s
}

// want has the runtimes asked in the background.
func (s *sockets) want() {
	s.wanted.Store(time.Now().UnixNano())
	s.asker.Ask()
}

// keepAsking has the runtimes asked while clients want the answers, so that a client that comes each minute gets no answer of a
// minute ago.
func (s *sockets) keepAsking(ctx context.Context) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if now.Sub(time.Unix(0, s.wanted.Load())) < askFor {
				s.asker.Ask()
			}
		}
	}
}

func (s *sockets) close() error {
	s.stop()
	s.tasks.Wait()
	return s.asker.Close()
}

// name is "": the runtime is what the answer names.
func (s *sockets) name() string { return "" }

func (s *sockets) namesLate() bool { return false }

// changed reports whether there are answers that were not listed. It has the runtimes asked for the next time.
func (s *sockets) changed() bool {
	s.want()
	return s.rounds != s.asker.Rounds()
}

// list adds the containers of the last answers, and what the answers have about those of other engines.
func (s *sockets) list(cs *containers) {
	s.rounds = s.asker.Rounds()
	own := map[string]bool{}
	for entry := range cs.known.Active() {
		entry.Value.listed = nil
		if entry.Value.engine == engine(s) {
			own[entry.Name] = true
		}
	}
	missing := map[string]*container{}
	var listed []*container
	for _, l := range s.asker.All() {
		if l.Name == "" && l.PodUID != "" {
			continue // it only holds a pod together
		}
		if entry, err := cs.known.LookupName(l.ID); err == nil && entry.State == cache.Active && entry.Value.engine != engine(s) {
			entry.Value.listed = l
			continue
		}
		c := cs.add(l.ID, s, func(*container) {})
		if c == nil {
			continue
		}
		delete(own, l.ID)
		c.listed = l
		s.fill(c)
		listed = append(listed, c)
		if c.state != stopped && (c.pid == 0 || c.cgroup == "") && c.search.due() {
			missing[c.id] = c
		}
	}
	for id := range own {
		_, _ = cs.known.Hide(id) // it is known
	}
	s.locate(missing)
	for _, c := range listed {
		c.settle()
	}
}

// due reports whether it is time to search, and counts that as a search.
func (s *search) due() bool {
	now := time.Now()
	if now.Sub(s.at) < s.wait {
		return false
	}
	s.at, s.wait = now, min(max(2*s.wait, firstSearch), lastSearch)
	return true
}

// fill sets the facts that the answer of a runtime has.
func (s *sockets) fill(c *container) {
	c.name = c.listed.Name
	switch c.listed.State {
	case runtimes.Running:
		c.state = running
	case runtimes.Paused:
		c.state = paused
	case runtimes.Restarting:
		c.state = restarting
	default:
		c.state = stopped
	}
	if c.state == stopped {
		c.pid, c.search = 0, search{}
	} else if pid := c.listed.PID; pid > 0 {
		c.pid = pid
	}
	s.verify(c)
}

// verify forgets the process of a container if it has ended, even if its number is another's in the meantime.
func (s *sockets) verify(c *container) {
	if c.pid <= 0 {
		return
	}
	group, ok := s.host.groupOf(c.pid, c.id)
	if !ok {
		c.pid = 0
		return
	}
	c.setGroup(group)
}

// errUnlisted is the error of a container that its runtime does not list any more.
var errUnlisted = errors.New("the runtime does not list the container")

func (s *sockets) refresh(_ context.Context, c *container) error {
	if c.listed == nil {
		return errUnlisted
	}
	if c.engine != engine(s) {
		s.fill(c) // its files cannot be read
		return nil
	}
	s.verify(c)
	c.settle()
	return nil
}

// locate finds the first processes of containers by their control groups.
func (s *sockets) locate(missing map[string]*container) {
	if len(missing) == 0 {
		return
	}
	for _, top := range hierarchies(s.cgroups) {
		seen := 0
		s.walk(top, "", 0, &seen, missing)
	}
}

// walk looks for containers below a control group. It does not enter groups of containers: their owners may name the groups in them.
func (s *sockets) walk(top, path string, depth int, seen *int, missing map[string]*container) {
	if len(missing) == 0 || depth > maxDepth {
		return
	}
	f, err := os.Open(top + path)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	f.Close()
	for _, e := range entries {
		base := e.Name()
		if !e.IsDir() || strings.HasPrefix(base, ".") || base == "user.slice" {
			continue
		}
		if *seen++; *seen > maxDirs {
			return
		}
		child := path + "/" + base
		id := labels.ID(child)
		if id == "" {
			s.walk(top, child, depth+1, seen, missing)
			continue
		}
		c := missing[id]
		if c == nil {
			continue
		}
		if pid := s.host.firstProcess(top + child); pid > 0 {
			c.pid, c.cgroup, c.sure, c.search.wait = pid, cut(child), true, firstSearch
			delete(missing, id)
		}
	}
}

// hierarchies returns the directories of the hierarchies in which containers are searched: the one of version 2, or those that engines use.
func hierarchies(cgroups string) []string {
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); !errors.Is(err, fs.ErrNotExist) {
		return []string{cgroups}
	}
	return []string{filepath.Join(cgroups, "unified"), filepath.Join(cgroups, "memory")}
}
