package faults

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A fault is a column of the matrix.
type fault struct {
	name string
	run  func(t *testing.T, d daemon, s *site)
	// client is that it is between a daemon and its collector, which not all of them have.
	client bool
}

// faults are the columns.
var faults = []fault{
	{name: "full", run: full},
	{name: "full-at-start", run: fullAtStart},
	{name: "read-only", run: readOnly},
	{name: "descriptors", run: descriptors},
	{name: "address-space", run: addressSpace},
	{name: "stopped", run: stopped},
	{name: "collector-stopped", run: collectorStopped, client: true},
	{name: "cut", run: cut, client: true},
	{name: "slow", run: slow, client: true},
	{name: "killed", run: killed},
	{name: "flipped", run: flipped},
	{name: "two", run: two},
}

// TestMatrix runs each cell: a daemon that is broken in one way.
func TestMatrix(t *testing.T) {
	shared := newSite(t, "")
	p := startPMCD(shared)
	p.await("the collector serves", func() error { return fetches(shared, time.Time{}) })
	source := fmt.Sprint("127.0.0.1:", shared.port)
	t.Cleanup(p.stop) // after all cells
	for _, f := range faults {
		for _, d := range daemons {
			if f.client && d.alone {
				continue
			}
			t.Run(f.name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				f.run(t, d, newSite(t, source))
			})
		}
	}
}

// up starts a daemon and waits until it works.
func (d daemon) up(s *site, limits ...limit) *process {
	s.t.Helper()
	d.ready(s)
	p := d.start(s, limits...)
	d.again(s, p, "at the start")
	return p
}

// ready prepares the directory of the daemon, once.
func (d daemon) ready(s *site) {
	s.t.Helper()
	if d.prepare != nil && !s.prepared {
		if err := d.prepare(s); err != nil {
			s.t.Fatal(err)
		}
	}
	s.prepared = true
}

// again waits until the daemon has done new work.
func (d daemon) again(s *site, p *process, what string) {
	s.t.Helper()
	since := time.Now()
	p.await(d.name+" works "+what, func() error { return d.works(s, since) })
}

// well waits until the daemon works as before.
func (d daemon) well(s *site, p *process, what string) {
	s.t.Helper()
	since := time.Now()
	d.again(s, p, what)
	if d.settles != nil {
		p.await(d.name+" works wholly "+what, func() error { return d.settles(s, since) })
	}
}

// over ends the daemon, and checks the files that it left.
func (d daemon) over(s *site, p *process) {
	s.t.Helper()
	p.stop()
	if d.sound != nil {
		if err := d.sound(s); err != nil {
			s.t.Errorf("what is left: %v", err)
		}
	}
}

// during keeps a fault for a while, during which the daemon must stay alive, and serve if
// it can.
func (d daemon) during(s *site, p *process, long time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if d.serves {
			d.again(s, p, "during the fault")
		}
		if !p.alive() {
			s.t.Fatalf("the daemon ended: %v", p.cmd.ProcessState)
		}
	}
}

// full takes all space of the file system while the daemon works, and gives it back.
func full(t *testing.T, d daemon, s *site) {
	s.mount(8 << 20)
	p := d.up(s)
	s.fill()
	d.during(s, p, 2*time.Second)
	s.fill() // the rest of a page
	d.during(s, p, time.Second)
	s.empty()
	d.well(s, p, "when there is space again")
	d.over(s, p)
}

// fullAtStart starts the daemon when there is no space: it works all the same, or prints the reason
// in a sentence.
func fullAtStart(t *testing.T, d daemon, s *site) {
	s.mount(8 << 20)
	d.ready(s)
	s.fill()
	d.orRefused(s, "full-at-start", "no space left")
	s.empty()
	p := d.up(s)
	d.well(s, p, "when there is space")
	d.over(s, p)
}

// orRefused starts a daemon that may have good reasons not to work.
func (d daemon) orRefused(s *site, fault string, words ...string) {
	s.t.Helper()
	since := time.Now()
	p := d.start(s)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := d.works(s, since)
		switch {
		case !p.alive():
			p.refused(fault, words...)
			if strings.Contains(d.starts, fault) {
				s.t.Errorf("%s: it should start in spite of that", fault)
			}
			s.t.Logf("refused: %s", p.out)
			return
		case err == nil, time.Now().After(end) && !d.serves:
			p.stop()
			s.t.Logf("it goes on: %s", p.out)
			return
		case time.Now().After(end):
			s.t.Errorf("%s: it neither works nor ends: %v", fault, err)
			p.stop()
			return
		}
	}
}

// readOnly starts the daemon where it cannot write.
func readOnly(t *testing.T, d daemon, s *site) {
	s.mount(8 << 20)
	d.ready(s)
	s.readOnly(true)
	d.orRefused(s, "read-only", "read-only file system")
	s.readOnly(false)
	p := d.up(s)
	d.well(s, p, "when it may write")
	d.over(s, p)
}

// descriptors has the daemon work with few descriptors; a server gets more clients than that.
func descriptors(t *testing.T, d daemon, s *site) {
	p := d.up(s, limit{"n", max(64, d.files)})
	if d.serves && d.name != "pmie" {
		var conns []net.Conn
		for range 100 {
			conn, err := net.DialTimeout("tcp", fmt.Sprint("127.0.0.1:", s.port), 5*time.Second)
			if err != nil {
				break
			}
			conns = append(conns, conn)
		}
		if len(conns) < 50 {
			t.Errorf("%d connections only", len(conns))
		}
		time.Sleep(time.Second) // it has no descriptors to spare meanwhile
		for _, conn := range conns {
			conn.Close()
		}
	}
	d.well(s, p, "when clients have gone")
	d.over(s, p)
}

