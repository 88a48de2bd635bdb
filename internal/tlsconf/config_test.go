package tlsconf_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/internal/tlsconf"
)

func none(string) string { return "" }

// shake connects a client's end to a server's and returns the errors.
func shake(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan error, 1)
	go func() {
		a, err := ln.Accept()
		if err != nil {
			done <- err
			return
		}
		conn := tls.Server(a, server)
		defer conn.Close()
		a.SetDeadline(time.Now().Add(time.Minute))
		if err = conn.Handshake(); err == nil {
			if _, err = conn.Write([]byte("x")); err == nil {
				if _, err = conn.Read(make([]byte, 1)); err == io.EOF {
					err = nil
				}
			}
		}
		done <- err
	}()
	b, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b.SetDeadline(time.Now().Add(time.Minute))
	conn := tls.Client(b, client)
	if clientErr = conn.Handshake(); clientErr == nil {
		_, clientErr = conn.Read(make([]byte, 1))
	}
	conn.Close()
	return <-done, clientErr
}

func TestHandshake(t *testing.T) {
	ca, other := tlstest.NewCA(t, "CA"), tlstest.NewCA(t, "other CA")
	server := ca.Cert(t, tlstest.Server())
	client := ca.Cert(t, tlstest.Want{})
	stranger := other.Cert(t, tlstest.Want{Hosts: []string{"localhost"}})
	expired := ca.Cert(t, tlstest.Want{Hosts: []string{"localhost"}, Expired: true})
	elsewhere := ca.Cert(t, tlstest.Want{Hosts: []string{"elsewhere.example"}})
	alone := ca.Cert(t, tlstest.Want{Hosts: []string{"localhost"}, Alone: true})

	f := func(name string, cert tlstest.Pair, conf tlsconf.File, getenv func(string) string, require bool, wantServer, wantClient string) {
		t.Helper()
		sc, err := (&tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, CAFile: ca.File}).Server()
		if err != nil {
			t.Fatal(err)
		}
		if require {
			sc.ClientAuth = tls.RequireAndVerifyClientCert
		}
		cc, err := conf.Client("localhost", getenv)
		if err != nil {
			t.Fatal(err)
		}
		serr, cerr := shake(t, sc, cc)
		check := func(side string, err error, want string) {
			t.Helper()
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s says %v, want %q", name, side, err, want)
			}
		}
		check("server", serr, wantServer)
		check("client", cerr, wantClient)
	}
	env := func(name string) func(string) string {
		return func(n string) string {
			if n == name {
				return "1"
			}
			return ""
		}
	}
	f("nothing checked", server, tlsconf.File{}, none, false, "", "")
	f("nothing checked of a stranger", stranger, tlsconf.File{CAFile: ca.File}, none, false, "", "")
	f("nothing checked of what expired", expired, tlsconf.File{CAFile: ca.File}, none, false, "", "")

	chain := tlsconf.File{CAFile: ca.File, VerifyClients: "yes"}
	f("chain", server, chain, none, false, "", "")
	f("chain of a stranger", stranger, chain, none, false, "bad certificate", "unknown authority")
	f("chain of what expired", expired, chain, none, false, "bad certificate", "expired")
	f("chain of somewhere else", elsewhere, chain, none, false, "", "")
	f("chain of one alone", alone, chain, env(tlsconf.AllowServerSelfCert), false, "bad certificate", "unknown authority")

	all := tlsconf.File{CAFile: ca.File, VerifyServer: "true"}
	f("all", server, all, none, false, "", "")
	f("all of a stranger", stranger, all, env(tlsconf.AllowServerSelfCert), false, "bad certificate", "unknown authority")
	f("all of what expired", expired, all, env(tlsconf.AllowServerSelfCert), false, "bad certificate", "expired")
	f("all of somewhere else", elsewhere, all, none, false, "bad certificate", "elsewhere.example")
	f("all of somewhere else, allowed", elsewhere, all, env(tlsconf.AllowBadCertDomain), false, "", "")
	f("all of one alone", alone, all, none, false, "bad certificate", "unknown authority")
	f("all of one alone, allowed", alone, all, env(tlsconf.AllowServerSelfCert), false, "", "")
	f("false is not true", stranger, tlsconf.File{VerifyServer: "false", VerifyClients: "1"}, none, false, "", "")

	mine := tlsconf.File{ClientCertFile: client.File, ClientKeyFile: client.Key, CertFile: stranger.File, KeyFile: stranger.Key}
	f("my certificate", server, mine, none, false, "", "")
	f("my certificate, required", server, mine, none, true, "", "")
	f("none, required", server, tlsconf.File{}, none, true, "didn't provide a certificate", "certificate required")
	f("the server's, required", server, tlsconf.File{CertFile: client.File, KeyFile: client.Key}, none, true, "", "")
	f("a certificate without key is none", server, tlsconf.File{ClientCertFile: client.File}, none, false, "", "")
	f("a stranger's", server, tlsconf.File{ClientCertFile: stranger.File, ClientKeyFile: stranger.Key}, none, false, "unknown authority", "unknown certificate authority")
	old := ca.Cert(t, tlstest.Want{Expired: true})
	f("mine has expired", server, tlsconf.File{ClientCertFile: old.File, ClientKeyFile: old.Key}, none, true, "expired", "expired")
}

