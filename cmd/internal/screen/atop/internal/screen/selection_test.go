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
