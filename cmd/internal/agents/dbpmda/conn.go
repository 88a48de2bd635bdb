package dbpmda

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agentlink"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

func (s *session) connected(c *agentlink.Conn) {
	s.conn = c
	s.resetProfile()
	s.handshake()
}

// handshake waits for the agent to announce its version, and answers.
func (s *session) handshake() {
	c := s.conn
	h, body, err := c.Receive(s.credsTimeout)
	if err == nil && h.Type == wire.TypeCreds {
		s.traceReceived(h, body)
		if err := s.takeCreds(h, body); err != nil {
			s.errorf("Warning: version exchange failed for PMDA %s: %s\n", c.Name, pcp.Code(err))
		}
		return
	}
	switch {
	case err == io.EOF:
		s.errorf("pmdaversion: expecting PDU_CREDS, got EOF\n")
	case err != nil:
		s.errorf("__pmGetPDU(%d): %s\n", c.Descriptor(), pcp.Code(err))
	default:
		s.errorf("pmdaversion: expecting PDU_CREDS, got PDU type %v\n", h.Type)
	}
	s.errorf("Warning: no version exchange with PMDA %s after %d secs\n", c.Name, int(s.credsTimeout/time.Second))
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
	s.conn.Version = int(version)
	return s.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}}, int32(os.Getpid()))
}

// closeConn ends the connection, as a collector does.
func (s *session) closeConn() {
	c := s.conn
	if c == nil {
		return
	}
	s.traceSent(&wire.Error{Code: pcp.ErrNotConn}, wire.FromAnon) // as Close sends
	s.conn = nil
	s.flush() // before the agent's output
	c.Close()
}

// openPipe starts a program and connects to its standard input and output.
func (s *session) openPipe(path string, args []string) {
	if _, err := os.Stat(path); err != nil {
		s.errorf("openpmda: stat %s failed: %s\n", path, pcp.Code(err))
		return
	}
	s.closeConn()
	s.printf("Start %s PMDA: %s\n", filepath.Base(path), strings.Join(append([]string{path}, args...), " "))
	s.flush()
	cmd := exec.Command(path, args...)
	cmd.Stderr = s.env.ChildStderr()
	c, err := agentlink.Start(cmd)
	if err != nil {
		// The C program gets this far only in the new process, and here detects a
		// process that ended at once.
		s.errorf("execvp: %s\n", pcp.Code(err))
		c = agentlink.Gone(path)
	}
	c.Name = path
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
	c, err := agentlink.Dial(network, addr, name, max(s.timeout, s.credsTimeout))
	if err != nil {
		s.errorf("opensocket: connect: %s\n", pcp.Code(err))
		return
	}
	s.printf("Connect to PMDA on %s\n", on)
	s.flush()
	s.connected(c)
}

// dsoInterface is the version of PMDA_INTERFACE that our agents support.
const dsoInterface = 7

// openDSO serves one of our agents from this process.
func (s *session) openDSO(path, init string, domain int32) {
	b, ok := agentlink.Builtin(path)
	if !ok {
		if _, err := os.Stat(path); err != nil {
			s.errorf("opendso: %s: %s\n", path, pcp.Code(err))
			return
		}
		s.errorf("opendso: %s: a shared object of another program cannot be loaded, only the agents of this one: %s\n",
			path, strings.Join(agentlink.Builtins(), " "))
		return
	}
	if c := s.conn; c != nil {
		// The C program would silently ignore a process.
		s.conn = nil
		s.flush()
		c.Close()
	}
	if s.debug["pdu"] {
		s.errorf("DSO init %s->0x0() domain=0 challenge: pmda_interface=0xff pmapi_version=2\n", init)
	}
	log := slog.New(daemonlog.NewHandler(s.env.Stderr, "dbpmda", slog.LevelInfo))
	a, err := b.Open(builtin.Env{Domain: int(domain), Version: s.env.Version, Config: s.env.Config(), Log: log})
	if err != nil {
		s.printf("Error: initialization routine failed in DSO \"%s\": %v\n", path, err)
		return
	}
	if s.debug["pdu"] {
		s.errorf("DSO has domain=%d pmda_interface=%d pmapi_version=2\n", cmp.Or(int(domain), b.Domain), dsoInterface)
	}
	if p, ok := a.(pmda.DebugPrinter); ok {
		p.DebugTo(s.env.Stderr)
	}
	if d, ok := a.(pmda.Debugger); ok {
		d.Debug(s.debugging())
	}
	c := agentlink.ServeAgent(s.ctx, b.Name, a, s.env.Config(), log)
	c.Name = path
	s.connected(c)
}
