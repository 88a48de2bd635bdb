package bpf

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestOffCPU has a process sleep, a process stop, and two processes compete for one processor.
func TestOffCPU(t *testing.T) {
	a := start(t, "offcputime")
	sleeper := exec.Command("sh", "-c", "read x; sleep 0.7; sleep 0.5 & wait; kill -STOP $$; read x")
	in, err := sleeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		sleeper.Process.Kill()
		sleeper.Wait()
	}()
	one, two := busy(t, ""), busy(t, "")
	pids := []int{sleeper.Process.Pid, one.Process.Pid, two.Process.Pid}
	began, waited0 := time.Now(), waited(t, one)+waited(t, two)
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the process has stopped", func() bool {
		_, rest, _ := strings.Cut(await.File(t, "/proc/"+strconv.Itoa(pids[0])+"/stat"), ") ")
		return strings.HasPrefix(rest, "T")
	})
	time.Sleep(300 * time.Millisecond)
	if err := sleeper.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	of := func(metric string, pid int) time.Duration {
		return time.Duration(number(t, fetch(t, a, "bpf.proc.offcpu."+metric), strconv.Itoa(pid)))
	}
	await.Until(t, "the process has continued", func() bool { return of("other", pids[0]) > 0 })
	all := time.Since(began)
	if got := of("sleep", pids[0]); got < 1150*time.Millisecond || got > all+time.Second {
		t.Errorf("a process that slept 1.2 s in %v has %v", all, got)
	}
	if got := of("other", pids[0]); got < 300*time.Millisecond || got > all {
		t.Errorf("a process that was stopped for 300 ms in %v has %v", all, got)
	}
	kernel := waited(t, one) + waited(t, two) - waited0
	got := of("runnable", pids[1]) + of("runnable", pids[2])
	if slack := kernel/3 + 100*time.Millisecond; got < kernel-slack || got > kernel+slack {
		t.Errorf("two processes waited %v for the processor, and have %v", kernel, got)
	}
	sums, counts := fetch(t, a, "bpf.offcpu.time"), fetch(t, a, "bpf.offcpu.count")
	for _, reason := range []string{"runnable", "sleep", "other"} {
		if number(t, sums, reason) == 0 || number(t, counts, reason) == 0 {
			t.Errorf("the host has %q and %q for %s", sums[reason], counts[reason], reason)
		}
	}
	t.Logf("off the processor: %v, %v", sums, counts)
}

// TestReclaim has a control group reach its limit with pages of files.
func TestReclaim(t *testing.T) {
	a := start(t, "drsnoop")
	dir := limitedGroup(t, 16<<20)
	file := diskFile(t)
	before := number(t, fetch(t, a, "bpf.reclaim.count"), "cgroup")
	out, err := exec.Command("sh", "-c", "echo $$ > "+dir+"/cgroup.procs && head -c 64M /dev/zero > "+file+" && cat "+file+" > /dev/null").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n, pages := number(t, fetch(t, a, "bpf.reclaim.count"), "cgroup")-before, number(t, fetch(t, a, "bpf.reclaim.pages"), "cgroup")
	took := time.Duration(number(t, fetch(t, a, "bpf.reclaim.time"), "cgroup"))
	t.Logf("%d times, %d pages, %v", n, pages, took)
	if n == 0 || pages == 0 || took == 0 {
		t.Errorf("a group of 16 MB that uses 64 MB of a file has reclaimed %d times, %d pages, in %v", n, pages, took)
	}
	if len(fetch(t, a, "bpf.reclaim.latency")) == 0 {
		t.Error("there is no histogram")
	}
}

// TestSyscalls counts system calls of a program that makes many of two classes, and some that fail and sleep.
func TestSyscalls(t *testing.T) {
	a := start(t, "syscount")
	counts, errs, times := fetch(t, a, "bpf.syscall.count"), fetch(t, a, "bpf.syscall.errors"), fetch(t, a, "bpf.syscall.time")
	const n = 20_000
	if out, err := exec.Command("sh", "-c", "dd if=/dev/zero of=/dev/null bs=1 count=20000; for i in 1 2 3 4 5; do cat /no/such/file; done; sleep 0.3; true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	since := func(metric string, before map[string]string, class string) uint64 {
		return number(t, fetch(t, a, metric), class) - number(t, before, class)
	}
	for _, class := range []string{"read", "write"} {
		if got := since("bpf.syscall.count", counts, class); got < n {
			t.Errorf("%s: %d calls, want %d or more", class, got, n)
		}
	}
	if got := since("bpf.syscall.errors", errs, "file"); got < 5 {
		t.Errorf("%d calls for files failed, want 5 or more", got)
	}
	if got := time.Duration(since("bpf.syscall.time", times, "sleep")); got < 300*time.Millisecond {
		t.Errorf("calls slept %v, want 300 ms or more", got)
	}
	if len(fetch(t, a, "bpf.syscall.latency")) == 0 {
		t.Error("there is no histogram")
	}
	seen := make(map[int]int)
	for class, list := range syscallClasses() {
		for _, number := range list {
			if other, ok := seen[number]; ok || number >= maxSyscall {
				t.Errorf("system call %d is in the classes %d and %d", number, class, other)
			}
			seen[number] = class
		}
	}
}
