package dbpmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// grace is how long an agent of this process may take to end.
const grace = time.Second

// A conn is the connection to an agent.
type conn struct {
	name    string
	dso     bool // it is part of this process
	pid     int  // if this program started it
	version int  // of the protocol; 0 if the agent has not said

	r  io.Reader
	w  io.Writer
	rd *wire.Reader
	// closers end it, in order.
	closers []func()
}

type deadliner interface {
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// deadline limits reads or writes from now on; 0 means no limit.
func deadline(of any, set func(deadliner, time.Time) error, d time.Duration) {
	if c, ok := of.(deadliner); ok {
		var at time.Time
		if d > 0 {
			at = time.Now().Add(d)
		}
		set(c, at) // where it is not possible there is no limit
	}
}

// send sends one PDU.
func (c *conn) send(p wire.PDU, from int32, limit time.Duration) error {
	deadline(c.w, deadliner.SetWriteDeadline, limit)
	_, err := c.w.Write(wire.Append(nil, from, p))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return pcp.ErrTimeout
	}
	if errors.Is(err, io.ErrClosedPipe) {
		return pcp.Error(-int32(syscall.EPIPE))
	}
	return err
}

// A gone agent ended before it could do anything.
type gone struct{}

func (gone) Read([]byte) (int, error)  { return 0, io.EOF }
func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// receive reads one PDU. The error is io.EOF if the agent has gone, or what
// stands for it in a message.
func (c *conn) receive(limit time.Duration) (wire.Header, []byte, error) {
	deadline(c.r, deadliner.SetReadDeadline, limit)
	h, body, err := c.rd.Next()
	switch {
	case err == nil, err == io.EOF:
		return h, body, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = pcp.ErrTimeout
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, pcp.ErrTooBig):
		err = pcp.ErrIPC
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.ErrClosedPipe):
		err = io.EOF
	}
	return h, nil, err
}

func (s *session) connected(c *conn) {
	c.rd = wire.NewReader(c.r)
	c.rd.Max = wire.MaxPDU
	s.conn = c
	s.resetProfile()
	s.handshake()
}

// handshake waits for the agent to say its version, and answers.
func (s *session) handshake() {
	c := s.conn
	h, body, err := c.receive(s.credsTimeout)
	if err == nil && h.Type == wire.TypeCreds {
		s.trace("received", h, body)
		if err := s.takeCreds(h, body); err != nil {
			s.errorf("Warning: version exchange failed for PMDA %s: %s\n", c.name, pcp.Code(err))
		}
		return
	}
	switch {
	case err == io.EOF:
		s.errorf("pmdaversion: expecting PDU_CREDS, got EOF\n")
	case err != nil:
		s.errorf("__pmGetPDU(%d): %s\n", descriptor(c.r), pcp.Code(err))
	default:
		s.errorf("pmdaversion: expecting PDU_CREDS, got PDU type %v\n", h.Type)
	}
	s.errorf("Warning: no version exchange with PMDA %s after %d secs\n", c.name, int(s.credsTimeout/time.Second))
}

func (s *session) takeCreds(h wire.Header, body []byte) error {
	var creds wire.Creds
	if err := creds.DecodeBody(body); err != nil {
		return err
	}
	for i := range creds.Creds {
		if s.debug["context"] {
			s.errorf("agent_creds: doing cred #%d from PID %d\n", i+1, h.From)
		}
	}
	version, _, ok := creds.Version()
	if !ok {
		return nil
	}
	if s.debug["context"] {
		s.errorf("agent_creds: version cred (%d)\n", version)
	}
	s.conn.version = int(version)
	return s.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}}, int32(os.Getpid()))
}

// descriptor returns the number of an open file, for a message.
func descriptor(of any) int {
	n := -1
	if c, ok := of.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { n = int(fd) })
		}
	}
	return n
}

// closeConn ends the connection, as a collector does.
func (s *session) closeConn() {
	c := s.conn
	if c == nil {
		return
	}
	s.conn = nil
	c.send(&wire.Error{Code: pcp.ErrNotConn}, wire.FromAnon, grace) // it may have gone
	for _, fn := range c.closers {
		fn()
	}
}

