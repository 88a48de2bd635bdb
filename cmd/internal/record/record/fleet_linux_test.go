package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/rendezvous"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmcd"
)

// paceVariable has a child process follow hosts that have moved at a quick pace.
const paceVariable = "PCP_TEST_RECORD_PACE"

// argsVariable has the arguments of a child process, which is the command.
const argsVariable = "PCP_TEST_RECORD_ARGS"

func TestMain(m *testing.M) {
	args, ok := os.LookupEnv(argsVariable)
	if !ok {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	env := newEnv(os.Getenv("HOME"), os.Stdout, os.Stderr, strings.Split(args, "\n")...)
	getenv := env.Getenv
	env.Getenv = func(name string) string {
		if strings.HasPrefix(name, "AWS_") {
			return os.Getenv(name)
		}
		return getenv(name)
	}
	set := settings{pace: usualPace}
	if os.Getenv(paceVariable) != "" {
		set.pace = pace{every: 200 * time.Millisecond, calm: time.Second, scan: time.Second, turn: time.Minute, tidy: time.Minute, unsettled: time.Second}
	}
	status := set.run(ctx, env)
	stop()
	os.Exit(status)
}

// serve starts a collector for tests on a socket, which all hosts share.
func serve(t *testing.T, socket string) {
	t.Helper()
	a, err := simple.New(simple.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "simple", Domain: simple.Domain, Agent: a}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A site has a directory for a fleet, and a collector for its hosts.
type site struct {
	t     *testing.T
	dir   string
	hosts []string

	environ []string // of recorders
}

func newSite(t *testing.T, n int) *site {
	s := &site{t: t, dir: t.TempDir()}
	serve(t, filepath.Join(s.dir, "pmcd"))
	write(t, filepath.Join(s.dir, "config"), "log mandatory on default { simple.now simple.color }\n")
	var list strings.Builder
	for i := range n {
		s.hosts = append(s.hosts, fmt.Sprint("host", i))
		fmt.Fprintf(&list, "unix:%s/pmcd name=host%d\n", s.dir, i)
	}
	write(t, filepath.Join(s.dir, "hosts"), list.String())
	return s
}

// fleet is the address of the fleet.
func (s *site) fleet() string { return filepath.Join(s.dir, "store") }

// A child is a recorder in a process of its own.
type child struct {
	s   *site
	id  string
	cmd *exec.Cmd
	out safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a recorder with an identifier, which records to a directory.
func (s *site) start(id, dir string, more ...string) *child {
	s.t.Helper()
	c := &child{s: s, id: id}
	c.cmd = exec.Command(os.Args[0])
	args := []string{"--fleet", s.fleet(), "--fleet-id", id, "-d", filepath.Join(s.dir, dir), "-f", filepath.Join(s.dir, "hosts"), "-c", filepath.Join(s.dir, "config"), "-t", "1sec"}
	args = append(args, more...)
	c.cmd.Env = append(append(os.Environ(), s.environ...), "HOME="+s.dir, argsVariable+"="+strings.Join(args, "\n"))
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	if err := oracle.StartWith(c.cmd, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.cmd.Process.Kill()
			c.cmd.Wait()
		}
		if s.t.Failed() {
			s.t.Logf("recorder %s:\n%s", id, &c.out)
		}
	})
	return c
}

func (c *child) signal(sig syscall.Signal) {
	c.s.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.s.t.Fatal(err)
	}
}

