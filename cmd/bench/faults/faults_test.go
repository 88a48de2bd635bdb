//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
)

// TestList expects 50 faults that can be staged, of which 10 are held out, 20 sound recordings, and rules that exist.
func TestList(t *testing.T) {
	rules, err := diagnosis.Rules()
	if err != nil {
		t.Fatal(err)
	}
	var staged, held, sounds int
	names := map[string]bool{}
	for _, f := range faults() {
		if names[f.name] {
			t.Errorf("two are called %s", f.name)
		}
		names[f.name] = true
		switch {
		case f.idle || f.stage == nil:
			t.Errorf("%s has nothing to stage", f.name)
		case len(f.want) == 0 && strings.HasPrefix(f.name, "sound-"):
			sounds++
		case len(f.want) > 0 && f.held:
			held++
			fallthrough
		case len(f.want) > 0:
			staged++
		}
		for _, id := range f.want {
			if !slices.ContainsFunc(rules, func(r *diagnosis.Rule) bool { return r.ID == id }) {
				t.Errorf("%s: there is no rule %s", f.name, id)
			}
		}
	}
	if staged < 50 || held != 10 || sounds != 20 {
		t.Errorf("%d faults, of which %d are held out, and %d sound recordings", staged, held, sounds)
	}
}

// TestPlan expects a recording without a fault before each eighth fault.
func TestPlan(t *testing.T) {
	var r runner
	run := 0
	for i, f := range r.plan(nil, false) {
		switch {
		case f.idle:
			run = 0
		case i == 0:
			t.Error("a fault comes first")
		default:
			run++
		}
		if run > idleEvery {
			t.Errorf("%s is number %d after the last without a fault", f.name, run)
		}
		if f.held {
			t.Errorf("%s is held out", f.name)
		}
	}
	if list := r.plan([]string{"loss-2"}, false); len(list) != 2 || !list[0].idle || list[1].name != "loss-2" {
		t.Errorf("by name: %+v", list)
	}
}

// TestTaken checks who is named by a finding.
func TestTaken(t *testing.T) {
	o := &diagnosis.Object{ID: "cpu.busy"}
	if taken(o, "sh|faults") || !nameless(o) || foreign(o, "faults") {
		t.Error("a finding without names")
	}
	o.Takers = []diagnosis.Taking{{Instance: "/tmp/faults worker"}, {Instance: "sh"}}
	if !taken(o, "tar|faults") || taken(o, "sh") || taken(o, "") || nameless(o) || foreign(o, "faults") || foreign(o, "tar") {
		t.Error("a finding with takers")
	}
}

// TestJudge checks what counts as right.
func TestJudge(t *testing.T) {
	find := func(id, taker string) diagnosis.Object {
		o := diagnosis.Object{ID: id}
		if taker != "" {
			o.Takers = []diagnosis.Taking{{Instance: taker}}
		}
		return o
	}
	idle := map[string]bool{"cpu.busy ": true}
	busy := fault{want: []string{"cpu.busy"}, who: "faults"}
	full := fault{want: []string{"filesystem.full"}}
	sound := fault{who: "tar"}
	for _, test := range []struct {
		name string
		of   fault
		list []diagnosis.Object
		want string
	}{
		{"found", busy, []diagnosis.Object{find("cpu.busy", "faults")}, right},
		{"only other work", busy, []diagnosis.Object{find("cpu.busy", "compile")}, wrong},
		{"nothing", busy, nil, wrong},
		{"by anything", full, []diagnosis.Object{find("cpu.busy", "compile"), find("filesystem.full", "compile")}, right},
		{"second after other work", full, []diagnosis.Object{find("memory.oom", "chromium"), find("filesystem.full", "")}, other},
		{"second after an effect", full, []diagnosis.Object{find("tasks.blocked", "faults"), find("filesystem.full", "")}, wrong},
		{"second without a name", full, []diagnosis.Object{find("tcp.retransmits", ""), find("filesystem.full", "")}, wrong},
		{"sound", sound, []diagnosis.Object{find("cpu.busy", "tar")}, right},
		{"sound, with other work", sound, []diagnosis.Object{find("memory.oom", "chromium")}, other},
		{"reported, though sound", sound, []diagnosis.Object{find("cpu.process", "tar")}, wrong},
		{"reported without a name", sound, []diagnosis.Object{find("tcp.refused", "")}, wrong},
	} {
		if _, got := test.of.judge(test.list, idle); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// wires is one end of a link, with packets to read.
type wires struct {
	in  [][]byte
	out chan []byte
}

func (w *wires) Read(b []byte) (int, error) {
	if len(w.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b, w.in[0])
	w.in = w.in[1:]
	return n, nil
}

func (w *wires) Write(b []byte) (int, error) {
	w.out <- b
	return len(b), nil
}

// TestCable expects packets with exchanged addresses, and with a wrong byte if the cable changes them.
func TestCable(t *testing.T) {
	p := make([]byte, 32)
	p[0] = 4 << 4
	copy(p[12:], []byte{1, 2, 3, 4, 5, 6, 7, 8})
	back := slices.Clone(p)
	copy(back[12:], []byte{5, 6, 7, 8, 1, 2, 3, 4})
	w := &wires{in: [][]byte{p, p[:20], slices.Repeat([]byte{0x60}, 40), nil, p}, out: make(chan []byte, 8)}
	if err := (cable{}).carry(w); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for range 2 {
		if got := <-w.out; !bytes.Equal(got, back) {
			t.Errorf("got %v, want %v", got, back)
		}
	}
	w.in = [][]byte{p}
	if err := (cable{corrupt: 1}).carry(w); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if got := <-w.out; bytes.Equal(got, back) || !bytes.Equal(got[:31], back[:31]) {
		t.Errorf("changed: %v", got)
	}
	w.in = [][]byte{p}
	if err := (cable{loss: 1}).carry(w); !errors.Is(err, io.EOF) || len(w.out) != 0 {
		t.Errorf("lost: %v, %d packets", err, len(w.out))
	}
}

// TestSecond checks the settings for version 2 of control groups.
func TestSecond(t *testing.T) {
	got := second(map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000", "memory.limit_in_bytes": "64M", "pids.max": "200", "blkio.throttle.read_bps_device": "7:0 200"})
	want := map[string]string{"cpu.max": "10000 100000", "memory.max": "64M", "pids.max": "200", "io.max": "7:0 rbps=200"}
	if len(got) != len(want) {
		t.Errorf("settings %v, want %v", got, want)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}
