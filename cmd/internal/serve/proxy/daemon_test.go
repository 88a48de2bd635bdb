package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/conf"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
)

// startClassic runs pmproxy until the test ends or stop is called, and returns its address and its
// log.
func startClassic(t *testing.T, dir string, vars map[string]string, args ...string) (address string, log func() string, stop func()) {
	t.Helper()
	port := strconv.Itoa(oracle.FreePort(t))
	path := filepath.Join(dir, "pmproxy.log")
	out, errs := new(buffer), new(buffer)
	env := testEnv(dir, vars, out, errs, append([]string{"-l", path, "-i", "127.0.0.1", "-p", port, "-x", filepath.Join(dir, "fatal")}, args...)...)
	env.Name = "pmproxy"
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() { done <- run(ctx, env) }()
	log = func() string {
		b, _ := os.ReadFile(path)
		return string(b)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if status := <-done; status != 0 || out.String() != "" {
			t.Errorf("exit status %d, %q %s\n%s", status, out, errs, log())
		}
	}
	t.Cleanup(stop)
	await(t, func() bool { return strings.Contains(log(), "request port(s):") }, log)
	return "127.0.0.1:" + port, log, stop
}

func await(t *testing.T, ok func() bool, why func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not happen: %s", why())
		}
	}
}

// TestHangUp reads the configuration and certificates again on SIGHUP, and keeps the old ones if
// they are wrong.
func TestHangUp(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca := tlstest.NewCA(t, "CA")
	one, two := ca.Cert(t, tlstest.Server()), ca.Cert(t, tlstest.Server())
	tlsConf := tlstest.Conf(t, "tls-cert-file", one.File, "tls-key-file", one.Key)
	write(conf, "[pmproxy]\nhttp.headers = X-One\n")
	address, log, _ := startClassic(t, dir, map[string]string{"PCP_TLSCONF_PATH": tlsConf}, "-f", "-c", conf, "-D", "http,fetch")
	serial := func() string {
		t.Helper()
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	headers := func() string {
		t.Helper()
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET /-/healthy HTTP/1.0\r\n\r\n")
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		return string(b[:n])
	}
	hangUp := func(want string) {
		t.Helper()
		n := strings.Count(log(), want)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { return strings.Count(log(), want) > n }, log)
	}
	first := serial()
	if !strings.Contains(headers(), "X-One") {
		t.Error("the configuration is not read")
	}
	b, err := os.ReadFile(tlsConf)
	if err != nil {
		t.Fatal(err)
	}
	write(tlsConf, strings.NewReplacer(one.File, two.File, one.Key, two.Key).Replace(string(b)))
	write(conf, "[pmproxy]\nhttp.headers = X-Two\n[pmseries]\nenabled = false\n")
	hangUp("read again")
	if serial() == first {
		t.Error("the certificate is the one before")
	}
	if h := headers(); !strings.Contains(h, "X-Two") || strings.Contains(h, "X-One") {
		t.Errorf("headers %q", h)
	}
	write(conf, "[pmproxy]\nhttp.headers = X-Three\npcp.hosts = :1\n")
	hangUp("left unchanged")
	if h := headers(); !strings.Contains(h, "X-Two") {
		t.Errorf("headers %q", h)
	}
	for _, want := range []string{"Log for pmproxy on ", "debug options that show nothing: fetch", "request client=127.0.0.1:", "takes effect when pmproxy is started again", "pmproxy: PID = "} {
		if !strings.Contains(log(), want) {
			t.Errorf("log lacks %q: %s", want, log())
		}
	}
}

// TestRights lets only clients with a token name the socket of a collector, unless that is open to
// all.
func TestRights(t *testing.T) {
	dir := t.TempDir()
	path, tokens := filepath.Join(dir, "conf"), filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("me 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"", "http.sockets = authorised\n", "http.sockets = anybody\n"} {
		if err := os.WriteFile(path, []byte("[pmproxy]\nhttp.tokens = "+tokens+"\n"+setting), 0o600); err != nil {
			t.Fatal(err)
		}
		address, log, stop := startClassic(t, t.TempDir(), map[string]string{"PMCD_SOCKET": filepath.Join(dir, "none")}, "-f", "-c", path)
		ask := func(url, token string) int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		anybody := strings.Contains(setting, "anybody")
		for _, url := range []string{"/pmapi/context?hostspec=unix:", "/pmapi/fetch?names=proc.psinfo.psargs&hostspec=unix:" + dir + "/s", "/metrics?hostspec=unix:", "/pmapi/context?hostname=unix:"} {
			if status := ask(url, ""); (status == 403) == anybody || !anybody && status == 200 {
				t.Errorf("%q: %s: %d", setting, url, status)
			}
			if status := ask(url, "0123456789abcdef"); status != 400 { // there is no such collector
				t.Errorf("%q: %s with a token: %d", setting, url, status)
			}
		}
		if told := strings.Contains(log(), "runs as root"); told != (os.Geteuid() == 0) {
			t.Errorf("%q: as user %d the log has\n%s", setting, os.Geteuid(), log())
		}
		stop()
	}
}

