package nvidia

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/agent/nvidia/reading"
	"github.com/go-pcp/pcp/internal/procfs"
)

// A state is what the agent knows: the last reading, with sums over all of them.
type state struct {
	root       string
	containers *containers.Finder
	buffer     procfs.Buffer
	count      int     // of cards now
	cards      []*card // all that there were
	both       []*pair // in the last reading, in order
	processes  []*process
	groups     []*group
	ofBoth     map[pairKey]*pair
	ofProcess  map[uint32]*process
	ofGroup    map[string]*group
	next       int32 // instance
	pass       uint64
}

func newState(root string, f *containers.Finder) *state {
	return &state{
		root: root, containers: f, buffer: procfs.Buffer{Max: 1 << 16},
		ofBoth: make(map[pairKey]*pair), ofProcess: make(map[uint32]*process), ofGroup: make(map[string]*group),
	}
}

// A card is one, with its last reading.
type card struct {
	reading.Card
	number                            int
	ok                                bool
	samples                           uint64
	busySum, memoryBusySum, memorySum uint64
}

// A pairKey is a process on a card.
type pairKey struct {
	card int
	pid  uint32
}

// A pair has the use of a card by a process.
type pair struct {
	pairKey
	inst int32
	pass uint64
	use
}

// A process has the use of all cards by a process.
type process struct {
	pid               uint32
	path              string // of the control group of its container, "" if it is in none
	pass              uint64
	compute, graphics use
	sum               use
}

// A group has the use of all cards by a container.
type group struct {
	id, path string
	inst     int32
	pass     uint64
	use
}

// A quantity is a number of a use.
type quantity int

const (
	qSamples quantity = iota
	qMemory
	qMemorySum
	qBusy
	qMemoryBusy
	qTime
	qRunning
	qList
	qCards
	numQuantities
)

// A use is what a process does with a card, or with all.
type use struct {
	v   [numQuantities]uint64
	has bool // in the last reading
}

func (u *use) get(q quantity) (uint64, bool) { return u.v[q], u.has }

// begin keeps only the sums.
func (u *use) begin() {
	*u = use{v: [numQuantities]uint64{qSamples: u.v[qSamples], qMemorySum: u.v[qMemorySum]}}
}

// add counts a process of a reading.
func (u *use) add(p *reading.Process, number int) {
	get := func(v *uint32) uint64 {
		if v == nil {
			return 0
		}
		return uint64(*v)
	}
	u.has = true
	u.v[qSamples]++
	if p.Memory != nil {
		u.v[qMemory] += *p.Memory
		u.v[qMemorySum] += *p.Memory
	}
	u.v[qBusy] += get(p.Busy)
	u.v[qMemoryBusy] += get(p.MemoryBusy)
	if p.Time != nil {
		u.v[qTime] += *p.Time
	}
	if p.Running {
		u.v[qRunning] = 1
	}
	if number < 32 {
		u.v[qList] |= 1 << number
	}
	u.v[qCards]++
}

// all returns the sum of both kinds of use.
func (p *process) all() *use {
	p.sum = use{has: p.compute.has || p.graphics.has}
	for q := range p.sum.v {
		a, b := p.compute.v[q], p.graphics.v[q]
		switch quantity(q) {
		case qRunning, qList:
			p.sum.v[q] = a | b
		default:
			p.sum.v[q] = a + b
		}
	}
	return &p.sum
}

// update takes a reading; ok is false if there is none.
func (s *state) update(r *reading.Reading, ok, processes bool) {
	s.count = 0
	for _, c := range s.cards {
		c.ok = false
		if processes {
			c.Processes = nil
		}
	}
	if ok {
		s.count = len(r.Cards)
		for i := range r.Cards {
			if i >= len(s.cards) {
				s.cards = append(s.cards, &card{number: i})
			}
			s.cards[i].update(&r.Cards[i], processes)
		}
	}
	if !processes {
		return
	}
	s.pass++
	s.both, s.processes, s.groups = s.both[:0], s.processes[:0], s.groups[:0]
	for _, c := range s.cards {
		if !c.ok {
			continue
		}
		for i := range c.Processes {
			s.add(c.number, &c.Processes[i])
		}
	}
	for key, p := range s.ofBoth {
		if p.pass != s.pass {
			delete(s.ofBoth, key)
		}
	}
	for pid, p := range s.ofProcess {
		if p.pass != s.pass {
			delete(s.ofProcess, pid)
		}
	}
	for id, g := range s.ofGroup {
		if g.pass != s.pass {
			delete(s.ofGroup, id)
		}
	}
	slices.SortFunc(s.both, func(a, b *pair) int { return int(a.inst - b.inst) })
	slices.SortFunc(s.processes, func(a, b *process) int { return int(int32(a.pid) - int32(b.pid)) })
	slices.SortFunc(s.groups, func(a, b *group) int { return int(a.inst - b.inst) })
}

