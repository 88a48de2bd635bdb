package root

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/containers/runtimes"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmda/cache"
)

// A state is the state of a container.
type state int

const (
	stopped state = iota
	running
	paused
	restarting
)

// A container has the known facts of a container.
type container struct {
	id     string // the engine's name for it, and the instance's
	engine engine
	name   string // the user's name for it, as the engine writes it; "" if not known
	pid    int    // of its first process; 0 or less if it does not run
	state  state
	cgroup string // with a slash in front
	sure   bool   // the cgroup was found and not guessed
	stamp  stamp  // of the file with its state
	image  string // by the engine's files
	search search // for its first process

	// listed is what the last answer of its runtime has about it, nil for a container that no runtime lists.
	listed *runtimes.Container
}

// engineName is what runs the container.
func (c *container) engineName() string {
	if c.listed != nil && c.engine.name() == "" {
		return c.listed.Runtime
	}
	return c.engine.name()
}

// shownImage is the image by its runtime, or by the engine's files; "" if it is not known.
func (c *container) shownImage() string {
	image := c.image
	if c.listed != nil && c.listed.Image != "" {
		image = c.listed.Image
	}
	if len(image) > runtimes.MaxValue || strings.ContainsFunc(image, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return image
}

// shownName is the user's name. Docker puts a slash in front.
func (c *container) shownName() string {
	if c.name == "" {
		return "?"
	}
	return strings.TrimPrefix(c.name, "/")
}

// An engine runs containers.
type engine interface {
	name() string
	// changed reports whether the containers may have changed since its last
	// call.
	changed() bool
	// list adds the existing containers.
	list(*containers)
	// refresh updates the facts of a container.
	refresh(context.Context, *container) error
	// namesLate reports whether the user's name of a container is known only
	// after refresh, not after list.
	namesLate() bool
}

// Limits on the files of engines, which root in a container may have changed.
const (
	maxContainers = 16384
	maxID         = 128     // bytes of an id
	maxStateFile  = 4 << 20 // bytes of a file about one container
	maxListFile   = 64 << 20
	maxCGroup     = 127 // bytes of a control group's name; longer ones are cut, as C's
)

// containers are those of all engines.
type containers struct {
	log     *slog.Logger
	engines []engine
	sockets *sockets
	cgroups string
	host    host

	mu    sync.Mutex
	known *cache.Cache[*container]
	odd   map[string]bool // names that were logged
}

func newContainers(cfg Config, indom pcp.InDom) *containers {
	const podmanDir = "containers/storage/overlay-containers"
	h := host(cmp.Or(cfg.HostRoot, "/"))
	cs := &containers{
		log: cfg.Log, known: cache.New[*container](indom, nil), odd: map[string]bool{}, host: h,
		cgroups: cmp.Or(cfg.CGroup, h.path("/sys/fs/cgroup")),
	}
	info := cfg.LXCInfo
	if info == "" && !h.isOther() {
		info = "lxc-info" // which finds the containers of its own host only
	}
	// The order decides the numbers of instances.
	cs.engines = []engine{
		&podman{data: cmp.Or(cfg.PodmanData, h.path("/var/lib/"+podmanDir)), run: cmp.Or(cfg.PodmanRun, h.path("/var/run/"+podmanDir)), host: h},
		&docker{
			dir: cmp.Or(cfg.Docker, h.path("/var/lib/docker")) + "/containers", systemd: cfg.SystemdCGroup,
			cgroups: cmp.Or(cfg.CGroupCheck, h.path("/sys/fs/cgroup/memory/docker")),
		},
		&lxc{dir: cmp.Or(cfg.LXC, h.path("/var/lib/lxc")), info: info, host: h, cgroups: cs.cgroups},
	}
	cs.sockets = newSockets(cmp.Or(cfg.Sockets, cfg.HostRoot), h, cs.cgroups, cfg.Log)
	return cs
}

// validID reports whether id can be part of the name of a file and an argument
// of a command.
func validID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for i, c := range []byte(id) {
		switch {
		case ctext.IsAlnum(c), c == '_':
		case (c == '-' || c == '.') && i > 0:
		default:
			return false
		}
	}
	return true
}

// add makes a container active and returns it, or nil if it is rejected. set
// fills in a new container.
func (cs *containers) add(id string, e engine, set func(*container)) *container {
	if !validID(id) {
		cs.complain(e, id, "odd name")
		return nil
	}
	entry, err := cs.known.LookupName(id)
	if err == nil && entry.Value.engine == e {
		if entry.State != cache.Active {
			cs.known.Store(id, entry.Value)
		}
		return entry.Value
	}
	if err == nil && entry.State == cache.Active {
		cs.complain(e, id, "the name is taken by "+entry.Value.engine.name())
		return nil
	}
	if cs.known.Count(cache.Active) >= maxContainers {
		cs.complain(e, "", fmt.Sprintf("more than %d", maxContainers))
		return nil
	}
	c := &container{id: id, engine: e}
	set(c)
	if _, err := cs.known.Store(id, c); err != nil {
		cs.complain(e, id, err.Error())
		return nil
	}
	return c
}

