package diagnosistest

import "math"

// A Fault is something wrong with a host, and what a diagnosis must find.
type Fault struct {
	Name    string
	ID      string // of the first finding
	Of      string // a part of its instance, "" for none
	Culprit string // a part of the first taker, "" for none
	Effects string // identifiers of findings that are effects of others

	Change func(s *Stage, since int) // for Stage.Fault
}

func ramp(from, to float64, since, steps int) float64 {
	return from + (to-from)*min(1, float64(since)/float64(steps))
}

// Faults returns the faults.
func Faults() []Fault {
	return []Fault{
		{"busy loop", "cpu.process", "culprit", "culprit", "", func(s *Stage, _ int) {
			s.Level("proc.psinfo.utime", "culprit", 995)
			s.CPU(1300, 100, 0, 0)
		}},
		{"busy loop on one processor without metrics of processes", "cpu.one", "cpu2", "", "", func(s *Stage, _ int) {
			s.CPU(1300, 100, 0, 0)
			s.One("kernel.percpu.cpu.idle", 850)
			s.Level("kernel.percpu.cpu.idle", "cpu2", 2)
			s.Metric("proc.psinfo.utime").Insts = nil
		}},
		{"all processors busy", "cpu.busy", "", "culprit", "cpu.process pressure.cpu", func(s *Stage, _ int) {
			s.Level("proc.psinfo.utime", "culprit", 3800)
			s.CPU(3900, 90, 0, 0)
			s.One("kernel.all.pressure.cpu.some.total", 700_000)
		}},
		{"run queue", "cpu.busy", "", "nginx", "cpu.queue", func(s *Stage, _ int) {
			s.CPU(3800, 200, 0, 0)
			s.Level("proc.psinfo.utime", "nginx", 800)
			s.One("kernel.all.running", 40)
			s.State("nginx", "R")
		}},
		{"memory leak", "memory.short", "", "culprit", "memory.swapping disk.busy tasks.blocked pressure.memory", func(s *Stage, since int) {
			s.Level("proc.memory.rss", "culprit", ramp(2e5, 9.4e6, since, 20))
			s.One("mem.util.available", ramp(0.6, 0.01, since, 20)*physical)
			if since > 15 { // the effects
				s.One("mem.vmstat.pswpout", 20000)
				s.One("mem.vmstat.pswpin", 5000)
				s.Level("disk.dev.avactive", "sda", 999)
				s.Level("disk.dev.aveq", "sda", 60_000)
				s.One("kernel.all.blocked", 12)
				s.State("postgres", "D")
				s.One("kernel.all.pressure.memory.full.total", 500_000)
				s.CPU(400, 400, 2000, 0)
			}
		}},
		{"swap storm", "memory.swapping", "", "culprit", "disk.busy", func(s *Stage, since int) {
			s.One("mem.vmstat.pswpout", 9000)
			s.One("mem.vmstat.pswpin", 9000)
			s.Level("proc.memory.vmswap", "culprit", ramp(0, 2e6, since, 10))
			s.Level("disk.dev.avactive", "sda", 999)
			s.Level("disk.dev.aveq", "sda", 9000)
		}},
		{"killed for memory", "memory.short", "", "culprit", "memory.oom", func(s *Stage, since int) {
			s.Level("proc.memory.rss", "culprit", ramp(2e5, 12e6, since, 10))
			s.One("mem.util.available", ramp(0.6, 0.005, since, 10)*physical)
			s.One("mem.vmstat.oom_kill", 0)
			if since == 12 {
				s.One("mem.vmstat.oom_kill", 0.1)
			}
		}},
		{"cache thrash", "memory.reclaim", "", "culprit", "", func(s *Stage, since int) {
			s.One("mem.vmstat.pgscan_direct", 40000)
			s.Level("proc.memory.rss", "culprit", ramp(2e5, 3e6, since, 10))
		}},
		{"major faults", "memory.faults", "", "postgres", "disk.busy", func(s *Stage, _ int) {
			s.One("mem.vmstat.pgmajfault", 4000)
			s.Level("proc.psinfo.maj_flt", "postgres", 3900)
			s.Level("disk.dev.avactive", "sdb", 999)
			s.Level("disk.dev.aveq", "sdb", 9000)
		}},
		{"slow disk", "disk.slow", "sdb", "postgres", "tasks.blocked", func(s *Stage, _ int) {
			s.Level("disk.dev.total_rawactive", "sdb", 40*700)
			s.One("kernel.all.blocked", 8)
			s.Level("proc.io.read_bytes", "postgres", 5e6)
			s.State("postgres", "D")
		}},
		{"busy disk", "disk.busy", "sda", "culprit", "disk.queue pressure.io", func(s *Stage, _ int) {
			s.Level("disk.dev.avactive", "sda", 1000)
			s.Level("disk.dev.aveq", "sda", 150_000)
			s.Level("disk.dev.total", "sda", 5000)
			s.Level("disk.dev.total_rawactive", "sda", 150_000)
			s.Level("proc.io.write_bytes", "culprit", 3e8)
			s.One("kernel.all.pressure.io.full.total", 700_000)
		}},
		{"uninterruptible tasks", "tasks.blocked", "", "culprit", "", func(s *Stage, _ int) {
			s.One("kernel.all.blocked", 30)
			s.State("culprit", "D")
		}},
		{"frozen file system", "tasks.stuck", "", "culprit", "", func(s *Stage, _ int) {
			s.One("proc.runq.blocked", 6)
			s.State("culprit", "D")
		}},
		{"full file system", "filesystem.full", "/dev/sdb1", "culprit", "", func(s *Stage, since int) {
			s.Level("filesys.full", "sdb1", ramp(40, 100, since, 20))
			s.Level("proc.io.write_bytes", "culprit", 5e7)
		}},
		{"no inodes", "filesystem.inodes", "/dev/sda1", "culprit", "", func(s *Stage, since int) {
			s.Level("filesys.usedfiles", "sda1", ramp(1e5, 1e6, since, 20))
			s.Level("proc.io.syscw", "culprit", 3000)
		}},
		{"open files", "files.open", "", "culprit", "", func(s *Stage, since int) {
			s.One("vfs.files.count", ramp(5000, 99000, since, 20))
			s.Level("proc.fd.count", "culprit", ramp(60, 3000, since, 20))
		}},
		{"many descriptors", "files.process", "culprit", "culprit", "", func(s *Stage, _ int) {
			s.Level("proc.fd.count", "culprit", 50000)
		}},
		{"leak of descriptors", "files.leak", "culprit", "culprit", "files.process", func(s *Stage, since int) {
			s.Level("proc.fd.count", "culprit", ramp(60, 50000, since, 20))
		}},
		{"throttled control group", "cgroup.cpu", "/user.slice/culprit.scope", "culprit.scope", "pressure.cpu", func(s *Stage, _ int) {
			s.Level("cgroup.cpusched.throttled", "culprit", 9.5)
			s.Level("cgroup.cpusched.throttled_time", "culprit", 8e8)
			s.One("kernel.all.pressure.cpu.some.total", 700_000)
		}},
		{"fork bomb at the limit of a control group", "cgroup.pids", "/user.slice/culprit.scope", "culprit.scope", "cgroup.pids-used processes.forks cpu.busy", func(s *Stage, _ int) {
			s.Level("cgroup.pids.current", "culprit", 200)
			s.Level("cgroup.pids.events.max", "culprit", 40)
			s.One("kernel.all.sysfork", 3000)
			s.CPU(1500, 2450, 0, 0)
		}},
		{"control group with all its processes", "cgroup.pids-used", "/user.slice/culprit.scope", "culprit.scope", "", func(s *Stage, since int) {
			s.Level("cgroup.pids.current", "culprit", ramp(20, 199, since, 5))
		}},
		{"limit of memory of a control group", "cgroup.memory", "/user.slice/culprit.scope", "culprit.scope", "cgroup.io", func(s *Stage, _ int) {
			s.Level("cgroup.pressure.memory.full.avg10sec", "culprit", 60)
			s.Level("cgroup.pressure.io.full.avg10sec", "culprit", 85)
		}},
		{"errors of the network", "network.errors", "eth0", "eth0", "tcp.retransmits", func(s *Stage, _ int) {
			s.Level("network.interface.in.errors", "eth0", 250)
			s.One("network.tcp.retranssegs", 300)
		}},
		{"late segments", "tcp.timeouts", "", "", "", func(s *Stage, _ int) {
			s.One("network.tcp.timeouts", 20)
		}},
		{"lost segments", "tcp.retransmits", "", "", "tcp.timeouts", func(s *Stage, _ int) {
			s.One("network.tcp.timeouts", 20)
			s.One("network.tcp.retranssegs", 150)
		}},
		{"changed packets", "network.checksums", "", "", "tcp.retransmits", func(s *Stage, _ int) {
			s.One("network.tcp.incsumerrors", 40)
			s.One("network.tcp.retranssegs", 300)
		}},
		{"connections are refused", "tcp.refused", "", "", "", func(s *Stage, _ int) {
			s.One("network.tcp.attemptfails", 400)
		}},
		{"ports in TIME_WAIT", "tcp.time-wait", "", "", "", func(s *Stage, since int) {
			s.One("network.sockstat.tcp.tw", ramp(40, 28000, since, 5))
		}},
		{"datagrams for no program", "udp.ports", "", "", "", func(s *Stage, _ int) {
			s.One("network.udp.noports", 900)
		}},
		{"full network", "network.sending", "eth0", "", "network.drops", func(s *Stage, _ int) {
			s.Level("network.interface.out.bytes", "eth0", 124.5*(1<<20))
			s.Level("network.interface.out.drops", "eth0", 800)
		}},
		{"backlog of the network", "network.backlog", "", "", "", func(s *Stage, _ int) {
			s.One("network.softnet.dropped", 900)
		}},
		{"connections are not accepted", "tcp.listen", "", "nginx", "", func(s *Stage, _ int) {
			s.One("network.tcp.listenoverflows", 55)
			s.Level("proc.psinfo.utime", "nginx", 600)
		}},
		{"datagrams are not read", "udp.buffers", "", "", "", func(s *Stage, _ int) {
			s.One("network.udp.recvbuferrors", 900)
		}},
		{"steal", "cpu.steal", "", "", "cpu.queue pressure.cpu", func(s *Stage, _ int) {
			s.CPU(1800, 200, 0, 2000)
			s.One("kernel.all.running", 50)
			s.One("kernel.all.pressure.cpu.some.total", 700_000)
		}},
		{"interrupt storm", "cpu.interrupts", "", "line30", "cpu.irq", func(s *Stage, _ int) {
			s.One("kernel.all.intr", 2.5e6)
			s.Level("kernel.all.interrupts.total", "line30", 2.4e6)
			s.One("kernel.all.cpu.irq.hard", 1500)
		}},
		{"fork bomb", "processes.count", "", "bomb", "processes.forks cpu.busy", func(s *Stage, since int) {
			if since < 5 {
				s.Spawn(5000+100*int32(since), 50, "bomb")
			}
			s.One("kernel.all.sysfork", 8000)
			s.One("kernel.all.nprocs", ramp(300, 32000, since, 10))
			s.CPU(1000, 3000, 0, 0)
		}},
		{"processes that are not waited for", "processes.defunct", "", "ended", "", func(s *Stage, since int) {
			if since < 3 {
				s.Spawn(5000+100*int32(since), 60, "ended")
			}
			s.One("proc.runq.defunct", ramp(2, 900, since, 3))
		}},
		{"contended locks", "locks.switches", "", "culprit", "cpu.system", func(s *Stage, _ int) {
			s.One("kernel.all.pswitch", 900_000)
			s.Level("proc.psinfo.vctxsw", "culprit", 850_000)
			s.CPU(300, 2500, 0, 0)
		}},
		{"combination: a leak and a full disk", "memory.short", "", "culprit", "", func(s *Stage, since int) {
			s.Level("proc.memory.rss", "culprit", ramp(2e5, 9.4e6, since, 20))
			s.One("mem.util.available", ramp(0.6, 0.01, since, 20)*physical)
			s.Level("filesys.full", "sdb1", 97)
		}},
	}
}

