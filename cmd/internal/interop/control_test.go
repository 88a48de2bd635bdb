package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A logger is a pmlogger process, the real one or ours.
type logger struct {
	cmd  *exec.Cmd
	dir  string // where it runs; its archive is a, its log is log
	tmp  string // PCP_TMP_DIR
	run  string // PCP_RUN_DIR
	done chan error
}

// startLogger starts a pmlogger with a configuration and waits until it can be controlled.
func startLogger(t *testing.T, d *oracle.PMCD, program, config string, args ...string) *logger {
	t.Helper()
	// The path of a Unix socket is short.
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &logger{dir: dir, tmp: filepath.Join(dir, "tmp"), run: filepath.Join(dir, "run"), done: make(chan error, 1)}
	for _, sub := range []string{l.tmp, l.run} {
		if err := os.Mkdir(sub, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	l.cmd = exec.Command(program, append(slices.Clone(args), "-h", d.Unix, "-c", "config", "-l", "log", "a")...)
	l.cmd.Dir = dir
	l.cmd.Env = slices.Concat(oracle.Env(), d.Env, []string{
		"PCP_TMP_DIR=" + l.tmp, "PCP_RUN_DIR=" + l.run, "PMLOGGER_PORT=" + strconv.Itoa(oracle.FreePort(t)), "PMLOGGER_LOCAL=1",
	})
	if err := oracle.StartWith(l.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go func() { l.done <- l.cmd.Wait() }()
	t.Cleanup(func() {
		l.cmd.Process.Kill()
		<-l.done
	})
	l.waitFor(t, "its map file", func() bool {
		b, err := os.ReadFile(l.mapFile())
		return err == nil && bytes.Count(b, []byte("\n")) >= 3
	})
	return l
}

func (l *logger) mapFile() string {
	return filepath.Join(l.tmp, "pmlogger", strconv.Itoa(l.cmd.Process.Pid))
}

func (l *logger) port(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(l.mapFile())
	if err != nil {
		t.Fatal(err)
	}
	port, _, _ := strings.Cut(string(b), "\n")
	return port
}

func (l *logger) log() string {
	b, _ := os.ReadFile(filepath.Join(l.dir, "log"))
	return string(b)
}

// waitFor waits until a condition holds.
func (l *logger) waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: no sign of %s\n%s", l.cmd.Path, what, l.log())
		}
	}
}

// ended waits until the process has ended and returns its status.
func (l *logger) ended(t *testing.T) int {
	t.Helper()
	select {
	case err := <-l.done:
		l.done <- err
		return l.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		t.Fatalf("%s does not end\n%s", l.cmd.Path, l.log())
		return -1
	}
}

// pmlc runs the real pmlc on a script.
func (l *logger) pmlc(t *testing.T, d *oracle.PMCD, script string, args ...string) string {
	t.Helper()
	cmd := exec.Command(oracle.Path("pmlc"), args...)
	cmd.Env = slices.Concat(oracle.Env(), d.Env, []string{"PCP_TMP_DIR=" + l.tmp, "PCP_RUN_DIR=" + l.run})
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("pmlc %v: %v", args, err)
	}
	return string(out)
}

