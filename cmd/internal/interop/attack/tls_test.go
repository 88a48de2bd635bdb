package attack

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/wire"
)

// startTLS starts a collector that offers TLS.
func startTLS(t testing.TB) *Collector {
	t.Helper()
	ca := tlstest.NewCA(t, "CA")
	p := ca.Cert(t, tlstest.Server())
	conf := tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-cert-file", p.File, "tls-key-file", p.Key)
	return Start(t, Options{Env: []string{"PCP_TLSCONF_PATH=" + conf}})
}

// beginTLS connects and has the collector expect a ClientHello.
func (c *Collector) beginTLS(t testing.TB, more wire.Features) *Client {
	t.Helper()
	cl := c.Connect(t, "tcp")
	cl.Greet(t)
	if cl.Hello.Features&wire.FeatureSecure == 0 {
		t.Fatal("TLS is not offered")
	}
	if _, err := cl.Ask(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, wire.FeatureSecure|wire.FeatureSecureAck|more)}}); err != nil {
		t.Fatal(err)
	}
	return cl
}

// dialTLS connects, shakes hands both ways and sends a profile.
func (c *Collector) dialTLS(t testing.TB, cfg *tls.Config) *Client {
	t.Helper()
	if cfg == nil {
		cfg = &tls.Config{InsecureSkipVerify: true}
	}
	cl := c.beginTLS(t, 0)
	conn := tls.Client(cl.Conn, cfg)
	conn.SetDeadline(time.Now().Add(patience))
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	cl = NewClient(t, conn)
	if err := cl.Send(&wire.Profile{}); err != nil {
		t.Fatal(err)
	}
	return cl
}

// TestTLSBadPDUs sends each bad PDU within TLS.
func TestTLSBadPDUs(t *testing.T) {
	c := startTLS(t)
	c.Watch(t)
	before, _ := c.Memory()
	for _, bad := range badPDUs() {
		if strings.HasPrefix(bad.name, "credentials: encryption") {
			bad.dropped = "client wants TLS, after its handshake" // here it is offered
		}
		t.Run(bad.name, func(t *testing.T) {
			cl := c.dialTLS(t, nil)
			if err := cl.Check(control...); err != nil {
				t.Fatal(err)
			}
			if err := cl.Write(bad.bytes); err != nil {
				t.Fatal(err)
			}
			addr := cl.Conn.LocalAddr().String()
			if bad.dropped != "" {
				cl.Gone(t)
				c.OneLine(t, addr, bad.dropped)
				return
			}
			if p, err := cl.Answer(); pcp.Code(err) == 0 || Ended(err) {
				t.Errorf("it is answered with %+v, %v, where an error should be", p, err)
			}
			if err := cl.Check(control...); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			cl.Conn.Close()
		})
	}
	c.costs(t, before, 48)
	c.Finish(t, 0)
}

// A keyLog takes the secrets of a connection.
type keyLog struct{ strings.Builder }

// recorder makes records of TLS 1.3 by hand, as a client after its handshake.
type recorder struct {
	t      testing.TB
	conn   net.Conn
	hash   func() hash.Hash
	size   int // of a key
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

// dialRecords does the TLS handshake, and then drops TLS on this side.
func (c *Collector) dialRecords(t testing.TB) *recorder {
	t.Helper()
	var keys keyLog
	cl := c.beginTLS(t, 0)
	conn := tls.Client(cl.Conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, KeyLogWriter: &keys})
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, conn: cl.Conn, hash: sha256.New, size: 16}
	switch id := conn.ConnectionState().CipherSuite; id {
	case tls.TLS_AES_128_GCM_SHA256:
	case tls.TLS_AES_256_GCM_SHA384:
		r.hash, r.size = sha512.New384, 32
	default:
		t.Skipf("records of %s are not made here", tls.CipherSuiteName(id))
	}
	for line := range strings.Lines(keys.String()) {
		if f := strings.Fields(line); f[0] == "CLIENT_TRAFFIC_SECRET_0" {
			r.secret, _ = hex.DecodeString(f[2])
		}
	}
	r.keys()
	return r
}

