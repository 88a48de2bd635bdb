// Package diagnosistest writes recordings of hosts that are short of something, for tests of diagnoses.
//
//	base := diagnosistest.New(t).Fault(diagnosistest.Faults()[0].Change)
package diagnosistest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// The times of a recording.
const (
	Interval  = 10 * time.Second
	samples   = 60 // ten minutes
	FaultStep = 20 // the sample from which on there is a fault
)

// Start returns the time of the first sample.
func Start() pcp.Timestamp {
	return pcp.TimestampOf(time.Date(2026, 11, 21, 14, 20, 0, 0, time.UTC))
}

// A Stage is a host whose samples are written to an archive.
type Stage struct {
	t       testing.TB
	Metrics []*Metric
	Mark    int  // the sample before which there is a mark record, 0 for none
	Reset   bool // counters begin again there

	Late func(step int) time.Duration // of a sample, nil for none
}

// A Metric is a metric of a Stage.
type Metric struct {
	Name   string
	Desc   pcp.Desc
	Insts  []pcp.Instance
	Values map[int32]float64 // of a counter the change in a second
	Texts  map[int32]string  // in place of Values
	Total  map[int32]float64 // of a counter
}

const (
	processors = 4
	physical   = 16 << 20 // Kbyte
)

// The instance domains.
const (
	diskDomain pcp.InDom = 60<<22 + 1 + iota
	cpuDomain
	interfaceDomain
	fileDomain
	interruptDomain
	// Processes is the domain of processes, and CGroups that of control groups.
	Processes
	CGroups
)

// A domain has the instances of a metric at first.
type domain struct {
	indom pcp.InDom
	insts []pcp.Instance
}

// named returns instances with numbers from 0 on.
func named(names ...string) []pcp.Instance {
	var list []pcp.Instance
	for i, name := range names {
		list = append(list, pcp.Instance{Inst: int32(i), Name: name})
	}
	return list
}

