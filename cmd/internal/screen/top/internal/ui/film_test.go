package ui

import (
	"math"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
)

// at returns the time some seconds after the first sample of these tests.
func at(sec int) pcp.Timestamp { return pcp.Timestamp{Sec: 100_000 + int64(sec)} }

// taken returns a snapshot of a time, in which the processor is as busy as its seconds are hundredths.
func taken(sec int) *model.Snapshot {
	return &model.Snapshot{Time: at(sec), Groups: model.CPUs, CPU: model.CPU{User: float64(sec) / 100}}
}

// shows tests which sample a film shows.
func shows(t *testing.T, f *film, sec int) {
	t.Helper()
	if f.now == nil || f.now.Time != at(sec) {
		t.Fatalf("shown is %+v, want second %d", f.now, sec)
	}
}

// TestFilmLive moves on the tape of a live source.
func TestFilmLive(t *testing.T) {
	f := newFilm()
	if _, _, ok := f.span(); ok || f.end() != 0 {
		t.Error("an empty film has a span")
	}
	for sec := range 10 {
		f.push(taken(sec))
	}
	shows(t, f, 9)
	if f.past() {
		t.Error("the newest sample is in the past")
	}
	if !f.step(-3) {
		t.Error("three steps back lead before the tape")
	}
	shows(t, f, 6)
	f.push(taken(10)) // paused
	shows(t, f, 6)
	if !f.step(100) {
		t.Error("steps forward lead before the tape")
	}
	shows(t, f, 10)
	if !f.past() {
		t.Error("the film continues at its end by itself")
	}
	if f.step(-100) {
		t.Error("the tape has a hundred samples")
	}
	shows(t, f, 0)
	if !f.jump(at(4)) || f.jump(at(-1)) {
		t.Error("jump is wrong about the start of the tape")
	}
	shows(t, f, 0)
	f.show(-1)
	shows(t, f, 10)
	if first, last, ok := f.span(); !ok || first != at(0) || last != at(10) {
		t.Errorf("span %v to %v", first, last)
	}
}

// TestFilmForgets pushes more samples than a tape has, while an old one is shown.
func TestFilmForgets(t *testing.T) {
	f := newFilm()
	f.push(taken(0))
	f.push(taken(1))
	f.step(-1)
	for sec := 2; sec < 1000; sec++ {
		f.push(taken(sec))
	}
	first, _, _ := f.span()
	if first.Compare(at(100)) < 0 || f.now.Time != first {
		t.Errorf("shown is %v, the tape starts at %v", f.now.Time, first)
	}
	if n := len(f.recycle()); n < 100 || f.recycle() != nil {
		t.Errorf("%d snapshots are free", n)
	}
}

// TestFilmReplay shows samples of an archive, with the graphs before them.
func TestFilmReplay(t *testing.T) {
	f := newFilm()
	f.before([]*model.Snapshot{taken(1), taken(2)})
	f.replace(taken(3))
	f.replace(taken(4))
	shows(t, f, 4)
	got := f.values(model.CPUBusy, "", 3)
	for i, want := range []float64{0.02, 0.03, 0.04} {
		if math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("the graph is %v", got)
			break
		}
	}
	if sum := f.sum(2, model.CPUBusy, model.CPUBusy, model.NetIn); math.Abs(sum[1]-0.08) > 1e-9 {
		t.Errorf("the sum is %v", sum)
	}
	if free := f.recycle(); len(free) != 4 { // nil, for the first replace
		t.Errorf("free are %v", free)
	}
	f.before([]*model.Snapshot{taken(50)})
	f.replace(taken(51))
	if got := f.values(model.CPUBusy, "", 3); !math.IsNaN(got[0]) {
		t.Errorf("after a jump the graph is %v", got)
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(1000, 0)
	c := pace{interval: 2 * time.Second, speed: normalSpeed, samples: 1}
	due := func(want time.Duration) {
		t.Helper()
		if got := c.due.Sub(start); got != want {
			t.Errorf("due after %v, want %v", got, want)
		}
	}
	c.live(start)
	due(300 * time.Millisecond)
	c.samples = 2
	c.live(start.Add(300 * time.Millisecond))
	due(2 * time.Second)
	c.live(start.Add(7 * time.Second)) // two were missed
	due(8 * time.Second)
	c.replay(start)
	due(time.Second)
	c.speed = 0
	c.replay(start)
	due(4 * time.Second)
	if c.stop(); !c.due.IsZero() {
		t.Errorf("due at %v", c.due)
	}
}
