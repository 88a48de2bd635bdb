package diagnosis_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis/diagnosistest"
)

// TestMissing leaves out metrics: the rules that need them are not checked, and the others are.
func TestMissing(t *testing.T) {
	s := diagnosistest.New(t)
	s.Drop("proc.")
	s.Drop("cgroup.")
	s.Drop("hinv.")
	d := diagnose(t, s.Fault(func(s *diagnosistest.Stage, _ int) { s.Level("filesys.full", "sdb1", 99.5) }))
	if len(d.Findings) != 1 || d.Findings[0].ID != "filesystem.full" || d.Findings[0].Takers != nil {
		t.Errorf("findings: %+v", d.Findings)
	}
	reasons := map[string]string{}
	for _, u := range d.Unchecked {
		reasons[u.ID] = u.Reason
	}
	if reasons["cpu.busy"] != "no metric hinv.ncpu" || reasons["cgroup.cpu"] != "no metric cgroup.cpusched.throttled" {
		t.Errorf("unchecked: %v", reasons)
	}
	if d.Checked+len(d.Unchecked) != len(allRules(t)) {
		t.Errorf("%d rules checked and %d unchecked of %d", d.Checked, len(d.Unchecked), len(allRules(t)))
	}
}

// TestGaps has a value that is missing in every third sample, so that it is never there for as long as its rule requires.
func TestGaps(t *testing.T) {
	d := diagnose(t, diagnosistest.New(t).Fault(func(s *diagnosistest.Stage, since int) {
		s.One("kernel.all.running", 40)
		if since%3 == 2 {
			s.One("kernel.all.running", math.NaN())
		}
	}))
	if len(d.Findings) != 1 || d.Findings[0].ID != "cpu.queue" {
		t.Fatalf("findings: %+v", d.Findings)
	}
	if f := d.Findings[0]; f.Held < 20 || f.Held > 30 {
		t.Errorf("it is true in %d samples of 40, want those with a value", f.Held)
	}
	// Values that are small end it.
	d = diagnose(t, diagnosistest.New(t).Fault(func(s *diagnosistest.Stage, since int) {
		s.One("kernel.all.running", 40)
		if since%3 == 2 {
			s.One("kernel.all.running", 1)
		}
	}))
	if len(d.Findings) != 0 {
		t.Errorf("with gaps of small values: %+v", d.Findings)
	}
}

// TestIrregular has samples that come late now and then, as on a busy machine. A value that grows all the time does not stay and jump then.
func TestIrregular(t *testing.T) {
	s := diagnosistest.New(t)
	s.Late = func(step int) time.Duration { return time.Duration(step*step%7) * 100 * time.Millisecond }
	d := diagnose(t, s.Fault(func(s *diagnosistest.Stage, since int) {
		s.Level("proc.fd.count", "culprit", 1000+700*float64(since))
	}))
	if len(d.Findings) == 0 || d.Findings[0].ID != "files.leak" {
		t.Fatalf("findings: %+v", d.Findings)
	}
	if f := d.Findings[0]; f.Held < 35 || f.Value > 100 {
		t.Errorf("true in %d of 40 samples, at most %v files/s", f.Held, f.Value)
	}
}

func allRules(t *testing.T) []*diagnosis.Rule {
	t.Helper()
	list, err := diagnosis.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestNothing has an archive without any metric of the rules.
func TestNothing(t *testing.T) {
	s := diagnosistest.New(t)
	for _, prefix := range []string{"proc", "cgroup", "kernel", "mem", "swap", "disk", "filesys", "network", "vfs"} {
		s.Drop(prefix)
	}
	if _, err := try(t, s.Write(func(*diagnosistest.Stage, int) {})); !errors.Is(err, diagnosis.ErrNothing) {
		t.Errorf("the error is %v, want %v", err, diagnosis.ErrNothing)
	}
}

// TestOddNumbers has values that are not amounts: they must not be findings.
func TestOddNumbers(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e300, -5} {
		d := diagnose(t, diagnosistest.New(t).Fault(func(s *diagnosistest.Stage, _ int) {
			for _, name := range []string{"filesys.full", "kernel.all.running", "kernel.all.blocked", "cgroup.pressure.io.full.avg10sec", "proc.fd.count", "vfs.files.count", "network.interface.speed", "mem.util.available"} {
				s.One(name, v)
			}
		}))
		for i := range d.Findings {
			t.Errorf("%g: %s: %s", v, d.Findings[i].ID, d.Findings[i].Text)
		}
	}
	// Division by 0.
	d := diagnose(t, diagnosistest.New(t).Fault(func(s *diagnosistest.Stage, _ int) {
		for _, name := range []string{"hinv.ncpu", "vfs.files.max", "kernel.all.pid_max", "swap.length", "filesys.maxfiles", "network.interface.speed", "mem.physmem"} {
			s.One(name, 0)
		}
	}))
	for i := range d.Findings {
		t.Errorf("%s: %s", d.Findings[i].ID, d.Findings[i].Text)
	}
}

// TestCounters has counters that wrap or begin again in the middle of a recording, without a mark.
func TestCounters(t *testing.T) {
	s := diagnosistest.New(t)
	for _, m := range s.Metrics {
		if m.Desc.Sem != pcp.SemCounter {
			continue
		}
		for _, in := range m.Insts {
			m.Total[in.Inst] = 1e12
		}
	}
	d := diagnose(t, s.Write(func(s *diagnosistest.Stage, step int) {
		if step == 30 {
			for _, m := range s.Metrics {
				clear(m.Total)
			}
		}
	}))
	for i := range d.Findings {
		t.Errorf("%s: %s", d.Findings[i].ID, d.Findings[i].Text)
	}
}

