package proc

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/pmda"
)

// waitForProgram waits until a process that was started has its arguments and environment:
// Start returns while the kernel still builds the memory of the program.
func waitForProgram(pid int32) {
	for {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || len(b) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestOtherUsers checks, as root, that each user sees the values that the kernel shows to
// that user.
func TestOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not run: only root can become another user")
	}
	sleep := exec.Command("sleep", "60")
	sleep.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	sleep.Env = []string{"SECRET=1"}
	sleep.Dir = "/"
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	pid := int32(sleep.Process.Pid)
	waitForProgram(pid)

	a := New(Config{})
	owner, stranger := client(54321, 54321), client(54322, 54321)
	for _, c := range []struct {
		who  *pmda.Client
		want string
	}{{root, `"SECRET=1"`}, {owner, `"SECRET=1"`}, {stranger, `""`}, {root, `"SECRET=1"`}} {
		if got := get(t, a, c.who, "proc.psinfo.environ")[pid]; got != c.want {
			t.Errorf("environment for user %s: %s, want %s", c.who.Attrs[pmda.AttrUserID], got, c.want)
		}
		io := get(t, a, c.who, "proc.io.rchar")[pid] != ""
		if io != (c.who != stranger) {
			t.Errorf("input and output for user %s: %t", c.who.Attrs[pmda.AttrUserID], io)
		}
		if got := get(t, a, c.who, "proc.psinfo.cmd")[pid]; got != `"sleep"` {
			t.Errorf("command for user %s: %s", c.who.Attrs[pmda.AttrUserID], got)
		}
	}
	if got := get(t, a, stranger, "proc.psinfo.environ")[int32(os.Getpid())]; got != `""` {
		t.Errorf("a stranger reads the environment of root: %s", got)
	}
	func() {
		defer func() {
			if v := recover(); v != "a mistake" {
				t.Errorf("recovered %v", v)
			}
		}()
		asUser(54321, 54321, func() error { panic("a mistake") })
	}()
	if os.Geteuid() != 0 {
		t.Error("the test is not root any more")
	}
}
