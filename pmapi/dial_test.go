package pmapi

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/wire"
)

func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Dialer{
			Config: config.New(func(name string) string { return map[string]string{"PMCD_CONNECT_TIMEOUT": "1.5"}[name] }),
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}
		start := time.Now()
		_, err := d.Dial(t.Context(), "fake")
		if pcp.Code(err) != -pcp.Error(syscall.ECONNREFUSED) || !errors.Is(err, syscall.ETIMEDOUT) || time.Since(start) != 1500*time.Millisecond {
			t.Errorf("Dial: %v after %v", err, time.Since(start))
		}
		// A collector that accepts and sends nothing.
		d.DialContext = func(context.Context, string, string) (net.Conn, error) {
			client, _ := net.Pipe()
			return client, nil
		}
		start = time.Now()
		_, err = d.Dial(t.Context(), "fake")
		if pcp.Code(err) != pcp.ErrTimeout || time.Since(start) != 10*time.Second {
			t.Errorf("Dial: %v after %v", err, time.Since(start))
		}
	})
}

func TestEnvironment(t *testing.T) {
	f := func(env string, check func(h *host) bool, warning string) {
		t.Helper()
		name, value, _ := strings.Cut(env, "=")
		var warned string
		d := Dialer{
			Config: config.New(func(n string) string {
				if n == name {
					return value
				}
				return ""
			}),
			Warn: func(msg string) { warned += msg },
		}
		h, err := d.host("local:")
		if err != nil {
			t.Errorf("%s: %v", env, err)
			return
		}
		if !check(h) {
			t.Errorf("%s had no effect: %+v", env, h)
		}
		if warned != warning {
			t.Errorf("%s: warned %q, want %q", env, warned, warning)
		}
	}
	f("PMCD_REQUEST_TIMEOUT=2.5", func(h *host) bool { return h.timeout == 2500*time.Millisecond }, "")
	f("PMCD_REQUEST_TIMEOUT=0", func(h *host) bool { return h.timeout == 0 }, "")
	f("PMCD_REQUEST_TIMEOUT=x", func(h *host) bool { return h.timeout == 10*time.Second }, "ignored bad PMCD_REQUEST_TIMEOUT = 'x'")
	f("PMCD_REQUEST_TIMEOUT=-1", func(h *host) bool { return h.timeout == 10*time.Second }, "ignored bad PMCD_REQUEST_TIMEOUT = '-1'")
	f("PMCD_REQUEST_TIMEOUT=nan", func(h *host) bool { return h.timeout == 10*time.Second }, "ignored bad PMCD_REQUEST_TIMEOUT = 'nan'")
	f("PMCD_CONNECT_TIMEOUT=1", func(h *host) bool { return h.connectTimeout == time.Second }, "")
	f("PMCD_CONNECT_TIMEOUT=1s", func(h *host) bool { return h.connectTimeout == 5*time.Second }, "ignored bad PMCD_CONNECT_TIMEOUT = '1s'")
	f("PMCD_RECONNECT_TIMEOUT=1,2", func(h *host) bool {
		return slices.Equal(h.waits(), []time.Duration{time.Second, 2 * time.Second})
	}, "")
	f("PMCD_RECONNECT_TIMEOUT=1,0", func(h *host) bool { return len(h.waits()) == 5 && h.waits()[4] == 80*time.Second },
		"pmReconnectContext: ignored bad PMCD_RECONNECT_TIMEOUT = '1,0'")
	f("PMCD_RECONNECT_TIMEOUT=x", func(*host) bool { return true }, "") // until it is wanted
	f("PMCD_PORT=1,2,3", func(h *host) bool { return slices.Equal(h.ports, []int{1, 2, 3}) }, "")
	f("PMCD_PORT=1,x", func(h *host) bool { return slices.Equal(h.ports, []int{44321}) }, "")
	f("PMCD_SOCKET=/x/y", func(h *host) bool { return h.socket == "/x/y" }, "")
	f("PCP_RUN_DIR=/x", func(h *host) bool { return h.socket == "/x/pmcd.socket" }, "")
	f("PCP_CONTAINER=c1", func(h *host) bool { return h.as.container == "c1" }, "")
	f("PCP_SECURE_SOCKETS=relaxed", func(h *host) bool { return h.as.security.relaxed && !h.as.security.enforced }, "")
	f("PCP_SECURE_SOCKETS=enforce", func(h *host) bool { return h.as.security.enforced }, "")
	f("PCP_SECURE_SOCKETS=1", func(h *host) bool { return h.as.security.enforced }, "")
	f("PCP_SECURE_SOCKETS=0", func(h *host) bool { return !h.as.security.relaxed && !h.as.security.enforced }, "")

	g := func(env, spec string, want pcp.Error) {
		t.Helper()
		name, value, _ := strings.Cut(env, "=")
		d := Dialer{Config: config.New(func(n string) string {
			if n == name {
				return value
			}
			return ""
		})}
		if _, err := d.Dial(t.Context(), spec); pcp.Code(err) != want {
			t.Errorf("%s, Dial(%q): %v, want %v", env, spec, err, want)
		}
	}
	g("", "localhost@proxy@another", errNotSupported)
	g("", "localhost?compress", errNotSupported)
	g("PCP_CONTAINER=a/b", "localhost", -pcp.Error(syscall.EINVAL))
	g("", "", pcp.ErrNotHost)
	g("", "localhost:x", pcp.ErrGeneric)
}

