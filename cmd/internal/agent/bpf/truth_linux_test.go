package bpf

import (
	"context"
	"errors"
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

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// loopDevice returns a block device of the file, whose requests reach the disk without the page cache.
func loopDevice(t *testing.T, file string) string {
	t.Helper()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no suitable disk here: no block device of a file: %v", err)
	}
	defer control.Close()
	back, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	for range 100 { // another program may be faster
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			t.Skipf("no suitable disk here: no block device of a file: %v", err)
		}
		path := fmt.Sprintf("/dev/loop%d", n)
		dev, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Skipf("no suitable disk here: no block device of a file: %v", err)
		}
		err = unix.IoctlLoopConfigure(int(dev.Fd()), &unix.LoopConfig{
			Fd: uint32(back.Fd()), Size: 4096, Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_DIRECT_IO},
		})
		if errors.Is(err, unix.EBUSY) {
			dev.Close()
			continue
		}
		if err != nil {
			dev.Close()
			t.Skipf("no suitable disk here: no block device of a file: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0); err != nil {
				t.Error(err)
			}
			dev.Close()
		})
		return path
	}
	t.Fatal("no block device is free")
	return ""
}

// diskOf returns the numbers of the disk of a file, as 254:0.
func diskOf(t *testing.T, file string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		t.Skipf("no suitable disk here: no file on a disk: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	return strings.TrimSpace(await.File(t, filepath.Join(dir, "dev")))
}

// TestThrottled has a control group that may write to a disk a few times a second write to a block device on it, and compares the latencies of the device, of the system
// calls and of the process with the time that the limit demands and the time that the program took.
func TestThrottled(t *testing.T) {
	a := start(t, "biolatency", "syscount", "offcputime")
	const rate, n = 20, 10
	file := diskFile(t)
	if out, err := exec.Command("dd", "if=/dev/zero", "of="+file, "bs=4096", "conv=fsync", fmt.Sprint("count=", n)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	blocks, blockName := blockGroup(t)
	dir, name := blocks, blockName
	if base, _ := groupDir("/"); filepath.Dir(blocks) != base { // the groups are those of another hierarchy
		dir, name = needGroup(t)
	}
	disk := diskOf(t, file)
	if setFile(filepath.Join(blocks, "blkio.throttle.write_iops_device"), fmt.Sprint(disk, " ", rate)) != nil {
		if err := setFile(filepath.Join(blocks, "io.max"), fmt.Sprint(disk, " wiops=", rate)); err != nil {
			t.Skipf("no suitable disk here: control groups do not limit writes to the disk %s: %v", disk, err)
		}
	}
	device := loopDevice(t, file)
	began := time.Now()
	inGroup(t, dir, fmt.Sprintf("echo $$ > %s/cgroup.procs && exec dd if=/dev/zero of=%s bs=4096 count=%d oflag=direct", blocks, device, n))
	took := time.Since(began)
	// The first writes are free, and the limit counts in slices of 100 ms.
	demanded := time.Duration(n)*time.Second/rate - 200*time.Millisecond
	if took < demanded {
		t.Skipf("no suitable disk here: the limit of writes to the disk %s does not hold back those to a device of a file on it", disk)
	}
	for _, f := range []struct {
		metric, of string
		unit       time.Duration
	}{
		{"bpf.disk.dev.write.latency", filepath.Base(device), time.Microsecond},
		{"bpf.disk.cgroup.write.latency", blockName, time.Microsecond}, // also has the requests to the disk itself
		{"bpf.syscall.cgroup.write.latency", name, time.Nanosecond},
		{"bpf.offcpu.cgroup.disk.latency", name, time.Nanosecond},
	} {
		events, low, high := ofGroup(t, a, f.metric, f.of)
		least, most := time.Duration(low)*f.unit, time.Duration(high)*f.unit
		t.Logf("%s of %s: %d events, %v to %v; the limit demands %v, and the program took %v", f.metric, f.of, events, least, most, demanded, took)
		if events < n-2 || most < demanded || least > 2*took {
			t.Errorf("%s of %s: %d events of %v to %v, want %d or more of %v to %v", f.metric, f.of, events, least, most, n-2, demanded, took)
		}
	}
}

// TestSlowConnect connects to a port whose queue is full: the kernel drops the first segment, and has room when it is sent again.
func TestSlowConnect(t *testing.T) {
	a := start(t, "tcpconnlat")
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	err = errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0))
	if err != nil {
		t.Fatal(err)
	}
	own, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := own.(*unix.SockaddrInet4).Port
	first, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	histogram := func() map[string]string { return fetch(t, a, "bpf.tcp.connect.latency") }
	retransmits := func() uint64 { return number(t, fetch(t, a, "bpf.tcp.retransmits"), "") }
	before, sent0, again0 := histogram(), snmp(t, "RetransSegs"), retransmits()
	type result struct {
		conn net.Conn
		err  error
		took time.Duration
	}
	done := make(chan result, 1)
	began := time.Now()
	go func() {
		c, err := new(net.Dialer).DialContext(context.Background(), "tcp", fmt.Sprint("127.0.0.1:", port))
		done <- result{c, err, time.Since(began)}
	}()
	await.Until(t, "the first segment is sent again", func() bool {
		for line := range strings.Lines(await.File(t, "/proc/net/tcp")) {
			const synSent = "02"
			if f := strings.Fields(line); len(f) > 6 && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", port)) && f[3] == synSent && strings.Trim(f[6], "0") != "" {
				return true
			}
		}
		return false
	})
	accepted, _, err := unix.Accept(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(accepted)
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	defer r.conn.Close()
	if again, kernel := retransmits()-again0, snmp(t, "RetransSegs")-sent0; again < 1 || again > kernel {
		t.Errorf("%d segments were sent again, and /proc/net/snmp has %d", again, kernel)
	}
	// The kernel sends again after one second, and after two more.
	var slow []string
	now := histogram()
	for i := range numBuckets {
		if name := bucketName(i); number(t, now, name) > number(t, before, name) && int64(1)<<(i+1) > (900*time.Millisecond).Microseconds() {
			slow = append(slow, name)
			if time.Duration(1)<<i*time.Microsecond > r.took {
				t.Errorf("a connection took %s microseconds, and the program waited %v", name, r.took)
			}
		}
	}
	t.Logf("the program waited %v; %v microseconds were counted", r.took, slow)
	if len(slow) == 0 {
		t.Errorf("no connection took a second; the program waited %v", r.took)
	}
}