// New returns a sound host: four processors of which a tenth is busy, 16 GB of memory of which 60% are available, two disks.
func New(t testing.TB) *Stage {
	s := &Stage{t: t}
	var (
		none    = pcp.Units{}
		counts  = pcp.NewUnits(0, 0, 1, 0, 0, 0)
		bytes   = pcp.NewUnits(1, 0, 0, pcp.SpaceByte, 0, 0)
		kbytes  = pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0)
		mbytesS = pcp.NewUnits(1, -1, 0, pcp.SpaceMByte, pcp.TimeSec, 0)
		msec    = pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0)
		usec    = pcp.NewUnits(0, 1, 0, 0, pcp.TimeUsec, 0)
		nsec    = pcp.NewUnits(0, 1, 0, 0, pcp.TimeNsec, 0)
	)
	one := domain{pcp.InDomNull, []pcp.Instance{{Inst: pcp.InNull}}}
	procs := domain{Processes, []pcp.Instance{
		{Inst: 1, Name: "000001 /sbin/init"},
		{Inst: 800, Name: "000800 /usr/sbin/nginx -g daemon off;"},
		{Inst: 900, Name: "000900 /usr/lib/postgresql/bin/postgres -D /data"},
		{Inst: 4711, Name: "004711 /usr/bin/culprit --fast"},
	}}
	groups := domain{CGroups, named("/", "/system.slice", "/system.slice/nginx.service", "/user.slice/culprit.scope")}
	disks := domain{diskDomain, named("sda", "sdb")}
	nets := domain{interfaceDomain, named("eth0", "lo")}
	files := domain{fileDomain, named("/dev/sda1", "/dev/sdb1")}
	irqs := domain{interruptDomain, named("line16", "line30")}
	cpus := domain{cpuDomain, named("cpu0", "cpu1", "cpu2", "cpu3")}
	c, g := pcp.SemCounter, pcp.SemInstant
	add := func(name string, sem pcp.Sem, u pcp.Units, of domain, value float64) *Metric {
		m := &Metric{Name: name, Insts: of.insts, Values: map[int32]float64{}, Total: map[int32]float64{}}
		m.Desc = pcp.Desc{PMID: pcp.NewPMID(60, 1, len(s.Metrics)), Type: pcp.TypeDouble, InDom: of.indom, Sem: sem, Units: u}
		if sem == c {
			m.Desc.Type = pcp.TypeU64
		}
		for _, in := range of.insts {
			m.Values[in.Inst] = value
		}
		s.Metrics = append(s.Metrics, m)
		return m
	}
	text := func(name string, of domain, values ...string) {
		m := add(name, g, none, of, 0)
		m.Desc.Type, m.Texts = pcp.TypeString, map[int32]string{}
		for i, in := range of.insts {
			m.Texts[in.Inst] = values[min(i, len(values)-1)]
		}
	}
	add("hinv.ncpu", g, none, one, processors)
	add("mem.physmem", g, kbytes, one, physical)
	add("mem.util.available", g, kbytes, one, 0.6*physical)
	add("mem.util.free", g, kbytes, one, 0.02*physical)
	add("swap.used", g, bytes, one, 0)
	add("swap.length", g, bytes, one, 4<<30)
	for _, name := range []string{"pswpin", "pswpout", "pgscan_direct", "oom_kill"} {
		add("mem.vmstat."+name, c, counts, one, 0)
	}
	add("mem.vmstat.pgmajfault", c, counts, one, 5)
	add("kernel.all.cpu.user", c, msec, one, 300)
	add("kernel.all.cpu.nice", c, msec, one, 0)
	add("kernel.all.cpu.sys", c, msec, one, 100)
	add("kernel.all.cpu.idle", c, msec, one, 1000*processors-400)
	add("kernel.all.cpu.wait.total", c, msec, one, 0)
	add("kernel.all.cpu.steal", c, msec, one, 0)
	add("kernel.all.cpu.irq.hard", c, msec, one, 5)
	add("kernel.all.cpu.irq.soft", c, msec, one, 5)
	add("kernel.percpu.cpu.idle", c, msec, cpus, 900)
	add("kernel.percpu.cpu.wait.total", c, msec, cpus, 0)
	add("kernel.percpu.cpu.nice", c, msec, cpus, 0)
	add("kernel.all.intr", c, counts, one, 4000)
	add("kernel.all.interrupts.total", c, counts, irqs, 1000)
	add("kernel.all.pswitch", c, counts, one, 9000)
	add("kernel.all.sysfork", c, counts, one, 12)
	add("kernel.all.nprocs", g, none, one, 300)
	add("kernel.all.pid_max", g, none, one, 32768)
	add("proc.runq.defunct", g, none, one, 2)
	add("kernel.all.running", g, none, one, 1)
	add("kernel.all.blocked", g, none, one, 0)
	add("proc.runq.blocked", g, none, one, 0)
	add("kernel.all.pressure.cpu.some.total", c, usec, one, 20000)
	add("kernel.all.pressure.memory.full.total", c, usec, one, 0)
	add("kernel.all.pressure.io.full.total", c, usec, one, 10000)
	add("vfs.files.count", g, none, one, 5000)
	add("vfs.files.max", g, none, one, 100000)
	add("disk.dev.avactive", c, msec, disks, 50)
	add("disk.dev.aveq", c, msec, disks, 80)
	add("disk.dev.total", c, counts, disks, 40)
	add("disk.dev.total_rawactive", c, msec, disks, 80)
	add("filesys.full", g, none, files, 40)
	add("filesys.usedfiles", g, none, files, 1e5)
	add("filesys.maxfiles", g, none, files, 1e6)
	add("filesys.readonly", g, none, files, 0)
	text("filesys.mountdir", files, "/", "/data")
	add("network.interface.in.bytes", c, bytes, nets, 2e5)
	add("network.interface.out.bytes", c, bytes, nets, 3e5)
	for _, name := range []string{"in.errors", "out.errors", "in.drops", "out.drops"} {
		add("network.interface."+name, c, counts, nets, 0)
	}
	add("network.interface.speed", g, mbytesS, nets, 125)
	s.Level("network.interface.speed", "lo", 0)
	add("network.tcp.outsegs", c, counts, one, 2000)
	add("network.tcp.retranssegs", c, counts, one, 1)
	add("network.tcp.listenoverflows", c, counts, one, 0)
	for _, name := range []string{"tcp.attemptfails", "tcp.incsumerrors", "tcp.timeouts", "udp.incsumerrors", "udp.noports", "softnet.dropped"} {
		add("network."+name, c, counts, one, 0)
	}
	add("network.sockstat.tcp.tw", g, counts, one, 40)
	add("network.udp.recvbuferrors", c, counts, one, 0)
	add("cgroup.cpuacct.usage", c, nsec, groups, 1e8).Values[0] = 4e9 // the root has all of the host, and is never a culprit
	add("cgroup.cpusched.periods", c, counts, groups, 10)
	add("cgroup.cpusched.throttled", c, counts, groups, 0)
	add("cgroup.cpusched.throttled_time", c, nsec, groups, 0)
	add("cgroup.memory.current", g, bytes, groups, 3e8).Values[0] = 16e9
	add("cgroup.pids.current", g, none, groups, 20)
	add("cgroup.pids.max", g, none, groups, 200)
	add("cgroup.pids.events.max", c, counts, groups, 0)
	add("cgroup.pressure.memory.full.avg10sec", g, none, groups, 0)
	add("cgroup.pressure.io.full.avg10sec", g, none, groups, 0)
	add("proc.psinfo.utime", c, msec, procs, 30)
	add("proc.psinfo.stime", c, msec, procs, 10)
	add("proc.psinfo.nice", g, none, procs, 0)
	add("proc.psinfo.maj_flt", c, counts, procs, 0)
	add("proc.psinfo.vctxsw", c, counts, procs, 100)
	add("proc.psinfo.nvctxsw", c, counts, procs, 10)
	add("proc.psinfo.cmin_flt", c, counts, procs, 0)
	add("proc.memory.rss", g, kbytes, procs, 2e5)
	s.Level("proc.memory.rss", "postgres", 4<<20)
	add("proc.memory.vmswap", g, kbytes, procs, 0)
	add("proc.io.read_bytes", c, bytes, procs, 1000)
	add("proc.io.write_bytes", c, bytes, procs, 1000)
	add("proc.io.syscw", c, counts, procs, 5)
	add("proc.fd.count", g, counts, procs, 60)
	text("proc.psinfo.cmd", procs, "init", "nginx", "postgres", "culprit")
	text("proc.psinfo.sname", procs, "S")
	text("proc.psinfo.cgroups", procs, "0::/init.scope", ":/system.slice/nginx.service", ":/system.slice/postgresql.service", ":/user.slice/culprit.scope")
	text("proc.id.uid_nm", procs, "root", "www", "postgres", "mallory")
	for _, in := range procs.insts {
		s.Metric("proc.psinfo.utime").Total[in.Inst] = 1e6
	}
	return s
}

