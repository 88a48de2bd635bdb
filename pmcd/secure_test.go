package pmcd_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/wire"
)

// A tlsWorld has certificates for both sides.
type tlsWorld struct {
	ca             *tlstest.CA
	server         *tls.Config
	plain          *tls.Config // a client's, without a certificate
	known, unknown *tls.Config // with a certificate that the server trusts, and not
}

func newTLSWorld(t testing.TB) *tlsWorld {
	t.Helper()
	w := &tlsWorld{ca: tlstest.NewCA(t, "CA")}
	cert := w.ca.Cert(t, tlstest.Server())
	var err error
	if w.server, err = (&tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, CAFile: w.ca.File}).Server(); err != nil {
		t.Fatal(err)
	}
	client := func(f tlsconf.File) *tls.Config {
		f.CAFile, f.VerifyServer = w.ca.File, "true"
		cfg, err := f.Client("localhost", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	w.plain = client(tlsconf.File{})
	cert = w.ca.Cert(t, tlstest.Want{})
	w.known = client(tlsconf.File{ClientCertFile: cert.File, ClientKeyFile: cert.Key})
	cert = tlstest.NewCA(t, "other CA").Cert(t, tlstest.Want{})
	w.unknown = client(tlsconf.File{ClientCertFile: cert.File, ClientKeyFile: cert.Key})
	return w
}

const secureAck = wire.FeatureSecure | wire.FeatureSecureAck

// secure has c speak TLS after its greeting, and returns how that went.
func (c *rawClient) secure(flags wire.Features, cfg *tls.Config) error {
	c.t.Helper()
	c.greet()
	c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, flags)}})
	if flags&wire.FeatureSecureAck != 0 {
		var ack wire.Error
		c.expect(&ack)
		if ack != (wire.Error{}) {
			c.t.Fatalf("acknowledged with %+v", ack)
		}
	}
	stream := tls.Client(c.conn, cfg)
	c.conn, c.pdus = stream, wire.NewReader(stream)
	c.pdus.Max = wire.MaxPDU
	return stream.Handshake()
}

// dialSecure connects with TLS.
func dialSecure(t testing.TB, network, address string, cfg *tls.Config) *rawClient {
	t.Helper()
	c := dialOnly(t, network, address)
	if err := c.secure(secureAck, cfg); err != nil {
		t.Fatal(err)
	}
	return c
}

var metric = pcp.NewPMID(301, 0, 1)

// answers checks that the server still answers c.
func (c *rawClient) answers() {
	c.t.Helper()
	if res := c.fetch(metric); len(res.Sets) != 1 || len(res.Sets[0].Values) != 1 {
		c.t.Errorf("a fetch gives %+v", res)
	}
}

// refused reports whether the server ends the connection of c.
func (c *rawClient) refused(err error) bool {
	c.t.Helper()
	if err != nil {
		return true
	}
	// In TLS 1.3 a client learns of it after its part is done.
	c.conn.Write(wire.Append(nil, 0, &wire.DescReq{PMID: metric}))
	_, _, err = c.pdus.Next()
	return err != nil
}

