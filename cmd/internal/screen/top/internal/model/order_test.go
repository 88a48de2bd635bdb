package model_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
)

func table() *model.Snapshot {
	return &model.Snapshot{Processes: []model.Process{
		{PID: 1, Name: "init", Args: "/sbin/init", Owner: "root", CPU: 0.1, RSS: 10, State: 'S', CGroup: "/init.scope", Size: 1},
		{PID: 2, Name: "kthreadd", Args: "(kthreadd)", Owner: "root", CPU: math.NaN(), RSS: 0, State: 'I', CGroup: "/"},
		{PID: 5, Parent: 2, Name: "kworker", Args: "(kworker)", Owner: "root", CPU: 0, RSS: 0, State: 'I', CGroup: "/"},
		{PID: 10, Parent: 1, Name: "sshd", Args: "sshd -D", Owner: "root", CPU: 0.5, RSS: 30, State: 'R', CGroup: "/system.slice/ssh", Size: 1},
		{PID: 11, Parent: 10, Name: "bash", Args: "-bash ÄRGER", Owner: "alice", CPU: 0.2, RSS: 50, State: 'D', CGroup: "/user.slice/a", Size: 1},
		{PID: 12, Parent: 10, Name: "vi", Args: "vi", Owner: "alice", CPU: 0.3, RSS: 20, State: 'S', CGroup: "/user.slice/ab", Size: 1},
		{PID: 20, Parent: 21, Name: "x", Args: "x", Owner: "bob", CPU: 0.01, RSS: 5, State: 'S', Size: 1}, // each other's parents
		{PID: 21, Parent: 20, Name: "y", Args: "y", Owner: "bob", CPU: 0.02, RSS: 5, State: 'S', Size: 1},
	}}
}

func TestOrder(t *testing.T) {
	f := func(sel model.Selection, want string) {
		t.Helper()
		s := table()
		var o model.Order
		for range 2 { // its memory is used again
			var got []string
			for _, r := range o.Rows(s, &sel) {
				text := strings.Repeat(">", r.Depth) + fmt.Sprint(s.Processes[r.Index].PID)
				if r.Below > 0 {
					text += fmt.Sprintf("+%d", r.Below)
				}
				got = append(got, text)
			}
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%+v:\n%s, want\n%s", sel, text, want)
			}
		}
	}
	f(model.Selection{By: model.ByCPU}, "10 12 11 1 21 20 5 2")
	f(model.Selection{By: model.ByCPU, Reverse: true}, "2 5 20 21 1 11 12 10")
	f(model.Selection{By: model.ByMemory}, "11 10 12 1 20 21 2 5")
	f(model.Selection{By: model.ByPID}, "1 2 5 10 11 12 20 21")
	f(model.Selection{By: model.ByOwner}, "11 12 20 21 1 2 5 10")
	f(model.Selection{By: model.ByState}, "10 11 1 12 20 21 2 5")
	f(model.Selection{By: model.ByCommand}, "11 1 2 5 10 12 20 21")
	f(model.Selection{By: model.ByCPU, Owner: "alice"}, "12 11")
	f(model.Selection{By: model.ByPID, CGroup: "/user.slice/a"}, "11")
	f(model.Selection{By: model.ByPID, CGroup: "/user.slice"}, "11 12")
	f(model.Selection{By: model.ByPID, CGroup: "/"}, "1 2 5 10 11 12")
	f(model.Selection{By: model.ByPID, NoKernel: true}, "1 10 11 12 20 21")
	f(model.Selection{By: model.ByPID, Filter: "ärger"}, "11")
	f(model.Selection{By: model.ByPID, Filter: "SSH|vi|20"}, "10 12 20")
	f(model.Selection{By: model.ByPID, Filter: "nothing"}, "")
	f(model.Selection{By: model.ByPID, Filter: "|"}, "")
	f(model.Selection{By: model.ByPID, Tree: true}, "1 >10 >>11 >>12 2 >5 20 >21")
	f(model.Selection{By: model.ByCPU, Tree: true}, "1 >10 >>12 >>11 21 >20 2 >5")
	f(model.Selection{By: model.ByPID, Tree: true, Folded: map[int32]bool{10: true, 2: true}}, "1 >10+2 2+1 20 >21")
	f(model.Selection{By: model.ByPID, Tree: true, Owner: "alice"}, "11 12")
	for _, c := range model.Columns() {
		s := table()
		var o model.Order
		if got := len(o.Rows(s, &model.Selection{By: c})); got != len(s.Processes) {
			t.Errorf("by column %d there are %d rows", c, got)
		}
	}
}

