package pmlogger_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// count serves an agent whose metric count.fetched is the number of its fetches, from 1.
func count(t *testing.T, socket string) (stop func()) {
	t.Helper()
	n := uint64(0)
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		return []pcp.Instance{{Inst: 1, Name: "one"}, {Inst: 2, Name: "two"}}, nil
	}}
	indom.InstanceLabels = func(inst int32, _ int) string { return fmt.Sprintf(`{"number":%d}`, inst) }
	a, err := pmda.NewTable(pmda.Config{Name: "count", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "count.fetched", Type: pcp.TypeU64, Sem: pcp.SemCounter, Value: func(int32, int) (pcp.Value, error) {
			n++
			return pcp.Uint64Value(n), nil
		}},
		{Name: "count.once", Item: 1, InDom: indom, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, OneLine: "once", Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.Uint32Value(uint32(inst)), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return collect(t, socket, pmcd.AgentSpec{Name: "count", Domain: 400, Agent: a})
}

// TestRotate has a recorder continue in new archives: each has all metadata and the metrics
// recorded once, and all of them together have each sample, with no mark between.
func TestRotate(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) { testRotate(t, version) })
	}
}

func testRotate(t *testing.T, version int) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	stop := count(t, socket)
	defer stop()
	c, err := pmapi.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l := &said{text: make(chan string, 1000)}
	base := func(i int) string { return filepath.Join(dir, fmt.Sprintf("a%d", i)) }
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: base(0), Version: version, Log: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Rotate(t.Context(), base(1)); err == nil {
		t.Error("a recorder that does not run rotates")
	}
	if _, err := r.Configure(t.Context(), strings.NewReader("log on 1 msec count.fetched\nlog on once count.once"), "config"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	const archives = 10
	grow := func(i int) {
		t.Helper()
		for {
			fi, err := os.Stat(base(i) + ".0")
			if err == nil && fi.Size() > 2000 {
				return
			}
			if err := r.Call(t.Context(), func() {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := 1; i < archives; i++ {
		if i%3 > 0 { // others may end with the first samples
			grow(i - 1)
		}
		var rotated, again, taken error
		if err := r.Call(t.Context(), func() {
			again = r.Rotate(t.Context(), r.Archive())
			if i > 1 {
				taken = r.Rotate(t.Context(), base(0))
			}
			rotated = r.Rotate(t.Context(), base(i))
		}); err != nil {
			t.Fatal(err)
		}
		if rotated != nil || again == nil || i > 1 && !errors.Is(taken, fs.ErrExist) {
			t.Fatalf("archive %d: %v; to the same one: %v, to one that exists: %v", i, rotated, again, taken)
		}
		l.wait(t, "New archive "+base(i))
	}
	grow(archives - 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	next := uint64(1)
	for i := range archives {
		next = checkRotated(t, base(i), next)
	}
	if next < 20 {
		t.Errorf("only %d samples", next-1)
	}
}

// checkRotated checks that an archive can be read alone, and has the samples from a number
// on. It returns the number of the next sample.
func checkRotated(t *testing.T, base string, next uint64) uint64 {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var last pcp.Timestamp
	once, logues := 0, 0
	for rec, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		if len(rec.Sets) == 0 {
			t.Errorf("%s: a mark at %v", base, rec.Time)
		}
		for _, s := range rec.Sets {
			switch s.PMID {
			case pcp.NewPMID(400, 0, 0):
				if got := s.Values[0].Uint64(); got != next {
					t.Errorf("%s: sample %d, want %d", base, got, next)
				}
				next++
			case pcp.NewPMID(400, 0, 1):
				once += len(s.Values)
			case pcp.NewPMID(2, 3, 3):
				logues++
			}
		}
		last = rec.Time
	}
	if once != 2 || logues != 2 {
		t.Errorf("%s: %d instances of what is recorded once, want 2; %d of prologue and epilogue", base, once, logues)
	}
	m := a.Meta()
	if list, err := m.InDom(pcp.NewInDom(400, 1), last); err != nil || len(list.Instances) != 2 {
		t.Errorf("%s: instances %v, %v", base, list, err)
	}
	if sets, known := m.LookupLabels(pcp.LabelInstances, uint32(pcp.NewInDom(400, 1)), last); !known || len(sets) != 2 || sets[1].JSON != `{"number":2}` {
		t.Errorf("%s: labels %v", base, sets)
	}
	if text, err := m.Text(pcp.TextOneLine|pcp.TextPMID, uint32(pcp.NewPMID(400, 0, 1))); err != nil || text != "once" {
		t.Errorf("%s: help %q, %v", base, text, err)
	}
	if a.Label().Start.Compare(last) >= 0 {
		t.Errorf("%s: starts at %v, ends at %v", base, a.Label().Start, last)
	}
	return next
}