// storm compiles two programs with the same name: spawn starts processes that end at once, as many as its second argument has, of the program that its first argument
// names, or its own if that is empty; tiny has no library, so that its start costs little, and ends at once.
func storm(t *testing.T, name string) (spawn, tiny string) {
	t.Helper()
	const spawnText = `
int execve(const char *, char *const *, char *const *);
int vfork(void);
int wait(int *);
int atoi(const char *);
void *signal(int, void *);
void _exit(int);
int main(int argc, char **argv)
{
	int i, n = argc > 2 ? atoi(argv[2]) : 0, pid;
	char *args[] = {argv[1], 0}, *none[] = {0};
	signal(17, (void *)1); // children leave nothing to wait for
	for (i = 0; i < n; i++) {
		if ((pid = vfork()) < 0)
			_exit(1);
		if (!pid) {
			if (!*argv[1])
				_exit(0);
			execve(argv[1], args, none);
			_exit(127);
		}
	}
	while (wait(0) > 0)
		;
	_exit(0);
}
`
	const tinyText = `
void _start(void)
{
#ifdef __aarch64__
	register long call __asm__("x8") = 93, status __asm__("x0") = 0;
	__asm__ volatile("svc 0" : : "r"(call), "r"(status) : "memory");
#else
	__asm__ volatile("syscall" : : "a"(60), "D"(0) : "rcx", "r11", "memory");
#endif
	for (;;)
		;
}
`
	compile := func(text string, flags ...string) string {
		dir := t.TempDir()
		source, program := filepath.Join(dir, "storm.c"), filepath.Join(dir, name)
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", append(flags, "-O2", "-static", "-o", program, source)...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		return program
	}
	return compile(spawnText), compile(tinyText, "-nostdlib", "-fno-stack-protector", "-Wl,-n")
}

// runStorm starts n processes by some runs of a program that storm has made, and returns how long that took.
func runStorm(t *testing.T, program, of string, n int) time.Duration {
	t.Helper()
	began := time.Now()
	const parts = 4
	var cmds []*exec.Cmd
	for range parts {
		cmd := exec.Command(program, of, strconv.Itoa(n/parts))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	return time.Since(began)
}

// TestStorm starts many programs and processes that end at once, and compares the counts by name, and the number of all processes.
func TestStorm(t *testing.T) {
	a := start(t, "execsnoop", "exitsnoop")
	const name = "pcp-bpf-storm"
	n := longtest.N(1000, 20_000)
	spawn, tiny := storm(t, name)
	all := func(metric string) (sum int) {
		values := fetch(t, a, metric)
		for inst := range values {
			sum += int(number(t, values, inst))
		}
		return sum
	}
	forks := func() int {
		_, rest, _ := strings.Cut(await.File(t, "/proc/stat"), "\nprocesses ")
		line, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	count := func(metric string) int { return int(number(t, fetch(t, a, metric), name)) }
	forks0, ends0 := forks(), all("bpf.exitsnoop.ends")
	took := runStorm(t, spawn, tiny, n)
	starts, short, ended := count("bpf.execsnoop.starts"), count("bpf.exitsnoop.short"), count("bpf.exitsnoop.ends")
	t.Logf("%d programs in %v, %.0f in a second", n, took, float64(n)/took.Seconds())
	took = runStorm(t, spawn, "", 5*n)
	t.Logf("%d processes in %v, %.0f in a second", 5*n, took, float64(5*n)/took.Seconds())
	copies := count("bpf.exitsnoop.ends") - ended
	ends, forked := all("bpf.exitsnoop.ends")-ends0, forks()-forks0
	const running = 1000 // processes that ran before the test and ended meanwhile
	if ends < 6*n-6*n/20 || ends > forked+running {
		t.Errorf("%d processes ended, and /proc/stat has %d processes and threads", ends, forked)
	}
	near := func(what string, got, least, n int) {
		t.Helper()
		if got < least || got > n+n/20 {
			t.Errorf("%s: %d, want %d", what, got, n)
		}
	}
	t.Logf("counted: %d programs started, %d ended, %d of them within a second; %d processes", starts, ended, short, copies)
	near("programs started", starts, n-n/20, n)
	near("programs ended", ended, n-n/20, n)
	near("programs ended within a second", short, n/2, n) // a busy machine may take a second for some
	near("processes ended", copies, 5*n-5*n/20, 5*n)
	if life, ends := number(t, fetch(t, a, "bpf.exitsnoop.life"), name), number(t, fetch(t, a, "bpf.exitsnoop.ends"), name); ends > 0 {
		t.Logf("they lived %d µs on average", life/ends/1000)
		if life == 0 {
			t.Error("bpf.exitsnoop.life is 0")
		}
	}
}
