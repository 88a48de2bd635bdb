package attack

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// built is the folder with our program and links to it, made by Main.
var built string

// Main builds the program and runs the tests.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = dir
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "pcp"), "github.com/go-pcp/pcp/cmd/pcp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	for _, cmd := range []*exec.Cmd{build, exec.Command(filepath.Join(dir, "pcp"), "links", filepath.Join(dir, "links"))} {
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %v\n%s", cmd.Args, err, out)
			return 1
		}
	}
	return m.Run()
}

// Tool is the path of one of our programs.
func Tool(name string) string { return filepath.Join(built, "links", name) }

// Options configures a collector.
type Options struct {
	Agents  []string // more lines of pmcd.conf
	Names   string   // the name space, a pmns(5) text; "" means the names of the agents in process
	Timeout int      // of agents in seconds; 0 means 60, which a busy machine keeps
	Files   int      // limit of its descriptors; 0 means that of the system
	Args    []string // more arguments
	Env     []string // more environment
}

// A Collector is our pmcd in a process of its own.
type Collector struct {
	TCP    string // 127.0.0.1:port
	Socket string
	Dir    string // its own, for the files of its agents

	t      testing.TB
	cmd    *exec.Cmd
	log    string
	stderr string
	exited chan struct{}
	mu     sync.Mutex // held for a request of ctl
	ctl    *Client
	watch  func() (int, time.Duration) // ends Watch's goroutine
	calm   state                       // before the attack
	done   bool
}

// A state has the counts of resources that can leak.
type state struct{ files, threads int }

// control is the request of the control client: pmcd.control.timeout of the
// collector itself, and sample.long.ten of an agent.
var control = []pcp.PMID{pcp.NewPMID(2, 0, 4), pcp.NewPMID(29, 0, 11)}

// Agents that every collector has, in process.
const ownAgents = `pmcd	2	dso	pmcd_init	/built-in/pmda_pmcd.so
sample	29	dso	sample_init	/built-in/pmda_sample.so
simple	253	dso	simple_init	/built-in/pmda_simple.so
`

// Start starts a collector. It is stopped at the end of the test.
func Start(t testing.TB, opt Options) *Collector {
	t.Helper()
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &Collector{
		t: t, Dir: dir, Socket: filepath.Join(dir, "socket"),
		log: filepath.Join(dir, "pmcd.log"), stderr: filepath.Join(dir, "stderr"),
	}
	conf := filepath.Join(dir, "pmcd.conf")
	text := ownAgents + strings.ReplaceAll(strings.Join(opt.Agents, "\n"), "@DIR@", dir) + "\n[access]\nallow \"*\" : all;\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if opt.Timeout == 0 {
		opt.Timeout = 60
	}
	port := strconv.Itoa(oracle.FreePort(t))
	c.TCP = "127.0.0.1:" + port
	args := append([]string{
		"-f", "-A", "-q", "60", "-t", strconv.Itoa(opt.Timeout), "-i", "127.0.0.1", "-p", port,
		"-s", c.Socket, "-c", conf, "-l", c.log,
	}, opt.Args...)
	if opt.Names != "" {
		names := filepath.Join(dir, "names")
		if err := os.WriteFile(names, []byte(opt.Names), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-n", names)
	}
	c.cmd = exec.Command(Tool("pmcd"), args...)
	if opt.Files > 0 {
		c.cmd = exec.Command("/bin/sh", append([]string{"-c", "ulimit -n " + strconv.Itoa(opt.Files) + ` && exec "$0" "$@"`, Tool("pmcd")}, args...)...)
	}
	var places strings.Builder
	for _, v := range []string{"PCP_SYSCONF_DIR", "PCP_VAR_DIR", "PCP_RUN_DIR", "PCP_TMP_DIR"} {
		fmt.Fprintf(&places, "%s=%s\n", v, dir)
	}
	pcpConf := filepath.Join(dir, "pcp.conf")
	if err := os.WriteFile(pcpConf, []byte(places.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	c.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "PCP_CONF=" + pcpConf, "PMCD_RESTART_AGENTS=0"}, opt.Env...)
	out, err := os.Create(c.stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.cmd.Stdout, c.cmd.Stderr = out, out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.exited = make(chan struct{})
	go func() {
		defer close(c.exited)
		c.cmd.Wait()
	}()
	t.Cleanup(c.end)
	c.ctl = c.dialFirst()
	for i := range 5 {
		if err := c.Served(); err != nil {
			t.Fatalf("before the attack, fetch %d: %v", i, err)
		}
	}
	c.calm = c.state()
	return c
}

// dialFirst waits until the collector lets clients in.
func (c *Collector) dialFirst() *Client {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("unix", c.Socket)
		if err == nil {
			cl := NewClient(c.t, conn)
			cl.Shake(c.t)
			return cl
		}
		select {
		case <-c.exited:
			c.t.Fatalf("the collector ended: %v", c.cmd.ProcessState)
		default:
		}
		if time.Now().After(end) {
			c.t.Fatal(err)
		}
	}
}

