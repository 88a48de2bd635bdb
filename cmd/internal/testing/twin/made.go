package twin

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// A Made is the result of a tool that writes the archive "out", with the files of
// that by name, without the process number in their labels.
type Made struct {
	Result
	Files map[string][]byte
}

// A Left is the result of a tool, and the files in its directory afterwards.
type Left struct {
	Out, Err string
	Status   int
	Files    map[string]string
}

// Leave is Run for a tool that changes files in the directory of the call.
func (c Call) Leave(t testing.TB, ours bool) Left {
	t.Helper()
	r := c.Run(t, ours)
	return Left{string(r.Out), string(r.Err), r.Status, testdir.Contents(t, c.Dir)}
}

// Make is Run for a tool that makes the archive "out" in the directory of the
// call.
func (c Call) Make(t testing.TB, ours bool) Made {
	t.Helper()
	made := Made{c.Run(t, ours), make(map[string][]byte)}
	paths, _ := filepath.Glob(filepath.Join(c.Dir, "out.*"))
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) >= 12 {
			copy(b[8:12], "PID.") // in the label
		}
		made.Files[filepath.Base(p)] = b
	}
	return made
}

// CompareMade has both make "out", the last argument, each in a directory of its own, and returns
// which of stdout, stderr, status and files differ, "" if none. It also returns "" where a signal
// ended the real one, or excuse reports that there is nothing to compare with.
func CompareMade(t testing.TB, c Call, excuse func(want, got Made) bool) string {
	t.Helper()
	c.Args = append(slices.Clone(c.Args), "out")
	c.Dir = t.TempDir()
	want := c.Make(t, false)
	c.Dir = t.TempDir()
	got := c.Make(t, true)
	if want.Status == -1 || excuse(want, got) {
		t.Logf("%q: the C tool gives up: %s", c.Args, want.Err)
		return ""
	}
	var diff []string
	if !bytes.Equal(want.Out, got.Out) {
		diff = append(diff, "stdout")
		t.Logf("%q: stdout:\n%sours:\n%s", c.Args, want.Out, got.Out)
	}
	if !bytes.Equal(want.Err, got.Err) {
		diff = append(diff, "stderr")
		t.Logf("%q: stderr:\n%sours:\n%s", c.Args, want.Err, got.Err)
	}
	if want.Status != got.Status {
		diff = append(diff, "status")
		t.Logf("%q: status %d, ours %d", c.Args, want.Status, got.Status)
	}
	for name := range want.Files {
		if _, ok := got.Files[name]; !ok {
			diff = append(diff, "no "+name)
		}
	}
	for name, b := range got.Files {
		theirs, ok := want.Files[name]
		if !ok {
			diff = append(diff, "a file "+name)
			continue
		}
		if !bytes.Equal(b, theirs) {
			n := 0
			for n < min(len(b), len(theirs)) && b[n] == theirs[n] {
				n++
			}
			diff = append(diff, name)
			t.Logf("%q: %s: %d bytes, ours %d, equal up to %d", c.Args, name, len(theirs), len(b), n)
		}
	}
	slices.Sort(diff)
	return strings.Join(diff, ", ")
}

// NeedSuite skips the test where the QA suite of PCP is not installed.
func NeedSuite(t testing.TB) {
	t.Helper()
	oracle.Require(t)
	if _, err := os.Stat(SuiteRoot); err != nil {
		t.Skip("SKIPPED: the QA suite of PCP is not installed: ", err)
	}
}

// Suite returns the archives of the installed QA suite, good and bad: all in
// folders of archives, and those that match further patterns.
func Suite(t testing.TB, more ...string) []string {
	t.Helper()
	NeedSuite(t)
	var list []string
	for _, pattern := range append([]string{"archives/*", "badarchives/*", "archives/*/*"}, more...) {
		paths, _ := filepath.Glob(filepath.Join(SuiteRoot, pattern+".meta*"))
		for _, p := range paths {
			if base, _, ok := archive.BaseName(p); ok {
				list = append(list, base)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
