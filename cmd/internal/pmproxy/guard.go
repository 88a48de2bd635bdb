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

// ownHosts are the Host names accepted over a loopback address.
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

// checkHost refuses requests over a loopback address whose Host is not a name
// of this host: a browser may have resolved a foreign name to 127.0.0.1.
// Addresses cannot be misused in this way, and programs may omit the name.
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

// hostName returns a Host header without its port.
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

// isLocal reports whether a request is from a program on this host. A request
// that another proxy passed on is not.
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

// crossSite reports whether a browser marked a request as made by a page of
// another origin.
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