// expand is HKDF-Expand-Label without a context (RFC 8446, 7.1).
func (r *recorder) expand(label string, n int) []byte {
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(info, byte(len("tls13 "+label)))
	info = append(info, "tls13 "+label+"\x00"...)
	out, err := hkdf.Expand(r.hash, r.secret, string(info), n)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *recorder) keys() {
	block, err := aes.NewCipher(r.expand("key", r.size))
	if err != nil {
		r.t.Fatal(err)
	}
	if r.aead, err = cipher.NewGCM(block); err != nil {
		r.t.Fatal(err)
	}
	r.iv, r.seq = r.expand("iv", 12), 0
}

// Types of records.
const (
	recordHandshake   = 22
	recordApplication = 23
)

// record appends a record of a type with content to b.
func (r *recorder) record(b []byte, kind byte, content []byte) []byte {
	plain := append(append([]byte(nil), content...), kind)
	head := binary.BigEndian.AppendUint16([]byte{recordApplication, 3, 3}, uint16(len(plain)+r.aead.Overhead()))
	nonce := append([]byte(nil), r.iv...)
	for i, x := range binary.BigEndian.AppendUint64(nil, r.seq) {
		nonce[4+i] ^= x
	}
	r.seq++
	return append(append(b, head...), r.aead.Seal(nil, nonce, plain, head)...)
}

// keyUpdate appends a change of keys, with a wish for the same of the collector.
func (r *recorder) keyUpdate(b []byte) []byte {
	b = r.record(b, recordHandshake, []byte{24, 0, 0, 1, 1})
	r.secret = r.expand("traffic upd", r.hash().Size())
	r.keys()
	return b
}

// TestTLSRecords has clients send records that they should not.
func TestTLSRecords(t *testing.T) {
	c := startTLS(t)
	c.Watch(t)
	before, _ := c.Memory()
	greeting := wire.Append(nil, 0, &wire.Profile{})
	for _, attack := range []struct {
		name    string
		bytes   func(r *recorder) []byte
		dropped string
	}{
		{"plain text", func(*recorder) []byte { return PDU(wire.TypeFetch, 0, 0, 0, 1, 1) }, "tls:"},
		{"a record that is too long", func(*recorder) []byte { return append([]byte{23, 3, 3, 0xff, 0xff}, make([]byte, 65535)...) }, "oversized record"},
		{"a record that is not sealed", func(*recorder) []byte { return append([]byte{23, 3, 3, 0, 40}, make([]byte, 40)...) }, "bad record MAC"},
		{"a record again", func(r *recorder) []byte {
			b := r.record(nil, recordApplication, greeting)
			return append(b, b...)
		}, "bad record MAC"},
		{"records with nothing", func(r *recorder) (b []byte) {
			for range 100000 {
				b = r.record(b, recordApplication, nil)
			}
			return b
		}, "too many"},
		{"updates of keys", func(r *recorder) (b []byte) {
			for range 10000 {
				b = r.keyUpdate(b)
			}
			return b
		}, "too many"},
		{"a ClientHello", func(r *recorder) []byte { return r.record(nil, recordHandshake, []byte{1, 0, 0, 4, 3, 3, 0, 0}) }, "tls:"},
		{"a handshake message without end", func(r *recorder) (b []byte) {
			b = r.record(b, recordHandshake, []byte{11, 0xff, 0xff, 0xff})
			for range 1000 {
				b = r.record(b, recordHandshake, make([]byte, 1<<14))
			}
			return b
		}, "tls:"},
	} {
		t.Run(attack.name, func(t *testing.T) {
			r := c.dialRecords(t)
			addr := r.conn.LocalAddr().String()
			// It may be sent away before it has written all.
			r.conn.SetWriteDeadline(time.Now().Add(patience))
			r.conn.Write(attack.bytes(r))
			c.OneLine(t, addr, attack.dropped)
			r.conn.Close()
		})
	}
	c.costs(t, before, 48)
	c.Finish(t, 0)
}

