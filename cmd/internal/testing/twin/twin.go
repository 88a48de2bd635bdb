// Package twin runs a tool of ours and the real one with the same arguments,
// for tests only, and compares the results.
//
//	func TestMain(m *testing.M) { twin.Main(m, Command) }
//
//	func TestSome(t *testing.T) {
//		oracle.Require(t)
//		if d := twin.Compare(t, twin.Call{Tool: "pmlogsize", Args: []string{"-d", "x"}}); d != "" {
//			t.Error(d)
//		}
//	}
//
// With [Main] ours is the test binary itself, so that its code counts as covered.
// With [Built] it is the whole program. [Transcript] keeps the output of the real
// tools.
package twin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// be is the variable that makes a test binary a tool.
const be = "PCP_TWIN"

// limit is the variable that bounds the size of the files which a tool writes.
const limit = "PCP_TWIN_LIMIT"

// Limit is the environment of a Call of ours whose files may have no more than n
// bytes: writes beyond fail.
func Limit(n int) string { return fmt.Sprintf("%s=%d", limit, n) }

// Main is a TestMain: it runs the tests, or one of the commands if the
// environment names it.
func Main(m *testing.M, commands ...*cli.Command) {
	link := os.Getenv(be)
	if link == "" {
		os.Exit(m.Run())
	}
	restore := func() {}
	if n, err := strconv.ParseUint(os.Getenv(limit), 10, 64); err == nil {
		if restore, err = limitFiles(n); err != nil {
			panic(err)
		}
	}
	for _, c := range commands {
		if c.Link != link {
			continue
		}
		out := bufio.NewWriter(os.Stdout)
		status := c.Run(context.Background(), &cli.Env{
			Name: link, Args: os.Args[1:], Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr,
			Getenv: os.Getenv, LookupEnv: os.LookupEnv, Version: "6.0.3", Command: c, Commands: commands,
		})
		if out.Flush() != nil && status == 0 {
			status = 1
		}
		restore() // writes the coverage now
		os.Exit(status)
	}
	fmt.Fprintf(os.Stderr, "%s=%s: no such command\n", be, link)
	os.Exit(2)
}

// A Call describes a run.
type Call struct {
	Tool  string
	Args  []string
	Dir   string   // the current one if empty
	Env   []string // added to oracle.Env
	Stdin string

	// KillAfter is the run time before it is killed, for tools that never end
	// on damaged input. Without it the test fails after five minutes.
	KillAfter time.Duration

	// Watch is called with all that it has printed on its standard output
	// whenever there is more. It may be nil.
	Watch func(out []byte)
}

// A Result is the result of a tool.
type Result struct {
	Out, Err []byte
	Status   int // -1 if a signal ended it
}

// patience is for a machine that has much else to do.
const patience = 5 * time.Minute

// Command returns the command that runs ours or the real one, without Stdout and Stderr.
// It skips the test where there is no real one.
func (c Call) Command(ctx context.Context, t testing.TB, ours bool) *exec.Cmd {
	t.Helper()
	path := oracle.Path(c.Tool)
	env := append(oracle.Env(), c.Env...)
	switch {
	case ours && program.wanted:
		path = Tool(t, c.Tool)
	case ours:
		var err error
		if path, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
		env = append(env, be+"="+c.Tool)
		if dir := os.Getenv("GOCOVERDIR"); dir != "" {
			env = append(env, "GOCOVERDIR="+dir)
		}
	}
	if path == "" {
		t.Skipf("SKIPPED: the real %s is not installed", c.Tool)
	}
	cmd := exec.CommandContext(ctx, path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, env
	cmd.Stdin = strings.NewReader(c.Stdin)
	return cmd
}

// Run runs ours or the real one.
func (c Call) Run(t testing.TB, ours bool) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(c.KillAfter, patience))
	defer cancel()
	cmd := c.Command(ctx, t, ours)
	cmd.WaitDelay = time.Second // for its children, if it is killed
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.Watch != nil {
		cmd.Stdout = watched{&stdout, c.Watch}
	}
	err := cmd.Run()
	if ctx.Err() != nil && c.KillAfter == 0 {
		t.Fatalf("%s %q does not end", cmd.Path, c.Args)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && ctx.Err() == nil {
		t.Fatalf("%s %q: %v", cmd.Path, c.Args, err)
	}
	return Result{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
}

// watched is a buffer with a watcher.
type watched struct {
	out   *bytes.Buffer
	watch func([]byte)
}

func (w watched) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.watch(w.out.Bytes())
	return n, err
}

// Compare runs both and returns how they differ, "" if they do not. Where a
// signal ends the real one there is nothing to compare with.
func Compare(t testing.TB, c Call) string {
	t.Helper()
	want := c.Run(t, false)
	got := c.Run(t, true)
	if want.Status == -1 {
		if got.Status == -1 {
			return fmt.Sprintf("%s %q: killed by a signal", c.Tool, c.Args)
		}
		return ""
	}
	switch {
	case !bytes.Equal(want.Out, got.Out):
		return fmt.Sprintf("%s %q: output differs (-want +got)\n%s", c.Tool, c.Args, FirstDifference(want.Out, got.Out))
	case !bytes.Equal(want.Err, got.Err):
		return fmt.Sprintf("%s %q: messages differ (-want +got)\n%s", c.Tool, c.Args, FirstDifference(want.Err, got.Err))
	case want.Status != got.Status:
		return fmt.Sprintf("%s %q: exit status %d, want %d", c.Tool, c.Args, got.Status, want.Status)
	}
	return ""
}

// FirstDifference returns the first line in which two texts differ, as each has it.
func FirstDifference(a, b []byte) string {
	la, lb := bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n"))
	for i := range max(len(la), len(lb)) {
		var x, y []byte
		if i < len(la) {
			x = la[i]
		}
		if i < len(lb) {
			y = lb[i]
		}
		if !bytes.Equal(x, y) {
			return fmt.Sprintf("line %d:\n- %q\n+ %q", i+1, x, y)
		}
	}
	return "no difference"
}

// SuiteRoot is where the QA suite of PCP is installed.
const SuiteRoot = "/var/lib/pcp/testsuite"

// Archives returns the archives of the installed QA suite, good and bad: all if
// PCP_TEST_LONG is set, else every nth that is not large, always the same.
func Archives(t testing.TB, nth int) []string {
	t.Helper()
	NeedSuite(t)
	sizes := make(map[string]int64)
	var list []string
	for _, pattern := range []string{"archives/*", "badarchives/*", "archives/*/*", "tmparch/*"} {
		paths, _ := filepath.Glob(filepath.Join(SuiteRoot, pattern))
		for _, p := range paths {
			base, part, ok := archive.BaseName(p)
			st, err := os.Stat(p)
			if !ok || err != nil || st.IsDir() {
				continue
			}
			sizes[base] += st.Size()
			if part == "meta" {
				list = append(list, base)
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if longtest.Enabled() {
		return list
	}
	const large = 400 << 10
	var some []string
	for i, a := range list {
		if i%nth == 0 && sizes[a] < large {
			some = append(some, a)
		}
	}
	return some
}