// leastSpace is the smallest limit of address space, in KiB, with which a daemon starts and works: the Go runtime
// reserves most of it, and uses little.
const leastSpace = 1 << 20

// addressSpace has the daemon work with little address space, and print an error where it
// cannot.
func addressSpace(t *testing.T, d daemon, s *site) {
	d.ready(s)
	d.start(s, limit{"v", leastSpace - 1}).refused("less address space", "the limit on address space is 1048575 KB")
	p := d.up(s, limit{"v", leastSpace})
	d.well(s, p, "with little space")
	d.over(s, p)
}

// stopped has the daemon stopped for a while, and continue.
func stopped(t *testing.T, d daemon, s *site) {
	p := d.up(s)
	p.signal(syscall.SIGSTOP)
	time.Sleep(3 * time.Second)
	p.signal(syscall.SIGCONT)
	d.well(s, p, "when it goes on")
	d.over(s, p)
}

// collectorStopped stops the collector of a daemon that is its client; in the long form for longer
// than its timeout.
func collectorStopped(t *testing.T, d daemon, s *site) {
	c := s.ownCollector()
	p := d.up(s)
	c.signal(syscall.SIGSTOP)
	time.Sleep(time.Duration(longtest.N(3, 30)) * time.Second)
	c.signal(syscall.SIGCONT)
	d.well(s, p, "when the collector goes on")
	d.over(s, p)
	c.stop()
}

// ownCollector starts a collector for this site alone.
func (s *site) ownCollector() *process {
	s.t.Helper()
	other := newSite(s.t, "")
	other.ns, other.exe, other.env = s.ns, s.exe, s.env
	c := startPMCD(other)
	c.await("the collector serves", func() error { return fetches(other, time.Time{}) })
	s.source = fmt.Sprint("127.0.0.1:", other.port)
	return c
}

// killed kills the daemon at any moment, some times.
func killed(t *testing.T, d daemon, s *site) {
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), uint64(len(d.name))))
	for range longtest.N(2, 20) {
		p := d.up(s)
		time.Sleep(time.Duration(rnd.IntN(500)) * time.Millisecond)
		p.kill()
	}
	p := d.up(s)
	d.well(s, p, "after it was killed")
	d.over(s, p)
}

// cut cuts the network between the daemon and its peers.
func cut(t *testing.T, d daemon, s *site) {
	s.ns = newNetwork(t)
	c := s.ownCollector()
	p := d.up(s)
	s.ns.cut()
	time.Sleep(time.Duration(longtest.N(4, 40)) * time.Second)
	s.ns.mend()
	d.well(s, p, "when the network is mended")
	d.over(s, p)
	c.stop()
}

// slow has packets pass late, and some not at all.
func slow(t *testing.T, d daemon, s *site) {
	s.ns = newNetwork(t)
	c := s.ownCollector()
	p := d.up(s)
	s.ns.slow()
	d.well(s, p, "when the network is slow")
	s.ns.mend()
	d.well(s, p, "when it is fast again")
	d.over(s, p)
	c.stop()
}

// two starts a second one with the same directory: it is refused, or has a place of its own, and the first
// one continues.
func two(t *testing.T, d daemon, s *site) {
	p := d.up(s)
	// Its ports are other ones, so that only the directory is shared.
	other := newSite(t, "")
	mine := [2]int{s.port, s.webPort}
	s.port, s.webPort = other.port, other.webPort
	q := d.start(s)
	s.port, s.webPort = mine[0], mine[1]
	select {
	case <-q.exited:
		q.refused("a second one", "in use", "already", "another", "exist")
		t.Logf("refused: %s", q.said())
	case <-time.After(4 * time.Second):
		t.Logf("it goes on: %s", q.said())
		q.stop()
	}
	d.well(s, p, "beside a second one")
	d.over(s, p)
}

// flipped flips some bits in a file of those that the daemon left when it was killed, and starts it again: it works, without that
// file if need be, or names the file at fault.
func flipped(t *testing.T, d daemon, s *site) {
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), uint64(len(d.name))))
	p := d.up(s)
	d.well(s, p, "at the start")
	p.kill()
	if list, err := s.bases(); err == nil {
		s.damaged = make(map[string]bool)
		for _, base := range list {
			s.damaged[base] = true
		}
	}
	saved := t.TempDir()
	copyTree := func(from, to string) {
		t.Helper()
		if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	copyTree(s.dir, saved)
	restore := func() {
		t.Helper()
		if err := os.RemoveAll(s.dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(s.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		copyTree(saved, s.dir)
	}
	for _, path := range s.files() {
		name, err := filepath.Rel(s.dir, path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".log") || strings.HasPrefix(name, "log/pmlogger/host/") {
			continue // files that are not read, and files that the daemon has not written
		}
		for round := range longtest.N(1, 10) {
			b, err := os.ReadFile(path)
			if err != nil || len(b) == 0 {
				break
			}
			was := bytes.Clone(b)
			for range 1 + len(b)/1000 {
				b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
			}
			if err := os.WriteFile(path, b, 0); err != nil { // its mode stays
				t.Fatal(err)
			}
			p := d.start(s)
			for range 2 { // earlier work may be done first
				since := time.Now()
				err = d.works(s, since)
				for end := time.Now().Add(patience); err != nil && p.alive() && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
					err = d.works(s, since)
				}
			}
			if !p.alive() {
				p.refused(name, filepath.Base(path))
				t.Logf("%s, round %d: refused: %s", name, round, p.out)
			} else {
				p.stop()
			}
			if err != nil && p.cmd.ProcessState.ExitCode() == 0 || t.Failed() {
				t.Fatalf("%s, round %d: %v; it was %.200q, and was %.200q", name, round, err, was, b)
			}
			restore()
		}
	}
}
