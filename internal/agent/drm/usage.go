package drm

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// again is the time after which a process without a graphics device is looked at again.
const again = 5 * time.Second

// A usage is what processes use.
type usage struct {
	names     names
	info      info
	clients   map[clientKey]*client
	processes map[int32]*process
	groups    map[string]*user
	engines   map[string]*engine
	regions   map[string]*region
	next      int32 // instance
	pass      uint64
	last      time.Time
	begun     bool
	looked    int // processes whose descriptors were read, in all
}

func newUsage() usage {
	return usage{
		names: make(names), clients: make(map[clientKey]*client), processes: make(map[int32]*process),
		groups: make(map[string]*user), engines: make(map[string]*engine), regions: make(map[string]*region),
	}
}

// instance returns a number for an instance that had none.
func (u *usage) instance() int32 {
	u.next++
	return u.next - 1
}

// A clientKey identifies a client: numbers are those of a driver.
type clientKey struct {
	driver, pdev string
	id           uint64
}

// A client is an opened device.
type client struct {
	engines []engineInfo // as last read
	pass    uint64
}

// A process has what the agent knows about one.
type process struct {
	user
	start   string // the time it started, as text: another can get the number
	name    string
	pid     int32
	uses    bool // a device
	scanned time.Time
	group   *user // its container, nil for none
}

// A user is a process or a container.
type user struct {
	inst          int32
	path          string // of the control group
	time          uint64
	memory, local uint64
	engines       map[string]*engine // by card and class
	pass          uint64             // in which it was seen
}

// An engine is a class of engines of a card.
type engine struct {
	inst     int32
	name     string // of the instance
	time     uint64
	capacity uint64
	pass     uint64
}

// A region is a region of memory of a card.
type region struct {
	inst                    int32
	resident, total, shared uint64
	hasTotal                bool
	pass                    uint64
}

// add counts work on an engine.
func (v *user) add(u *usage, name, instance string, ns uint64) {
	v.time += ns
	e := v.engines[name]
	if e == nil {
		if v.engines == nil {
			v.engines = make(map[string]*engine)
		}
		e = &engine{inst: u.instance(), name: instance}
		v.engines[name] = e
	}
	e.time += ns
	e.pass = u.pass
}

// scan looks at the processes.
func (r *reader) scan() error {
	u := &r.usage
	for block := blockClients; block < blockProcesses; block++ {
		r.blocks[block].Clear()
	}
	if len(r.order) == 0 {
		clear(u.clients)
		clear(u.processes)
		clear(u.groups)
		u.begun = false
		return nil
	}
	now := r.now()
	elapsed := now.Sub(u.last)
	u.last = now
	u.pass++
	clients := make(map[string]int)
	var pids []int32
	for _, name := range procfs.Names(r.path("proc")) {
		if pid, err := strconv.ParseInt(name, 10, 32); err == nil && pid > 0 {
			pids = append(pids, int32(pid))
		}
	}
	slices.Sort(pids) // the first process of several counts
	for _, g := range u.groups {
		g.memory, g.local = 0, 0
	}
	for _, pid := range pids {
		r.look(pid, now, elapsed, clients)
	}
	for key, c := range u.clients {
		if c.pass != u.pass {
			delete(u.clients, key)
		}
	}
	for pid, p := range u.processes {
		if p.pass != u.pass {
			delete(u.processes, pid)
		}
	}
	u.begun = true
	for _, c := range r.order {
		r.blocks[blockClients].Set(r.blocks[blockClients].Add(int32(c.number)), 0, uint64(clients[c.name]))
	}
	for name, e := range u.engines {
		row := r.blocks[blockEngines].AddNamed(e.inst, name)
		r.blocks[blockEngines].Set(row, engineTime, e.time)
		r.blocks[blockEngines].Set(row, engineCapacity, e.capacity)
	}
	for name, g := range u.regions {
		if g.pass != u.pass {
			g.resident, g.total, g.shared = 0, 0, 0 // no client is left
		}
		row := r.blocks[blockRegions].AddNamed(g.inst, name)
		r.blocks[blockRegions].Set(row, regionResident, g.resident)
		if g.hasTotal {
			r.blocks[blockRegions].Set(row, regionTotal, g.total)
			r.blocks[blockRegions].Set(row, regionShared, g.shared)
		}
	}
	for id, g := range u.groups {
		if g.pass != u.pass {
			delete(u.groups, id)
			continue
		}
		g.put(r.blocks[blockGroups], r.blocks[blockGroupEngines], id)
	}
	return nil
}

