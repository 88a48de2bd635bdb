package nsenter

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// child starts a process in its own name spaces and returns its number.
func child(t *testing.T) int {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can make name spaces")
	}
	// The shell prints a line when all is in place, and ends with its input.
	cmd := exec.Command("/bin/sh", "-c", "hostname box-of-test && mount -t tmpfs none /mnt && echo here >/mnt/here && echo ready && read x")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("SKIPPED: no name spaces here: %v", err)
	}
	t.Cleanup(func() { in.Close(); await.Exit(t, cmd) })
	b := make([]byte, 6)
	if n, err := out.Read(b); err != nil || string(b[:n]) != "ready\n" {
		t.Skipf("SKIPPED: cannot set up name spaces here: %q, %v", b[:n], err)
	}
	return cmd.Process.Pid
}

func nodename() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err.Error()
	}
	b, _, _ := bytes.Cut(u.Nodename[:], []byte{0})
	return string(b)
}

func interfaces() (string, error) {
	b, err := os.ReadFile("/proc/thread-self/net/dev")
	return string(b), err
}

func TestRun(t *testing.T) {
	pid := child(t)
	host := nodename()
	hostNet, _ := interfaces()
	var some sync.WaitGroup
	for range 50 { // so that some of it falls on each of the runtime's threads
		some.Go(func() {
			if err := Run(pid, UTS|Net|Mount, func() error {
				if n := nodename(); n != "box-of-test" {
					t.Errorf("inside the host is %s", n)
				}
				if _, err := os.Stat("/mnt/here"); err != nil {
					t.Error(err)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if err := Run(pid, Net, func() error {
				b, err := interfaces()
				if n := strings.Count(b, ":"); n != 1 {
					t.Errorf("inside there are %d interfaces: %s", n, b)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	some.Wait()
	for range 50 {
		some.Go(func() {
			if n := nodename(); n != host {
				t.Errorf("a thread stayed inside: host is %s", n)
			}
			if _, err := os.Stat("/mnt/here"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a thread stayed inside: %v", err)
			}
		})
	}
	some.Wait()
	// /proc/self shows the main thread's name spaces.
	b, err := os.ReadFile("/proc/self/net/dev")
	if err != nil || strings.Count(string(b), ":") != strings.Count(hostNet, ":") {
		t.Errorf("the main thread sees %s, %v", b, err)
	}
	boom := errors.New("boom")
	if err := Run(pid, UTS, func() error { return boom }); err != boom {
		t.Errorf("fn's error became %v", err)
	}
}

func TestNoProcess(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30} {
		if err := Run(pid, UTS, func() error { t.Error("it ran"); return nil }); err == nil {
			t.Errorf("process %d: no error", pid)
		}
	}
}
