package toptest

import (
	"fmt"
	"math"

	"github.com/go-pcp/pcp"
)

// Instance domains.
var (
	cpus    = pcp.NewInDom(domain, 0)
	loads   = pcp.NewInDom(domain, 1)
	disks   = pcp.NewInDom(domain, 2)
	files   = pcp.NewInDom(domain, 3)
	nics    = pcp.NewInDom(domain, 4)
	periods = pcp.NewInDom(domain, 5)
	procs   = pcp.NewInDom(domain, 6)
	groups  = pcp.NewInDom(domain, 7)
	boxes   = pcp.NewInDom(domain, 8)
	sockets = pcp.NewInDom(domain, 9)
	netting = pcp.NewInDom(domain, 10) // processes that use the network
	drawing = pcp.NewInDom(domain, 11) // and graphics cards
)

// Units.
var (
	kbyte  = pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0)
	bytes  = pcp.NewUnits(1, 0, 0, pcp.SpaceByte, 0, 0)
	msec   = pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0)
	usec   = pcp.NewUnits(0, 1, 0, 0, pcp.TimeUsec, 0)
	nsec   = pcp.NewUnits(0, 1, 0, 0, pcp.TimeNsec, 0)
	sec    = pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0)
	ones   = pcp.NewUnits(0, 0, 1, 0, 0, 0)
	noUnit = pcp.Units{}
)

// A process is one of the host.
type process struct {
	pid, parent                    int32
	owner, name, args, cgroup, tty string
	state                          string
	cpu, rss                       float64 // share, kbytes
	read, written                  float64
	nice                           int32
	threads                        uint32
	from, until                    float64 // seconds; until 0 is for ever
	group                          int32   // the process that a thread is of, 0 for a process
}

// threadsOf are the threads of rustc, besides its first.
var threadsOf = []process{
	{pid: 578, group: 577, parent: 402, owner: "alice", name: "opt cgu.0", args: "rustc --crate-name server --edition=2021 src/main.rs", cgroup: "/user.slice/user-1000.slice", state: "R", cpu: 0.9, rss: 900 << 10, threads: 9, from: 300, until: 540},
	{pid: 579, group: 577, parent: 402, owner: "alice", name: "opt cgu.1", args: "rustc --crate-name server --edition=2021 src/main.rs", cgroup: "/user.slice/user-1000.slice", cpu: 0.6, rss: 900 << 10, threads: 9, from: 300, until: 540},
	{pid: 803, group: 801, parent: 1, owner: "www-data", name: "nginx:log", args: "nginx: worker process", cgroup: "/system.slice/nginx.service", cpu: 0.05, rss: 48 << 10, threads: 2},
}

