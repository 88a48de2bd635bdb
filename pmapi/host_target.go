package pmapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
)

// A target is where a collector is, and the ways there. It does not change.
type target struct {
	given          string // the specification as given
	spec           HostSpec
	proxy          string // address of a proxy, or ""
	ports          []int  // default ones
	socket         string // default one
	ownSocket      string // of the user's own collector, "" for none
	connectTimeout time.Duration
	dial           func(ctx context.Context, network, address string) (net.Conn, error)
}

// name is what the C library calls the host of the connection.
func (t *target) name() string {
	if name := t.spec.Hosts[0].Name; name != "" {
		return name
	}
	return t.socket
}

// givenName returns the name of the collector's host that is known without asking
// it.
func (t *target) givenName() string {
	name := t.spec.Hosts[0].Name
	if t.spec.Protocol == "unix" || t.spec.Protocol == "local" || strings.HasPrefix(name, "localhost") {
		if n, err := os.Hostname(); err == nil {
			return n
		}
	}
	return name
}

// certName returns the name that the collector's certificate must have.
func (t *target) certName() string {
	name := t.spec.Hosts[0].Name
	if name == "" || name[0] == '/' || strings.HasPrefix(name, "local") {
		if own, err := os.Hostname(); err == nil {
			return own
		}
	}
	return name
}

// A place is the end of one way to a collector.
type place struct {
	network, address string
	local            bool // on this host
}

func (p place) unix() bool { return p.network == "unix" }

// connect tries the ways to the collector in turn until attach succeeds with the
// connection. The error is that of the last.
func (t *target) connect(ctx context.Context, trace *trace, attach func(ctx context.Context, conn net.Conn, at place) error) error {
	try := func(at place) (net.Conn, error) {
		conn, err := t.reach(ctx, at)
		if err == nil {
			err = attach(ctx, conn, at)
		}
		return conn, err
	}
	host := t.spec.Hosts[0]
	name, ports := host.Name, host.Ports
	if t.spec.Protocol == "unix" || t.spec.Protocol == "local" {
		path := name
		if path == "" {
			path = t.socket
		}
		conn, err := try(place{"unix", path, true})
		if err == nil || t.spec.Protocol == "unix" {
			trace.connection(t, conn, path, nil, err)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		if t.spec.Protocol == "unix" {
			if de, ok := err.(*DialError); ok {
				err = de.Err
			}
			return &DialError{Spec: t.given, Code: -pcp.Error(syscall.ENOENT), Err: err}
		}
		if t.ownSocket != "" && ownsSocket(t.ownSocket) {
			if conn, err = try(place{"unix", t.ownSocket, true}); err == nil {
				trace.connection(t, conn, t.ownSocket, nil, nil)
			}
			if err == nil || ctx.Err() != nil {
				return err
			}
		}
		name, ports = "localhost", t.ports
	}
	if len(ports) == 0 {
		ports = t.ports
	}
	near := name
	if t.proxy != "" {
		near = t.proxy
	}
	local := strings.Contains(near, "localhost") || t.spec.Protocol == "local"
	var conn net.Conn
	var err error
	for _, port := range ports {
		conn, err = try(place{"tcp", net.JoinHostPort(name, strconv.Itoa(port)), local})
		if err == nil || ctx.Err() != nil {
			trace.connection(t, conn, "", []int{port}, err)
			return err
		}
	}
	trace.connection(t, conn, "", ports, err)
	return err
}

// reach makes a connection, through the proxy if there is one.
func (t *target) reach(ctx context.Context, at place) (net.Conn, error) {
	dialCtx := ctx
	if t.connectTimeout > 0 {
		var cancel context.CancelFunc
		dialCtx, cancel = context.WithTimeout(ctx, t.connectTimeout)
		defer cancel()
	}
	to := at.address
	if !at.unix() && t.proxy != "" {
		to = t.proxy
	}
	conn, err := t.dial(dialCtx, at.network, to)
	if err == nil && to != at.address {
		name, port, _ := net.SplitHostPort(at.address)
		if err := t.askProxy(ctx, conn, name, port); err != nil {
			conn.Close()
			return nil, err
		}
	}
	if err == nil {
		return conn, nil
	}
	// The C library takes every failure for a refusal, also a missing route or
	// a time-out, unless the name is not known (auxconnect.c:
	// __pmAuxConnectPMCDPort).
	code := -pcp.Error(syscall.ECONNREFUSED)
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case dialCtx.Err() != nil:
		err = fmt.Errorf("dial %s %s: no answer in %v: %w", at.network, to, t.connectTimeout, syscall.ETIMEDOUT)
	case errors.As(err, &dns):
		code = -pcp.Error(syscall.EHOSTUNREACH)
	}
	return nil, &DialError{Spec: t.given, Code: code, Err: err}
}
