package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/bench/scale/hosts"
	"github.com/go-pcp/pcp/internal/nsenter"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A crowd is simulated hosts, and the times of the samples that they answered.
type crowd struct {
	s     *site
	port  int
	hosts []int
	at    string // directory of the archives that are checked, if not those of the recorder

	mu     sync.Mutex
	served map[int][]time.Time
}

// away is the first host of another network than that of the others.
const away = 62_500

// newCrowd serves hosts in the network of the site: six of one network, and three of another.
func newCrowd(s *site, clock func(int) time.Duration) *crowd {
	s.t.Helper()
	c := &crowd{s: s, served: make(map[int][]time.Time), hosts: []int{0, 1, 2, 3, 4, 5, away, away + 1, away + 2}}
	sim, err := hosts.New(hosts.Config{Metrics: 30, Clock: clock, Served: func(host int, at time.Time, _ int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.served[host] = append(c.served[host], at)
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	var ln net.Listener
	listen := func() (err error) {
		ln, err = net.Listen("tcp4", "0.0.0.0:0")
		return err
	}
	if s.ns == nil {
		err = listen()
	} else {
		err = nsenter.Run(s.ns.cmd.Process.Pid, nsenter.Net, listen)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	c.port = ln.Addr().(*net.TCPAddr).Port
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- sim.Serve(ctx, ln) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	return c
}

// dir is where a host is recorded: those of the other network are on a file system that is never broken.
func (c *crowd) dir(host int) string {
	if c.at != "" {
		return c.at
	}
	if host >= away {
		return filepath.Join(c.s.conf, "other", hosts.Name(host))
	}
	return filepath.Join(c.s.archives(), hosts.Name(host))
}

// record starts a recorder of all hosts.
func (c *crowd) record() *process {
	c.s.t.Helper()
	var list strings.Builder
	for _, h := range c.hosts {
		fmt.Fprintf(&list, "%v:%d name=%s dir=%s\n", hosts.Address(h), c.port, hosts.Name(h), c.dir(h))
	}
	p := c.s.start(nil, "pcp", "record", "-t", "200msec", "-c", c.s.write("log.conf", "log mandatory on 200 msec { sim }\n"), "-d", c.s.archives(), "-f", c.s.write("hosts", list.String()))
	c.await(p, "all hosts are recorded", c.hosts, time.Now())
	return p
}

// await waits until each host was recorded several times after a moment.
func (c *crowd) await(p *process, what string, list []int, since time.Time) {
	c.s.t.Helper()
	p.await(what, func() error {
		for _, h := range list {
			if n := len(c.after(h, since)); n < 3 {
				return fmt.Errorf("%s has %d samples after %v", hosts.Name(h), n, since)
			}
		}
		return nil
	})
}

// after returns the samples that a host answered after a moment of its clock.
func (c *crowd) after(host int, since time.Time) []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.served[host], func(t time.Time) bool { return t.After(since) })
	if i < 0 {
		return nil
	}
	return slices.Clone(c.served[host][i:])
}

// samples returns the times of the samples in the archives of a host, and the number of marks.
func (c *crowd) samples(host int) (times []time.Time, marks int) {
	c.s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.dir(host), "*.meta*"))
	if err != nil || len(paths) == 0 {
		c.s.t.Fatalf("%s has no archive: %v", hosts.Name(host), err)
	}
	for _, path := range paths {
		base, _, _ := strings.Cut(path, ".meta") // those of recorders that were killed are compressed
		a, err := archive.Open(base)
		if err != nil {
			c.s.t.Fatal(err)
		}
		for res, err := range a.Records(a.Label().Start, archive.Forward) {
			if err != nil {
				if !errors.Is(err, pcp.ErrLogRec) { // a part of a record, of a recorder that was killed
					c.s.t.Fatal(err)
				}
				break
			}
			switch {
			case len(res.Sets) == 0:
				marks++
			case res.Sets[0].PMID.Domain() == hosts.Domain:
				times = append(times, res.Time.Time())
			}
		}
		a.Close()
	}
	slices.SortFunc(times, time.Time.Compare)
	return times, marks
}

// whole checks that each sample that a host answered is in its archives once, except those that excused accepts.
// It returns the number of samples, and the longest time between two.
func (c *crowd) whole(host int, excused func(time.Time) bool) (n int, gap time.Duration) {
	c.s.t.Helper()
	times, _ := c.samples(host)
	left := slices.Clone(times)
	for _, at := range c.after(host, time.Time{}) {
		i, ok := slices.BinarySearchFunc(left, at, func(t, at time.Time) int { return t.Compare(at.Truncate(0)) })
		if ok {
			left = slices.Delete(left, i, i+1)
		} else if excused == nil || !excused(at) {
			c.s.t.Errorf("%s: the sample of %v is not recorded", hosts.Name(host), at)
		}
	}
	if len(left) > 0 {
		c.s.t.Errorf("%s: %d samples are recorded twice, or were not answered: %v", hosts.Name(host), len(left), left[0])
	}
	for i := 1; i < len(times); i++ {
		gap = max(gap, times[i].Sub(times[i-1]))
	}
	return len(times), gap
}

