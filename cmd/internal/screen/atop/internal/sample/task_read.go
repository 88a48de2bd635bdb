package sample

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
)

// Sizes of strings in C, with their NUL.
const (
	nameSize      = 16
	commandSize   = 256
	containerSize = 16
	cgroupSize    = 64
	userSize      = 32
)

// A taskPlan has the indexes of the metrics of a Task.
type taskPlan struct {
	rows                      []taskCount
	counts, numbers, net      []metric // counts of rows
	name, state, started      metric
	runDelay, blockDelay      metric
	container, cgroup         metric
	proportional, waitChannel metric
	userNames, groupNames     [4]metric // real, effective, saved, of files
	hasNet                    bool
	command                   metric // of PCP 7, else missing
}

func newTaskPlan(r *reader, prefix string, seven bool) *taskPlan {
	at := func(name string) metric { return r.metric(prefix + "." + name) }
	p := &taskPlan{
		name: at("psinfo.cmd"), state: at("psinfo.sname"), started: at("psinfo.start_time"),
		runDelay: at("schedstat.run_delay"), blockDelay: at("psinfo.delayacct_blkio_time"),
		container: at("id.container"), cgroup: at("psinfo.cgroups"),
		proportional: at("smaps.pss"), waitChannel: at("psinfo.wchan_s"),
	}
	if p.rows, p.command = taskCounts, -1; seven {
		p.rows = slices.Concat(taskCounts, taskCounts7)
	}
	for _, row := range p.rows {
		p.counts = append(p.counts, at(row.metric))
	}
	for _, row := range taskNumbers {
		p.numbers = append(p.numbers, at(row.metric))
	}
	for i, kind := range []string{"", "e", "s", "fs"} {
		p.userNames[i], p.groupNames[i] = at("id."+kind+"uid_nm"), at("id."+kind+"gid_nm")
	}
	for _, row := range taskNet {
		name := row.metric
		if seven {
			name = netName7(name)
		}
		p.net = append(p.net, r.metric(name))
	}
	if seven {
		p.command = at("psinfo.psargs")
	}
	return p
}

// ready is called when the metrics are known.
func (p *taskPlan) ready(r *reader) {
	p.hasNet = true
	for _, m := range p.net {
		p.hasNet = p.hasNet && r.ids[m] != pcp.PMIDNull
	}
	if !p.hasNet {
		for _, m := range p.net {
			r.ids[m] = pcp.PMIDNull
		}
	}
}

// readTasks reads the tasks from the fetched values.
func (s *Sampler) readTasks(ctx context.Context) error {
	r, p := s.r, s.tasks
	s.present = s.present[:0]
	ins, err := r.instances(ctx, p.name, false)
	if err != nil {
		return &InstancesError{"task", err}
	}
	s.Containers = false
	for _, in := range ins {
		if s.Trace != nil {
			s.Trace("process", in)
		}
		hint, _ := r.index(p.numbers[0], in.Inst) // of psinfo.pid, whose order is probably that of all
		s.present = append(s.present, Task{})
		s.readTask(&s.present[len(s.present)-1], in, hint)
	}
	if s.seven {
		s.addThreads()
	}
	if p.hasNet {
		s.readNet()
	}
	return nil
}

