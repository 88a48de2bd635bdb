package trace

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

// A fakeAgent keeps the records it receives.
type fakeAgent struct {
	t        testing.TB
	listener net.Listener
	greeting Ack
	answer   func(Record) Ack // nil acknowledges
	mute     atomic.Bool      // it answers nothing

	mu      sync.Mutex
	records []string
	count   int
	conns   []net.Conn
	wg      sync.WaitGroup
}

func newAgent(t testing.TB, address string) *fakeAgent {
	t.Helper()
	a := &fakeAgent{t: t, greeting: Version}
	var err error
	for range 100 { // the port of an agent that has just ended
		if a.listener, err = net.Listen("tcp", address); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.wg.Go(func() {
		for {
			conn, err := a.listener.Accept()
			if err != nil {
				return
			}
			a.mu.Lock()
			a.conns = append(a.conns, conn)
			a.mu.Unlock()
			a.wg.Go(func() { a.serve(conn) })
		}
	})
	t.Cleanup(a.stop)
	return a
}

func (a *fakeAgent) serve(conn net.Conn) {
	defer conn.Close()
	if a.mute.Load() {
		io.Copy(io.Discard, conn)
		return
	}
	conn.Write(a.greeting.Append(nil, 1))
	r := NewReader(conn, 4096)
	for {
		typ, pdu, err := r.Next()
		if err != nil {
			return
		}
		var rec Record
		if err := rec.Decode(pdu); typ != TypeData || err != nil {
			a.t.Errorf("PDU of type %#x: %v", typ, err)
			return
		}
		a.mu.Lock()
		a.count++
		if len(a.records) < 10_000 {
			a.records = append(a.records, fmt.Sprintf("%d %s %v %v", rec.Kind, rec.Tag, rec.Value, rec.Sync))
		}
		a.mu.Unlock()
		ack := Ack(rec.Kind)
		if a.answer != nil {
			ack = a.answer(rec)
		}
		if rec.Sync && !a.mute.Load() {
			conn.Write(ack.Append(nil, 1))
		}
	}
}

// stop ends the agent and its connections.
func (a *fakeAgent) stop() {
	a.listener.Close()
	a.mu.Lock()
	for _, c := range a.conns {
		c.Close()
	}
	a.mu.Unlock()
	a.wg.Wait()
}

func (a *fakeAgent) got() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.records)
}

func (a *fakeAgent) total() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

func (a *fakeAgent) addr() *net.TCPAddr { return a.listener.Addr().(*net.TCPAddr) }

// none is an environment without variables.
func none() *config.Config { return config.New(func(string) string { return "" }) }

func (a *fakeAgent) config() Config {
	return Config{Host: "127.0.0.1", Port: a.addr().Port, Config: none()}
}

