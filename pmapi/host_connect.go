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
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/wire"
)

// connect tries the ways to the collector in turn until one succeeds. The
// error is that of the last.
func (h *host) connect(ctx context.Context) error {
	target := h.spec.Hosts[0]
	name, ports := target.Name, target.Ports
	if h.spec.Protocol == "unix" || h.spec.Protocol == "local" {
		path := name
		if path == "" {
			path = h.socket
		}
		err := h.connectTo(ctx, "unix", path, true)
		if err == nil || h.spec.Protocol == "unix" {
			h.trace.connection(h, path, nil, err)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		if h.spec.Protocol == "unix" {
			if de, ok := err.(*DialError); ok {
				err = de.Err
			}
			return &DialError{Spec: h.given, Code: -pcp.Error(syscall.ENOENT), Err: err}
		}
		if h.ownSocket != "" && ownsSocket(h.ownSocket) {
			if err = h.connectTo(ctx, "unix", h.ownSocket, true); err == nil {
				h.trace.connection(h, h.ownSocket, nil, nil)
			}
			if err == nil || ctx.Err() != nil {
				return err
			}
		}
		name, ports = "localhost", h.ports
	}
	if len(ports) == 0 {
		ports = h.ports
	}
	near := name
	if h.proxy != "" {
		near = h.proxy
	}
	local := strings.Contains(near, "localhost") || h.spec.Protocol == "local"
	var err error
	for _, port := range ports {
		err = h.connectTo(ctx, "tcp", net.JoinHostPort(name, strconv.Itoa(port)), local)
		if err == nil || ctx.Err() != nil {
			h.trace.connection(h, "", []int{port}, err)
			return err
		}
	}
	h.trace.connection(h, "", ports, err)
	return err
}

func (h *host) connectTo(ctx context.Context, network, address string, local bool) error {
	dialCtx := ctx
	if h.connectTimeout > 0 {
		var cancel context.CancelFunc
		dialCtx, cancel = context.WithTimeout(ctx, h.connectTimeout)
		defer cancel()
	}
	to := address
	if network == "tcp" && h.proxy != "" {
		to = h.proxy
	}
	conn, err := h.dial(dialCtx, network, to)
	if err == nil && to != address {
		name, port, _ := net.SplitHostPort(address)
		if err := h.askProxy(ctx, conn, name, port); err != nil {
			conn.Close()
			return err
		}
	}
	if err == nil {
		return h.attach(ctx, conn, network == "unix", local)
	}
	// The C library takes every failure for a refusal, also a missing route or
	// a time-out, unless the name is not known (auxconnect.c:
	// __pmAuxConnectPMCDPort).
	code := -pcp.Error(syscall.ECONNREFUSED)
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case dialCtx.Err() != nil:
		err = fmt.Errorf("dial %s %s: no answer in %v: %w", network, to, h.connectTimeout, syscall.ETIMEDOUT)
	case errors.As(err, &dns):
		code = -pcp.Error(syscall.EHOSTUNREACH)
	}
	return &DialError{Spec: h.given, Code: code, Err: err}
}

// attach makes conn the connection of h: it reads the collector's greeting,
// identifies the client, and sends attributes (connect.c: __pmConnectHandshake).
func (h *host) attach(ctx context.Context, conn net.Conn, unix, local bool) error {
	h.reset(conn)
	err := h.begin(ctx)
	if err == nil {
		err = h.end(ctx, h.handshake(ctx, unix, local))
	}
	if err != nil {
		h.fail(err)
	}
	return err
}

