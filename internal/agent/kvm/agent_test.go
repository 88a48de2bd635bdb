package kvm

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/pmda"
)

var (
	_ pmda.Agent        = (*Agent)(nil)
	_ pmda.Refresher    = (*Agent)(nil)
	_ pmda.NameSpacer   = (*Agent)(nil)
	_ pmda.DynamicNamer = (*Agent)(nil)
	_ pmda.Texter       = (*Agent)(nil)
	_ pmda.Labeler      = (*Agent)(nil)
)

// values fetches metrics by name and returns their values.
func values(t testing.TB, a *Agent, names ...string) string {
	t.Helper()
	var b strings.Builder
	ids := agenttest.Lookup(t, a.NameSpace(), names...)
	res := agenttest.Fetch(t, a, nil, ids...)
	for i := range ids {
		fmt.Fprintf(&b, "%s:%s\n", names[i], agenttest.Text(&res.Sets[i], pcp.TypeU64))
	}
	return b.String()
}

func TestCounters(t *testing.T) {
	tr := testTree{t, t.TempDir()}
	a := New(tr.config(""))
	f := func(want string) {
		t.Helper()
		if got := values(t, a, "kvm.exits", "kvm.hypercalls", "kvm.trace.count"); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	f("kvm.exits: -1=0\nkvm.hypercalls: -1=0\nkvm.trace.count: -1=0\n")
	tr.write("debug/kvm/exits", "18446744073709551615\n")
	f("kvm.exits: -1=18446744073709551615\nkvm.hypercalls: -1=0\nkvm.trace.count: -1=0\n")
	tr.write("debug/kvm/exits", "3\n")
	tr.write("debug/kvm/hypercalls", "4\n")
	f("kvm.exits: -1=3\nkvm.hypercalls: -1=4\nkvm.trace.count: -1=0\n")
}

// A fakeGroup has counts, or fails.
type fakeGroup struct {
	counts []uint64
	err    error
	closed bool
}

func (g *fakeGroup) read(values []uint64) (int, error) {
	return len(g.counts), errors.Join(g.err, errIf(copy(values, g.counts) < 0))
}
func (g *fakeGroup) close() { g.closed = true }

func errIf(bad bool) error {
	if bad {
		return errors.ErrUnsupported
	}
	return nil
}

func TestTracing(t *testing.T) {
	tr := testTree{t, t.TempDir()}
	cfg := tr.config("[trace]\nkvm_exit\nkvm_entry\n")
	var log strings.Builder
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	a := New(cfg)
	groups := make([]*fakeGroup, 3)
	var asked []string
	a.tracer.open = func(cpu int, ids []uint64) (group, error) {
		asked = append(asked, fmt.Sprint(cpu, ids))
		groups[cpu] = &fakeGroup{counts: []uint64{uint64(10 * cpu), uint64(10*cpu + 1)}}
		return groups[cpu], nil
	}
	f := func(want string) {
		t.Helper()
		if got := values(t, a, "kvm.trace.kvm_exit", "kvm.trace.kvm_entry", "kvm.trace.count"); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	f("kvm.trace.kvm_exit:\nkvm.trace.kvm_entry:\nkvm.trace.count: -1=2\n") // the module is not there
	tr.write("tracing/events/kvm/kvm_entry/id", "12\n")
	tr.write("tracing/events/kvm/kvm_exit/id", "7\n")
	tr.write("tracing/events/kvm/kvm_mmio/id", "9\n")
	f("kvm.trace.kvm_exit: 0=0 1=10 2=20\nkvm.trace.kvm_entry: 0=1 1=11 2=21\nkvm.trace.count: -1=2\n")
	if got := fmt.Sprint(asked); got != "[0 [7 12] 1 [7 12] 2 [7 12]]" {
		t.Errorf("events %s", got)
	}
	// Values that cannot be read stay; a group that lacks an event counts nothing.
	groups[1].err, groups[1].counts, groups[2].counts = syscall.EIO, []uint64{5, 6}, []uint64{3}
	f("kvm.trace.kvm_exit: 0=0 1=10 2=0\nkvm.trace.kvm_entry: 0=1 1=11 2=0\nkvm.trace.count: -1=2\n")
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
	if fmt.Sprint(insts) != "[{0 cpu0} {1 cpu1} {2 cpu2}]" || err != nil {
		t.Errorf("%v, %v", insts, err)
	}
	sets, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, 0)), pcp.LabelInstances)
	if err != nil || len(sets) != 3 || string(sets[2].JSON) != `{"cpu":2}` {
		t.Errorf("labels %v, %v", sets, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for cpu, g := range groups {
		if !g.closed {
			t.Errorf("the events of processor %d are open", cpu)
		}
	}
	f("kvm.trace.kvm_exit:\nkvm.trace.kvm_entry:\nkvm.trace.count: -1=2\n")

	// If one processor has no events, all others have no events either.
	a, groups = New(cfg), make([]*fakeGroup, 3)
	a.tracer.open = func(cpu int, _ []uint64) (group, error) {
		if cpu == 2 {
			return nil, syscall.EACCES
		}
		groups[cpu] = new(fakeGroup)
		return groups[cpu], nil
	}
	for range 2 {
		f("kvm.trace.kvm_exit:\nkvm.trace.kvm_entry:\nkvm.trace.count: -1=2\n")
	}
	if !groups[0].closed || !groups[1].closed || strings.Count(log.String(), "disabling perf_event support: permission denied") != 1 {
		t.Errorf("log %s", log.String())
	}
}

// TestPerf counts switches of tasks, which always happen, as if they were trace points of KVM.
func TestPerf(t *testing.T) {
	var id []byte
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if b, err := os.ReadFile(dir + "/events/sched/sched_switch/id"); err == nil {
			id = b
		}
	}
	if id == nil {
		t.Skip("not run: tracefs is not mounted, or not for this user")
	}
	tr := testTree{t, t.TempDir()}
	tr.write("tracing/events/kvm/kvm_exit/id", string(id))
	tr.write("tracing/events/kvm/kvm_entry/id", string(id))
	cfg := tr.config("[trace]\nkvm_exit\nkvm_entry\n")
	var log strings.Builder
	cfg.Log, cfg.CPUs = slog.New(slog.NewTextHandler(&log, nil)), 1
	a := New(cfg)
	defer a.Close()
	ids := agenttest.Lookup(t, a.NameSpace(), "kvm.trace.kvm_exit", "kvm.trace.kvm_entry")
	count := func() (uint64, uint64) {
		res := agenttest.Fetch(t, a, nil, ids...)
		if len(res.Sets[0].Values) == 0 {
			if strings.Contains(log.String(), "perf_event_open") {
				t.Skipf("not run: this user may not count events: %s", log.String())
			}
			t.Fatal("no values, and the log does not say why")
		}
		return res.Sets[0].Values[0].Bits(), res.Sets[1].Values[0].Bits()
	}
	exits, _ := count()
	for range 100000 { // until the one processor has changed tasks
		runtime.Gosched()
		if again, entries := count(); again > exits && entries > 0 && again-entries < 1000 {
			return
		}
	}
	t.Error("no task was switched")
}