func TestSecure(t *testing.T) {
	w := newTLSWorld(t)
	s := start(t, pmcd.Config{TLS: w.server, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{}), builtin(t, "pmcd")}})
	if f := s.Control().Features(); !f.Secure || f.ClientCertRequired {
		t.Errorf("features %+v", f)
	}
	plain := dial(t, "tcp", s.TCP)
	if plain.info.Features&(secureAck|wire.FeatureCertReqd) != secureAck {
		t.Errorf("server offers %v", plain.info.Features)
	}
	plain.answers()
	for _, cfg := range []*tls.Config{w.plain, w.known} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			cfg := cfg.Clone()
			cfg.MinVersion, cfg.MaxVersion = version, version
			dialSecure(t, "tcp", s.TCP, cfg).answers()
			dialSecure(t, "unix", s.Socket, cfg).answers()
			c := dialOnly(t, "tcp", s.TCP)
			if err := c.secure(wire.FeatureSecure, cfg); err != nil {
				t.Errorf("without acknowledgement: %v", err)
			}
			c.answers()
		}
	}
	for _, f := range []struct {
		name  string
		flags wire.Features
		cfg   *tls.Config
	}{{"certificate of a stranger", secureAck, w.unknown}, {"one is wanted, none shown", secureAck | wire.FeatureCertReqd, w.plain}} {
		c := dialOnly(t, "tcp", s.TCP)
		if !c.refused(c.secure(f.flags, f.cfg)) {
			t.Errorf("%s: is accepted", f.name)
		}
	}
	c := dialOnly(t, "tcp", s.TCP)
	if err := c.secure(secureAck|wire.FeatureCertReqd, w.known); err != nil {
		t.Error(err)
	}
	c.answers()
	// A long answer is many records.
	c.send(&wire.Profile{})
	ids := bytes.Repeat([]byte{1}, 5000)
	many := make([]pcp.PMID, len(ids))
	for i := range many {
		many[i] = metric
	}
	if res := c.fetchAgain(many...); len(res.Sets) != len(many) {
		t.Errorf("a fetch of %d gives %d", len(many), len(res.Sets))
	}
	plain.answers()
}

// TestSecureAtOnce sends the first message of TLS along with the credentials.
func TestSecureAtOnce(t *testing.T) {
	w := newTLSWorld(t)
	s := start(t, pmcd.Config{TLS: w.server, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	c := dialOnly(t, "tcp", s.TCP)
	c.greet()
	creds := wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureSecure)}})
	stream := tls.Client(&prefixed{c.conn, creds}, w.plain)
	c.conn, c.pdus = stream, wire.NewReader(stream)
	if err := stream.Handshake(); err != nil {
		t.Fatal(err)
	}
	c.answers()
}

// A prefixed connection sends something else with its first bytes.
type prefixed struct {
	net.Conn
	first []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(append(p.first, b...))
	n = max(0, n-len(p.first))
	p.first = nil
	return n, err
}

func TestSecureClientCert(t *testing.T) {
	w := newTLSWorld(t)
	var asked atomic.Int32
	cfg := w.server.Clone()
	cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		asked.Add(1)
		return w.server, nil
	}
	for name, cfg := range map[string]*tls.Config{"fixed": w.server, "chosen": cfg} {
		s := start(t, pmcd.Config{TLS: cfg, RequireClientCert: true, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
		if f := s.Control().Features(); !f.Secure || !f.ClientCertRequired {
			t.Errorf("%s: features %+v", name, f)
		}
		// From this host one can do without TLS, but not with half of it.
		plain := dial(t, "tcp", s.TCP)
		if want := secureAck | wire.FeatureCertReqd; plain.info.Features&want != want {
			t.Errorf("%s: server offers %v", name, plain.info.Features)
		}
		plain.answers()
		dial(t, "unix", s.Socket).answers()
		for _, network := range []string{"tcp", "unix"} {
			address := map[string]string{"tcp": s.TCP, "unix": s.Socket}[network]
			dialSecure(t, network, address, w.known).answers()
			for _, bad := range []*tls.Config{w.plain, w.unknown} {
				c := dialOnly(t, network, address)
				if !c.refused(c.secure(secureAck, bad)) {
					t.Errorf("%s: is accepted by %s without a certificate that is trusted", name, network)
				}
			}
		}
		s.Log.waitFor(t, "didn't provide a certificate")
	}
	if asked.Load() == 0 {
		t.Error("GetConfigForClient was not called")
	}
	if w.server.ClientAuth != tls.VerifyClientCertIfGiven {
		t.Error("the caller's configuration has changed")
	}
}

// TestSecureNotOffered has a client ask for TLS where it is not offered.
func TestSecureNotOffered(t *testing.T) {
	s := start(t, pmcd.Config{RequireClientCert: true, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	for flags, n := range map[wire.Features]int{wire.FeatureSecure: 1, secureAck: 2} {
		c := dialOnly(t, "tcp", s.TCP)
		c.greet()
		if got := c.info.Features & (secureAck | wire.FeatureCertReqd); got != wire.FeatureCertReqd {
			t.Errorf("server offers %v", got)
		}
		c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, flags)}})
		last := c.gone()
		if len(last) != n {
			t.Errorf("%v: before the end comes %+v", flags, last)
		}
		for _, p := range last {
			if e, ok := p.(*wire.Error); !ok || e.Code != pcp.ErrNotConn {
				t.Errorf("%v: before the end comes %+v", flags, p)
			}
		}
	}
}

