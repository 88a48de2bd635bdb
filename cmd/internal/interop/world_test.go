package interop

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestMain(m *testing.M) { twin.Built(m) }

// A collector is one side of the matrix.
type collector struct {
	name      string
	tcp, unix string // host specifications
	env       []string
}

// agents are the agents of both collectors: the first three are ours in our
// collector and the real ones in the real collector; sample is the real agent
// on both sides.
var agents = []string{"pmcd", "linux", "simple", "sample"}

// startBoth starts a real collector and ours.
func startBoth(t *testing.T) (theirs, ours collector) {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents})
	theirs = collector{name: "real pmcd", tcp: d.TCP, unix: d.Unix, env: d.Env}
	return theirs, startOurs(t, d, fmt.Sprintf(`
pmcd	2	dso	pmcd_init	%[1]s/pmcd/pmda_pmcd.so
linux	60	dso	linux_init	%[1]s/linux/pmda_linux.so
simple	253	dso	simple_init	%[1]s/simple/pmda_simple.so
sample	29	pipe	binary	%[1]s/sample/pmdasample -d 29
[access]
allow "*" : all;
`, d.PMDAs))
}

// startOurs starts our collector with a pmcd.conf and the name space of d.
func startOurs(t *testing.T, d *oracle.PMCD, conf string) collector {
	t.Helper()
	return startOursWith(t, d, conf, nil)
}

// startOursWith is startOurs with more environment, and arguments.
func startOursWith(t *testing.T, d *oracle.PMCD, conf string, env []string, args ...string) collector {
	t.Helper()
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // agents there are PCP's user
		t.Fatal(err)
	}
	// Agents keep the numbers of instances there.
	variable := filepath.Join(dir, "var")
	if err := os.MkdirAll(filepath.Join(variable, "config/pmda"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(variable, "config/pmda"), 0o777); err != nil {
		t.Fatal(err)
	}
	confFile := filepath.Join(dir, "pmcd.conf")
	if err := os.WriteFile(confFile, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	port := oracle.FreePort(t)
	sock := filepath.Join(dir, "pmcd.socket")
	cmd := exec.Command(twin.Tool(t, "pmcd"), "-f", "-A", "-q", "60", "-t", "60", "-i", "127.0.0.1", "-p", strconv.Itoa(port),
		"-s", sock, "-c", confFile, "-n", d.PMNS, "-l", filepath.Join(dir, "pmcd.log"))
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(oracle.Env(), "PCP_CONF="+d.Getenv("PCP_CONF"), "PCP_VAR_DIR="+variable)
	cmd.Env = append(cmd.Env, env...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(time.Minute):
			cmd.Process.Kill()
			t.Error("our pmcd did not stop within a minute")
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "pmcd.log"))
			t.Logf("our pmcd: %s\n%s", output.Bytes(), log)
		}
	})
	c := collector{
		name: "our pmcd", tcp: "127.0.0.1:" + strconv.Itoa(port), unix: "unix:" + sock,
		env: []string{"PCP_CONF=" + d.Getenv("PCP_CONF")},
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", sock)
		if err == nil {
			conn.Close()
			return c
		}
		if time.Now().After(deadline) {
			t.Fatalf("our pmcd does not answer: %v\n%s", err, output.Bytes())
		}
	}
}

// A client reads a collector.
type client struct {
	name string
	// run runs a tool, as pminfo, with arguments.
	run func(t *testing.T, env []string, tool string, args ...string) oracle.Output
}

var (
	ourTools  = client{"our tools", runOurs}
	realTools = client{"real tools", func(t *testing.T, env []string, tool string, args ...string) oracle.Output {
		t.Helper()
		return oracle.RunEnv(t, env, tool, args...)
	}}
)

func runOurs(t *testing.T, env []string, tool string, args ...string) oracle.Output {
	t.Helper()
	r := twin.Call{Tool: tool, Args: args, Env: env}.Run(t, true)
	return oracle.Output{Stdout: string(r.Out), Stderr: string(r.Err), Exit: r.Status}
}
