package findfilter

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func call(stdin io.Reader, name string, args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	env := &cli.Env{Name: name, Args: args, Stdin: stdin, Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Command: Command}
	status = Command.Run(context.Background(), env)
	return out.String(), errs.String(), status
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want spec
	}{
		{"+3", spec{true, 72 * time.Hour}},
		{"-0", spec{false, 0}},
		{"-1:2", spec{false, 26 * time.Hour}},
		{"+0:0:15", spec{true, 15 * time.Minute}},
		{"+100000", spec{true, 2400000 * time.Hour}},
		{"- 1", spec{false, 24 * time.Hour}},
		{"++1", spec{true, 24 * time.Hour}},
	} {
		if got, err := parse(test.text); err != nil || got != test.want {
			t.Errorf("parse(%q) = %v, %v, want %v", test.text, got, err, test.want)
		}
	}
	for text, want := range map[string]string{
		"":                      "expect '+' or '-' to start timespec, not '\x00' in \"\"",
		"+-1":                   `number of days '-1' is invalid in timespec "+-1"`,
		"+100001":               `number of days '100001' is invalid in timespec "+100001"`,
		"+1:24":                 `number of hours '24' is invalid in timespec "+1:24"`,
		"+1:1x":                 `expect ':' not 'x' after days and hours in timespec "+1:1x"`,
		"+1:1:1:1":              `extra text after days, hours and minutes in timespec "+1:1:1:1"`,
		"-+":                    `expect number of days not '+' after - in timespec"-+"`,
		"+99999999999999999999": `number of days '100001' is invalid in timespec "+99999999999999999999"`,
	} {
		if got, err := parse(text); err == nil || err.Error() != want {
			t.Errorf("parse(%q) = %v, %v, want error %q", text, got, err, want)
		}
	}
}

// files makes files of some ages and returns the paths, and that of a missing
// file.
func files(t *testing.T) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for name, ago := range map[string]time.Duration{
		"new": 0, "minutes": 2*time.Minute + time.Second, "hour": time.Hour + 30*time.Second, "hours": 150 * time.Minute, "day": 25 * time.Hour, "days": 73 * time.Hour,
		"future": -time.Hour,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-ago)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return append(paths, filepath.Join(dir, "nosuch"), dir)
}

func TestFilter(t *testing.T) {
	paths := files(t)
	list := strings.Join(paths, "\n") // the last line has no newline
	for spec, want := range map[string]string{
		"-0": "future", "+0:0:1": "minutes hour hours day days", "+1": "day days", "-0:2": "new minutes hour future dir", "+3": "days",
	} {
		stdout, stderr, status := call(strings.NewReader(list), "find-filter", "mtime", spec)
		got := map[string]bool{}
		for line := range strings.Lines(stdout) {
			name := filepath.Base(strings.TrimSpace(line))
			if strings.TrimSpace(line) == paths[len(paths)-1] {
				name = "dir"
			}
			got[name] = true
		}
		if stderr != "" || status != 0 || len(got) != len(strings.Fields(want)) {
			t.Errorf("mtime %s: %v, %q, exit %d, want %s", spec, got, stderr, status, want)
		}
		for name := range strings.FieldsSeq(want) {
			if !got[name] {
				t.Errorf("mtime %s: %s is missing", spec, name)
			}
		}
	}
	// All changed just now, whatever their times.
	stdout, stderr, status := call(strings.NewReader(list), "find-filter", "-v", "ctime", "-0:0:5")
	if n := strings.Count(stdout, "\n"); n != len(paths)-1 || status != 0 {
		t.Errorf("ctime -0:0:5: %d of %d, exit %d", n, len(paths)-1, status)
	}
	if !strings.Contains(stderr, "nosuch: stat() failed: No such file or directory\n") ||
		!regexp.MustCompile(`days: me: [0-9]+\.[0-9]{6} \(now-[0-9.]+\) timespec: [0-9]+\.[0-9]{6}\n`).MatchString(stderr) {
		t.Errorf("-v prints %q", stderr)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"mtime"}, {"-v"}, {"atime", "+1"}, {"--help"}} {
		stdout, stderr, status := call(strings.NewReader(""), "find-filter", args...)
		if stdout != "" || !strings.HasPrefix(stderr, "Usage: find-filter [options] <predicate>\noptions:\n") || status != 1 {
			t.Errorf("%v: %q, %q, exit %d", args, stdout, stderr, status)
		}
	}
	if stdout, _, status := call(nil, "pcp find-filter", "--help"); !strings.Contains(stdout, "mtime (last") || status != 0 {
		t.Errorf("--help: %q, exit %d", stdout, status)
	}
	if _, stderr, status := call(strings.NewReader(strings.Repeat("x", maxPath)), "find-filter", "mtime", "+1"); status != 1 || !strings.Contains(stderr, "a path of more than") {
		t.Errorf("a long path: %q, exit %d", stderr, status)
	}
	if _, stderr, status := call(iotest.ErrReader(os.ErrClosed), "find-filter", "mtime", "+1"); status != 1 || !strings.Contains(stderr, "reading paths: ") {
		t.Errorf("standard input that fails: %q, exit %d", stderr, status)
	}
}

// TestOracle gives the same paths and predicates to the C tool.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	list := strings.Join(files(t), "\n") + "\n\n/\n"
	number := regexp.MustCompile(`[0-9]+\.[0-9]{6}`)
	for _, args := range [][]string{
		{"mtime", "+0"},
		{"mtime", "-0"},
		{"mtime", "+0:1"},
		{"mtime", "-0:1"},
		{"mtime", "+0:0:2"},
		{"-v", "mtime", "-0:0:2"},
		{"ctime", "+0:0:1"},
		{"ctime", "-0:0:1"},
		{"mtime", "+1", "more"},
		{"mtime", "+1:23:59"},
		{"mtime", "+"},
		{"mtime", "x"},
		{"mtime", "+1:"},
		{"mtime", "+1x"},
		{"mtime", "+1:24"},
		{"mtime", "-1:-1"},
		{"mtime", "-1:1:60"},
		{"mtime", "-1:1:1x"},
		{"mtime", "-1:1x"},
		{"mtime"},
		{"x", "+1"},
		{"-v"},
		{},
		{"-x", "mtime", "+1"},
		{"mtime", "- 1: 2: 3"},
	} {
		real := oracle.RunStdin(t, list, "find-filter", args...)
		stdout, stderr, status := call(strings.NewReader(list), "find-filter", args...)
		if stdout != real.Stdout || number.ReplaceAllString(stderr, "N") != number.ReplaceAllString(real.Stderr, "N") || status != real.Exit {
			t.Errorf("%q: %q, %q, exit %d; theirs %q, %q, exit %d", args, stdout, stderr, status, real.Stdout, real.Stderr, real.Exit)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"+1", "-1:2:3", "", "+", "+1:", "-99999999999", "+ +1:\t2:3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parse(s)
		if err == nil && (got.ago < 0 || got.ago > (maxDays+1)*24*time.Hour || got.before != (s[0] == '+')) {
			t.Errorf("parse(%q) = %v", s, got)
		}
	})
}