// TestSecureGarbage speaks something else than TLS.
func TestSecureGarbage(t *testing.T) {
	w := newTLSWorld(t)
	s := start(t, pmcd.Config{TLS: w.server, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	bystander := dialSecure(t, "tcp", s.TCP, w.plain)
	bystander.answers()
	for name, garbage := range map[string][]byte{
		"text":           []byte("GET / HTTP/1.0\r\n\r\n"),
		"a PDU":          wire.Append(nil, 0, &wire.DescReq{PMID: metric}),
		"a long record":  append([]byte{22, 3, 1, 0xff, 0xff}, make([]byte, 1<<16)...),
		"a long message": append([]byte{22, 3, 1, 0x10, 0}, append([]byte{1, 0xff, 0xff, 0xff}, make([]byte, 0xffc)...)...),
		"nothing at all": nil,
	} {
		c := dialOnly(t, "tcp", s.TCP)
		c.greet()
		c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, secureAck)}})
		var ack wire.Error
		c.expect(&ack)
		c.conn.Write(garbage) // may be cut short
		c.conn.(*net.TCPConn).CloseWrite()
		if rest, err := io.ReadAll(c.conn); err != nil && !isReset(err) {
			t.Errorf("%s: %v", name, err)
		} else if len(rest) > 7 { // an alert
			t.Errorf("%s: is answered with %q", name, rest)
		}
		if garbage == nil {
			continue
		}
		addr := c.conn.LocalAddr().String()
		s.Log.waitFor(t, addr)
		if lines := s.Log.lines(addr); len(lines) != 1 || !strings.Contains(lines[0], "TLS: ") {
			t.Errorf("%s: log has %q, want one line", name, lines)
		}
	}
	bystander.answers()
}

// TestSecureAlert refuses our certificate as OpenSSL does, in the clear.
func TestSecureAlert(t *testing.T) {
	w := newTLSWorld(t)
	s := start(t, pmcd.Config{TLS: w.server, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	c := dialOnly(t, "tcp", s.TCP)
	cfg := w.plain.Clone()
	under := c.conn
	cfg.VerifyConnection = func(tls.ConnectionState) error {
		under.Write([]byte{21, 3, 3, 0, 2, 2, 48})
		return io.EOF
	}
	if err := c.secure(secureAck, cfg); err != io.EOF && !errors.Is(err, io.EOF) {
		t.Errorf("handshake: %v", err)
	}
	s.Log.waitFor(t, "TLS: client refuses: tls: unknown certificate authority")
}

// TestSecureExpelled has new access rules end a client that speaks TLS. The
// client gets the error through TLS.
func TestSecureExpelled(t *testing.T) {
	w := newTLSWorld(t)
	var setup atomic.Pointer[pmcd.Setup]
	agents := []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}
	s := start(t, pmcd.Config{TLS: w.server, Agents: agents, Access: new(access.Rules), Reload: func() *pmcd.Setup { return setup.Load() }})
	c, again := dialSecure(t, "tcp", s.TCP, w.plain), dialSecure(t, "unix", s.Socket, w.plain)
	c.answers()
	file, err := conf.Parse(strings.NewReader("x 9 dso a /b\n[access]\ndisallow \".*\" : all;\ndisallow \":*\" : all;\nallow \"unix:\" : all;\n"))
	if err != nil {
		t.Fatal(err)
	}
	setup.Store(&pmcd.Setup{Agents: agents, Access: file.Access})
	s.HangUp()
	var e wire.Error
	c.expect(&e)
	if e.Code != pcp.ErrPermission {
		t.Errorf("is told %v", e.Code)
	}
	if _, _, err := c.pdus.Next(); err != io.EOF { // a proper end of TLS
		t.Errorf("then comes %v", err)
	}
	again.answers()
}

// A pipeListener accepts connections by pipes, with a remote address.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

type farConn struct{ net.Conn }

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.done)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 44321} }