// Metric returns the metric with a name.
func (s *Stage) Metric(name string) *Metric {
	i := slices.IndexFunc(s.Metrics, func(m *Metric) bool { return m.Name == name })
	if i < 0 {
		s.t.Fatalf("no metric %s is staged", name)
	}
	return s.Metrics[i]
}

// Level sets the value of a metric, of a counter the change in a second, for the instances with a text in their names.
func (s *Stage) Level(name, inst string, v float64) {
	s.t.Helper()
	m, found := s.Metric(name), false
	for _, in := range m.Insts {
		if strings.Contains(in.Name, inst) {
			m.Values[in.Inst], found = v, true
		}
	}
	if !found {
		s.t.Fatalf("%s has no instance %q", name, inst)
	}
}

// One is Level for all instances.
func (s *Stage) One(name string, v float64) {
	s.t.Helper()
	s.Level(name, "", v)
}

// Spawn adds n processes with numbers from pid on.
func (s *Stage) Spawn(pid int32, n int, name string) {
	for _, m := range s.Metrics {
		if m.Desc.InDom != Processes {
			continue
		}
		m.Insts = slices.Clone(m.Insts)
		for i := range int32(n) {
			m.Insts = append(m.Insts, pcp.Instance{Inst: pid + i, Name: fmt.Sprintf("%06d %s", pid+i, name)})
			if m.Texts != nil {
				m.Texts[pid+i] = name
			}
		}
	}
}

