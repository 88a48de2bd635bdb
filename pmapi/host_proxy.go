package pmapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// defaultProxyPort is the TCP port of pmproxy (PROXY_PORT).
const defaultProxyPort = 44322

// The proxy protocol (connect.c: negotiate_proxy). Part of the protocol; do not
// change.
const (
	proxyClientHello = "pmproxy-client 1\n"
	proxyServerHello = "pmproxy-server 1"
)

// proxyOf returns the address of the proxy on the way to a collector, "" for
// none. One of the specification comes before that of PMPROXY_HOST, which
// PMPROXY_PORT is about. A Unix socket is this host's, and needs no proxy.
func proxyOf(hs *HostSpec, getenv func(string) string) (string, error) {
	if hs.Protocol == "unix" || hs.Protocol == "local" {
		return "", nil
	}
	switch len(hs.Hosts) {
	case 1:
		name := strings.Trim(getenv("PMPROXY_HOST"), "[]")
		if name == "" {
			return "", nil
		}
		return net.JoinHostPort(name, strconv.Itoa(portsOf(getenv("PMPROXY_PORT"), defaultProxyPort)[0])), nil
	case 2:
		proxy := hs.Hosts[1]
		port := defaultProxyPort
		if len(proxy.Ports) > 0 {
			port = proxy.Ports[0]
		}
		return net.JoinHostPort(proxy.Name, strconv.Itoa(port)), nil
	}
	return "", fmt.Errorf("by way of %d proxies: %w", len(hs.Hosts)-1, errNotSupported)
}

// askProxy has a proxy connect to a collector. From there on the collector
// speaks. A proxy that cannot reach the collector ends the connection.
func (t *target) askProxy(ctx context.Context, conn net.Conn, name, port string) error {
	if t.connectTimeout > 0 {
		if err := conn.SetDeadline(time.Now().Add(t.connectTimeout)); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	defer stop()
	err := shakeHands(conn, name, port)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("proxy %s: %w: %w", t.proxy, err, pcp.ErrIPC)
	}
	if !stop() {
		return context.Cause(ctx)
	}
	return conn.SetDeadline(time.Time{})
}

func shakeHands(conn net.Conn, name, port string) error {
	if strings.ContainsAny(name, " \n\r\x00") {
		return fmt.Errorf("%q cannot be the name of a collector", name)
	}
	if _, err := io.WriteString(conn, proxyClientHello); err != nil {
		return err
	}
	// The collector may speak right after it: nothing more may be read.
	hello := make([]byte, 0, len(proxyServerHello)+1)
	var b [1]byte
	for {
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("not a proxy: it ends the connection")
			}
			return err
		}
		if b[0] == '\n' || b[0] == '\r' {
			break
		}
		if hello = append(hello, b[0]); len(hello) == cap(hello) {
			break
		}
	}
	if string(hello) != proxyServerHello {
		return fmt.Errorf("not a proxy: it says %q", hello)
	}
	_, err := io.WriteString(conn, name+" "+port+"\n")
	return err
}
