package logcheck

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// small reports whether an archive is small enough to be checked quickly.
func small(base string) bool {
	paths, _ := filepath.Glob(base + ".*")
	n := int64(0)
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil {
			n += st.Size()
		}
	}
	return n < 1<<20
}

// A result is the result of a tool.
type result struct {
	out, err string
	status   int
}

// runTool runs the real tool or ours in a directory.
func runTool(t *testing.T, ours bool, dir string, args ...string) result {
	t.Helper()
	r := twin.Call{Tool: "pmlogcheck", Dir: dir, Args: args}.Run(t, ours)
	return result{string(r.Out), string(r.Err), r.Status}
}

// TestSuite compares the output for the archives of the QA suite: every fourth small
// one and all bad ones with one set of options, or if PCP_TEST_LONG is set, all
// archives with all options.
func TestSuite(t *testing.T) {
	options := [][]string{nil, {"-v"}, {"-l", "-z"}, {"-m", "-Z", "EST5EDT"}, {"-w", "-v"}, {"-S", "+1min", "-T", "+10min"}, {"-S", "+20sec"}}
	all := longtest.Enabled()
	equal := 0
	for i, a := range twin.Suite(t, "tmparch/*") {
		some := options
		if !all {
			if bad := strings.Contains(a, "/badarchives/"); !small(a) || !bad && i%4 != 0 {
				continue
			}
			some = options[i%len(options):][:1]
		}
		for _, opts := range some {
			args := append(slices.Clone(opts), strings.TrimPrefix(a, twin.SuiteRoot+"/"))
			c, ours := runTool(t, false, twin.SuiteRoot, args...), runTool(t, true, twin.SuiteRoot, args...)
			if c != ours {
				t.Errorf("%q: %+v\nours: %+v", args, c, ours)
				continue
			}
			equal++
		}
	}
	t.Logf("%d checks say the same", equal)
}

// TestArguments compares how both handle their arguments.
func TestArguments(t *testing.T) {
	oracle.Require(t)
	good := filepath.Join(twin.SuiteRoot, "archives")
	if _, err := os.Stat(filepath.Join(good, "ok-foo.meta")); err != nil {
		t.Skip("SKIPPED: the QA suite of PCP is not installed: ", err)
	}
	for _, args := range [][]string{
		{},
		{"-?"},
		{"-x"},
		{"nosuch"},
		{"nosuch/x"},
		{"-v", "ok-foo.0"},
		{"-v", "ok-foo.meta"},
		{"-v", "ok-foo.index"},
		{"-v", "./ok-foo"},
		{"-v", good + "/ok-foo"},
		{"-v", "../archives/ok-foo.0"},
		{"-v", "ok-foo.7"},
		{"-v", "."},
		{"-S", "nonsense", "ok-foo"},
		{"-z", "-Z", "UTC", "ok-foo"},
		{"-n", "/nosuch", "ok-foo"},
		{"-l"},
		{"-S"},
	} {
		if c, ours := runTool(t, false, good, args...), runTool(t, true, good, args...); c != ours {
			t.Errorf("%q: %+v\nours: %+v", args, c, ours)
		}
	}
}

// TestSeveral checks more than one archive; the C tool sees only the first.
func TestSeveral(t *testing.T) {
	dir := copyArchive(t, "ok-foo", "ok-mv-bar")
	if err := os.Truncate(filepath.Join(dir, "ok-mv-bar.0"), 300); err != nil {
		t.Fatal(err)
	}
	r := runTool(t, true, dir, "-v", "ok-foo", "ok-foo.meta", "ok-mv-bar")
	if r.status != 1 || !strings.Contains(r.err, "ok-foo.meta: skip, already checked this archive\n") || !strings.Contains(r.err, "ok-mv-bar.0[record ") {
		t.Errorf("%+v", r)
	}
}

// copyArchive copies archives of the QA suite to a new directory.
func copyArchive(t *testing.T, names ...string) string {
	t.Helper()
	oracle.Require(t)
	dir := t.TempDir()
	for _, name := range names {
		paths, _ := filepath.Glob(filepath.Join(twin.SuiteRoot, "archives", name+".*"))
		if len(paths) == 0 {
			t.Skip("SKIPPED: the QA suite of PCP is not installed: no ", name)
		}
		for _, p := range paths {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(p)), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}