// State sets the state of processes.
func (s *Stage) State(process, state string) {
	m := s.Metric("proc.psinfo.sname")
	for _, in := range m.Insts {
		if strings.Contains(in.Name, process) {
			m.Texts[in.Inst] = state
		}
	}
}

// Drop removes metrics.
func (s *Stage) Drop(prefix string) {
	s.Metrics = slices.DeleteFunc(s.Metrics, func(m *Metric) bool { return strings.HasPrefix(m.Name, prefix) })
}

// CPU has the processors busy, in milliseconds a second of all.
func (s *Stage) CPU(user, sys, wait, steal float64) {
	s.One("kernel.all.cpu.user", user)
	s.One("kernel.all.cpu.sys", sys)
	s.One("kernel.all.cpu.wait.total", wait)
	s.One("kernel.all.cpu.steal", steal)
	idle := max(0, 1000*processors-user-sys-wait-steal)
	s.One("kernel.all.cpu.idle", idle)
	s.One("kernel.percpu.cpu.idle", idle/processors)
	s.One("kernel.percpu.cpu.wait.total", wait/processors)
}

// Write writes an archive and returns its name. It calls change before each sample.
func (s *Stage) Write(change func(s *Stage, step int)) (base string) {
	s.t.Helper()
	base = filepath.Join(s.t.TempDir(), "stage")
	s.WriteTo(base, change)
	return base
}

// WriteTo is Write, for an archive of a name.
func (s *Stage) WriteTo(base string, change func(s *Stage, step int)) {
	s.t.Helper()
	start := Start()
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: archive.Version3, PID: 1, Host: "web1", TimeZone: "UTC", Start: start}})
	if err != nil {
		s.t.Fatal(err)
	}
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	for _, m := range s.Metrics {
		must(w.Desc(m.Desc, m.Name))
	}
	var res pcp.Result
	for step := range samples {
		at := start.Add(time.Duration(step) * Interval)
		if s.Late != nil {
			at = at.Add(s.Late(step))
		}
		change(s, step)
		if s.Mark > 0 && step == s.Mark {
			must(w.Mark(at.Add(-time.Second)))
			if s.Reset {
				for _, m := range s.Metrics {
					clear(m.Total)
				}
			}
		}
		res.Reset()
		res.Time = at
		for _, m := range s.Metrics {
			if m.Desc.InDom != pcp.InDomNull {
				must(w.InDom(at, m.Desc.InDom, m.Insts))
			}
			res.AddSet(m.Desc.PMID)
			for _, in := range m.Insts {
				v := pcp.DoubleValue(m.Values[in.Inst])
				switch {
				case m.Texts != nil:
					v = pcp.StringValue(m.Texts[in.Inst])
				case m.Desc.Sem == pcp.SemCounter:
					m.Total[in.Inst] += m.Values[in.Inst] * Interval.Seconds()
					v = pcp.Uint64Value(uint64(m.Total[in.Inst]))
				}
				res.Add(v.WithInst(in.Inst))
			}
		}
		must(w.WriteResult(&res))
	}
	must(w.Close())
}

// Fault is Write, with a change that lasts from FaultStep on.
func (s *Stage) Fault(change func(s *Stage, since int)) string {
	return s.Write(late(change))
}

// FaultTo is Fault, for an archive of a name.
func (s *Stage) FaultTo(base string, change func(s *Stage, since int)) { s.WriteTo(base, late(change)) }

func late(change func(s *Stage, since int)) func(s *Stage, step int) {
	return func(s *Stage, step int) {
		if step >= FaultStep {
			change(s, step-FaultStep)
		}
	}
}