// named are the processes used in tests.
var named = []process{
	{pid: 1, owner: "root", name: "systemd", args: "/sbin/init splash", cgroup: "/init.scope", cpu: 0.001, rss: 12 << 10, threads: 1},
	{pid: 2, owner: "root", name: "kthreadd", args: "(kthreadd)", cgroup: "/", threads: 1},
	{pid: 17, parent: 2, owner: "root", name: "ksoftirqd/0", args: "(ksoftirqd/0)", cgroup: "/", cpu: 0.002, threads: 1},
	{pid: 310, parent: 1, owner: "root", name: "sshd", args: "sshd: /usr/sbin/sshd -D [listener]", cgroup: "/system.slice/ssh.service", rss: 8 << 10, threads: 1},
	{pid: 402, parent: 310, owner: "alice", name: "bash", args: "-bash", cgroup: "/user.slice/user-1000.slice", tty: "pts/0", rss: 6 << 10, threads: 1},
	{pid: 577, parent: 402, owner: "alice", name: "rustc", args: "rustc --crate-name server --edition=2021 src/main.rs", cgroup: "/user.slice/user-1000.slice", tty: "pts/0", state: "R", cpu: 1.7, rss: 900 << 10, written: 3 << 20, threads: 9, nice: 10, from: 300, until: 540},
	{pid: 690, parent: 1, owner: "postgres", name: "postgres", args: "/usr/lib/postgresql/17/bin/postgres -D /var/lib/postgresql/17/main", cgroup: "/system.slice/postgresql.service", cpu: 0.12, rss: 410 << 10, read: 2 << 20, written: 1 << 20, threads: 1},
	{pid: 691, parent: 690, owner: "postgres", name: "postgres", args: "postgres: 17/main: checkpointer", cgroup: "/system.slice/postgresql.service", state: "D", cpu: 0.03, rss: 95 << 10, written: 4 << 20, threads: 1},
	{pid: 692, parent: 690, owner: "postgres", name: "postgres", args: "postgres: 17/main: walwriter", cgroup: "/system.slice/postgresql.service", cpu: 0.01, rss: 12 << 10, threads: 1},
	{pid: 801, parent: 1, owner: "www-data", name: "nginx", args: "nginx: worker process", cgroup: "/system.slice/nginx.service", state: "R", cpu: 0.35, rss: 48 << 10, threads: 1},
	{pid: 802, parent: 1, owner: "www-data", name: "nginx", args: "nginx: worker process", cgroup: "/system.slice/nginx.service", cpu: 0.31, rss: 47 << 10, threads: 1},
	{pid: 950, parent: 402, owner: "alice", name: "evil", args: "evil\x1b[2J\x1b]0;title\x07 \r\nnext\tline \u202egnp.exe", cgroup: "/user.slice/user-1000.slice", tty: "pts/0", cpu: 0.02, rss: 1 << 10, threads: 1},
	{pid: 951, parent: 402, owner: "björn", name: "プロセス", args: "プロセス管理 --名前 日本語 e\u0301te\u0301 \xff\xfe", cgroup: "/user.slice/user-1000.slice", cpu: 0.015, rss: 2 << 10, threads: 1},
	{pid: 999, parent: 1, owner: "nobody", name: "defunct", args: "(defunct)", cgroup: "/", state: "Z", threads: 1},
}

func (h *Host) processes(t float64, yield func(*process)) {
	for i := range named {
		if p := &named[i]; t >= p.from && (p.until == 0 || t < p.until) && !(h.Steady && p.until > 0) {
			yield(p)
		}
	}
	for i := range threadsOf {
		if p := &threadsOf[i]; h.Threads && t >= p.from && (p.until == 0 || t < p.until) {
			yield(p)
		}
	}
}

// moreFrom is the first PID of the other processes.
const moreFrom = 10000

func (h *Host) process(inst int32) *process {
	if inst >= moreFrom {
		return &process{
			pid: inst, parent: 1, owner: "app", name: "worker", args: fmt.Sprintf("/opt/app/bin/worker --shard %d", inst-moreFrom),
			cgroup: "/system.slice/app.service", cpu: float64(inst%7) / 1000, rss: float64(2000 + inst%500*16), threads: 4,
		}
	}
	for _, list := range [][]process{named, threadsOf} {
		for i := range list {
			if list[i].pid == inst {
				return &list[i]
			}
		}
	}
	return &process{}
}

func members(list ...pcp.Instance) func(float64) []pcp.Instance {
	return func(float64) []pcp.Instance { return list }
}

// define fills in the metrics.
func (h *Host) define() {
	inst := func(n int32, name string) pcp.Instance { return pcp.Instance{Inst: n, Name: name} }
	h.indoms[cpus] = members(inst(0, "cpu0"), inst(1, "cpu1"), inst(2, "cpu2"), inst(3, "cpu3"))
	h.indoms[loads] = members(inst(1, "1 minute"), inst(5, "5 minute"), inst(15, "15 minute"))
	h.indoms[disks] = members(inst(0, "nvme0n1"), inst(1, "sda"))
	h.indoms[files] = members(inst(0, "/dev/nvme0n1p2"), inst(1, "/dev/sda1"))
	h.indoms[nics] = members(inst(0, "lo"), inst(1, "eth0"), inst(2, "wlan0"))
	h.indoms[periods] = members(inst(10, "10 second"), inst(60, "1 minute"), inst(300, "5 minute"))
	h.indoms[groups] = members(inst(0, "/"), inst(1, "/system.slice"), inst(2, "/system.slice/nginx.service"),
		inst(3, "/system.slice/postgresql.service"), inst(4, "/system.slice/ssh.service"), inst(5, "/user.slice"), inst(6, "/user.slice/user-1000.slice"), inst(7, "/init.scope"))
	var list []pcp.Instance
	h.indoms[procs] = func(t float64) []pcp.Instance {
		list = list[:0]
		h.processes(t, func(p *process) { list = append(list, inst(p.pid, fmt.Sprintf("%06d %s", p.pid, p.args))) })
		for i := range int32(h.More) {
			list = append(list, inst(moreFrom+i, fmt.Sprintf("%06d worker", moreFrom+i)))
		}
		return list
	}
	h.system()
	h.devices()
	h.tasks()
	h.more()
}

