package agentlink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// grace limits the time that an agent of this process may take to end.
const grace = time.Second

// A Conn is a connection to an agent. It must be used by one goroutine.
type Conn struct {
	Name    string
	InProc  bool // the agent is part of this process
	Pid     int  // if Start made it
	Version int  // of the protocol; 0 until the agent has sent it

	r  io.Reader
	w  io.Writer
	rd *wire.Reader
	// closers end it, in order.
	closers []func()
	exited  chan struct{} // of a process
}

func newConn(name string, r io.Reader, w io.Writer) *Conn {
	c := &Conn{Name: name, r: r, w: w, rd: wire.NewReader(r)}
	c.rd.Max = wire.MaxPDU
	return c
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
		set(c, at) // where it is not possible, there is no limit
	}
}

// Send sends one PDU. It returns pcp.ErrTimeout if the agent does not take it in
// time; with a limit of 0 it waits as long as it takes.
func (c *Conn) Send(p wire.PDU, from int32, limit time.Duration) error {
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

// Receive reads one PDU, whose body is valid until the next call. The error is
// io.EOF if the agent has gone, pcp.ErrTimeout, pcp.ErrIPC for an invalid PDU, or
// an error of the connection.
func (c *Conn) Receive(limit time.Duration) (wire.Header, []byte, error) {
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

// Settle waits until an agent in this process has handled all requests. It is for
// requests without an answer.
func (c *Conn) Settle(limit time.Duration) {
	if c.InProc {
		deadline(c.w, deadliner.SetWriteDeadline, limit)
		// Nothing can be written to a net.Pipe until the other end reads again.
		c.w.Write(nil)
	}
}

// Descriptor returns the number of the open file from which answers are read, or -1 if
// there is none.
func (c *Conn) Descriptor() int {
	n := -1
	if c, ok := c.r.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { n = int(fd) })
		}
	}
	return n
}

// Close ends the connection, as a collector does. A process may take as long
// as it wants to end.
func (c *Conn) Close() {
	c.Send(&wire.Error{Code: pcp.ErrNotConn}, wire.FromAnon, grace) // it may have gone
	for _, fn := range c.closers {
		fn()
	}
}

// Exited is closed when the process that Start made has ended, and Close was called; it
// is nil for other agents.
func (c *Conn) Exited() <-chan struct{} { return c.exited }

// A gone agent ended before it could do anything.
type gone struct{}

func (gone) Read([]byte) (int, error)  { return 0, io.EOF }
func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// Gone returns the connection to an agent that ended at once.
func Gone(name string) *Conn { return newConn(name, gone{}, gone{}) }

// Start starts cmd and uses its standard input and output as the connection.
func Start(cmd *exec.Cmd) (*Conn, error) {
	w, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		w.Close()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := newConn(cmd.Path, r, w)
	c.Pid = cmd.Process.Pid
	c.exited = make(chan struct{})
	c.closers = []func(){func() {
		w.Close()
		r.Close()
		go func() {
			defer close(c.exited)
			cmd.Wait() // however long it takes to end
		}()
	}}
	return c, nil
}

// Dial connects to an agent that listens, as net.DialTimeout does.
func Dial(network, addr, name string, limit time.Duration) (*Conn, error) {
	nc, err := net.DialTimeout(network, addr, limit)
	if err != nil {
		return nil, err
	}
	c := newConn(name, nc, nc)
	c.closers = []func(){func() { nc.Close() }}
	return c, nil
}

// Builtin finds the agent of this program that path means: its name, or that of the
// shared object of its C counterpart. It does not find the agent that reports on a
// collector.
func Builtin(path string) (builtin.Spec, bool) {
	b, ok := agent.ForDSO("", path)
	return b, ok && !b.OfCollector
}

// Builtins returns the names that Builtin knows.
func Builtins() []string {
	var names []string
	for _, b := range agent.Builtins() {
		if !b.OfCollector {
			names = append(names, b.Name)
		}
	}
	return names
}

// ServeAgent serves a from this process until the connection is closed or ctx is
// done. A log of nil discards.
func ServeAgent(ctx context.Context, name string, a pmda.Agent, cfg *config.Config, log *slog.Logger) *Conn {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	near, far := net.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		if err := pmda.Serve(ctx, far, a, pmda.ServeOptions{Log: log, Config: cfg, Attributes: true}); err != nil && ctx.Err() == nil {
			log.Warn("agent ends", "agent", name, "err", err)
		}
		if cl, ok := a.(io.Closer); ok {
			cl.Close()
		}
	}()
	c := newConn(name, near, near)
	c.InProc = true
	c.closers = []func(){
		cancel,
		func() { near.Close() },
		func() {
			select {
			case <-done:
			case <-time.After(grace):
				log.Warn(fmt.Sprintf("agent does not end in %v", grace), "agent", name)
			}
		},
	}
	return c
}
