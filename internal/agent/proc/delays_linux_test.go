package proc

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestDelaysOfKernel compares the kernel's answers about a process that is stopped with its files schedstat and stat.
func TestDelaysOfKernel(t *testing.T) {
	cmd := exec.Command("sleep", "120")
	if err := oracle.StartWith(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	defer await.Exit(t, cmd)
	defer cmd.Process.Kill()
	pid := int32(cmd.Process.Pid)
	waitForProgram(pid)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stat := filepath.Join("/proc", strconv.Itoa(int(pid)), "stat")
	await.Until(t, "stopped process", func() bool {
		b, err := os.ReadFile(stat)
		return err == nil && bytes.Contains(b, []byte(") T "))
	})
	var log bytes.Buffer
	a := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	got := make(map[string]string)
	for _, name := range []string{"delayacct.cpu_time", "schedstat.run_delay", "delayacct.blkio_time", "psinfo.delayacct_blkio_time"} {
		all := get(t, a, root, "proc."+name)
		if got[name] = all[pid]; all[-1] == "" {
			continue
		}
		// The kernel refuses, without rights or in another network.
		if refused := all[-1] == "error: "+pcp.ErrPermission.Error() || all[-1] == "error: "+pcp.ErrAppVersion.Error(); !refused || len(all) > 1 || log.Len() == 0 {
			t.Fatalf("%s is %v, log %q", name, all, log.String())
		}
		t.Logf("the kernel refuses: %s", log.String())
		return
	}
	if got["delayacct.cpu_time"] == "" || got["delayacct.cpu_time"] != got["schedstat.run_delay"] {
		t.Errorf("a delay of %s ns, want %s", got["delayacct.cpu_time"], got["schedstat.run_delay"])
	}
	// The kernel counts ticks in stat, of 10 ms, and an agent of theirs milliseconds.
	ns, err := strconv.ParseUint(got["delayacct.blkio_time"], 10, 64)
	if want := fmt.Sprint(ns / 1e7 * 10); err != nil || got["psinfo.delayacct_blkio_time"] != want {
		t.Errorf("%s ms in stat, want %s (%v)", got["psinfo.delayacct_blkio_time"], want, err)
	}
	if got := get(t, a, client(54321, 54321), "proc.delayacct.cpu_time"); len(got) != 1 || !strings.HasPrefix(got[-1], "error: ") {
		t.Errorf("another user gets %d values, %q", len(got), got[-1])
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", log.String())
	}
}
