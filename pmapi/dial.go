package pmapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/wire"
)

// DefaultPort is where a collector listens (SERVER_PORT).
const DefaultPort = wire.DefaultPort

// A Dialer holds the options of a connection to a collector. The zero value has
// the defaults of PCPIntro(1), taken from the environment where set.
type Dialer struct {
	ConnectTimeout time.Duration   // 0: PMCD_CONNECT_TIMEOUT, else 5 s; negative: none
	RequestTimeout time.Duration   // 0: PMCD_REQUEST_TIMEOUT, else 10 s; negative: none
	Reconnect      []time.Duration // waits between attempts to reconnect; nil: PMCD_RECONNECT_TIMEOUT, else 5, 10, 20, 40, 80 s
	Socket         string          // of unix: and local: without a path; "": PMCD_SOCKET, else pmcd.socket in PCP_RUN_DIR
	// OwnSocket is where a collector of this user serves; "" means nowhere. A connection to local:
	// without a path tries it after Socket and before TCP, if there is a socket that belongs to the
	// user of this process or to root.
	OwnSocket string
	// Config has the environment and pcp.conf; nil means config.Process, those of
	// this process.
	Config *config.Config
	// Container is the container whose metrics are wanted; "" means
	// PCP_CONTAINER.
	Container string
	// DialContext makes the connection, to network "tcp" or "unix"; nil means
	// that of net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Denied is called for each answer of the collector that refuses a request, or the values of a metric, with
	// pcp.ErrPermission. It must not call the Context.
	Denied func()
	// Password returns the password of a user whose specification lacks it,
	// if the collector wants it; nil means an empty password. UserName
	// likewise for the name.
	Password func(ctx context.Context, username, realm string) (string, error)
	UserName func(ctx context.Context) (string, error)
	// TLS is the configuration used where spec or PCP_SECURE_SOCKETS ask for
	// TLS; nil means that of tls.conf (PCP_TLSCONF_PATH), which checks
	// certificates only if so configured. ServerName defaults to the host of
	// spec.
	TLS *tls.Config
	// Warn is called with a message for each bad value found in the
	// environment, which is then ignored; nil discards it.
	Warn func(msg string)
	// Debug prints lines about connections, requests and answers that its options
	// select; nil prints nothing.
	Debug *debug.Log
}

// A DialError is the reason that a connection could not be made. It wraps Code,
// then Err.
type DialError struct {
	Spec string
	// Code is the status that pmNewContext(3) returns for the same failure.
	// It is less specific than Err: any failure of a unix: connection is
	// ENOENT, any of TCP to connect at all ECONNREFUSED.
	Code pcp.Error
	Err  error // the cause
}

// Error returns the name of the collector and the cause.
func (e *DialError) Error() string {
	return fmt.Sprintf("connect to collector %q: %v", HidePassword(e.Spec), e.Err)
}

// Unwrap returns Code and Err.
func (e *DialError) Unwrap() []error { return []error{e.Code, e.Err} }

// Dial connects to the collector that spec names, in the grammar of
// [ParseHostSpec]. It is pmNewContext(PM_CONTEXT_HOST).
//
// A failed connection is a *DialError, a bad specification a *DialError that
// wraps a *SpecError. Connections use a proxy (pmproxy(1)) if the specification
// or PMPROXY_HOST names one. A proxy that cannot reach the collector ends the
// connection, and the error gives no other reason.
func Dial(ctx context.Context, spec string) (*Context, error) { return new(Dialer).Dial(ctx, spec) }

