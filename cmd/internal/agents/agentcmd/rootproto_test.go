package agentcmd_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/rootproto"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestOracleRootReplies sends the same requests to the real pmdaroot and ours.
func TestOracleRootReplies(t *testing.T) {
	oracle.Require(t)
	b := newBox(t, "boxname")
	e := newEngineTree(t)
	e.fill(t, b)
	helper := func(root string) *rootproto.Client {
		d := rootSide(t, e, root)
		c := rootproto.NewClient(filepath.Join(d.Dir, "var", "pmcd", "root.socket"))
		t.Cleanup(func() { c.Close() })
		return c
	}
	real, ours := helper(realRoot), helper(links(t)+"/pmdaroot")
	for _, ask := range []struct {
		what string
		fn   func(c *rootproto.Client) (any, error)
	}{
		{"process of web", func(c *rootproto.Client) (any, error) { return c.ProcessID("web") }},
		{"process of pod", func(c *rootproto.Client) (any, error) { return c.ProcessID("pod") }},
		{"process of crate", func(c *rootproto.Client) (any, error) { return c.ProcessID("crate") }},
		{"process by the start of an id", func(c *rootproto.Client) (any, error) { return c.ProcessID(hexID("e5")[:9]) }},
		{"process with a slash", func(c *rootproto.Client) (any, error) { return c.ProcessID("/web") }},
		{"process of none", func(c *rootproto.Client) (any, error) { return c.ProcessID("no-such") }},
		{"host name in web", func(c *rootproto.Client) (any, error) { return c.HostName("web") }},
		{"host name in none", func(c *rootproto.Client) (any, error) { return c.HostName("no-such") }},
		{"host name in one that does not run", func(c *rootproto.Client) (any, error) { return c.HostName("asleep") }},
		{"host name of a process", func(c *rootproto.Client) (any, error) { return c.HostNameOf(b.pid) }},
		{"host name of none", func(c *rootproto.Client) (any, error) { return c.HostNameOf(1 << 30) }},
		{"cgroup of web", func(c *rootproto.Client) (any, error) { return c.CGroupName("web") }},
		{"cgroup of pod", func(c *rootproto.Client) (any, error) { return c.CGroupName("pod") }},
		{"cgroup of none", func(c *rootproto.Client) (any, error) { return c.CGroupName("no-such") }},
		{"any that ended", func(c *rootproto.Client) (any, error) { pid, status, err := c.Wait(); return [2]int{pid, status}, err }},
	} {
		want, wantErr := ask.fn(real)
		got, gotErr := ask.fn(ours)
		if wantErr != nil || gotErr != nil {
			if pcp.Code(wantErr) != pcp.Code(gotErr) {
				t.Errorf("%s: %v, %v; the real one says %v, %v", ask.what, got, gotErr, want, wantErr)
			}
			continue
		}
		if want != got {
			t.Errorf("%s: %v, the real one says %v", ask.what, got, want)
		}
	}
}

// TestOracleStartedByOurs makes the real collector start its agents by our pmdaroot.
func TestOracleStartedByOurs(t *testing.T) {
	oracle.Require(t)
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: pmdaroot needs root")
	}
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd", "sample"},
		Lines:  []string{"root 1 pipe binary " + links(t) + "/pmdaroot", "sample 29 pipe binary $PMDAS/sample/pmdasample -d 29"},
		PMNS:   rootNames,
		Env:    []string{"PMCD_ROOT_AGENT=1"},
	})
	sampleOf := func() (pid, parent int) {
		text, err := os.ReadFile(d.Log)
		if err != nil {
			t.Fatal(err)
		}
		root := 0
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 3 && f[0] == "sample" && f[1] == "29" {
				pid, _ = strconv.Atoi(f[2])
			}
			if len(f) > 3 && f[0] == "root" && f[1] == "1" {
				root, _ = strconv.Atoi(f[2])
			}
		}
		return pid, root
	}
	isChild := func(pid, parent int) bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		return err == nil && strings.Contains(string(b), "\nPPid:\t"+strconv.Itoa(parent)+"\n")
	}
	pid, root := sampleOf()
	if !isChild(pid, root) {
		t.Fatalf("the agent %d is no child of our pmdaroot %d", pid, root)
	}
	value := func() string { return d.Run(t, "pminfo", "-f", "sample.long.ten").Stdout }
	if out := value(); !strings.Contains(out, "value 10") {
		t.Errorf("it says %q", out)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The collector notices on the next request, and restarts it on a signal or by
	// itself.
	for end := time.Now().Add(time.Minute); strings.Contains(value(), "value 10"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the end of the agent is not noticed")
		}
	}
	d.Signal(t, syscall.SIGHUP)
	for end := time.Now().Add(time.Minute); !strings.Contains(value(), "value 10"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the agent is not started again")
		}
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(d.Log), "root.log"))
	if err != nil || strings.Count(string(text), "Starting sample agent") < 2 {
		t.Errorf("our pmdaroot says %s, %v", text, err)
	}
}
