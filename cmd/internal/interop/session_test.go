package interop

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// clock matches the time of day.
var clock = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+`)

// TestSameSession runs the same commands in the same order with each kind of
// tools against each collector. All four print the same: the agent simple has
// a state that every step depends on.
func TestSameSession(t *testing.T) {
	steps := []string{
		"pminfo -dml simple", // help texts are in our own words
		"pminfo -f simple.numfetch",
		"pmstore simple.numfetch 42",
		"pminfo -f simple.numfetch simple.color",
		"pmstore -i red simple.color 7",
		"pmstore simple.color 1",
		"pminfo -f simple.color",
		"pmstore -i purple simple.color 1",
		"pmstore -i red,blue simple.color 200",
		"pminfo -f simple.color",
		"pmstore simple.numfetch -1",
		"pmstore simple.color 300",
		"pmstore simple.time.user 1",
		"pmstore simple.now 3",
		"pmprobe -i simple",
		"pmprobe -I simple",
		"pmprobe -v simple.color",
		"pmval -s 1 -i green simple.color",
		"pmval -r -s 2 -t 0.1 simple.numfetch",
		"pmstore sample.long.one 11",
		"pmstore -f sample.string.write_me hello",
		"pminfo -f sample.long sample.string sample.bin sample.bogus_bin sample.aggregate",
		"pmprobe -v sample.ulong sample.float sample.double sample.longlong",
		"pminfo -fx sample.event.records",
		"pminfo -dmtT sample.colour sample.bin",
		"pminfo -l sample.colour",
		"pminfo -f sample.bad.unknown sample.bad.nosupport sample.bad.novalues",
		"pmstore sample.long.bogus 1",
		"pminfo -m sample.secret sample.dynamic sample.dupnames",
		"pmprobe sample.secret",
		"pminfo -b 1 -f sample.dodgey",
		"pminfo 253.0.1",
		"pmstore sample.write_me abc",
		"pmstore sample.write_me 9",
		"pmprobe -v sample.write_me",
		"pminfo nosuch.metric",
		"pminfo -f simple.nosuch sample.nosuch",
	}
	type result struct {
		step, out string
	}
	play := func(cl client, c collector) []result {
		var rs []result
		for _, step := range steps {
			words := strings.Fields(step)
			args := append([]string{"-h", c.unix}, words[1:]...)
			out := cl.run(t, c.env, words[0], args...)
			text := out.Stdout + "--\n" + out.Stderr + "--\n"
			text = strings.ReplaceAll(text, c.unix, "HOST")
			text = clock.ReplaceAllString(text, "TIME")
			rs = append(rs, result{step, text + "exit " + string(rune('0'+out.Exit))})
		}
		return rs
	}
	type pair struct {
		cl client
		c  collector
	}
	// Random differences, such as a connection that a busy machine breaks, do not
	// occur again. The agents' state makes collectors of their own necessary.
	for try := 1; ; try++ {
		theirs, ours := startBoth(t)
		theirs2, ours2 := startBoth(t)
		want := play(realTools, theirs)
		var problems []string
		for _, r := range []pair{{realTools, ours}, {ourTools, theirs2}, {ourTools, ours2}} {
			got := play(r.cl, r.c)
			for i := range want {
				if got[i] != want[i] {
					problems = append(problems, fmt.Sprintf("%s, %s: %s (-real tools and pmcd, +these):\n%s", r.cl.name, r.c.name, steps[i], cmp.Diff(want[i].out, got[i].out)))
				}
			}
		}
		if len(problems) == 0 {
			return
		}
		for _, p := range problems {
			if try == 3 {
				t.Error(p)
			} else {
				t.Log(p)
			}
		}
		if try == 3 {
			return
		}
	}
}
