package proc

import (
	"fmt"
	"strings"
	"testing"
)

const containerID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// oddGroups are names of control groups, those of parents first. No two begin with the same
// word: of such the real agent shows one.
var oddGroups = []string{
	"", "/init.scope", "/user.slice", "/user.slice/user-1000.slice", "/user.slice/user-1000.slice/session-3.scope",
	"/two words", "/(p) q)", "/new\nline", `/system.slice`, `/system.slice/dash\x2dname.service`, `/system.slice/dash-name.service`,
	"/caf\xe9", "/x::y", "/docker", "/docker/" + containerID, "/machine.slice", "/machine.slice/libpod-" + containerID + ".scope",
	"/docker/docker-" + containerID + ".scope", "/docker/docker-containerd", `/system.slice/under\x5Fscore.service`, "/.hidden",
}

// common writes the files that a tree of control groups of any version has in addition.
// There may be more names than groups.
func (tr tree) common(mounts ...string) {
	tr.write("proc/mounts", "sysfs /sys sysfs rw 0 0\n"+strings.Join(mounts, "\n")+"\n")
	tr.write("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t7\t1\ncpu\t1\t2\t1\ncpuacct\t1\t2\t1\nblkio\t7\t1\t1\nmemory\t4\t19\t0\nnet_cls\t5\t1\t1\nbroken\t1\n")
	tr.write("proc/diskstats", "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8       1 sda1 1 2 3 4\n   7       0 loop0 1 2 3\n   1       0 ram0 1 2\n 253       0 dm-0 4 5 6\n 9 9 short\n")
	tr.write("proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\n")
}

// newGroupTree makes a tree with control groups: of version "1"; of version "2"; or "hybrid", which
// has both, version 2 mounted first.
func newGroupTree(t testing.TB, version string, groups ...string) tree {
	tr := tree{t, t.TempDir()}
	if groups == nil {
		groups = oddGroups
	}
	const of2 = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nsdelegate 0 0"
	of1 := []string{
		"cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0",
		"cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0",
		"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0",
		"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,again 0 0",
		`cgroup /sys/fs/cgroup/mem cgroup rw,memory 0 0`,
		// The real agent searches for an option of this name, which no kernel has.
		"cgroup /sys/fs/cgroup/net cgroup rw,net_cls,netcls 0 0",
		"cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0",
		"cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0",
	}
	switch version {
	case "1":
		tr.common(of1...)
	case "2":
		tr.common(of2)
	case "hybrid":
		tr.common(append([]string{of2}, of1...)...)
	}
	for i, name := range groups {
		if version != "1" {
			tr.group2(i, "sys/fs/cgroup/unified"+name)
		}
		if version != "2" {
			tr.group1(i, "sys/fs/cgroup/", name)
		}
	}
	return tr
}

