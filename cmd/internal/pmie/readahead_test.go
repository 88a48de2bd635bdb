//go:build !race

package pmie

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

// TestReadAhead evaluates rules over an archive whose values are read ahead, again after a window that ended early,
// and checks that the output is the same as without reading ahead.
func TestReadAhead(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	path := recordTen(t, 300)
	rules := "ten.m0 > 100 && some_inst ten.m1 >= 0 -> print \"%v\";\ndelta = 3 sec;\nrising (sum_inst ten.m7 > 3 count/sec) || avg_sample ten.m8 @0..4 > 1000 -> print \"%v\";\n"
	evaluate := func(ahead bool) string {
		var out strings.Builder
		e, err := New(t.Context(), Config{Archives: []string{path}, Out: &out, Err: &out, Interval: time.Second, Zone: time.UTC, ReadAhead: ahead})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if sound, err := e.Load(t.Context(), strings.NewReader(rules), "rules"); err != nil || !sound {
			t.Fatal(sound, err)
		}
		first, last := e.Bounds()
		for _, seconds := range []int64{100, 1000} {
			e.Window(first, pcp.Timestamp{Sec: min(first.Sec+seconds, last.Sec)})
			if err := e.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, h := range e.get.tasks[0].hosts {
				if (h.ahead != nil) != ahead {
					t.Errorf("reads ahead: %t", h.ahead != nil)
				}
			}
			fmt.Fprintf(&out, "%+v\n", e.Stats())
		}
		return out.String()
	}
	if a, b := evaluate(false), evaluate(true); a != b {
		t.Errorf("without\n%s\nahead\n%s", a, b)
	} else if strings.Count(a, "\n") < 300 {
		t.Errorf("only\n%s", a)
	}
}

// TestReadAheadIsGivenUp ends a run whose values are read ahead.
func TestReadAheadIsGivenUp(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	n := 0
	e, err := New(t.Context(), Config{
		Archives: []string{recordTen(t, 300)}, Interval: time.Second, Zone: time.UTC, ReadAhead: true,
		Observe: func(deliver.Evaluation) {
			if n++; n == 200 {
				cancel(why)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if sound, err := e.Load(t.Context(), strings.NewReader("ten.m0 > 1000000 -> print \"never\";"), "rules"); err != nil || !sound {
		t.Fatal(sound, err)
	}
	if err := e.Run(ctx); !errors.Is(err, why) || n != 200 {
		t.Errorf("after %d evaluations: %v", n, err)
	}
}
