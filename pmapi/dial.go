package pmapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/wire"
)

// DefaultPort is where a collector listens (SERVER_PORT).
const DefaultPort = wire.DefaultPort

// A Dialer holds what a connection to a collector can be told. The zero value
// has the defaults of PCPIntro(1), taken from the environment where set.
type Dialer struct {
	ConnectTimeout time.Duration   // 0: PMCD_CONNECT_TIMEOUT, else 5 s; negative: none
	RequestTimeout time.Duration   // 0: PMCD_REQUEST_TIMEOUT, else 10 s; negative: none
	Reconnect      []time.Duration // waits between attempts to reconnect; nil: PMCD_RECONNECT_TIMEOUT, else 5, 10, 20, 40, 80 s
	Socket         string          // of unix: and local: without a path; "": PMCD_SOCKET, else pmcd.socket in PCP_RUN_DIR
	// Config has the environment and pcp.conf; nil means config.Process, those of
	// this process.
	Config *config.Config
	// Container is the container whose metrics are wanted; "" means
	// PCP_CONTAINER.
	Container string
	// DialContext makes the connection, to network "tcp" or "unix"; nil means
	// that of net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Password is asked for the password of a user whose specification has
	// none, if the collector wants it; nil means an empty one. UserName
	// likewise for the name.
	Password func(ctx context.Context, username, realm string) (string, error)
	UserName func(ctx context.Context) (string, error)
	// TLS is how to speak it, where spec or PCP_SECURE_SOCKETS ask for it; nil
	// means as tls.conf says (PCP_TLSCONF_PATH), which has certificates checked
	// only if told to. ServerName defaults to the host of spec.
	TLS *tls.Config
	// Warn is called with a message for each bad value found in the
	// environment, which is then ignored; nil discards it.
	Warn func(msg string)
}

// A DialError tells why a connection could not be made. It wraps Code, then Err.
type DialError struct {
	Spec string
	// Code is the status that pmNewContext(3) returns for the same failure.
	// It says less than Err: any failure of a unix: connection is ENOENT, any
	// of TCP to connect at all ECONNREFUSED.
	Code pcp.Error
	Err  error // what happened
}

// Error names the collector and what happened.
func (e *DialError) Error() string {
	return fmt.Sprintf("connect to collector %q: %v", HidePassword(e.Spec), e.Err)
}

// Unwrap returns Code and Err.
func (e *DialError) Unwrap() []error { return []error{e.Code, e.Err} }

// Dial connects to the collector that spec names, in the grammar of
// [ParseHostSpec]. It is pmNewContext(PM_CONTEXT_HOST).
//
// A failed connection is a *DialError, a bad specification a *DialError that
// wraps a *SpecError. Connections by way of a proxy are not supported yet and
// answer EOPNOTSUPP.
func Dial(ctx context.Context, spec string) (*Context, error) { return new(Dialer).Dial(ctx, spec) }

// Dial is the function Dial with the settings of d.
func (d *Dialer) Dial(ctx context.Context, spec string) (*Context, error) {
	h, err := d.host(spec)
	if err == nil {
		err = h.connect(ctx)
	}
	if err != nil {
		return nil, dialError(spec, err)
	}
	return newContext(h), nil
}

func dialError(spec string, err error) error {
	var de *DialError
	if errors.As(err, &de) {
		return err
	}
	return &DialError{Spec: spec, Code: pcp.Code(err), Err: err}
}

const errNotSupported = -pcp.Error(syscall.EOPNOTSUPP)

// host reads spec and the environment into a host that is not connected yet.
func (d *Dialer) host(spec string) (*host, error) {
	hs, err := ParseHostSpec(spec)
	if err != nil {
		return nil, err
	}
	if len(hs.Hosts) == 0 {
		return nil, pcp.ErrNotHost
	}
	cfg := cmp.Or(d.Config, config.Process())
	getenv := cfg.Getenv
	h := &host{given: spec, spec: hs, dial: d.DialContext}
	if h.dial == nil {
		h.dial = (&net.Dialer{KeepAlive: -1}).DialContext
	}
	h.connectTimeout = d.timeout(d.ConnectTimeout, getenv, "PMCD_CONNECT_TIMEOUT", 5*time.Second)
	h.requestTimeout = d.timeout(d.RequestTimeout, getenv, "PMCD_REQUEST_TIMEOUT", 10*time.Second)
	reconnect := Dialer{Reconnect: d.Reconnect, Warn: d.Warn}
	h.backoff = sync.OnceValue(func() []time.Duration { return reconnect.reconnect(getenv) })
	h.ports = defaultPorts(getenv("PMCD_PORT"))
	if local := hs.Protocol == "unix" || hs.Protocol == "local"; local && hs.Hosts[0].Name == "" {
		h.socket = d.Socket
		if h.socket == "" {
			h.socket = defaultSocket(cfg)
		}
	}

	h.security = d.security(&hs, cfg)
	_, compress := hs.Attr(wire.AttrCompress)
	switch {
	case len(hs.Hosts) > 1:
		return nil, fmt.Errorf("by way of proxy %s: not supported yet: %w", hs.Hosts[1], errNotSupported)
	case getenv("PMPROXY_HOST") != "":
		return nil, fmt.Errorf("by way of proxy %s (PMPROXY_HOST): not supported yet: %w", getenv("PMPROXY_HOST"), errNotSupported)
	case compress:
		return nil, fmt.Errorf("with compression: %w", errNotSupported)
	}
	h.login = d.login(&hs)
	var ok bool
	if h.container, ok = hs.Attr(wire.AttrContainer); !ok {
		h.container = cmp.Or(d.Container, getenv("PCP_CONTAINER"))
		if err := checkContainer(h.container); err != nil {
			return nil, fmt.Errorf("%w (PCP_CONTAINER)", err)
		}
	} else if h.container == "" {
		return nil, fmt.Errorf("empty container name: %w", -pcp.Error(syscall.ESRCH))
	}
	return h, nil
}

