package linux

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A Shape describes a machine whose files are written: the devices of each kind, and the
// kernel, whose files have more or fewer columns and keys.
type Shape struct {
	CPUs, Nodes int
	SCSI        int // disks sda, sdb, ..., each with two partitions; every two are paths to one
	NVMe        int // controllers with two namespaces, the first of which has three partitions
	DM, MD      int
	Zram        int
	Interfaces  int
	Mounts      int
	Kernel      string // "" is that of testdata/vm
}

// Big is a machine with many devices of every kind.
func Big() Shape {
	return Shape{CPUs: 128, Nodes: 8, SCSI: 400, NVMe: 50, DM: 40, MD: 10, Zram: 4, Interfaces: 60, Mounts: 80}
}

// A ShapeTree is a directory with the files of a Shape.
type ShapeTree struct {
	Dir string
	t   testing.TB
	n   uint64 // source of numbers: all are different
}

// WriteShape writes the files of s: those of testdata/vm, with those of s in their place.
func WriteShape(t testing.TB, s Shape) *ShapeTree {
	t.Helper()
	w := &ShapeTree{Dir: t.TempDir(), t: t, n: 1000}
	if err := os.CopyFS(w.Dir, os.DirFS("testdata/vm")); err != nil {
		t.Fatal(err)
	}
	w.Write("proc/self/mounts", "")
	w.CPUs(s.CPUs, s.Nodes)
	w.Disks(s)
	w.Interfaces(Interfaces(s.Interfaces))
	w.Mounts(s.Mounts)
	if s.Kernel != "" {
		w.age(s.Kernel)
	}
	return w
}

// Write writes a file in one step: programs that have the old one open keep it.
func (w *ShapeTree) Write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		w.t.Fatal(err)
	}
}

func (w *ShapeTree) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.Dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// numbers returns n numbers, each after a blank.
func (w *ShapeTree) numbers(n int) string {
	var b strings.Builder
	for range n {
		w.n += 17
		fmt.Fprintf(&b, " %d", w.n)
	}
	return b.String()
}

