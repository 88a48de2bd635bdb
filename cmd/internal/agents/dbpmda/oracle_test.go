package dbpmda_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// varies matches output that varies: addresses, processes, files, times of day, and the
// mappings of service names, whose bytes the C program swaps.
var varies = regexp.MustCompile(`0x[0-9a-f]{6,}|pid: \d+|\d+:\d+:\d+\.\d{3}\b|__pmGetPDU\(\d+\)|fd=\d+|from=\d+|(?m:^\[\d+\])|from PID \d+|(?m:^000:\s+14\s+700c\s+[0-9a-f]+)|Warning: Mapped http .*`)

// same runs the same session with both debuggers.
func same(t *testing.T, script string, args ...string) string {
	t.Helper()
	oracle.Require(t)
	theirs := oracle.Path("dbpmda")
	if theirs == "" {
		t.Skip("SKIPPED: real PCP has no dbpmda")
	}
	ours := link(t, "dbpmda")
	names := namesFile(t)
	run := func(program string) string {
		cmd := exec.Command(program, append([]string{"-n", names}, args...)...)
		cmd.Dir = t.TempDir()
		cmd.Env = oracle.Env()
		if rc, err := os.ReadFile("testdata/dbpmdarc"); err == nil {
			os.WriteFile(filepath.Join(cmd.Dir, ".dbpmdarc"), rc, 0o644)
		}
		cmd.Stdin = strings.NewReader(script)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			out.WriteString(err.Error())
		}
		return varies.ReplaceAllString(out.String(), "VARIES")
	}
	want := run(theirs)
	got := run(ours)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-theirs +ours:\n%s", diff)
	}
	return got
}

// TestOracleCommands compares commands that need no agent, mainly mistakes.
func TestOracleCommands(t *testing.T) {
	script, err := os.ReadFile("testdata/commands")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-f"}, {"-f", "-e", "-i"}, {"-i"}, {"-e"}, {"-f", "-D", "pdu,fetch", "-q", "4", "-v"}} {
		out := same(t, string(script), args...)
		if !strings.Contains(out, "at or near here") {
			t.Errorf("no mistakes in\n%s", out)
		}
	}
	for _, args := range [][]string{{"-?"}, {"-q", "0"}, {"-q", "x"}, {"argument"}, {"-D", "nonsense"}, {"-n", "/no/such"}, {"--bogus"}} {
		same(t, "", args...)
	}
}

// TestOracleAgents compares sessions with agents.
func TestOracleAgents(t *testing.T) {
	script, err := os.ReadFile("testdata/agent")
	if err != nil {
		t.Fatal(err)
	}
	f := func(agent string) {
		t.Helper()
		out := same(t, strings.ReplaceAll(string(script), "AGENT", agent), "-e", "-i", "-f")
		for _, part := range []string{`name: "bin-300"`, "29.0.6 [1]: 900 -> 7", "is incompatible with metric type (PM_TYPE_DOUBLE)", "Numerical result out of range", "event records", "(sample.two or sample.long.one)"} {
			if !strings.Contains(out, part) {
				t.Errorf("%s: no %q in\n%s", agent, part, out)
			}
		}
	}
	f(link(t, "pmdasample"))
	theirs := "/var/lib/pcp/pmdas/sample/pmdasample"
	if _, err := os.Stat(theirs); err != nil {
		t.Skip("SKIPPED: real PCP has no pmdasample")
	}
	f(theirs)
}

// TestOracleTrace compares the output of debug pdu.
func TestOracleTrace(t *testing.T) {
	out := same(t, `debug pdu
open pipe `+link(t, "pmdasample")+` -d 29 -l sample.log
fetch 29.0.10
desc 29.0.10
getdesc on
fetch 29.0.10
text 29.0.10
profile 29.1 add 2
instance 29.1 abcde
close
`, "-f")
	if !strings.Contains(out, "008: 64636261 7e7e7e65 \n") && !strings.Contains(out, "008: 61626364 657e7e7e \n") {
		t.Errorf("no trace in\n%s", out)
	}
}

// TestOracleSockets connects both to an agent by sockets.
func TestOracleSockets(t *testing.T) {
	agent := link(t, "pmdasample")
	dir := t.TempDir()
	serve := func(ln net.Listener) {
		done := make(chan struct{})
		t.Cleanup(func() { ln.Close(); <-done })
		go func() {
			defer close(done)
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				cmd := exec.Command(agent, "-d", "29", "-l", filepath.Join(dir, "log"))
				cmd.Env = oracle.Env()
				cmd.Stdin, cmd.Stdout = c, c
				cmd.Run() // its status depends on how soon the debugger has ended
				c.Close()
			}
		}()
	}
	path := filepath.Join(dir, "socket")
	local, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	serve(local)
	inet, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(inet)
	_, port, _ := net.SplitHostPort(inet.Addr().String())
	script := fmt.Sprintf(`open socket unix %s
status
desc 29.0.10
close
open socket %s
fetch 29.0.10
open socket inet %s
status
fetch 29.0.5
instance 29.2
`, path, path, port)
	out := same(t, script, "-f", "-e", "-i")
	if !strings.Contains(out, "inet port "+port) || strings.Count(out, "Connect to PMDA on socket") != 2 {
		t.Errorf("not connected:\n%s", out)
	}
}

// TestOracleDead compares programs that are not agents.
func TestOracleDead(t *testing.T) {
	same(t, `open pipe /no/such
open socket unix /no/such
open socket unix /etc/passwd
open socket inet 1
open socket ipv6 1
open dso /no/such init
open pipe /etc/passwd
status
open pipe /bin/false and some arguments "with 'blanks' in" 'them'
status
close
close
fetch 29.0.10
`, "-f", "-e", "-i")
}
