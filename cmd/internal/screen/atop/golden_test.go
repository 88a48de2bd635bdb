package atop

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// call runs a command of a version of PCP with an archive and returns its output and its exit status.
func call(t testing.TB, c *cli.Command, compat, archive string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	vars := map[string]string{"PCP_ARCHIVE": archive, "PCP_HOSTZONE": "1", "TZ": "UTC", "HOME": t.TempDir(), "PCP_COMPAT": compat}
	env := &cli.Env{
		Name: c.Link, Program: c.Link, Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Version: "0",
		Getenv:    func(name string) string { return vars[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Command:   c, Commands: []*cli.Command{c},
	}
	status := c.Run(context.Background(), env)
	return string(masked(out.Bytes())), status
}

// commandLines are the command lines whose output is in testdata.
var commandLines = map[string][]string{
	"atopsar": {"-A -S -M -C 1", "-c -R 2 1", "-d -a -x 1", "-i -I -R 2 1", "-O -R 2 1", "-m -H 1 2", "-q", "-R x", "1 0"},
	"atop": {
		"-P ALL 1 3", "-P PRG,PRC -Z 1 2", "-f -L 200 1 3", "-m -R -y 1 2", "-d -D -Y -y 1 2", "-s -W -L 160 1 2", "-v -L 220 -a 1 2",
		"-c -A 1 3", "-u -1 -a 1 2", "-p -l -E 1 2", "-j -G -F 1 2", "-X -L 160 1 2", "-n 1 2", "-C -x -L 120 1 6", "-P foo", "-L x", "-V", "-q 1 2",
	},
	"atopsar7": {"-P 1 3", "-d -M 1 2"},
	"atop7": {
		"-P ALL 1 3", "-P LLC,PRC -Z 1 2", "-f -L 250 1 3", "-y 1 2", "-s -L 220 -y 1 2", "-c 1 2", "-j -L 160 1 2", "-n 1 2", "-r ARCHIVE -R 1 1", "-L 100 1 3",
	},
}

// TestOutput compares the output for the fixture with testdata.
func TestOutput(t *testing.T) {
	archive := fixture(t)
	for name, lines := range commandLines {
		c := Command
		if strings.HasPrefix(name, "atopsar") {
			c = SarCommand
		}
		compat := ""
		if strings.HasSuffix(name, "7") {
			compat = "7"
		}
		var b bytes.Buffer
		for _, line := range lines {
			out, status := call(t, c, compat, archive, strings.Fields(strings.Replace(line, "ARCHIVE", archive, 1))...)
			b.WriteString("# pcp-" + name + " " + line + "\n" + out)
			b.WriteString("# status " + string(rune('0'+status)) + "\n")
		}
		path := filepath.Join("testdata", name+".txt")
		if os.Getenv("UPDATE") == "1" {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s: %s", path, twin.FirstDifference(want, b.Bytes()))
		}
	}
}

// TestOutputOfC compares the output for the fixture with the output of C.
func TestOutputOfC(t *testing.T) {
	oracle.Require(t)
	archive := fixture(t)
	for name, lines := range commandLines {
		for _, line := range lines {
			if strings.HasSuffix(name, "7") {
				continue // C here is 6.0.3
			}
			if line == "-V" || strings.Contains(line, "-q") || strings.Contains(line, "x") && strings.HasPrefix(line, "-R") || line == "1 0" {
				continue // the version, and usage messages, which have the path of the program
			}
			compare(t, twin.Call{Tool: "pcp-" + name, Args: strings.Fields(line), Env: []string{"PCP_ARCHIVE=" + archive, "PCP_HOSTZONE=1"}})
		}
	}
}

// TestSettings reads an atoprc.
func TestSettings(t *testing.T) {
	archive := fixture(t)
	f := func(rc string, want ...string) {
		t.Helper()
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, ".atoprc"), []byte(rc), 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		vars := map[string]string{"PCP_ARCHIVE": archive, "PCP_HOSTZONE": "1", "HOME": home}
		env := &cli.Env{
			Name: "pcp-atop", Args: []string{"1", "2"}, Stdout: &out, Stderr: &out, Command: Command,
			Getenv:    func(name string) string { return vars[name] },
			LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		}
		Command.Run(context.Background(), env)
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("atoprc %q: %q is not in\n%s", rc, w, out.String())
			}
		}
	}
	f("# none\n\nflags af1m\nlinelen 120\n", "f-a-1", "VSTEXT")
	f("ownallcpuline CPUIDLE:5 BLANKBOX:0 CPUSYS:6\nownprocline PID:5 CMD:4 SORTITEM:3\nflags o\n", "CPU | idle", "PID CMD")
	f("cpucritperc 90\nalmostcrit 80\nmaxlinecpu 1\ncolorinfo blue\nusername 0\nprocname init\n", "UP")
	f("cpucritperc 101\n", "not in range 0-100")
	f("linelen x\n", "not a (positive) numeric")
	f("colorinfo pink\n", "invalid color used: pink")
	f("nothing 1\n", "tag name nothing not valid")
	f("flags\n", "syntax error line 1")
	f("ownmemline FOO:1\n", "item FOO invalid")
	f("ownmemline MEMTOT:x\n", "invalid priority")
	f("ownmemline MEMTOT\n", "no name:prio pair")
	f("procname [\n", "invalid regular expression")
	f("pacctdir /x\n", "not allowed in private atoprc")
}
