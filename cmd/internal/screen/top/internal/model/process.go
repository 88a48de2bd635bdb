package model

import (
	"context"
	"math"
	"slices"
	"strings"
)

// processes fills in the processes by PID. Fields that were not fetched this time have their values of the
// last snapshot.
func (s *Sampler) processes(ctx context.Context, snap *Snapshot) error {
	var before []Process
	if s.last != nil {
		before = s.last.Processes
	}
	out := snap.Processes[:0]
	base := s.base()
	if base == nil {
		snap.Processes = out
		return nil
	}
	none := &column{}
	at := func(m metric) walk {
		if snap.Groups&table[m].group == 0 {
			return walk{c: none} // its values are of an earlier sample
		}
		return walk{c: &s.cols[m]}
	}
	user, sys, rss, size := at(mProcUser), at(mProcSys), at(mProcRSS), at(mProcSize)
	state, parent, name, nice := at(mProcState), at(mProcParent), at(mProcName), at(mProcNice)
	priority, start, processor := at(mProcPriority), at(mProcStart), at(mProcProcessor)
	args, threads, owner := at(mProcArgs), at(mProcThreads), at(mProcOwner)
	cgroup, tty, read, written, group := at(mProcCGroup), at(mProcTTY), at(mProcRead), at(mProcWritten), at(mProcGroup)
	network := [...]walk{at(mProcTCPIn), at(mProcUDPIn), at(mProcTCPOut), at(mProcUDPOut)}
	gpu := [...]walk{at(mProcDRM), at(mProcNVIDIA), at(mProcDRMMemory), at(mProcNVIDIAMemory)}
	slowKept := !s.slowFetched()
	known := 0
	for _, pid := range base.insts {
		for known < len(before) && before[known].PID < pid {
			known++
		}
		// The slices share no memory: the last snapshot is kept while a new one is made.
		var old *Process
		if known < len(before) && before[known].PID == pid {
			old = &before[known]
		}
		p := Process{
			PID: pid, Parent: whole(parent.num(pid)), Nice: whole(nice.num(pid)), Priority: whole(priority.num(pid)),
			Processor: whole(processor.num(pid)), RSS: rss.num(pid), Size: size.num(pid), Start: start.num(pid),
			Read: read.num(pid), Written: written.num(pid), CPU: nan(),
			In: plus(network[0].num(pid), network[1].num(pid)), Out: plus(network[2].num(pid), network[3].num(pid)),
			GPU: plus(gpu[0].num(pid), gpu[1].num(pid)/100), GPUMemory: plus(gpu[2].num(pid), gpu[3].num(pid)),
		}
		if u, y := user.num(pid), sys.num(pid); !math.IsNaN(u) && !math.IsNaN(y) {
			p.CPU = u + y
		}
		p.Time = s.cols[mProcUser].totalAt(user) + s.cols[mProcSys].totalAt(sys)
		if t := textAt(&state, pid); t != "" {
			p.State = t[0]
		}
		p.Name = textAt(&name, pid)
		if old != nil && !sameStart(old.Start, p.Start) {
			old, p.CPU = nil, nan()
		}
		if old != nil && slowKept && !args.find(pid) && !owner.find(pid) {
			p.Args, p.Owner, p.CGroup, p.TTY, p.Threads, p.Group = old.Args, old.Owner, old.CGroup, old.TTY, old.Threads, old.Group
		} else {
			p.Args, p.Owner, p.TTY = textAt(&args, pid), textAt(&owner, pid), textAt(&tty, pid)
			p.Threads, p.Group = whole(threads.num(pid)), whole(group.num(pid))
			p.CGroup = ownCGroup(textAt(&cgroup, pid))
		}
		if p.Args == "" && p.Name == "" {
			instance, err := s.name(ctx, base, pid)
			if err != nil {
				return err
			}
			_, p.Args, _ = strings.Cut(instance, " ")
		}
		if p.Name == "" {
			p.Name = firstWord(p.Args)
		}
		if p.Thread() {
			p.Parent = p.Group // its place in a tree
		}
		out = append(out, p)
	}
	snap.Processes = out
	return nil
}

// slowFetched reports whether the last fetch included the slow metrics of all processes.
func (s *Sampler) slowFetched() bool {
	base := s.base()
	return base != nil && s.cols[mProcArgs].at == base.at && len(s.cols[mProcArgs].insts) >= len(base.insts)
}