func TestConf(t *testing.T) {
	var cfg Config
	cfg.parse([]byte("kvm_x\n[paths]\ndebugfs=\ntracefs= /a b\nlockdown = /c\n debugfs=/d\x00/e\n=\n[trace]x\nno\n[dynamic]\r\n a b \n" + strings.Repeat("y", maxConfLine) + "z\n"))
	if cfg.Debug != "/d" || cfg.Tracing != "/a" || cfg.Lockdown != "" || len(cfg.Trace) != 3 || cfg.Trace[0] != "a b" || cfg.Trace[2] != "z" {
		t.Errorf("%.100q", fmt.Sprint(cfg))
	}
	if err := cfg.ReadConf(t.TempDir()); err == nil {
		t.Error("a directory is read")
	}
}

// TestOddPoints has trace points with invalid names, and more than there are PMIDs.
func TestOddPoints(t *testing.T) {
	points := []string{"count", "kvm_exit", "kvm_exit", "two words", "a.b", "caf\xe9", "9x"}
	for i := range 2000 {
		points = append(points, fmt.Sprintf("p%d", i))
	}
	var log strings.Builder
	a := New(Config{Trace: points, Debug: "/none", Tracing: "/none", Lockdown: "/none", Log: slog.New(slog.NewTextHandler(&log, nil))})
	if got := values(t, a, "kvm.trace.count"); got != "kvm.trace.count: -1=1023\n" {
		t.Error(got)
	}
	if ids := agenttest.Lookup(t, a.NameSpace(), "kvm.trace.kvm_exit", "kvm.trace.a.b", "kvm.trace.p1015"); ids[0].Item() != 2 || ids[1].Item() != 5 || ids[2].Item() != 1023 {
		t.Errorf("%v", ids)
	}
	for _, name := range []string{"count", "kvm_exit", "two words", "too many"} {
		if !strings.Contains(log.String(), name) {
			t.Errorf("the log does not have %q:\n%s", name, log.String())
		}
	}
	if desc, err := a.Desc(t.Context(), pcp.NewPMID(Domain, clusterTrace, 4)); err != nil || desc.Type != pcp.Type64 {
		t.Errorf("%+v, %v", desc, err)
	}
}

