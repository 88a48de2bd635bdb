// Package tlstest makes certificates for tests, in files such as a tls.conf
// names.
//
//	ca := tlstest.NewCA(t, "Test CA")
//	conf := tlstest.Conf(t, "tls-ca-cert-file", ca.File,
//		"tls-cert-file", ca.Cert(t, tlstest.Server()).File, ...)
package tlstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A CA signs certificates. It is in a file.
type CA struct {
	File string

	cert *x509.Certificate
	key  crypto.Signer
}

// A Pair is a certificate and its key, in files.
type Pair struct{ File, Key string }

// A Want describes a certificate to make. The zero Want is that of a client.
type Want struct {
	Hosts   []string // names and addresses
	Expired bool
	Alone   bool // signed by itself
}

// Server returns the Want of a certificate for this host under its usual names.
func Server() Want {
	return Want{Hosts: []string{"localhost", "127.0.0.1", "::1", hostname()}}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// NewCA makes a CA.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	ca := &CA{}
	tmpl := template(t, name)
	tmpl.IsCA, tmpl.KeyUsage = true, x509.KeyUsageCertSign
	ca.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, ca.key.Public(), ca.key)
	if err != nil {
		t.Fatal(err)
	}
	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	ca.File = write(t, t.TempDir(), "ca.crt", "CERTIFICATE", der)
	return ca
}

// Cert makes a certificate that ca signs.
func (ca *CA) Cert(t testing.TB, want Want) Pair {
	t.Helper()
	tmpl := template(t, "test")
	for _, h := range want.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, h)
		}
	}
	if want.Expired {
		tmpl.NotAfter = time.Now().Add(-time.Hour)
	}
	key := newKey(t)
	parent, signer := ca.cert, ca.key
	if want.Alone {
		parent, signer = tmpl, key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return Pair{write(t, dir, "cert.crt", "CERTIFICATE", der), write(t, dir, "cert.key", "PRIVATE KEY", keyDER)}
}

func template(t testing.TB, name string) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		// In a bubble of synctest it is the year 2000.
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Now().Add(24 * time.Hour),
		BasicConstraintsValid: true,
	}
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t testing.TB, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Conf writes a tls.conf of keys and values, and returns its path.
func Conf(t testing.TB, settings ...string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i+1 < len(settings); i += 2 {
		b.WriteString(settings[i] + " = " + settings[i+1] + "\n")
	}
	path := filepath.Join(t.TempDir(), "tls.conf")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
