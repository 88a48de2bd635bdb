package model_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/toptest"
	"github.com/go-pcp/pcp/pmapi"
)

const everything = model.System | model.CPUs | model.Disks | model.Files | model.Network | model.Pressure |
	model.Processes | model.ProcessIO | model.CGroups

// live calls f with a sampler of a live host, in a bubble whose clock advances only while f sleeps.
func live(t *testing.T, prepare func(*toptest.Host), f func(t *testing.T, h *toptest.Host, s *model.Sampler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := toptest.New(time.Now())
		if prepare != nil {
			prepare(h)
		}
		c, err := h.Context()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := model.New(t.Context(), c, model.Config{Interval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		f(t, h, s)
	})
}

func next(t *testing.T, s *model.Sampler, need model.Group) *model.Snapshot {
	t.Helper()
	snap, err := s.Next(context.Background(), need)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 0.02*math.Abs(want)+1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func find(t *testing.T, s *model.Snapshot, pid int32) *model.Process {
	t.Helper()
	for i := range s.Processes {
		if s.Processes[i].PID == pid {
			return &s.Processes[i]
		}
	}
	t.Fatalf("process %d is missing", pid)
	return nil
}

func TestLive(t *testing.T) {
	live(t, nil, func(t *testing.T, _ *toptest.Host, s *model.Sampler) {
		first := next(t, s, everything)
		if !math.IsNaN(first.CPU.Busy()) || !math.IsNaN(first.Net.In) {
			t.Errorf("the first sample has rates: %v, %v", first.CPU.Busy(), first.Net.In)
		}
		if got, want := first.Memory.Total, float64(16<<30); got != want {
			t.Errorf("memory is %v, want %v", got, want)
		}
		time.Sleep(time.Hour) // a multiple of all periods
		snap := next(t, s, everything)
		near(t, "interval", snap.Interval, 3600)
		near(t, "user", snap.CPU.User, 0.22)
		near(t, "idle", snap.CPU.Idle, 0.64)
		if len(snap.CPUs) != 4 || snap.CPUs[3].Name != "cpu3" {
			t.Errorf("processors: %v", snap.CPUs)
		}
		near(t, "read", snap.Disks[0].Read, 4096*1024)
		near(t, "await", snap.Disks[0].ReadWait, 0.150/120)
		near(t, "busy", snap.Disks[0].Busy, 0.4)
		near(t, "net in", snap.Net.In, 3e6/6+3e6/11) // without lo
		if len(snap.Interfaces) != 3 || snap.Interfaces[0].Name != "eth0" {
			t.Errorf("interfaces: %v", snap.Interfaces)
		}
		near(t, "accepted", snap.Protocols.Passive, 14)
		near(t, "pressure", snap.Pressure.IO.Some[0], 0.15)
		near(t, "cpu of postgres", find(t, snap, 690).CPU, 0.12)
		near(t, "written by postgres", find(t, snap, 690).Written, 1<<20)
		p := find(t, snap, 402)
		if p.Name != "bash" || p.Args != "-bash" || p.Owner != "alice" || p.Parent != 310 || p.State != 'S' || p.TTY != "pts/0" ||
			p.CGroup != "/user.slice/user-1000.slice" || p.Threads != 1 {
			t.Errorf("bash is %+v", *p)
		}
		if got := len(snap.Files); got != 2 || snap.Files[1].Mount != "/srv/data" || snap.Files[1].Type != "xfs" {
			t.Errorf("file systems: %+v", snap.Files)
		}
		var group *model.CGroup
		for i := range snap.CGroups {
			if snap.CGroups[i].Path == "/system.slice" {
				group = &snap.CGroups[i]
			}
		}
		if group == nil || group.Processes != 6 {
			t.Fatalf("control groups: %+v", snap.CGroups)
		}
		near(t, "cpu of /system.slice", group.CPU, 0.2)
	})
}

// TestOnlyWhatIsNeeded tests that metrics which no view shows are not fetched, and that those that cost the collector
// much are fetched only for new processes.
func TestOnlyWhatIsNeeded(t *testing.T) {
	live(t, nil, func(t *testing.T, h *toptest.Host, s *model.Sampler) {
		for range 5 {
			next(t, s, model.System)
			time.Sleep(time.Second)
		}
		for name, n := range h.Fetched {
			if strings.HasPrefix(name, "proc.") || strings.HasPrefix(name, "disk.dev.") || strings.HasPrefix(name, "cgroup.") {
				t.Errorf("%s was fetched %d times", name, n)
			}
		}
		next(t, s, model.Processes)
		time.Sleep(time.Second)
		next(t, s, model.Processes)
		before := h.Fetched["proc.psinfo.psargs"]
		time.Sleep(time.Second)
		snap := next(t, s, model.Processes)
		if got := h.Fetched["proc.psinfo.psargs"]; got != before {
			t.Errorf("the commands were fetched again: %d times and then %d", before, got)
		}
		if got := find(t, snap, 402).Args; got != "-bash" {
			t.Errorf("the command of bash is %q", got)
		}
		if h.Fetched["proc.io.read_bytes"] != 0 {
			t.Error("what processes read was fetched and is not shown")
		}
		// A new process is asked for separately.
		time.Sleep(300 * time.Second)
		snap = next(t, s, model.Processes)
		if got := find(t, snap, 577); got.Owner != "alice" || !strings.HasPrefix(got.Args, "rustc") {
			t.Errorf("the new process is %+v", *got)
		}
		if got := find(t, snap, 402).Args; got != "-bash" {
			t.Errorf("the command of bash is %q", got)
		}
	})
}

func TestAbsent(t *testing.T) {
	take := func(h *toptest.Host) {
		h.Without("kernel.all.pressure.cpu.some.total", "kernel.all.pressure.cpu.some.avg", "proc.io.read_bytes", "proc.io.write_bytes",
			"mem.util.available", "kernel.uname.release")
	}
	live(t, take, func(t *testing.T, _ *toptest.Host, s *model.Sampler) {
		next(t, s, everything)
		time.Sleep(time.Second)
		snap := next(t, s, everything)
		if got, want := snap.Absent(model.PanelPressure), "the collector does not have kernel.all.pressure.cpu.some.total"; got != want {
			t.Errorf("pressure is absent: %q, want %q", got, want)
		}
		if got, want := snap.Absent(model.PanelProcessIO), "the collector does not have proc.io.read_bytes"; got != want {
			t.Errorf("i/o is absent: %q, want %q", got, want)
		}
		if got := snap.Absent(model.PanelMemory); got != "" {
			t.Errorf("memory is absent: %q", got)
		}
		if !math.IsNaN(snap.Memory.Available) {
			t.Errorf("available memory is %v", snap.Memory.Available)
		}
		other := next(t, s, model.System)
		if got, want := other.Absent(model.PanelDisks), "not sampled at this time"; got != want {
			t.Errorf("disks are absent: %q, want %q", got, want)
		}
	})
}

func replay(t *testing.T) (*model.Sampler, model.Config) {
	t.Helper()
	path, err := toptest.New(toptest.Start).Archive(t.TempDir(), 20*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	a, err := pmapi.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	cfg := model.Config{
		Interval: 10 * time.Second, First: pcp.TimestampOf(toptest.Start), Last: pcp.TimestampOf(toptest.Start.Add(20 * time.Minute)),
		Start: pcp.TimestampOf(toptest.Start.Add(10 * time.Second)),
	}
	if pace, first := model.Pace(t.Context(), a, cfg.First); pace != 10*time.Second || first.Compare(cfg.First) != 0 {
		t.Errorf("the pace is %v from %v on", pace, first)
	}
	s, err := model.New(t.Context(), a.Context, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, cfg
}

func TestReplay(t *testing.T) {
	s, cfg := replay(t)
	if h := s.Host(); h.Name != "web1.example.com" || h.Kernel != "Linux 6.12.9-amd64" || h.Machine != "x86_64" || !h.Archive {
		t.Errorf("the host is %+v", h)
	}
	ctx := t.Context()
	at := func(d time.Duration) pcp.Timestamp { return pcp.TimestampOf(toptest.Start.Add(d)) }
	snap, err := s.Seek(ctx, cfg.Start, everything)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "read by postgres", find(t, snap, 690).Read, 2<<20+float64(1<<20)*40/(2*math.Pi)*(1-math.Cos(math.Pi/2))/10)
	one := *snap
	snap = next(t, s, everything)
	if snap.Time.Compare(at(20*time.Second)) != 0 {
		t.Errorf("the next sample is of %v", snap.Time)
	}
	two := snap.CPU
	// Back and forth again, values are the same.
	back, err := s.Back(ctx, everything)
	if err != nil || back.CPU != one.CPU || back.Time != one.Time {
		t.Errorf("one back: %v, %+v, want %+v", err, back.CPU, one.CPU)
	}
	if again := next(t, s, everything); again.CPU != two {
		t.Errorf("one forward: %+v, want %+v", again.CPU, two)
	}
	// The process that ran from minute 5 to 9.
	snap, err = s.Seek(ctx, at(6*time.Minute), everything)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "cpu of rustc", find(t, snap, 577).CPU, 1.7+1.7/4*40/(2*math.Pi)*(math.Cos(2*math.Pi*350/40)-math.Cos(2*math.Pi*360/40))/10)
	// Nothing is known in the gap.
	snap, err = s.Seek(ctx, at(11*time.Minute), everything)
	if err != nil {
		t.Fatal(err)
	}
	if why, want := snap.Absent(model.PanelCPU), "there is no kernel.all.cpu.idle in the archive at this time"; why != want {
		t.Errorf("in the gap: %q, want %q", why, want)
	}
	// At the end.
	if snap, err = s.Seek(ctx, at(time.Hour), everything); err != nil || snap.Time.Compare(cfg.Last) != 0 {
		t.Errorf("behind the end: %v, %v", snap, err)
	}
	if _, err = s.Next(ctx, everything); err != model.ErrEnd {
		t.Errorf("after the end: %v", err)
	}
	if snap, err = s.Seek(ctx, at(-time.Hour), everything); err != nil || snap.Time.Compare(cfg.First) != 0 {
		t.Errorf("before the start: %v, %v", snap, err)
	}
	if _, err = s.Back(ctx, everything); err != model.ErrEnd {
		t.Errorf("before the start: %v", err)
	}
	var times []pcp.Timestamp
	if err := s.Past(ctx, at(40*time.Second), 60, model.System, func(p *model.Snapshot) { times = append(times, p.Time) }); err != nil {
		t.Fatal(err)
	}
	if len(times) != 4 || times[0].Compare(cfg.First) != 0 {
		t.Errorf("the past: %v", times)
	}
}

func TestCharts(t *testing.T) {
	s, _ := replay(t)
	s.SetCharts([]string{"kernel.all.load", "disk.dev.read_bytes[sda]", "kernel.all.cpu.user", "mem.util.free", "no.such.metric", "kernel.all", "kernel.uname.release", "disk.dev.read[sdz]"})
	snap, err := s.Seek(t.Context(), pcp.TimestampOf(toptest.Start.Add(90*time.Second)), model.System)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range snap.Charts {
		text := c.Spec + ": "
		if c.Err != nil {
			text += c.Err.Error()
		}
		for _, l := range c.Lines {
			text += l.Name + "(" + c.Units + ") "
		}
		got = append(got, strings.TrimSpace(text))
	}
	want := []string{
		"kernel.all.load: 1 minute() 5 minute() 15 minute()",
		"disk.dev.read_bytes[sda]: sda(byte/s)",
		"kernel.all.cpu.user: ()",
		"mem.util.free: (byte)",
		"no.such.metric: there is no metric no.such.metric",
		"kernel.all: kernel.all is a group of metrics; name one of them",
		"kernel.uname.release: kernel.uname.release has no numbers as values",
		"disk.dev.read[sdz]: disk.dev.read has no instance sdz",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("charts:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// A counter of milliseconds is the number of busy processors.
	if v := snap.Charts[2].Lines[0].Value; v < 0.5 || v > 1.5 {
		t.Errorf("user time is %v", v)
	}
}
