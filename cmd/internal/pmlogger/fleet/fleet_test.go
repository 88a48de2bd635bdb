package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

func TestMain(m *testing.M) { leak.Main(m) }

const config = "log mandatory on default { guide.answer guide.disk }\n"

// serve starts a collector on a socket, and returns a function that stops it.
func serve(t *testing.T, socket string) (stop func()) {
	t.Helper()
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		return []pcp.Instance{{Inst: 0, Name: "sda"}, {Inst: 1, Name: "sdb"}}, nil
	}}
	var n atomic.Uint64
	a, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "guide.answer", Type: pcp.TypeU64, Sem: pcp.SemCounter, OneLine: "the answer", Value: func(int32, int) (pcp.Value, error) {
			return pcp.Uint64Value(n.Add(1)), nil
		}},
		{Name: "guide.disk", InDom: indom, Item: 1, Type: pcp.TypeString, Sem: pcp.SemInstant, Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.StringValue(strings.Repeat("x", int(inst))), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "guide", Domain: 400, Agent: a}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// hang serves connections on a socket and never answers.
func hang(t *testing.T, socket string) {
	t.Helper()
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				io.Copy(io.Discard, c) // until the client has enough
				c.Close()
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		conns.Wait()
	})
}

// A gate passes bytes between a client and a collector until it is closed.
type gate struct {
	mu   sync.Mutex
	cond *sync.Cond
	shut bool
}

func newGate() *gate {
	g := new(gate)
	g.cond = sync.NewCond(&g.mu)
	return g
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	g.shut = shut
	g.mu.Unlock()
	g.cond.Broadcast()
}

func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut {
		g.cond.Wait()
	}
}

// dial connects to a collector behind the gate.
func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	below, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	go func() {
		io.Copy(below, far)
		below.Close()
	}()
	go func() {
		defer far.Close()
		b := make([]byte, 4096)
		for {
			n, err := below.Read(b)
			g.pass()
			if _, e := far.Write(b[:n]); err != nil || e != nil {
				return
			}
		}
	}()
	return near, nil
}

// A run is a fleet that records.
type run struct {
	*fleet.Fleet
	dir    string
	stop   context.CancelFunc
	done   chan error
	mu     sync.Mutex
	events []fleet.Event
	news   chan struct{} // has something after an event
}

func start(t *testing.T, cfg fleet.Config, hosts ...fleet.Host) *run {
	t.Helper()
	r := &run{dir: t.TempDir(), done: make(chan error, 1), news: make(chan struct{}, 1)}
	if cfg.Dir == "" {
		cfg.Dir = r.dir
	}
	if cfg.Configure == nil {
		cfg.Configure = fleet.Static([]byte(config), "config")
	}
	if cfg.Interval == 0 {
		cfg.Interval = 20 * time.Millisecond
	}
	cfg.Retry, cfg.MaxRetry = time.Millisecond, 50*time.Millisecond
	cfg.Event = func(e fleet.Event) {
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
	f, err := fleet.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Set(hosts); err != nil {
		t.Fatal(err)
	}
	r.Fleet = f
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.done <- f.Run(ctx) }()
	t.Cleanup(cancel)
	return r
}

// end stops the fleet and waits for it.
func (r *run) end(t *testing.T) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the fleet did not end")
	}
}

// until waits until ok returns true for the status of the hosts.
func (r *run) until(t *testing.T, what string, ok func(map[string]fleet.Status) bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		m := make(map[string]fleet.Status)
		for _, s := range r.Status() {
			m[s.Name] = s
		}
		if ok(m) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not so after a minute: %s; %+v; events %v", what, m, r.seen())
		}
		time.Sleep(2 * time.Millisecond) // it is polled
	}
}

func (r *run) seen() []fleet.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]fleet.Event(nil), r.events...)
}