// FuzzOrder arranges processes with arbitrary parents.
func FuzzOrder(f *testing.F) {
	f.Add([]byte{1, 0, 2, 1, 3, 2}, "a")
	f.Add([]byte{1, 2, 2, 3, 3, 1, 9, 3}, "")
	f.Add([]byte{7, 7}, "|x")
	f.Fuzz(func(t *testing.T, b []byte, filter string) {
		s := &model.Snapshot{}
		last := int32(-1)
		for i := 0; i+1 < len(b); i += 2 {
			last += 1 + int32(b[i]%3)
			s.Processes = append(s.Processes, model.Process{PID: last, Parent: int32(b[i+1]) % 50, Args: string(b[i:])})
		}
		var o model.Order
		flat := len(o.Rows(s, &model.Selection{Filter: filter}))
		if tree := len(o.Rows(s, &model.Selection{Filter: filter, Tree: true})); tree != flat {
			t.Errorf("the tree has %d processes, the list %d", tree, flat)
		}
	})
}

func at(seconds int) pcp.Timestamp {
	return pcp.TimestampOf(time.Unix(1_800_000_000+int64(seconds), 0))
}

func TestHistory(t *testing.T) {
	h := model.NewHistory(4)
	push := func(seconds int, load float64) {
		h.Push(&model.Snapshot{Time: at(seconds), Load: [3]float64{load}})
	}
	f := func(end int64, n int, want ...float64) {
		t.Helper()
		got := h.Values(nil, model.Key{Kind: model.LoadNow}, end, n)
		if len(got) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
	nan := math.NaN()
	f(0, 2, nan, nan)
	push(10, 1)
	push(20, 2)
	push(30, nan)
	push(40, 4)
	f(4, 5, nan, 1, 2, nan, 4)
	f(3, 2, 2, nan)
	push(50, 5)
	f(5, 5, nan, 2, nan, 4, 5)
	push(40, 44) // a step back
	f(4, 3, 2, nan, 44)
	if got := h.Len(); got != 4 {
		t.Errorf("there are %d", got)
	}
	if got := h.Find(at(35)); got != 3 || h.Time(got).Compare(at(30)) != 0 {
		t.Errorf("at 35 it is %d", got)
	}
	if got := h.Find(at(5)); got != 0 {
		t.Errorf("at 5 it is %d", got)
	}
	// A series that is not in all samples.
	dev := model.Key{Kind: model.DevBusy, Name: "sda"}
	h.Put(dev, 0.5)
	push(60, 6)
	push(70, 7)
	h.Put(dev, 0.7)
	if got := h.Values(nil, dev, 6, 3); got[0] != 0.5 || !math.IsNaN(got[1]) || got[2] != 0.7 {
		t.Errorf("sda: %v", got)
	}
	push(5, 9) // before everything
	f(1, 2, nan, 9)
	h.Reset()
	f(1, 1, nan)
}

func TestTape(t *testing.T) {
	var tape model.Tape
	for i := range 400 {
		gone := tape.Push(&model.Snapshot{Time: at(i)})
		if want := i >= 300; (len(gone) == 1) != want {
			t.Fatalf("%d: %d are gone", i, len(gone))
		}
	}
	if tape.Len() != 300 || tape.At(0).Time.Compare(at(100)) != 0 {
		t.Errorf("%d from %v on", tape.Len(), tape.At(0).Time)
	}
	if got := tape.Find(at(250)); tape.At(got).Time.Compare(at(250)) != 0 {
		t.Errorf("at 250: %v", tape.At(got).Time)
	}
	if got := tape.Find(at(0)); got != 0 {
		t.Errorf("before all: %d", got)
	}
	// Many processes shorten it, but two are always kept.
	tape.Push(&model.Snapshot{Time: at(500), Processes: make([]model.Process, 90_000)})
	tape.Push(&model.Snapshot{Time: at(501), Processes: make([]model.Process, 90_000)})
	if tape.Len() != 2 {
		t.Errorf("%d snapshots of many processes are kept", tape.Len())
	}
}
