//go:build unix

package root

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/rootproto"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Limits that keep one client from harming the others.
const (
	maxClients = 64              // at a time; others are refused
	pduTimeout = 5 * time.Second // to finish a PDU, and to accept a reply
)

// A ServerConfig sets the users that a Server serves.
type ServerConfig struct {
	Path string // of the socket
	// Users may connect, as root may.
	Users []int
	// Commands is the collector's configuration file: users other than root may start
	// only the commands that it lists, or nothing if Commands is "".
	Commands string
	// Output gets the standard error output of agents.
	Output *os.File
}

// ServerConfigFrom returns the defaults of an installation.
func ServerConfigFrom(cfg *config.Config) ServerConfig {
	s := ServerConfig{
		Path:     rootproto.DefaultPath(cfg),
		Commands: cfg.Get("PCP_PMCDCONF_PATH"),
		Output:   os.Stderr,
	}
	name := cfg.Get("PCP_USER")
	if name == "" {
		name = "pcp"
	}
	if u, err := user.Lookup(name); err == nil {
		if uid, err := strconv.Atoi(u.Uid); err == nil {
			s.Users = append(s.Users, uid)
		}
	}
	return s
}

// A listener has the methods of a Unix socket that a Server needs.
type listener interface {
	AcceptUnix() (*net.UnixConn, error)
	Close() error
}

// A Server is the helper: it answers programs of PCP that lack a privilege.
type Server struct {
	cfg        ServerConfig
	log        *slog.Logger
	containers *containers
	ln         listener
	processes  processes

	foreign sync.Once // to log that processes have other numbers here

	mu    sync.Mutex
	conns map[*net.UnixConn]bool
}

// Listen makes the socket, and its directory if it is missing. It replaces an
// existing socket.
func (a *Agent) Listen(cfg ServerConfig) (*Server, error) {
	if info, err := os.Lstat(cfg.Path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s: is there, and is no socket", cfg.Path)
		}
		if err := safefile.Remove(cfg.Path); err != nil {
			return nil, err
		}
	}
	if err := safefile.MkdirAll(filepath.Dir(cfg.Path), 0o700, nil); err != nil {
		return nil, err
	}
	unix, err := safefile.Listen(cfg.Path, safefile.SocketMode{Perm: 0o600, Uid: -1, Gid: -1})
	if err != nil {
		return nil, err
	}
	ln := unix.(listener)
	if cfg.Output == nil {
		cfg.Output = os.Stderr
	}
	s := &Server{cfg: cfg, log: a.log, containers: a.containers, ln: ln, conns: map[*net.UnixConn]bool{}}
	s.processes.init(cfg, a.log)
	return s, nil
}

// Run serves until ctx is done or the socket fails, and removes the socket.
// It then ends agents that it started and that still run.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.ln.Close() })
	defer stop()
	var serving sync.WaitGroup
	var err error
	for {
		var conn *net.UnixConn
		if conn, err = s.ln.AcceptUnix(); err != nil {
			if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
				s.log.Error("client cannot be let in", "err", err)
				select {
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
				}
				continue
			}
			break
		}
		if why := s.admit(conn); why != "" {
			s.log.Error("client rejected", "why", why)
			conn.Close()
			continue
		}
		serving.Go(func() { s.serve(ctx, conn) })
	}
	s.ln.Close()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	serving.Wait()
	s.processes.endAll()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// admit returns why a connection is refused, or "" if it is accepted.
func (s *Server) admit(conn *net.UnixConn) string {
	cred, err := rootproto.PeerCred(conn)
	if err != nil {
		return "who it is cannot be known: " + err.Error()
	}
	if why := s.admitted(cred.UID); why != "" {
		return why
	}
	if err := rootproto.PassCred(conn); err != nil {
		return err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= maxClients {
		return fmt.Sprintf("there are %d others", len(s.conns))
	}
	s.conns[conn] = true
	return ""
}

// admitted returns why a user is refused, or "" if the user is accepted.
func (s *Server) admitted(uid int) string {
	if uid == 0 || slices.Contains(s.cfg.Users, uid) {
		return ""
	}
	return fmt.Sprintf("it is uid %d, neither root nor PCP's user", uid)
}

// serve answers one client until it disconnects or breaks the protocol.
func (s *Server) serve(ctx context.Context, nc *net.UnixConn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, nc)
		s.mu.Unlock()
		nc.Close()
	}()
	conn := rootproto.NewConn(nc)
	conn.Accept()
	greeting := rootproto.Info{Features: rootproto.FeatureHostName | rootproto.FeatureProcessID | rootproto.FeatureCGroupName}
	if err := conn.Send(greeting.Append(nil), pduTimeout); err != nil {
		return
	}
	for {
		b, with, err := conn.Receive(0, pduTimeout)
		with.Close() // no client needs to send descriptors
		if err == nil {
			err = s.answer(ctx, conn, b, with.Cred)
		}
		switch {
		case err == nil:
		case err == io.EOF, errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
			return
		default:
			s.log.Error("client broke the protocol, and is dropped", "err", err)
			return
		}
	}
}

