package pmapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

// A socket is a pipe whose deadline can be set also when its peer has gone, as that of a socket.
type socket struct{ net.Conn }

func (s socket) SetDeadline(t time.Time) error {
	if err := s.Conn.SetDeadline(t); !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return nil
}

// proxied returns a Dialer with an environment whose connections are those of a
// proxy in front of c. After its hello the proxy reports the line that names a
// collector.
func (c *collector) proxied(t testing.TB, hello string, env map[string]string) (d *Dialer, dialled, asked *[]string) {
	dialled, asked = new([]string), new([]string)
	var mu sync.Mutex
	d = &Dialer{
		Config:         config.New(func(name string) string { return env[name] }),
		ConnectTimeout: 50 * time.Millisecond,
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			*dialled = append(*dialled, network+" "+address)
			client, server := net.Pipe()
			c.wg.Go(func() {
				in := bufio.NewReaderSize(server, 1<<16)
				if network == "tcp" {
					if line, err := in.ReadString('\n'); err != nil || line != "pmproxy-client 1\n" {
						server.Close()
						return
					}
					io.WriteString(server, hello)
					line, err := in.ReadString('\n')
					if err != nil {
						server.Close()
						return
					}
					mu.Lock()
					*asked = append(*asked, line)
					mu.Unlock()
					if strings.HasPrefix(line, "unreachable ") {
						server.Close()
						return
					}
				}
				c.serve(bufferedPipe{server, in})
			})
			return socket{client}, nil
		},
	}
	t.Cleanup(c.wg.Wait)
	return d, dialled, asked
}

// TestProxy connects by way of a proxy.
func TestProxy(t *testing.T) {
	f := func(spec string, env map[string]string, dialled, asked string) {
		t.Helper()
		c := newCollector()
		d, to, lines := c.proxied(t, "pmproxy-server 1\n", env)
		d.ConnectTimeout = time.Minute
		p, err := d.Dial(t.Context(), spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			return
		}
		defer p.Close()
		if _, err := p.LookupName(t.Context(), "fake.colour"); err != nil && !errors.Is(err, pcp.ErrName) {
			t.Errorf("%s: %v", spec, err)
		}
		if got := strings.Join(*to, "|"); got != dialled {
			t.Errorf("%s: dialled %s, want %s", spec, got, dialled)
		}
		if got := strings.Join(*lines, "|"); got != asked {
			t.Errorf("%s: asked for %q, want %q", spec, got, asked)
		}
		if another, err := p.Dup(t.Context()); err != nil {
			t.Errorf("%s: a copy: %v", spec, err)
		} else if another.Close(); strings.Join(*to, "|") != dialled+"|"+dialled {
			t.Errorf("%s: a copy dialled %v", spec, *to)
		}
	}
	host := map[string]string{"PMPROXY_HOST": "gate"}
	ports := map[string]string{"PMPROXY_HOST": "gate", "PMPROXY_PORT": "4000,4001", "PMCD_PORT": "5000"}
	f("far@gate", nil, "tcp gate:44322", "far 44321\n")
	f("pcp://far:1@gate:2,3", nil, "tcp gate:2", "far 1\n")
	f("[fe80::1]:1@[::1]:2", nil, "tcp [::1]:2", "fe80::1 1\n")
	f("far", host, "tcp gate:44322", "far 44321\n")
	f("far", ports, "tcp gate:4000", "far 5000\n")
	f("far:6", ports, "tcp gate:4000", "far 6\n")
	f("far@other", ports, "tcp other:44322", "far 5000\n")
	f("far", map[string]string{"PMPROXY_HOST": "[::1]", "PMPROXY_PORT": "x"}, "tcp [::1]:44322", "far 44321\n")
	f("unix:/a", ports, "unix /a", "")
	f("local:/a", ports, "unix /a", "")
}

// TestProxyErrors checks the errors for a proxy, or a server in its place, that
// misbehaves.
func TestProxyErrors(t *testing.T) {
	f := func(hello, spec string, code pcp.Error, want string) {
		t.Helper()
		c := newCollector()
		d, _, _ := c.proxied(t, hello, nil)
		_, err := d.Dial(t.Context(), spec)
		if pcp.Code(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %s: %v, want %v and %q", hello, spec, err, code, want)
		}
	}
	f("pmproxy-server 2\n", "far@gate", pcp.ErrIPC, `not a proxy: it says "pmproxy-server 2"`)
	f(strings.Repeat("x", 17), "far@gate", pcp.ErrIPC, `not a proxy: it says "xxxx`)
	f("", "far@gate", pcp.ErrIPC, "proxy gate:44322")
	f("pmproxy-server 1\n", "unreachable@gate", pcp.ErrIPC, "")
	c := newCollector()
	d, _, _ := c.proxied(t, "", nil)
	d.ConnectTimeout = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	dial := d.DialContext
	d.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		time.AfterFunc(time.Millisecond, cancel)
		return conn, err
	}
	if _, err := d.Dial(ctx, "far@gate"); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}