// TestManyInstances has many control groups, file systems and processes.
func TestManyInstances(t *testing.T) {
	s := diagnosistest.New(t)
	const n = 3000
	for _, m := range s.Metrics {
		name := ""
		switch m.Desc.InDom {
		case diagnosistest.Processes:
			name = "%06d worker"
		case diagnosistest.CGroups:
			name = "/system.slice/a%d.service"
		default:
			continue
		}
		if !strings.HasPrefix(m.Name, "proc.psinfo.utime") && !strings.HasPrefix(m.Name, "proc.psinfo.stime") && !strings.HasPrefix(m.Name, "cgroup.cpusched") {
			m.Insts = nil
			continue
		}
		for i := range int32(n) {
			m.Insts = append(m.Insts, pcp.Instance{Inst: 10000 + i, Name: fmt.Sprintf(name, 10000+i)})
			m.Values[10000+i] = float64(i) / 10
			if m.Name == "cgroup.cpusched.periods" {
				m.Values[10000+i] = 300
			}
		}
	}
	s.Metrics = slices.DeleteFunc(s.Metrics, func(m *diagnosistest.Metric) bool { return len(m.Insts) == 0 })
	d := diagnose(t, s.Write(func(*diagnosistest.Stage, int) {}), func(c *diagnosis.Config) { c.Interval = time.Minute })
	if len(d.Findings) == 0 || len(d.Findings) > 10 {
		t.Fatalf("%d findings", len(d.Findings))
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.ID == "cgroup.cpu" && f.More == 0 && f.Instance == "/system.slice/a12999.service" || len(f.Takers) > 3 {
			t.Errorf("%s of %s: %d more, %d takers", f.ID, f.Instance, f.More, len(f.Takers))
		}
	}
}

// TestWindow diagnoses parts of an archive.
func TestWindow(t *testing.T) {
	base := diagnosistest.New(t).Fault(func(s *diagnosistest.Stage, _ int) { s.Level("filesys.full", "sdb1", 99.5) })
	start := diagnosistest.Start()
	at := func(step int) pcp.Timestamp { return start.Add(time.Duration(step) * diagnosistest.Interval) }
	window := func(from, to int) func(*diagnosis.Config) {
		return func(c *diagnosis.Config) { c.From, c.To = at(from), at(to) }
	}
	if d := diagnose(t, base, window(0, diagnosistest.FaultStep-1)); len(d.Findings) != 0 || d.Samples != diagnosistest.FaultStep {
		t.Errorf("before the fault: %d findings in %d samples", len(d.Findings), d.Samples)
	}
	d := diagnose(t, base, window(diagnosistest.FaultStep+2, diagnosistest.FaultStep+10))
	if len(d.Findings) != 1 || !d.Findings[0].AtStart || !d.Findings[0].AtEnd || d.Findings[0].Held != 9 {
		t.Errorf("in the fault: %+v", d.Findings)
	}
	if _, err := try(t, base, window(5, 5)); !errors.Is(err, diagnosis.ErrShort) {
		t.Errorf("one sample: %v", err)
	}
	if _, err := try(t, base, window(100, 200)); !errors.Is(err, diagnosis.ErrShort) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := try(t, base, func(c *diagnosis.Config) { c.Interval = time.Millisecond }); err == nil || !strings.Contains(err.Error(), "more than 10000 samples") {
		t.Errorf("a short interval: %v", err)
	}
	a := diagnose(t, base, func(c *diagnosis.Config) { c.Interval = 5 * time.Second })
	if len(a.Findings) != 1 || a.Interval != 5*time.Second {
		t.Errorf("half the interval: %+v", a.Findings)
	}
}

// TestChanges compares with the time before.
func TestChanges(t *testing.T) {
	base := diagnosistest.New(t).Fault(func(s *diagnosistest.Stage, _ int) {
		s.Level("filesys.full", "sdb1", 99.5)
		s.Level("network.interface.in.bytes", "eth0", 5e7)
		s.One("kernel.all.cpu.user", 310) // hardly a change
	})
	d := diagnose(t, base)
	if d.Compared == nil || len(d.Changes) == 0 {
		t.Fatalf("compared %+v: %+v", d.Compared, d.Changes)
	}
	seen := map[string]diagnosis.Change{}
	for _, c := range d.Changes {
		seen[c.Metric] = c
	}
	if c := seen["network.interface.in.bytes"]; c.Instance != "eth0" || math.Abs(c.Before-2e5) > 1 || math.Abs(c.After-5e7) > 1 || c.Units.String() != "byte / sec" {
		t.Errorf("changes: %+v", d.Changes)
	}
	if _, ok := seen["kernel.all.cpu.user"]; ok || len(d.Changes) != 2 {
		t.Errorf("changes: %+v", d.Changes)
	}
	if c := d.Compared; c.Start != d.Findings[0].Since || c.BeforeEnd.Compare(c.Start) >= 0 {
		t.Errorf("compared %+v", c)
	}
}

// TestCancelled ends with its context.
func TestCancelled(t *testing.T) {
	base := diagnosistest.New(t).Write(func(*diagnosistest.Stage, int) {})
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := tryContext(ctx, t, base); err == nil {
		t.Error("no error")
	}
}
