package loggermerge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/archives/logextract"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// record writes an archive of a host with a value a minute.
func record(t *testing.T, base string, start time.Time, n int) {
	t.Helper()
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC", Version: 3})
	if err != nil {
		t.Fatal(err)
	}
	h, err := im.NewMetric("cellar.temperature", importer.Spec{Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		h.PutDouble(float64(i))
		if err := im.Write(start.Add(time.Duration(i) * time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
}

// day makes three archives of a day in a directory that becomes the current one.
func day(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	start := time.Date(2024, 3, 5, 0, 10, 0, 0, time.UTC)
	for i, name := range []string{"20240305.00.10", "20240305.08.10", "20240305.16.10"} {
		record(t, name, start.Add(time.Duration(i)*8*time.Hour), 20)
	}
}

func newMerger(ctx context.Context, out *bytes.Buffer) *merger {
	env := &cli.Env{
		Name: "pmlogger_merge", Command: Command, Commands: []*cli.Command{logextract.Command},
		Stdout: out, Stderr: out, Getenv: func(string) string { return "" },
	}
	return &merger{ctx: ctx, env: env, now: time.Now(), force: true}
}

// records returns the number of records in an archive, -1 if there is no archive.
func records(t *testing.T, base string) int {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		return -1
	}
	defer a.Close()
	n := 0
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Sets) > 0 {
			n++
		}
	}
	return n
}

func names(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

var merged = []string{"20240305.0", "20240305.index", "20240305.meta"}

// TestKilled stops a merge at each of its steps as if the process were killed, and
// merges again: no value is ever lost, and at the end there is one archive.
func TestKilled(t *testing.T) {
	var steps []string
	day(t)
	var out bytes.Buffer
	m := newMerger(t.Context(), &out)
	m.fail = func(step string) error { steps = append(steps, step); return nil }
	if status := m.merge([]string{"20240305.??.??"}, "20240305"); status != 0 {
		t.Fatalf("status %d\n%s", status, &out)
	}
	if got := names(t); !slices.Equal(got, merged) {
		t.Fatalf("%q, want %q", got, merged)
	}
	total := records(t, "20240305")
	if total != 60 {
		t.Fatalf("%d records, want 60", total)
	}
	if len(steps) < 8 {
		t.Fatalf("only %d steps: %q", len(steps), steps)
	}
	for i, at := range steps {
		t.Run(fmt.Sprintf("%d %s", i, at), func(t *testing.T) {
			day(t)
			var out bytes.Buffer
			m := newMerger(t.Context(), &out)
			killed := errors.New("killed")
			n := 0
			m.fail = func(string) error {
				if n++; n > i {
					panic(killed)
				}
				return nil
			}
			func() {
				defer func() {
					if r := recover(); r != killed {
						t.Fatalf("recovered %v", r)
					}
				}()
				m.merge([]string{"20240305.??.??"}, "20240305")
			}()
			inputs := 0
			for _, base := range []string{"20240305.00.10", "20240305.08.10", "20240305.16.10"} {
				inputs += max(records(t, base), 0)
			}
			if all := records(t, "20240305"); all != total && inputs != total {
				t.Fatalf("after the kill: %d records in the inputs, %d in the output, of %d: %q", inputs, all, total, names(t))
			}
			m = newMerger(t.Context(), &out)
			status := m.merge([]string{"20240305.??.??"}, "20240305")
			if got := names(t); !slices.Equal(got, merged) {
				t.Errorf("after the second call, status %d: %q, want %q\n%s", status, got, merged, &out)
			}
			if n := records(t, "20240305"); n != total {
				t.Errorf("%d records, want %d", n, total)
			}
		})
	}
}

// TestFails makes a merge fail at each step: only the inputs remain.
func TestFails(t *testing.T) {
	for _, at := range []string{"written", "synced"} {
		day(t)
		before := names(t)
		var out bytes.Buffer
		m := newMerger(t.Context(), &out)
		m.fail = func(step string) error {
			if step == at {
				return errors.New("no space left on device")
			}
			return nil
		}
		status := m.merge([]string{"20240305.??.??"}, "20240305")
		if status != 1 || !strings.Contains(out.String(), "no space left on device") {
			t.Errorf("%s: status %d, output %s", at, status, &out)
		}
		if got := names(t); !slices.Equal(got, before) {
			t.Errorf("%s: %q, want %q", at, got, before)
		}
	}
}

// TestInterrupted ends a merge by a simulated signal while it writes.
func TestInterrupted(t *testing.T) {
	day(t)
	before := names(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if status := newMerger(ctx, &out).merge([]string{"20240305.??.??"}, "20240305"); status != 1 {
		t.Errorf("status %d", status)
	}
	if got := names(t); !slices.Equal(got, before) {
		t.Errorf("%q, want %q\n%s", got, before, &out)
	}
}

// TestForeignNotes checks that files that are not notes of a merge are kept, as are the
// files they name.
func TestForeignNotes(t *testing.T) {
	abs := func(name string) string {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	day(t)
	notes := map[string]string{
		".20240305.merged": mergedHead + fmt.Sprintf("%q\n", abs("20240305.00.10")),             // truncated
		".20240306.merged": mergedHead + "20240305.00.10\n" + mergedEnd,                         // not quoted
		".20240307.merged": mergedHead + fmt.Sprintf("%q\n", abs("20240305.00.10")) + mergedEnd, // no archive
		".20240308.merged": "",
	}
	for name, text := range notes {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := names(t)
	said, err := finish(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != len(notes) {
		t.Errorf("%d notes, want one for each of %q:\n%s", len(said), slices.Sorted(maps.Keys(notes)), strings.Join(said, "\n"))
	}
	if got := names(t); !slices.Equal(got, before) {
		t.Errorf("%q, want %q", got, before)
	}
}
