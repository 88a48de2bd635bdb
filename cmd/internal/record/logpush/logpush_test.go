package logpush

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/internal/tlsconf"
)

// record makes an archive, closed unless more is to come.
func record(t *testing.T) (base string, w *archive.Writer) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Host: "www", PID: 7, Start: pcp.Timestamp{Sec: 1_700_000_000}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.Desc(pcp.Desc{PMID: pcp.NewPMID(60, 1, 2), InDom: pcp.InDomNull, Type: pcp.TypeU64}, "a.b"); err != nil {
		t.Fatal(err)
	}
	res := &pcp.Result{Time: pcp.Timestamp{Sec: 1_700_000_001}}
	res.AddSet(pcp.NewPMID(60, 1, 2))
	res.Add(pcp.Uint64Value(1))
	if err := w.WriteResult(res); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return base, w
}

// proxy serves /logger/ as pmproxy does, to clients that show a token.
func proxy(t *testing.T, cfg pmproxy.Config) (port, dir, token string) {
	t.Helper()
	dir = t.TempDir()
	h, err := logger.New(logger.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	token = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("www 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Listeners, cfg.TokenFile = []net.Listener{ln}, token
	cfg.Handlers = map[string]http.Handler{"/logger/": h}
	s, err := pmproxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		h.Close()
	})
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port), dir, token
}

func call(t *testing.T, vars map[string]string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), &cli.Env{
		Name: "pmlogpush", Args: args, Stdin: strings.NewReader(""), Stdout: &o, Stderr: &e, Version: "test", Command: Command,
		Getenv: func(name string) string { return vars[name] },
	})
	return status, o.String(), e.String()
}

func arrived(t *testing.T, dir, base string) {
	t.Helper()
	for _, end := range []string{".meta", ".0", ".index"} {
		want, err := os.ReadFile(base + end)
		if err != nil {
			t.Fatal(err)
		}
		list, _ := filepath.Glob(filepath.Join(dir, "www", "*"+end))
		if len(list) != 1 {
			t.Errorf("%s: %v", end, list)
			continue
		}
		if got, err := os.ReadFile(list[0]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v)", end, err)
		}
	}
}

// TestPush pushes to a pmproxy that knows its clients by a token.
func TestPush(t *testing.T) {
	base, w := record(t)
	w.Close()
	port, dir, token := proxy(t, pmproxy.Config{})
	if n, _, errs := call(t, nil, "-h", "127.0.0.1", "-p", port, base); n != 1 || errs != "pmlogpush: /logger/label HTTP error: forbidden (403) - No permission to perform requested operation\n" {
		t.Errorf("without a token: %d %s", n, errs)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*")); len(list) > 0 {
		t.Errorf("without a token: %v", list)
	}
	n, out, errs := call(t, nil, "-v", "--token", token, "-h", "127.0.0.1", "-p", port, base)
	if n != 0 || out != "" || !strings.Contains(errs, "HTTP POST v3 label log from host www [808 bytes]\n") || strings.Contains(errs, "0123456789abcdef") {
		t.Errorf("%d %s%s", n, out, errs)
	}
	arrived(t, dir, base)
	if n, _, errs := call(t, nil, "--token", token, "-h", "127.0.0.1", "-p", port, base); n != 0 || errs != "" {
		t.Errorf("again: %d %s", n, errs)
	}
	arrived(t, dir, base)
}

// TestFollow pushes until the archive is finished.
func TestFollow(t *testing.T) {
	base, w := record(t)
	port, dir, _ := proxy(t, pmproxy.Config{TrustLocal: true})
	done := make(chan string, 1)
	go func() {
		n, _, errs := call(t, nil, "--follow", "-p", port, base)
		done <- strconv.Itoa(n) + errs
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if list, _ := filepath.Glob(filepath.Join(dir, "www", "*.0")); len(list) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing comes")
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != "0" {
		t.Error(got)
	}
	arrived(t, dir, base)
}

// TestSecure pushes by TLS, and not to a server of another name.
func TestSecure(t *testing.T) {
	base, w := record(t)
	w.Close()
	ca := tlstest.NewCA(t, "CA")
	cert := ca.Cert(t, tlstest.Server())
	server, err := tlsconf.Parse(readFile(t, tlstest.Conf(t, "tls-cert-file", cert.File, "tls-key-file", cert.Key))).Server()
	if err != nil {
		t.Fatal(err)
	}
	port, dir, token := proxy(t, pmproxy.Config{TLS: server})
	conf := tlstest.Conf(t, "tls-ca-cert-file", ca.File)
	vars := map[string]string{"PCP_TLSCONF_PATH": conf}
	if n, _, errs := call(t, vars, "--secure", "--token", token, "-h", "localhost", "-p", port, base); n != 0 || errs != "" {
		t.Errorf("%d %s", n, errs)
	}
	arrived(t, dir, base)
	none := map[string]string{"PCP_TLSCONF_PATH": filepath.Join(t.TempDir(), "none")}
	if n, _, errs := call(t, none, "--secure", "--token", token, "-h", "localhost", "-p", port, base); n != 1 || !strings.Contains(errs, "certificate") {
		t.Errorf("a server that is not known: %d %s", n, errs)
	}
}

// TestErrors checks the error messages.
func TestErrors(t *testing.T) {
	base, w := record(t)
	w.Close()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"want one archive", nil},
		{"want one archive", []string{base, base}},
		{`-p needs the number of a port, not "x"`, []string{"-p", "x", base}},
		{`-p needs the number of a port, not "0"`, []string{"-p", "0", base}},
		{"multi-archive contexts not supported", []string{base + "," + base}},
		{`Cannot open archive "none": No such file or directory`, []string{"none"}},
		{"connection refused", []string{"-p", "1", base}},
		{"no such file", []string{"-s", "/none/socket", base}},
		{"/none", []string{"--token", "/none", base}},
		{"has no token", []string{"--token", empty, base}},
		{"Usage: pmlogpush [options] archive", []string{"-?"}},
	} {
		n, out, errs := call(t, nil, c.args...)
		if n != 1 && !(n == 0 && c.args[0] == "-?") || !strings.Contains(strings.ToLower(out+errs), strings.ToLower(c.want)) {
			t.Errorf("%v: %d %s%s, want %q", c.args, n, out, errs, c.want)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