func (h *Host) add(name string, typ pcp.Type, sem pcp.Sem, units pcp.Units, indom pcp.InDom, value func(t float64, inst int32) pcp.Value) {
	n := len(h.metrics)
	h.metrics = append(h.metrics, metric{name, pcp.Desc{PMID: pcp.NewPMID(domain, n/1000, n%1000), Type: typ, Sem: sem, Units: units, InDom: indom}, value})
}

func (h *Host) counter(name string, units pcp.Units, indom pcp.InDom, f func(t float64, inst int32) float64) {
	h.add(name, pcp.TypeU64, pcp.SemCounter, units, indom, func(t float64, i int32) pcp.Value { return pcp.Uint64Value(uint64(1000 + f(t, i))) })
}

func (h *Host) gauge(name string, units pcp.Units, indom pcp.InDom, f func(t float64, inst int32) float64) {
	h.add(name, pcp.TypeU64, pcp.SemInstant, units, indom, func(t float64, i int32) pcp.Value { return pcp.Uint64Value(uint64(f(t, i))) })
}

func (h *Host) real(name string, units pcp.Units, indom pcp.InDom, f func(t float64, inst int32) float64) {
	h.add(name, pcp.TypeDouble, pcp.SemInstant, units, indom, func(t float64, i int32) pcp.Value { return pcp.DoubleValue(f(t, i)) })
}

func (h *Host) text(name string, indom pcp.InDom, f func(inst int32) string) {
	h.add(name, pcp.TypeString, pcp.SemDiscrete, noUnit, indom, func(_ float64, i int32) pcp.Value { return pcp.StringValue(f(i)) })
}