// Parts that differ between two runs of a pmlogger.
var differs = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(?m)^(log started|last log entry|current time) .*$`), "$1 TIME"},
	{regexp.MustCompile(`(?m)^log size .*$`), "log size N"},
	{regexp.MustCompile(`\[\d+\] on host`), "[PID] on host"},
	{regexp.MustCompile(`(Connected to|connect to) pmlogger on port \d+`), "$1 pmlogger on port N"},
	{regexp.MustCompile(`(?m)^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$`), "DATE"},
	{regexp.MustCompile(`at \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}`), "at DATE"},
	{regexp.MustCompile(`from \S*/pmlogger\.\d+\.socket`), "from SOCKET"},
	{regexp.MustCompile(`(?m)^(Log for|\[.*\] pmlogger|preprocessor|Log finished).*\n+`), ""},
	// Which metrics the archive has differs in time, see docs/differences.md.
	{regexp.MustCompile(`( off| on)( na| nl)`), "$1"},
}

func same(text string) string {
	for _, x := range differs {
		text = regexp.MustCompile(`[ \t]+`).ReplaceAllString(x.re.ReplaceAllString(text, x.to), " ")
	}
	return text
}

// controlled are requests of all kinds, in order.
const controlled = `status
query { sample.bin sample.long.one sample.colour sample.double.one }
log mandatory on every 5 seconds { sample.double.one sample.bin["bin-100","bin-300"] }
query { sample.double.one sample.bin }
log advisory on every 2 seconds sample.double.one
log advisory off sample.bin
log mandatory off sample.bin["bin-300"]
log mandatory off sample.colour
query { sample.colour sample.bin }
log mandatory maybe { sample.colour sample.bin }
log advisory on once sample.long
log advisory on default { sample.colour["red"] }
query { sample.colour sample.bin sample.long }
log mandatory maybe sample.double.one
log advisory off sample.long.one
log mandatory on every 1 minute { sample.many.int sample.dynamic.counter }
query { sample.many.int sample.dynamic sample.double.one sample.long.one }
new volume
flush
new volume
status
log mandatory on every 3 seconds sample.nosuch
quit
`

// TestControlled has the real pmlc make the same changes in both recorders: its output is the
// same, and so are the messages in both logs.
func TestControlled(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	config := "log mandatory on once { sample.long }\nlog advisory on 1 sec { sample.bin sample.colour[\"green\"] }\nlog mandatory on 2 sec { sample.long.ten }\n"
	for _, way := range []string{"port", "socket", "version 2"} {
		said, logged := map[string]string{}, map[string]string{}
		for name, program := range map[string]string{"real": oracle.Path("pmlogger"), "ours": link(t, "pmlogger")} {
			var args []string
			if way == "version 2" {
				args = []string{"-I", "2"}
			}
			l := startLogger(t, d, program, config, args...)
			l.waitFor(t, "its first record", func() bool {
				fi, err := os.Stat(filepath.Join(l.dir, "a.0"))
				return err == nil && fi.Size() > 800
			})
			switch way {
			case "socket":
				said[name] = l.pmlc(t, d, strings.ReplaceAll(controlled, "status\nquery { sample.bin", fmt.Sprintf("connect %d\nstatus\nquery { sample.bin", l.cmd.Process.Pid)))
				said[name] = strings.ReplaceAll(said[name], strconv.Itoa(l.cmd.Process.Pid), "PID")
			default:
				said[name] = l.pmlc(t, d, controlled, "-h", "127.0.0.1", "-p", l.port(t))
			}
			l.cmd.Process.Signal(syscall.SIGTERM)
			if status := l.ended(t); status != 0 {
				t.Errorf("%s, %s: status %d", way, name, status)
			}
			logged[name] = l.log()
		}
		if diff := cmp.Diff(same(said["real"]), same(said["ours"])); diff != "" {
			t.Errorf("%s: pmlc (-real +ours):\n%s", way, diff)
		}
		if !strings.Contains(said["real"], "mand on") {
			t.Errorf("%s: pmlc says\n%s", way, said["real"])
		}
		if diff := cmp.Diff(same(logged["real"]), same(logged["ours"])); diff != "" {
			t.Errorf("%s: log (-real +ours):\n%s", way, diff)
		}
	}
}

// link returns the path of a command of ours under its classic name.
func link(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(twin.Tool(t, "pcp"), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLoggerSignals sends both recorders the signals that they handle. Their messages and
// files are the same.
func TestLoggerSignals(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	type outcome struct {
		status int
		log    string
		files  string
	}
	run := func(program string, sig syscall.Signal, count int) outcome {
		l := startLogger(t, d, program, "log on 100 msec { sample.bin }\n")
		for i := range count {
			if err := l.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			l.waitFor(t, "a record in a new volume", func() bool {
				fi, err := os.Stat(filepath.Join(l.dir, fmt.Sprintf("a.%d", i+1)))
				return err == nil && fi.Size() > 500
			})
		}
		if count > 0 {
			sig = syscall.SIGTERM
		}
		l.waitFor(t, "a record", func() bool {
			fi, err := os.Stat(filepath.Join(l.dir, fmt.Sprintf("a.%d", count)))
			return err == nil && fi.Size() > 500
		})
		l.cmd.Process.Signal(sig)
		var o outcome
		o.status = l.ended(t)
		o.log = regexp.MustCompile(`(?m)^\[.*\] pmlogger\(\d+\)`).ReplaceAllString(l.log(), "pmlogger")
		o.log = regexp.MustCompile(`(?m)^(Log for|Log finished|preprocessor).*\n+`).ReplaceAllString(o.log, "")
		o.log = differs[5].re.ReplaceAllString(o.log, differs[5].to)
		// On a busy machine a signal may have the real one connect again.
		o.log = regexp.MustCompile(`(?m)^pmlogger: (re-established connection to PMCD|Validating metrics after PMCD state changed).*\n`).ReplaceAllString(o.log, "")
		names, _ := filepath.Glob(filepath.Join(l.dir, "*"))
		more, _ := filepath.Glob(filepath.Join(l.dir, "*/*"))
		deep, _ := filepath.Glob(filepath.Join(l.dir, "*/*/*"))
		o.files = strings.ReplaceAll(strings.Join(slices.Concat(names, more, deep), " "), l.dir, "")
		if out := oracle.Run(t, "pmlogcheck", filepath.Join(l.dir, "a")); out.Exit != 0 || out.Stdout+out.Stderr != "" {
			t.Errorf("%s, signal %d: pmlogcheck: %s%s", program, sig, out.Stdout, out.Stderr)
		}
		return o
	}
	for _, x := range []struct {
		sig   syscall.Signal
		count int
	}{{syscall.SIGTERM, 0}, {syscall.SIGINT, 0}, {syscall.SIGVTALRM, 0}, {syscall.SIGHUP, 3}} {
		want := run(oracle.Path("pmlogger"), x.sig, x.count)
		got := run(link(t, "pmlogger"), x.sig, x.count)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("signal %d (-real +ours):\n%s", x.sig, diff)
		}
	}
}

// TestLoggerAgain has both recorders begin again at SIGUSR2: the process is the same, the
// archive is another one, and the log continues.
func TestLoggerAgain(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	logs := map[string]string{}
	for name, program := range map[string]string{"real": oracle.Path("pmlogger"), "ours": link(t, "pmlogger")} {
		l := startLogger(t, d, program, "log on 100 msec { sample.bin }\n", "-U", "root", "-m", "a note", "-s", "1000000")
		// The archive's name has no date: it exists the second time. One with a date gets a number.
		l.cmd.Process.Signal(syscall.SIGUSR2)
		if status := l.ended(t); status != 1 {
			t.Errorf("%s: status %d", name, status)
		}
		logs[name] = l.log()
	}
	for _, line := range []string{"Caught signal 12, reexec", "=== pmlogger: reexec cmdlne: ", "-mreexec a", ", a, ...): File exists"} {
		for name, log := range logs {
			if !strings.Contains(log, line) {
				t.Errorf("%s: no %q in the log:\n%s", name, line, log)
			}
		}
	}
	if strings.Contains(logs["ours"], "a note") {
		t.Errorf("the note goes on:\n%s", logs["ours"])
	}
}
