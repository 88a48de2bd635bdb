package pmie

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

// FuzzEvaluate evaluates any rules over a small archive, by trees and by plans, which must have the same
// results.
func FuzzEvaluate(f *testing.F) {
	path := recordGaps(f, rand.New(rand.NewPCG(1, 1)), 200)
	g := ruleMaker{rand.New(rand.NewPCG(2, 2))}
	for i := range 20 {
		f.Add("some_inst (" + g.truth(true, i%4) + ") -> print \"%h %i %v\";\n" + g.truth(false, i%4) + " -> print \"%v\";")
	}
	for _, rules := range []string{
		"gaps.d0;", "gaps.d1 #sda #nosuch;", "rate gaps.m1 - gaps.m3 @1;", "delta = 3 sec; gaps.m0 > 1; delta = 5 msec; gaps.d1 > 2;", "gaps.m0 :gaps :nosuch > 1;",
		`ruleset gaps.m0 > 5 -> print "%v" else some_inst gaps.d0 > 5 -> shell "x %i" unknown -> print "u" otherwise -> syslog "o";`,
		"all_sample some_inst gaps.d0 @0..3 > 1;", "count_sample (rising (gaps.m0 @0..2 > 3)) > 0;", `match_inst "sd[ab]" gaps.d0 > 3 && nomatch_inst "sda" gaps.d1 > 3;`, "50 %_inst (gaps.d0 @0 > 3) -> exec \"a\" \"%i\" & webhook w \"%v\";",
		"max_inst sum_sample gaps.d1 @0..4 / 0;", "gaps.m0 == \"a\";", "avg_host gaps.d0 > min_inst gaps.d2;", "x = gaps.m0 + 1; $x > 3 -> print 1 hour \"%v\";", "gaps.d0 #sda + gaps.d1 > 1;", "- - gaps.d5 #sdd @2;", "rate gaps.d0 @0..3;",
		"sum_inst (gaps.d0 > 1);", "some_host all_inst gaps.d0 :gaps :gaps > 1;", "falling gaps.d0 > 3 || rising gaps.d0 > 3;", "gaps.m0 @1000 > 1;", "min_sample instant rate gaps.d1 @0..9 > 1 Kcount/hour;",
	} {
		f.Add(rules)
	}
	f.Fuzz(func(t *testing.T, rules string) {
		if len(rules) > 1<<11 {
			return
		}
		evaluate := func(unplanned bool) (string, error) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			enough := errors.New("enough")
			var out bytes.Buffer
			calls := 0
			e, err := New(ctx, Config{
				Archives: []string{path}, Out: &out, Err: &out, Name: "pmie", Interval: 20 * time.Second, Zone: time.UTC, Quiet: true, Act: func(_ context.Context, a deliver.Action) error {
					out.WriteString(a.Kind.String() + " " + a.Text + "\n")
					return nil
				},
				Observe: func(ev deliver.Evaluation) { out.WriteString(ev.Rule + " " + ev.State.String() + "\n") },
				Watch: func(Stats) {
					// Rules may ask for any interval.
					if calls++; calls > 100 || out.Len() > 1<<22 {
						cancel(enough)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.alone = unplanned
			if _, err := e.Load(ctx, strings.NewReader(rules), "rules"); err != nil {
				return "", nil
			}
			err = e.Run(ctx)
			if errors.Is(err, enough) {
				err = nil
			}
			e.Print(&out, "")
			e.PrintBindings(&out, "")
			return out.String(), err
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		trees, err1 := evaluate(true)
		plans, err2 := evaluate(false)
		runtime.ReadMemStats(&after)
		if trees != plans || (err1 == nil) != (err2 == nil) {
			t.Fatalf("%s\nby trees: %v %s\nby plans: %v %s", rules, err1, trees, err2, plans)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<30 {
			t.Fatalf("%s\nallocated %d MiB", rules, n>>20)
		}
	})
}