// CPUs writes the files of each processor and node.
func (w *ShapeTree) CPUs(cpus, nodes int) {
	var stat, info, soft strings.Builder
	fmt.Fprintf(&stat, "cpu %s\n", w.numbers(10))
	for i := range cpus {
		fmt.Fprintf(&stat, "cpu%d%s\n", i, w.numbers(10))
		fmt.Fprintf(&info, "processor\t: %d\nvendor_id\t: GenuineIntel\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) %d\nstepping\t: 4\ncpu MHz\t\t: %d.500\n"+
			"cache size\t: 1024 KB\nphysical id\t: %d\nflags\t\t: fpu vme\nbogomips\t: 4200.00\ncache_alignment\t: 64\n\n", i, i, 2000+i, i%max(nodes, 1))
		// The last columns are the number of the processor and the lengths of two queues.
		fmt.Fprintf(&soft, "%08x 00000000 %08x 0 0 0 0 0 0 %08x 0 0 %08x 0 0\n", w.n, i, w.n%7, i)
		w.n += 3
	}
	fmt.Fprintf(&stat, "intr%s\nctxt%s\nbtime 1700000000\nprocesses%s\nprocs_running 3\nprocs_blocked 1\nsoftirq%s\n", w.numbers(40), w.numbers(1), w.numbers(1), w.numbers(11))
	w.Write("proc/stat", stat.String())
	w.Write("proc/cpuinfo", info.String())
	w.Write("proc/net/softnet_stat", soft.String())

	header := ""
	for i := range cpus {
		header += fmt.Sprintf(" %10s", fmt.Sprintf("CPU%d", i))
	}
	irqs := "    " + header + "\n"
	for i := range 64 {
		irqs += fmt.Sprintf("%4d:%s  PCI-MSI %d-edge      nvme%dq%d\n", i, w.numbers(cpus), 1000+i, i/8, i%8)
	}
	for _, name := range []string{"NMI", "LOC", "RES", "CAL"} {
		irqs += fmt.Sprintf(" %s:%s   Interrupts of a kind\n", name, w.numbers(cpus))
	}
	w.Write("proc/interrupts", irqs+"ERR:          7\nMIS:          2\n")
	softirqs := "    " + header + "\n"
	for _, name := range []string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"} {
		softirqs += fmt.Sprintf("%12s:%s\n", name, w.numbers(cpus))
	}
	w.Write("proc/softirqs", softirqs)

	w.remove(nodeDir)
	buddy, zones := "", ""
	for n := range nodes {
		dir := fmt.Sprintf("%s/node%d/", nodeDir, n)
		for i := n; i < cpus; i += nodes {
			w.Write(fmt.Sprintf("%scpu%d/online", dir, i), "1\n")
		}
		mem := ""
		for _, key := range []string{
			"MemTotal", "MemFree", "MemUsed", "Active", "Inactive", "Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)", "Unevictable",
			"Mlocked", "Dirty", "Writeback", "FilePages", "Mapped", "AnonPages", "Shmem", "KernelStack", "PageTables", "Bounce", "WritebackTmp", "Slab", "SReclaimable", "SUnreclaim",
		} {
			mem += fmt.Sprintf("Node %d %-15s %s kB\n", n, key+":", w.numbers(1))
		}
		w.Write(dir+"meminfo", mem+fmt.Sprintf("Node %d HugePages_Total:    4\nNode %d HugePages_Free:     3\nNode %d HugePages_Surp:     1\n", n, n, n))
		w.Write(dir+"numastat", fmt.Sprintf("numa_hit%s\nnuma_miss%s\nnuma_foreign%s\ninterleave_hit%s\nlocal_node%s\nother_node%s\n",
			w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1)))
		for _, zone := range []string{"DMA", "DMA32", "Normal"} {
			if n > 0 && zone != "Normal" {
				continue
			}
			buddy += fmt.Sprintf("Node %d, zone %8s%s \n", n, zone, w.numbers(11))
			zones += fmt.Sprintf("Node %d, zone %8s\n  pages free%s\n        min%s\n        low%s\n        high%s\n        spanned%s\n        present%s\n        managed%s\n"+
				"        protection: (0, 1, 2, 3, 4)\n      nr_free_pages%s\n      nr_dirtied%s\n      numa_hit%s\n  pagesets\n    cpu: 0\n              count: 1\n  start_pfn:           1\n",
				n, zone, w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1), w.numbers(1))
		}
	}
	w.Write("proc/buddyinfo", buddy)
	w.Write("proc/zoneinfo", zones)
}

// Disks writes the files of each block device.
func (w *ShapeTree) Disks(s Shape) {
	w.remove("sys/block")
	var stats, parts strings.Builder
	parts.WriteString("major minor  #blocks  name\n\n")
	minor := 0
	add := func(name string) {
		minor++
		fmt.Fprintf(&stats, "%4d %7d %s%s\n", 8+minor/256, minor%256, name, w.numbers(17))
		fmt.Fprintf(&parts, "%4d %8d %s %s\n", 8+minor/256, minor%256, w.numbers(1), name)
	}
	disk := func(name, wwid string) {
		add(name)
		w.Write("sys/block/"+name+"/queue/scheduler", "none [mq-deadline] bfq\n")
		if wwid != "" {
			w.Write("sys/block/"+name+"/device/wwid", wwid+"\n")
		}
	}
	for i := range 8 {
		add(fmt.Sprintf("loop%d", i))
	}
	add("sr0")
	for i := range s.SCSI {
		name := "sd"
		if i >= 26 {
			name += string(rune('a' + i/26 - 1))
		}
		name += string(rune('a' + i%26))
		disk(name, fmt.Sprintf("naa.600508b400105e21%08x", i/2))
		add(name + "1")
		add(name + "2")
	}
	for i := range s.NVMe {
		for n := 1; n <= 2; n++ {
			name := fmt.Sprintf("nvme%dn%d", i, n)
			add(name)
			w.Write("sys/block/"+name+"/queue/scheduler", "[none]\n")
			w.Write("sys/block/"+name+"/wwid", fmt.Sprintf("eui.0025385%09x\n", 2*i+n))
			for p := 1; n == 1 && p <= 3; p++ {
				add(fmt.Sprintf("%sp%d", name, p))
			}
		}
	}
	if s.SCSI > 0 {
		disk("mmcblk0", "")
		add("mmcblk0p1")
		disk("xvda", "")
		add("xvda1")
		disk("rbd0", "")
		add("rbd0p1")
	}
	for i := range s.DM {
		name := fmt.Sprintf("dm-%d", i)
		add(name)
		w.Write("sys/block/"+name+"/dm/name", fmt.Sprintf("vg%d-lv--%d\n", i/4, i))
	}
	for i := range s.MD {
		name := fmt.Sprintf("md%d", 127-i)
		add(name)
		w.Write("sys/block/"+name+"/md/degraded", fmt.Sprintf("%d\n", i%3))
		w.Write("sys/block/"+name+"/md/array_state", "clean\n")
	}
	for i := range s.Zram {
		name := fmt.Sprintf("zram%d", i)
		add(name)
		w.Write("sys/block/"+name+"/io_stat", fmt.Sprintf("%s\n", w.numbers(4)))
		w.Write("sys/block/"+name+"/mm_stat", fmt.Sprintf("%s\n", w.numbers(8)))
		w.Write("sys/block/"+name+"/bd_stat", fmt.Sprintf("%s\n", w.numbers(3)))
		w.Write("sys/block/"+name+"/disksize", fmt.Sprintf("%d\n", 4<<20))
	}
	w.Write("proc/diskstats", stats.String())
	w.Write("proc/partitions", parts.String())
}

