package sample

// Deviation has the changes since the sample before.
type Deviation struct {
	System *System
	Tasks  []Task  // all of them: processes, their threads, and processes that have ended
	Procs  []*Task // the processes of Tasks
	Active []*Task // those that were active

	ActiveTasks                           int
	Running, Sleeping, DiskSleep, Zombies int
	Idle                                  int // of PCP 7

	Exited   int
	Overflow int // ended processes that are left out
}

// A taskKey identifies a task; a number that was used again has several keys.
type taskKey struct {
	pid     int32
	process bool
}

// A known is a task of the sample before.
type known struct {
	task Task
	seen bool // in this sample
}

// A database has the tasks of the sample before, with the latest of each key first.
type database map[taskKey][]*known

// find returns the task of the sample before, and marks it as present.
func (db database) find(t *Task) *known {
	for _, k := range db[taskKey{t.PID, t.IsProcess}] {
		if diff := int32(k.task.Started - t.Started); diff >= -1 && diff <= 1 {
			k.seen = true
			return k
		}
	}
	return nil
}

func (db database) add(t Task) {
	key := taskKey{t.PID, t.IsProcess}
	db[key] = append([]*known{{task: t, seen: true}}, db[key]...)
}

// remove forgets the latest task of a key.
func (db database) remove(key taskKey) {
	if list := db[key]; len(list) > 1 {
		db[key] = list[1:]
	} else {
		delete(db, key)
	}
}

// unsee begins a sample.
func (db database) unsee() {
	for _, list := range db {
		for _, k := range list {
			k.seen = false
		}
	}
}

// clean forgets the tasks that were not seen. As in C the latest of a number is removed.
func (db database) clean() {
	for key, list := range db {
		gone := 0
		for _, k := range list {
			if !k.seen {
				gone++
			}
		}
		for range gone {
			db.remove(key)
		}
	}
}

// like returns a task that was not seen in this sample and may be t, whose number is not known.
func (db database) like(t *Task) *known {
	var near *known
	for _, list := range db {
		for _, k := range list {
			if k.seen || k.task.RUID != t.RUID || k.task.RGID != t.RGID || k.task.Name != t.Name {
				continue
			}
			switch k.task.Started - t.Started {
			case 0:
				return k
			case -1, 1:
				if near == nil {
					near = k
				}
			}
		}
	}
	return near
}

// deviateTasks sets the changes of tasks.
func (s *Sampler) deviateTasks(d *Deviation) {
	cpu := &d.System.CPU
	used := cpu.Total()
	s.db.unsee()
	n := len(s.present) + len(s.exited)
	if cap(s.changed) < n {
		s.changed = make([]Task, n, n+n/8)
	}
	s.changed = s.changed[:n]
	clear(s.changed)
	d.Tasks = s.changed

	process := -1 // the last process seen, to which threads belong
	activate := func(t *Task) {
		d.ActiveTasks++
		if !t.IsProcess && process >= 0 && d.Tasks[process].Inactive {
			d.Tasks[process].Inactive = false
			d.ActiveTasks++
		}
	}
	for i := range s.present {
		cur, dev := &s.present[i], &d.Tasks[i]
		if cur.IsProcess {
			process = i
			if cur.State == 'Z' {
				d.Zombies++
			} else {
				d.Running += int(cur.Running)
				d.Sleeping += int(cur.Sleeping)
				d.DiskSleep += int(cur.DiskSleep)
				d.Idle += int(cur.Idle)
			}
		}
		k := s.db.find(cur)
		switch {
		case k == nil:
			s.db.add(*cur)
			activate(cur)
			var none Task
			s.growth(dev, cur, &none, used)
			dev.ExitCode |= NewTask
		case k.task == *cur:
			cur.Inactive = true
			s.growth(dev, cur, cur, used)
		default:
			activate(cur)
			s.growth(dev, cur, &k.task, used)
			k.task = *cur
		}
	}
	for i := range s.exited {
		d.ActiveTasks++
		s.exit(&d.Tasks[len(s.present)+i], &s.exited[i])
	}
	s.db.clean()

	s.procs, s.active = s.procs[:0], s.active[:0]
	for i := range d.Tasks {
		if t := &d.Tasks[i]; t.IsProcess {
			s.procs = append(s.procs, t)
			if !t.Inactive {
				s.active = append(s.active, t)
			}
		}
	}
	d.Procs, d.Active = s.procs, s.active
}