// TestReach keeps requests from collectors that are not on the list.
func TestReach(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("[pmproxy]\npcp.hosts = 127.0.0.1:1, *.example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := start(t, dir, nil, "-c", conf, "--host", "127.0.0.1:1")
	refused := func(spec string) string {
		t.Helper()
		status, body := get(t, url+"/pmapi/context?hostspec="+spec)
		if status != 400 {
			t.Errorf("%s: %d %s", spec, status, body)
		}
		return body
	}
	for _, spec := range []string{"localhost", "127.0.0.1:2", "127.0.0.1:1,2", "127.0.0.1:1@127.0.0.1:1"} {
		if got := refused(spec); !strings.Contains(got, "cannot connect to PMCD: Connection refused") {
			t.Errorf("%s: %s", spec, got)
		}
	}
	if got := refused("127.0.0.1:1"); !strings.Contains(got, "Connection refused") {
		t.Error(got)
	}
	if got := refused("nosuch.example.com"); strings.Contains(got, "Connection refused") {
		t.Errorf("a host that is on the list is refused: %s", got)
	}
}

// TestFatal has the reason why it does not start in the file of -x.
func TestFatal(t *testing.T) {
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	fatal, log := filepath.Join(dir, "fatal"), filepath.Join(dir, "log")
	env := testEnv(dir, nil, new(buffer), new(buffer), "-f", "-l", log, "-x", fatal, "-i", "127.0.0.1", "-s", dir+"/no/such/socket",
		"-p", strconv.Itoa(ln.Addr().(*net.TCPAddr).Port))
	env.Name = "pmproxy"
	if status := run(t.Context(), env); status != 1 {
		t.Errorf("status %d", status)
	}
	b, err := os.ReadFile(fatal)
	if err != nil || !strings.Contains(string(b), "NOTE: pmproxy not started due to errors!") ||
		!strings.Contains(string(b), "can't open any request ports") || !strings.Contains(string(b), "Log for pmproxy") {
		t.Errorf("%v, %s", err, b)
	}
}

// TestManaged has the file with its number while it runs.
func TestManaged(t *testing.T) {
	dir := t.TempDir()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	_, _, stop := startClassic(t, dir, nil, "-F", "-U", me.Username)
	pid := filepath.Join(dir, "pmproxy.pid")
	if b, err := os.ReadFile(pid); err != nil || string(b) != strconv.Itoa(os.Getpid()) {
		t.Errorf("%q, %v", b, err)
	}
	stop()
	if _, err := os.Stat(pid); err == nil {
		t.Error("the file is there after the end")
	}
}

// TestExcluded leaves the metrics that the configuration excludes out of /series, by default those
// of processes.
func TestExcluded(t *testing.T) {
	of := func(text, name string, indom pcp.InDom) bool {
		t.Helper()
		f, err := conf.Parse([]byte("[discover]\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		return excluded(f)(series.Metric{Name: name, Desc: pcp.Desc{InDom: indom}})
	}
	for _, c := range []struct {
		text, name string
		indom      pcp.InDom
		want       bool
	}{
		{"", "proc.psinfo.age", pcp.InDomNull, true},
		{"", "process.x", pcp.InDomNull, false},
		{"", "hotproc.x", pcp.NewInDom(3, 40), true},
		{"exclude.metrics =", "proc.psinfo.age", pcp.InDomNull, false},
		{"exclude.metrics =", "proc.psinfo.age", pcp.NewInDom(3, 9), true},
		{"exclude.metrics = kernel.*, hinv.?cpu\nexclude.indoms =", "hinv.ncpu", pcp.NewInDom(3, 9), true},
		{"exclude.metrics = kernel.*\nexclude.indoms =", "proc.nprocs", pcp.NewInDom(3, 9), false},
	} {
		if got := of(c.text, c.name, c.indom); got != c.want {
			t.Errorf("%q: %s %v: %v", c.text, c.name, c.indom, got)
		}
	}
}
