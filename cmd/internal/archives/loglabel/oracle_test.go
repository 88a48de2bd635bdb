package loglabel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// archives returns directories, each with a copy of archives of the QA suite.
func archives(t *testing.T, paths ...string) []string {
	t.Helper()
	oracle.Require(t)
	var list []string
	for _, p := range paths {
		files, _ := filepath.Glob(filepath.Join(twin.SuiteRoot, p+".*"))
		if len(files) == 0 {
			t.Skip("SKIPPED: the QA suite of PCP is not installed: no ", p)
		}
		dir := t.TempDir()
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, dir)
	}
	return list
}

// run runs the real tool or ours in a directory.
func runTool(t *testing.T, ours bool, dir string, args ...string) twin.Left {
	t.Helper()
	return twin.Call{Tool: "pmloglabel", Dir: dir, Args: args}.Leave(t, ours)
}

// TestOracle compares the output and the changes of both tools for good and bad
// archives, for every other archive if PCP_TEST_LONG is not set.
func TestOracle(t *testing.T) {
	paths := []string{
		"archives/ok-foo", "archives/ok-mv-foo", "archives/ok-noti-bigbin", "archives/20180606", "archives/omnibus_v3",
		"badarchives/badlabel-0", "badarchives/badlabel-1", "badarchives/badlabel-2", "badarchives/badlen-4", "badarchives/badlen-5",
		"badarchives/badlen-6", "badarchives/badlen-7", "badarchives/badlen-8", "badarchives/541380", "badarchives/empty", "badarchives/badti-3",
	}
	read := [][]string{{}, {"-l"}, {"-L", "-v"}, {"-v"}}
	write := [][]string{{"-v", "-p", "77", "-h", "bozo.foo", "-l"}, {"-s"}, {"-Z", "EST5", "-v"}, {"-h", strings.Repeat("x", 80)}}
	for i, path := range paths {
		if i%2 == 1 && !longtest.Enabled() {
			continue
		}
		name := filepath.Base(path)
		dir := archives(t, path)[0]
		for _, opts := range read {
			args := append(opts, name)
			if diff := cmp.Diff(runTool(t, false, dir, args...), runTool(t, true, dir, args...)); diff != "" {
				t.Errorf("%s %q: -C +ours\n%s", path, opts, diff)
			}
		}
		// For improvements over the C tool, see TestSafety.
		if name == "20180606" || name == "omnibus_v3" || name == "541380" {
			continue
		}
		for _, opts := range write {
			args := append(opts, name)
			two := archives(t, path, path)
			if diff := cmp.Diff(runTool(t, false, two[0], args...), runTool(t, true, two[1], args...)); diff != "" {
				t.Errorf("%s %q: -C +ours\n%s", path, opts, diff)
			}
		}
	}
}

// TestArguments compares how both handle their arguments.
func TestArguments(t *testing.T) {
	dir := archives(t, "archives/ok-foo")[0]
	for _, args := range [][]string{
		{},
		{"-?"},
		{"-x", "ok-foo"},
		{"nosuch"},
		{"ok-foo", "ok-foo"},
		{"-V", "9", "ok-foo"},
		{"-V", "x"},
		{"-l", "ok-foo.meta"},
		{"-l", "ok-foo.0"},
		{"-l", "./ok-foo"},
		{"-p", "abc", "-l", "ok-foo"},
		{"-p"},
		{"-v", "."},
	} {
		if diff := cmp.Diff(runTool(t, false, dir, args...), runTool(t, true, dir, args...)); diff != "" {
			t.Errorf("%q: -C +ours\n%s", args, diff)
		}
	}
}

// TestSafety tries operations with which the C tool destroys archives.
func TestSafety(t *testing.T) {
	for _, tt := range []struct {
		path string
		args []string
	}{
		{"archives/ok-mv-foo", []string{"-V", "3"}},               // a longer label overwrites the first record
		{"archives/omnibus_v3", []string{"-V", "2"}},              // a shorter one leaves half of the old one
		{"archives/20180606", []string{"-p", "5"}},                // some of the files are compressed
		{"badarchives/541380", []string{"-s"}},                    // no label to take anything from
		{"badarchives/541380", []string{"-h", "bozo", "-p", "5"}}, // and still none
	} {
		dir := archives(t, tt.path)[0]
		before := testdir.Contents(t, dir)
		r := runTool(t, true, dir, append(tt.args, filepath.Base(tt.path))...)
		if diff := cmp.Diff(before, r.Files); diff != "" || r.Status != notDone || !strings.Contains(r.Err, "Failed ") {
			t.Errorf("%s %q: %d %q\n%s", tt.path, tt.args, r.Status, r.Err, diff)
		}
	}
}

// TestZoneName checks that the name of the time zone is kept unless a new one is given.
func TestZoneName(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	for _, vol := range []string{"0", "meta", "index"} {
		n := map[string]int32{"0": 0, "meta": archive.VolMeta, "index": archive.VolIndex}[vol]
		l := archive.Label{Version: 3, PID: 1, Vol: n, Host: "here", TimeZone: "CET-1", ZoneInfo: ":Europe/Berlin"}
		if err := os.WriteFile(base+"."+vol, append(l.Append(nil), 0, 0, 0, 0), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args []string
		want archive.Label
	}{
		{[]string{"-p", "7"}, archive.Label{Version: 3, PID: 7, Vol: archive.VolMeta, Host: "here", TimeZone: "CET-1", ZoneInfo: ":Europe/Berlin"}},
		{[]string{"-Z", "EST5"}, archive.Label{Version: 3, PID: 7, Vol: archive.VolMeta, Host: "here", TimeZone: "EST5"}},
	} {
		if r := runTool(t, true, filepath.Dir(base), append(tt.args, "a")...); r.Status != 0 {
			t.Fatalf("%q: %+v", tt.args, r)
		}
		b, err := os.ReadFile(base + ".meta")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := archive.DecodeLabel(b); err != nil || got != tt.want {
			t.Errorf("%q: %+v, %v", tt.args, got, err)
		}
	}
}