// put adds the rows of a user to the blocks.
func (v *user) put(out, engines *column.Block, name string) {
	row := out.AddNamed(v.inst, name)
	out.Set(row, useTime, v.time)
	out.Set(row, useMemory, v.memory)
	out.Set(row, useLocal, v.local)
	for _, e := range v.engines {
		engines.Set(engines.AddNamed(e.inst, e.name), 0, e.time)
	}
}

// byProcess fills the blocks of processes.
func (r *reader) byProcess() error {
	r.blocks[blockProcesses].Clear()
	r.blocks[blockProcessEngines].Clear()
	for _, p := range r.usage.processes {
		if p.uses {
			p.put(r.blocks[blockProcesses], r.blocks[blockProcessEngines], p.name)
		}
	}
	return nil
}

// look reads the clients of a process.
func (r *reader) look(pid int32, now time.Time, elapsed time.Duration, clients map[string]int) {
	u := &r.usage
	p := u.processes[pid]
	dir := r.path("proc", strconv.Itoa(int(pid)))
	if p != nil && !p.uses && now.Sub(p.scanned) < again && now.Sub(p.scanned) >= 0 {
		p.pass = u.pass
		return
	}
	u.looked++
	var devices []string
	for _, fd := range procfs.Names(dir + "/fd") {
		if r.isDevice(dir + "/fd/" + fd) {
			devices = append(devices, fd)
		}
	}
	if len(devices) == 0 {
		p = &process{pid: pid, scanned: now}
		p.pass = u.pass
		u.processes[pid] = p
		return
	}
	name, start := r.describe(dir)
	if p == nil || p.start != start {
		p = &process{pid: pid, start: start, name: fmt.Sprintf("%06d %s", pid, name)}
		p.inst = pid
		p.group = r.groupOf(dir)
		u.processes[pid] = p
	}
	p.uses, p.scanned, p.pass, p.memory, p.local = false, now, u.pass, 0, 0
	if p.group != nil {
		p.group.pass = u.pass
	}
	slices.Sort(devices)
	for _, fd := range devices {
		b, err := r.buffer.Read(dir+"/fdinfo/"+fd, true)
		if err == nil && u.info.parse(b, u.names) {
			r.count(p, elapsed, clients)
		}
	}
}

// isDevice reports whether a descriptor is that of a graphics device.
func (r *reader) isDevice(path string) bool {
	target, err := os.Readlink(path)
	return err == nil && (strings.HasPrefix(target, "/dev/dri/") || strings.HasPrefix(target, "/dev/accel/"))
}

// describe returns the command of a process, and when it started.
func (r *reader) describe(dir string) (name, start string) {
	b, err := r.buffer.Read(dir+"/stat", true)
	if err != nil {
		return "", ""
	}
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return "", ""
	}
	name = string(bytes.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '\uFFFD' {
			return '?'
		}
		return c
	}, b[open+1:end]))
	const first, field = 3, 22 // the field after the command, and the one wanted
	rest := b[end+1:]
	var word []byte
	for i := first; i <= field; i++ {
		word, rest = procfs.Field(rest)
	}
	return name, string(word)
}

// groupOf returns the container of a process, nil if it is in none.
func (r *reader) groupOf(dir string) *user {
	u := &r.usage
	b, err := r.buffer.Read(dir+"/cgroup", true)
	if err != nil {
		return nil
	}
	for line := range procfs.Lines(b) {
		_, line, _ = bytes.Cut(line, []byte{':'})
		_, path, _ := bytes.Cut(line, []byte{':'})
		id := containers.ID(string(path))
		if id == "" {
			continue
		}
		g := u.groups[id]
		if g == nil {
			g = &user{inst: u.instance(), path: string(path)}
			u.groups[id] = g
			r.containers.Saw(g.path)
		}
		return g
	}
	return nil
}

