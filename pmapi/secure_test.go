package pmapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/wire"
)

const secureAck = wire.FeatureSecure | wire.FeatureSecureAck

// secureCollector returns a collector that speaks TLS with clients that want it.
// before and instead, if not nil, are called with the connection ahead of the
// handshake and in its place.
func secureCollector(t testing.TB, cert tlstest.Pair, features wire.Features, before func(net.Conn)) *collector {
	t.Helper()
	cfg, err := (&tlsconf.File{CertFile: cert.File, KeyFile: cert.Key}).Server()
	if err != nil {
		t.Fatal(err)
	}
	c := newCollector()
	c.greeting = greet(allFeatures | features)
	c.answer = func(s *session, hdr wire.Header, body []byte) bool {
		if hdr.Type != wire.TypeCreds {
			return false
		}
		var creds wire.Creds
		if err := creds.DecodeBody(body); err != nil {
			return false
		}
		_, wanted, _ := creds.Version()
		if wanted&wire.FeatureSecure == 0 {
			return false
		}
		if before != nil {
			before(s.conn)
		} else if wanted&wire.FeatureSecureAck != 0 {
			s.send(&wire.Error{})
		}
		stream := tls.Server(&readAhead{Conn: s.conn, first: s.r.Take()}, cfg)
		s.conn, s.r = stream, wire.NewReader(stream)
		return true
	}
	return c
}