func TestPortsAreTriedInTurn(t *testing.T) {
	fake := newCollector()
	d := fake.dialer()
	pipe := d.DialContext
	var tried []string
	d.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		tried = append(tried, network+" "+address)
		if address == "localhost:3" {
			return pipe(ctx, network, address)
		}
		return nil, syscall.ECONNREFUSED
	}
	d.Config = config.New(func(name string) string {
		return map[string]string{"PMCD_PORT": "2,3,4", "PMCD_SOCKET": "/s"}[name]
	})
	f := func(spec string, want ...string) {
		t.Helper()
		tried = nil
		c, err := d.Dial(t.Context(), spec)
		if err == nil {
			c.Close()
		}
		if !slices.Equal(tried, want) {
			t.Errorf("Dial(%q) tried %q, want %q (%v)", spec, tried, want, err)
		}
	}
	f("localhost", "tcp localhost:2", "tcp localhost:3")
	f("localhost:7,3", "tcp localhost:7", "tcp localhost:3")
	f("[::1]", "tcp [::1]:2", "tcp [::1]:3", "tcp [::1]:4")
	f("[fe80::1%lo]:9", "tcp [fe80::1%lo]:9")
	f("local:", "unix /s", "tcp localhost:2", "tcp localhost:3")
	f("local:/x", "unix /x", "tcp localhost:2", "tcp localhost:3")
	f("unix:", "unix /s")
	f("unix:x/y", "unix /x/y")
	fake.wg.Wait()
}

func TestHandshake(t *testing.T) {
	f := func(spec string, greeting wire.PDU, want pcp.Error, flags wire.Features) {
		t.Helper()
		fake := newCollector()
		fake.greeting = greeting
		var creds wire.Creds
		var attr wire.Attr
		fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
			switch hdr.Type {
			case wire.TypeCreds:
				creds.DecodeBody(body)
			case wire.TypeAttr:
				attr.DecodeBody(body)
			}
			return false
		}
		c, err := fake.dialer().Dial(t.Context(), spec)
		if pcp.Code(err) != want {
			t.Errorf("Dial(%q) with greeting %+v: %v, want %v", spec, greeting, err, want)
		}
		if err != nil {
			return
		}
		// An answer shows that all earlier bytes were read.
		if _, err := c.LookupName(t.Context(), "demo.count"); err != nil {
			t.Error(err)
		}
		c.Close()
		fake.wg.Wait()
		if len(creds.Creds) != 1 || creds.Creds[0] != wire.VersionCred(2, flags) {
			t.Errorf("Dial(%q) with greeting %+v: credentials %v, want flags %v", spec, greeting, creds, flags)
		}
		if flags&wire.FeatureContainer != 0 && (attr.Attr != wire.AttrContainer || string(attr.Value) != "web") {
			t.Errorf("attribute %v %q", attr.Attr, attr.Value)
		}
	}
	f("h", greet(0), 0, 0)
	f("h", greet(allFeatures), 0, 0)
	f("h?container=web", greet(allFeatures), 0, wire.FeatureContainer)
	f("h?container=web", greet(0), errNotSupported, 0)
	f("h", &wire.Error{Code: pcp.ErrPermission}, pcp.ErrPermission, 0)
	f("h", &wire.Error{Code: pcp.ErrConnLimit, Extended: true}, pcp.ErrConnLimit, 0)
	f("unix:", &wire.Error{Code: pcp.ErrPermission}, -pcp.Error(syscall.ENOENT), 0)
	f("h", &wire.Error{}, pcp.ErrIPC, 0)
	f("h", &wire.Error{Extended: true, Info: wire.Info{Version: 1}.Pack()}, pcp.ErrIPC, 0)
	f("h", &wire.Text{}, pcp.ErrIPC, 0)
	f("h", nil, pcp.ErrIPC, 0)
	f("h?user=x", greet(allFeatures), errNotSupported, 0)
	f("unix:", greet(wire.FeatureCredsReqd), 0, wire.FeatureCredsReqd)
	f("h", greet(wire.FeatureCertReqd), pcp.ErrNeedClientCert, 0)
	f("localhost", greet(wire.FeatureCertReqd), 0, 0)
	f("pcps://h", greet(0), errNotSupported, 0)
	f("pcps://h", greet(wire.FeatureCertReqd), errNotSupported, 0)
	f("pcps://h?secure=relaxed", greet(0), 0, 0)
	f("pcps://h?secure=relaxed", greet(wire.FeatureSecure|wire.FeatureCertReqd), pcp.ErrNeedClientCert, 0)
	f("pcps://h?secure=no", greet(wire.FeatureSecure), 0, 0)
	f("h?secure=enforce", greet(wire.FeatureSecure), 0, 0) // is about pcps: only
}
