package bpf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// requests returns how many requests of all devices have ended, by the kernel's own count.
func requests(t *testing.T) (n, flushes uint64) {
	t.Helper()
	for line := range strings.Lines(await.File(t, "/proc/diskstats")) {
		f := strings.Fields(line)
		if len(f) < 20 || isPartition(f[2]) {
			continue
		}
		for _, col := range []int{3, 7, 14, 18} { // reads, writes, discards, flushes
			count, err := strconv.ParseUint(f[col], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if n += count; col == 18 {
				flushes += count
			}
		}
	}
	return n, flushes
}

// isPartition reports whether a block device is part of another.
func isPartition(name string) bool {
	_, err := os.Stat("/sys/class/block/" + name + "/partition")
	return err == nil
}

// TestRequests writes to a disk past the cache, and compares with the counts of /proc/diskstats and with the time that the writes took.
func TestRequests(t *testing.T) {
	a := start(t, "biolatency")
	const n, size = 64, 4096
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "file"), os.O_CREATE|os.O_WRONLY|syscall.O_DIRECT, 0o600)
	if err != nil {
		t.Skipf("eBPF is refused here: no file on a disk to write to directly: %v", err)
	}
	defer f.Close()
	all := func() (sum uint64) {
		values := fetch(t, a, "bpf.disk.all.latency")
		for inst := range values {
			sum += number(t, values, inst)
		}
		return sum
	}
	ofSize := func() (sum uint64) {
		values := fetch(t, a, "bpf.disk.size.write.latency")
		for inst := range values {
			if strings.HasPrefix(inst, "4096-8191::") {
				sum += number(t, values, inst)
			}
		}
		return sum
	}
	buf := make([]byte, 2*size)
	aligned := buf[size-int(uintptr(unsafe.Pointer(&buf[0])))%size:][:size]
	outer0, _ := requests(t)
	counted0, size0 := all(), ofSize()
	inner0, flushes0 := requests(t)
	for i := range n {
		if _, err := f.WriteAt(aligned, int64(i)*size); err != nil {
			t.Fatal(err)
		}
	}
	inner, flushes := requests(t)
	writes, counted := ofSize()-size0, all()-counted0
	outer, _ := requests(t)
	inner, flushes, outer = inner-inner0, flushes-flushes0, outer-outer0
	if inner < n {
		t.Skipf("eBPF is refused here: the file is not on a disk that the kernel counts requests of (%d of %d)", inner, n)
	}
	t.Logf("%d to %d requests by /proc/diskstats, %d counted, %d of them writes of the size", inner, outer, counted, writes)
	const flight = 32                      // requests that are under way when the counts are read
	if counted+flight+2*flushes < inner || // the kernel counts an empty write for a flush, which it does not issue
		counted > outer+flight {
		t.Errorf("%d requests were counted, and /proc/diskstats has %d to %d", counted, inner, outer)
	}
	if writes < n/2 { // the kernel may run no program for some
		t.Errorf("%d writes of %d bytes were counted, want %d or more", writes, size, n)
	}
	devices := 0
	for inst := range fetch(t, a, "bpf.disk.dev.write.latency") {
		dev, bucket, _ := strings.Cut(inst, "::")
		if _, err := os.Stat("/sys/class/block/" + dev); err != nil {
			t.Errorf("instance %q: there is no such device", inst)
		}
		if _, ok := names.ParseRange(bucket); !ok {
			t.Errorf("instance %q has no range", inst)
		}
		devices++
	}
	if devices == 0 {
		t.Error("no device has writes")
	}
}

// limitedGroup makes a control group with a limit of memory.
func limitedGroup(t *testing.T, bytes int) string {
	t.Helper()
	name := fmt.Sprintf("pcp-bpf-test-%d", os.Getpid())
	last := errors.New("no hierarchy is mounted")
	for dir, file := range map[string]string{"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"} {
		if !hasGroups(dir) { // such as a tmpfs, in which the files would be ordinary ones and limit nothing
			continue
		}
		dir = filepath.Join(dir, name)
		if last = os.Mkdir(dir, 0o755); last != nil {
			continue
		}
		if last = setFile(filepath.Join(dir, file), strconv.Itoa(bytes)); last == nil {
			t.Cleanup(func() { await.Until(t, "the group is removed", func() bool { return os.Remove(dir) == nil }) })
			return dir
		}
		os.Remove(dir)
	}
	t.Skipf("eBPF is refused here: no control group with a limit of memory: %v", last)
	return ""
}

