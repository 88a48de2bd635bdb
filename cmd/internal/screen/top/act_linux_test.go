package top

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
	"github.com/go-pcp/pcp/internal/testing/await"
)

func TestSame(t *testing.T) {
	const stat = "4242 (a (b) c) S 1 4242 4242 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 0 0"
	f := func(name string, start float64, want bool) {
		t.Helper()
		if got := same(stat, ui.Action{PID: 4242, Name: name, Start: start}); got != want {
			t.Errorf("same(%q, %v) = %v", name, start, got)
		}
	}
	f("a (b) c", 1234.5, true)
	f("a (b) c", math.NaN(), true)
	f("a (b) c", 1300, false)
	f("a", 1234.56, false)
	for _, bad := range []string{"", "1", "1 )(", "1 (x) S", "1 (x"} {
		if same(bad, ui.Action{Name: "x", Start: math.NaN()}) {
			t.Errorf("same(%q)", bad)
		}
	}
}

// TestDo changes the nice value of a child process, and ends it.
func TestDo(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skipf("no sleep: %v", err)
	}
	defer cmd.Process.Kill()
	pid := int32(cmd.Process.Pid)
	// It has its name as soon as it runs the other program.
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(b)) == "sleep" {
			break
		}
	}
	act := ui.Action{PID: pid, Name: "sleep", Start: math.NaN(), Nice: 7}
	if err := do(act); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Getpriority(unix.PRIO_PROCESS, int(pid)); err != nil || 20-n != 7 {
		t.Errorf("the nice value is %d, %v", 20-n, err)
	}
	other := act
	other.Name, other.Signal = "another", "KILL"
	if err := do(other); !errors.Is(err, errOther) {
		t.Errorf("a signal to another process: %v", err)
	}
	other.Name, other.Signal = "sleep", "NOTHING"
	if err := do(other); err == nil {
		t.Error("there is a signal of any name")
	}
	act.Signal = "TERM"
	if err := do(act); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := await.Exit(t, cmd); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v", err)
	}
	if err := do(act); err == nil {
		t.Error("a process that has ended got a signal")
	}
}