// cardOf returns the name of the card of a client: that at the address, or else that with the driver, or else the address or the driver.
func (r *reader) cardOf(f *info) string {
	for _, c := range r.order {
		if f.pdev != "" && c.address == f.pdev {
			return c.name
		}
	}
	if f.pdev != "" {
		return f.pdev
	}
	for _, c := range r.order {
		if c.driver == f.driver {
			return c.name
		}
	}
	return f.driver
}

// count adds what u.info has about a client of a process.
func (r *reader) count(p *process, elapsed time.Duration, clients map[string]int) {
	u, f := &r.usage, &r.usage.info
	key := clientKey{f.driver, f.pdev, f.id}
	c := u.clients[key]
	if c == nil {
		if len(u.clients) >= maxClients {
			return
		}
		c = &client{}
		if !u.begun {
			c.engines = slices.Clone(f.engines) // work of the time before
		}
		u.clients[key] = c
	} else if c.pass == u.pass {
		return // of another descriptor or process
	}
	c.pass = u.pass
	p.uses = true
	cardName := r.cardOf(f)
	clients[cardName]++
	for i := range f.engines {
		now := &f.engines[i]
		if !now.hasNS && !(now.hasC && now.hasTC) {
			continue
		}
		name := cardName + ":" + now.name
		e := u.engines[name]
		if e == nil {
			if len(u.engines) >= maxClients {
				continue
			}
			e = &engine{inst: u.instance(), name: name}
			u.engines[name] = e
		}
		e.capacity = now.capacity
		var before engineInfo
		known := false
		for _, b := range c.engines {
			if b.name == now.name {
				before, known = b, true
			}
		}
		ns := worked(before, *now, known, elapsed)
		e.time += ns
		p.add(u, name, fmt.Sprintf("%06d:%s %s", p.pid, name, p.name[min(7, len(p.name)):]), ns)
		if p.group != nil {
			p.group.add(u, name, containers.ID(p.group.path)+":"+name, ns)
		}
	}
	c.engines = append(c.engines[:0], f.engines...)
	for i := range f.regions {
		now := &f.regions[i]
		name := cardName + ":" + now.name
		g := u.regions[name]
		if g == nil {
			if len(u.regions) >= maxClients {
				continue
			}
			g = &region{inst: u.instance()}
			u.regions[name] = g
		}
		if g.pass != u.pass {
			*g = region{inst: g.inst, pass: u.pass}
		}
		resident := now.resident
		g.resident += resident
		g.total += now.total
		g.shared += now.shared
		g.hasTotal = g.hasTotal || now.hasTotal
		local := strings.HasPrefix(now.name, "vram") || strings.Contains(now.name, "local")
		p.memory += resident
		if local {
			p.local += resident
		}
		if p.group != nil {
			p.group.memory += resident
			if local {
				p.group.local += resident
			}
		}
	}
}

// worked returns how long an engine worked for a client since the last reading. known is set if there was one.
func worked(before, now engineInfo, known bool, elapsed time.Duration) uint64 {
	if now.hasNS {
		if now.ns < before.ns {
			return 0
		}
		return now.ns - before.ns
	}
	if !known || now.total <= before.total || now.cycles < before.cycles || elapsed <= 0 {
		return 0
	}
	share := float64(now.cycles-before.cycles) / float64(now.total-before.total)
	return uint64(min(share, float64(now.capacity)) * float64(elapsed))
}

// partLabels returns the labels of an engine or region, by the name of its instance.
func partLabels(key, name string) map[string]any {
	i := strings.LastIndexByte(name, ':')
	if i < 0 {
		return nil
	}
	return map[string]any{"gpu": name[:i], key: name[i+1:]}
}

func (r *reader) groupLabels(id string) map[string]any {
	g := r.usage.groups[id]
	if g == nil {
		return nil
	}
	l := r.containers.Labels(g.path)
	return l.Map(make(map[string]any))
}

func (r *reader) processLabels(name string) map[string]any {
	end := strings.IndexAny(name, " :")
	if end < 0 {
		return nil
	}
	pid, err := strconv.ParseInt(name[:end], 10, 32)
	if err != nil {
		return nil
	}
	m := map[string]any{"pid": pid}
	if p := r.usage.processes[int32(pid)]; p != nil && p.group != nil {
		l := r.containers.Labels(p.group.path)
		return l.Map(m)
	}
	return m
}