// TestTLSKeyUpdates has clients update keys with each byte of a request, which
// is allowed, and read none of those of the collector until the end.
func TestTLSKeyUpdates(t *testing.T) {
	c := startTLS(t)
	c.Watch(t)
	before, _ := c.Memory()
	req := wire.Append(wire.Append(nil, 0, &wire.Profile{}), 0, &wire.Fetch{HighRes: true, PMIDs: control})
	var wg sync.WaitGroup
	for range 20 {
		r := c.dialRecords(t)
		wg.Go(func() {
			var b []byte
			for range 50 {
				for i := range req {
					b = r.keyUpdate(b)
					b = r.record(b, recordApplication, req[i:i+1])
				}
			}
			r.conn.SetDeadline(time.Now().Add(patience))
			if _, err := r.conn.Write(b); err != nil {
				t.Error(err)
			}
			r.conn.(*net.TCPConn).CloseWrite()
			// Each key update is answered with a key update, and so is each
			// request.
			if n, err := io.Copy(io.Discard, r.conn); n < int64(50*len(req)*20) || err != nil && !Ended(err) {
				t.Errorf("%d bytes are answered, %v", n, err)
			}
			r.conn.Close()
		})
	}
	wg.Wait()
	c.costs(t, before, 48)
	c.Finish(t, 0)
}

// TestTLSHalfHandshakes has a thousand clients that stop in the middle of one.
func TestTLSHalfHandshakes(t *testing.T) {
	c := startTLS(t)
	c.Watch(t)
	before, _ := c.Memory()
	var clients []*Client
	for i := range 1000 {
		cl := c.beginTLS(t, 0)
		switch i % 3 {
		case 1:
			cl.Write([]byte{22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3})
		case 2: // as much of a ClientHello as may be
			cl.Write(append([]byte{22, 3, 1, 0x3f, 0xff, 1, 0, 0xff, 0xff}, make([]byte, 0x3ff0)...))
		}
		clients = append(clients, cl)
	}
	// Correct clients are served, with TLS and without.
	for _, cl := range []*Client{c.dialTLS(t, nil), c.Dial(t, "tcp")} {
		if err := cl.Check(control...); err != nil {
			t.Error(err)
		}
		cl.Conn.Close()
	}
	c.costs(t, before, 96)
	t.Logf("descriptors: %d, %d before", c.Files(), c.calm.files)
	for _, cl := range clients {
		cl.Conn.Close()
	}
	c.Finish(t, 0)
}

// hugeCert returns a chain of equal certificates, each with n meaningless bytes,
// and the key.
func hugeCert(t testing.TB, n, times int) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "huge\n[root]"}, NotAfter: time.Now().Add(time.Hour),
		ExtraExtensions: []pkix.Extension{{Id: []int{1, 3, 6, 1, 4, 1, 99999, 1}, Value: make([]byte, n)}},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert := tls.Certificate{PrivateKey: key}
	for range times {
		cert.Certificate = append(cert.Certificate, der)
	}
	return cert
}

// TestTLSHugeCertificates has clients show certificates that are too large, and
// chains that are too long.
func TestTLSHugeCertificates(t *testing.T) {
	c := startTLS(t)
	c.Watch(t)
	before, _ := c.Memory()
	for _, kind := range []struct{ bytes, times int }{{1000, 1}, {60000, 4}, {300000, 1}, {100, 500}, {100, 5000}} {
		t.Run(fmt.Sprintf("%d of %d bytes", kind.times, kind.bytes), func(t *testing.T) {
			cert := hugeCert(t, kind.bytes, kind.times)
			var wg sync.WaitGroup
			for range 20 {
				cl := c.beginTLS(t, wire.FeatureCertReqd)
				wg.Go(func() {
					conn := tls.Client(cl.Conn, &tls.Config{
						InsecureSkipVerify: true,
						GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
							return &cert, nil
						},
					})
					conn.SetDeadline(time.Now().Add(patience))
					// This side is through before the other looks at the certificate.
					if err := conn.Handshake(); err == nil {
						if _, err := conn.Read(make([]byte, 1)); err == nil {
							t.Error("it is let in")
						}
					}
					c.OneLine(t, cl.Conn.LocalAddr().String(), "TLS: ")
					cl.Conn.Close()
				})
			}
			wg.Wait()
		})
	}
	for _, line := range c.Lines("root]") {
		if strings.HasPrefix(line, "[root]") {
			t.Errorf("a certificate writes into the log: %s", line)
		}
	}
	c.costs(t, before, 96)
	c.Finish(t, 0)
}