// vmstat returns a count in /proc/vmstat.
func vmstat(t *testing.T, name string) uint64 {
	t.Helper()
	_, rest, ok := strings.Cut("\n"+await.File(t, "/proc/vmstat"), "\n"+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseUint(line, 10, 64)
	if !ok || err != nil {
		t.Fatalf("/proc/vmstat: %s: %q", name, line)
	}
	return n
}

// TestOOMKill has the kernel kill a process that needs more memory than its group may have.
func TestOOMKill(t *testing.T) {
	a := start(t, "oomkill")
	dir := limitedGroup(t, 16<<20)
	before, counted := number(t, fetch(t, a, "bpf.oomkill.kills"), ""), vmstat(t, "oom_kill")
	cmd := exec.Command("sh", "-c", "ulimit -v 500000 && echo $$ > "+dir+"/cgroup.procs && exec tail /dev/zero")
	if err := cmd.Run(); err == nil {
		t.Fatal("the process ended by itself")
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the process ended with %v", cmd.ProcessState)
	}
	await.Until(t, "the kill is counted", func() bool { return number(t, fetch(t, a, "bpf.oomkill.kills"), "") > before })
	if kills, kernel := number(t, fetch(t, a, "bpf.oomkill.kills"), "")-before, vmstat(t, "oom_kill")-counted; kills > kernel {
		t.Errorf("%d processes were killed, and /proc/vmstat has %d", kills, kernel)
	}
	pid := strconv.Itoa(cmd.ProcessState.Pid())
	victims := fetch(t, a, "bpf.oomkill.tpid")
	for inst, victim := range victims {
		if victim != pid {
			continue
		}
		if got := fetch(t, a, "bpf.oomkill.tcomm")[inst]; got != "tail" {
			t.Errorf("the victim is %q, want tail", got)
		}
		if got := fetch(t, a, "bpf.oomkill.fcomm")[inst]; got != "tail" {
			t.Errorf("the memory was for %q, want tail", got)
		}
		if got := fetch(t, a, "bpf.oomkill.cgroup")[inst]; !strings.HasPrefix(got, "/") {
			t.Errorf("the group is %q", got)
		}
		return
	}
	t.Errorf("process %s is not among the victims %v", pid, victims)
}

// TestLastProcesses finds single processes among the events.
func TestLastProcesses(t *testing.T) {
	a := start(t, "execsnoop", "exitsnoop")
	list := func(cmd *exec.Cmd, metrics ...string) (values []string) {
		t.Helper()
		pid := strconv.Itoa(cmd.ProcessState.Pid())
		module := metrics[0][:strings.LastIndexByte(metrics[0], '.')]
		// The events of both metrics are those of one refresh.
		for inst, text := range fetch(t, a, module+".pid") {
			if text == pid {
				for _, m := range metrics {
					values = append(values, fetch(t, a, m)[inst])
				}
			}
		}
		return values
	}
	retry := func(want string, line string, metrics ...string) {
		t.Helper()
		var got string
		for range 20 { // other programs of this machine push events out
			cmd := exec.Command("sh", "-c", line)
			cmd.Run()
			if got = strings.Join(list(cmd, metrics...), " "); got == want {
				return
			}
		}
		t.Errorf("%s: %s are %q, want %q", line, metrics, got, want)
	}
	retry(fmt.Sprintf("sh sh -c : a b; exit 3 0 %d %d", os.Getuid(), os.Getpid()), ": a b; exit 3", "bpf.execsnoop.comm", "bpf.execsnoop.args", "bpf.execsnoop.ret", "bpf.execsnoop.uid", "bpf.execsnoop.ppid")
	retry(fmt.Sprintf("sh 3 0 0 %d", os.Getpid()), "exit 3", "bpf.exitsnoop.comm", "bpf.exitsnoop.exit_code", "bpf.exitsnoop.sig", "bpf.exitsnoop.coredump", "bpf.exitsnoop.ppid")
	retry("0 9", "kill -9 $$", "bpf.exitsnoop.exit_code", "bpf.exitsnoop.sig")
	for _, name := range []string{"bpf.execsnoop.args", "bpf.exitsnoop.comm", "bpf.exitsnoop.ends"} {
		if got := anonymous(t, a, name); got != 0 {
			t.Errorf("%s: a client without a user gets %d values", name, got)
		}
	}
}

// anonymous returns how many values of a metric a client gets whose user is not known.
func anonymous(t *testing.T, a *Agent, name string) int {
	t.Helper()
	id, err := a.NameSpace().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return fetchAs(t, a, id)
}

// TestUpstream compares the descriptors with those of the agent of PCP 7.2.
func TestUpstream(t *testing.T) {
	a := New(Config{})
	for _, f := range []struct {
		name  string
		typ   pcp.Type
		sem   pcp.Sem
		units pcp.Units
		indom bool
	}{
		{"bpf.disk.all.latency", pcp.TypeU64, pcp.SemCounter, microseconds(), true},
		{"bpf.runq.latency", pcp.TypeU64, pcp.SemCounter, nanoseconds(), true},
		{"bpf.execsnoop.comm", pcp.TypeString, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.execsnoop.pid", pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, true},
		{"bpf.execsnoop.ppid", pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, true},
		{"bpf.execsnoop.ret", pcp.TypeU32, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.execsnoop.args", pcp.TypeString, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.execsnoop.uid", pcp.TypeU32, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.execsnoop.lost", pcp.TypeU32, pcp.SemCounter, count(), false},
		{"bpf.oomkill.fpid", pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, true},
		{"bpf.oomkill.fcomm", pcp.TypeString, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.oomkill.tpid", pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, true},
		{"bpf.oomkill.tcomm", pcp.TypeString, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.oomkill.pages", pcp.TypeU64, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.oomkill.lost", pcp.TypeU32, pcp.SemCounter, count(), false},
		{"bpf.exitsnoop.age", pcp.TypeDouble, pcp.SemInstant, nanoseconds(), true},
		{"bpf.exitsnoop.pid", pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, true},
		{"bpf.exitsnoop.tid", pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, true},
		{"bpf.exitsnoop.ppid", pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, true},
		{"bpf.exitsnoop.sig", pcp.Type32, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.exitsnoop.exit_code", pcp.Type32, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.exitsnoop.comm", pcp.TypeString, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.exitsnoop.coredump", pcp.Type32, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.tcpconnlat.pid", pcp.TypeU32, pcp.SemDiscrete, pcp.Units{}, true},
		{"bpf.tcpconnlat.comm", pcp.TypeString, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.tcpconnlat.ipversion", pcp.TypeU32, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.tcpconnlat.saddr", pcp.TypeString, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.tcpconnlat.lport", pcp.TypeU32, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.tcpconnlat.daddr", pcp.TypeString, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.tcpconnlat.dport", pcp.TypeU32, pcp.SemInstant, pcp.Units{}, true},
		{"bpf.tcpconnlat.lat", pcp.TypeDouble, pcp.SemInstant, microseconds(), true},
		{"bpf.tcpconnlat.lost", pcp.TypeU32, pcp.SemCounter, count(), false},
		{"bpf.proc.net.tcp.send.packets", pcp.TypeU64, pcp.SemCounter, count(), true},
		{"bpf.proc.net.udp.recv.packets", pcp.TypeU64, pcp.SemCounter, count(), true},
		{"bpf.proc.net.tcp.recv.bytes", pcp.TypeU64, pcp.SemCounter, pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}, true},
		{"bpf.exitsnoop.lost", pcp.TypeU32, pcp.SemCounter, count(), false},
	} {
		id, err := a.NameSpace().Lookup(f.name)
		if err != nil {
			t.Error(err)
			continue
		}
		d, err := a.Desc(t.Context(), id)
		if err != nil || d.Type != f.typ || d.Sem != f.sem || d.Units != f.units || (d.InDom != pcp.InDomNull) != f.indom || id.Domain() != 157 {
			t.Errorf("%s: %+v, %v", f.name, d, err)
		}
	}
}