// TestCADir trusts files named as by openssl rehash.
func TestCADir(t *testing.T) {
	ca := tlstest.NewCA(t, "CA")
	cert := ca.Cert(t, tlstest.Server())
	sc, err := (&tlsconf.File{CertFile: cert.File, KeyFile: cert.Key}).Server()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, ok bool) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "a[b]*")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		cc, err := (&tlsconf.File{CADir: dir, VerifyServer: "true"}).Client("localhost", none)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := shake(t, sc, cc); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	f("0a1b2c3d.0", true)
	f("0a1b2c3d.12", true)
	f("ca.crt", false)
	cc, err := (&tlsconf.File{CADir: filepath.Join(t.TempDir(), "none"), VerifyClients: "true"}).Client("localhost", none)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shake(t, sc, cc); err == nil {
		t.Error("a directory that is not there makes all trusted")
	}
}

func TestErrors(t *testing.T) {
	ca := tlstest.NewCA(t, "CA")
	cert, other := ca.Cert(t, tlstest.Server()), ca.Cert(t, tlstest.Server())
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := write("empty", "")
	locked := write("locked", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n")
	locked2 := write("locked2", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nMIIB\n-----END RSA PRIVATE KEY-----\n")
	missing := filepath.Join(dir, "missing")
	f := func(conf tlsconf.File, text, more string) {
		t.Helper()
		_, err := conf.Server()
		var te *tlsconf.Error
		if !errors.As(err, &te) || te.Text != text || !strings.Contains(err.Error(), more) {
			t.Errorf("server: %v, want %q and %q", err, text, more)
		}
	}
	f(tlsconf.File{}, "no certificate file found", "")
	f(tlsconf.File{KeyFile: cert.Key}, "no certificate file found", "")
	f(tlsconf.File{CertFile: cert.File}, "no private key found", "")
	f(tlsconf.File{CertFile: missing, KeyFile: cert.Key}, "Cannot load certificate chain from "+missing, "no such file")
	f(tlsconf.File{CertFile: empty, KeyFile: cert.Key}, "Cannot load certificate chain from "+empty, "no certificate")
	f(tlsconf.File{CertFile: dir, KeyFile: cert.Key}, "Cannot load certificate chain from "+dir, "not a regular file")
	f(tlsconf.File{CertFile: cert.File, KeyFile: missing}, "Cannot load private key from "+missing, "no such file")
	f(tlsconf.File{CertFile: cert.File, KeyFile: cert.File}, "Cannot load private key from "+cert.File, "no key")
	f(tlsconf.File{CertFile: cert.File, KeyFile: locked}, "Cannot load private key from "+locked, "passphrase is not supported")
	f(tlsconf.File{CertFile: cert.File, KeyFile: locked2}, "Cannot load private key from "+locked2, "passphrase is not supported")
	f(tlsconf.File{CertFile: cert.File, KeyFile: other.Key}, "Cannot validate the private key", "does not match")
	f(tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, CAFile: missing}, "Cannot load the client CA list from "+missing, "no such file")
	f(tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, CAFile: cert.Key}, "Cannot load the client CA list from "+cert.Key, "no certificate")
	f(tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, Ciphers: "CAMELLIA"}, "Cannot set the cipher list from CAMELLIA", "none of the cipher suites is supported")
	f(tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, Ciphers: "ALL:@SECLEVEL=3"}, "Cannot set the cipher list from ALL:@SECLEVEL=3", "@SECLEVEL=3 is not supported")
	f(tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, Ciphers: "ALL:!WHATEVER"}, "Cannot set the cipher list from ALL:!WHATEVER", "!WHATEVER is not supported")
	f(tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, CipherSuites: "TLS_CHACHA20_POLY1305_SHA256"},
		"Cannot set the cipher suites from TLS_CHACHA20_POLY1305_SHA256", "leaving out TLS_AES_128_GCM_SHA256 is not supported")

	g := func(conf tlsconf.File, text string) {
		t.Helper()
		_, err := conf.Client("localhost", none)
		var te *tlsconf.Error
		if !errors.As(err, &te) || te.Text != text {
			t.Errorf("client: %v, want %q", err, text)
		}
	}
	g(tlsconf.File{CAFile: missing}, "Cannot load the CA Certificate list from "+missing)
	g(tlsconf.File{ClientCertFile: missing, ClientKeyFile: cert.Key}, "Cannot load client certificate chain from "+missing)
	g(tlsconf.File{ClientCertFile: cert.File, ClientKeyFile: missing}, "Cannot load client private key from "+missing)
	g(tlsconf.File{CertFile: missing, KeyFile: cert.Key}, "Cannot load certificate chain from "+missing)

	all := "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_AES_128_CCM_SHA256"
	if _, err := (&tlsconf.File{CertFile: cert.File, KeyFile: cert.Key, CipherSuites: all}).Server(); err != nil {
		t.Errorf("all cipher suites of TLS 1.3: %v", err)
	}
}

