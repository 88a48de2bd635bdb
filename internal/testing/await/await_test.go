package await

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain makes this program a child that prints a line and does not end.
func TestMain(m *testing.M) {
	if os.Getenv("AWAIT_TEST_CHILD") != "" {
		fmt.Println("the child is here")
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// A recorder is a test that records how it fails.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure returns how a test fails that calls fn.
func failure(t *testing.T, fn func(testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(r)
	}()
	<-done
	return r.said
}

// TestChildThatDoesNotEnd has a child that is ended, and the failure has its output and
// goroutines.
func TestChildThatDoesNotEnd(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AWAIT_TEST_CHILD=1")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := failure(t, func(tb testing.TB) {
		time.Sleep(500 * time.Millisecond) // for its line; a failure without it is still one
		exit(tb, time.Second, cmd)
	})
	for _, want := range []string{filepath.Base(os.Args[0]), "did not end within 1s", "TestMain"} {
		if !strings.Contains(got, want) && (want != "TestMain" || runtime.GOOS != "windows") {
			t.Errorf("the failure lacks %q: %s", want, got)
		}
	}
	if cmd.ProcessState == nil {
		t.Error("the child still runs")
	}
}

func TestUntil(t *testing.T) {
	n := 0
	Until(t, "the third look", func() bool { n++; return n == 3 })
	if got := failure(t, func(tb testing.TB) { until(tb, 10*time.Millisecond, "the sky falls", func() bool { return false }) }); !strings.Contains(got, "the sky falls") {
		t.Errorf("it fails with %q", got)
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := File(t, path); got != "x" {
		t.Errorf("the file has %q", got)
	}
}

func TestExit(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := Exit(t, cmd); err != nil {
		t.Error(err)
	}
	if got := Printed(cmd); strings.Count(got, "PASS") != 1 {
		t.Errorf("it printed %q", got)
	}
	if got := failure(t, func(tb testing.TB) { Exit(tb, exec.Command("x")) }); !strings.Contains(got, "not started") {
		t.Errorf("a program that was not started: %q", got)
	}
}
