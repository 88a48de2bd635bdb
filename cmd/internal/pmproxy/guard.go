package pmproxy

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// ownHosts are the names by which this host may be asked over a loopback address.
func ownHosts(more []string) []string {
	hosts := []string{"localhost"}
	for _, h := range more {
		hosts = append(hosts, strings.ToLower(strings.TrimSuffix(h, ".")))
	}
	if name, err := os.Hostname(); err == nil {
		name = strings.ToLower(name)
		hosts = append(hosts, name)
		if short, _, ok := strings.Cut(name, "."); ok {
			hosts = append(hosts, short)
		}
	}
	return hosts
}

// checkHost refuses names that are not this host's in requests over a loopback
// address: a browser may have been told that a foreign name is 127.0.0.1.
// Addresses cannot be misused so, and programs need not say a name.
func (set *settings) checkHost(c *conn, r *http.Request) error {
	if !isLoopback(c.Conn.LocalAddr()) || r.Host == "" {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(hostName(r.Host), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	if slices.Contains(set.hosts, name) || strings.HasSuffix(name, ".localhost") {
		return nil
	}
	return fmt.Errorf("host %q is not a name of this server; if it should be, add it to http.hosts of pmproxy.conf", name)
}

// hostName is a Host header without its port.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// isLocal reports whether a request is from a program of this host. One that was
// passed on by another proxy is not.
func isLocal(c *conn, r *http.Request) bool {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if len(r.Header[h]) > 0 {
			return false
		}
	}
	if _, ok := c.Conn.(*net.UnixConn); ok {
		return true
	}
	return isLoopback(c.Conn.RemoteAddr()) && isLoopback(c.Conn.LocalAddr())
}

// crossSite reports whether a browser says that a page of another origin made a
// request.
func crossSite(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}