func (h *Host) system() {
	null := pcp.InDomNull
	// The four processors share 1000 milliseconds a second each.
	for _, k := range []struct {
		name                string
		mean, swing, period float64
	}{{"user", 220, 180, 120}, {"nice", 20, 0, 60}, {"sys", 90, 60, 90}, {"idle", 640, -240, 100}, {"wait.total", 20, 15, 70}, {"intr", 8, 4, 50}, {"steal", 2, 0, 50}} {
		of := func(t float64, i int32) float64 {
			return grow(t+17*float64(i), k.mean*(1+0.2*float64(i)), k.swing, k.period)
		}
		h.counter("kernel.percpu.cpu."+k.name, msec, cpus, of)
		h.counter("kernel.all.cpu."+k.name, msec, null, func(t float64, _ int32) float64 { return of(t, 0) + of(t, 1) + of(t, 2) + of(t, 3) })
	}
	h.real("kernel.all.load", noUnit, loads, func(t float64, i int32) float64 { return swing(t, 1.5, 0.8/float64(i), 300) })
	h.gauge("hinv.ncpu", noUnit, null, func(float64, int32) float64 { return 4 })
	h.real("kernel.all.uptime", sec, null, func(t float64, _ int32) float64 { return 93784 + t })
	h.gauge("kernel.all.nprocs", noUnit, null, func(t float64, _ int32) float64 { return float64(len(h.indoms[procs](t))) })
	h.gauge("kernel.all.running", noUnit, null, func(t float64, _ int32) float64 { return 2 + math.Floor(swing(t, 1, 1, 60)) })
	h.gauge("kernel.all.blocked", noUnit, null, func(float64, int32) float64 { return 1 })
	h.gauge("kernel.all.nusers", noUnit, null, func(float64, int32) float64 { return 3 })
	h.counter("kernel.all.pswitch", ones, null, func(t float64, _ int32) float64 { return grow(t, 8000, 3000, 75) })
	h.counter("kernel.all.intr", ones, null, func(t float64, _ int32) float64 { return grow(t, 4200, 900, 75) })
	h.counter("kernel.all.sysfork", ones, null, func(t float64, _ int32) float64 { return grow(t, 12, 5, 75) })
	h.text("kernel.uname.sysname", null, func(int32) string { return "Linux" })
	h.text("kernel.uname.release", null, func(int32) string { return "6.12.9-amd64" })
	h.text("kernel.uname.machine", null, func(int32) string { return "x86_64" })
	h.gauge("mem.physmem", kbyte, null, func(float64, int32) float64 { return 16 << 20 })
	h.gauge("mem.util.free", kbyte, null, func(t float64, _ int32) float64 { return swing(t, 2<<20, 1<<20, 200) })
	h.gauge("mem.util.available", kbyte, null, func(t float64, _ int32) float64 { return swing(t, 9<<20, 1<<20, 200) })
	h.gauge("mem.util.bufmem", kbyte, null, func(float64, int32) float64 { return 300 << 10 })
	h.gauge("mem.util.cached", kbyte, null, func(float64, int32) float64 { return 6 << 20 })
	h.gauge("mem.util.slabReclaimable", kbyte, null, func(float64, int32) float64 { return 500 << 10 })
	h.gauge("mem.util.shmem", kbyte, null, func(float64, int32) float64 { return 200 << 10 })
	h.gauge("mem.util.dirty", kbyte, null, func(t float64, _ int32) float64 { return swing(t, 30<<10, 20<<10, 45) })
	h.gauge("swap.length", bytes, null, func(float64, int32) float64 { return 4 << 30 })
	h.gauge("swap.used", bytes, null, func(float64, int32) float64 { return 512 << 20 })
	h.counter("swap.pagesin", ones, null, func(t float64, _ int32) float64 { return t })
	h.counter("swap.pagesout", ones, null, func(t float64, _ int32) float64 { return 2 * t })
	for _, k := range []struct {
		name        string
		mean, swing float64
	}{{"cpu.some", 80e3, 60e3}, {"memory.some", 5e3, 5e3}, {"memory.full", 2e3, 2e3}, {"io.some", 150e3, 140e3}, {"io.full", 90e3, 80e3}} {
		h.counter("kernel.all.pressure."+k.name+".total", usec, null, func(t float64, _ int32) float64 { return grow(t, k.mean, k.swing, 180) })
		h.real("kernel.all.pressure."+k.name+".avg", noUnit, periods, func(t float64, i int32) float64 { return swing(t, k.mean, k.swing/float64(i), 180) / 1e4 })
	}
}

func (h *Host) devices() {
	null := pcp.InDomNull
	for _, k := range []struct {
		name        string
		units       pcp.Units
		mean, swing float64
	}{
		{"read", ones, 120, 100},
		{"write", ones, 60, 50},
		{"read_bytes", kbyte, 4096, 4000},
		{"write_bytes", kbyte, 2048, 1500},
		{"avactive", msec, 400, 390},
		{"aveq", msec, 900, 880},
		{"read_rawactive", msec, 150, 100},
		{"write_rawactive", msec, 300, 200},
	} {
		of := func(t float64, i int32) float64 { return grow(t, k.mean/float64(1+3*i), k.swing/float64(1+3*i), 80) }
		h.counter("disk.dev."+k.name, k.units, disks, of)
		h.counter("disk.all."+k.name, k.units, null, func(t float64, _ int32) float64 { return of(t, 0) + of(t, 1) })
	}
	h.gauge("filesys.capacity", kbyte, files, func(_ float64, i int32) float64 { return float64(200<<20) * float64(1+4*i) })
	h.gauge("filesys.used", kbyte, files, func(t float64, i int32) float64 { return float64(184<<20)/float64(1+i) + 20*t })
	h.gauge("filesys.avail", kbyte, files, func(t float64, i int32) float64 { return float64(10<<20)*float64(1+80*i) - 20*t })
	h.gauge("filesys.maxfiles", noUnit, files, func(float64, int32) float64 { return 12e6 })
	h.gauge("filesys.usedfiles", noUnit, files, func(_ float64, i int32) float64 { return 3e6 / float64(1+i) })
	h.text("filesys.mountdir", files, func(i int32) string { return []string{"/", "/srv/data"}[i] })
	h.text("filesys.type", files, func(i int32) string { return []string{"ext4", "xfs"}[i] })
	for _, k := range []struct {
		name        string
		units       pcp.Units
		mean, swing float64
	}{
		{"in.bytes", bytes, 3e6, 2.9e6},
		{"out.bytes", bytes, 4e5, 3e5},
		{"in.packets", ones, 2500, 2400},
		{"out.packets", ones, 1200, 1100},
		{"in.errors", ones, 0, 0},
		{"out.errors", ones, 0, 0},
		{"in.drops", ones, 0.5, 0.5},
		{"out.drops", ones, 0, 0},
	} {
		h.counter("network.interface."+k.name, k.units, nics, func(t float64, i int32) float64 {
			return grow(t, k.mean/float64(1+5*i), k.swing/float64(1+5*i), 150)
		})
	}
	h.gauge("network.interface.baudrate", bytes, nics, func(_ float64, i int32) float64 { return []float64{0, 125e6, 75e6}[i] })
	h.gauge("network.tcp.currestab", ones, null, func(t float64, _ int32) float64 { return swing(t, 48, 20, 200) })
	for name, mean := range map[string]float64{
		"network.tcp.activeopens": 3, "network.tcp.passiveopens": 14, "network.tcp.retranssegs": 1, "network.tcp.insegs": 2400,
		"network.tcp.outsegs": 1900, "network.tcp.inerrs": 0, "network.udp.indatagrams": 30, "network.udp.outdatagrams": 31, "network.udp.inerrors": 0,
	} {
		h.counter(name, ones, null, func(t float64, _ int32) float64 { return mean * t })
	}
}