// end stops the collector, and prints its output if the test failed.
func (c *Collector) end() {
	c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.exited:
	case <-time.After(time.Minute):
		c.cmd.Process.Kill()
		<-c.exited
		c.t.Error("the collector did not end within a minute")
	}
	if !c.done && !c.cmd.ProcessState.Success() {
		c.t.Errorf("the collector ended with %v", c.cmd.ProcessState)
	}
	if c.t.Failed() {
		for _, f := range []string{c.log, c.stderr} {
			text, _ := os.ReadFile(f)
			text, _, _ = bytes.Cut(text, []byte("SIGQUIT: quit"))
			c.t.Logf("%s:\n%.20000s", filepath.Base(f), text)
		}
	}
}

// Served makes one fetch of metrics of two agents for the control client.
func (c *Collector) Served() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctl.Check(control...)
}

// Watch has the control client fetch again and again until stop is called,
// which returns how many fetches there were and how long the longest took.
func (c *Collector) Watch(t testing.TB) (stop func() (n int, longest time.Duration)) {
	end, done := make(chan struct{}), make(chan struct{})
	var n int
	var longest time.Duration
	go func() {
		defer close(done)
		for {
			began := time.Now()
			if err := c.Served(); err != nil {
				t.Errorf("another client is not served during the attack: fetch %d: %v", n, err)
				return
			}
			n++
			longest = max(longest, time.Since(began))
			select {
			case <-end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	stop = sync.OnceValues(func() (int, time.Duration) {
		close(end)
		<-done
		return n, longest
	})
	c.watch = stop
	t.Cleanup(func() { stop() })
	return stop
}

// Eventually waits until a condition holds.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: did not happen", what)
		}
	}
}

// Lines returns the lines of the log that hold text.
func (c *Collector) Lines(text string) (found []string) {
	b, err := os.ReadFile(c.log)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// OneLine waits for a line of the log that holds text, and checks that it is
// the only one and holds want.
func (c *Collector) OneLine(t testing.TB, text, want string) {
	t.Helper()
	Eventually(t, "log line with "+text, func() bool { return len(c.Lines(text)) > 0 })
	if lines := c.Lines(text); len(lines) != 1 || !strings.Contains(lines[0], want) {
		t.Errorf("log has %q, want one line with %q", lines, want)
	}
}

// Signal sends the process a signal.
func (c *Collector) Signal(sig os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

// Alive reports whether the process runs.
func (c *Collector) Alive() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

func (c *Collector) proc(name string) string {
	return fmt.Sprintf("/proc/%d/%s", c.cmd.Process.Pid, name)
}

// Memory returns the resident set now and at its largest since ResetPeak, in
// bytes.
func (c *Collector) Memory() (now, peak int) {
	c.t.Helper()
	b, err := os.ReadFile(c.proc("status"))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			now = kb << 10
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			peak = kb << 10
		}
	}
	return now, peak
}

// ResetPeak makes the present resident set the largest so far.
func (c *Collector) ResetPeak() {
	c.t.Helper()
	if err := os.WriteFile(c.proc("clear_refs"), []byte("5"), 0); err != nil {
		c.t.Fatal(err)
	}
}