func (s *Sampler) readTask(t *Task, in pcp.Instance, hint int) {
	r, p, pid := s.r, s.tasks, in.Inst
	_, command, ok := strings.Cut(in.Name, " ")
	if !ok {
		command = in.Name
	}
	room := commandSize
	if s.seven {
		room--
	}
	t.Command = r.keepString(command, room)
	if line, ok := r.text(p.command, pid, hint, commandSize); ok {
		t.Command = line
	}
	t.IsProcess = true
	for i := range p.rows {
		*p.rows[i].field(t) = r.count(p.counts[i], pid, hint)
	}
	for i := range taskNumbers {
		*taskNumbers[i].field(t) = r.integer(p.numbers[i], pid, hint)
	}
	t.RunDelay, t.BlockDelay = Count(r.integer(p.runDelay, pid, hint)), Count(r.integer(p.blockDelay, pid, hint))
	t.Started = int64(r.integer(p.started, pid, hint))
	t.Proportional = -1
	if s.Proportional {
		if v, _, ok := r.find(p.proportional, pid, hint); ok {
			t.Proportional = r.number(p.proportional, v, pcp.TypeU64)
		}
	}
	if s.WaitChannels {
		t.WaitChannel, _ = r.text(p.waitChannel, pid, hint, 16)
	}
	if t.Container, _ = r.text(p.container, pid, hint, containerSize); t.Container != "" {
		s.Containers = true
	}
	if group, _ := r.text(p.cgroup, pid, hint, cgroupSize+2); strings.HasPrefix(group, ":") {
		t.CGroup = r.keepString(group[1:], cgroupSize)
		s.CGroups = true
	}
	t.Name, _ = r.text(p.name, pid, hint, nameSize)
	if state, _ := r.text(p.state, pid, hint, 1); state != "" {
		t.State = state[0]
	}
	if t.PPID <= 0 && pid != 1 {
		t.PPID = 1
	}
	if t.TGID <= 0 {
		t.TGID = pid
	}
	s.nameOwners(t, pid, hint)
	t.Prio += 100 // which the kernel has subtracted
	switch t.State {
	case 'R':
		t.Running = 1
	case 'S':
		t.Sleeping = 1
	case 'I':
		if s.seven {
			t.Idle = 1
		} else {
			t.DiskSleep = 1
		}
	case 'D':
		t.DiskSleep = 1
	}
	t.IsProcess = t.TGID <= 0 || t.TGID == pid
	if t.ReadSectors >= 0 {
		s.DiskIO = true
	}
	t.ReadSectors /= 512
	t.WriteSectors /= 512
	t.Cancelled /= 512
	t.ReadIO, t.WriteIO = t.ReadSectors, t.WriteSectors
}

// addThreads sorts tasks by process, each followed by its threads, and adds the time of the threads to that of the
// process, as PCP 7 does.
func (s *Sampler) addThreads() {
	slices.SortStableFunc(s.present, func(a, b Task) int {
		if a.TGID != b.TGID {
			return cmp.Compare(a.TGID, b.TGID)
		}
		switch first, second := a.PID == a.TGID, b.PID == b.TGID; {
		case first == second:
			return 0
		case first:
			return -1
		}
		return 1
	})
	process := 0
	for i := 1; i < len(s.present); i++ {
		t, to := &s.present[i], &s.present[process]
		if t.TGID != to.TGID {
			process = i
			continue
		}
		to.User, to.Sys = to.User+t.User, to.Sys+t.Sys
	}
}

// nameOwners remembers the names of users and groups. C files all names of a task under its real
// user and group (update_task of photoproc.c), so that these may go by another name.
func (s *Sampler) nameOwners(t *Task, pid int32, hint int) {
	file := func(names map[int32]string, key int32, ids [4]int32, places [4]metric) {
		for i, id := range ids {
			if i > 0 && id == key {
				continue
			}
			if _, ok := names[id]; ok {
				continue
			}
			if name, ok := s.r.text(places[i], pid, hint, userSize); ok {
				names[key] = name
			}
		}
	}
	file(s.Users, t.RUID, [4]int32{t.RUID, t.EUID, t.SUID, t.FSUID}, s.tasks.userNames)
	file(s.Groups, t.RGID, [4]int32{t.RGID, t.EGID, t.SGID, t.FSGID}, s.tasks.groupNames)
}

// readNet adds the counters of connections.
func (s *Sampler) readNet() {
	clear(s.byPID)
	for i := range s.present {
		if _, ok := s.byPID[s.present[i].PID]; !ok {
			s.byPID[s.present[i].PID] = i
		}
	}
	for hint, v := range s.r.values(s.tasks.net[0]) {
		i, ok := s.byPID[v.Inst]
		if !ok {
			continue
		}
		for j := range taskNet {
			*taskNet[j].field(&s.present[i]) = s.r.count(s.tasks.net[j], v.Inst, hint)
		}
	}
}
