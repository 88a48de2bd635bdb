package pmcd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/agents/agentcmd"
	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// init makes this program an agent if it is called as one.
func init() {
	if c := cli.Find(agentcmd.Commands(), filepath.Base(os.Args[0])); c != nil {
		os.Exit(c.Run(context.Background(), &cli.Env{
			Name: c.Link, Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Command: c,
		}))
	}
}

// statusOf returns the real user and the parent of a process.
func statusOf(t *testing.T, pid int) (uid, parent int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	find := func(re string) int {
		m := regexp.MustCompile(re).FindSubmatch(b)
		if m == nil {
			t.Fatalf("no %s in %s", re, b)
		}
		n, _ := strconv.Atoi(string(m[1]))
		return n
	}
	return find(`(?m)^Uid:\s+(\d+)`), find(`(?m)^PPid:\s+(\d+)`)
}

// TestRootAgent has a collector become the user nobody, while agents stay root's.
func TestRootAgent(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can become somebody else")
	}
	dir := tempDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pmdaroot", "pmdalinux"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("ours", func(t *testing.T) { rootAgent(t, dir, filepath.Join(dir, "pmdaroot"), filepath.Join(dir, "pmdalinux")) })
	t.Run("real", func(t *testing.T) {
		oracle.Require(t)
		rootAgent(t, dir, "/var/lib/pcp/pmdas/root/pmdaroot", "/var/lib/pcp/pmdas/linux/pmdalinux")
	})
}

func rootAgent(t *testing.T, top, root, linux string) {
	dir := filepath.Join(top, t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
	for _, sub := range []string{dir, dir + "/var", dir + "/run"} {
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	socket, log := filepath.Join(dir, "s"), filepath.Join(dir, "pmcd.log")
	lines := "root 1 pipe binary " + root + "\npmcd 2 dso pmcd_init /x/pmda_pmcd.so\nlinux 60 pipe binary " + linux + "\n"
	args := []string{
		"-A", "-i", "127.0.0.1", "-p", freePort(t), "-s", socket, "-l", log, "-U", "nobody", "-q", "60", "-t", "60",
		"-c", writeFile(t, filepath.Join(dir, "pmcd.conf"), lines),
	}
	cmd := exec.Command("/proc/self/exe", args...) // pmdaroot looks at the arguments
	cmd.Env = append(os.Environ(), detach.Variable+"=1", testArgs+"="+strings.Join(args, "\n"), "PCP_RUN_DIR="+dir+"/run",
		"PCP_VAR_DIR="+dir+"/var", "PMNS_DEFAULT="+dir+"/none", "PMCD_RESTART_AGENTS=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			more, _ := os.ReadFile(filepath.Join(dir, "root.log"))
			t.Logf("%s\n%s\n%s", &out, text, more)
		}
	})
	c := ready(t, "unix:"+socket)
	defer c.Close()
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what + ": did not happen")
			}
		}
	}
	isNobody := func() bool { uid, _ := statusOf(t, cmd.Process.Pid); return uid != 0 }
	until("pmcd becomes nobody", isNobody)

	// children of the helper, of whom there is one: the linux agent
	helper := func() int { return childOf(cmd.Process.Pid) }
	pid := childOf(helper())
	check := func() {
		t.Helper()
		if uid, _ := statusOf(t, helper()); uid != 0 {
			t.Errorf("the helper is uid %d", uid)
		}
		if uid, parent := statusOf(t, pid); uid != 0 || parent != helper() {
			t.Errorf("the agent is uid %d, a child of %d; the helper is %d", uid, parent, helper())
		}
	}
	check()
	values := func() bool { return hasValue(c, "pmcd.agent.status") }
	if !values() {
		t.Error("no values")
	}
	// An agent that dies is started as root again by a collector that is not.
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until("end noticed", func() bool {
		text, _ := os.ReadFile(log)
		return bytes.Contains(text, []byte(`Cleanup "linux" agent`))
	})
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	old := pid
	until("restart", func() bool { pid = childOf(helper()); return pid != 0 && pid != old })
	check()

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("pmcd ends with %v", err)
	}
	until("the agent ends", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
}

// childOf is a child of a process, 0 if there is none.
func childOf(pid int) int {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range dirs {
		b, _ := os.ReadFile(path)
		if f := strings.Fields(string(b)); len(f) > 0 {
			n, _ := strconv.Atoi(f[0])
			return n
		}
	}
	return 0
}

func hasValue(c *pmapi.Context, name string) bool {
	ids, err := c.LookupName(context.Background(), name)
	if err != nil {
		return false
	}
	res, err := c.Fetch(context.Background(), ids)
	return err == nil && len(res.Sets[0].Values) > 0
}