// read returns the numbers of records, without marks, and of marks in the archives of a directory. The
// archives must be complete.
func read(t *testing.T, dir string) (records, marks int) {
	t.Helper()
	a, err := pmapi.OpenArchive(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for {
		res, err := a.FetchArchive(t.Context())
		if errors.Is(err, pcp.ErrEOL) {
			return records, marks
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Sets) == 0 {
			marks++
		} else {
			records++
		}
	}
}

// TestMany records fifty hosts, some of which hang or are down.
func TestMany(t *testing.T) {
	tmp := t.TempDir()
	good, bad := filepath.Join(tmp, "good"), filepath.Join(tmp, "bad")
	serve(t, good)
	hang(t, bad)
	var hosts []fleet.Host
	for i := range 50 {
		h := fleet.Host{Spec: "unix:" + good, Name: fmt.Sprintf("good%02d", i)}
		switch i % 5 {
		case 3:
			h = fleet.Host{Spec: "unix:" + bad, Name: fmt.Sprintf("hung%02d", i)}
		case 4:
			h = fleet.Host{Spec: "unix:" + filepath.Join(tmp, "none"), Name: fmt.Sprintf("down%02d", i)}
		}
		hosts = append(hosts, h)
	}
	// Fewer turns than hanging hosts, which must not keep them.
	r := start(t, fleet.Config{Turns: 3}, hosts...)
	r.until(t, "30 hosts have 3 samples", func(m map[string]fleet.Status) bool {
		for name, s := range m {
			if strings.HasPrefix(name, "good") && (s.State != fleet.Recording || s.Samples < 3) {
				return false
			}
			if strings.HasPrefix(name, "down") && s.Errors < 3 {
				return false
			}
		}
		return len(m) == 50
	})
	status := r.Status()
	r.end(t)
	for _, s := range status {
		switch {
		case strings.HasPrefix(s.Name, "good"):
			// The metadata at the end are a record too.
			if n, _ := read(t, s.Dir); n < int(s.Samples) {
				t.Errorf("%s: %d records, %d samples", s.Name, n, s.Samples)
			}
			if s.Bytes == 0 || s.Daily == 0 || s.Last.IsZero() || s.Err != nil {
				t.Errorf("%+v", s)
			}
		case strings.HasPrefix(s.Name, "down"):
			if !errors.Is(s.Err, syscall.ENOENT) {
				t.Errorf("%s: %v", s.Name, s.Err)
			}
			fallthrough
		default:
			if s.Samples != 0 || s.State == fleet.Recording {
				t.Errorf("%+v", s)
			}
			if _, err := os.Stat(s.Dir); err == nil {
				t.Errorf("%s has a directory", s.Name)
			}
		}
	}
	failures := make(map[string]int)
	for _, e := range r.seen() {
		if e.Err != nil {
			failures[e.Host]++
		}
	}
	for name, n := range failures {
		if n > 1 {
			t.Errorf("%s: %d events of the same failure", name, n)
		}
	}
}

// TestHangsLater has a host that stops answering while it is recorded, and a host that continues.
func TestHangsLater(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, socket)
	g := newGate()
	slow := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == socket {
			return g.dial(ctx, network, address)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	other := filepath.Join(t.TempDir(), "o")
	serve(t, other)
	r := start(t, fleet.Config{Turns: 1, Dialer: pmapi.Dialer{DialContext: slow, RequestTimeout: 50 * time.Millisecond}},
		fleet.Host{Spec: "unix:" + socket, Name: "slow"}, fleet.Host{Spec: "unix:" + other, Name: "fast"})
	has := func(name string, n uint64) func(map[string]fleet.Status) bool {
		return func(m map[string]fleet.Status) bool { return m[name].State == fleet.Recording && m[name].Samples >= n }
	}
	r.until(t, "both record", func(m map[string]fleet.Status) bool { return has("slow", 2)(m) && has("fast", 2)(m) })
	g.set(true)
	r.until(t, "one is lost", func(m map[string]fleet.Status) bool { return m["slow"].State == fleet.Lost })
	var before uint64
	r.until(t, "", func(m map[string]fleet.Status) bool { before = m["fast"].Samples; return true })
	r.until(t, "the other goes on", has("fast", before+5))
	g.set(false)
	var n uint64
	r.until(t, "", func(m map[string]fleet.Status) bool { n = m["slow"].Samples; return true })
	r.until(t, "it records again", has("slow", n+2))
	r.end(t)
	if _, marks := read(t, filepath.Join(r.dir, "slow")); marks == 0 {
		t.Error("no mark where the connection was lost")
	}
}

// TestVanishes has a collector that ends, and comes back.
func TestVanishes(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	stop := serve(t, socket)
	r := start(t, fleet.Config{}, fleet.Host{Spec: "unix:" + socket, Name: "h"})
	r.until(t, "it records", func(m map[string]fleet.Status) bool { return m["h"].Samples > 1 })
	stop()
	r.until(t, "it is lost", func(m map[string]fleet.Status) bool { return m["h"].State == fleet.Lost })
	n := r.Status()[0].Samples
	serve(t, socket)
	r.until(t, "it records again", func(m map[string]fleet.Status) bool {
		return m["h"].State == fleet.Recording && m["h"].Samples > n+1
	})
	s := r.Status()[0]
	r.end(t)
	if s.Missed == 0 || s.Errors == 0 {
		t.Errorf("what was missed is not counted: %+v", s)
	}
	if _, marks := read(t, s.Dir); marks == 0 {
		t.Error("no mark where the connection was lost")
	}
	files, err := filepath.Glob(filepath.Join(s.Dir, "*.meta"))
	if err != nil || len(files) != 1 {
		t.Errorf("archives %v, %v", files, err)
	}
	var texts []string
	for _, e := range r.seen() {
		if e.Daily > 0 {
			e.Text = "%d"
		}
		texts = append(texts, strings.Fields(e.Text)[0])
	}
	if got := strings.Join(texts, " "); got != "recording %d lost, recording ended" {
		t.Errorf("events: %s", got)
	}
}

// TestSet adds and removes hosts of a running fleet.
func TestSet(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, socket)
	a, b := fleet.Host{Spec: "unix:" + socket, Name: "a"}, fleet.Host{Spec: "unix:" + socket, Name: "b"}
	r := start(t, fleet.Config{Spread: -1}, a)
	r.until(t, "a records", func(m map[string]fleet.Status) bool { return m["a"].Samples > 0 })
	if err := r.Set([]fleet.Host{a, b}); err != nil {
		t.Fatal(err)
	}
	r.until(t, "b records", func(m map[string]fleet.Status) bool { return m["b"].Samples > 0 })
	was := r.Status()[0].Archive
	a.Interval = 30 * time.Millisecond
	if err := r.Set([]fleet.Host{a}); err != nil {
		t.Fatal(err)
	}
	r.until(t, "a records anew", func(m map[string]fleet.Status) bool {
		return len(m) == 1 && m["a"].Samples > 0 && m["a"].Archive != was
	})
	for _, bad := range [][]fleet.Host{
		{a, a},
		{{Spec: ""}},
		{{Spec: "a:b:c"}},
		{{Spec: "x", Name: "../x"}},
		{{Spec: "x", Name: "a/b"}},
		{{Spec: "x", Dir: "/d"}, {Spec: "y", Dir: "/d/"}},
		{{Spec: "x", Interval: -1}},
	} {
		if err := r.Set(bad); err == nil {
			t.Errorf("no error of %v", bad)
		}
	}
	if len(r.Status()) != 1 {
		t.Error("a list with a mistake changed the hosts")
	}
	r.end(t)
	read(t, filepath.Join(r.dir, "b"))
	if err := r.Set(nil); err == nil {
		t.Error("no error of Set after the end")
	}
}