func TestSecure(t *testing.T) {
	ca, other := tlstest.NewCA(t, "CA"), tlstest.NewCA(t, "other CA")
	cert := ca.Cert(t, tlstest.Want{Hosts: []string{"127.0.0.1"}})
	var port string
	f := func(name, spec, conf string, env map[string]string, want pcp.Error) {
		t.Helper()
		d := Dialer{Config: config.New(func(n string) string {
			if n == "PCP_TLSCONF_PATH" {
				return conf
			}
			return env[n]
		})}
		c, err := d.Dial(t.Context(), strings.ReplaceAll(spec, "PORT", port))
		if pcp.Code(err) != want {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err != nil {
			return
		}
		defer c.Close()
		// The requests that follow succeed over TLS, and for a client on this
		// host.
		for range 2 {
			if _, err := c.LookupName(t.Context(), "demo.count"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := c.Fetch(t.Context(), []pcp.PMID{idCount, idLoad}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		dup, err := c.Dup(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		defer dup.Close()
		if _, err := dup.LookupName(t.Context(), "demo.count"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Reconnect(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, secure := c.names.source.(*host).conn.(pduRecords)
		if wantSecure := !strings.Contains(name, "plain"); secure != wantSecure {
			t.Errorf("%s: over TLS is %t", name, secure)
		}
	}
	none := tlstest.Conf(t)
	for _, features := range []wire.Features{wire.FeatureSecure, secureAck} {
		_, port, _ = net.SplitHostPort(secureCollector(t, cert, features, nil).listen(t))
		f("pcps", "pcps://127.0.0.1:PORT", none, nil, 0)
		f("container", "pcps://127.0.0.1:PORT?container=web", none, nil, 0)
		f("plain", "127.0.0.1:PORT", none, nil, 0)
		f("environment", "127.0.0.1:PORT", none, map[string]string{"PCP_SECURE_SOCKETS": "relaxed"}, 0)
		f("no file", "pcps://127.0.0.1:PORT", "/none/at/all", nil, 0)
		f("a directory", "pcps://127.0.0.1:PORT", t.TempDir(), nil, 0)
		f("checked", "pcps://127.0.0.1:PORT", tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-verify-server", "true"), nil, 0)
		wrong := tlstest.Conf(t, "tls-ca-cert-file", other.File, "tls-verify-server", "true")
		f("another CA", "pcps://127.0.0.1:PORT", wrong, nil, pcp.ErrTLS)
		f("another CA, plain", "127.0.0.1:PORT", wrong, nil, 0)
		f("another name", "pcps://localhost:PORT", tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-verify-server", "true"), nil, pcp.ErrTLS)
		f("another name, allowed", "pcps://localhost:PORT", tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-verify-server", "true"),
			map[string]string{"PCP_ALLOW_BAD_CERT_DOMAIN": "1"}, 0)
		f("unusable file", "pcps://127.0.0.1:PORT", tlstest.Conf(t, "tls-ca-cert-file", "/none"), nil, pcp.ErrNotConn)
	}
}

// TestTLSError has a tls.conf that cannot be used.
func TestTLSError(t *testing.T) {
	cert := tlstest.NewCA(t, "CA").Cert(t, tlstest.Want{Hosts: []string{"127.0.0.1"}})
	addr := secureCollector(t, cert, secureAck, nil).listen(t)
	conf := tlstest.Conf(t, "tls-ca-cert-file", "/none")
	vars := map[string]string{"PCP_CONF": os.DevNull, "PCP_TLSCONF_PATH": conf}
	d := Dialer{Config: config.New(func(name string) string { return vars[name] })}
	_, err := d.Dial(t.Context(), "pcps://"+addr)
	te, ok := errors.AsType[*TLSError](err)
	if !ok {
		t.Fatalf("Dial: %v, want a TLSError in it", err)
	}
	if want := "Cannot load the CA Certificate list from /none"; te.Text != want || !errors.Is(te, fs.ErrNotExist) || !errors.Is(err, pcp.ErrNotConn) {
		t.Errorf("Dial: %v, want %q and the reason", err, want)
	}
}

// TestSecureDialer takes the Dialer's own configuration.
func TestSecureDialer(t *testing.T) {
	ca := tlstest.NewCA(t, "CA")
	cert := ca.Cert(t, tlstest.Want{Hosts: []string{"127.0.0.1"}})
	addr := secureCollector(t, cert, secureAck, nil).listen(t)
	conf, err := (&tlsconf.File{CAFile: ca.File}).Client("", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Pointer[tls.ConnectionState]
	for name, want := range map[string]pcp.Error{"": 0, "127.0.0.1": 0, "elsewhere.example": pcp.ErrTLS} {
		cfg := &tls.Config{RootCAs: conf.RootCAs, ServerName: name, VerifyConnection: func(s tls.ConnectionState) error {
			seen.Store(&s)
			return nil
		}}
		c, err := (&Dialer{TLS: cfg, Config: config.New(func(string) string { return "" })}).Dial(t.Context(), "pcps://"+addr)
		if pcp.Code(err) != want {
			t.Errorf("server name %q: %v, want %v", name, err, want)
		}
		if err == nil {
			c.Close()
		}
		if cfg.ServerName != name {
			t.Errorf("the caller's configuration has changed")
		}
	}
	if s := seen.Load(); s == nil || len(s.PeerCertificates) != 1 {
		t.Error("the Dialer's configuration was not used")
	}
}

// TestSecureEmpty sets PCP_SECURE_SOCKETS to nothing, which means something.
func TestSecureEmpty(t *testing.T) {
	t.Setenv("PCP_SECURE_SOCKETS", "")
	hs, err := ParseHostSpec("h")
	if err != nil {
		t.Fatal(err)
	}
	if s := new(Dialer).security(&hs, config.Process()); !s.enforced {
		t.Error("empty is taken for not set")
	}
	os.Unsetenv("PCP_SECURE_SOCKETS")
	if s := new(Dialer).security(&hs, config.Process()); s.enforced || s.relaxed {
		t.Error("not set is taken for empty")
	}
}

// TestSecureHostile has collectors that announce one thing and do another.
func TestSecureHostile(t *testing.T) {
	cert := tlstest.NewCA(t, "CA").Cert(t, tlstest.Server())
	dial := func(ctx context.Context, addr string, timeout time.Duration) error {
		c, err := (&Dialer{RequestTimeout: timeout, Config: config.New(func(string) string { return "" })}).Dial(ctx, "pcps://"+addr)
		if err == nil {
			c.Close()
		}
		return err
	}
	status := func(code pcp.Error) []byte { return wire.Append(nil, 0, &wire.Error{Code: code}) }
	for name, f := range map[string]struct {
		send []byte
		want pcp.Error
	}{
		"a refusal":            {status(pcp.ErrPermission), pcp.ErrPermission},
		"no status":            {wire.Append(nil, 0, &wire.Text{}), pcp.ErrIPC},
		"the end":              {nil, pcp.ErrIPC},
		"garbage":              {append(status(0), strings.Repeat("garbage", 100)...), pcp.ErrTLS},
		"an answer in advance": {append(status(0), wire.Append(nil, 0, &wire.Text{})...), pcp.ErrTLS},
		"a huge record":        {append(status(0), append([]byte{22, 3, 3, 0xff, 0xff}, make([]byte, 1<<16)...)...), pcp.ErrTLS},
	} {
		addr := secureCollector(t, cert, secureAck, func(c net.Conn) {
			c.Write(f.send)
			if len(f.send) == 0 {
				c.Close()
			}
		}).listen(t)
		if err := dial(t.Context(), addr, time.Minute); pcp.Code(err) != f.want {
			t.Errorf("%s: %v, want %v", name, err, f.want)
		}
	}

	// Silence ends by the time-out, or by the context.
	came := make(chan struct{}, 2)
	silent := secureCollector(t, cert, secureAck, func(c net.Conn) {
		c.Write(status(0))
		came <- struct{}{}
		io.Copy(io.Discard, c)
	}).listen(t)
	if err := dial(t.Context(), silent, 50*time.Millisecond); pcp.Code(err) != pcp.ErrTimeout {
		t.Errorf("silence: %v", err)
	}
	<-came
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	if err := dial(ctx, silent, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// TestPDURecords has each PDU be a separate write.
func TestPDURecords(t *testing.T) {
	one := wire.Append(nil, 0, &wire.DescReq{PMID: 1})
	two := wire.Append(nil, 0, &wire.Profile{})
	w := new(writes)
	cfg, err := new(tlsconf.File).Client("", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	cert := tlstest.NewCA(t, "CA").Cert(t, tlstest.Server())
	sc, err := (&tlsconf.File{CertFile: cert.File, KeyFile: cert.Key}).Server()
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go func() {
		io.Copy(io.Discard, tls.Server(b, sc))
	}()
	w.Conn = a
	stream := tls.Client(w, cfg)
	if err := stream.Handshake(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		string(one) + string(two):                          2,
		string(one):                                        1,
		string(one) + string(two) + string(one):            3,
		string(one) + "rest":                               2,
		"\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00": 1, // no PDU at all: goes as it is
	} {
		w.n = 0
		n, err := pduRecords{stream}.Write([]byte(text))
		if n != len(text) || err != nil || w.n != want {
			t.Errorf("Write(%q) = %d, %v in %d writes, want %d", text, n, err, w.n, want)
		}
	}
}

// writes counts them.
type writes struct {
	net.Conn
	n int
}

func (w *writes) Write(b []byte) (int, error) {
	w.n++
	return w.Conn.Write(b)
}

// BenchmarkSecureFetch is a fetch over TLS from a collector in this process.
func BenchmarkSecureFetch(b *testing.B) {
	addr := secureCollector(b, tlstest.NewCA(b, "CA").Cert(b, tlstest.Server()), secureAck, nil).listen(b)
	for _, spec := range []string{"pcp://" + addr, "pcps://" + addr} {
		b.Run(spec[:strings.IndexByte(spec, ':')], func(b *testing.B) {
			c, err := (&Dialer{Config: config.New(func(string) string { return "" })}).Dial(b.Context(), spec)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			var res pcp.Result
			ids := []pcp.PMID{idCount, idLoad}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.FetchInto(b.Context(), ids, &res); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
