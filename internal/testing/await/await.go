// Package await has tests wait for processes, files and conditions. Each wait has a limit, and a test
// that reaches it fails with the awaited condition and the output of the process.
//
//	cmd := exec.Command(exe, "-f")
//	cmd.Stderr = new(bytes.Buffer)
//	if err := cmd.Start(); err != nil {
//		t.Fatal(err)
//	}
//	await.Until(t, "the collector listens", func() bool { return listens(socket) })
//	cmd.Process.Signal(syscall.SIGTERM)
//	if err := await.Exit(t, cmd); err != nil {
//		t.Error(err)
//	}
package await

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Limit is how long a wait takes at most. It is generous: a busy machine may stop a process for many seconds.
const Limit = 2 * time.Minute

// pause is the time between two looks at a condition.
const pause = 5 * time.Millisecond

// Until waits for a condition. The test fails at once if that takes longer than Limit; what names the condition.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	until(t, Limit, what, ok)
}

func until(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", limit, what)
		}
	}
}

// File waits for a file and returns its contents, which are not empty.
func File(t testing.TB, path string) string {
	t.Helper()
	var text []byte
	Until(t, path+" is there and not empty", func() bool {
		text, _ = os.ReadFile(path)
		return len(text) > 0
	})
	return string(text)
}

// Exit waits for a process that was started, and returns the result of cmd.Wait. If the process runs longer
// than Limit, it is ended, and the test fails at once with its output as far as cmd keeps that: in a
// bytes.Buffer or strings.Builder. A Go program prints its goroutines before it ends.
func Exit(t testing.TB, cmd *exec.Cmd) error {
	t.Helper()
	return exit(t, Limit, cmd)
}

func exit(t testing.TB, limit time.Duration, cmd *exec.Cmd) error {
	t.Helper()
	if cmd.Process == nil {
		t.Fatalf("%s: not started", filepath.Base(cmd.Path))
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	quit(cmd.Process)
	select {
	case <-done:
	case <-time.After(quitGrace):
		cmd.Process.Kill()
		select {
		case <-done:
		case <-time.After(quitGrace): // another process keeps its output open
			t.Fatalf("%s (process %d) was killed after %v, but a process that it started keeps its output open", filepath.Base(cmd.Path), cmd.Process.Pid, limit)
		}
	}
	t.Fatalf("%s (process %d) did not end within %v%s", filepath.Base(cmd.Path), cmd.Process.Pid, limit, Printed(cmd))
	return nil
}

// quitGrace is how long a process may take to print its goroutines, and to end.
const quitGrace = 5 * time.Second

// Printed returns what a process that has ended has printed, for the end of a message.
func Printed(cmd *exec.Cmd) string {
	text := ""
	if s, ok := cmd.Stdout.(fmt.Stringer); ok {
		text = s.String()
	}
	if s, ok := cmd.Stderr.(fmt.Stringer); ok && cmd.Stderr != cmd.Stdout {
		text += s.String()
	}
	if text == "" {
		return "; what it printed is not kept"
	}
	return "; it printed\n" + text
}
