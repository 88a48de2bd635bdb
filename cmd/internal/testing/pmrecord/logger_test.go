package pmrecord

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/folio"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A site is the collector that loggers record, reached as localhost and 127.0.0.1.
type site struct{ env []string }

// ownSite starts a collector of ours.
func ownSite(t *testing.T) site {
	t.Helper()
	a, err := pmda.NewTable(pmda.Config{Name: "pmcd", Domain: 2, Metrics: []pmda.Metric{
		{Name: "pmcd.control.timeout", Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Value: func(int32, int) (pcp.Value, error) {
			return pcp.Uint32Value(5), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "pmcd", Domain: 2, Agent: a}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return site{[]string{"PMCD_PORT=" + strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)}}
}

// theirSite starts a real collector.
func theirSite(t *testing.T) site {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}})
	return site{d.Env}
}

// loggers returns a directory in which pmlogger is ours or theirs.
func loggers(t *testing.T, ours bool) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if !ours {
		if path = oracle.Path("pmlogger"); path == "" {
			oracle.Missing(t, "no pmlogger")
		}
		if err := os.Symlink(oracle.Path("pmcpp"), filepath.Join(dir, "pmcpp")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(path, filepath.Join(dir, "pmlogger")); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"PCP_BINADM_DIR=" + dir}
}

// A script is a driver to which one talks.
type script struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	all strings.Builder
}

// say sends a line and returns the answer.
func (s *script) say(format string, args ...any) string {
	s.t.Helper()
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), " | ", "\t")
	if _, err := fmt.Fprintln(s.in, line); err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.out.ReadString('\n')
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	fmt.Fprintf(&s.all, "%s: %s", strings.ReplaceAll(line, "\t", " "), answer)
	return answer
}

// pid returns the logger of a host.
func (s *script) pid(host int) int {
	s.t.Helper()
	pid, err := strconv.Atoi(strings.Fields(s.say("show | %d", host))[1])
	if err != nil || pid <= 0 {
		s.t.Fatalf("host %d has the logger %d, %v", host, pid, err)
	}
	return pid
}

// until waits until a file has the wanted text.
func until(t *testing.T, path string, good func(text string) bool) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(path)
		if err == nil && good(string(b)) {
			return string(b)
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(strings.TrimSuffix(path, ".0") + ".log")
			t.Fatalf("%s: %v\n%s\n%s", path, err, b, log)
		}
	}
}

func has(what string) func(string) bool {
	return func(text string) bool { return strings.Contains(text, what) }
}

// gone waits until a process has ended that is not a child of ours.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(b), ") Z ") {
			return // its parent has not asked for it
		}
		if time.Now().After(end) {
			t.Fatalf("process %d does not end", pid)
		}
	}
}