// Files counts the descriptors of the process.
func (c *Collector) Files() int {
	list, err := os.ReadDir(c.proc("fd"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatal(err)
	}
	return len(list)
}

// Children counts the processes that the collector started and has not waited for.
func (c *Collector) Children() (n int) {
	files, _ := filepath.Glob(c.proc("task/*/children"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		n += len(bytes.Fields(b))
	}
	return n
}

func (c *Collector) state() state {
	tasks, err := os.ReadDir(c.proc("task"))
	if err != nil {
		c.t.Fatal(err)
	}
	return state{c.Files(), len(tasks)}
}

// Threads counts the threads of the process.
func (c *Collector) Threads() int { return c.state().threads }

// NumClients asks the collector how many clients it has.
func (c *Collector) NumClients() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	res, err := c.ctl.Fetch(pcp.NewPMID(2, 0, 3)) // pmcd.numclients
	if err != nil || len(res.Sets) != 1 || len(res.Sets[0].Values) != 1 {
		c.t.Fatalf("pmcd.numclients: %+v, %v", res, err)
	}
	return int(res.Sets[0].Values[0].As(pcp.TypeU32).Uint32())
}

// Finish waits until all clients but the control client have gone, and checks
// that they left no descriptor, and no goroutine that an untouched collector
// does not have. Finish ends the collector: it quits with a dump of its
// goroutines. agents are how many agents in processes are still there.
func (c *Collector) Finish(t testing.TB, agents int) {
	t.Helper()
	Eventually(t, "clients leave", func() bool { return c.NumClients() == 1 })
	Eventually(t, fmt.Sprintf("descriptors are closed (%d to begin with)", c.calm.files), func() bool { return c.Files() <= c.calm.files })
	Eventually(t, fmt.Sprintf("processes of agents end but for %d", agents), func() bool { return c.Children() <= agents })
	for range 100 {
		if err := c.Served(); err != nil {
			t.Fatalf("after the attack: %v", err)
		}
	}
	if c.watch != nil {
		n, longest := c.watch()
		t.Logf("another client was served %d times, in %v at the most", n, longest.Round(time.Microsecond))
	}
	calm := calmGoroutines(t)
	after := c.quit(t, false)
	if n := after["client"]; n > 1 || n+after[runningClient] == 0 {
		t.Errorf("%d goroutines serve clients when there is one client; all: %v", n, after)
	}
	if n := after["agent"]; n > agents {
		t.Errorf("%d goroutines wait for agents, of which there are %d; all: %v", n, agents, after)
	}
	if n := after["output"]; n > agents {
		t.Errorf("%d goroutines listen to agents, of which there are %d; all: %v", n, agents, after)
	}
	if n := after["other"]; n > calm["other"] {
		t.Errorf("goroutines are %v, and %v of a collector in peace", after, calm)
	}
}

// calmGoroutines counts the goroutines of an untouched collector.
func calmGoroutines(t testing.TB) map[string]int {
	calm.Do(func() { calm.counts = Start(t, Options{}).quit(t, true) })
	return calm.counts
}

var calm struct {
	sync.Once
	counts map[string]int
}

// quit has the collector end with a dump of its goroutines.
func (c *Collector) quit(t testing.TB, running bool) map[string]int {
	t.Helper()
	c.done = true
	c.cmd.Process.Signal(syscall.SIGQUIT)
	<-c.exited
	return c.dump(t, running)
}

// runningClient counts the goroutines of clients that run, which may just have answered the last request.
const runningClient = "client that runs"

// dump counts the goroutines by purpose; running ones, which may be about to
// end, only if running is set.
func (c *Collector) dump(t testing.TB, running bool) map[string]int {
	t.Helper()
	var text []byte
	for _, f := range []string{c.stderr, c.log} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	counts := map[string]int{}
	_, text, ok := bytes.Cut(text, []byte("SIGQUIT: quit"))
	if !ok {
		t.Fatalf("no dump of goroutines; the collector ended with %v", c.cmd.ProcessState)
	}
	for _, g := range bytes.Split(text, []byte("\n\n")) {
		head, stack, _ := bytes.Cut(g, []byte("\n"))
		if !bytes.HasPrefix(head, []byte("goroutine ")) || bytes.Contains(stack, []byte("\ncreated by runtime.")) {
			continue
		}
		client := bytes.Contains(stack, []byte("pmcd.(*client).start")) || bytes.Contains(stack, []byte("pmcd.(*client).takeOver"))
		switch skip := !running && bytes.Contains(head, []byte("[run")); {
		case skip && client:
			counts[runningClient]++
		case skip:
		case client:
			counts["client"]++
		case bytes.Contains(stack, []byte("backend.(*remote)")):
			counts["agent"]++
		case bytes.Contains(stack, []byte("created by os/exec.(*Cmd).Start")):
			counts["output"]++ // reads an agent's standard error
		default:
			counts["other"]++
		}
	}
	return counts
}
