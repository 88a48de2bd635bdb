package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A tree is a directory with the files of processes.
type tree struct {
	t   testing.TB
	dir string
}

// newTree makes a tree with processes of odd names, a thread of the kernel, a process
// with two threads, and a process whose files cannot be read.
func newTree(t testing.TB) tree {
	tr := tree{t, t.TempDir()}
	tr.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nagain:x:1000:1000::/:/bin/sh\nbroken\n")
	tr.write("etc/group", "root:x:0:\nusers:x:1000:ada\n")
	tr.write("proc/tty/drivers", "/dev/tty             /dev/tty        5       0 system:/dev/tty\npty_slave            /dev/pts      136 0-1048575 pty:slave\n")
	tr.write("proc/sys/kernel/sched_autogroup_enabled", "1\n")
	tr.process(1, "init", "S", 0, 1000, "/sbin/init\x00--user\x00")
	tr.process(2, "kthreadd", "S", 0, 0, "")
	tr.write("proc/2/smaps_rollup", "")
	tr.process(77, "a) R (b c", "R", 34816+3, 4000, "sh\x00-c\x00two words\x00\x00\x00")
	tr.process(1234567, "caf\xe9\nx", "D", 0, 9000, "caf\xe9\n x\x00")
	tr.process(500, "zed", "Z", 0, 0, "")
	tr.write("proc/600/cmdline", "")
	tr.process(700, "threads", "T", 0, 1, "/usr/bin/threads\x00")
	for _, tid := range []int{700, 701} {
		tr.write(fmt.Sprintf("proc/700/task/%d/stat", tid), statLine(tid, "threads", "T", 0, 1))
	}
	tr.write("proc/701/cmdline", "/usr/bin/threads\x00")
	tr.write("proc/701/task/701/stat", statLine(701, "worker", "S", 0, 1))
	if err := os.RemoveAll(filepath.Join(tr.dir, "proc/701")); err != nil { // listing /proc does not show threads
		t.Fatal(err)
	}
	tr.write("proc/self/stat", statLine(9, "not a number", "R", 0, 1))
	tr.write("sys/fs/cgroup/box/cgroup.procs", "1\n77\n")
	tr.write("sys/fs/cgroup/box/cgroup.threads", "1\n77\n78\n")
	return tr
}

func (tr tree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

func statLine(pid int, command, state string, tty, vsize int) string {
	return fmt.Sprintf("%d (%s) %s 11 12 13 %d -1 4194304 21 22 23 24 125 126 127 128 20 -5 1 0 3000 %d 55 18446744073709551615 "+
		"94215812308992 94215812328873 140734062307536 0 0 1 2 3 4 1 0 0 17 6 40 2 150 160 170 94215812344880 1 2 3 4 5 6 0\n",
		pid, command, state, tty, vsize*1024)
}

// process writes the files of a process.
func (tr tree) process(pid int, command, state string, tty, vsize int, args string) {
	dir := fmt.Sprintf("proc/%d/", pid)
	tr.write(dir+"stat", statLine(pid, command, state, tty, vsize))
	tr.write(dir+"cmdline", args)
	tr.write(dir+"statm", "100 50 25 5 0 40 0\n")
	tr.write(dir+"schedstat", "1000000001 2000000002 33\n")
	tr.write(dir+"io", "rchar: 11\nwchar: 12\nsyscr: 13\nsyscw: 14\nread_bytes: 15\nwrite_bytes: 16\ncancelled_write_bytes: 17\n")
	tr.write(dir+"smaps_rollup", "00400000-7fff r--p 00000000 00:00 0  [rollup]\nRss:  1860 kB\nPss:  354 kB\nPss_Anon: 92 kB\nLocked: 7 kB\n")
	tr.write(dir+"numa_maps", "00400000 default file=/bin/x mapped=2 N0=1 N3=1 kernelpagesize_kB=4\n"+
		"7f00 default heap anon=512 N0=512 kernelpagesize_kB=4\n7f10 default stack anon=1 N0=1\n2aaa bind:1 file=/huge huge dirty=2 N3=2 kernelpagesize_kB=2048\nbroken N=1 Nx=2 N1\n")
	const card = "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t12 KiB\ndrm-memory-cpu: 3 MiB\namd-requested-vram:\t4096\n"
	for fd, info := range []string{"pos:\t0\n", card, card, "drm-client-id:\t8\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t5 KiB\n"} {
		tr.write(fmt.Sprintf("%sfdinfo/%d", dir, fd), info)
	}
	tr.write(dir+"oom_score", "666\n")
	tr.write(dir+"wchan", "do_wait")
	tr.write(dir+"environ", "A=1\x00B=two words\x00")
	tr.write(dir+"maps", "00400000-00401000 r--p 00000000 08:01 1 /bin/x\n7fff-8000 rw-p 0 0:0 0 [stack]\n")
	tr.write(dir+"autogroup", "/autogroup-23 nice -3\n")
	tr.write(dir+"attr/current", "unconfined_u:r\n")
	tr.write(dir+"cgroup", "12:cpu,cpuacct:/a:b\n0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n")
	for fd := range 3 {
		tr.write(fmt.Sprintf("%sfd/%d", dir, fd), "")
	}
	for link, target := range map[string]string{"exe": "/bin/x y", "cwd": "/home"} {
		path := filepath.Join(tr.dir, dir, link)
		if err := os.Symlink(target, path); err != nil {
			tr.t.Fatal(err)
		}
	}
	vm := ""
	if vsize > 0 {
		vm = "VmPeak:\t 30 kB\nVmSize:\t 22 kB\nVmLck:\t 1 kB\nVmPin:\t 2 kB\nVmHWM:\t 9 kB\nVmRSS:\t 8 kB\nVmData:\t 3 kB\nVmStk:\t 4 kB\nVmExe:\t 5 kB\nVmLib:\t 6 kB\nVmPTE:\t 7 kB\nVmSwap:\t 100 kB\n"
	}
	tr.write(dir+"status", "Name:\t"+command+"\nUmask:\t0022\nState:\t"+state+" (x)\nTgid:\t"+fmt.Sprint(pid)+"\nNgid:\t5\nPid:\t1\nUid:\t1000\t0\t7\t1000\nGid:\t1000\t0\t7\t1000\nFDSize:\t64\n"+
		"NStgid:\t77\t1\nNSpid:\t77\t1\nNSpgid:\t77\t0\nNSsid:\t76\t0\n"+vm+
		"Threads:\t3\nSigPnd:\t0000000000000001\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000000004\nSigCgt:\t0000000000000008\nCpus_allowed_list:\t0-1,4\n"+
		"voluntary_ctxt_switches:\t225\nnonvoluntary_ctxt_switches:\t56\n")
}