// Dial is the function Dial with the settings of d.
func (d *Dialer) Dial(ctx context.Context, spec string) (*Context, error) {
	t := newTrace(d.Debug)
	t.newContext(SourceHost, spec)
	h, err := d.host(spec)
	if err == nil {
		h.trace = t
		err = h.connect(ctx)
	}
	t.opened(SourceHost, spec, h, err)
	if err != nil {
		return nil, dialError(spec, err)
	}
	return newContext(h, t), nil
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
	to := target{given: spec, spec: hs, dial: d.DialContext}
	if to.dial == nil {
		to.dial = (&net.Dialer{KeepAlive: -1}).DialContext
	}
	to.connectTimeout = d.timeout(d.ConnectTimeout, getenv, "PMCD_CONNECT_TIMEOUT", 5*time.Second)
	requestTimeout := d.timeout(d.RequestTimeout, getenv, "PMCD_REQUEST_TIMEOUT", 10*time.Second)
	to.ports = defaultPorts(getenv("PMCD_PORT"))
	if local := hs.Protocol == "unix" || hs.Protocol == "local"; local && hs.Hosts[0].Name == "" {
		to.socket = d.Socket
		if to.socket == "" {
			to.socket = defaultSocket(cfg)
		}
		if hs.Protocol == "local" {
			to.ownSocket = d.OwnSocket
		}
	}

	as := identity{security: d.security(&hs, cfg)}
	if to.proxy, err = proxyOf(&hs, getenv); err != nil {
		return nil, err
	}
	if _, compress := hs.Attr(wire.AttrCompress); compress {
		return nil, fmt.Errorf("with compression: %w", errNotSupported)
	}
	as.login = d.login(&hs)
	var ok bool
	if as.container, ok = hs.Attr(wire.AttrContainer); !ok {
		as.container = cmp.Or(d.Container, getenv("PCP_CONTAINER"))
		if err := checkContainer(as.container); err != nil {
			return nil, fmt.Errorf("%w (PCP_CONTAINER)", err)
		}
	} else if as.container == "" {
		return nil, fmt.Errorf("empty container name: %w", -pcp.Error(syscall.ESRCH))
	}
	reconnect := Dialer{Reconnect: d.Reconnect, Warn: d.Warn}
	h := newHost(to, as, sync.OnceValue(func() []time.Duration { return reconnect.reconnect(getenv) }))
	h.timeout, h.denied = requestTimeout, d.Denied
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

// defaultPorts reads PMCD_PORT.
func defaultPorts(env string) []int { return portsOf(env, DefaultPort) }

// portsOf reads a list of ports; a bad entry spoils all of it (auxserver.c:
// __pmAddPorts).
func portsOf(env string, def int) []int {
	var ports []int
	for _, field := range strings.Split(env, ",") {
		v, err := strconv.ParseUint(strings.TrimSpace(field), 10, 16)
		if err != nil || v == 0 {
			return []int{def}
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

// login reads the attributes of the user in a specification.
func (d *Dialer) login(hs *HostSpec) *login {
	l := &login{askUser: d.UserName, askPassword: d.Password}
	var has [4]bool
	l.user, has[0] = hs.Attr(wire.AttrUserName)
	l.password, l.hasPassword = hs.Attr(wire.AttrPassword)
	l.method, has[1] = hs.Attr(wire.AttrMethod)
	l.realm, has[2] = hs.Attr(wire.AttrRealm)
	_, has[3] = hs.Attr(wire.AttrUserAuth)
	l.wanted = l.hasPassword || has[0] || has[1] || has[2] || has[3]
	return l
}

// security reads a specification and the environment (context.c: ctxflags). The
// attribute counts with pcps: alone; a word that is not known turns TLS off.
func (d *Dialer) security(hs *HostSpec, cfg *config.Config) security {
	s := security{config: d.TLS, settings: cfg}
	mode, ok := "", false
	if hs.Protocol == "pcps" {
		if mode, ok = hs.Attr(wire.AttrSecure); !ok {
			mode, ok = "enforce", true
		}
	} else {
		mode, ok = cfg.Getenv("PCP_SECURE_SOCKETS"), cfg.IsSet("PCP_SECURE_SOCKETS") // empty, but set, enforces
	}
	if ok {
		s.enforced = mode == "" || mode == "1" || mode == "enforce"
		s.relaxed = mode == "relaxed"
	}
	return s
}
