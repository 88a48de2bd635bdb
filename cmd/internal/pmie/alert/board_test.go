package alert

import (
	"os"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

// TestBoardValues checks that a board keeps the value with which a rule became true next
// to the current value.
func TestBoardValues(t *testing.T) {
	dir := t.TempDir()
	b, err := NewBoard(dir, State{PID: os.Getpid()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	observe := func(rule, value string) {
		t.Helper()
		b.Observe(deliver.Evaluation{Rule: rule, Expr: "x > 0.9", Time: at, State: deliver.True, Matches: []deliver.Match{{Host: "h", Instance: "sda", Value: value, Limit: "> 0.9"}}})
		if err := b.Err(); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Minute)
	}
	observe("busy", "0.95")
	observe("busy", "0.99")
	observe("other", "7") // a new alert is written at once, with the rest
	states, err := ReadStates(dir, func(int) bool { return true })
	if err != nil || len(states) != 1 || len(states[0].Alerts) != 2 {
		t.Fatalf("%+v, %v", states, err)
	}
	a := states[0].Alerts[0]
	if a.Rule != "busy" || a.Value != "0.99" || a.First != "0.95" || a.Limit != "> 0.9" || !a.Since.Equal(at.Add(-3*time.Minute)) {
		t.Errorf("%+v", a)
	}
}