// archives returns the base names of the archives of a host that a recorder wrote.
func (s *site) archives(dir, host string) (bases []string) {
	list, err := filepath.Glob(filepath.Join(s.dir, dir, host, "*.meta"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range list {
		bases = append(bases, strings.TrimSuffix(path, ".meta"))
	}
	return bases
}

// times returns the times of the samples in an archive.
func (s *site) times(base string) (list []time.Time) {
	a, err := archive.Open(base)
	if err != nil {
		return nil // it is about to begin
	}
	defer a.Close()
	id := pcp.NewPMID(simple.Domain, 0, 1) // simple.color
	rd := a.NewReader()
	for {
		res, err := rd.Next()
		if err != nil {
			return list
		}
		if slices.ContainsFunc(res.Sets, func(vs pcp.ValueSet) bool { return vs.PMID == id }) {
			list = append(list, res.Time.Time())
		}
	}
}

// all returns the times of all samples of a host, by recorder, and in order.
func (s *site) all(host string, dirs ...string) (list []time.Time) {
	for _, dir := range dirs {
		for _, base := range s.archives(dir, host) {
			list = append(list, s.times(base)...)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// gap returns the longest time between two samples of a host.
func gap(list []time.Time) (longest time.Duration) {
	for i := 1; i < len(list); i++ {
		longest = max(longest, list[i].Sub(list[i-1]))
	}
	return longest
}

// until waits until ok.
func (s *site) until(limit time.Duration, what string, ok func() bool) time.Duration {
	s.t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > limit {
			s.t.Fatalf("not so after %v: %s", limit, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(began)
}

// count returns the number of hosts for which recorders have written a sample since a time.
func (s *site) count(since time.Time, dirs ...string) (n int) {
	for _, host := range s.hosts {
		if list := s.all(host, dirs...); len(list) > 0 && list[len(list)-1].After(since) {
			n++
		}
	}
	return n
}

// single reports whether each host is recorded by one recorder, and each recorder records some.
func (s *site) single(dirs ...string) bool {
	now, n := time.Now(), 0
	for _, dir := range dirs {
		own := s.count(now.Add(-2*time.Second), dir)
		if own == 0 {
			return false
		}
		n += own
	}
	return n == len(s.hosts) && s.count(now.Add(-2*time.Second), dirs...) == len(s.hosts)
}

// TestFleet has three recorders share hosts. One is killed, and another ends as asked.
func TestFleet(t *testing.T) {
	s := newSite(t, 12)
	ids := []string{"a", "b", "c"}
	a, b, c := s.start("a", "da"), s.start("b", "db"), s.start("c", "dc")
	s.until(time.Minute, "all hosts are recorded", func() bool { return s.count(time.Time{}, "da", "db", "dc") == 12 })
	s.until(time.Minute, "each host has one owner", func() bool { return s.single("da", "db", "dc") })
	again := s.start("a", "dd")
	dead := make([]string, 0, len(s.hosts)) // hosts of b
	for _, host := range s.hosts {
		if rendezvous.Owner(host, ids) == 1 {
			dead = append(dead, host)
		}
	}
	if len(dead) == 0 || len(dead) == len(s.hosts) {
		t.Fatalf("b has hosts %v", dead)
	}
	time.Sleep(time.Second)
	b.signal(syscall.SIGKILL)
	b.cmd.Wait()
	killed := time.Now()
	s.until(30*time.Second, "the hosts of b are recorded", func() bool { return s.count(killed, "da", "dc") == 12 })
	if again.cmd.Wait() == nil || !strings.Contains(again.out.String(), "recorder a: another recorder of the fleet has the same identifier") {
		t.Errorf("a second recorder a: %s", &again.out)
	}
	longest := time.Duration(0)
	for _, host := range dead {
		longest = max(longest, gap(s.all(host, "da", "db", "dc")))
	}
	t.Logf("killed: %d hosts moved, %v without samples", len(dead), longest)
	if longest > 30*time.Second {
		t.Error("more than 3 samples are missing at an interval of 10 seconds")
	}
	for _, host := range s.hosts {
		if others := gap(s.all(host, "da", "dc")); !slices.Contains(dead, host) && others > 5*time.Second {
			t.Errorf("%s, which did not move, has a gap of %v", host, others)
		}
	}

	status, text := call(t, s.dir, "--status", "--fleet", s.fleet(), "--json")
	var list []share.Status
	if err := json.Unmarshal([]byte(text), &list); status != 0 || err != nil || len(list) != 3 || list[0].Listed != 12 || list[0].ID != "a" || len(list[0].Hosts) == 0 {
		t.Errorf("status %d, %v: %s", status, err, text)
	}
	status, text = call(t, s.dir, "--status", "--fleet", s.fleet())
	for _, want := range []string{"RECORDER ", "a         recording", "HOST ", "host0 ", "host11 "} {
		if status != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d: %s lacks %q", status, text, want)
		}
	}

	c.signal(syscall.SIGTERM)
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &c.out)
	}
	ended := time.Now()
	took := s.until(30*time.Second, "the hosts of c are recorded", func() bool { return s.count(ended, "da") == 12 })
	longest = 0
	for _, host := range s.hosts {
		longest = max(longest, gap(s.all(host, "da", "dc")[1:]))
	}
	t.Logf("ended: its hosts are recorded after %v", took)
	if took > 10*time.Second {
		t.Error("a recorder that ends is replaced too late")
	}
	a.signal(syscall.SIGTERM)
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &a.out)
	}
	names := make(map[string]string)
	for _, dir := range []string{"da", "db", "dc"} {
		for _, host := range s.hosts {
			for _, base := range s.archives(dir, host) {
				name := host + "/" + filepath.Base(base)
				if names[name] != "" {
					t.Errorf("%s is written by two recorders", name)
				}
				names[name] = dir
			}
		}
	}
}

// TestFleetPaused stops a recorder with SIGSTOP for a minute. When it continues, it ends its archives, and later it has hosts again. Nothing that it
// wrote is lost.
func TestFleetPaused(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("PCP_TEST_LONG is not set; it takes more than a minute")
	}
	s := newSite(t, 12)
	a, b := s.start("a", "da"), s.start("b", "db")
	s.until(time.Minute, "all hosts are recorded", func() bool { return s.count(time.Time{}, "da", "db") == 12 })
	s.until(time.Minute, "each host has one owner", func() bool { return s.single("da", "db") })
	b.signal(syscall.SIGSTOP)
	stopped := time.Now()
	s.until(30*time.Second, "a has all hosts", func() bool { return s.count(stopped, "da") == 12 })
	time.Sleep(time.Minute - time.Since(stopped))
	before := make(map[string]int) // samples of each archive of b
	for _, host := range s.hosts {
		for _, base := range s.archives("db", host) {
			before[base] = len(s.times(base))
		}
	}
	b.signal(syscall.SIGCONT)
	took := s.until(20*time.Second, "b has noticed", func() bool { return strings.Contains(b.out.String(), "archives end, and it joins again") })
	t.Logf("it noticed after %v", took)
	resumed := time.Now()
	s.until(30*time.Second, "b records again", func() bool {
		return s.count(resumed.Add(2*time.Second), "db") > 0 && s.count(resumed.Add(2*time.Second), "da", "db") == 12
	})
	longest := time.Duration(0)
	for _, host := range s.hosts {
		longest = max(longest, gap(s.all(host, "da", "db")))
	}
	t.Logf("at most %v without samples", longest)
	if longest > 30*time.Second {
		t.Error("too long")
	}
	a.signal(syscall.SIGTERM)
	b.signal(syscall.SIGTERM)
	if err1, err2 := a.cmd.Wait(), b.cmd.Wait(); err1 != nil || err2 != nil {
		t.Errorf("%v, %v", err1, err2)
	}
	for base, n := range before {
		if got := len(s.times(base)); got < n {
			t.Errorf("%s has %d samples, and had %d", base, got, n)
		}
	}
}