func (h *host) handshake(ctx context.Context, unix, local bool) error {
	hdr, body, err := h.read()
	if err != nil {
		return err
	}
	if hdr.Type != wire.TypeError {
		return fmt.Errorf("greeting is a PDU of type %v: %w", hdr.Type, pcp.ErrIPC)
	}
	var hello wire.Error
	if err := hello.DecodeBody(body); err != nil {
		return err
	}
	h.trace.greeted(h.conn, &hello)
	if hello.Code < 0 {
		return hello.Code
	}
	info := wire.UnpackInfo(hello.Info)
	if !hello.Extended || info.Version != wire.PDUVersion {
		return fmt.Errorf("collector speaks version %d of the protocol, not %d: %w", info.Version, wire.PDUVersion, pcp.ErrIPC)
	}
	features := info.Features
	flags, err := h.secureFlags(features, local)
	if err != nil {
		return err
	}
	if h.container != "" && features&wire.FeatureContainer == 0 {
		return fmt.Errorf("collector does not know containers: %w", errNotSupported)
	}
	login, err := h.loginFlags(features)
	if err != nil {
		return err
	}
	flags |= login
	if h.container != "" {
		flags |= wire.FeatureContainer
	}
	h.features = features
	creds := []wire.Cred{wire.VersionCred(wire.PDUVersion, flags)}
	h.trace.creds(creds)
	h.out = wire.Append(h.out[:0], int32(os.Getpid()), &wire.Creds{Creds: creds})
	if login != 0 || flags&wire.FeatureSecure != 0 {
		if err := h.write(); err != nil {
			return err
		}
		h.trace.tls("__pmSecureClientHandshake: entered")
		if err := h.secure(flags, unix); err != nil {
			return err
		}
		if err := h.authenticate(ctx, flags, unix); err != nil {
			return err
		}
		h.out = h.out[:0]
		if h.container == "" {
			return nil
		}
	}
	if h.container != "" {
		if h.trace.on(debug.Context) {
			h.trace.printf("connect.c:__pmConnectHandshake container=\"%s\" [%d]\n", clean(h.container), len(h.container))
		}
		attr := &wire.Attr{Attr: wire.AttrContainer, Value: []byte(h.container)}
		h.trace.attr("__pmSendAttr", attr, len(attr.Value))
		h.out = wire.Append(h.out, wire.FromAnon, attr)
	}
	return h.write()
}

// checkContainer returns an error if name cannot be that of a container, as names
// end up in label sets (context.c: __pmCheckAttribute).
func checkContainer(name string) error {
	for _, c := range []byte(name) {
		if c != '.' && c != '-' && c != '_' && !ctext.IsAlnum(c) {
			return fmt.Errorf("container name %q: %w", name, -pcp.Error(syscall.EINVAL))
		}
	}
	return nil
}

// reconnect is pmReconnectContext for a host. Too soon after a failure it does
// not try.
func (h *host) reconnect(ctx context.Context) error {
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		return errClosed
	}
	etimedout := -pcp.Error(syscall.ETIMEDOUT)
	if wait := time.Until(h.again); h.failures > 0 && wait > 0 {
		return fmt.Errorf("reconnect to %q: too soon, wait another %v: %w", HidePassword(h.given), wait.Round(time.Second), etimedout)
	}
	waits := h.backoff()
	h.fail(pcp.ErrIPC)
	if err := h.connect(ctx); err != nil {
		if ctx.Err() != nil {
			return dialError(h.given, err)
		}
		if de, ok := err.(*DialError); ok {
			err = de.Err
		}
		h.failures = min(h.failures+1, len(waits))
		h.again = time.Now().Add(waits[h.failures-1])
		return &DialError{Spec: h.given, Code: etimedout, Err: err}
	}
	h.failures = 0
	return nil
}

// dup makes another connection to the same collector.
func (h *host) dup(ctx context.Context) (source, error) {
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	n := &host{
		given: h.given, spec: h.spec, proxy: h.proxy, ports: h.ports, socket: h.socket, ownSocket: h.ownSocket, container: h.container, login: h.login, security: h.security,
		dial: h.dial, connectTimeout: h.connectTimeout, requestTimeout: h.requestTimeout, backoff: h.backoff,
		denied: h.denied, trace: h.trace.another(), // Dup has it print as its context does
	}
	if err := n.connect(ctx); err != nil {
		return nil, dialError(h.given, err)
	}
	return n, nil
}