func mustNew(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

func TestCalls(t *testing.T) {
	for _, state := range []State{StateNone, StateAsync} {
		a := newAgent(t, "127.0.0.1:0")
		cfg := a.config()
		cfg.State = state
		c := mustNew(t, cfg)
		must(t, c.Point("here"))
		must(t, c.Observe("seen", 1.5))
		must(t, c.Counter("bytes", 1e9))
		must(t, c.Record("took", 250*time.Millisecond))
		must(t, c.Point(strings.Repeat("x", MaxTag)))
		must(t, c.Close())
		sync := state == StateNone
		want := []string{
			fmt.Sprintf("2 here -1 %v", sync), fmt.Sprintf("3 seen 1.5 %v", sync),
			fmt.Sprintf("4 bytes 1e+09 %v", sync), fmt.Sprintf("1 took 0.25 %v", sync),
			fmt.Sprintf("2 %s -1 %v", strings.Repeat("x", MaxTag), sync),
		}
		until(t, "records", func() bool { return len(a.got()) == len(want) })
		if diff := cmp.Diff(want, a.got()); diff != "" {
			t.Errorf("state %d: records (-want, +got):\n%s", state, diff)
		}
		if err := c.Point("late"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
		if err := c.Begin("late"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Begin after Close: %v", err)
		}
		must(t, c.Close())
	}
}

func TestTags(t *testing.T) {
	c := mustNew(t, Config{State: StateNoAgent, Config: none()})
	f := func(tag string, want error) {
		t.Helper()
		_, startErr := c.Start(tag)
		for i, err := range []error{c.Begin(tag), c.Point(tag), c.Observe(tag, 1), c.Counter(tag, 1), c.Record(tag, 1), startErr} {
			if err != want {
				t.Errorf("tag of %d bytes, call %d: %v, want %v", len(tag), i, err, want)
			}
		}
	}
	f("", ErrTagName)
	f("\x00x", ErrTagName)
	f("x", nil)
	f(strings.Repeat("x", MaxTag), nil)
	f(strings.Repeat("x", MaxTag+1), ErrTagLength)
}

// TestTransactions nests and overlaps transactions, by tag and by handle.
func TestTransactions(t *testing.T) {
	a := newAgent(t, "127.0.0.1:0")
	c := mustNew(t, a.config())
	f := func(got, want error) {
		t.Helper()
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	f(c.End("a"), ErrNoSuchTag)
	f(c.Abort("a"), ErrNoSuchTag)
	f(c.Begin("a"), nil)
	f(c.Begin("b"), nil)
	f(c.Begin("a"), ErrInProgress)
	time.Sleep(20 * time.Millisecond)
	f(c.End("b"), nil)
	time.Sleep(20 * time.Millisecond)
	f(c.End("a"), nil)
	f(c.End("a"), ErrNoProgress)
	f(c.Begin("b"), nil)
	f(c.Abort("b"), nil)
	f(c.End("b"), ErrNoProgress)
	f(c.Begin("b"), nil)
	f(c.Point("b"), nil) // a tag of two kinds, as in C

	outer, err := c.Start("same")
	must(t, err)
	inner, err := c.Start("same")
	must(t, err)
	f(outer.End(), nil)
	f(inner.End(), nil)
	f(inner.End(), ErrNoProgress)
	f(inner.Abort(), ErrNoProgress)
	ctx, first, err := c.NewContext(t.Context(), "first")
	must(t, err)
	nested, second, err := c.NewContext(ctx, "second")
	must(t, err)
	if FromContext(ctx) != first || FromContext(nested) != second || FromContext(t.Context()) != nil {
		t.Error("contexts carry other transactions")
	}
	f(FromContext(nested).End(), nil)
	f(FromContext(ctx).Abort(), nil)
	if first.Tag() != "" || second.Tag() != "" {
		t.Errorf("after their end the transactions are called %q and %q", first.Tag(), second.Tag())
	}
	if _, _, err := c.NewContext(ctx, ""); err != ErrTagName {
		t.Errorf("NewContext without a tag: %v", err)
	}
	var order []string
	var took []float64
	for _, r := range a.got() {
		var kind int
		var tag string
		var v float64
		fmt.Sscan(r, &kind, &tag, &v)
		order = append(order, fmt.Sprint(kind, " ", tag))
		took = append(took, v)
	}
	if diff := cmp.Diff([]string{"1 b", "1 a", "2 b", "1 same", "1 same", "1 second"}, order); diff != "" {
		t.Errorf("records (-want, +got):\n%s", diff)
	}
	if took[0] < .02 || took[0] > 5 || took[1] < .04 || took[1] < took[0] {
		t.Errorf("times %v", took)
	}
}

func TestConfig(t *testing.T) {
	f := func(vars string, want string) {
		t.Helper()
		env := map[string]string{}
		for _, v := range strings.Fields(vars) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		c, err := New(Config{Config: config.NewLookup(func(name string) (string, bool) { v, ok := env[name]; return v, ok })})
		got := ""
		if err != nil {
			if !errors.Is(err, ErrEnvFormat) {
				t.Errorf("%s: %v is not ErrEnvFormat", vars, err)
			}
			got = err.Error()
		} else {
			got = fmt.Sprint(c.addr, " ", c.timeout, " ", c.requestTimeout, " ", c.reconnect, " ", c.State())
		}
		if !strings.Contains(got, want) || want == "" {
			t.Errorf("%s: %q, want %q", vars, got, want)
		}
	}
	f("", "localhost:4323 3s 10s [5s 10s 20s 40s 1m20s] 0")
	f("PCP_TRACE_HOST=far PCP_TRACE_PORT=0x10 PCP_TRACE_TIMEOUT=1.5 PCP_TRACE_REQTIMEOUT=2e1 PCP_TRACE_RECONNECT=1,2 PCP_TRACE_NOAGENT=", "far:16 1.5s 20s [1s 2s] 16")
	f("PCP_TRACE_HOST=::1", "[::1]:4323")
	f("PCP_TRACE_PORT=http", `PCP_TRACE_PORT: "http" is not a port`)
	f("PCP_TRACE_PORT=65536", `"65536" is not a port`)
	f("PCP_TRACE_PORT=-1", `"-1" is not a port`)
	f("PCP_TRACE_TIMEOUT=x", "PCP_TRACE_TIMEOUT")
	f("PCP_TRACE_TIMEOUT=nan", "PCP_TRACE_TIMEOUT")
	f("PCP_TRACE_TIMEOUT=1e99", "PCP_TRACE_TIMEOUT")
	f("PCP_TRACE_REQTIMEOUT=-1", "PCP_TRACE_REQTIMEOUT")
	f("PCP_TRACE_RECONNECT=1,,2", "PCP_TRACE_RECONNECT")
	f("PCP_TRACE_RECONNECT=0", "PCP_TRACE_RECONNECT")
	f("PCP_TRACE_RECONNECT="+strings.Repeat("1,", 100)+"1", "PCP_TRACE_RECONNECT")
	if _, err := New(Config{Port: 1 << 16, Config: none()}); err == nil {
		t.Error("a port of 65536 is accepted")
	}
}

func TestSetState(t *testing.T) {
	a := newAgent(t, "127.0.0.1:0")
	c := mustNew(t, a.config())
	f := func(s, want State, fails bool) {
		t.Helper()
		old, err := c.SetState(s)
		if old != want || (err != nil) != fails || fails && !errors.Is(err, pcp.Error(-int32(syscall.EINVAL))) {
			t.Errorf("SetState(%d) = %d, %v, want %d", s, old, err, want)
		}
	}
	f(StateAPI, StateNone, false)
	f(StateAsync, StateAPI, false)
	f(StateNone, StateAsync, false)
	must(t, c.Point("x"))
	f(StateComms, StateNone, false)
	f(StateAsync, StateComms, true)
	f(StateNone, StateComms, false)

	cfg := a.config()
	cfg.State = StateAsync
	c = mustNew(t, cfg)
	must(t, c.Point("x"))
	f(StateAPI, StateAsync, false)
	f(StateNone, StateAPI|StateAsync, false) // it stays asynchronous
	f(StateAsync, StateAsync, false)
}

// TestReconnect ends and restarts the agent.
func TestReconnect(t *testing.T) {
	for _, state := range []State{StateNone, StateAsync} {
		a := newAgent(t, "127.0.0.1:0")
		cfg := a.config()
		cfg.State, cfg.Reconnect = state, []time.Duration{time.Second}
		c := mustNew(t, cfg)
		must(t, c.Point("before"))
		must(t, c.Flush(t.Context()))
		time.Sleep(2 * youth)
		a.stop()
		b := newAgent(t, a.addr().String())
		if state == StateAsync {
			until(t, "the end of the connection", func() bool { c.asyn.mu.Lock(); defer c.asyn.mu.Unlock(); return !c.asyn.up })
		}
		must(t, c.Point("after a restart"))
		must(t, c.Flush(t.Context()))
		until(t, "the record", func() bool { return len(b.got()) == 1 })
		time.Sleep(2 * youth)
		b.stop()
		if state == StateAsync {
			until(t, "the end of the connection", func() bool { c.asyn.mu.Lock(); defer c.asyn.mu.Unlock(); return !c.asyn.up })
		}

		err := c.Point("without an agent")
		if state == StateAsync {
			must(t, err)
			err = c.Flush(t.Context())
			if c.Lost() != 1 {
				t.Errorf("%d records are lost, want 1", c.Lost())
			}
		}
		if !errors.Is(err, ErrIPC) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("state %d: without an agent: %v", state, err)
		}
		d := newAgent(t, a.addr().String())
		if err := c.Point("too early"); !errors.Is(err, ErrIPC) {
			t.Errorf("state %d: before the pause has passed: %v", state, err)
		}
		if err := c.Connect(t.Context()); !errors.Is(err, ErrIPC) {
			t.Errorf("state %d: Connect before the pause has passed: %v", state, err)
		}
		time.Sleep(cfg.Reconnect[0])
		must(t, c.Connect(t.Context()))
		must(t, c.Point("again"))
		must(t, c.Flush(t.Context()))
		until(t, "the record after the pause", func() bool { return len(d.got()) == 1 })
	}
}

// TestBackoff checks the pauses.
func TestBackoff(t *testing.T) {
	var b backoff
	pauses := []time.Duration{1, 2, 3}
	for i, want := range []time.Duration{1, 2, 3, 3, 3} {
		if got := b.failed(pauses, ErrIPC); got != want {
			t.Errorf("pause %d is %v, want %v", i, got, want)
		}
	}
}

// TestHang has an agent that stops answering: no call exceeds its time limit.
func TestHang(t *testing.T) {
	a := newAgent(t, "127.0.0.1:0")
	cfg := a.config()
	cfg.RequestTimeout, cfg.Timeout = 100*time.Millisecond, 100*time.Millisecond
	c := mustNew(t, cfg)
	must(t, c.Point("x"))
	a.mute.Store(true)
	start := time.Now()
	var wg sync.WaitGroup
	var timeouts atomic.Int32
	for range 50 { // they wait together, not one after the other
		wg.Go(func() {
			if errors.Is(c.Point("x"), ErrTimeout) {
				timeouts.Add(1)
			}
		})
	}
	wg.Wait()
	if took := time.Since(start); took > 2*time.Second || timeouts.Load() != 50 {
		t.Errorf("50 calls took %v, and %d timed out", took, timeouts.Load())
	}
	start = time.Now()
	if err := mustNew(t, cfg).Point("x"); !errors.Is(err, ErrTimeout) || time.Since(start) > 5*time.Second {
		t.Errorf("without a greeting: %v after %v", err, time.Since(start))
	}
	cfg.State, cfg.Timeout = StateAsync, 2*time.Second
	c = mustNew(t, cfg)
	start = time.Now()
	must(t, c.Point("x"))
	if took := time.Since(start); took > time.Second {
		t.Errorf("an asynchronous call took %v", took)
	}
	if err := c.Connect(t.Context()); !errors.Is(err, ErrTimeout) {
		t.Errorf("Connect: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	cfg.Timeout = 5 * time.Second
	c = mustNew(t, cfg)
	if err := c.Connect(ctx); !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Connect with a context that is done: %v", err)
	}
}

// TestFull has an agent that does not read, until the buffer is full.
func TestFull(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conn.(*net.TCPConn).SetReadBuffer(4096)
			conn.Write(Ack(Version).Append(nil, 1))
			t.Cleanup(func() { conn.Close() })
		}
	}()
	c := mustNew(t, Config{
		Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port, Config: none(), State: StateAsync,
		Buffer: 10_000, RequestTimeout: 300 * time.Millisecond,
	})
	must(t, c.Connect(t.Context()))
	calls, full, slowest := uint64(0), 0, time.Duration(0)
	until(t, "the failure of the connection", func() bool {
		for {
			start := time.Now()
			err = c.Point("a tag of some length, so that buffers fill sooner")
			slowest = max(slowest, time.Since(start))
			if err == errFull {
				full++
			}
			if err != nil {
				return errors.Is(err, ErrTimeout)
			}
			calls++
		}
	})
	if full == 0 || slowest > 2*time.Second {
		t.Errorf("the buffer was full %d times; the slowest call took %v", full, slowest)
	}
	if err := c.Flush(t.Context()); !errors.Is(err, ErrTimeout) {
		t.Errorf("Flush: %v", err)
	}
	if lost := c.Lost(); lost == 0 || lost > calls {
		t.Errorf("%d of %d records are lost", lost, calls)
	}
}

// TestHostileAgents has agents that send invalid answers.
func TestHostileAgents(t *testing.T) {
	ack := func(a Ack) []byte { return a.Append(nil, 1) }
	greeting := ack(Version)
	f := func(name string, want Error, greeting, reply []byte) {
		t.Helper()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer ln.Close()
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					conn.Write(greeting)
					if reply != nil {
						conn.Read(make([]byte, 1024))
						conn.Write(reply)
						conn.Read(make([]byte, 1024))
					}
				}()
			}
		}()
		cfg := Config{Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port, Config: none(), Timeout: 500 * time.Millisecond, RequestTimeout: 500 * time.Millisecond}
		err = mustNew(t, cfg).Point("x")
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		cfg.State = StateAsync
		c := mustNew(t, cfg)
		if err := c.Connect(t.Context()); err != nil && !errors.Is(err, want) {
			t.Errorf("%s: asynchronous: %v, want %v", name, err, want)
		}
		c.Point("x")
		c.Close()
	}
	f("closes", ErrIPC, nil, nil)
	f("no permission", ErrPermission, ack(Ack(ErrPermission)), nil)
	f("limit", ErrConnLimit, ack(Ack(ErrConnLimit)), nil)
	f("another version", ErrIPC, ack(9), nil)
	f("garbage", ErrIPC, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), nil)
	f("too large", ErrIPC, []byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0x70, 0x50, 0, 0, 0, 0, 0, 0, 0, 1}, nil)
	f("too small", ErrIPC, []byte{0, 0, 0, 3, 0, 0, 0x70, 0x50, 0, 0, 0, 0, 0, 0, 0, 1}, nil)
	f("a record", ErrIPC, (&Record{Kind: Point, Tag: []byte("x")}).Append(nil, 1, 4), nil)
	f("half a greeting", ErrIPC, greeting[:9], nil)
	f("wrong kind", ErrIPC, greeting, ack(Ack(Counter)))
	f("version refused", ErrVersion, greeting, ack(Ack(ErrVersion)))
	f("no memory", Error(-int32(syscall.ENOMEM)), greeting, ack(-Ack(syscall.ENOMEM)))
	f("longer acknowledgement", ErrIPC, greeting, []byte{0, 0, 0, 20, 0, 0, 0x70, 0x50, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0})
	f("half an acknowledgement", ErrTimeout, greeting, ack(Ack(Point))[:7])
	f("mute", ErrTimeout, greeting, []byte{})
}