// group1 writes the files of a group of version 1. Every fifth group lacks some.
func (tr tree) group1(i int, dir, name string) {
	tr.write(dir+"cpuset"+name+"/cpuset.cpus", fmt.Sprintf("0-%d,9\n", i))
	if i%5 != 4 {
		tr.write(dir+"cpuset"+name+"/cpuset.mems", "0\n")
	}
	cpu := dir + "cpu,cpuacct" + name + "/"
	tr.write(cpu+"cpuacct.stat", fmt.Sprintf("user %d\nsystem %d\n", 100+i, 200+i))
	tr.write(cpu+"cpuacct.usage", fmt.Sprintf("%d\n", 300+i))
	tr.write(cpu+"cpuacct.usage_percpu", fmt.Sprintf("%d %d \n", 10+i, 20+i))
	tr.write(cpu+"cpu.shares", "1024\n")
	tr.write(cpu+"cpu.stat", fmt.Sprintf("nr_periods %d\nnr_throttled 2\nthrottled_time 3\n", i))
	if i > 0 {
		tr.write(cpu+"cpu.cfs_period_us", "100000\n")
	}
	tr.write(cpu+"cpu.cfs_quota_us", map[bool]string{true: "-1\n", false: "50000\n"}[i%2 == 0])
	memory := dir + "mem" + name + "/memory."
	var b strings.Builder
	for j, key := range strings.Fields("cache rss rss_huge mapped_file writeback swap pgpgin pgpgout pgfault pgmajfault inactive_anon active_anon inactive_file active_file unevictable hierarchical_memory_limit " +
		"total_cache total_rss total_rss_huge total_mapped_file total_writeback total_swap total_pgpgin total_pgpgout total_pgfault total_pgmajfault total_inactive_anon total_active_anon total_inactive_file total_active_file total_unevictable " +
		"recent_rotated_anon recent_rotated_file recent_scanned_anon recent_scanned_file") {
		fmt.Fprintf(&b, "%s %d\n", key, 4096*i+j)
	}
	tr.write(memory+"stat", b.String())
	tr.write(memory+"usage_in_bytes", fmt.Sprintf("%d\n", 5000+i))
	tr.write(memory+"limit_in_bytes", "9223372036854771712\n")
	if i%5 != 4 {
		tr.write(memory+"failcnt", "0\n")
	}
	tr.write(dir+"net"+name+"/net_cls.classid", fmt.Sprintf("%d\n", 1048576+i))
	tr.pids(i, dir+"pids"+name)
	blkio := dir + "blkio" + name + "/blkio."
	for j, file := range strings.Fields("io_merged io_queued io_service_bytes io_serviced io_service_time io_wait_time throttle.io_service_bytes throttle.io_serviced") {
		if i%5 == 4 && j > 2 {
			continue
		}
		text := ""
		for k, number := range []string{"8:0", "253:0", "7:0", "99:9"}[:1+i%4] {
			for l, kind := range []string{"Read", "Write", "Sync", "Async", "Discard", "Total"} {
				text += fmt.Sprintf("%s %s %d\n", number, kind, 1000*i+100*j+10*k+l)
			}
		}
		tr.write(blkio+file, text+"Total 12345\n")
	}
	tr.write(blkio+"sectors", fmt.Sprintf("8:0 %d\n253:0 3\n7:0 5\n", 7+i))
	tr.write(blkio+"time", fmt.Sprintf("8:0 %d\n8:1 1\n", 8+i))
}

// pids writes the files of the controller pids, which the root of a hierarchy lacks. Every second group has no limit.
func (tr tree) pids(i int, dir string) {
	tr.write(dir+"/cgroup.procs", "")
	if i == 0 {
		return
	}
	tr.write(dir+"/pids.current", fmt.Sprintf("%d\n", 2+i))
	tr.write(dir+"/pids.max", map[bool]string{true: "200\n", false: "max\n"}[i%2 == 1])
	tr.write(dir+"/pids.peak", fmt.Sprintf("%d\n", 50+i))
	tr.write(dir+"/pids.events", fmt.Sprintf("max %d\n", 7*i))
}

// group2 writes the files of a group of version 2.
func (tr tree) group2(i int, dir string) {
	tr.write(dir+"/cgroup.procs", "")
	tr.write(dir+"/cpu.stat", fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n", 1000+i, 995+i))
	for j, file := range []string{"cpu", "memory", "io"} {
		tr.write(dir+"/"+file+".pressure", fmt.Sprintf("some avg10=%d.5%d avg60=0.25 avg300=0.00 total=%d\nfull avg10=0.00 avg60=1.50 avg300=99.99 total=%d\n", i, j, 10*i+j, 5*i+j))
	}
	if i%2 == 1 {
		tr.write(dir+"/irq.pressure", fmt.Sprintf("full avg10=0.01 avg60=0.02 avg300=0.03 total=%d\n", i))
	}
	if i == 0 {
		return // the root has no more
	}
	tr.pids(i, dir)
	tr.write(dir+"/io.stat", fmt.Sprintf("8:0 rbytes=%d wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n253:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6 cost.usage=7\n99:1 rbytes=1 wbytes=1 rios=1 wios=1 dbytes=1 dios=1\n7:0 \n8:1 rbytes=1 wbytes=2\n", 4096*i))
	tr.write(dir+"/memory.stat", fmt.Sprintf("anon %d\nfile 2\nkernel_stack 3\nsock 4\nshmem 5\nfile_mapped 6\nfile_dirty 7\nfile_writeback 8\nanon_thp 9\ninactive_anon 10\nactive_anon 11\n"+
		"slab_reclaimable 12\nslab_unreclaimable 13\nslab 25\nworkingset_refault 14\nworkingset_activate 15\nworkingset_nodereclaim 16\npgfault 17\npgmajfault 18\npgrefill 19\npgscan 20\npgsteal 21\npgactivate 22\npgdeactivate 23\npglazyfree 24\npglazyfreed 25\nthp_fault_alloc 26\nthp_collapse_alloc 27\n", 1+i))
	tr.write(dir+"/memory.current", fmt.Sprintf("%d\n", 8192*i))
}