// TestVersions holds that nothing older than TLS 1.2 is spoken.
func TestVersions(t *testing.T) {
	ca := tlstest.NewCA(t, "CA")
	cert := ca.Cert(t, tlstest.Server())
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		sc, err := (&tlsconf.File{CertFile: cert.File, KeyFile: cert.Key}).Server()
		if err != nil {
			t.Fatal(err)
		}
		cc, err := new(tlsconf.File).Client("localhost", none)
		if err != nil {
			t.Fatal(err)
		}
		limited := cc.Clone()
		limited.MinVersion, limited.MaxVersion = tls.VersionTLS10, version
		if _, err := shake(t, sc, limited); (err == nil) != ok {
			t.Errorf("client of version %x: %v", version, err)
		}
		limited = sc.Clone()
		limited.MinVersion, limited.MaxVersion = tls.VersionTLS10, version
		if _, err := shake(t, limited, cc); (err == nil) != ok {
			t.Errorf("server of version %x: %v", version, err)
		}
	}
}

// TestCiphers compares the suites that lists select with those of OpenSSL, among
// suites of both.
func TestCiphers(t *testing.T) {
	lists := []string{
		"DEFAULT", "ALL", "HIGH", "DEFAULT:!MEDIUM", "ECDHE", "ECDHE+AESGCM", "kRSA", "RSA", "aRSA", "AES128", "AES256:!SHA1",
		"ALL:-SHA1", "ALL:-SHA1:AES128-SHA", "ALL:!SHA1:AES128-SHA", "SHA256", "SHA384:AES256-SHA", "CHACHA20", "AESGCM:CHACHA20",
		"EECDH+ECDSA+AESGCM:EECDH+aRSA", "ECDHE-RSA-AES128-GCM-SHA256:NO-SUCH-SUITE", "HIGH:!aNULL:!MD5:!3DES:@STRENGTH",
		"TLSv1.2", "TLSv1.2+kRSA", "TLSv1.0:AES256-SHA", "ECDSA,AES128-SHA AES256-SHA;CHACHA20", "ALL:!kRSA:+AES256", "SHA", "AES+SHA256", "COMPLEMENTOFDEFAULT:AES128-SHA",
	}
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("SKIPPED: openssl is not installed: nothing to compare with")
	}
	for _, list := range lists {
		some, all, err := tlsconf.CipherNames(list)
		if err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		out, err := exec.Command(openssl, "ciphers", list).CombinedOutput()
		if err != nil {
			t.Errorf("%s: openssl says %v: %s", list, err, out)
			continue
		}
		var want []string
		for _, name := range strings.Split(strings.TrimSpace(string(out)), ":") {
			if slices.Contains(all, name) {
				want = append(want, name)
			}
		}
		slices.Sort(some)
		slices.Sort(want)
		if diff := cmp.Diff(want, some); diff != "" {
			t.Errorf("%s: -openssl +ours\n%s", list, diff)
		}
	}
}
