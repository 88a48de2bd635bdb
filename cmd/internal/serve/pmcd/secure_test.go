package pmcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/pmapi"
)

// TestSecure serves over TLS, and has certificates renewed while it runs.
func TestSecure(t *testing.T) {
	dir := tempDir(t)
	ca := tlstest.NewCA(t, "CA")
	certs := []tlstest.Pair{ca.Cert(t, tlstest.Server()), ca.Cert(t, tlstest.Server())}
	conf := tlstest.Conf(t, "tls-cert-file", certs[0].File, "tls-key-file", certs[0].Key, "tls-ciphers", "ECDHE+AESGCM")
	env := func(name string) string {
		if name == "PCP_TLSCONF_PATH" {
			return conf
		}
		return getenv(dir)(name)
	}
	var out, errs bytes.Buffer
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	status := make(chan int)
	port := freePort(t)
	confPath := writeFile(t, filepath.Join(dir, "conf"), "pmcd 2 dso pmcd_init /x/pmda_pmcd.so\n")
	args := []string{"-f", "-A", "-Q", "-q", "60", "-i", "127.0.0.1", "-p", port, "-s", filepath.Join(dir, "socket"), "-l", "-", "-c", confPath}
	go func() { status <- Command.Run(ctx, testEnv(&out, &errs, env, args...)) }()
	local := ready(t, "localhost:"+port)
	defer local.Close()

	client := ca.Cert(t, tlstest.Want{})
	shown, err := tls.LoadX509KeyPair(client.File, client.Key)
	if err != nil {
		t.Fatal(err)
	}
	// serial is the number of the certificate that clients see.
	serial := func() string {
		t.Helper()
		var number string
		d := pmapi.Dialer{TLS: &tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{shown},
			VerifyConnection: func(s tls.ConnectionState) error {
				number = s.PeerCertificates[0].SerialNumber.String()
				return nil
			},
		}}
		c, err := d.Dial(ctx, "pcps://127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		return number
	}
	first := serial()
	if _, err := pmapi.Dial(ctx, "127.0.0.1:"+port); pcp.Code(err) != pcp.ErrNeedClientCert {
		t.Errorf("who has no certificate gets %v", err)
	}

	// hangUp returns when it is done.
	signals := uint32(0)
	hangUp := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		signals++
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			var res pcp.Result
			if _, err := local.FetchInto(ctx, []pcp.PMID{pcp.NewPMID(2, 0, 22)}, &res); err != nil {
				t.Fatal(err)
			}
			if vs := res.Sets[0].Values; len(vs) == 1 && vs[0].As(pcp.TypeU32).Uint32() == signals {
				// A client that comes now waits for the end of it.
				return
			}
			if time.Now().After(end) {
				t.Fatal("the signal is not counted")
			}
		}
	}
	hangUp()
	if got := serial(); got != first {
		t.Error("another certificate without a reason")
	}
	for from, to := range map[string]string{certs[1].File: certs[0].File, certs[1].Key: certs[0].Key} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, to, string(text))
	}
	if got := serial(); got != first {
		t.Error("another certificate before the signal")
	}
	hangUp()
	second := serial()
	if second == first {
		t.Error("the certificate is not renewed")
	}
	writeFile(t, certs[0].File, "nonsense")
	hangUp()
	if got := serial(); got != second {
		t.Error("another certificate where there is none")
	}
	stop()
	if n := <-status; n != 0 {
		t.Errorf("it exits with %d", n)
	}
	for text, n := range map[string]int{
		"Info: TLS setup\n": 1, "Using cipher list: ECDHE+AESGCM\n": 1, "Info: TLS setup again\n": 2,
		"Error: TLS left unchanged": 1, "Cannot load certificate chain from " + certs[0].File: 1,
	} {
		if got := strings.Count(errs.String(), text); got != n {
			t.Errorf("the log has %q %d times, want %d", text, got, n)
		}
	}
	if t.Failed() {
		t.Logf("log:\n%s", &errs)
	}
}

// TestSecureErrors keep it from starting, unless the file cannot be read.
func TestSecureErrors(t *testing.T) {
	dir := tempDir(t)
	cert := tlstest.NewCA(t, "CA").Cert(t, tlstest.Server())
	for conf, want := range map[string]string{
		tlstest.Conf(t, "tls-cert-file", cert.File):                                                                         "no private key found",
		tlstest.Conf(t, "tls-cert-file", "/none", "tls-key-file", cert.Key):                                                 "Cannot load certificate chain from /none",
		tlstest.Conf(t, "tls-cert-file", cert.File, "tls-key-file", "/none"):                                                "Cannot load private key from /none",
		tlstest.Conf(t, "tls-cert-file", cert.File, "tls-key-file", cert.Key, "tls-ciphersuites", "TLS_AES_256_GCM_SHA384"): "leaving out TLS_AES_128_GCM_SHA256 is not supported",
	} {
		var out, errs bytes.Buffer
		env := func(name string) string {
			if name == "PCP_TLSCONF_PATH" {
				return conf
			}
			return getenv(dir)(name)
		}
		args := []string{
			"-f", "-A", "-i", "127.0.0.1", "-p", freePort(t), "-s", filepath.Join(dir, "socket"), "-l", "-",
			"-c", writeFile(t, filepath.Join(dir, "conf"), "pmcd 2 dso pmcd_init /x/pmda_pmcd.so\n"),
		}
		if n := Command.Run(t.Context(), testEnv(&out, &errs, env, args...)); n != 1 || !strings.Contains(errs.String(), conf+": ") || !strings.Contains(errs.String(), want) {
			t.Errorf("exits with %d, says %q, want %q", n, &errs, want)
		}
	}
}