// Interfaces returns n names of network interfaces, as odd as the kernel allows: up to 15
// bytes that are neither blank nor a slash or colon.
func Interfaces(n int) []string {
	names := []string{"lo", "eth0", "eth0.4094", "br-0123456789ab", "veth\xff\xfe", "caf\u00e9", "a\x01b", "\"quoted\"", "{json}", "a,b=c", "%d", "-", "back\\slash", "123456789012345"}
	for i := len(names); i < n; i++ {
		names = append(names, fmt.Sprintf("enp%ds0f%d", i, i%4))
	}
	return names[:n]
}

// Interfaces writes the files of network interfaces.
func (w *ShapeTree) Interfaces(names []string) {
	w.remove("sys/class/net")
	dev := "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
	for i, name := range names {
		dev += fmt.Sprintf("%6s:%s\n", name, w.numbers(16))
		dir := "sys/class/net/" + name + "/"
		for file, text := range map[string]string{
			"address": fmt.Sprintf("52:54:00:00:00:%02x", i), "mtu": fmt.Sprint(1500 + i), "speed": "10000", "duplex": "full", "operstate": "up", "flags": "0x1003", "type": "1",
		} {
			w.Write(dir+file, text+"\n")
		}
	}
	w.Write("proc/net/dev", dev)
}

// Mounts writes a table of n mounts with odd names, as the kernel escapes them.
func (w *ShapeTree) Mounts(n int) {
	lines := []string{
		`/dev/sda1 / ext4 rw,relatime 0 0`, `proc /proc proc rw 0 0`, `tmpfs /run tmpfs rw 0 0`, `tmpfs /with\040blank tmpfs ro 0 0`,
		`/dev/sda2 /with\040blank\011tab\012newline\134slash xfs ro,noatime 0 0`, "/dev/sdb1 /caf\xe9\xff xfs rw 0 0",
		`/dev/mapper/vg0-lv--0 /lv ext4 rw 0 0`, `/dev/sdb2 /\043hash xfs rw 0 0`, `server:/export /nfs nfs4 rw 0 0`, `/dev/loop3 /snap/x squashfs ro 0 0`,
		`/dev/sdc1 /not\0escaped\999 xfs rw,ro 0 0`, `/dev/sda1 /again ext4 rw 0 0`, `systemd-1 /misc autofs rw 0 0`, `overlay /ov overlay rw 0 0`,
	}
	for i := len(lines); i < n; i++ {
		lines = append(lines, fmt.Sprintf("/dev/mapper/vg%d-lv--%d /mnt/%d xfs rw 0 0", i/4, i, i))
	}
	text := strings.Join(lines[:min(n, len(lines))], "\n") + "\n"
	w.Write("proc/self/mounts", text)
	w.Write("proc/mounts", text)
}