// inBubble runs a server in a bubble where time passes when nothing else happens.
// f gets a function that connects to it.
func inBubble(t *testing.T, cfg pmcd.Config, f func(t *testing.T, connect func() *rawClient)) {
	synctest.Test(t, func(t *testing.T) {
		ln := &pipeListener{make(chan net.Conn), make(chan struct{})}
		cfg.Listeners = []net.Listener{ln}
		cfg.Agents = []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}
		started := make(chan struct{})
		cfg.Started = func() { close(started) }
		s, err := pmcd.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		<-started
		f(t, func() *rawClient {
			ours, theirs := net.Pipe()
			ln.conns <- farConn{theirs}
			return &rawClient{t: t, conn: ours, pdus: wire.NewReader(ours)}
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestSecureRequiredFromAfar checks that clients from other hosts must speak TLS.
func TestSecureRequiredFromAfar(t *testing.T) {
	w := newTLSWorld(t)
	inBubble(t, pmcd.Config{TLS: w.server, RequireClientCert: true}, func(t *testing.T, connect func() *rawClient) {
		c := connect()
		c.greet()
		c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
		if last := c.gone(); len(last) != 1 || last[0].(*wire.Error).Code != pcp.ErrNeedClientCert {
			t.Errorf("before the end comes %+v", last)
		}
		c = connect()
		if err := c.secure(secureAck, w.known); err != nil {
			t.Fatal(err)
		}
		c.answers()
		c.conn.Close()
	})
}

// TestSecureTimeLimits checks the time limits of a handshake and of PDUs, and that
// a client may wait for any time between PDUs.
func TestSecureTimeLimits(t *testing.T) {
	w := newTLSWorld(t)
	inBubble(t, pmcd.Config{TLS: w.server}, func(t *testing.T, connect func() *rawClient) {
		// took returns the time after which the server closes the connection
		// under c.
		took := func(under net.Conn) time.Duration {
			began := time.Now()
			io.Copy(io.Discard, under)
			return time.Since(began)
		}
		const handshakeTime, pduTime = 30 * time.Second, 5 * time.Second

		quiet := connect()
		if err := quiet.secure(secureAck, w.plain); err != nil {
			t.Fatal(err)
		}
		quiet.answers()

		c := connect()
		c.greet()
		c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, secureAck)}})
		var ack wire.Error
		c.expect(&ack)
		c.write([]byte{22, 3, 1, 1, 0, 1})
		if d := took(c.conn); d != handshakeTime {
			t.Errorf("half a handshake is waited for %v", d)
		}

		// A byte of a handshake every second does not make it longer.
		c = connect()
		c.greet()
		c.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, secureAck)}})
		c.expect(&ack)
		began := time.Now()
		for _, err := c.conn.Write([]byte{22, 3, 1, 2, 0}); err == nil; _, err = c.conn.Write([]byte{0}) {
			time.Sleep(time.Second)
		}
		if d := time.Since(began); d < handshakeTime || d > handshakeTime+time.Second {
			t.Errorf("a slow handshake ends after %v", d)
		}

		for name, part := range map[string]func(c *rawClient, under net.Conn){
			"half a PDU":           func(c *rawClient, _ net.Conn) { c.write(make([]byte, 6)) },
			"a record's first":     func(_ *rawClient, under net.Conn) { under.Write([]byte{23}) },
			"a record's beginning": func(_ *rawClient, under net.Conn) { under.Write([]byte{23, 3, 3, 0, 99, 1}) },
			"a PDU and a record's": func(c *rawClient, under net.Conn) { c.answers(); under.Write([]byte{23, 3, 3}) },
		} {
			c := connect()
			under := c.conn
			if err := c.secure(secureAck, w.plain); err != nil {
				t.Fatal(err)
			}
			part(c, under)
			if d := took(under); d != pduTime {
				t.Errorf("%s: is waited for %v", name, d)
			}
		}

		// A client that does not take its answer.
		c = connect()
		under := c.conn
		if err := c.secure(secureAck, w.plain); err != nil {
			t.Fatal(err)
		}
		c.send(&wire.DescReq{PMID: metric})
		time.Sleep(time.Minute)
		if d := took(under); d != 0 {
			t.Errorf("who does not take its answer is waited for %v more", d)
		}

		// A record in pieces counts as begun; after it no limit applies.
		c = connect()
		split := &splitter{Conn: c.conn}
		c.conn = split
		if err := c.secure(secureAck, w.plain); err != nil {
			t.Fatal(err)
		}
		split.pause = time.Second
		for range 3 {
			c.answers()
			time.Sleep(time.Hour)
		}
		c.conn.Close()

		quiet.answers()
		quiet.conn.Close()
	})
}