func (c *card) update(r *reading.Card, processes bool) {
	before := c.Processes
	c.Card = *r
	if !processes {
		c.Processes = before
	}
	if c.ok = r.Error == ""; !c.ok {
		c.Processes = nil
		return
	}
	c.samples++
	if r.Busy != nil {
		c.busySum += uint64(*r.Busy)
	}
	if r.MemoryBusy != nil {
		c.memoryBusySum += uint64(*r.MemoryBusy)
	}
	if r.Memory != nil {
		c.memorySum += r.Memory.Used
	}
}

// add counts a process of a card.
func (s *state) add(number int, r *reading.Process) {
	if r.PID == 0 || r.PID > 1<<31-1 {
		return
	}
	key := pairKey{number, r.PID}
	b := s.ofBoth[key]
	if b == nil {
		b = &pair{pairKey: key, inst: s.next}
		s.next++
		s.ofBoth[key] = b
	}
	if b.pass != s.pass {
		b.pass = s.pass
		b.begin()
		s.both = append(s.both, b)
	}
	b.use.add(r, number)

	p := s.ofProcess[r.PID]
	if p == nil {
		p = &process{pid: r.PID, path: s.groupPath(r.PID)}
		s.ofProcess[r.PID] = p
	}
	if p.pass != s.pass {
		p.pass = s.pass
		p.compute.begin()
		p.graphics.begin()
		s.processes = append(s.processes, p)
	}
	if r.Compute {
		p.compute.add(r, number)
	} else {
		p.graphics.add(r, number)
	}
	if p.path == "" {
		return
	}
	id := containers.ID(p.path)
	g := s.ofGroup[id]
	if g == nil {
		g = &group{id: id, path: p.path, inst: s.next}
		s.next++
		s.ofGroup[id] = g
	}
	if g.pass != s.pass {
		g.pass = s.pass
		g.begin()
		s.groups = append(s.groups, g)
	}
	g.use.add(r, number)
}

// groupPath returns the control group of a process in a container, "" for others.
func (s *state) groupPath(pid uint32) string {
	b, err := s.buffer.Read(filepath.Join(s.root, "proc", strconv.FormatUint(uint64(pid), 10), "cgroup"), true)
	if err != nil {
		return ""
	}
	for line := range procfs.Lines(b) {
		_, line, _ = bytes.Cut(line, []byte{':'})
		_, path, _ := bytes.Cut(line, []byte{':'})
		if containers.ID(string(path)) != "" {
			s.containers.Saw(string(path))
			return string(path)
		}
	}
	return ""
}

// labels adds the labels of a container to m, and returns them as JSON.
func (s *state) labels(path string, m map[string]any) string {
	if path != "" {
		l := s.containers.Labels(path)
		m = l.Map(m)
	}
	if len(m) == 0 {
		return ""
	}
	b, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(b)
}

func (s *state) cardList() (list []pcp.Instance) {
	for _, c := range s.cards {
		list = append(list, pcp.Instance{Inst: int32(c.number), Name: fmt.Sprintf("gpu%d", c.number)})
	}
	return list
}

func (s *state) bothList() (list []pcp.Instance) {
	for _, p := range s.both {
		list = append(list, pcp.Instance{Inst: p.inst, Name: fmt.Sprintf("gpu%d::%d", p.card, p.pid)})
	}
	return list
}

func (s *state) processList() (list []pcp.Instance) {
	for _, p := range s.processes {
		list = append(list, pcp.Instance{Inst: int32(p.pid), Name: fmt.Sprintf("%06d", p.pid)})
	}
	return list
}

func (s *state) groupList() (list []pcp.Instance) {
	for _, g := range s.groups {
		list = append(list, pcp.Instance{Inst: g.inst, Name: g.id})
	}
	return list
}
