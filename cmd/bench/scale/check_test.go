//go:build linux

package main

import (
	"bytes"
	"testing"
)

// TestSeries compares series of archives with those of the engine.
func TestSeries(t *testing.T) {
	list := func(pairs ...float64) (out []point) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, point{int64(pairs[i]), pairs[i+1]})
		}
		return out
	}
	for _, test := range []struct {
		name      string
		want, got []point
		held      held
	}{
		{"the same", list(1, 5, 2, 6), list(2, 6, 1, 5), held{values: 2}},
		{"two at a time", list(1, 5, 1, 6), list(1, 6, 1, 5), held{values: 2}},
		{"lost", list(1, 5, 2, 6, 3, 7), list(2, 6), held{values: 1, lost: 2}},
		{"one of two at a time lost", list(1, 5, 1, 6, 2, 7), list(1, 5, 2, 7), held{values: 2, lost: 1}},
		{"twice", list(1, 5, 2, 6), list(1, 5, 1, 5, 2, 6, 2, 6, 2, 6), held{values: 5, twice: 3}},
		{"foreign", list(2, 6), list(1, 5, 2, 6, 3, 7), held{values: 3, foreign: 2}},
		{"another value", list(1, 5, 2, 6), list(1, 5, 2, 7), held{values: 2, differ: 1}},
		{"lost and twice", list(1, 5, 2, 6), list(2, 6, 2, 6), held{values: 2, lost: 1, twice: 1}},
	} {
		var h held
		text := h.series(test.want, test.got)
		if h != test.held || (text == "") != (test.name == "the same" || test.name == "two at a time") {
			t.Errorf("%s: %+v, want %+v; %q", test.name, h, test.held, text)
		}
	}
}

// TestLive reads the memory of a process from its messages.
func TestLive(t *testing.T) {
	var to bytes.Buffer
	l := &live{to: &to}
	for _, text := range []string{"pcp record: a message\ngc 7 @2.1s 3%: 0.1+2+0.3 ms clock, 0.2+1/2/0+0.5 ms cpu, 20->2", "1->12 MB, 24 MB goal, 0 MB stacks, 1 MB globals, 2 P\nanother\n"} {
		if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := l.mib.Load(); got != 12 || to.String() != "pcp record: a message\nanother\n" {
		t.Errorf("%d MiB, messages %q", got, &to)
	}
}