// worst returns the longest gap of hosts, and checks that they are whole.
func (c *crowd) worst(list []int, excused func(time.Time) bool) (n int, gap time.Duration) {
	c.s.t.Helper()
	for _, h := range list {
		m, g := c.whole(h, excused)
		n, gap = n+m, max(gap, g)
	}
	return n, gap
}

// TestThirdCut cuts the network between a recorder and a third of its hosts: the others are recorded as before, and those continue
// with a mark when they can be reached again.
func TestThirdCut(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.ns = newNetwork(t)
	s.env = append(s.env, "PMCD_REQUEST_TIMEOUT=2", "PMCD_CONNECT_TIMEOUT=2")
	c := newCrowd(s, nil)
	near, far := c.hosts[:6], c.hosts[6:]
	route := func(what string) {
		t.Helper()
		cmd := exec.Command("ip", "route", what, "blackhole", "127.2.0.0/16", "table", "local")
		err := nsenter.Run(s.ns.cmd.Process.Pid, nsenter.Net, cmd.Start)
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			t.Fatalf("%v: %v", cmd.Args, err)
		}
	}
	p := c.record()
	route("add")
	cut := time.Now()
	p.await("the recorder notices", func() error {
		if n := strings.Count(p.out.String(), "lost, will be tried again"); n < len(far) {
			return fmt.Errorf("%d hosts are lost", n)
		}
		return nil
	})
	time.Sleep(time.Duration(longtest.N(2, 60)) * time.Second)
	c.await(p, "the others are recorded", near, time.Now())
	route("del")
	mended := time.Now()
	c.await(p, "all hosts are recorded again", c.hosts, mended)
	p.stop()
	stale := 0
	lost := func(at time.Time) bool {
		if !at.Before(mended) { // a request of before, on a connection that was given up
			stale++
			return stale <= len(far)
		}
		return at.After(cut.Add(-time.Second))
	}
	n, gap := c.worst(near, nil)
	m, hole := c.worst(far, lost)
	for _, h := range far {
		if _, marks := c.samples(h); marks == 0 {
			t.Errorf("%s has no mark", hosts.Name(h))
		}
	}
	back := time.Duration(0)
	for _, h := range far {
		back = max(back, c.after(h, mended)[0].Sub(mended))
	}
	t.Logf("cut for %v: %d samples of the other hosts, at most %v from one to the next; %d of those that were cut, with a gap of %v, recorded again after %v", mended.Sub(cut).Round(time.Millisecond), n, gap.Round(time.Millisecond), m, hole.Round(time.Millisecond), back.Round(time.Millisecond))
}

// TestFullForSome fills the file system of some hosts of a recorder: the others are recorded as before.
func TestFullForSome(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.mount(16 << 20)
	c := newCrowd(s, nil)
	other := c.hosts[6:]
	p := c.record()
	s.fill()
	full := time.Now()
	time.Sleep(time.Duration(longtest.N(3, 60)) * time.Second)
	s.fill() // the rest of a page
	c.await(p, "the others are recorded", other, time.Now())
	s.empty()
	empty := time.Now()
	c.await(p, "all hosts are recorded again", c.hosts, empty)
	p.stop()
	n, gap := c.worst(other, nil)
	lost := 0
	m, _ := c.worst(c.hosts[:6], func(at time.Time) bool {
		lost++ // beyond the memory of the host
		return at.After(full) && at.Before(empty.Add(time.Second))
	})
	t.Logf("full for %v: %d samples of the other hosts, at most %v from one to the next; %d of those without space, and %d dropped", empty.Sub(full).Round(time.Millisecond), n, gap.Round(time.Millisecond), m, lost)
}