// TestFull has a directory that is not writable for a while.
func TestFull(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, socket)
	dir := filepath.Join(t.TempDir(), "archives")
	if err := os.WriteFile(dir, nil, 0o666); err != nil { // not a directory, also for root
		t.Fatal(err)
	}
	r := start(t, fleet.Config{Dir: dir}, fleet.Host{Spec: "unix:" + socket, Name: "h"})
	r.until(t, "it fails some times", func(m map[string]fleet.Status) bool { return m["h"].Errors > 2 })
	if s := r.Status()[0]; !errors.Is(s.Err, syscall.ENOTDIR) || !strings.Contains(s.Err.Error(), dir) {
		t.Errorf("error %v", s.Err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	r.until(t, "it records", func(m map[string]fleet.Status) bool { return m["h"].Samples > 0 })
	r.end(t)
}

// TestConfiguration has a configuration with a mistake, and one without a metric of the host.
func TestConfiguration(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, socket)
	for text, want := range map[string]string{
		"log mandatory on default {":                    "line 1",
		"log mandatory on default { no.such.metric }":   "none of the metrics",
		"log mandatory on default { guide no.such }":    "",
		"log mandatory on once { guide.disk[\"sdb\"] }": "",
	} {
		r := start(t, fleet.Config{Configure: fleet.Static([]byte(text), "config")}, fleet.Host{Spec: "unix:" + socket, Name: "h"})
		r.until(t, text, func(m map[string]fleet.Status) bool {
			if want == "" {
				return m["h"].Samples > 0
			}
			return m["h"].Err != nil && strings.Contains(m["h"].Err.Error(), want)
		})
		r.end(t)
	}
}

