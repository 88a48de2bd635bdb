package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/pmapi"
)

// TestReplayed records as "pcp up" does, at shorter intervals, and has commands show the archive.
// Each finds all metrics that it wants.
func TestReplayed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the agents for processes and the kernel are for Linux")
	}
	pcp := program(t)
	dir, err := os.MkdirTemp("", "replay") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	up := exec.Command(pcp, "up", "--port", "0", "--no-web", "--no-record", "--dir", dir)
	screen, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		up.Process.Signal(os.Interrupt)
		up.Wait()
	}()
	if _, err := screen.Read(make([]byte, 1)); err != nil { // it serves
		t.Fatal(err)
	}
	c, err := pmapi.Dial(t.Context(), "unix:"+filepath.Join(dir, "pmcd.socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, _, err := fleet.GeneratedProcesses(t.Context(), c, fleet.Host{})
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "archive")
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: base, Size: pmlogger.Size{Time: 3 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	often := regexp.MustCompile(`(?m)^(log \w+ on) (default|\d+ \w+) \{`).ReplaceAllString(string(text), "$1 500 msec {")
	if _, err := r.Configure(t.Context(), strings.NewReader(often), "config"); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); !errors.Is(err, pmlogger.ErrRunTime) {
		t.Fatal(err)
	}

	f := func(line, want string) {
		t.Helper()
		cmd := exec.Command(pcp, append([]string{"replay", "-2sec", base}, strings.Fields(line)...)...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) || regexp.MustCompile(`[Ee]rror|[Mm]issing|Unknown|no value`).Match(out) {
			t.Errorf("%s: %v, want %q in\n%.2000s", line, err, want, out)
		}
	}
	self := strconv.Itoa(os.Getpid())
	f("pcp ps", self+" ")
	f("ps -u", self+" ")
	f("pidstat -s 2", self)
	f("pidstat -r -s 2", self)
	f("top", self+" ")
	f("atop -P PRC 1 2", " "+self+" ")
	f("free", "Mem:")
	f("uptime", "load average")
	f("mpstat -P ALL -s 2", "all")
	f("vmstat 1 1", "loadavg")
	f("iostat -s 2", "")
	f("dstat 1 1", "usr")
	f("dstat --vmstat 1 1", "")
	f("ipcs", "")
	f("numastat", "node0")
	f("meminfo", "MemTotal")
	f("atopsar -c 1 2", "cpu")
	f("stat -s 1", "loadavg")
	f("rep -s 1 :sar", "")
	f("rep -s 1 :vmstat", "")
	f("rep -s 1 :mpstat", "")
}