// answer answers one request. An error ends the connection.
func (s *Server) answer(ctx context.Context, conn *rootproto.Conn, b []byte, sender *rootproto.Cred) error {
	// The client may have become another user in the meantime.
	if sender == nil {
		return errors.New("request without credentials of its sender")
	}
	h, err := rootproto.DecodeHeader(b)
	if err != nil {
		return err
	}
	if h.Status != 0 {
		return fmt.Errorf("%v PDU with status %d: %w", h.Type, int(h.Status), pcp.ErrIPC)
	}
	switch h.Type {
	case rootproto.TypeHostNameReq, rootproto.TypeProcessIDReq, rootproto.TypeCGroupNameReq:
		var q rootproto.Container
		if err := q.Decode(b); err != nil {
			return err
		}
		r, err := s.container(ctx, &q)
		if err != nil {
			return err
		}
		return conn.Send(r.Append(nil), pduTimeout)
	case rootproto.TypeStartReq:
		var q rootproto.Start
		if err := q.Decode(b); err != nil {
			return err
		}
		return s.start(conn, &q, sender)
	case rootproto.TypeStopReq:
		var q rootproto.Stop
		if err := q.Decode(b); err != nil {
			return err
		}
		r := s.processes.stop(&q)
		return conn.Send(r.Append(nil), pduTimeout)
	}
	return fmt.Errorf("%v PDU as a request: %w", h.Type, pcp.ErrIPC)
}

// container answers a request about a container.
func (s *Server) container(ctx context.Context, q *rootproto.Container) (*rootproto.Container, error) {
	r := &rootproto.Container{Type: q.Type + 1, PID: q.PID}
	c := container{pid: q.PID}
	if q.Name == "" && q.Type != rootproto.TypeHostNameReq {
		return nil, fmt.Errorf("%v PDU without a name: %w", q.Type, pcp.ErrIPC)
	}
	if q.Name != "" {
		var err error
		if c, err = s.find(ctx, q.Name); err != nil {
			r.Status = pcp.Code(err)
			return r, nil
		}
		r.PID = c.pid
		if q.Type != rootproto.TypeCGroupNameReq && !s.containers.host.sharesNumbers() {
			s.foreign.Do(func() {
				s.log.Warn("containers of the host cannot be entered: this container has process numbers of its own; share those of the host, as with --pid host")
			})
			r.PID, r.Status = 0, pcp.ErrNoContainer
			return r, nil
		}
	}
	switch q.Type {
	case rootproto.TypeProcessIDReq:
		if c.pid <= 0 {
			// It does not run. C reports 0 as its process, which C's agents take
			// for themselves, so they report the host's values.
			r.PID, r.Status = 0, pcp.ErrNoContainer
		}
	case rootproto.TypeCGroupNameReq:
		r.Name = strings.TrimPrefix(c.cgroup, "/")
	case rootproto.TypeHostNameReq:
		name, err := hostName(c.pid)
		if err != nil {
			r.Status = status(err)
		} else {
			r.Name = name
		}
	}
	return r, nil
}

// status is the status of a reply for an error of the system.
func status(err error) pcp.Error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return pcp.Error(-int32(errno))
	}
	return pcp.Code(err)
}

// maxQuery is the longest name that any container can have.
const maxQuery = 1024

// find finds a container by a name that may be hostile.
func (s *Server) find(ctx context.Context, name string) (container, error) {
	if len(name) > maxQuery || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		s.log.Warn("odd container name refused", "name", fmt.Sprintf("%.60q", name), "bytes", len(name))
		return container{}, pcp.ErrNoContainer
	}
	return s.containers.find(ctx, name)
}

// start starts an agent and sends its pipes.
func (s *Server) start(conn *rootproto.Conn, q *rootproto.Start, sender *rootproto.Cred) error {
	r := &rootproto.Start{Type: rootproto.TypeStart, PID: -1, Label: q.Label}
	p, err := s.processes.start(q, sender)
	if err != nil {
		s.log.Error("agent not started", "agent", q.Label, "command", q.Args, "uid", sender.UID, "err", err)
		r.Status = pcp.ErrGeneric
		return conn.Send(r.Append(nil), pduTimeout)
	}
	defer p.closeOurs()
	r.PID = p.pid
	return conn.Send(r.Append(nil), pduTimeout, p.ours...)
}
