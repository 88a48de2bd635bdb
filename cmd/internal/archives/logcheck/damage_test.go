package logcheck

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/archives/archivecmd"
	"github.com/go-pcp/pcp/cmd/internal/archives/dumplog"
	"github.com/go-pcp/pcp/cmd/internal/live/info"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// readers are the tools that are tested with damaged archives.
var readers = []struct {
	command *cli.Command
	args    []string
}{
	{Command, nil},
	{dumplog.Command, []string{"-a"}},
	{archivecmd.Command, []string{"verify"}},
	{archivecmd.Command, []string{"ls"}},
	{info.Command, []string{"-dfmt", "-a"}},
}

// mostMemory is the limit on a tool's total allocations for an archive of 10 KiB.
const mostMemory = 256 << 20

// tooLong is the time after which a tool counts as hanging. On an idle machine each
// takes less than a second.
const tooLong = time.Minute

// read runs a tool in this process, so that a panic is a failure.
func read(t *testing.T, what string, c *cli.Command, args ...string) (out, errs string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := &cli.Env{
		Name: c.Link, Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(string) string { return "" }, Version: "test", Command: c,
	}
	if c.Link == "" {
		env.Name = "pcp " + c.Name
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan int)
	go func() { done <- c.Run(ctx, env) }()
	select {
	case status = <-done:
	case <-time.After(tooLong):
		t.Fatalf("%s: %s %q does not end", what, env.Name, args)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > mostMemory {
		t.Errorf("%s: %s %q allocates %d MB", what, env.Name, args, n>>20)
	}
	return stdout.String(), stderr.String(), status
}

// readAll gives an archive to all tools.
func readAll(t *testing.T, what, base string) {
	t.Helper()
	for _, r := range readers {
		read(t, what, r.command, append(slices.Clone(r.args), base)...)
	}
}

// derived matches a warning that is not caused by a fault: see Checker.Strict.
var derived = regexp.MustCompile(`.*\[511\.\d+\.\d+\]: domain of pmid .*\n`)

// TestBadArchives runs all tools on the bad archives of the QA suite: each ends, and
// verify or ls reports an error where pmlogcheck does.
func TestBadArchives(t *testing.T) {
	for _, base := range twin.Suite(t, "tmparch/*") {
		if !strings.Contains(base, "/badarchives/") || !small(base) && !longtest.Enabled() {
			continue
		}
		readAll(t, base, base)
		_, errs, status := read(t, base, Command, "-w", base)
		errs = derived.ReplaceAllString(errs, "")
		out, _, vstatus := read(t, base, archivecmd.Command, "verify", "-w", base)
		if status != 0 && vstatus == 0 || errs != "" && strings.Contains(out, ": whole, ") && !strings.Contains(out, "odd") {
			t.Errorf("%s: pmlogcheck exits with %d and says %q, but pcp archive verify %d %q", base, status, errs, vstatus, out)
		}
	}
}

// A damage is a change to a file.
type damage struct {
	file  string
	at    int
	bytes []byte // written there; nil cuts the file
}

func (d damage) String() string {
	if d.bytes == nil {
		return fmt.Sprintf("%s cut at %d", d.file, d.at)
	}
	return fmt.Sprintf("%s with %x at %d", d.file, d.bytes, d.at)
}

// tolerated reports whether our output may differ from the C tool's for a damage, and
// why.
func tolerated(c, ours result) string {
	switch {
	case c.status < 0 || c.status > 2:
		return "the C tool dies"
	case c.err == "" && strings.Contains(ours.err, "pmFetch: error: Corrupted record"),
		c.err == "" && strings.Contains(ours.err, "cannot open archive") && strings.Contains(ours.err, "Corrupted record"):
		return "we see that a record is damaged, the C library does not"
	case strings.Contains(c.err, "Bad address") && strings.Contains(ours.err, "Corrupted record"):
		return "the C library names another error"
	case strings.Contains(c.err, "Incorrect record type") && strings.Contains(ours.err, "Corrupted record"):
		return "the C library loses its place behind a help text of a wrong kind"
	case strings.Contains(c.err, "Archive feature not supported"):
		return "features in the label of the index or the metadata, where we do not look"
	case strings.Contains(c.err, "no name in PMNS"):
		return "a name that the C library cannot put into its tree"
	}
	return ""
}

// TestDamage damages an archive at 2,000 random places and truncates it at 500 lengths,
// fewer if PCP_TEST_LONG is not set, and runs all tools on it. For some it compares the
// output of pmlogcheck.
func TestDamage(t *testing.T) {
	// Only observed differences are tolerated, so without PCP_TEST_LONG the damage is
	// always the same.
	places, lengths, every := longtest.N(120, 2000), longtest.N(40, 500), longtest.N(10, 5)
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	same, known := 0, 0
	for k, name := range []string{"ok-foo", "omnibus_v3"} {
		dir := copyArchive(t, name)
		paths, _ := filepath.Glob(filepath.Join(dir, "*"))
		slices.Sort(paths)
		whole := make(map[string][]byte)
		for _, p := range paths {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			whole[p] = b
		}
		for i := range places + lengths {
			if i%2 != k {
				continue // half with each archive
			}
			p := paths[rnd.IntN(len(paths))]
			b := slices.Clone(whole[p])
			d := damage{file: filepath.Base(p), at: rnd.IntN(len(b))}
			if i < lengths {
				b = b[:d.at]
			} else {
				d.bytes = make([]byte, 1+3*rnd.IntN(2))
				for j := range d.bytes {
					d.bytes[j] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(rnd.Uint32())}[rnd.IntN(6)]
				}
				copy(b[d.at:], d.bytes)
			}
			if err := os.WriteFile(p, b, 0o600); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s: %s", name, d)
			readAll(t, what, filepath.Join(dir, name))
			if (i/2)%every == 0 {
				c, ours := runTool(t, false, dir, name), runTool(t, true, dir, name)
				switch why := tolerated(c, ours); {
				case c == ours:
					same++
				case why != "":
					known++
					t.Logf("%s: %s", what, why)
				default:
					t.Errorf("%s: %+v\nours: %+v", what, c, ours)
				}
			}
			if err := os.WriteFile(p, whole[p], 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d times both say the same, %d times not for a known reason", same, known)
}