func (h *Host) tasks() {
	num := func(name string, units pcp.Units, f func(p *process) float64) {
		h.gauge(name, units, procs, func(_ float64, i int32) float64 { return f(h.process(i)) })
	}
	sum := func(name string, units pcp.Units, f func(p *process, t float64) float64) {
		h.counter(name, units, procs, func(t float64, i int32) float64 { return f(h.process(i), t) })
	}
	words := func(name string, f func(p *process) string) {
		h.text(name, procs, func(i int32) string { return f(h.process(i)) })
	}
	// Counters of a process do not depend on when it started: tests look at rates.
	sum("proc.psinfo.utime", msec, func(p *process, t float64) float64 { return 700 * grow(t, p.cpu, p.cpu/4, 40) })
	sum("proc.psinfo.stime", msec, func(p *process, t float64) float64 { return 300 * grow(t, p.cpu, p.cpu/4, 40) })
	num("proc.psinfo.rss", kbyte, func(p *process) float64 { return p.rss })
	num("proc.psinfo.vsize", kbyte, func(p *process) float64 { return 3 * p.rss })
	words("proc.psinfo.sname", func(p *process) string {
		if p.state == "" {
			return "S"
		}
		return p.state
	})
	num("proc.psinfo.ppid", noUnit, func(p *process) float64 { return float64(p.parent) })
	words("proc.psinfo.cmd", func(p *process) string { return p.name })
	h.add("proc.psinfo.nice", pcp.Type32, pcp.SemDiscrete, noUnit, procs, func(_ float64, i int32) pcp.Value { return pcp.Int32Value(h.process(i).nice) })
	h.add("proc.psinfo.priority", pcp.Type32, pcp.SemDiscrete, noUnit, procs, func(_ float64, i int32) pcp.Value { return pcp.Int32Value(20 + h.process(i).nice) })
	num("proc.psinfo.start_time", msec, func(p *process) float64 { return 1000 * (p.from + float64(p.pid%900)) })
	num("proc.psinfo.processor", noUnit, func(p *process) float64 { return float64(p.pid % 4) })
	words("proc.psinfo.psargs", func(p *process) string { return p.args })
	num("proc.psinfo.threads", noUnit, func(p *process) float64 { return float64(p.threads) })
	words("proc.id.uid_nm", func(p *process) string { return p.owner })
	words("proc.psinfo.cgroups", func(p *process) string { return ":" + p.cgroup })
	words("proc.psinfo.ttyname", func(p *process) string { return p.tty })
	sum("proc.io.read_bytes", bytes, func(p *process, t float64) float64 { return grow(t, p.read, p.read/2, 40) })
	sum("proc.io.write_bytes", bytes, func(p *process, t float64) float64 { return grow(t, p.written, p.written/2, 40) })
	h.counter("cgroup.cpu.stat.usage", usec, groups, func(t float64, i int32) float64 { return grow(t, 1e5*float64(1+i), 5e4, 60) })
	h.gauge("cgroup.memory.current", bytes, groups, func(_ float64, i int32) float64 { return float64(int(100<<20) * int(1+i)) })
	h.real("cgroup.pressure.cpu.some.avg10sec", noUnit, groups, func(t float64, i int32) float64 { return swing(t, 5, float64(i)/2, 60) })
	h.real("cgroup.pressure.memory.some.avg10sec", noUnit, groups, func(float64, int32) float64 { return 0 })
	h.real("cgroup.pressure.io.some.avg10sec", noUnit, groups, func(_ float64, i int32) float64 { return float64(i) })
}

