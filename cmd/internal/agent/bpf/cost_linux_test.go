package bpf

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A cost is how often the programs at a tracepoint ran, and for how long.
type cost struct {
	runs uint64
	took time.Duration
}

func (c cost) String() string {
	return fmt.Sprintf("%d runs of %.0f ns", c.runs, c.average())
}

func (c cost) average() float64 { return float64(c.took) / float64(max(c.runs, 1)) }

// A costs has the costs of each round by tracepoint.
type costs map[string][]cost

// median returns the cost of the round whose average is in the middle: other programs of the machine disturb some rounds.
func (c costs) median(tracepoint string) cost {
	rounds := slices.SortedFunc(slices.Values(c[tracepoint]), func(a, b cost) int { return cmp.Compare(a.average(), b.average()) })
	if len(rounds) == 0 {
		return cost{}
	}
	return rounds[len(rounds)/2]
}

func (c costs) add(t *testing.T, tracepoint string, p *ebpf.Program) {
	t.Helper()
	s, err := p.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if s.RunCount > 0 {
		c[tracepoint] = append(c[tracepoint], cost{s.RunCount, s.Runtime})
	}
}

// ownCosts adds the costs of modules of the agent for a load.
func ownCosts(t *testing.T, to costs, load func(), modules ...string) {
	t.Helper()
	a := start(t, modules...)
	defer a.Close()
	load()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.modules {
		if m.run == nil {
			continue
		}
		for i, p := range m.run.progs {
			to.add(t, m.run.order[i][len("pcp_"):], p)
		}
	}
}

// compiledCosts adds the costs of the programs of an object file for a load.
func compiledCosts(t *testing.T, to costs, load func(), object string) {
	t.Helper()
	spec, err := ebpf.LoadCollectionSpec(object)
	if err != nil {
		t.Fatal(err)
	}
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer coll.Close()
	for name, p := range coll.Programs {
		l, err := link.AttachTracing(link.TracingOptions{Program: p})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer l.Close()
	}
	load()
	for name, p := range coll.Programs {
		to.add(t, spec.Programs[name].AttachTo, p)
	}
}

// TestCostBesideC compares the cost of events, by the kernel's own statistics, with that of a program in C for the same questions.
func TestCostBesideC(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("PCP_TEST_LONG is not set")
	}
	needKernel(t)
	if _, err := exec.LookPath("clang"); err != nil {
		t.Skipf("%v; PCP_TEST_LONG=1 scripts/oracle installs it", err)
	}
	object := filepath.Join(t.TempDir(), "beside.o")
	if out, err := exec.Command("clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-c", "testdata/beside.bpf.c", "-o", object).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, out)
	}
	counting, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		t.Fatal(err)
	}
	defer counting.Close()
	file := diskFile(t)
	load := func() {
		t.Helper()
		for range 2 {
			if out, err := exec.Command("dd", "if=/dev/zero", "of="+file, "bs=4096", "oflag=direct", "count=2000").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for range 100 {
				if err := exec.Command("true").Run(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	own, compiled := make(costs), make(costs)
	for range 15 {
		ownCosts(t, own, load, "runqlat", "biolatency")
		compiledCosts(t, compiled, load, object)
	}
	for _, module := range [][]string{{"sched_wakeup", "sched_switch"}, {"block_rq_issue", "block_rq_complete"}} {
		var sums [2]float64 // of the averages: each wait and each request has an event of either kind
		for _, tracepoint := range module {
			ours, theirs := own.median(tracepoint), compiled.median(tracepoint)
			t.Logf("%s: %v, in C %v", tracepoint, ours, theirs)
			if ours.runs == 0 || theirs.runs == 0 {
				t.Errorf("%s: the kernel counts no runs", tracepoint)
			}
			sums[0] += ours.average()
			sums[1] += theirs.average()
		}
		t.Logf("%v: %.0f ns, in C %.0f ns", module, sums[0], sums[1])
		if sums[0] > 1.25*sums[1] {
			t.Errorf("%v: %.0f ns, more than one and a quarter times that in C, %.0f ns", module, sums[0], sums[1])
		}
	}
}