// A splitter makes two of each write, with a pause between, once it has one.
type splitter struct {
	net.Conn
	pause time.Duration
}

func (s *splitter) Write(b []byte) (int, error) {
	if s.pause == 0 || len(b) < 4 {
		return s.Conn.Write(b)
	}
	n, err := s.Conn.Write(b[:3])
	if err != nil {
		return n, err
	}
	time.Sleep(s.pause)
	m, err := s.Conn.Write(b[3:])
	return n + m, err
}

// TestSecureError checks the log lines.
func TestSecureError(t *testing.T) {
	w := newTLSWorld(t)
	s := start(t, pmcd.Config{TLS: w.server, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	c := dialOnly(t, "tcp", s.TCP)
	c.refused(c.secure(secureAck, w.unknown))
	s.Log.waitFor(t, "unknown authority")
	// A client that goes away is not logged.
	c = dialSecure(t, "tcp", s.TCP, w.plain)
	c.answers()
	addr := c.conn.LocalAddr().String()
	c.conn.(*tls.Conn).NetConn().Close()
	c = dialSecure(t, "tcp", s.TCP, w.plain)
	c.answers()
	eventually(t, "two clients are gone", func() bool { return len(s.Control().ClientStates()) == 1 })
	if lines := s.Log.lines(addr); len(lines) != 0 {
		t.Errorf("log has %q", lines)
	}
}

// BenchmarkSecure measures a fetch over TLS and without, and a connection with
// its whole handshake.
func BenchmarkSecure(b *testing.B) {
	w := newTLSWorld(b)
	s := start(b, pmcd.Config{TLS: w.server, Agents: []pmcd.AgentSpec{inProcess("other", 301, &scripted{})}})
	request := wire.Append(nil, 0, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{metric}})
	for _, f := range []struct {
		name    string
		connect func() *rawClient
	}{
		{"fetch/plain", func() *rawClient { return dial(b, "tcp", s.TCP) }},
		{"fetch/tls", func() *rawClient { return dialSecure(b, "tcp", s.TCP, w.plain) }},
	} {
		b.Run(f.name, func(b *testing.B) {
			c := f.connect()
			c.fetch(metric)
			b.ReportAllocs()
			for b.Loop() {
				if err := roundTrip(c.conn, c.pdus, request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("connect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := dialSecure(b, "tcp", s.TCP, w.plain)
			c.fetch(metric)
			c.conn.Close()
		}
	})
}
