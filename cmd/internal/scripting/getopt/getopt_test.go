package getopt

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func ours(config string, args ...string) (out string, status int) {
	return oursOf("", config, args...)
}

// oursOf runs the command as that of a version of PCP.
func oursOf(compat, config string, args ...string) (out string, status int) {
	var b bytes.Buffer
	status = Command.Run(context.Background(), &cli.Env{
		Name: "pmgetopt", Args: args, Command: Command,
		Stdin: strings.NewReader(config), Stdout: &b, Stderr: &b,
		Getenv: func(name string) string {
			if name == "PCP_COMPAT" {
				return compat
			}
			return ""
		},
	})
	return b.String(), status
}

func TestParse(t *testing.T) {
	const config = "# usage [options] node\n\nOptions:\n  --host\n  -d, --delay  pause\n  -i=INST, --insts=INST  which\n  --width=N  wide\n"
	f := func(want string, status int, args ...string) {
		t.Helper()
		if got, s := ours(config, args...); got != want || s != status {
			t.Errorf("%q: %q, status %d, want %q, %d", args, got, s, want, status)
		}
	}
	f("-h 'x' -d -i 'it'\\''s' --width '3' -- 'a' '-d'\n", 0, "--", "--host=x", "-di", "it's", "--wid", "3", "a", "-d")
	f("-? -?\n", 0, "--", "-q", "--nope")
	f("\n", 0)
	f("Usage: prog [options] node\n\nOptions:\n  -h HOST, --host=HOST  metrics source is PMCD on host\n"+
		"  -d, --delay           pause\n  -i INST, --insts=INST which\n  --width=N             wide\n", 1, "-u", "-p", "prog")
	f("pmgetopt: cannot open /no/such for reading configuration\n", 1, "-c", "/no/such")
}

// TestSeven has the messages and texts of PCP 7.
func TestSeven(t *testing.T) {
	const config = "  --archive\n"
	f := func(want string, status int, args ...string) {
		t.Helper()
		if got, s := oursOf("7", config, args...); got != want || s != status {
			t.Errorf("%q: %q, status %d, want %q, %d", args, got, s, want, status)
		}
	}
	f("-? -- 'a'\nprog: invalid option -- 'x'\n", 0, "-p", "prog", "--", "-x", "a")
	f("Usage: prog [options]\n  -a FILE, --archive=FILE\n                        metrics source is a PCP archive\n", 1, "-u", "-p", "prog")
}

func TestHostile(t *testing.T) {
	if out, status := ours(strings.Repeat("x", 2<<20)); status != 1 || !strings.Contains(out, "line 1: ") {
		t.Errorf("a long line: status %d, %.80s", status, out)
	}
}

func FuzzConfig(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*")
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(string(data), "-a")
		}
	}
	f.Fuzz(func(t *testing.T, config, arg string) {
		ours(config, "-u")
		ours(config, "--", arg, "--alpha", "-b")
	})
}

// TestOracle compares what both print for odd configurations and arguments.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	theirs := oracle.Path("pmgetopt")
	if theirs == "" {
		t.Skip("SKIPPED: real PCP has no pmgetopt")
	}
	compare := func(config string, args ...string) {
		t.Helper()
		cmd := exec.Command(theirs, args...)
		cmd.Env = oracle.Env()
		cmd.Stdin = strings.NewReader(config)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		got, status := ours(config, args...)
		if diff := cmp.Diff(string(out), got); diff != "" || status != cmd.ProcessState.ExitCode() {
			t.Errorf("%q: status %d (-theirs %d +ours):\n%s", args, status, cmd.ProcessState.ExitCode(), diff)
		}
	}
	for _, config := range []string{"", "# getopts: ab:\n# end\n", "# options:\n# end\n", "# getopts: ab:\n# Options:\n  -a  x\n# end\n"} {
		for _, arg := range []string{"--foo", "--a", "--ab", "--b=1", "--b", "--?", "---", "--", "-ab1"} {
			compare(config, "-p", "p", "--", arg, "x")
		}
	}
	paths, err := filepath.Glob("testdata/*")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.IsDir() { // a fuzzer's
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"-u"},
			{"-p", "prog", "-u"},
			{"-p", "p", "--", "-a", "-b", "3", "-c", "-d"},
			{"--", "--alpha", "--beta=2", "--de", "3", "--d"},
			{"--", "--delt", "x"},
			{"--", "--dig", "--", "a"},
			{"--", "-bfoo", "-x", "y", "a'b'", ""},
			{"--", "-a", "-?", "--help"},
			{"--", "--hh"},
			{"--", "--zeta="},
			{"--", "-"},
			{"-Ddesperate", "--", "-a"},
			{},
		} {
			compare(string(data), args...)
		}
	}
	compare("", "-?")
	compare("", "-c")
	compare("", "-c", "/no/such", "-u")
	compare("", "--prog=x", "--usage")
	compare("", "-Dnonsense")
	compare("", "-x")
	compare("", "a", "b")
}