// A Sound is a host that is busy, and not short of anything.
type Sound struct {
	Name   string
	Change func(s *Stage, step int) // for Stage.Write
}

// SoundHosts returns sound hosts.
func SoundHosts() []Sound {
	return []Sound{
		{"idle", func(*Stage, int) {}},
		{"processors two thirds busy", func(s *Stage, step int) {
			s.CPU(2200+300*math.Sin(float64(step)), 400, 100, 20)
			s.Level("proc.psinfo.utime", "nginx", 700)
			s.Level("proc.psinfo.utime", "postgres", 800)
			s.One("kernel.all.running", 5)
			s.One("kernel.all.pressure.cpu.some.total", 300_000)
		}},
		{"backup", func(s *Stage, _ int) {
			s.CPU(500, 400, 1500, 0)
			s.Level("disk.dev.avactive", "sda", 850)
			s.Level("disk.dev.aveq", "sda", 3000)
			s.Level("disk.dev.total", "sda", 900)
			s.Level("disk.dev.total_rawactive", "sda", 3000)
			s.Level("proc.io.read_bytes", "culprit", 2e8)
			s.One("kernel.all.blocked", 2)
			s.One("kernel.all.pressure.io.full.total", 200_000)
		}},
		{"memory full of caches", func(s *Stage, step int) {
			s.One("mem.util.free", 0.005*physical)
			s.One("mem.util.available", 0.3*physical)
			s.One("swap.used", 3.9*(1<<30))
			s.One("mem.vmstat.pswpin", 10)
			s.One("mem.vmstat.pgmajfault", float64(20+step%7))
		}},
		{"busy network", func(s *Stage, step int) {
			s.Level("network.interface.in.bytes", "eth0", 6e7)
			s.Level("network.interface.out.bytes", "eth0", 8e7)
			s.Level("network.interface.in.drops", "eth0", 2)
			s.One("network.tcp.outsegs", 60000)
			s.One("network.tcp.retranssegs", 120)
			s.One("kernel.all.intr", 90000)
			s.Level("proc.psinfo.utime", "nginx", 500+10*float64(step%5))
		}},
		{"jobs of the lowest priority", func(s *Stage, _ int) {
			s.CPU(200, 100, 0, 0)
			s.One("kernel.all.cpu.nice", 3700)
			s.One("kernel.all.cpu.idle", 0)
			s.One("kernel.percpu.cpu.nice", 950)
			s.One("kernel.percpu.cpu.idle", 0)
			s.Level("proc.psinfo.utime", "culprit", 3700)
			s.Level("proc.psinfo.nice", "culprit", 19)
		}},
		{"a short peak", func(s *Stage, step int) {
			s.CPU(400, 100, 0, 0)
			if step == 30 {
				s.CPU(3900, 100, 0, 0)
				s.One("kernel.all.running", 40)
			} else {
				s.One("kernel.all.running", 1)
			}
		}},
		{"read-only file system that is full", func(s *Stage, _ int) {
			s.Level("filesys.full", "sdb1", 100)
			s.Level("filesys.readonly", "sdb1", 1)
		}},
		{"restart", func(s *Stage, _ int) { s.Mark, s.Reset = 30, true }},
	}
}