// scenario has loggers record four hosts, and treats each in another way. It returns the
// events, without parts that differ from run to run.
func scenario(t *testing.T, s site, ourDriver, ourLogger bool) string {
	t.Helper()
	dir := t.TempDir()
	bin, env := loggers(t, ourLogger)
	// The program for dialogs prints the contents of the file answer.
	confirm := filepath.Join(bin, "confirm")
	if err := os.WriteFile(confirm, []byte("#!/bin/sh\necho \"$*\" | sed 's/-file [^ ]*/-file F/' >>"+bin+"/asked\n[ -f "+bin+"/answer ] && cat "+bin+"/answer\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env = append(append(env, s.env...), "PCP_XCONFIRM_PROG="+confirm, "PCP_TMPFILE_DIR="+bin)
	if ourLogger {
		env = append(env, "PCP_TWIN=pmlogger")
	}
	cmd := driver(t, ourDriver, env...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := &script{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	sc.say("setup | foo | viewer | 1")
	for i, host := range []string{"localhost", "127.0.0.1", "localhost", "127.0.0.1", "localhost"} {
		sc.say("add | %s | %d", host, map[bool]int{true: 1}[i == 1])
		sc.say("write | %d | log mandatory on 50 msec pmcd.control.timeout", i)
	}
	sc.say("on")
	pids := make([]int, 5)
	bases := make([]string, 5)
	for i := range pids {
		pids[i] = sc.pid(i)
		w := strings.Fields(sc.say("show | %d", i))
		bases[i] = strings.TrimSuffix(w[len(w)-1], ".log")
		until(t, bases[i]+".0", func(text string) bool { return len(text) > 800 })
	}
	defer func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	sc.say("off | 0")
	sc.say("wait | 0")
	sc.say("detach | 1")
	until(t, bases[1]+".log", has("-s TERM"))
	sc.say("status | 2")
	until(t, bases[2]+".log", has("-s TERM"))
	sc.say("off | 2")
	sc.say("wait | 2")
	if err := syscall.Kill(pids[3], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	sc.say("wait | 3")
	sc.say("status | 3")
	sc.say("off | 3")
	sc.say("off | 3")
	for i := range pids {
		sc.say("show | %d", i)
	}
	// Its launcher ends: the user is asked, and wants it to continue.
	if err := os.WriteFile(bin+"/answer", []byte("No\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := await.Exit(t, cmd); err != nil {
		t.Error(err)
	}
	until(t, bin+"/asked", has("-B Yes -b No"))
	for _, i := range []int{1, 4} {
		// Detached, they continue.
		at, err := os.Stat(bases[i] + ".0")
		if err != nil {
			t.Fatal(err)
		}
		until(t, bases[i]+".0", func(text string) bool { return int64(len(text)) > at.Size() })
		if err := syscall.Kill(pids[i], syscall.SIGKILL); err != nil { // a signal that all take alike
			t.Fatal(err)
		}
		gone(t, pids[i])
	}

	f, err := folio.Open(filepath.Join(dir, "foo"))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Archives) != 5 || f.Archives[0].Host != "127.0.0.1" {
		t.Errorf("the folio has %v", f.Archives)
	}
	for _, a := range f.Archives {
		r, err := archive.Open(a.Path(filepath.Join(dir, "foo")))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, ok := r.Meta().LookupName("pmcd.control.timeout"); !ok {
			t.Errorf("%s lacks the metric", a.Base)
		}
		r.Close()
	}
	var all strings.Builder
	all.WriteString(sc.all.String())
	for i, base := range bases {
		fmt.Fprintf(&all, "== %d\n%s", i, until(t, base+".log", has("")))
	}
	fmt.Fprintf(&all, "== asked\n%s", until(t, bin+"/asked", has("")))
	text := strings.ReplaceAll(all.String(), filepath.Base(bases[0])[:6], "XXXXXX")
	text = strings.ReplaceAll(text, dir, "DIR")
	for i, pid := range pids {
		text = regexp.MustCompile(`\b`+strconv.Itoa(pid)+`\b`).ReplaceAllString(text, fmt.Sprintf("PID%d", i))
	}
	for _, r := range [][2]string{
		{`\d+(\.\d+)? [KM]?bytes`, "SOME bytes"},
		{`\d+ seconds`, "SOME seconds"},
		{`\[\w+ \w+ [ \d]\d [\d:]+\]`, "[DATE]"},
		{`(?m)^Log for pmlogger on \S+ started .*`, "Log started DATE"},
		{`(?m)^Log finished .*`, "Log finished DATE"},
		{`(?m)^preprocessor cmd: .*\n`, ""},
		{`(?m)(via "[^"]*"|host ")[^"]*"`, "${1}HOST\""},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	return text
}

// TestLoggers has our package drive our pmlogger.
func TestLoggers(t *testing.T) {
	got := scenario(t, ownSite(t), true, true)
	for _, want := range []string{
		"status 3: -12366\n", "off 3: -12366\n", "off 3: -22\n",
		"show 0: pid PID0 status 0 ", "show 1: pid PID1 status -1 ", "show 3: pid PID3 status 9 ",
		"Info: pmlogger: Recording session terminated, exiting",
		"This archive may be replayed with the following command:\n  $ pmafm foo replay\n",
		"has asked pmlogger to continue independently and the PCP archive will grow at the rate of SOME bytes per hour",
		"-header PCP Archive Recording Session - viewer -file F -icon question -B Yes -b No",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %q in it", got, want)
		}
	}
}

// TestOracleLoggers has both packages drive both kinds of loggers.
func TestOracleLoggers(t *testing.T) {
	oracle.Require(t)
	s := theirSite(t)
	want := scenario(t, s, false, false)
	for _, c := range []struct{ driver, logger bool }{{true, false}, {false, true}, {true, true}} {
		if diff := cmp.Diff(want, scenario(t, s, c.driver, c.logger)); diff != "" {
			t.Errorf("our package %t, our logger %t (-theirs +ours):\n%s", c.driver, c.logger, diff)
		}
	}
}

// TestOracleRequests sends right and wrong lines to both kinds of loggers.
func TestOracleRequests(t *testing.T) {
	oracle.Require(t)
	s := theirSite(t)
	for i, in := range []string{
		"", "V0\nFf\nPp\nR\nQ\n", "V0\n?\n?\nQ\n", "Q", "V0\nincomplete", "V1\n", "\n", "R \n", "F\nP\n", "QQ\n", "D\nQ\n",
		"F" + strings.Repeat("x", 4094) + "\n?\nQ\n", "F" + strings.Repeat("x", 4095) + "\n", strings.Repeat("y", 10000),
	} {
		var logs []string
		for _, ours := range []bool{false, true} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "config"), []byte("log on once pmcd.control.timeout\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			// Whatever it is asked, the user closes the dialog without a word.
			path, env := oracle.Path("pmlogger"), append(os.Environ(), append(s.env, "PCP_XCONFIRM_PROG=/bin/true")...)
			if ours {
				var err error
				if path, err = os.Executable(); err != nil {
					t.Fatal(err)
				}
				env = append(env, "PCP_TWIN=pmlogger")
			}
			pr, pw, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(path, "-D", "appl2", "-x", "3", "-h", "localhost", "-c", "config", "-l", "log", "archive")
			cmd.Args[0], cmd.Dir, cmd.Env, cmd.ExtraFiles = "pmlogger", dir, env, []*os.File{pr}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pr.Close()
			until(t, filepath.Join(dir, "archive.0"), func(text string) bool { return len(text) > 300 })
			if _, err := pw.WriteString(in); err != nil && !strings.HasPrefix(in, "y") {
				t.Error(err)
			}
			if strings.Contains(in, "D") {
				until(t, filepath.Join(dir, "log"), has("pmsignal -s TERM"))
				// It does not listen any more: the Q is not for it.
				_ = cmd.Process.Signal(syscall.SIGKILL)
			}
			pw.Close()
			err = await.Exit(t, cmd)
			text := until(t, filepath.Join(dir, "log"), has(""))
			text = strings.ReplaceAll(text, strconv.Itoa(cmd.Process.Pid), "PID")
			// The other output that the option causes in the real one is not
			// part of the session.
			_, text, _ = strings.Cut(text, "Archive basename")
			text = regexp.MustCompile(`(?m)^.*Info: (main: log_alarm|callback: fetch group .*)\n`).ReplaceAllString(text, "")
			for _, r := range [][2]string{{`\d+(\.\d+)? [KM]?bytes`, "SOME bytes"}, {`\d+ seconds`, "SOME seconds"}, {`\[\w+ \w+ [ \d]\d [\d:]+\]`, "[DATE]"}, {`(?m)^Log finished .*`, ""}} {
				text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
			}
			logs = append(logs, fmt.Sprintf("%v\n%s", err, text))
		}
		if diff := cmp.Diff(logs[0], logs[1]); diff != "" {
			t.Errorf("%d: %.80q (-theirs +ours):\n%s", i, in, diff)
		}
	}
}