// totalAt returns the counter of the current instance of a walk.
func (c *column) totalAt(w walk) float64 {
	if w.i < len(c.raw) && w.i < len(c.insts) && c.err == 0 {
		return c.raw[w.i]
	}
	return nan()
}

func textAt(w *walk, inst int32) string {
	if w.find(inst) && w.i < len(w.c.texts) {
		return w.c.texts[w.i]
	}
	return ""
}

// whole converts a number that may be unknown to an integer.
func whole(f float64) int32 {
	if math.IsNaN(f) {
		return 0
	}
	return int32(max(math.MinInt32, min(math.MaxInt32, f)))
}

func firstWord(s string) string {
	s, _, _ = strings.Cut(s, " ")
	if i := strings.LastIndexByte(s, '/'); i >= 0 && !strings.HasPrefix(s, "(") {
		s = s[i+1:]
	}
	return s
}

// ownCGroup returns the control group of a process from the kernel's list of all hierarchies, "memory:/a;cpu:/;:/b":
// that of the unified hierarchy, and where that is not in use the longest.
func ownCGroup(all string) string {
	best := ""
	for len(all) > 0 {
		var one string
		one, all, _ = strings.Cut(all, ";")
		names, _, ok := strings.Cut(one, ":/")
		if !ok {
			continue
		}
		path := one[len(names)+1:]
		if names == "" && path != "/" {
			return path
		}
		if len(path) > len(best) {
			best = path
		}
	}
	return best
}

// cgroups adds up the processes of each control group, and adds the kernel's figures for it.
func (s *Sampler) cgroups(ctx context.Context, snap *Snapshot) error {
	snap.CGroups = snap.CGroups[:0]
	index := map[string]int{}
	get := func(path string) *CGroup {
		i, ok := index[path]
		if !ok {
			i = len(snap.CGroups)
			index[path] = i
			snap.CGroups = append(snap.CGroups, emptyCGroup(path))
		}
		return &snap.CGroups[i]
	}
	add := func(to *float64, v float64) {
		if !math.IsNaN(v) {
			*to = zeroIfNaN(*to) + v
		}
	}
	for i := range snap.Processes {
		p := &snap.Processes[i]
		if p.Thread() {
			continue
		}
		// A process counts for its group and for all above it, as the kernel's own sums do.
		for path := p.CGroup; path != ""; path = above(path) {
			g := get(path)
			g.Processes++
			add(&g.CPU, p.CPU)
			add(&g.Memory, p.RSS)
			add(&g.Read, p.Read)
			add(&g.Written, p.Written)
			add(&g.In, p.In)
			add(&g.Out, p.Out)
		}
	}
	if s.cols[mSockCGroup].err == 0 && snap.Groups&ProcessNet != 0 && snap.Absent(PanelProcessNet) != "" {
		for i, inst := range s.cols[mSockCGroup].insts {
			for path := s.cols[mSockCGroup].texts[i]; strings.HasPrefix(path, "/"); path = above(path) {
				g := get(path)
				add(&g.In, s.of(mSockIn, inst))
				add(&g.Out, s.of(mSockOut, inst))
			}
		}
	}
	for _, f := range []struct {
		m     metric
		field func(*CGroup) *float64
		share float64
	}{
		{mCGCPU, func(g *CGroup) *float64 { return &g.CPU }, 1},
		{mCGMemory, func(g *CGroup) *float64 { return &g.Memory }, 1},
		{mCGPSICPU, func(g *CGroup) *float64 { return &g.PressCPU }, 100},
		{mCGPSIMemory, func(g *CGroup) *float64 { return &g.PressMem }, 100},
		{mCGPSIIO, func(g *CGroup) *float64 { return &g.PressIO }, 100},
	} {
		c := &s.cols[f.m]
		if c.err != 0 {
			continue
		}
		for i, inst := range c.insts {
			path, err := s.name(ctx, c, inst)
			if err != nil {
				return err
			}
			if path == "" || path[0] != '/' || math.IsNaN(c.nums[i]) {
				continue
			}
			*f.field(get(path)) = c.nums[i] / f.share
		}
	}
	slices.SortFunc(snap.CGroups, func(a, b CGroup) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// above returns the path of the group above one, "" for the root.
func above(path string) string {
	if path == "/" {
		return ""
	}
	i := strings.LastIndexByte(path, '/')
	switch {
	case i < 0:
		return ""
	case i == 0:
		return "/"
	}
	return path[:i]
}