// openPipe starts a program and talks to it by its standard input and output.
func (s *session) openPipe(path string, args []string) {
	if _, err := os.Stat(path); err != nil {
		s.errorf("openpmda: stat %s failed: %s\n", path, pcp.Code(err))
		return
	}
	s.closeConn()
	s.printf("Start %s PMDA: %s\n", filepath.Base(path), strings.Join(append([]string{path}, args...), " "))
	s.flush()
	cmd := exec.Command(path, args...)
	cmd.Stderr = s.env.Stderr
	w, err := cmd.StdinPipe()
	if err != nil {
		s.errorf("openpmda: create process failed: %s\n", pcp.Code(err))
		return
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		s.errorf("openpmda: create process failed: %s\n", pcp.Code(err))
		return
	}
	c := &conn{name: path, r: r, w: w}
	if err := cmd.Start(); err != nil {
		// The C program gets this far only in the new process, and sees here
		// one that ended at once.
		s.errorf("execvp: %s\n", pcp.Code(err))
		c.r, c.w = gone{}, gone{}
		s.connected(c)
		return
	}
	c.pid = cmd.Process.Pid
	c.closers = append(c.closers, func() {
		w.Close()
		r.Close()
		go cmd.Wait() // however long it takes to end
	})
	s.connected(c)
}

func (s *session) openUnix(path string) {
	if _, err := os.Stat(path); err != nil {
		s.errorf("opensocket: %s: %s\n", path, pcp.Code(err))
		return
	}
	s.openSocket("unix", path, path, "socket "+path)
}

func (s *session) openPort(network, protocol, host string, port int32) {
	name := fmt.Sprintf("%s port %d", protocol, port)
	s.openSocket(network, net.JoinHostPort(host, strconv.Itoa(int(uint16(port)))), name, name)
}

func (s *session) openSocket(network, addr, name, on string) {
	s.closeConn()
	nc, err := net.DialTimeout(network, addr, max(s.timeout, s.credsTimeout))
	if err != nil {
		s.errorf("opensocket: connect: %s\n", pcp.Code(err))
		return
	}
	s.printf("Connect to PMDA on %s\n", on)
	s.flush()
	s.connected(&conn{name: name, r: nc, w: nc, closers: []func(){func() { nc.Close() }}})
}

// builtin finds the agent of this program that path means: its name, or that
// of the shared object of its C counterpart.
func builtin(path string) (agent.Builtin, bool) {
	name := filepath.Base(path)
	name = strings.TrimPrefix(strings.TrimSuffix(name, ".so"), "pmda_")
	b, ok := agent.Named(name)
	return b, ok && b.Name != "pmcd" // it reports on a collector
}

// openDSO serves one of our agents from this process.
func (s *session) openDSO(path string, domain int32) {
	b, ok := builtin(path)
	if !ok {
		if _, err := os.Stat(path); err != nil {
			s.errorf("opendso: %s: %s\n", path, pcp.Code(err))
			return
		}
		s.errorf("opendso: %s: a shared object of another program cannot be loaded, only the agents of this one: %s\n",
			path, strings.Join(builtins(), " "))
		return
	}
	s.closeConn()
	log := slog.New(daemonlog.NewHandler(s.env.Stderr, "dbpmda", slog.LevelWarn))
	a, err := b.Open(agent.Env{Domain: int(domain), Version: s.env.Version, Log: log})
	if err != nil {
		s.printf("Error: initialization routine failed in DSO \"%s\": %v\n", path, err)
		return
	}
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		if err := pmda.Serve(ctx, far, a, pmda.ServeOptions{Log: log, Attributes: true}); err != nil && ctx.Err() == nil {
			log.Warn("agent ends", "agent", b.Name, "err", err)
		}
		if cl, ok := a.(io.Closer); ok {
			cl.Close()
		}
	}()
	s.connected(&conn{name: path, dso: true, r: near, w: near, closers: []func(){
		cancel,
		func() { near.Close() },
		func() {
			select {
			case <-done:
			case <-time.After(grace):
				log.Warn("agent does not end", "agent", b.Name)
			}
		},
	}})
}

func builtins() []string {
	var names []string
	for _, b := range agent.Builtins() {
		if b.Name != "pmcd" {
			names = append(names, b.Name)
		}
	}
	return names
}
