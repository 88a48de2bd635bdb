//go:build unix

package rootproto

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

// DefaultPath is where the helper of an installation listens.
func DefaultPath(cfg *config.Config) string {
	return filepath.Join(cfg.Get("PCP_VAR_DIR"), "pmcd", "root.socket")
}

// Timeout is how long a request may take.
const Timeout = 5 * time.Second

// errUnavailable means that there is no helper to ask.
var errUnavailable = pcp.ErrNotConn

// A Client asks a helper. It can be used by several goroutines; one request is
// made at a time. It connects with the first request, and again after the
// connection broke.
type Client struct {
	path string

	mu     sync.Mutex
	conn   *Conn
	out    []byte
	closed bool
}

// NewClient returns a client of the helper that listens at path. It does not
// connect yet.
func NewClient(path string) *Client { return &Client{path: path} }

// Path returns where the helper listens.
func (c *Client) Path() string { return c.path }

// Connect connects, unless that was done. A process does it before it gives up
// the privileges that the helper's socket asks for.
func (c *Client) Connect() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connect()
}

func (c *Client) connect() error {
	if c.closed {
		return fmt.Errorf("root helper: connection was closed: %w", errUnavailable)
	}
	if c.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", c.path)
	if err != nil {
		why := err
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			why = errno
		}
		return fmt.Errorf("root helper at %s: %v: %w", c.path, why, errUnavailable)
	}
	if err := checkHelper(nc.(*net.UnixConn)); err != nil {
		nc.Close()
		return fmt.Errorf("root helper at %s: %v: %w", c.path, err, errUnavailable)
	}
	conn := NewConn(nc.(*net.UnixConn))
	conn.Accept()
	b, with, err := conn.Receive(Timeout, Timeout)
	with.Close()
	var info Info
	if err == nil {
		err = info.Decode(b)
	}
	if err == nil && info.Status != 0 {
		err = info.Status
	}
	if err != nil {
		conn.Close()
		return fmt.Errorf("root helper at %s: greeting: %v: %w", c.path, err, errUnavailable)
	}
	c.conn = conn
	return nil
}

// checkHelper returns an error unless the listener is root, or the user of this process: another user, who can write
// to the socket's directory, could otherwise claim processes to be containers, and supply agents of their own.
func checkHelper(nc *net.UnixConn) error {
	cred, err := PeerCred(nc)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	if cred.UID != 0 && cred.UID != os.Geteuid() {
		return fmt.Errorf("it is served by user %d, who is not root", cred.UID)
	}
	return nil
}

// Close closes the connection. Later requests fail.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return c.drop()
}

func (c *Client) drop() error {
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.conn = nil
	return err
}

// ask makes one exchange: an answer that decode refuses, or of another type than
// want, ends the connection. A status other than 0 is an error.
func (c *Client) ask(req []byte, want Type, decode func([]byte) error) (Ancillary, error) {
	if err := c.connect(); err != nil {
		return Ancillary{}, err
	}
	b, with, err := c.exchange(req)
	if err == nil {
		var h Header
		if h, err = DecodeHeader(b); err == nil {
			switch {
			case h.Type != want:
				err = fmt.Errorf("%v PDU instead of a %v one: %w", h.Type, want, pcp.ErrIPC)
			case h.Status != 0:
				// C's helper leaves odd bytes in the rest of these.
				with.Close()
				return with, h.Status
			default:
				err = decode(b)
			}
		}
	}
	if err != nil {
		with.Close()
		c.drop()
		return with, fmt.Errorf("root helper at %s: %w", c.path, err)
	}
	return with, nil
}

func (c *Client) exchange(req []byte) ([]byte, Ancillary, error) {
	if err := c.conn.Send(req, Timeout); err != nil {
		return nil, Ancillary{}, fmt.Errorf("%v: %w", err, errUnavailable)
	}
	b, with, err := c.conn.Receive(Timeout, Timeout)
	switch {
	case err == nil, errors.Is(err, pcp.ErrIPC):
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("no answer: %w", pcp.ErrTimeout)
	default:
		err = fmt.Errorf("%v: %w", err, errUnavailable)
	}
	return b, with, err
}

func (c *Client) container(req, reply Type, pid int, name string) (Container, error) {
	var p Container
	if len(name) > MaxName {
		return p, fmt.Errorf("container name of %d bytes: %w", len(name), pcp.ErrNoContainer)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q := Container{Type: req, PID: pid, Name: name}
	c.out = q.Append(c.out[:0])
	with, err := c.ask(c.out, reply, p.Decode)
	with.Close() // there should be none
	return p, err
}

// HostName returns what the host is called in a container.
func (c *Client) HostName(name string) (string, error) {
	p, err := c.container(TypeHostNameReq, TypeHostName, 0, name)
	return p.Name, err
}

// HostNameOf returns what the host is called for a process.
func (c *Client) HostNameOf(pid int) (string, error) {
	p, err := c.container(TypeHostNameReq, TypeHostName, pid, "")
	return p.Name, err
}

// ProcessID returns the number of a container's first process.
func (c *Client) ProcessID(name string) (int, error) {
	p, err := c.container(TypeProcessIDReq, TypeProcessID, 0, name)
	return p.PID, err
}

// CGroupName returns the name of a container's control group, without the
// slash in front.
func (c *Client) CGroupName(name string) (string, error) {
	p, err := c.container(TypeCGroupNameReq, TypeCGroupName, 0, name)
	return p.Name, err
}

// A Process is an agent that was started.
type Process struct {
	PID     int
	In, Out *os.File // its standard input and output, of a pipe agent
}

// Start starts an agent by the words of its command.
func (c *Client) Start(ipc int, label, args string) (Process, error) {
	if label == "" || len(label) > MaxLabel || args == "" || len(args) > MaxArgs {
		return Process{}, fmt.Errorf("name of %d bytes and command of %d: %w", len(label), len(args), -pcp.Error(syscall.E2BIG))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q := Start{Type: TypeStartReq, IPC: ipc, Label: label, Args: args}
	c.out = q.Append(c.out[:0])
	var p Start
	with, err := c.ask(c.out, TypeStart, p.Decode)
	if err != nil {
		return Process{}, err
	}
	started := Process{PID: p.PID}
	if ipc != IPCPipe {
		with.Close()
		return started, nil
	}
	if len(with.Files) != maxFiles {
		with.Close()
		return started, fmt.Errorf("root helper at %s: agent %s came without its pipes: %w", c.path, label, pcp.ErrIPC)
	}
	started.In, started.Out = with.Files[0], with.Files[1]
	return started, nil
}

// Wait returns a process that Start has started and that has ended, with its
// status as waitpid(2) has it. Without one pid is 0.
func (c *Client) Wait() (pid, status int, err error) {
	p, err := c.stop(-1, false)
	return p.PID, p.Code, err
}

// Kill kills a process that Start has started.
func (c *Client) Kill(pid int) error {
	_, err := c.stop(pid, true)
	return err
}

// Terminate has a process that Start has started end (SIGTERM).
func (c *Client) Terminate(pid int) error {
	_, err := c.stop(pid, false)
	return err
}

func (c *Client) stop(pid int, force bool) (Stop, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := Stop{Type: TypeStopReq, PID: pid, Force: force}
	c.out = q.Append(c.out[:0])
	var p Stop
	with, err := c.ask(c.out, TypeStop, p.Decode)
	with.Close()
	return p, err
}
