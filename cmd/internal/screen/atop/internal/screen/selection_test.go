package screen

import (
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// TestThreadsOfSelection selects a process by its threads, as PCP 7 does.
func TestThreadsOfSelection(t *testing.T) {
	thread := &sample.Task{PID: 702, TGID: 700, State: 'S', Running: 1}
	for _, c := range []struct {
		sel        Selection
		six, seven bool // left out
	}{
		{Selection{PIDs: []int32{700}}, true, false},
		{Selection{PIDs: []int32{702}}, false, true},
		{Selection{States: "R"}, true, false},
		{Selection{States: "S"}, false, false},
		{Selection{States: "D"}, true, true},
	} {
		if got := c.sel.leavesOut(thread); got != c.six {
			t.Errorf("%+v: left out %v, want %v", c.sel, got, c.six)
		}
		c.sel.Threads = true
		if got := c.sel.leavesOut(thread); got != c.seven {
			t.Errorf("%+v: left out %v, want %v", c.sel, got, c.seven)
		}
	}
}

// TestDelays sums the delays of processes in containers, which are more than 32 bits hold together.
func TestDelays(t *testing.T) {
	delayed := &sample.Task{RunDelay: 1<<31 - 1, BlockDelay: 1<<31 - 1, Switches: 2, Preemptions: 3}
	for _, seven := range []bool{false, true} {
		p := &Printer{Settings: NewSettings(seven), s: &sample.Sampler{}}
		var sum sample.Task
		for range 2 {
			p.accumulate(&sum, delayed)
		}
		want := sample.Task{PID: 2}
		if seven {
			want.RunDelay, want.BlockDelay, want.Switches, want.Preemptions = 1<<32-2, 1<<32-2, 4, 6
		}
		if sum != want {
			t.Errorf("PCP 7 %v: %+v, want %+v", seven, sum, want)
		}
	}
}