func TestEnvironment(t *testing.T) {
	tr := testTree{t, t.TempDir()}
	tr.write("pmdas/kvm/kvm.conf", "[trace]\nkvm_exit\n")
	tr.write("debug/kvm/exits", "0x10\n")
	env := map[string]string{
		"PCP_PMDAS_DIR": filepath.Join(tr.dir, "pmdas"), "KVM_DEBUGFS_PATH": filepath.Join(tr.dir, "debug"), "KVM_TRACEFS_PATH": filepath.Join(tr.dir, "tracing"),
		"KVM_LOCKDOWN_PATH": filepath.Join(tr.dir, "lockdown"), "KVM_NCPUS": " x",
	}
	b := Builtin()
	open := func() *Agent {
		t.Helper()
		a, err := b.Open(builtin.Env{Config: config.New(func(name string) string { return env[name] })})
		if err != nil {
			t.Fatal(err)
		}
		return a.(*Agent)
	}
	a := open()
	if got := values(t, a, "kvm.exits", "kvm.trace.count"); got != "kvm.exits: -1=16\nkvm.trace.count: -1=1\n" || a.cfg.CPUs != 1 {
		t.Errorf("%s, %d processors", got, a.cfg.CPUs)
	}
	text, err := a.Text(t.Context(), uint32(agenttest.Lookup(t, a.NameSpace(), "kvm.trace.kvm_exit")[0]), pcp.TextPMID|pcp.TextHelp)
	if err != nil || !strings.HasSuffix(text, "tracing/events/kvm/kvm_exit") {
		t.Errorf("%q, %v", text, err)
	}
	tr.write("lockdown", "[integrity]\n")
	if got := values(t, open(), "kvm.exits", "kvm.trace.kvm_exit"); got != "kvm.exits:error No permission to perform requested operation\nkvm.trace.kvm_exit:\n" {
		t.Error(got)
	}
	if n := processors("/"); n < runtime.NumCPU() {
		t.Errorf("%d processors, %d of which can be used", n, runtime.NumCPU())
	}
}

// TestAllocs limits the allocations of a refresh and a fetch.
func TestAllocs(t *testing.T) {
	tr := testTree{t, t.TempDir()}
	tr.counters(9)
	cfg := tr.config("[trace]\nkvm_exit\n")
	tr.write("tracing/events/kvm/kvm_exit/id", "1\n")
	a := New(cfg)
	a.tracer.open = func(int, []uint64) (group, error) { return &fakeGroup{counts: []uint64{1}}, nil }
	for _, c := range []struct {
		name string
		most float64
	}{{"kvm.exits", 1}, {"kvm.trace.count", 0}, {"kvm.trace.kvm_exit", 3}} {
		once := agenttest.Refresh(t, a, agenttest.Lookup(t, a.NameSpace(), c.name))
		once()
		if n := testing.AllocsPerRun(20, once); n > c.most {
			t.Errorf("%s: %v allocations, want %v", c.name, n, c.most)
		}
	}
}

func BenchmarkFetch(b *testing.B) {
	tr := testTree{b, b.TempDir()}
	tr.counters(9)
	a := New(tr.config(""))
	var ids []pcp.PMID
	for _, id := range a.NameSpace().All() {
		ids = append(ids, id)
	}
	for name, ids := range map[string][]pcp.PMID{"all": ids, "one": agenttest.Lookup(b, a.NameSpace(), "kvm.exits")} {
		b.Run(name, func(b *testing.B) {
			once := agenttest.Refresh(b, a, ids)
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}

func FuzzConf(f *testing.F) {
	f.Add([]byte("[paths]\ndebugfs=/sys/kernel/debug\ntracefs=/x y\n\n# c\n[trace]\nkvm_exit\n[dynamic]\nb\n[x]\ny\n"))
	f.Add([]byte("[trace]\n..\n.a\na.\n\x00\ncount\ncount.x\na\na.b\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		cfg := Config{CPUs: 1}
		cfg.parse(b)
		for _, point := range cfg.Trace {
			if point == "" || len(point) > maxConfLine {
				t.Errorf("trace point %q", point)
			}
		}
		cfg.Debug, cfg.Tracing, cfg.Lockdown = "/none", "/none", "/none"
		a := New(cfg)
		for name, id := range a.NameSpace().All() {
			if _, err := a.Desc(t.Context(), id); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range oddNumbers {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v := number(b)
		if same := number(append([]byte(" \t"), b[:min(len(b), maxLine-2)]...)); same != number(b[:min(len(b), maxLine-2)]) {
			t.Errorf("%q is %d, behind blanks %d", b, v, same)
		}
		if got := number([]byte(fmt.Sprint(v))); got != v {
			t.Errorf("%d is read as %d", v, got)
		}
	})
}

func FuzzPointID(f *testing.F) {
	f.Add([]byte("1234\n"))
	f.Add([]byte("99999999999999999999"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if id := pointID(b); id >= 10<<31+10 {
			t.Errorf("%q is %d", b, id)
		}
	})
}