// age changes the files to those of an older kernel.
func (w *ShapeTree) age(kernel string) {
	var major, minor int
	if _, err := fmt.Sscanf(kernel, "%d.%d", &major, &minor); err != nil {
		w.t.Fatal(err)
	}
	before := func(a, b int) bool { return major < a || major == a && minor < b }
	cut := func(name string, re string, keep int) { // columns after the match
		b, err := os.ReadFile(filepath.Join(w.Dir, name))
		if err != nil {
			w.t.Fatal(err)
		}
		pattern := regexp.MustCompile(re)
		var out bytes.Buffer
		for line := range bytes.Lines(b) {
			if m := pattern.Find(line); m != nil {
				if f := bytes.Fields(line[len(m):]); len(f) > keep {
					line = append(append(bytes.Clone(m), bytes.Join(f[:keep], []byte(" "))...), '\n')
				}
			}
			out.Write(line)
		}
		w.Write(name, out.String())
	}
	drop := func(name string, re string) { // lines that match
		b, err := os.ReadFile(filepath.Join(w.Dir, name))
		if err != nil {
			w.t.Fatal(err)
		}
		pattern := regexp.MustCompile(re)
		var out bytes.Buffer
		for line := range bytes.Lines(b) {
			if !pattern.Match(line) {
				out.Write(line)
			}
		}
		w.Write(name, out.String())
	}
	const dev = `^ *\d+ +\d+ \S+ +`
	switch {
	case before(4, 18):
		cut("proc/diskstats", dev, 11)
	case before(5, 5):
		cut("proc/diskstats", dev, 15)
	}
	switch {
	case before(2, 35) && major == 2:
		cut("proc/net/softnet_stat", "^", 9)
	case before(3, 11):
		cut("proc/net/softnet_stat", "^", 10)
	case before(5, 10):
		cut("proc/net/softnet_stat", "^", 11)
	case before(6, 5):
		cut("proc/net/softnet_stat", "^", 13)
	}
	if before(4, 20) {
		w.remove("proc/pressure")
	}
	if before(5, 13) && !before(4, 20) {
		drop("proc/pressure/cpu", "^full")
	}
	if before(3, 14) {
		drop("proc/meminfo", "^MemAvailable")
	}
	if before(4, 8) {
		drop("proc/meminfo", "^(ShmemHugePages|ShmemPmdMapped|Percpu|KReclaimable|FileHugePages|FilePmdMapped|Zswap|SecPageTables|Unaccepted|Balloon|Hugetlb)")
		drop("proc/vmstat", "^(nr_zone|node_|thp_(zero_page|deferred|split_|file|swpout|migration)|workingset_.*_(anon|file)|pgsteal_(anon|file)|pgscan_(anon|file)|pgdemote|pgpromote|swap_ra|zswp|pgscan_khuge|pgsteal_khuge)")
		w.Write("sys/kernel/mm/ksm/run", "1\n")
	}
	if before(2, 33) && major == 2 {
		cut("proc/stat", `^cpu\d* +`, 9)
		drop("proc/stat", "^softirq")
		w.remove("proc/softirqs")
		drop("proc/meminfo", "^(AnonHugePages|Cma|HardwareCorrupted|KernelStack|Shmem|DirectMap1G)")
		drop("proc/vmstat", "^(thp_|compact_|numa_|balloon|drop_|oom_|htlb|kswapd_(high|low)|allocstall_|pgskip|pglazy|workingset|unevictable_pgs_)")
		w.remove("sys/block/zram0")
	}
}

// HotPlug removes and adds devices of all kinds.
func (w *ShapeTree) HotPlug(s Shape) {
	w.t.Helper()
	w.CPUs(s.CPUs, s.Nodes) // other numbers
	s.SCSI, s.NVMe, s.DM, s.MD, s.Mounts = s.SCSI-2, s.NVMe+1, s.DM+1, s.MD-1, s.Mounts-1
	w.Disks(s)
	names := Interfaces(s.Interfaces + 2)
	w.Interfaces(append(names[3:], names[0])) // in another order, without two of them
	w.Mounts(s.Mounts)
}

