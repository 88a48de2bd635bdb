package perfevent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

const live = `[perf]
cycles
page-faults cpu
CPU-CLOCK 0
sched:sched_switch

[dynamic]
software.context-switches
software.page-faults 0
foo.bar

[faults:derived]
software.page-faults 0.5
`

// total is the sum over all processors.
func total(t *testing.T, values map[string]string) float64 {
	t.Helper()
	sum := 0.0
	for inst, text := range values {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s is %q", inst, text)
		}
		sum += v
	}
	return sum
}

// TestLive counts events of this kernel that the test causes.
func TestLive(t *testing.T) {
	c, err := openCounter(attr{kind: kindSoftware, config: 3}, 0)
	if err != nil {
		t.Skipf("SKIPPED: the kernel does not allow to count here: %v", err)
	}
	c.close()
	conf, err := Parse(strings.NewReader(live), "perfevent.conf")
	if err != nil {
		t.Fatal(err)
	}
	a := New(Config{Conf: conf})
	defer a.Close()
	before := agenttest.Read(t, a)
	const pages = 2000
	b, err := syscall.Mmap(-1, 0, pages*os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	if err := syscall.Madvise(b, 15); err != nil { // MADV_NOHUGEPAGE
		t.Logf("madvise: %v", err)
	}
	for i := range pages {
		b[i*os.Getpagesize()] = 1
	}
	ping, pong := pipe(t), pipe(t)
	go func() {
		b := make([]byte, 1)
		for {
			if n, err := ping[0].Read(b); n == 0 || err != nil {
				pong[1].Close()
				return
			}
			pong[1].Write(b)
		}
	}()
	const turns = 100
	for range turns {
		ping[1].Write([]byte{1})
		pong[0].Read(make([]byte, 1))
	}
	ping[1].Close()
	after := agenttest.Read(t, a)
	for name, least := range map[string]float64{"page_faults": pages, "software.context_switches": 1, "CPU_CLOCK": 1} {
		name = "perfevent.hwcounters." + name
		grown := total(t, after[name+".value"]) - total(t, before[name+".value"])
		if grown < least {
			t.Errorf("%s has grown by %v, want at least %v", name, grown, least)
		}
		for inst, duty := range after[name+".dutycycle"] {
			if v, err := strconv.ParseFloat(duty, 64); err != nil || v <= 0 || v > 1 {
				t.Errorf("%s.dutycycle of %s is %s", name, inst, duty)
			}
		}
	}
	if got := after["perfevent.hwcounters.CPU_CLOCK.value"]; len(got) != 1 {
		t.Errorf("CPU_CLOCK is counted on more than a processor: %v", got)
	}
	faults, half := total(t, after["perfevent.hwcounters.software.page_faults.value"]), total(t, after["perfevent.derived.faults.value"])
	if half != faults/2 {
		t.Errorf("the derived metric is %v of %v faults", half, faults)
	}
}

func pipe(t *testing.T) (ends [2]*os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return [2]*os.File{r, w}
}

// TestOracle compares the agent with the C agent on this machine. That does not know derived metrics behind a section [dynamic], nor processors
// of the events of such a section behind derived metrics.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	const program = "/var/lib/pcp/pmdas/perfevent/pmdaperfevent"
	if _, err := os.Stat(program); err != nil {
		t.Skipf("SKIPPED: the real agent is not installed: %v", err)
	}
	for _, text := range []string{
		"[perf]\ncycles\npage-faults cpu\nCPU-CLOCK 0\ncontext-switches node_rr\n\n[dynamic]\nsoftware.page-faults 1\nsoftware.context-switches\nfoo.bar\n",
		"[perf]\npage-faults\nmigrations 1\n[a:derived]\npage-faults\n||\nmigrations\n[b:derived]\nabsent\n||\nmigrations 1 2.0\n[dynamic]\nsoftware.page-faults\n",
	} {
		conf, err := Parse(strings.NewReader(text), "perfevent.conf")
		if err != nil {
			t.Fatal(err)
		}
		a := New(Config{Conf: conf})
		defer a.Close()
		if a.find("page-faults") == nil {
			t.Skipf("SKIPPED: the kernel does not allow to count here: %v", a.refused)
		}
		dir := agenttest.Tree(t, map[string]string{"perfevent/perfevent.conf": text})
		real := agenttest.Start(t, "perfevent 127 pipe binary /usr/bin/env PCP_PMDAS_DIR="+dir+" "+program+" -d 127 -l "+filepath.Join(dir, "log"),
			"root {\n\tperfevent\n}\nperfevent {\n\tversion 127:0:0\n\tactive 127:0:1\n\thwcounters 127:*:*\n\tderived 127:*:*\n}\n", "perfevent")
		values := agenttest.Read(t, a)
		for _, name := range real.Metrics(t, a, func(name string) bool { return name == "perfevent.refused" }) {
			id, err := a.NameSpace().Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			desc, err := a.Desc(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if _, idle := values[name]["!"]; strings.HasSuffix(name, ".value") && !idle {
				real.Instances(t, a, desc.InDom)
			}
		}
	}
}
