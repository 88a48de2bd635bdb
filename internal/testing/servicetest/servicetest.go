// Package servicetest runs servers for tests of the agents of services, and has the checks that these tests share.
//
//	s := servicetest.Start(t, "memcached", func(dir string, port int) []string { return []string{"-p", strconv.Itoa(port), "-l", "127.0.0.1"} })
//	servicetest.Facts(t, agent, "testdata/upstream.txt")
package servicetest

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// Facts compares the names and descriptors of an agent with a file of those of the C agent: a line for each metric, with its name, PMID,
// type, instance domain, semantics and units. Lines that begin with # are comments.
func Facts(t *testing.T, a interface {
	pmda.Agent
	pmda.NameSpacer
}, path string,
) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(b)) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && line[0] != '#' {
			want = append(want, line)
		}
	}
	for name, id := range a.NameSpace().All() {
		d, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		indom, units := "none", d.Units.String()
		if d.InDom != pcp.InDomNull {
			indom = d.InDom.String()
		}
		if units == "" {
			units = "none"
		}
		got = append(got, fmt.Sprintf("%s %v %v %s %v %s", name, id, d.Type, indom, d.Sem, units))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the metrics differ from those of %s (-want +got):\n%s", path, diff)
	}
}

// A Server is a server of a test. It ends with the test.
type Server struct {
	Dir     string // of its own, writable for its user
	Port    int
	Program string // its path

	cmd *exec.Cmd
	out bytes.Buffer
}

// Address is where the server listens if it was given Port.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// Program returns the path of the first of the programs that is installed, also in /usr/sbin, or skips the test.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		for _, dir := range append(strings.Split(os.Getenv("PATH"), ":"), "/usr/sbin", "/usr/local/sbin") {
			if path, err := exec.LookPath(dir + "/" + name); err == nil {
				return path
			}
		}
	}
	oracle.Missing(t, "no "+names[0])
	return ""
}

// Start starts the first of the programs, whose names are separated by blanks, that is installed, with arguments made from the server's directory and
// port, as a user without rights. Without the program the test is skipped.
func Start(t testing.TB, programs string, args func(s *Server) []string) *Server {
	t.Helper()
	path := Program(t, strings.Fields(programs)...)
	dir, err := os.MkdirTemp("", "service")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{Dir: dir, Port: oracle.FreePort(t), Program: path}
	s.cmd = exec.Command(path, args(s)...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, &s.out, &s.out
	alone(t, s.cmd, dir)
	if err := oracle.StartWith(s.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// Run runs a program, such as a client, as the user of the server and in its directory, and returns its output. It looks for the program beside
// that of the server too.
func (s *Server) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(s.Program), name)
	if target, err := filepath.EvalSymlinks(s.Program); err == nil {
		path = filepath.Join(filepath.Dir(target), name)
	}
	if _, err := os.Stat(path); err != nil {
		path = Program(t, name)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = s.Dir
	alone(t, cmd, s.Dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

// Await waits until the server accepts connections at an address.
func (s *Server) Await(t testing.TB, network, address string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial(network, address)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			s.Stop(t)
			t.Fatalf("the server does not answer: %v\n%s", err, s.out.String())
		}
	}
}

// Stop ends the server at once, if it runs.
func (s *Server) Stop(t testing.TB) {
	if s.cmd.Process != nil && s.cmd.ProcessState == nil {
		kill(s.cmd.Process) // with its workers
		await.Exit(t, s.cmd)
	}
}

// Lines returns the lines of a text that have a separator: the text after it by the text before it.
func Lines(text, separator string) map[string]string {
	m := make(map[string]string)
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if k, v, ok := strings.Cut(strings.TrimRight(sc.Text(), "\r"), separator); ok {
			m[k] = strings.TrimSpace(v)
		}
	}
	return m
}

// Read returns the values of all metrics, after one reading of the service.
func Read(t testing.TB, a interface {
	agenttest.Agent
	Await()
},
) agenttest.Values {
	t.Helper()
	a.Await()
	return agenttest.Read(t, a)
}

// Hammer fetches all metrics many times, and fails if descriptors or memory are left over.
func Hammer(t *testing.T, a interface {
	pmda.Agent
	NameSpace() *pmns.Tree
	Close() error
},
) {
	t.Helper()
	n := longtest.N(2000, 100_000)
	var ids []pcp.PMID
	for _, id := range a.NameSpace().All() {
		ids = append(ids, id)
	}
	run := pmda.NewRunner(a, pmda.RunnerOptions{})
	fetch := func(n int) {
		for range n {
			res := new(pcp.Result)
			if _, err := run.Fetch(t.Context(), &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: ids, Result: res}); err != nil {
				t.Fatal(err)
			}
			if len(res.Sets) != len(ids) {
				t.Fatalf("%d sets for %d metrics", len(res.Sets), len(ids))
			}
		}
	}
	fetch(100)
	fds, heap := usage()
	fetch(n)
	if fds2, heap2 := usage(); fds2 > fds+2 || heap2 > heap+4<<20 {
		t.Errorf("after %d fetches: %d descriptors and %d bytes, before %d and %d", n, fds2, heap2, fds, heap)
	}
}

func usage() (fds int, heap uint64) {
	list, _ := os.ReadDir("/proc/self/fd")
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return len(list), m.HeapAlloc
}