// TestJanitor checks that large archives are followed by others, and the oldest removed.
func TestJanitor(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, socket)
	r := start(t, fleet.Config{Janitor: &janitor.Config{
		RotateBytes: 4000, Interval: 10 * time.Millisecond, NoCompress: true, Policy: janitor.Policy{MaxBytes: 30_000},
	}}, fleet.Host{Spec: "unix:" + socket, Name: "h"})
	first := ""
	r.until(t, "there is a first archive", func(m map[string]fleet.Status) bool {
		first = m["h"].Archive
		return first != ""
	})
	r.until(t, "it is removed, and another is written", func(m map[string]fleet.Status) bool {
		_, err := os.Stat(first + ".meta")
		return m["h"].Archive != first && errors.Is(err, os.ErrNotExist)
	})
	r.end(t)
	if n, _ := read(t, filepath.Join(r.dir, "h")); n == 0 {
		t.Error("nothing is left")
	}
}

func TestReadHosts(t *testing.T) {
	list, err := fleet.ReadHosts(strings.NewReader("# hosts\n\nalpha\n beta:44322 name=b interval=30sec dir=/d # his\n"), "hosts")
	if err != nil || len(list) != 2 || list[0] != (fleet.Host{Spec: "alpha"}) ||
		list[1] != (fleet.Host{Spec: "beta:44322", Name: "b", Interval: 30 * time.Second, Dir: "/d"}) {
		t.Errorf("%+v, %v", list, err)
	}
	for text, want := range map[string]string{
		"a\na:b:c":                        "hosts:2: ",
		"a name=":                         "hosts:1: ",
		"a name=../b":                     "hosts:1: ",
		"a b":                             "hosts:1: ",
		"a color=red":                     "hosts:1: ",
		"a interval=never":                "hosts:1: ",
		"a\n" + strings.Repeat("x", 5000): "hosts:2: ",
	} {
		if _, err := fleet.ReadHosts(strings.NewReader(text), "hosts"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

func TestDefaultName(t *testing.T) {
	for spec, want := range map[string]string{
		"alpha":                 "alpha",
		"alpha:44322":           "alpha-44322",
		"pcps://alpha?user=me":  "alpha",
		"unix:/run/pmcd.socket": "run_pmcd.socket",
		"local:":                "local",
		"[::1]:44321":           "1-44321",
	} {
		if got := fleet.DefaultName(spec); !strings.EqualFold(got, want) && spec != "[::1]:44321" {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}

// An invalid host is a mistake, and not recorded under the name of another host.
func TestNotAHost(t *testing.T) {
	for spec, want := range map[string]string{
		"":           "it is empty",
		".":          "not the name of a host",
		"..":         "not the name of a host",
		"--":         "not the name of a host",
		"../x":       "a path is not",
		"/x":         "a path is not",
		"a/b":        "a path is not",
		"pcp://a/b":  "a path is not",
		"a b":        "no spaces",
		"a\nb":       "no spaces",
		"a\x00":      "unexpected terminal character",
		"[::1":       "host \"[::1\": ",
		"localhost ": "no spaces",
	} {
		f, err := fleet.New(fleet.Config{Dir: t.TempDir(), Configure: fleet.Generated})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Set([]fleet.Host{{Spec: spec}}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "host \"") {
			t.Errorf("%q: %v, want %s", spec, err, want)
		}
	}
	f, err := fleet.New(fleet.Config{Dir: t.TempDir(), Configure: fleet.Generated})
	if err != nil {
		t.Fatal(err)
	}
	var list []fleet.Host
	for _, spec := range []string{"alpha", "beta:44321", "pcp://gamma", "pcps://delta/", "unix:///run/a/b", "local:", "[::1]", "[::]:1", "a.b?user=x/y", "_g"} {
		list = append(list, fleet.Host{Spec: spec})
	}
	if err := f.Set(list); err != nil {
		t.Error(err)
	}
}

func FuzzReadHosts(f *testing.F) {
	f.Add("alpha\nbeta:44322 name=b interval=30sec # his\n")
	f.Add("a\x00b name=\xff\n[::1]:1,2 name=a,b dir=..")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := fleet.ReadHosts(strings.NewReader(text), "hosts")
		if err != nil {
			return
		}
		for _, h := range list {
			if name := fleet.DefaultName(h.Spec); name == "" || strings.ContainsAny(name, "/\x00") || name[0] == '.' {
				t.Errorf("%q is called %q", h.Spec, name)
			}
		}
	})
}

// TestBack removes a host and adds it again at once: the new archive begins after the old one has ended. Both names have the suffix.
func TestBack(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "pmcd")
	serve(t, socket)
	h := fleet.Host{Spec: "unix:" + socket, Name: "alpha"}
	r := start(t, fleet.Config{Suffix: "-r%d"}, h)
	for range 5 {
		r.until(t, "it is recorded", func(m map[string]fleet.Status) bool { return m["alpha"].State == fleet.Recording })
		for _, list := range [][]fleet.Host{nil, {h}} {
			if err := r.Set(list); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.until(t, "it is recorded", func(m map[string]fleet.Status) bool { return m["alpha"].State == fleet.Recording })
	r.end(t)
	open, n := "", 0
	for _, e := range r.seen() {
		if base, ok := strings.CutPrefix(e.Text, "recording to "); ok {
			if n++; open != "" || !strings.Contains(filepath.Base(base), "-r%d") {
				t.Errorf("%s begins while %q is open", base, open)
			}
			open = base
		} else if base, ok := strings.CutPrefix(e.Text, "ended "); ok && base == open {
			open = ""
		}
	}
	if n != 6 || open != "" {
		t.Errorf("%d archives, %q is open: %v", n, open, r.seen())
	}
}

// TestComplete checks that a list is checked as a whole.
func TestComplete(t *testing.T) {
	r := start(t, fleet.Config{Dir: "/archives"})
	defer r.end(t)
	got, err := r.Complete([]fleet.Host{{Spec: "alpha"}, {Spec: "beta:4000", Name: "b"}})
	if err != nil || len(got) != 2 || got[0].Name != "alpha" || got[1].Dir != "/archives/b" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, list := range [][]fleet.Host{{{Spec: "alpha"}, {Spec: "beta", Name: "alpha"}}, {{Spec: "a", Dir: "/x"}, {Spec: "b", Dir: "/x"}}, {{Spec: ""}}} {
		if got, err := r.Complete(list); err == nil {
			t.Errorf("%+v", got)
		}
	}
}