// TestDebug checks the output of the flags.
func TestDebug(t *testing.T) {
	a := newAgent(t, "127.0.0.1:0")
	var b bytes.Buffer
	cfg := a.config()
	cfg.State, cfg.Debug = StateAPI|StateComms|StatePDU, &b
	c := mustNew(t, cfg)
	c.pid = 7
	must(t, c.Begin("t"))
	must(t, c.Abort("t"))
	must(t, c.Begin("t"))
	must(t, c.Point("here"))
	for _, want := range []string{
		"pmtracebegin: new transaction 't' (id=0x7)\npmtraceabort: aborting transaction 't' (id=0x7)\npmtracebegin: updating transaction 't'",
		"_pmtracecommon: trace tag 'here' (type=2,value=-1.000000)\n_pmtraceconnect: connecting to PMDA ...\n",
		"_pmtraceconnect: sync protocol setup complete\n_pmtracegetack: awaiting ack ...\n",
		"len=32\n000:       20     7051        7  1050280 bff00000        0 68657265   7e7e7e \n",
		"__pmtracegetPDU: ACK fd=",
		" from=1\n000:       10     7050        1        2 \n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestThousand has a thousand goroutines of two clients call at once.
func TestThousand(t *testing.T) {
	a := newAgent(t, "127.0.0.1:0")
	cfg := a.config()
	synchronous := mustNew(t, cfg)
	cfg.State = StateAsync
	cfg.Buffer = 1 << 20
	asynchronous := mustNew(t, cfg)
	var wg sync.WaitGroup
	for i := range 1000 {
		c := synchronous
		if i%2 == 0 {
			c = asynchronous
		}
		wg.Go(func() {
			for range 5 {
				x, err := c.Start("work")
				if err != nil {
					t.Error(err)
				}
				if err := c.Observe("i", float64(i)); err != nil {
					t.Error(err)
				}
				if err := x.End(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, asynchronous.Flush(t.Context()))
	until(t, "all records", func() bool { return a.total() == 10_000 })
}

// The bytes of both PDUs, as libpcp_trace sends them.
func TestLayout(t *testing.T) {
	r := Record{Kind: Observe, Sync: true, Value: 1.5, Tag: []byte("abcd")}
	if got, want := hex.EncodeToString(r.Append(nil, 258, 4)), "00000020"+"00007051"+"00000102"+"01050380"+"3ff8000000000000"+"61626364007e7e7e"; got != want {
		t.Errorf("record\n%s, want\n%s", got, want)
	}
	if got, want := hex.EncodeToString(Ack(ErrPermission).Append(nil, 1)), "00000010"+"00007050"+"00000001"+"ffffd116"; got != want {
		t.Errorf("acknowledgement %s, want %s", got, want)
	}
	for n := 1; n <= MaxTag; n++ {
		r.Tag = bytes.Repeat([]byte("x"), n)
		for _, align := range []int{syncAlign, asyncAlign} {
			b := r.Append(nil, 1, align)
			var back Record
			if err := back.Decode(b); err != nil || len(b)%align != 0 || len(b) > maxPDU || !cmp.Equal(r, back) {
				t.Fatalf("tag of %d bytes, aligned to %d: %d bytes, %v", n, align, len(b), err)
			}
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for code := 0; code >= -12020; code-- {
		if text := ErrText(code); text == "" || (text == "Unknown error code.") != (code < -12011) {
			t.Errorf("%d: %q", code, text)
		}
	}
}

// TestAsyncAllocs checks that an asynchronous call does not allocate.
func TestAsyncAllocs(t *testing.T) {
	a := newAgent(t, "127.0.0.1:0")
	cfg := a.config()
	cfg.State = StateAsync
	c := mustNew(t, cfg)
	must(t, c.Begin("begun"))
	must(t, c.End("begun"))
	must(t, c.Flush(t.Context()))
	f := func(name string, call func() error) {
		t.Helper()
		for range 3 { // both buffers grow
			for range 1000 {
				must(t, call())
			}
			must(t, c.Flush(t.Context()))
		}
		before := a.total()
		n := testing.AllocsPerRun(100, func() {
			if call() != nil {
				t.Fatal("it failed")
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		must(t, c.Flush(t.Context()))
		until(t, "records", func() bool { return a.total() >= before+100 })
	}
	f("Point", func() error { return c.Point("here") })
	f("Start and End", func() error {
		x, err := c.Start("work")
		if err != nil {
			return err
		}
		return x.End()
	})
	f("Begin and End", func() error {
		if err := c.Begin("begun"); err != nil {
			return err
		}
		return c.End("begun")
	})
}

// BenchmarkAsync measures an asynchronous call; BenchmarkSync a synchronous one.
func BenchmarkAsync(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	defer ln.Close()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		conn.Write(Ack(Version).Append(nil, 1))
		io.Copy(io.Discard, conn)
	}()
	c := mustNew(b, Config{Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port, Config: none(), State: StateAsync, Buffer: 16 << 20})
	must(b, c.Connect(b.Context()))
	b.ReportAllocs()
	full := 0
	for b.Loop() {
		x, err := c.Start("transaction")
		if err == nil {
			err = x.End()
		}
		if err != nil {
			full++
		}
	}
	b.ReportMetric(float64(full), "refused")
}

func BenchmarkSync(b *testing.B) {
	a := newAgent(b, "127.0.0.1:0")
	c := mustNew(b, a.config())
	b.ReportAllocs()
	for b.Loop() {
		must(b, c.Point("here"))
	}
}
