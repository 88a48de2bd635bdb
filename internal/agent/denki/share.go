package denki

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/procfs"
)

// A share divides energy among processes and containers.
type share struct {
	known  map[int32]*process
	groups map[string]*group
	next   int32 // the instance of the next container
	pass   uint64
	busy   uint64 // ticks of all processors, at the last reading
	energy uint64 // microjoules then
	begun  bool
}

// A process has the energy of one.
type process struct {
	name   string
	start  uint64 // in ticks since the boot: another process can get the number
	ticks  uint64
	delta  uint64
	joules float64
	group  *group // its container, nil for none
	pass   uint64
}

// A group is a container.
type group struct {
	path   string // of its control group
	inst   int32
	joules float64
	pass   uint64
}

// A procStat has the fields of /proc/PID/stat that the agent wants.
type procStat struct {
	comm         []byte
	ticks, start uint64
}

// parseStat reads /proc/PID/stat. The command, in parentheses, can have any bytes.
func parseStat(b []byte) (s procStat, ok bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return s, false
	}
	s.comm = b[open+1 : end]
	const (
		state = 3 // the first field after the command, counted from 1
		utime = 14
		stime = 15
		start = 22
	)
	rest := b[end+1:]
	for field := state; field <= start; field++ {
		var word []byte
		if word, rest = procfs.Field(rest); len(word) == 0 {
			return s, false
		}
		switch field {
		case utime, stime, start:
			v, tail, ok := procfs.Uint(word)
			if !ok || len(tail) > 0 {
				return s, false
			}
			if field == start {
				s.start = v
			} else {
				s.ticks += v
			}
		}
	}
	return s, true
}

// parseBusy returns the ticks in which processors were busy, from /proc/stat: all but idle and
// iowait. The time of guests is in user already.
func parseBusy(b []byte) (busy uint64, ok bool) {
	line, _, _ := procfs.Line(b)
	line, ok = bytes.CutPrefix(line, []byte("cpu "))
	if !ok {
		return 0, false
	}
	const idle, iowait, fields = 3, 4, 8
	for i := range fields {
		v, rest, ok := procfs.Uint(line)
		if !ok {
			return busy, i > idle
		}
		line = rest
		if i != idle && i != iowait {
			busy += v
		}
	}
	return busy, true
}

// readShare divides the energy since the last reading.
func (r *reader) readShare() error {
	s := &r.share
	procs, groups := r.blocks[blockProcesses], r.blocks[blockGroups]
	procs.Clear()
	groups.Clear()
	energy, ok := r.energyOfAll()
	if !ok {
		return nil
	}
	b, err := r.large.Read(r.path("proc/stat"), false)
	if err != nil {
		return err
	}
	busy, ok := parseBusy(b)
	if !ok {
		return nil
	}
	s.pass++
	var all uint64
	for _, name := range procfs.Names(r.path("proc")) {
		pid, err := strconv.ParseInt(name, 10, 32)
		if err != nil || pid <= 0 {
			continue
		}
		all += r.readProcess(int32(pid), name)
	}
	var perTick float64 // joules
	if s.begun && energy >= s.energy && busy > s.busy {
		perTick = float64(energy-s.energy) / 1e6 / float64(max(busy-s.busy, all))
	}
	s.busy, s.energy, s.begun = busy, energy, true
	for pid, p := range s.known {
		if p.pass != s.pass {
			delete(s.known, pid)
			continue
		}
		used := float64(p.delta) * perTick
		p.joules += used
		procs.Row(procs.AddNamed(pid, p.name))[0] = double(p.joules)
		if p.group != nil {
			p.group.joules += used
			p.group.pass = s.pass
		}
	}
	for id, g := range s.groups {
		if g.pass != s.pass {
			delete(s.groups, id)
			continue
		}
		groups.Row(groups.AddNamed(g.inst, id))[0] = double(g.joules)
	}
	return nil
}

// readProcess reads a process, and returns the ticks that it used since the last reading.
func (r *reader) readProcess(pid int32, dir string) uint64 {
	s := &r.share
	b, err := r.small.Read(r.path("proc", dir, "stat"), true)
	if err != nil {
		return 0
	}
	stat, ok := parseStat(b)
	if !ok {
		return 0
	}
	p := s.known[pid]
	if p == nil || p.start != stat.start {
		p = &process{start: stat.start, name: fmt.Sprintf("%06d %s", pid, printable(stat.comm))}
		if !s.begun {
			p.ticks = stat.ticks // of the time before
		}
		s.known[pid] = p
		p.group = r.groupOf(dir)
	}
	p.delta = 0
	if stat.ticks >= p.ticks {
		p.delta = stat.ticks - p.ticks
	}
	p.ticks, p.pass = stat.ticks, s.pass
	return p.delta
}

// groupOf returns the container of a process, nil if it is in none.
func (r *reader) groupOf(dir string) *group {
	b, err := r.small.Read(r.path("proc", dir, "cgroup"), true)
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
		g := r.share.groups[id]
		if g == nil {
			g = &group{path: string(path), inst: r.share.next}
			r.share.next++
			r.share.groups[id] = g
			r.containers.Saw(g.path)
		}
		return g
	}
	return nil
}

func (r *reader) processLabels(pid int32) map[string]any {
	m := map[string]any{"pid": pid}
	if p := r.share.known[pid]; p != nil && p.group != nil {
		l := r.containers.Labels(p.group.path)
		return l.Map(m)
	}
	return m
}

func (r *reader) groupLabels(id string) map[string]any {
	g := r.share.groups[id]
	if g == nil {
		return nil
	}
	l := r.containers.Labels(g.path)
	return l.Map(make(map[string]any))
}

// printable returns a name with ? in place of bytes that cannot be shown.
func printable(name []byte) []byte {
	return bytes.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '\uFFFD' {
			return '?'
		}
		return c
	}, name)
}
