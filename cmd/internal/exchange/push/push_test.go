package push

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
)

// TestMain is the program itself if the variable is set, so that tests can kill it.
func TestMain(m *testing.M) {
	if os.Getenv("PUSH_TEST_MAIN") == "" {
		os.Exit(m.Run())
	}
	os.Exit(Command.Run(context.Background(), environment(os.Args[1:], os.Stdout, os.Stderr)))
}

func environment(args []string, out, errs io.Writer) *cli.Env {
	return &cli.Env{
		Name: "pcp push", Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Version: "test", Command: Command,
		Getenv: func(string) string { return "" },
	}
}

func call(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), environment(args, &o, &e))
	return status, o.String(), e.String()
}

// sink is a server that takes everything, with a reply to each request and to each query.
func sink(t testing.TB, write func(n int, w http.ResponseWriter), answer string) (url string, requests *atomic.Int32) {
	requests = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/api/v1/query" {
			io.WriteString(w, answer)
			return
		}
		write(int(requests.Add(1)), w)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, requests
}

const nothing = `{"status":"success","data":{"resultType":"vector","result":[]}}`

func TestCommand(t *testing.T) {
	base, _ := sendtest.Generate(t, 100, 4)
	f := func(args []string, status int, out, errs string) {
		t.Helper()
		s, o, e := call(t, args...)
		if s != status || strings.ReplaceAll(o, base, "ARCHIVE") != out || !strings.Contains(e, errs) || errs == "" && e != "" {
			t.Errorf("%q: status %d\n%s%s", args, s, o, e)
		}
	}
	const left = "ARCHIVE: left out 1 metric without numbers\n"
	f([]string{"-n", base}, 0, "ARCHIVE: to send 829 samples of 9 series in 4 requests\n"+left, "")
	f([]string{"-n", "-S", "@2026-11-20 10:01", "-T", "@2026-11-20 10:02", "-Z", "UTC", base}, 0, "Note: timezone set to \"TZ=UTC\"\n\nARCHIVE: to send 54 samples of 9 series in 1 request\n"+left, "")
	f([]string{base}, 1, "", "--to is needed")
	f([]string{"--to", "http://h"}, 1, "", "no archive specified")
	f([]string{"-n", "--user", "u", base}, 1, "", "belong together")
	f([]string{"-n", "--protocol", "3", base}, 1, "", "--protocol is 1 or 2")
	f([]string{"-n", "--header", "Authorization: x", base}, 1, "", "with secrets in files")
	f([]string{"--to", "http://me:s3cret@h", base}, 1, "", "a URL with a user or password is not accepted")
	f([]string{"--to", "http://h", "--token", base + ".missing", base}, 1, "", "no such file")
	f([]string{"-n", base + "x"}, 1, "", "there is no archive")

	secretFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secretFile, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f([]string{"--to", "http://192.0.2.1", "--token", secretFile, base}, 1, "", "only over https")
}

func TestStatus(t *testing.T) {
	base, _ := sendtest.Generate(t, 100, 4)
	// A server that refuses one request, and has the marker of another push.
	url, n := sink(t, func(n int, w http.ResponseWriter) {
		if n == 2 {
			http.Error(w, "out of order sample", http.StatusBadRequest)
		}
	}, nothing)
	status, out, errs := call(t, "--to", url, "--protocol", "1", "--resend", base)
	if status != 1 || !strings.Contains(out, ": rejected ") || !strings.Contains(out, "samples: 400 Bad Request: out of order sample\n") || errs != "" || n.Load() != 4 {
		t.Errorf("refused: status %d, %d requests\n%s%s", status, n.Load(), out, errs)
	}
	url, n = sink(t, func(int, http.ResponseWriter) {}, fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"%d"]}]}}`, sendtest.Start().Add(time.Hour).Unix()))
	status, out, errs = call(t, "--to", url, base)
	if status != 0 || errs != "" || n.Load() != 0 || !strings.Contains(out, "sent 0 samples") {
		t.Errorf("sent before: status %d, %d requests\n%s%s", status, n.Load(), out, errs)
	}
	url, n = sink(t, func(_ int, w http.ResponseWriter) { http.Error(w, "stop", http.StatusServiceUnavailable) }, nothing)
	status, out, errs = call(t, "--to", url, "--retry", "1s", "--resend", base)
	if status != 1 || n.Load() < 2 || !strings.Contains(errs, "trying again in") || !strings.Contains(errs, "given up after") {
		t.Errorf("unavailable: status %d, %d requests\n%s%s", status, n.Load(), out, errs)
	}
}

// TestSecure pushes over TLS, with a certificate and a token, to a server that requires both.
func TestSecure(t *testing.T) {
	base, _ := sendtest.Generate(t, 10, 4)
	ca := tlstest.NewCA(t, "ca")
	pair, client := ca.Cert(t, tlstest.Server()), ca.Cert(t, tlstest.Want{})
	cert, err := tls.LoadX509KeyPair(pair.File, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("X-Scope-OrgID") != "web" || r.Header.Get("User-Agent") != "pcp-push/test" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
		}
	}))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(ok bool, args ...string) {
		t.Helper()
		status, out, errs := call(t, append([]string{"--to", srv.URL, "--resend", "--retry", "1s", "--header", "X-Scope-OrgID: web", base}, args...)...)
		if (status == 0) != ok || ok != strings.Contains(out, "sent 99 samples of 9 series in 1 request") || (errs == "") != ok || strings.Contains(errs, "s3cret") {
			t.Errorf("%q: status %d\n%s%s", args, status, out, errs)
		}
	}
	f(true, "--ca", ca.File, "--cert", client.File, "--key", client.Key, "--token", token)
	f(false, "--cert", client.File, "--key", client.Key, "--token", token)
	f(false, "--ca", ca.File, "--token", token)
	f(false, "--ca", ca.File, "--cert", client.File, "--key", client.Key)
	f(false, "--ca", token, "--token", token)
}