// TestFullShipped fills the file system of a recorder that stores its archives elsewhere: those that are stored are removed here, the oldest
// first, so that recording continues, also after a kill without space for another archive. None is removed before it is stored.
func TestFullShipped(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.mount(16 << 20)
	c := newCrowd(s, nil)
	c.hosts = c.hosts[:1]
	store := filepath.Join(s.conf, "store", hosts.Name(0))
	start := func() *process {
		list := fmt.Sprintf("%v:%d name=%s\n", hosts.Address(0), c.port, hosts.Name(0))
		p := s.start(nil, "pcp", "record", "-c", s.write("log.conf", "log mandatory on 50 msec { sim }\n"), "-d", s.archives(), "-f", s.write("hosts", list),
			"--ship", filepath.Dir(store), "--lifecycle", "off")
		c.await(p, "the host is recorded", c.hosts, time.Now())
		return p
	}
	count := func(dir string) int {
		list, err := filepath.Glob(filepath.Join(dir, "*.meta*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	var stops []time.Time
	for range 3 {
		p := start()
		stops = append(stops, time.Now())
		p.stop()
	}
	if here, there := count(c.dir(0)), count(store); here != 3 || there != 3 {
		t.Fatalf("%d archives are here, and %d are stored", here, there)
	}
	p := start()
	s.fill()
	full := time.Now()
	p.await("an archive is removed", func() error {
		if n := count(c.dir(0)); n > 3 {
			return fmt.Errorf("%d archives", n)
		}
		return nil
	})
	c.await(p, "the host is recorded", c.hosts, time.Now())
	removed := time.Now()
	s.fill()
	p.kill()
	s.fill()
	p = start()
	p.await("an archive begins, and others are removed", func() error {
		if n := count(c.dir(0)); n > 3 {
			return fmt.Errorf("%d archives", n)
		}
		return nil
	})
	c.await(p, "the host is recorded again", c.hosts, time.Now())
	again := time.Now()
	s.empty()
	p.stop()
	if n := strings.Count(p.out.String(), "had not been shipped"); n > 0 {
		t.Errorf("%d archives were removed before they were stored", n)
	}
	here := count(c.dir(0))
	all := filepath.Join(s.conf, "all") // those that are stored, and the others
	if err := os.Mkdir(all, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{c.dir(0), store} {
		list, err := filepath.Glob(filepath.Join(from, "*.*.*.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range list {
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(filepath.Join(all, filepath.Base(path)), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	c.at = all
	dropped, ended := 0, 0
	n, _ := c.worst(c.hosts, func(at time.Time) bool {
		if slices.ContainsFunc(stops, func(stop time.Time) bool { return at.Sub(stop).Abs() < time.Second }) && ended < len(stops) {
			ended++
			return true // an answer to a recorder that ends
		}
		dropped++
		return at.After(full) && at.Before(again) // in memory, when it was killed or had no archive
	})
	times, _ := c.samples(0)
	if !slices.ContainsFunc(times, func(at time.Time) bool { return at.After(full) && at.Before(removed) }) {
		t.Error("no sample was written from the time without space")
	}
	t.Logf("full for %v: %d of %d archives are left here, %d are stored; %d samples are recorded, %d were in memory when it was killed, or were answered before there was space",
		again.Sub(full).Round(time.Millisecond), here, count(all), count(store), n, dropped)
}

// TestKilledWithHosts kills a recorder of several hosts: each sample that it had written is in an archive once.
func TestKilledWithHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCrowd(s, nil)
	var kills []time.Time
	for range longtest.N(2, 30) {
		p := c.record()
		p.kill()
		kills = append(kills, time.Now())
	}
	p := c.record()
	p.stop()
	dropped := 0
	n, gap := c.worst(c.hosts, func(at time.Time) bool {
		dropped++
		return slices.ContainsFunc(kills, func(k time.Time) bool { return at.Before(k) && k.Sub(at) < 2*time.Second })
	})
	t.Logf("%d kills: %d samples are recorded, %d were answered and not written; at most %v from one sample to the next", len(kills), n, dropped, gap.Round(time.Millisecond))
}

// TestWrongClocks records hosts whose clocks are a day ahead or behind: no sample is lost, and the difference is reported.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	s := newSite(t, "")
	c := newCrowd(s, func(host int) time.Duration {
		switch host {
		case 1:
			return day
		case 2:
			return -day
		}
		return 0
	})
	began := time.Now()
	c.hosts = []int{0, 1, 3, 4}
	ahead := c.hosts
	c.hosts = append(c.hosts, 2)
	p := s.start(nil, "pcp", "record", "-t", "200msec", "-c", s.write("log.conf", "log mandatory on 200 msec { sim }\n"), "-d", s.archives(), "-f", s.write("hosts", func() string {
		var list strings.Builder
		for _, h := range c.hosts {
			fmt.Fprintf(&list, "%v:%d name=%s\n", hosts.Address(h), c.port, hosts.Name(h))
		}
		return list.String()
	}()))
	c.await(p, "hosts are recorded", ahead, began)
	c.await(p, "the host that is behind is recorded", []int{2}, began.Add(-day))
	var status string
	p.await("the status has the clocks", func() error {
		q := s.start(nil, "pcp", "record", "--status", "-d", s.archives())
		q.ends("the status")
		if status = q.out.String(); strings.Count(status, ": its clock is ") < 2 {
			return fmt.Errorf("status:\n%s", status)
		}
		return nil
	})
	p.stop()
	for _, text := range []string{"host00001: its clock is ahead by 24h0m0s", "host00002: its clock is behind by 24h0m0s"} {
		if !strings.Contains(p.out.String(), text) || !strings.Contains(status, text) {
			t.Errorf("no %q in the output\n%s\nor the status\n%s", text, p.out, status)
		}
	}
	if n := strings.Count(p.out.String(), "its clock is"); n != 2 {
		t.Errorf("%d events about clocks:\n%s", n, p.out)
	}
	n, gap := c.worst(c.hosts, func(at time.Time) bool { // answered when the recorder ended
		return time.Since(at.Add(map[bool]time.Duration{true: day}[time.Since(at) > day/2])) < time.Minute && at.After(began)
	})
	if n < 15 {
		t.Errorf("%d samples", n)
	}
	t.Logf("%d samples of 5 hosts, at most %v from one to the next", n, gap.Round(time.Millisecond))
}
