package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmapi"
)

// Special numbers for a pmlogger of a host.
const (
	Primary = 0  // PM_LOG_PRIMARY_PID: the primary pmlogger, whatever its process
	AllPIDs = -1 // PM_LOG_ALL_PIDS: all of them, for Dialer.Local and Remote
	NoPID   = -2 // PM_LOG_NO_PID: identified by the port
	NoPort  = -2 // PM_LOG_NO_PORT: identified by the process
)

// Errors as in the C library, where the errno gives the cause.
const (
	errRefused = -pcp.Error(syscall.ECONNREFUSED)
	errNoHost  = -pcp.Error(syscall.EHOSTUNREACH)
	errInvalid = -pcp.Error(syscall.EINVAL)
	errNoWay   = -pcp.Error(syscall.EPERM) // -1 as an errno
)

// A Target identifies a pmlogger of a host, by process number or by the port where
// it listens.
type Target struct {
	PID  int // or Primary, or NoPID
	Port int // or NoPort
}

// A Dialer connects to pmlogger processes. The zero value uses the defaults of the system.
type Dialer struct {
	// Config has the paths of sockets and port files; nil means config.Process.
	Config *config.Config
	// Timeout limits the time for each answer of a pmlogger; 0 means no limit.
	Timeout time.Duration
	// Collector opens a context on the collector of another host, which lists its pmlogger
	// processes; nil means pmapi.Dial.
	Collector func(ctx context.Context, host string) (*pmapi.Context, error)
	// Warn is called with the error of a bad port file, which is then ignored; nil discards it.
	Warn func(msg string)
}

func (d *Dialer) config() *config.Config {
	if d.Config != nil {
		return d.Config
	}
	return config.Process()
}

// Dial connects to a pmlogger as __pmConnectLogger does. The specification is one of
//
//	unix:         the socket of a process, in PCP_RUN_DIR or in the user's ~/.pcp/run
//	unix:PATH     the socket of this path
//	local:[PATH]  likewise, and if that fails localhost
//	HOST          by TCP: if the port is not known, port files or the collector of HOST know it
//
// Details of the target found on the way are stored there, even if Dial fails.
func (d *Dialer) Dial(ctx context.Context, spec string, t *Target) (*Client, error) {
	if t.PID == NoPID && t.Port == Primary {
		*t = Target{Primary, NoPort}
	}
	kind, path, found := strings.Cut(spec, ":")
	if !found {
		return d.dialHost(ctx, spec, t)
	}
	if kind != "unix" && kind != "local" {
		return nil, fmt.Errorf("%q: neither a host nor local: or unix: %w", spec, errNoWay)
	}
	asked := t.PID
	c, err := d.dialSocket(ctx, path, t)
	if err == nil || ctx.Err() != nil || kind == "unix" || t.Port == NoPort && t.PID == NoPID {
		return c, err
	}
	t.PID = asked
	return d.dialHost(ctx, "localhost", t)
}

// dialSocket connects to a Unix socket: to path, or else to that of the process.
func (d *Dialer) dialSocket(ctx context.Context, path string, t *Target) (*Client, error) {
	var paths []string
	switch {
	case path != "":
		paths = []string{"/" + strings.TrimLeft(path, "/")}
	case t.PID != NoPID:
		paths = d.sockets(t.PID)
	default:
		return nil, fmt.Errorf("no socket and no process named: %w", errNoWay)
	}
	var err error
	for _, path := range paths {
		var conn net.Conn
		if conn, err = d.connect(ctx, "unix", path); err == nil {
			return d.greet(ctx, conn, t)
		}
	}
	return nil, err
}

// sockets returns the possible socket paths of a process.
func (d *Dialer) sockets(pid int) []string {
	name := func(who string) string { return "pmlogger." + who + ".socket" }
	who := strconv.Itoa(pid)
	own := name(who) // in C the primary pmlogger has no other name here
	if pid == Primary {
		who = "primary"
	}
	paths := []string{filepath.Join(d.config().Get("PCP_RUN_DIR"), name(who))}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		paths = append(paths, filepath.Join(u.HomeDir, ".pcp", "run", own))
	}
	return paths
}

// dialHost connects by TCP.
func (d *Dialer) dialHost(ctx context.Context, host string, t *Target) (*Client, error) {
	if t.PID == AllPIDs {
		return nil, fmt.Errorf("process %d: %w", t.PID, errRefused)
	}
	if t.Port == NoPort {
		found, err := d.find(ctx, host, t.PID)
		if err != nil {
			return nil, err
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("no pmlogger %d is known at %s: %w", t.PID, host, errRefused)
		}
		t.Port = found[0].Port
	}
	addrs, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		var conn net.Conn
		if conn, err = d.connect(ctx, "tcp", net.JoinHostPort(addr, strconv.Itoa(int(uint16(t.Port))))); err == nil {
			return d.greet(ctx, conn, t)
		}
	}
	return nil, err
}

// find returns the pmlogger of a process, with its port.
func (d *Dialer) find(ctx context.Context, host string, pid int) ([]Logger, error) {
	local, err := IsLocal(ctx, host)
	if err != nil {
		return nil, err
	}
	if local {
		return d.Local(pid)
	}
	c, err := d.OpenCollector(ctx, host)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return Remote(ctx, c, pid)
}

// OpenCollector opens a context on the collector of another host, for [Remote].
func (d *Dialer) OpenCollector(ctx context.Context, host string) (*pmapi.Context, error) {
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // an address of IPv6
	}
	if d.Collector != nil {
		return d.Collector(ctx, host)
	}
	return pmapi.Dial(ctx, host)
}

// connect opens a connection.
func (d *Dialer) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: d.Timeout}).DialContext(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	var ne net.Error
	if ctx.Err() == nil && errors.As(err, &ne) && ne.Timeout() {
		return nil, fmt.Errorf("%w: %w", -pcp.Error(syscall.ETIMEDOUT), err)
	}
	return nil, err
}

// greet creates a client of a connection, if the expected process is at its end.
func (d *Dialer) greet(ctx context.Context, conn net.Conn, t *Target) (*Client, error) {
	c, err := newClient(ctx, conn, d.Timeout)
	if c.pid != NoPID {
		if t.PID != NoPID && t.PID != Primary && c.pid != t.PID { // a pmlogger that refuses sends 0
			err = fmt.Errorf("process %d answers in place of %d: %w", c.pid, t.PID, errRefused)
		}
		t.PID = c.pid
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// lookup returns the addresses of a host.
func lookup(ctx context.Context, host string) ([]string, error) {
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil || len(addrs) == 0 {
		return nil, fmt.Errorf("%w: %v", errNoHost, err)
	}
	return addrs, nil
}