// TestShapes checks that the trees have the devices of their shape, and that an agent
// counts them.
func TestShapes(t *testing.T) {
	s := Big()
	w := WriteShape(t, s)
	a := New(Config{Root: w.Dir, HZ: 100, PageSize: 4096, Replaced: true})
	f := func(name string, want uint64) {
		t.Helper()
		set := fetchAs(t, a, root, a.id(t, name)).Sets[0]
		if len(set.Values) != 1 || uint64(set.Values[0].Uint32()) != want {
			t.Errorf("%s: %v, want %d", name, set.Values, want)
		}
	}
	rows := func(name string, want int) {
		t.Helper()
		if n := len(fetchAs(t, a, root, a.id(t, name)).Sets[0].Values); n != want {
			t.Errorf("%s: %d values, want %d", name, n, want)
		}
	}
	f("hinv.ncpu", 128)
	f("hinv.nnode", 8)
	f("hinv.ndisk", 503)
	f("hinv.ninterface", 60)
	rows("disk.partitions.read", 953)
	rows("disk.dm.read", 40)
	rows("disk.md.read", 10)
	rows("disk.wwid.read", 300)
	rows("zram.mm_stat.mem.max_used", 4)
	rows("kernel.percpu.cpu.user", 128)
	rows("network.softnet.percpu.process_qlen", 128)
	w.HotPlug(s)
	f("hinv.ndisk", 503)
	rows("disk.dm.read", 41)
	rows("disk.md.read", 9)
	bigSteady(t, w)
}

// bigSteady checks that frequent sampling allocates nothing on a machine with many
// devices of every kind.
func bigSteady(t *testing.T, w *ShapeTree) {
	t.Helper()
	a := New(Config{Root: w.Dir, HZ: 100, PageSize: 4096})
	ids := a.idsOf(func(name string) bool {
		for _, prefix := range []string{"kernel.percpu", "kernel.pernode", "kernel.all.cpu", "disk.dev.read", "disk.partitions.read", "network.interface.in", "network.softnet", "mem.util"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	})
	req := newRequest(a, ids)
	for range 3 {
		sample(t, a, req)
	}
	n := testing.AllocsPerRun(5, func() { sample(t, a, req) })
	for try := 0; n > 0 && try < 5; try++ {
		n = testing.AllocsPerRun(5, func() { sample(t, a, req) })
	}
	if n > 0 {
		t.Errorf("%v allocations in a sample of %d metrics", n, len(ids))
	}
}

func BenchmarkBig(b *testing.B) {
	w := WriteShape(b, Big())
	a := New(Config{Root: w.Dir, HZ: 100, PageSize: 4096})
	benchmark(b, a, a.idsOf(func(string) bool { return true }))
}

// TestOddLines reads lines seen from kernels that crash the real agent, or that it
// misreads.
func TestOddLines(t *testing.T) {
	w := WriteShape(t, Shape{CPUs: 1, Nodes: 1, SCSI: 1, DM: 2, Interfaces: 1})
	w.Write("proc/self/mounts", "none\n/dev/sdz9\n/dev/sda1 /x\n/dev/sda2 / ext4\n\n")
	w.Write("proc/interrupts", "            CPU0\n   0:         7   IO-APIC 2-edge timer\n ERR:         5\n MIS:         6\n")
	w.Write("sys/block/dm-0/dm/name", "\n") // a volume that is being created has no name
	w.Write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 1000 kB\nActive(file): 300 kB\nInactive(file): 100 kB\nSReclaimable: 80 kB\n")
	w.Write("proc/zoneinfo", "Node 0, zone DMA\n  pages free 1\n        min 1\n        low 10\nNode 0, zone Normal\n        low      15\n      workingset_low 9\n")
	a := New(Config{Root: w.Dir, HZ: 100, PageSize: 4096})
	f := func(name, want string) {
		t.Helper()
		var got []string
		for _, v := range fetchAs(t, a, root, a.id(t, name)).Sets[0].Values {
			got = append(got, v.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", name, s, want)
		}
	}
	f("filesys.mountdir", `"/"`)
	f("kernel.all.interrupts.total", "7")
	f("kernel.all.interrupts.errors", "5")
	f("kernel.all.interrupts.missed", "6")
	f("mem.util.available", fmt.Sprint(1000+400-100+80-40-100))
	f("hinv.map.dmname", `"dm-1"`)
	capacity := fetchAs(t, a, root, a.id(t, "disk.dm.capacity")).Sets[0].Values
	if len(capacity) != 1 {
		t.Errorf("capacities %v", capacity)
	}
}