// more defines the metrics that few hosts have.
func (h *Host) more() {
	inst := func(n int32, name string) pcp.Instance { return pcp.Instance{Inst: n, Name: name} }
	h.gauge("proc.psinfo.tgid", noUnit, procs, func(_ float64, i int32) float64 {
		if p := h.process(i); p.group != 0 {
			return float64(p.group)
		}
		return float64(i)
	})
	h.add(perClientThreads, pcp.TypeU32, pcp.SemInstant, noUnit, pcp.InDomNull, func(float64, int32) pcp.Value { return pcp.Uint32Value(0) })
	h.indoms[netting] = members(inst(310, "310"), inst(690, "690"), inst(801, "801"), inst(802, "802"))
	for name, mean := range map[string]float64{"tcp.recv": 2e5, "tcp.send": 9e5, "udp.recv": 0, "udp.send": 120} {
		h.counter("bpf.proc.net."+name+".bytes", bytes, netting, func(t float64, i int32) float64 { return grow(t, mean/float64(i-300), mean/float64(i-299), 40) })
	}
	modules := pcp.NewInDom(domain, 12)
	h.indoms[modules] = members(inst(0, "biolatency"), inst(1, "netatop"))
	h.text("bpf.module.state", modules, func(i int32) string { return []string{"running", h.NetModule}[i] })
	h.indoms[drawing] = members(inst(402, "000402"))
	h.counter("drm.proc.time", nsec, drawing, func(t float64, _ int32) float64 { return grow(t, 3e8, 1e8, 40) })
	h.gauge("drm.proc.memory", bytes, drawing, func(float64, int32) float64 { return 700 << 20 })
	h.indoms[sockets] = members(inst(1, "tcp/10.0.0.1:80"), inst(2, "tcp/10.0.0.1:5432"))
	h.text("network.persocket.cgroup", sockets, func(i int32) string { return []string{"", "/system.slice/nginx.service", "unreachable:4d"}[i] })
	h.counter("network.persocket.bytes_received", bytes, sockets, func(t float64, _ int32) float64 { return 3e4 * t })
	h.counter("network.persocket.bytes_sent", bytes, sockets, func(t float64, _ int32) float64 { return 6e4 * t })
	h.indoms[boxes] = members(inst(0, "b1946ac92492"), inst(1, "591785b794601e"), inst(2, "c157a79031e1"))
	h.text("containers.name", boxes, func(i int32) string { return []string{"web", "db \x1b[1mbold", "batch"}[i] })
	h.text("containers.engine", boxes, func(int32) string { return "docker" })
	h.text("containers.image", boxes, func(i int32) string { return []string{"nginx:1.27", "postgres:17", "busybox"}[i] })
	h.text("containers.cgroup", boxes, func(i int32) string {
		return []string{"/system.slice/nginx.service", "/system.slice/postgresql.service", ""}[i]
	})
	h.gauge("containers.pid", noUnit, boxes, func(_ float64, i int32) float64 { return []float64{801, 690, 0}[i] })
	for i, state := range []string{"running", "paused", "restarting"} {
		h.gauge("containers.state."+state, noUnit, boxes, func(_ float64, box int32) float64 {
			if i == 0 && box < 2 {
				return 1
			}
			return 0
		})
	}
}
