package pmie

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/pmapi"
)

// TestLateHost loads rules while their collector does not run. When it runs, they work like
// rules whose collector ran from the start.
func TestLateHost(t *testing.T) {
	conditions := []string{
		"some_inst guide.busy > 50",
		"some_inst -guide.busy < -50",
		"some_inst guide.busy / $delta > 0",
		"some_inst !(guide.busy > 1000)",
		"some_inst (guide.busy > 50 && guide.busy < 1000)",
		"some_inst (guide.busy == guide.busy #'sda')",
		"some_inst (guide.busy #'sda' == guide.busy)",
		"some_inst (guide.busy @1 == 80)",
		"some_inst (rate guide.busy == 0)",
		"some_inst (sum_sample guide.busy @0..2 == 240)",
		"some_inst (instant guide.busy == 80)",
		`some_inst match_inst "^sda" guide.busy == 0`,
		"all_inst guide.busy <= 80",
		"50 %_inst guide.busy == 80",
		"count_inst (guide.busy == 0) >= 1",
		"sum_inst guide.busy == 80",
		"max_sample avg_inst guide.busy @0..1 == 40",
		"sum_host sum_inst guide.busy :here == 80",
		"some_host some_inst guide.busy :here > 50",
		"rising (2 * count_inst (guide.busy > $delta * 0 + 70) >= 2)",
		"rising some_inst guide.busy > 70",
		"falling all_inst guide.busy < 70",
		"guide.busy #'sda' == 0",
	}
	var rules strings.Builder
	for i, c := range conditions {
		fmt.Fprintf(&rules, "%s -> print \"%d\";\n", c, i)
	}
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late %t", late), func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "socket")
			value := new(atomic.Uint32)
			value.Store(10)
			var there atomic.Bool
			there.Store(!late)
			defer serve(t, socket, value)()
			fired := make(chan string, 1000)
			var said strings.Builder
			e, err := New(t.Context(), Config{
				Err: &said, Interval: 20 * time.Millisecond,
				Dial: func(ctx context.Context, _ string) (*pmapi.Context, error) {
					if !there.Load() {
						return nowhere(ctx, "")
					}
					return pmapi.Dial(ctx, "unix:"+socket)
				},
				Act: func(ctx context.Context, a deliver.Action) error {
					select {
					case fired <- a.Text:
					case <-ctx.Done():
					}
					return nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if sound, err := e.Load(t.Context(), strings.NewReader(rules.String()), "rules"); err != nil || !sound {
				t.Fatalf("Load: %t, %v: %s", sound, err, &said)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- e.Run(ctx) }()
			defer func() {
				cancel()
				<-done
			}()
			there.Store(true)
			seen := make(map[string]int)
			limit := time.After(10 * time.Second)
			for len(seen) < len(conditions) {
				select {
				case text := <-fired:
					if seen[text]++; text == "3" && seen[text] == 5 { // rising values were seen before
						value.Store(80)
					}
				case <-limit:
					for i, c := range conditions {
						if seen[fmt.Sprint(i)] == 0 {
							t.Errorf("%s: never true", c)
						}
					}
					return
				}
			}
		})
	}
}
