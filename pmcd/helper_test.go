package pmcd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent"
	spec "github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A testServer is a server that a test runs.
type testServer struct {
	*pmcd.Server
	Socket string
	TCP    string
	Log    *logBuffer

	cancel context.CancelFunc
	done   chan error
}

// A logBuffer collects a log.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lines returns the lines that hold text.
func (l *logBuffer) lines(text string) (found []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// waitFor waits until the log holds text.
func (l *logBuffer) waitFor(t testing.TB, text string) {
	t.Helper()
	eventually(t, "log line with "+text, func() bool { return len(l.lines(text)) > 0 })
}

// eventually waits for something that happens soon.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: did not happen", what)
		}
	}
}

// tempDir is t.TempDir with a path short enough for sockets.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pmcd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start runs a server with cfg on its own socket and port. It is stopped at the
// end of the test, unless the test stops it.
func start(t testing.TB, cfg pmcd.Config) *testServer {
	t.Helper()
	dir := tempDir(t)
	s := &testServer{Socket: filepath.Join(dir, "pmcd.socket"), Log: new(logBuffer), done: make(chan error, 1)}
	unix, err := net.Listen("unix", s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.TCP = tcp.Addr().String()
	cfg.Listeners = []net.Listener{unix, tcp}
	if cfg.Log == nil {
		cfg.Log = slog.New(daemonlog.NewHandler(s.Log, "pmcd", slog.LevelInfo))
	}
	if cfg.AgentOutput == nil {
		cfg.AgentOutput = s.Log
	}
	if cfg.Dir == "" {
		cfg.Dir = dir
	}
	// An agent must not time out because the machine is busy.
	if cfg.AgentTimeout == 0 {
		cfg.AgentTimeout = time.Minute
	}
	if cfg.CredsTimeout == 0 {
		cfg.CredsTimeout = time.Minute
	}
	started := make(chan struct{})
	cfg.Started = func() { close(started) }
	if s.Server, err = pmcd.New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.done <- s.Run(ctx) }()
	t.Cleanup(func() {
		s.stop(t)
		if t.Failed() {
			t.Logf("log:\n%s", s.Log)
		}
	})
	select {
	case <-started:
	case <-time.After(time.Minute):
		t.Fatal("server did not start")
	}
	return s
}

func (s *testServer) stop(t testing.TB) {
	t.Helper()
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(time.Minute):
		t.Errorf("server did not stop")
	}
}

// builtin is the spec of one of our own agents.
func builtin(t testing.TB, name string) pmcd.AgentSpec {
	t.Helper()
	b, ok := agent.Named(name)
	if !ok {
		t.Fatalf("no agent %q", name)
	}
	return pmcd.AgentSpec{Name: b.Name, Domain: b.Domain, Open: func(s *pmcd.Server) (pmda.Agent, error) {
		return b.Open(spec.Env{Host: s.Host(), Version: "test"})
	}}
}

// inProcess is the spec of an agent that the test made.
func inProcess(name string, domain int, a pmda.Agent) pmcd.AgentSpec {
	return pmcd.AgentSpec{Name: name, Domain: domain, Agent: a}
}

// A rawClient speaks PDUs with a server.
type rawClient struct {
	t    testing.TB
	conn net.Conn
	pdus *wire.Reader
	info wire.Info
}

// dial connects and shakes hands.
func dial(t testing.TB, network, address string) *rawClient {
	t.Helper()
	c := dialOnly(t, network, address)
	c.greet()
	c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	return c
}

func dialOnly(t testing.TB, network, address string) *rawClient {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	c := &rawClient{t: t, conn: conn, pdus: wire.NewReader(conn)}
	c.pdus.Max = wire.MaxPDU
	return c
}

// greet reads the server's first PDU.
func (c *rawClient) greet() {
	c.t.Helper()
	var e wire.Error
	c.expect(&e)
	if e.Code != 0 || !e.Extended {
		c.t.Fatalf("server greets with %+v", e)
	}
	c.info = wire.UnpackInfo(e.Info)
}

func (c *rawClient) send(p wire.PDU) {
	c.t.Helper()
	c.write(wire.Append(nil, 0, p))
}

func (c *rawClient) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// receive reads the next PDU.
func (c *rawClient) receive() wire.PDU {
	c.t.Helper()
	h, body, err := c.pdus.Next()
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	p, err := wire.Decode(h, body)
	if err != nil {
		c.t.Fatalf("decode %v: %v", h.Type, err)
	}
	return p
}

// expect reads the next PDU into p.
func (c *rawClient) expect(p wire.PDU) {
	c.t.Helper()
	h, body, err := c.pdus.Next()
	if err != nil {
		c.t.Fatalf("read %v: %v", p.Type(), err)
	}
	if h.Type != p.Type() {
		other, _ := wire.Decode(h, body)
		c.t.Fatalf("got %v %+v, want %v", h.Type, other, p.Type())
	}
	if err := p.DecodeBody(body); err != nil {
		c.t.Fatalf("decode %v: %v", h.Type, err)
	}
}

// ask sends a request and reads the reply, whole.
func (c *rawClient) ask(p wire.PDU) []byte {
	c.t.Helper()
	c.send(p)
	return c.raw()
}

// raw reads a PDU as it is.
func (c *rawClient) raw() []byte {
	c.t.Helper()
	head := make([]byte, wire.HeaderSize)
	if _, err := io.ReadFull(c.conn, head); err != nil {
		c.t.Fatalf("read: %v", err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head))
	copy(b, head)
	if _, err := io.ReadFull(c.conn, b[len(head):]); err != nil {
		c.t.Fatalf("read: %v", err)
	}
	return b
}

// fetch sends an all-inclusive profile and fetches.
func (c *rawClient) fetch(ids ...pcp.PMID) *wire.Result {
	c.t.Helper()
	c.send(&wire.Profile{})
	return c.fetchAgain(ids...)
}

// fetchAgain fetches with the profile that was sent before.
func (c *rawClient) fetchAgain(ids ...pcp.PMID) *wire.Result {
	c.t.Helper()
	c.send(&wire.Fetch{HighRes: true, PMIDs: ids})
	res := &wire.Result{HighRes: true}
	c.expect(res)
	return res
}

// gone waits until the server closes the connection, and returns the PDUs sent
// before.
func (c *rawClient) gone() []wire.PDU {
	c.t.Helper()
	var last []wire.PDU
	for {
		h, body, err := c.pdus.Next()
		if err != nil {
			if err == io.EOF || isReset(err) {
				return last
			}
			c.t.Fatalf("connection should have been closed: %v", err)
		}
		p, _ := wire.Decode(h, body)
		last = append(last, p)
	}
}

func isReset(err error) bool {
	return strings.Contains(err.Error(), "connection reset") || strings.Contains(err.Error(), "broken pipe")
}
