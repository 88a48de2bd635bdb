package bpf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/pmda"
)

// helperMode is the variable that makes the test program an agent of its own.
const helperMode = "PCP_BPF_TEST_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperMode); mode != "" {
		help(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// help runs an agent, prints its objects, and stays until it is killed. As "all" it has all modules. As "stranger" it has no rights, and prints the state.
func help(mode string) {
	if mode == "stranger" {
		if err := syscall.Setresuid(65534, 65534, 65534); err != nil {
			fmt.Println(err)
			return
		}
	}
	a := New(Config{})
	for _, m := range a.modules {
		m.wanted = m.wanted || mode == "all"
	}
	a.Start()
	if err := a.readControl(); err != nil {
		fmt.Println(err)
	}
	if mode == "stranger" {
		fmt.Printf("%s\n", a.control.String(0, colState))
		return
	}
	fmt.Println(strings.Join(a.objects(), " "))
	time.Sleep(time.Minute)
}

// objects returns the programs, maps and links of the modules that run, as "prog 17".
func (a *Agent) objects() (list []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.modules {
		if m.run == nil {
			continue
		}
		for _, p := range m.run.progs {
			if info, err := p.Info(); err == nil {
				id, _ := info.ID()
				list = append(list, fmt.Sprint("prog:", id))
			}
		}
		for _, t := range m.run.maps {
			if info, err := t.Info(); err == nil {
				id, _ := info.ID()
				list = append(list, fmt.Sprint("map:", id))
			}
		}
		for _, l := range m.run.links {
			if info, err := l.Info(); err == nil {
				list = append(list, fmt.Sprint("link:", info.ID))
			}
		}
	}
	return list
}

// isThere reports whether the kernel has an object.
func isThere(t *testing.T, object string) bool {
	t.Helper()
	kind, text, _ := strings.Cut(object, ":")
	id, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case "prog":
		var p *ebpf.Program
		if p, err = ebpf.NewProgramFromID(ebpf.ProgramID(id)); err == nil {
			p.Close()
		}
	case "map":
		var m *ebpf.Map
		if m, err = ebpf.NewMapFromID(ebpf.MapID(id)); err == nil {
			m.Close()
		}
	default:
		var l link.Link
		if l, err = link.NewFromID(link.ID(id)); err == nil {
			l.Close()
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s: %v", object, err)
	}
	return err == nil
}

// gone waits until the kernel has freed the objects.
func gone(t *testing.T, objects []string) {
	t.Helper()
	for _, o := range objects {
		await.Until(t, o+" is gone", func() bool { return !isThere(t, o) })
	}
}

// needKernel skips the test if the kernel does not let this user attach the smallest program to a tracepoint.
func needKernel(t *testing.T) {
	t.Helper()
	m := &module{name: "nothing", write: func(_ *kernel, o *object) error {
		o.on("sched_process_exec", new(code))
		return nil
	}}
	k, err := newKernel("/")
	if err == nil {
		var o *object
		if o, err = m.start(k); err == nil {
			o.close()
			return
		}
	}
	t.Skipf("eBPF is refused here: %v", err)
}

// start returns an agent with the given modules on, and no others. They run.
func start(t *testing.T, modules ...string) *Agent {
	t.Helper()
	needKernel(t)
	settings := Settings{Enabled: make(map[string]bool)}
	a := New(Config{})
	for _, m := range a.modules {
		settings.Enabled[m.name] = slices.Contains(modules, m.name)
	}
	a = New(Config{Settings: settings, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Cleanup(func() { a.Close() })
	a.Start()
	for _, name := range modules {
		got := fetch(t, a, "bpf.module.state")[name]
		if strings.HasPrefix(got, "the kernel") && strings.Contains(got, "tracepoint") {
			t.Skipf("eBPF is refused here: module %s: %s", name, got)
		}
		if got != "running" {
			t.Fatalf("module %s: %s", name, got)
		}
	}
	return a
}

// root is a client that may see and do everything.
func root() *pmda.Client {
	return &pmda.Client{ID: 1, Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "0"}}
}

// fetch returns the values of a metric by the names of instances, "" for a metric without them.
func fetch(t *testing.T, a *Agent, name string) map[string]string {
	t.Helper()
	id, err := a.NameSpace().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	desc, err := a.Desc(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	ids := []pcp.PMID{id}
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	res := new(pcp.Result)
	if err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: root(), PMIDs: ids, Result: res}); err != nil {
		t.Fatal(err)
	}
	insts := make(map[int32]string)
	if desc.InDom != pcp.InDomNull {
		list, err := a.Instances(pmda.WithClient(t.Context(), root()), desc.InDom)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range list {
			insts[in.Inst] = in.Name
		}
	}
	values := make(map[string]string)
	for _, v := range res.Sets[0].Values {
		text, ok := v.Text()
		if !ok {
			text = strconv.FormatUint(v.Bits(), 10)
		}
		values[insts[v.Inst]] = text
	}
	return values
}

// fetchAs returns how many values a client without a user gets.
func fetchAs(t *testing.T, a *Agent, id pcp.PMID) int {
	t.Helper()
	ids := []pcp.PMID{id}
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	res := new(pcp.Result)
	if err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: ids, Result: res}); err != nil {
		t.Fatal(err)
	}
	return len(res.Sets[0].Values)
}

