package main

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// program returns the path of our program: the test binary under that name, so
// that what runs counts as covered.
func program(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("pcp") // testscript.Main puts it there
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// covered returns the setting that a program needs to record its coverage, for
// callers that set its environment; nil if coverage is off.
func covered() []string {
	if dir, ok := os.LookupEnv("GOCOVERDIR"); ok {
		return []string{"GOCOVERDIR=" + dir}
	}
	return nil
}

// TestSignals checks that a signal ends a tool as it ends any program, and a
// service as it wants to end: with a status of its own.
func TestSignals(t *testing.T) {
	pcp := program(t)
	up := exec.Command(pcp, "up", "--port", "0", "--dir", t.TempDir(), "--socket", "s")
	up.Dir = t.TempDir()
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, up)
	waitFor(t, out, "Ctrl-C")

	val := exec.Command(pcp, "val", "-t", "10ms", "pmcd.numagents")
	val.Env = append(os.Environ(), "PMCD_SOCKET="+filepath.Join(up.Dir, "s"))
	if out, err = val.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	start(t, val)
	waitFor(t, out, "samples:")
	sig := syscall.SIGINT
	if signal.Ignored(sig) {
		sig = syscall.SIGTERM // a shell's background job; programs inherit that
	}
	val.Process.Signal(sig)
	val.Wait()
	if ws := val.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig {
		t.Errorf("pcp val ended with %v, want by %v", val.ProcessState, sig)
	}

	up.Process.Signal(syscall.SIGTERM)
	if err := up.Wait(); err != nil {
		t.Errorf("pcp up ended with %v, want status 0", err)
	}
}

// TestBrokenPipe checks that a tool ends quietly when its output has no reader any more.
func TestBrokenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd := exec.Command(program(t), "help")
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = w, &stderr
	start(t, cmd)
	w.Close()
	await.Exit(t, cmd)
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGPIPE {
		t.Errorf("ended with %v, want by SIGPIPE", cmd.ProcessState)
	}
	if stderr.Len() > 0 {
		t.Errorf("said %q", stderr.String())
	}
}

// TestFullDisk checks that a tool fails, with one message, if its output cannot be
// written: those that notice at the end, and those that end early.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	defer full.Close()
	small := filepath.Join(t.TempDir(), "small")
	twin.Fixture(t, "small", small)
	for _, line := range [][]string{
		{"pcp help", "help", "info"},
		{"pcp dumplog", "dumplog", "-a", small},
		{"pcp dumplog", "dumplog", "-r", small + ".0"},
		{"pcp logsummary", "logsummary", small},
		{"pcp logsize", "logsize", small},
		{"pcp info", "info", "-a", small},
		{"pcp top", "top", "--once", "-a", small},
		{"pcp-summary", "-a", small},
	} {
		cmd := exec.Command(program(t), line[1:]...)
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = full, &stderr
		err = cmd.Run()
		if want := line[0] + ": writing standard output: No space left on device\n"; err == nil || stderr.String() != want {
			t.Errorf("%q ended with %v and said %q, want a failure and %q", line, err, stderr.String(), want)
		}
	}
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		await.Exit(t, cmd)
	})
}

// waitFor reads lines until one has text in it.
func waitFor(t *testing.T, r interface{ Read([]byte) (int, error) }, text string) {
	t.Helper()
	timer := time.AfterFunc(time.Minute, func() { panic("nobody said " + text) })
	defer timer.Stop()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			go func() { // keep the pipe empty
				for lines.Scan() {
				}
			}()
			return
		}
	}
	t.Fatalf("ended before it said %q", text)
}
