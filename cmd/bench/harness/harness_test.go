package harness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/bench/harness"
)

// fake returns a side that records its calls and returns the samples in turn.
func fake(calls *[]string, name string, samples ...harness.Sample) harness.Side {
	n := 0
	return harness.Side{Name: name, Measure: func(context.Context) (harness.Sample, error) {
		*calls = append(*calls, name)
		n++
		return samples[(n-1)%len(samples)], nil
	}}
}

// opens returns an Open for sides, which counts how often the sides are freed.
func opens(stopped *int, note string, sides ...harness.Side) func(context.Context) ([]harness.Side, string, func(), error) {
	return func(context.Context) ([]harness.Side, string, func(), error) {
		return sides, note, func() { *stopped++ }, nil
	}
}

func cpu(ms ...int) []harness.Sample {
	var list []harness.Sample
	for _, n := range ms {
		d := time.Duration(n) * time.Millisecond
		list = append(list, harness.Sample{CPU: d, Wall: 2 * d})
	}
	return list
}

func TestInTurn(t *testing.T) {
	var calls []string
	stopped := 0
	once := fake(&calls, harness.C, cpu(9)...)
	once.Once = true
	var log bytes.Buffer
	rows, err := harness.Run(t.Context(), &log, 3, []harness.Workload{{
		Name: "trip.own", Unit: "fetch",
		Open: opens(&stopped, "", once, fake(&calls, harness.Now, cpu(3, 4, 2)...), fake(&calls, harness.Floor, cpu(1)...)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	// Each round begins with another side; the first is measured once.
	want := []string{"C", "now", "floor", "now", "floor", "floor", "now"}
	if !slices.Equal(calls, want) {
		t.Errorf("measured in the order %v, want %v", calls, want)
	}
	if stopped != 1 {
		t.Errorf("the sides were freed %d times", stopped)
	}
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	row := rows[0]
	least, median, most := row.Side(harness.Now).Spread(harness.CPU)
	if least != 2e6 || median != 3e6 || most != 4e6 {
		t.Errorf("Spread = %v, %v, %v", least, median, most)
	}
	if r, ok := row.Ratio(harness.C, harness.Now, harness.CPU); !ok || r != 3 {
		t.Errorf("C over now = %v, %v, want the median of 3, 2.25 and 4.5", r, ok)
	}
	if _, ok := row.Ratio(harness.Before, harness.Now, harness.CPU); ok {
		t.Error("a ratio to a side that was not measured")
	}
	if got := log.String(); !strings.Contains(got, "C/now 3.00") || strings.Contains(got, "before") {
		t.Errorf("the log is %q", got)
	}
}

// A side that fails is left out, and a workload that cannot be opened has its reason; the others are measured.
func TestFailures(t *testing.T) {
	var calls []string
	stopped := 0
	broken := harness.Side{Name: harness.Before, Measure: func(context.Context) (harness.Sample, error) {
		calls = append(calls, harness.Before)
		return harness.Sample{}, errors.New("no such option")
	}}
	rows, err := harness.Run(t.Context(), new(bytes.Buffer), 2, []harness.Workload{
		{Name: "a", Open: func(context.Context) ([]harness.Side, string, func(), error) {
			return nil, "", nil, errors.New("no compiler")
		}},
		{Name: "b", Open: opens(&stopped, "the outputs differ", broken, fake(&calls, harness.Now, cpu(1)...))},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Note != "no compiler" || rows[1].Note != "the outputs differ" {
		t.Fatalf("rows %+v", rows)
	}
	if got := rows[1].Results[0].Failed; got != "no such option" {
		t.Errorf("Failed = %q", got)
	}
	if want := []string{"before", "now", "now"}; !slices.Equal(calls, want) {
		t.Errorf("calls %v, want %v: a side that has failed is not tried again", calls, want)
	}
	if rows[1].Side(harness.Before) != nil {
		t.Error("a side without samples is there")
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped := 0
	w := harness.Workload{Name: "a", Open: opens(&stopped, "", harness.Side{
		Name: harness.Now, Measure: func(ctx context.Context) (harness.Sample, error) {
			cancel()
			return harness.Sample{}, ctx.Err()
		},
	})}
	rows, err := harness.Run(ctx, new(bytes.Buffer), 5, []harness.Workload{w})
	if !errors.Is(err, context.Canceled) || len(rows) != 0 || stopped != 1 {
		t.Errorf("Run = %v, %v; freed %d times", rows, err, stopped)
	}
	if _, err := harness.Run(t.Context(), new(bytes.Buffer), 0, nil); err == nil {
		t.Error("no rounds are accepted")
	}
}

func TestMissed(t *testing.T) {
	row := harness.Row{
		Goal: harness.Goal{C: 1.3, Floor: 1.1, CPU: time.Millisecond, Wall: 5 * time.Millisecond, RSS: 9 << 20},
		Results: []harness.Result{
			{Side: harness.C, Samples: cpu(3)},
			{Side: harness.Now, Samples: []harness.Sample{{CPU: 2 * time.Millisecond, Wall: 4 * time.Millisecond, RSS: 10 << 20}}},
			{Side: harness.Floor, Samples: cpu(1)},
		},
	}
	if got, want := row.Goal.String(), "1.3 × C, ≤ 1.1 × floor, CPU ≤ 1 ms, ≤ 5 ms, ≤ 9.0 MiB"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	want := []string{"≤ 1.1 × floor", "CPU ≤ 1 ms", "≤ 9.0 MiB"}
	if got := row.Missed(); !slices.Equal(got, want) {
		t.Errorf("Missed = %q, want %q", got, want)
	}
	if got := (&harness.Row{Goal: row.Goal}).Missed(); got != nil {
		t.Errorf("a row without samples misses %q", got)
	}
}

func TestSelect(t *testing.T) {
	all := []harness.Workload{{Name: "trip.own"}, {Name: "archive.dump"}}
	got, err := harness.Select(all, func(name string) bool { return strings.HasPrefix(name, "trip") })
	if err != nil || len(got) != 1 || got[0].Name != "trip.own" {
		t.Errorf("Select = %v, %v", got, err)
	}
	if _, err := harness.Select(all, func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "trip.own, archive.dump") {
		t.Errorf("nothing selected: %v", err)
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0 ns", 999: "999 ns", 1000: "1 µs", 15_140: "15.1 µs", 999_900: "1 ms", 250e6: "250 ms", 3.456e9: "3.46 s",
	} {
		if got := harness.Duration(ns); got != want {
			t.Errorf("Duration(%v) = %q, want %q", ns, got, want)
		}
	}
}

// The example of a result and the page made of it are what a run writes and what README has.
func TestTable(t *testing.T) {
	report, err := harness.Load("testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "result.json")
	if err := report.Save(again); err != nil {
		t.Fatal(err)
	}
	a, b := read(t, "testdata/result.json"), read(t, again)
	if a != b {
		t.Errorf("a report that was read and written is\n%s\nwant\n%s", b, a)
	}
	page := read(t, "testdata/page.md")
	got, err := harness.Embed(page, func(path string) (*harness.Report, error) { return harness.Load(filepath.Join("testdata", path)) })
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("testdata/page.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got != page {
		t.Errorf("testdata/page.md should be\n%s\n(UPDATE=1 writes it)", got)
	}
}

func TestEmbedErrors(t *testing.T) {
	if got, err := harness.Embed("see `<!-- measured: a.json -->`\n", harness.Load); err != nil || !strings.HasPrefix(got, "see") {
		t.Errorf("marks within a line: %q, %v", got, err)
	}
	f := func(page, want string) {
		t.Helper()
		_, err := harness.Embed(page, harness.Load)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Embed(%q) = %v, want %q", page, err, want)
		}
	}
	f("\n<!-- measured: a.json\n-->", "not complete")
	f("\n<!-- measured: a.json -->\n| a |\n", "the table of a.json has no line")
	f("\n<!-- measured: testdata/none.json -->\n<!-- end of measured -->\n", "testdata/none.json")
}

func TestLoadErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := harness.Load(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("Load of %q = %v, want %q", text, err, want)
		}
	}
	f("", "EOF")
	f("{}", "without rows")
	f(`{"rows":[],"weather":1}`, "weather")
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every page with figures of stored results has the tables of these.
func TestPages(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for _, page := range []string{"README.md", "cmd/bench/README.md", "cmd/bench/archive/README.md", "cmd/bench/results/README.md"} {
		path := filepath.Join(root, page)
		text := read(t, path)
		got, err := harness.Embed(text, func(p string) (*harness.Report, error) { return harness.Load(filepath.Join(filepath.Dir(path), p)) })
		if err != nil {
			t.Errorf("%s: %v", page, err)
		} else if got != text {
			t.Errorf("%s: a table is not that of its result; run cmd/bench/run write %s", page, page)
		}
	}
	results, err := filepath.Glob("../results/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range results {
		if _, err := harness.Load(path); err != nil {
			t.Error(err)
		}
	}
}

func ExampleRun() {
	side := func(name string, d time.Duration) harness.Side {
		return harness.Side{Name: name, Measure: func(context.Context) (harness.Sample, error) {
			return harness.Sample{CPU: d, Wall: d}, nil
		}}
	}
	rows, err := harness.Run(context.Background(), new(bytes.Buffer), 5, []harness.Workload{{
		Name: "trip.own", Unit: "fetch", Goal: harness.Goal{C: 1.3},
		Open: func(context.Context) ([]harness.Side, string, func(), error) {
			return []harness.Side{side(harness.C, 15*time.Microsecond), side(harness.Now, 12*time.Microsecond)}, "", func() {}, nil
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rows[0].Ratio(harness.C, harness.Now, harness.CPU))
	fmt.Println(rows[0].Missed())
	// Output:
	// 1.25 true
	// [1.3 × C]
}