// number returns a value that is a number, 0 if there is none.
func number(t *testing.T, values map[string]string, inst string) uint64 {
	t.Helper()
	if values[inst] == "" {
		return 0
	}
	n, err := strconv.ParseUint(values[inst], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// busy starts a process that computes on the first processor, in a group if dir is not "".
func busy(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if dir != "" {
		if err := setFile(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(cmd.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	var all, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for i := range 1024 {
		if all.IsSet(i) {
			first.Set(i)
			break
		}
	}
	if err := unix.SchedSetaffinity(cmd.Process.Pid, &first); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// waited returns how long a process with one thread has waited for a processor, by the kernel's own count.
func waited(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	var run, wait, slices int64
	text := await.File(t, fmt.Sprintf("/proc/%d/schedstat", cmd.Process.Pid))
	if _, err := fmt.Sscan(text, &run, &wait, &slices); err != nil {
		t.Skipf("eBPF is refused here: no schedstat to compare with: %q", text)
	}
	return time.Duration(wait)
}

// hasGroups reports whether a directory is one of control groups.
func hasGroups(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && (fs.Type == unix.CGROUP_SUPER_MAGIC || fs.Type == unix.CGROUP2_SUPER_MAGIC)
}

// setFile writes to a file that exists.
func setFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// newGroup makes a control group for the test, "" if that is not possible.
func newGroup(t *testing.T) (dir, name string) {
	t.Helper()
	base, _ := groupDir("/")
	if !hasGroups(base) {
		t.Logf("there is no control group for the test: %s is another file system", base)
		return "", ""
	}
	name = fmt.Sprintf("/pcp-bpf-test-%d", os.Getpid())
	dir = base + name
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Logf("there is no control group for the test: %v", err)
		return "", ""
	}
	t.Cleanup(func() { await.Until(t, "the group is removed", func() bool { return os.Remove(dir) == nil }) })
	return dir, name
}

// TestWaits has two processes compete for one processor, and compares with the times that the kernel counts for them.
func TestWaits(t *testing.T) {
	a := start(t, "runqlat")
	dir, name := newGroup(t)
	one, two := busy(t, dir), busy(t, dir)
	byGroup := func() (least, most time.Duration) {
		for inst, text := range fetch(t, a, "bpf.runq.cgroup.latency") {
			if group, bucket, _ := strings.Cut(inst, "::"); group == name {
				n, _ := strconv.ParseInt(text, 10, 64)
				r, ok := names.ParseRange(bucket)
				if !ok {
					t.Fatalf("instance %q has no range", inst)
				}
				least += time.Duration(float64(n) * r.Low)
				most += time.Duration(float64(n) * r.High)
			}
		}
		return least, most
	}
	sum := func() time.Duration { return time.Duration(number(t, fetch(t, a, "bpf.runq.time"), "")) }
	host0, kernel0 := sum(), waited(t, one)+waited(t, two)
	least0, most0 := byGroup()
	time.Sleep(1500 * time.Millisecond)
	host, kernel := sum()-host0, waited(t, one)+waited(t, two)-kernel0
	least, most := byGroup()
	least, most = least-least0, most-most0
	t.Logf("host %v, kernel %v, group %v to %v", host, kernel, least, most)
	// A wait counts when it ends: one of each process may be missing on either side.
	if slack := kernel/3 + 100*time.Millisecond; host < kernel-slack {
		t.Errorf("two processes waited %v, and all tasks together %v", kernel, host)
	} else if dir != "" && (least > kernel+slack || most < kernel-slack) {
		t.Errorf("two processes waited %v, and their group between %v and %v", kernel, least, most)
	}
}

// TestHistogramInstances checks that the names of ranges are those of upstream, and that they make a histogram for Prometheus.
func TestHistogramInstances(t *testing.T) {
	for i, want := range map[int]string{0: "0-1", 1: "2-3", 10: "1024-2047", 62: "4611686018427387904-9223372036854775807"} {
		if got := bucketName(i); got != want {
			t.Errorf("bucketName(%d) = %q, want %q", i, got, want)
		}
	}
	h := names.NewHistogram(func(yield func(string) bool) {
		for i := range 20 {
			if !yield(bucketName(i)) {
				return
			}
		}
	})
	if h == nil || len(h.Bounds) != 21 {
		t.Errorf("the ranges are not a histogram: %v", h)
	}
}

// TestSwitch switches a module off and on.
func TestSwitch(t *testing.T) {
	a := start(t, "runqlat")
	id, err := a.NameSpace().Lookup("bpf.control.enabled")
	if err != nil {
		t.Fatal(err)
	}
	store := func(client *pmda.Client, id pcp.PMID, inst int32, n uint32) error {
		res := new(pcp.Result)
		res.AddSet(id)
		res.Add(pcp.Uint32Value(n).WithInst(inst))
		return a.Store(context.Background(), client, res)
	}
	inst := a.modules[slices.IndexFunc(a.modules, func(m *module) bool { return m.name == "runqlat" })].inst
	for _, f := range []struct {
		client *pmda.Client
		id     pcp.PMID
		inst   int32
		n      uint32
		want   pcp.Error
	}{
		{&pmda.Client{}, id, inst, 0, pcp.ErrPermission},
		{&pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "12345"}}, id, inst, 0, pcp.ErrPermission},
		{root(), id, 99, 0, pcp.ErrInst},
		{root(), id, inst, 2, pcp.ErrBadStore},
		{root(), pcp.NewPMID(Domain, clusterControl, 1), inst, 0, pcp.ErrPermission},
	} {
		if err := store(f.client, f.id, f.inst, f.n); !errors.Is(err, f.want) {
			t.Errorf("store of %d into %v[%d]: %v, want %v", f.n, f.id, f.inst, err, f.want)
		}
	}
	for range 3 {
		objects := a.objects()
		if len(objects) == 0 {
			t.Fatal("the module has no objects")
		}
		if err := store(root(), id, inst, 0); err != nil {
			t.Fatal(err)
		}
		if got := fetch(t, a, "bpf.module.state")["runqlat"]; got != "off" {
			t.Errorf("state %q, want off", got)
		}
		if got := fetch(t, a, "bpf.runq.latency"); len(got) > 0 {
			t.Errorf("a module that is off has values: %v", got)
		}
		gone(t, objects)
		if err := store(root(), id, inst, 1); err != nil {
			t.Fatal(err)
		}
		if got := fetch(t, a, "bpf.module.state")["runqlat"]; got != "running" {
			t.Errorf("state %q, want running", got)
		}
	}
	objects := a.objects()
	a.Close()
	gone(t, objects)
	if err := store(root(), id, inst, 1); !errors.Is(err, pcp.ErrAgain) {
		t.Errorf("store into an agent that is closed: %v", err)
	}
}

// TestKill kills agents in the way that leaves them no time to clean up.
func TestKill(t *testing.T) {
	needKernel(t)
	times, mode := 20, "run"
	if longtest.Enabled() {
		times, mode = 100, "all"
	}
	for range times {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperMode+"="+mode)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		cmd.Process.Kill()
		cmd.Wait()
		objects := strings.Fields(line)
		if err != nil || len(objects) < 9 {
			t.Fatalf("the agent has objects %q, %v", line, err)
		}
		gone(t, objects)
	}
}

// TestRefused checks that an agent without rights, and one on a kernel without type information, have the reason and no values.
func TestRefused(t *testing.T) {
	a := New(Config{HostRoot: t.TempDir()})
	a.Start()
	defer a.Close()
	if got := fetch(t, a, "bpf.module.state")["runqlat"]; !strings.Contains(got, "/sys/kernel/btf/vmlinux") {
		t.Errorf("state %q", got)
	}
	if got := fetch(t, a, "bpf.runq.latency"); len(got) > 0 {
		t.Errorf("values of a module that does not run: %v", got)
	}
	if got := fetch(t, a, "bpf.control.enabled")["runqlat"]; got != "1" {
		t.Errorf("enabled %q, want 1", got)
	}

	needKernel(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperMode+"=stranger")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); !strings.Contains(got, "CAP_BPF") {
		t.Errorf("without rights the state is %q", got)
	}
}

// TestCost logs what the programs cost for each event, by the kernel's own count.
func TestCost(t *testing.T) {
	var all []string
	for _, m := range modules(Config{}) {
		all = append(all, m.name)
	}
	a := start(t, all...)
	counting, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		t.Fatal(err)
	}
	defer counting.Close()
	for range 50 {
		if err := exec.Command("true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	runs, took := fetch(t, a, "bpf.module.runs"), fetch(t, a, "bpf.module.run_time")
	for _, name := range all {
		if n := number(t, runs, name); n > 0 {
			t.Logf("%s: %d events of %d ns", name, n, number(t, took, name)/n)
		}
	}
	if number(t, runs, "runqlat") == 0 {
		t.Error("the kernel counts no runs of runqlat")
	}
}

// TestTexts checks that all metrics have help texts.
func TestTexts(t *testing.T) {
	a := New(Config{})
	if err := a.CheckTexts(); err != nil {
		t.Error(err)
	}
}
