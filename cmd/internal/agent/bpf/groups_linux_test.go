package bpf

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// ofGroup returns how many events a metric has of a control group, and between which bounds the sum of their values is.
func ofGroup(t *testing.T, a *Agent, metric, group string) (events uint64, least, most float64) {
	t.Helper()
	values := fetch(t, a, metric)
	for inst := range values {
		of, bucket, _ := strings.Cut(inst, "::")
		if of != group {
			continue
		}
		r, ok := names.ParseRange(bucket)
		if !ok {
			t.Fatalf("%s: instance %q has no range", metric, inst)
		}
		n := number(t, values, inst)
		events += n
		least += float64(n) * r.Low
		most += float64(n) * r.High
	}
	return events, least, most
}

// inGroup runs a command line in a control group.
func inGroup(t *testing.T, dir, line string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", "echo $$ > "+dir+"/cgroup.procs && "+line).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
}

// needGroup returns a control group for the test.
func needGroup(t *testing.T) (dir, name string) {
	t.Helper()
	dir, name = newGroup(t)
	if dir == "" {
		t.Skip("no suitable control groups here: no control groups to distinguish")
	}
	return dir, name
}

// TestSyscallsOfGroup has a control group make a known number of calls, and a call of a known time.
func TestSyscallsOfGroup(t *testing.T) {
	a := start(t, "syscount", "offcputime")
	dir, name := needGroup(t)
	const n, slept = 5000, 300 * time.Millisecond
	inGroup(t, dir, fmt.Sprintf("dd if=/dev/zero of=/dev/null bs=1 count=%d; sleep %v", n, slept.Seconds()))
	for _, class := range []string{"read", "write"} {
		if got, _, _ := ofGroup(t, a, "bpf.syscall.cgroup."+class+".latency", name); got < n || got > n+1000 {
			t.Errorf("%s: %d calls, want %d and those of starting the programs", class, got, n)
		}
	}
	for _, metric := range []string{"bpf.syscall.cgroup.sleep.latency", "bpf.offcpu.cgroup.sleep.latency"} {
		got, least, most := ofGroup(t, a, metric, name)
		t.Logf("%s: %d, %v to %v", metric, got, time.Duration(least), time.Duration(most))
		if got == 0 || time.Duration(most) < slept {
			t.Errorf("%s: %d sleeps of %v to %v, want %v or more", metric, got, time.Duration(least), time.Duration(most), slept)
		}
	}
	if got, least, _ := ofGroup(t, a, "bpf.syscall.cgroup.sleep.latency", name); got != 1 || time.Duration(least) > slept+time.Minute {
		t.Errorf("%d sleeps of %v or more, want 1 of %v", got, time.Duration(least), slept)
	}
}

// diskFile returns a name for a file on a disk.
func diskFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skipf("no suitable disk here: no file on a disk (file system %#x, %v)", fs.Type, err)
	}
	return filepath.Join(dir, "file")
}

// TestReclaimOfGroup has a control group reach its limit of memory.
func TestReclaimOfGroup(t *testing.T) {
	a := start(t, "drsnoop")
	limited := limitedGroup(t, 16<<20)
	dir, name := limited, "/"+filepath.Base(limited)
	if base, _ := groupDir("/"); filepath.Dir(limited) != base { // the groups are those of another hierarchy
		dir, name = needGroup(t)
	}
	file := diskFile(t)
	inGroup(t, dir, "echo $$ > "+limited+"/cgroup.procs && head -c 64M /dev/zero > "+file)
	all := number(t, fetch(t, a, "bpf.reclaim.count"), "direct") + number(t, fetch(t, a, "bpf.reclaim.count"), "cgroup")
	if got, _, most := ofGroup(t, a, "bpf.reclaim.cgroup.latency", name); got == 0 || got > all || most == 0 {
		t.Errorf("the group has reclaimed %d times, and all together %d times", got, all)
	}
}

// TestConnectionsOfGroup makes connections in a control group.
func TestConnectionsOfGroup(t *testing.T) {
	a := start(t, "tcpconnlat")
	dir, name := needGroup(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	program, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	const n = 7
	inGroup(t, dir, fmt.Sprintf("exec %s -c 'for i in $(seq %d); do : < /dev/tcp/127.0.0.1/%s; done'", program, n, port))
	if got, _, _ := ofGroup(t, a, "bpf.tcp.cgroup.connect.latency", name); got != n {
		t.Errorf("%d connections, want %d", got, n)
	}
}

// blockGroup makes a control group to which requests to block devices are charged.
func blockGroup(t *testing.T) (dir, name string) {
	t.Helper()
	base := blockGroupDir("/")
	if !hasGroups(base) {
		t.Skipf("no suitable control groups here: no control groups of block devices: %s is another file system", base)
	}
	name = fmt.Sprintf("/pcp-bpf-test-%d", os.Getpid())
	dir = base + name
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no suitable control groups here: no control group for the test: %v", err)
	}
	t.Cleanup(func() { await.Until(t, "the group is removed", func() bool { return os.Remove(dir) == nil }) })
	_ = setFile(filepath.Join(base, "cgroup.subtree_control"), "+io") // of the unified hierarchy
	if files, _ := filepath.Glob(filepath.Join(dir, "*io.*")); len(files) == 0 {
		t.Skipf("no suitable control groups here: the control groups in %s have no limits of block devices", base)
	}
	return dir, name
}

// TestRequestsOfGroup writes in a control group past the cache.
func TestRequestsOfGroup(t *testing.T) {
	a := start(t, "biolatency")
	dir, name := blockGroup(t)
	file := diskFile(t)
	const n = 50
	requests0, _ := requests(t)
	began := time.Now()
	inGroup(t, dir, "dd if=/dev/zero of="+file+" bs=4096 oflag=direct count="+strconv.Itoa(n))
	took := time.Since(began)
	got, least, _ := ofGroup(t, a, "bpf.disk.cgroup.write.latency", name)
	if done, _ := requests(t); done < requests0+n {
		t.Skip("no suitable disk here: the file is not on a disk that the kernel counts requests of")
	}
	t.Logf("%d writes of %v or more in %v", got, time.Duration(least)*time.Microsecond, took)
	if got < n/2 { // Linux 6.18 on a busy virtual machine runs no program for some completions
		t.Errorf("%d writes, want %d or more", got, n)
	}
	if spent := time.Duration(least) * time.Microsecond; got < 2*n && spent > took {
		t.Errorf("writes one after the other took %v or more, and their program %v", spent, took)
	}
}

// TestSizeOfMaps compares the memory of the maps of each module with the limit that docs/bpf.md has.
func TestSizeOfMaps(t *testing.T) {
	var all []string
	for _, m := range modules(Config{}) {
		all = append(all, m.name)
	}
	a := start(t, all...)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.modules {
		var bytes uint64
		for name, table := range m.run.maps {
			info, err := table.Info()
			if err != nil {
				t.Fatal(err)
			}
			n, ok := info.Memlock()
			if !ok || n == 0 {
				t.Errorf("%s: the kernel has no size of the map %s", m.name, name)
			}
			bytes += n
		}
		t.Logf("%s: %d KiB", m.name, bytes>>10)
		if bytes > 5<<20 {
			t.Errorf("%s: the maps take %d bytes", m.name, bytes)
		}
	}
}
