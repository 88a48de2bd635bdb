package pmie

import (
	"context"
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

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/pmapi"
)

// A line is the connection to a host in a test: it can hang, garble data, or be down.
type line struct {
	socket string
	pipe   bool // a connection is a net.Pipe, which cannot be read without waiting, not a socket

	mu    sync.Mutex
	state lineState
	moved chan struct{} // closed when state changes
	conns []net.Conn
}

type lineState int

const (
	works lineState = iota
	hangs
	gone
	garbles
)

func newLine(socket string) *line { return &line{socket: socket, moved: make(chan struct{})} }

// set changes the state of the line. Data held up is sent, unless the line is down.
func (l *line) set(s lineState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	close(l.moved)
	l.moved = make(chan struct{})
	if s == gone {
		for _, c := range l.conns {
			c.Close()
		}
		l.conns = nil
	}
}

// now waits while the line hangs and returns its state.
func (l *line) now() lineState {
	for {
		l.mu.Lock()
		s, moved := l.state, l.moved
		l.mu.Unlock()
		if s != hangs {
			return s
		}
		<-moved
	}
}

func (l *line) dial(context.Context, string, string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == gone {
		return nil, syscall.ECONNREFUSED
	}
	far, err := net.Dial("unix", l.socket)
	if err != nil {
		return nil, err
	}
	near, ours := net.Pipe()
	if !l.pipe {
		if near, ours, err = socketPair(); err != nil {
			return nil, err
		}
	}
	l.conns = append(l.conns, far, near, ours)
	relay := func(to, from net.Conn, back bool) {
		defer to.Close()
		b := make([]byte, 1<<16)
		for {
			n, err := from.Read(b)
			if n > 0 && back && l.now() == garbles {
				for i := range b[:n] {
					b[i] ^= 0xa5
				}
			}
			if n > 0 {
				if _, err := to.Write(b[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go relay(far, ours, false)
	go relay(ours, far, true)
	return near, nil
}

// socketPair returns the ends of a connection between sockets.
func socketPair() (a, b net.Conn, err error) {
	dir, err := os.MkdirTemp("", "pair")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return nil, nil, err
	}
	defer ln.Close()
	if a, err = net.Dial("unix", ln.Addr().String()); err != nil {
		return nil, nil, err
	}
	if b, err = ln.Accept(); err != nil {
		a.Close()
	}
	return a, b, err
}

// TestHostsThatHang makes a quarter of many hosts hang, vanish or send garbage. The rules of the
// others are evaluated as before, theirs have no value, and they recover.
func TestHostsThatHang(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	value := new(atomic.Uint32)
	value.Store(80)
	defer serve(t, socket, value)()
	lines := map[string]*line{}
	var rules strings.Builder
	n := longtest.N(24, 200)
	for i := range n {
		name := fmt.Sprintf("h%d", i)
		lines[name] = newLine(socket)
		lines[name].pipe = i%8 >= 4
		fmt.Fprintf(&rules, "some_inst guide.busy :%s > 50 -> print \"%s\";\n", name, name)
	}
	var mu sync.Mutex
	done := map[string]int{}
	cfg := Config{
		Host: "h0", Err: io.Discard, Interval: 100 * time.Millisecond,
		Dial: func(ctx context.Context, spec string) (*pmapi.Context, error) {
			// A request never times out by itself here.
			d := pmapi.Dialer{Reconnect: []time.Duration{time.Millisecond}, ConnectTimeout: -1, RequestTimeout: -1, DialContext: lines[spec].dial}
			return d.Dial(ctx, "unix:"+socket)
		},
		Act: func(_ context.Context, a deliver.Action) error {
			mu.Lock()
			defer mu.Unlock()
			done[a.Text]++
			return nil
		},
	}
	e, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if sound, err := e.Load(t.Context(), strings.NewReader(rules.String()), "rules"); err != nil || !sound {
		t.Fatal(sound, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { e.Run(ctx) })
	defer run.Wait()
	defer cancel()
	counts := func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		c := map[string]int{}
		for name, n := range done {
			c[name] = n
		}
		return c
	}
	bad := func(i int) bool { return i%4 == 3 }
	// more waits until the rules of hosts were true n more times.
	more := func(what string, n int, these func(i int) bool) {
		t.Helper()
		first := counts()
		for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			c, missing := counts(), ""
			for name := range lines {
				var i int
				fmt.Sscanf(name, "h%d", &i)
				if these(i) && c[name] < first[name]+n {
					missing += " " + name
				}
			}
			if missing == "" {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("%s: no values of%s", what, missing)
			}
		}
	}
	all := func(int) bool { return true }
	good := func(i int) bool { return !bad(i) }
	set := func(s lineState) {
		for i := range n {
			if bad(i) {
				lines[fmt.Sprintf("h%d", i)].set(s)
			}
		}
	}
	defer set(works)
	more("at first", 2, all)
	for _, c := range []struct {
		what  string
		state lineState
	}{{"hosts hang", hangs}, {"hosts are gone", gone}, {"hosts send garbage", garbles}} {
		set(c.state)
		more(c.what, 2, good) // answers under way have arrived by then
		before := counts()
		more(c.what, 3, good)
		after := counts()
		for i := range n {
			if name := fmt.Sprintf("h%d", i); bad(i) && after[name] != before[name] {
				t.Errorf("%s: the rule of %s was true %d times", c.what, name, after[name]-before[name])
			}
		}
		set(works)
		more("after "+c.what, 2, all)
	}
}

// TestHostsThatHangAtFirst reads rules while a quarter of many hosts does not answer: the rules of the others are
// evaluated without waiting for each of those, and theirs when the hosts answer.
func TestHostsThatHangAtFirst(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	value := new(atomic.Uint32)
	value.Store(80)
	defer serve(t, socket, value)()
	n := longtest.N(24, 200)
	lines := map[string]*line{}
	var rules strings.Builder
	for i := range n {
		name := fmt.Sprintf("h%d", i)
		lines[name] = newLine(socket)
		lines[name].pipe = i%8 >= 4
		if i%4 == 3 {
			lines[name].set(hangs)
		}
		// Each rule has its own host, and two metrics.
		fmt.Fprintf(&rules, "some_inst guide.busy :%s > 50 && all_inst guide.busy :%s >= 0 -> print \"%s\";\n", name, name, name)
	}
	told := make(chan string, 100*n)
	e, err := New(t.Context(), Config{
		Host: "h0", Err: io.Discard, Interval: 100 * time.Millisecond, Timeout: time.Second,
		Dial: func(ctx context.Context, spec string) (*pmapi.Context, error) {
			d := pmapi.Dialer{Reconnect: []time.Duration{time.Millisecond}, ConnectTimeout: -1, RequestTimeout: -1, DialContext: lines[spec].dial}
			return d.Dial(ctx, "unix:"+socket)
		},
		Act: func(ctx context.Context, a deliver.Action) error {
			select {
			case told <- a.Text:
			default:
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	// Without a limit for all of them this would never end: requests here have no limit.
	if sound, err := e.Load(t.Context(), strings.NewReader(rules.String()), "rules"); err != nil || !sound {
		t.Fatal(sound, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { e.Run(ctx) })
	defer run.Wait()
	defer cancel()
	seen := map[string]bool{}
	for len(seen) < n-n/4 {
		name := <-told
		var i int
		if fmt.Sscanf(name, "h%d", &i); i%4 == 3 {
			t.Fatalf("the rule of %s is true", name)
		}
		seen[name] = true
	}
	for _, l := range lines {
		l.set(works)
	}
	for len(seen) < n {
		seen[<-told] = true
	}
}