// complain logs once that a container is left out.
func (cs *containers) complain(e engine, id, why string) {
	const most = 100
	key := e.name() + "/" + id[:min(len(id), 2*maxID)]
	if cs.odd[key] || len(cs.odd) >= most {
		return
	}
	cs.odd[key] = true
	cs.log.Warn("container left out", "engine", e.name(), "id", id[:min(len(id), 2*maxID)], "why", why)
}

// relist updates the list of containers. Called with mu held.
func (cs *containers) relist() {
	changed := false
	for _, e := range cs.engines {
		changed = e.changed() || changed
	}
	if changed {
		cs.known.HideAll()
		for _, e := range cs.engines {
			e.list(cs)
		}
	}
	if cs.sockets.changed() || changed {
		cs.sockets.list(cs)
	}
}

// snapshot returns all containers by number, and for each the error if its facts
// are unknown.
func (cs *containers) snapshot(ctx context.Context) (insts []pcp.Instance, list []container, errs []error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.relist()
	for entry := range cs.known.Active() {
		c := entry.Value
		errs = append(errs, cs.refresh(ctx, c))
		insts = append(insts, pcp.Instance{Inst: entry.Inst, Name: entry.Name})
		list = append(list, *c)
	}
	return insts, list, errs
}

// refresh updates the facts of a container by the files of its engine. Without them the answer of its runtime counts.
func (cs *containers) refresh(ctx context.Context, c *container) error {
	err := c.engine.refresh(ctx, c)
	if err != nil && c.listed != nil && c.engine != engine(cs.sockets) {
		return cs.sockets.refresh(ctx, c)
	}
	if err == nil && !c.sure && c.pid > 0 {
		// The engine's files do not have the group.
		if group, ok := cs.host.groupOf(c.pid, c.id); ok {
			c.setGroup(group)
		}
	}
	return err
}

// find returns the container that a client calls name, or pcp.ErrNoContainer.
// The name is only compared.
func (cs *containers) find(ctx context.Context, name string) (container, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.relist()
	if entry, err := cs.known.LookupName(name); err == nil && entry.State == cache.Active && entry.Name == name {
		if cs.refresh(ctx, entry.Value) == nil {
			return *entry.Value, nil
		}
	}
	var found *container
	best := 0
	for entry := range cs.known.Active() {
		c := entry.Value
		late := c.engine.namesLate()
		if late && cs.refresh(ctx, c) != nil {
			continue
		}
		n := c.match(name)
		if n <= best || !late && cs.refresh(ctx, c) != nil {
			continue
		}
		found, best = c, n
	}
	if found == nil {
		return container{}, fmt.Errorf("container %q: %w", name, pcp.ErrNoContainer)
	}
	return *found, nil
}

// match returns how well query fits the container: 100 is best, 0 not at all. A
// query that is the start of the id fits the better the longer it is. (C accepts
// a query that shares only its first letter with the id: "db" matches any id that
// starts with a d.)
func (c *container) match(query string) int {
	const longest = 95
	switch {
	case query == "":
		return 0
	case query == c.name:
		return 100
	case strings.HasPrefix(c.name, "/") && query == c.name[1:], query == c.id, c.inPod(query):
		return 99
	case strings.HasPrefix(c.id, query):
		return min(len(query), longest)
	}
	return 0
}

// inPod reports whether query names the container and its pod, as web-5d4f/nginx, or shop/web-5d4f/nginx with the name space.
func (c *container) inPod(query string) bool {
	if c.listed == nil || c.listed.Pod == "" || c.listed.Name == "" {
		return false
	}
	inPod := c.listed.Pod + "/" + c.listed.Name
	return query == inPod || query == c.listed.Namespace+"/"+inPod
}

// A stamp reports whether a file has changed since it was read.
type stamp struct {
	known   bool
	time    time.Time
	missing error // why there was none
}

// racy is the time after a change in which a file may change again and keep its time
// stamp.
const racy = 2 * time.Second

// changed reports whether the file at path has changed.
func (s *stamp) changed(path string) bool {
	info, err := os.Stat(path)
	now := stamp{known: true}
	if err != nil {
		if now.missing = err; errorsSame(err, s.missing) && s.known {
			return false
		}
		*s = now
		return true
	}
	if now.time = info.ModTime(); s.known && s.missing == nil && now.time.Equal(s.time) {
		return false
	}
	if age := time.Since(now.time); age < racy && age > -racy {
		now.time = time.Time{} // look again the next time
	}
	*s = now
	return true
}

func errorsSame(a, b error) bool {
	cause := func(err error) error {
		if p, ok := err.(*fs.PathError); ok {
			return p.Err
		}
		return err
	}
	return b != nil && cause(a) == cause(b)
}
