package timecontrol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
)

// A Client is a connection of a follower to its controller. One goroutine may
// receive while another sends.
type Client struct {
	conn   net.Conn
	source Source
	log    *debug.Log

	mu  sync.Mutex
	out []byte
}

// dialTimeout is how long a controller may take for the handshake, if ctx does not
// end before.
const dialTimeout = 10 * time.Second

// A Dialer connects followers. The zero Dialer is right for most.
type Dialer struct {
	// Debug prints the messages with -D timecontrol; nil prints nothing.
	Debug *debug.Log
}

// Dial connects to the controller at a port as a zero [Dialer] does.
func Dial(ctx context.Context, port int, what Message) (*Client, error) {
	return Dialer{}.Dial(ctx, port, what)
}

// Dial connects to the controller at a port of this machine (pmTimeConnect(3)). The argument
// what describes the follower's view with Source, Delta, Position and Zone, and for archives
// Start and End. If ctx is done before the controller has answered, Dial returns its cause.
func (d Dialer) Dial(ctx context.Context, port int, what Message) (*Client, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	network := net.Dialer{Timeout: dialTimeout}
	conn, err := network.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, source: what.Source, log: d.Debug}
	what.Command = Set
	if err := c.greet(ctx, what); err != nil {
		conn.Close()
		return nil, fmt.Errorf("controller at port %d: %w", port, err)
	}
	return c, nil
}

func (c *Client) greet(ctx context.Context, what Message) error {
	// Failing to set a deadline shows at the next read.
	_ = c.conn.SetDeadline(time.Now().Add(dialTimeout))
	if err := c.send(what); err != nil {
		return err
	}
	m, err := c.Receive(ctx)
	switch {
	case err != nil:
		return err
	case m.Command != Ack:
		return fmt.Errorf("command %#x instead of an acknowledgement: %w", uint32(m.Command), -pcp.Error(syscall.EPROTO))
	case m.Source != what.Source:
		return fmt.Errorf("it does not control such a source: %w", -pcp.Error(syscall.ENOSYS))
	}
	return c.conn.SetDeadline(time.Time{})
}

// Receive waits for the next message (pmTimeRecv(3)). It returns io.EOF when the
// controller has gone, and the cause of ctx when that is done, after which the client is
// of no more use.
func (c *Client) Receive(ctx context.Context) (Message, error) {
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	var m Message
	err := m.read(c.conn)
	if !stop() && err != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		m.trace(c.log, "pmTimeRecv", c.conn)
	}
	return m, err
}

// Ack acknowledges to the controller that a step is done (pmTimeSendAck(3)).
func (c *Client) Ack(position pcp.Timestamp) error {
	return c.send(Message{Command: Ack, Source: c.source, Position: position})
}

// ShowGUI asks for the window of a controller that has one, or for its end
// (pmTimeShowDialog(3)).
func (c *Client) ShowGUI(show bool) error {
	m := Message{Command: HideGUI, Source: c.source}
	if show {
		m.Command = ShowGUI
	}
	return c.send(m)
}

// Extend notifies the controller of more archives to show.
func (c *Client) Extend(start, end pcp.Timestamp) error {
	return c.send(Message{Command: Boundary, Source: c.source, Start: start, End: end})
}

func (c *Client) send(m Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.trace(c.log, "pmTimeSend", c.conn)
	c.out = m.Append(c.out[:0])
	_, err := c.conn.Write(c.out)
	return err
}

// Close leaves the controller (pmTimeDisconnect(3)).
func (c *Client) Close() error { return c.conn.Close() }

// Launch starts a controller, which ends with its last follower, and returns its
// port. The last argument of the program is -a or -h, for archives or hosts; it must print a line
// port=N, as pmtime(1) and pcp time do.
func Launch(ctx context.Context, source Source, program string, args ...string) (port int, err error) {
	option := "-h"
	if source == Archive {
		option = "-a"
	}
	cmd := exec.Command(program, append(slices.Clone(args), option)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { out.Close() })
	timer := time.AfterFunc(dialTimeout, func() { out.Close() })
	_, err = fmt.Fscanf(out, "port=%d\n", &port)
	timer.Stop()
	ended := !stop()
	out.Close()
	if err == nil && (port <= 0 || port > 65535) {
		err = fmt.Errorf("port %d: %w", port, ErrMessage)
	}
	if err == nil {
		return port, cmd.Process.Release()
	}
	if ended {
		err = context.Cause(ctx)
	}
	// It may have ended by itself.
	_ = cmd.Process.Kill()
	if wait := cmd.Wait(); wait != nil && !ended {
		err = errors.Join(err, wait)
	}
	return 0, fmt.Errorf("%s: it did not say its port: %w", program, err)
}