// timeout picks a time-out: that of the Dialer, else that of the environment, in
// seconds, else the default. It returns 0 if there is no time limit.
func (d *Dialer) timeout(set time.Duration, getenv func(string) string, name string, def time.Duration) time.Duration {
	if set != 0 {
		return max(set, 0)
	}
	text := getenv(name)
	if text == "" {
		return def
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || v < 0 || v > 1e9 || v != v {
		d.warn(fmt.Sprintf("ignored bad %s = '%s'", name, text))
		return def
	}
	return time.Duration(v * float64(time.Second))
}

// reconnect picks the waits between attempts to reconnect. As in C, a mistake in a
// list that is not needed is not an error.
func (d *Dialer) reconnect(getenv func(string) string) []time.Duration {
	if d.Reconnect != nil {
		return d.Reconnect
	}
	var waits []time.Duration
	if text := getenv("PMCD_RECONNECT_TIMEOUT"); text != "" {
		for _, field := range strings.Split(text, ",") {
			v, err := strconv.ParseInt(strings.TrimLeft(field, " "), 10, 32)
			if err != nil || v <= 0 {
				d.warn(fmt.Sprintf("pmReconnectContext: ignored bad PMCD_RECONNECT_TIMEOUT = '%s'", text))
				waits = nil
				break
			}
			waits = append(waits, time.Duration(v)*time.Second)
		}
	}
	if len(waits) == 0 {
		for _, v := range []time.Duration{5, 10, 20, 40, 80} {
			waits = append(waits, v*time.Second)
		}
	}
	return waits
}

func (d *Dialer) warn(msg string) {
	if d.Warn != nil {
		d.Warn(msg)
	}
}

// defaultPorts reads PMCD_PORT; a bad entry spoils the whole list (auxserver.c: __pmAddPorts).
func defaultPorts(env string) []int {
	var ports []int
	for _, field := range strings.Split(env, ",") {
		v, err := strconv.ParseUint(strings.TrimSpace(field), 10, 16)
		if err != nil || v == 0 {
			return []int{DefaultPort}
		}
		ports = append(ports, int(v))
	}
	return ports
}

// defaultSocket is __pmPMCDLocalSocketDefault.
func defaultSocket(cfg *config.Config) string {
	if path := cfg.Getenv("PMCD_SOCKET"); path != "" {
		return path
	}
	return cfg.Get("PCP_RUN_DIR") + "/pmcd.socket"
}

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
		if err == nil || ctx.Err() != nil {
			return err
		}
		if h.spec.Protocol == "unix" {
			if de, ok := err.(*DialError); ok {
				err = de.Err
			}
			return &DialError{Spec: h.given, Code: -pcp.Error(syscall.ENOENT), Err: err}
		}
		name, ports = "localhost", h.ports
	}
	if len(ports) == 0 {
		ports = h.ports
	}
	local := strings.Contains(name, "localhost") || h.spec.Protocol == "local"
	var err error
	for _, port := range ports {
		err = h.connectTo(ctx, "tcp", net.JoinHostPort(name, strconv.Itoa(port)), local)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (h *host) connectTo(ctx context.Context, network, address string, local bool) error {
	dialCtx := ctx
	if h.connectTimeout > 0 {
		var cancel context.CancelFunc
		dialCtx, cancel = context.WithTimeout(ctx, h.connectTimeout)
		defer cancel()
	}
	conn, err := h.dial(dialCtx, network, address)
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
		err = fmt.Errorf("dial %s %s: no answer in %v: %w", network, address, h.connectTimeout, syscall.ETIMEDOUT)
	case errors.As(err, &dns):
		code = -pcp.Error(syscall.EHOSTUNREACH)
	}
	return &DialError{Spec: h.given, Code: code, Err: err}
}

// attach makes conn the connection of h: it reads the collector's greeting,
// says who we are, and passes on attributes (connect.c: __pmConnectHandshake).
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
	h.out = wire.Append(h.out[:0], int32(os.Getpid()), &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, flags)}})
	if login != 0 || flags&wire.FeatureSecure != 0 {
		if err := h.write(); err != nil {
			return err
		}
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
		h.out = wire.Append(h.out, wire.FromAnon, &wire.Attr{Attr: wire.AttrContainer, Value: []byte(h.container)})
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