// growth sets the changes of a task: those that count from zero for an inactive one.
func (s *Sampler) growth(dev, cur, pre *Task, used Count) {
	*dev = *cur
	if cur.GPU.State == 0 && pre.GPU.State != 0 {
		dev.GPU.State = pre.GPU.State
	} else if cur.GPU.State == 0 {
		dev.GPU = TaskGPU{}
	}
	dev.GPU.MemSum, dev.GPU.Samples = 0, 0
	if cur.Inactive {
		for i := range s.tasks.rows {
			if s.tasks.rows[i].kind == counter {
				*s.tasks.rows[i].field(dev) = 0
			}
		}
		for i := range taskNet {
			*taskNet[i].field(dev) = 0
		}
		dev.RunDelay, dev.BlockDelay, dev.ReadIO, dev.WriteIO = 0, 0, 0, 0
		return
	}
	for i := range s.tasks.rows {
		if f := s.tasks.rows[i].field; s.tasks.rows[i].kind == counter {
			*f(dev) = since(*f(cur), *f(pre))
		}
	}
	for i := range taskNet {
		f := taskNet[i].field
		*f(dev) = *f(cur)
		if *f(cur) >= *f(pre) {
			*f(dev) = since(*f(cur), *f(pre))
		}
	}
	if dev.Sys > used {
		dev.Sys = 1 // some kernels take time back
	}
	if dev.User > used {
		dev.User = 1
	}
	dev.RunDelay, dev.BlockDelay = since(cur.RunDelay, pre.RunDelay), since(cur.BlockDelay, pre.BlockDelay)
	dev.ReadIO, dev.WriteIO = since(cur.ReadIO, pre.ReadIO), since(cur.WriteIO, pre.WriteIO)
	dev.VirtualGrowth, dev.ResidentGrowth = cur.Virtual-pre.Virtual, cur.Resident-pre.Resident
	if cur.GPU.State != 0 {
		dev.GPU.MemSum, dev.GPU.Samples = cur.GPU.MemSum-pre.GPU.MemSum, cur.GPU.Samples-pre.GPU.Samples
	}
}

// exit sets the resource use of a process before it ended.
func (s *Sampler) exit(dev, cur *Task) {
	var pre Task
	k := s.db.find(cur)
	if cur.PID == 0 {
		if k = nil; cur.Started <= s.before.Sec {
			k = s.db.like(cur)
		}
	}
	if k != nil {
		pre = k.task
	}
	// The identity of the process is from its accounting record; its resource use and memory start at 0.
	*dev = Task{
		PID: cur.PID, TGID: cur.TGID, PPID: cur.PPID, RUID: cur.RUID, RGID: cur.RGID, Threads: cur.Threads, Name: cur.Name,
		IsProcess: cur.IsProcess, State: cur.State, ExitCode: cur.ExitCode, Started: cur.Started, Elapsed: cur.Elapsed, Command: pre.Command,
	}
	if cur.PID == 0 {
		dev.PID = pre.PID
	}
	if pre.PID == 0 {
		dev.ExitCode |= NewTask
	}
	dev.Sys, dev.User = max(cur.Sys-pre.Sys, 0), max(cur.User-pre.User, 0)
	dev.MinorFaults, dev.MajorFaults = max(cur.MinorFaults-pre.MinorFaults, 0), max(cur.MajorFaults-pre.MajorFaults, 0)
	dev.ReadIO = max(cur.ReadIO-pre.ReadIO-pre.WriteIO, 0)
	if cur.GPU.State != 0 || pre.GPU.State != 0 {
		if dev.GPU = cur.GPU; dev.GPU.State == 0 {
			dev.GPU.State = pre.GPU.State
		}
		dev.GPU.MemSum, dev.GPU.Samples = cur.GPU.MemSum-pre.GPU.MemSum, cur.GPU.Samples-pre.GPU.Samples
	}
	if pre.PID > 0 {
		s.db.remove(taskKey{pre.PID, pre.IsProcess})
	}
}
