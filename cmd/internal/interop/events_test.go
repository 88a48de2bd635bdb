package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// A follower is a client that collects the lines of an event metric.
type follower struct {
	*pmapi.Context
	id    pcp.PMID
	lines []string
}

func follow(t *testing.T, c collector, metric string) *follower {
	t.Helper()
	ctx, err := pmapi.Dial(t.Context(), c.unix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ctx.Close() })
	ids, err := ctx.LookupName(t.Context(), metric)
	if err != nil {
		t.Fatal(err)
	}
	return &follower{Context: ctx, id: ids[0]}
}

// fetch adds the agent's events for this client.
func (f *follower) fetch(t *testing.T) {
	t.Helper()
	res, err := f.Fetch(t.Context(), []pcp.PMID{f.id})
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Sets[0].Err; err != 0 {
		t.Fatal(err)
	}
	for _, v := range res.Sets[0].Values {
		records, err := v.EventRecords()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Flags == pcp.EventMissed {
				t.Errorf("%d records missed", r.Missed)
			}
			for _, p := range r.Params {
				f.lines = append(f.lines, strings.TrimRight(string(p.Value.Bytes()), "\x00"))
			}
		}
	}
}

// until fetches until there are n lines.
func (f *follower) until(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(f.lines) < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d lines after a minute: %q", len(f.lines), n, f.lines)
		}
		f.fetch(t)
	}
}

// TestEventsOfTwoClients has two clients follow a file at a time, each in its own
// rhythm, through an agent of ours under both collectors: each gets each line once,
// in order.
func TestEventsOfTwoClients(t *testing.T) {
	oracle.Require(t)
	dir, err := os.MkdirTemp("", "events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // agents are PCP's user
		t.Fatal(err)
	}
	ours := filepath.Join(dir, "pmdalogtail")
	build := exec.Command("go", "build", "-o", ours, "github.com/go-pcp/pcp/examples/logtail")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := []string{fmt.Sprintf("logtail 402 pipe binary %s -d 402 -f %s", ours, file)}
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"}, Lines: lines,
		PMNS: "root { logtail }\nlogtail { records 402:0:1 line 402:0:2 }\n",
	})
	collectors := []collector{{name: "real pmcd", tcp: d.TCP, unix: d.Unix, env: d.Env}, startOurs(t, d, ourConf(d, lines))}
	type pair struct {
		name string
		a, b *follower
	}
	var pairs []pair
	for _, c := range collectors {
		p := pair{c.name, follow(t, c, "logtail.records"), follow(t, c, "logtail.records")}
		p.a.fetch(t) // the first fetch subscribes to events
		p.b.fetch(t)
		if n := len(p.a.lines) + len(p.b.lines); n != 0 {
			t.Errorf("%s: %d lines before there are any: %q, %q", p.name, n, p.a.lines, p.b.lines)
		}
		pairs = append(pairs, p)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want []string
	for round := range 4 {
		for i := range 3 {
			line := fmt.Sprintf("round %d, line %d", round, i)
			want = append(want, line)
			if _, err := fmt.Fprintln(f, line); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range pairs {
			p.a.until(t, len(want))
			if round%2 == 1 { // the other one sleeps over
				p.b.until(t, len(want))
			}
		}
	}
	for _, p := range pairs {
		p.a.fetch(t) // no event is repeated
		p.b.fetch(t)
		for _, f := range []*follower{p.a, p.b} {
			if diff := cmp.Diff(want, f.lines); diff != "" {
				t.Errorf("%s: lines (-written, +read):\n%s", p.name, diff)
			}
		}
	}
}
