package agentcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/agent/txmon"
	"github.com/go-pcp/pcp/pmda"
)

// TestGenload records made-up transactions without waiting for them.
func TestGenload(t *testing.T) {
	key := 0x20000000 | os.Getpid()
	types := []string{"query", "update", "purge"}
	a, err := txmon.New(txmon.Config{Types: types, Key: key})
	if err != nil {
		t.Skipf("SKIPPED: no shared memory here: %v", err)
	}
	defer a.Close()
	rec, err := txmon.Attach(key)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	counts := func() (list []uint32, sum int) {
		for _, typ := range rec.Types() {
			list = append(list, typ.Count)
			sum += int(typ.Count)
		}
		return list, sum
	}
	run := func(names []string, lookErr error, naps int, args ...string) (status, slept int, out, errs string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		status = genload(t.Context(), &cli.Env{
			Name: "genload", Args: args, Stdout: &stdout, Stderr: &stderr, Command: loadCommand,
			Getenv: func(name string) string {
				if name == "PCP_TXMON_KEY" {
					return fmt.Sprint(key)
				}
				return ""
			},
		}, func(context.Context) ([]string, error) { return names, lookErr },
			func(context.Context, time.Duration) bool { slept++; return slept < naps })
		return status, slept, stdout.String(), stderr.String()
	}
	status, slept, out, errs := run(types, nil, 1000, "-n", "1000", "30", "0.5")
	if status != 0 || errs != "" || slept != 33 { // 34 batches
		t.Errorf("status %d, slept %d times, %q", status, slept, errs)
	}
	if !regexp.MustCompile(`\A(Mean service time for (query|update|purge) tx: \S+\n){3}\z`).MatchString(out) {
		t.Errorf("output %q", out)
	}
	if list, sum := counts(); sum != 1000 || list[0] < list[1] || list[1] == 0 || list[2] == 0 {
		t.Errorf("transactions are %v", list)
	}
	for _, typ := range rec.Types() {
		if typ.Sum <= 0 || typ.Max <= 0 {
			t.Errorf("%s takes no time: %+v", typ.Name, typ)
		}
	}
	// Without -n there is no limit, at ten a second.
	if status, slept, _, _ := run(types, nil, 5); status != 1 || slept != 5 {
		t.Errorf("status %d, slept %d times", status, slept)
	}
	if _, sum := counts(); sum != 1050 {
		t.Errorf("in five seconds there are %d transactions, want 50 more", sum)
	}
	if _, _, _, errs := run([]string{"nosuch"}, nil, 5); !strings.Contains(errs, `transaction type "nosuch"`) {
		t.Errorf("a type that is none: %q", errs)
	}

	const none = "Error: Cannot determine transaction type names ... is the txmon PMDA running locally?\n"
	if status, _, out, errs := run(nil, errors.New("no"), 5); status != 1 || out != none || errs != "genload: no\n" {
		t.Errorf("without a collector: status %d, %q, %q", status, out, errs)
	}
	if status, _, out, _ := run(nil, nil, 5); status != 1 || out != none {
		t.Errorf("without types: status %d, %q", status, out)
	}
	for _, args := range [][]string{{"-?"}, {"-n"}, {"-n", "x"}, {"-nx"}, {"-z"}, {"0"}, {"x"}, {"1", "-2"}, {"1", "2", "3"}, {"nan"}, {"1e9"}} {
		if status, _, out, _ := run(types, nil, 1, args...); status != 1 || out != "Usage: genload [-n numtx] [tps [avg_serv]]\n" {
			t.Errorf("%q: status %d, %q", args, status, out)
		}
	}
	if status, slept, _, _ := run(types, nil, 5, "-n3", "--", "2", "1"); status != 0 || slept != 1 {
		t.Errorf("-n3: status %d, slept %d times", status, slept)
	}
	level := func(n uint32) {
		var res pcp.Result
		res.AddSet(pcp.NewPMID(txmon.Domain, 0, 4))
		res.Add(pcp.Uint32Value(n).WithInst(pcp.InNull))
		if err := a.Store(t.Context(), &pmda.Client{}, &res); err != nil {
			t.Fatal(err)
		}
	}
	_, before := counts()
	level(1)
	if status, _, _, errs := run(types, nil, 9, "-n", "2"); status != 0 || errs != "Warning: stats time collection disabled\n" {
		t.Errorf("at level 1: status %d, %q", status, errs)
	}
	level(0)
	if status, _, _, errs := run(types, nil, 9, "-n", "2"); status != 0 || errs != "Stats collection disabled\n" {
		t.Errorf("at level 0: status %d, %q", status, errs)
	}
	if _, sum := counts(); sum != before+2 {
		t.Errorf("at levels 1 and 0 %d transactions are recorded, want 2 and none", sum-before)
	}
	a.Close()
	key++
	if status, _, _, errs := run(types, nil, 5); status != 1 || !strings.Contains(errs, "Is the txmon PMDA configured and running?\n") {
		t.Errorf("without shared memory: status %d, %q", status, errs)
	}
}

// TestGenloadPick checks that each type is picked half as often as the one before.
func TestGenloadPick(t *testing.T) {
	seen := map[int]int{}
	for range 10000 {
		seen[pick(3)]++
	}
	if seen[0] < 4500 || seen[0] > 5500 || seen[1] < 2000 || seen[1] > 3000 || seen[2] < 2000 || seen[2] > 3000 {
		t.Errorf("picked %v, want half, a quarter, a quarter", seen)
	}
}
