package up

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
)

// pageOf finds the address of the page in the output of pcp up, without its
// token.
func pageOf(t *testing.T, out *screen) string {
	t.Helper()
	page, _ := pageAndToken(t, out)
	return page
}

func pageAndToken(t *testing.T, out *screen) (page, token string) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^  page     (http://localhost:\d+/)\?token=([A-Z2-7]{26})$`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("no page in\n%s", out)
	}
	return m[1], m[2]
}

// TestPage requests the page and its resources, as a browser and as pages from elsewhere would.
func TestPage(t *testing.T) {
	home := tempDir(t)
	out, stop := start(t, map[string]string{"HOME": home, "PCP_RUN_DIR": home}, "--port", "0", "--web-port", "0", "--no-record")
	page := pageOf(t, out)
	f := func(path, host string, status int, mime, has string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || !strings.HasPrefix(resp.Header.Get("Content-Type"), mime) || !strings.Contains(string(body), has) {
			t.Errorf("%s (Host %q): %d %s\n%.300s\nwant %d %s with %q", path, host, resp.StatusCode, resp.Header.Get("Content-Type"), body, status, mime, has)
		}
		for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Headers", "Access-Control-Max-Age"} {
			if v := resp.Header.Get(name); v != "" {
				t.Errorf("%s: pages of other origins may read it: %s: %s", path, name, v)
			}
		}
		if v := resp.Header.Get("X-Content-Type-Options"); v != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options: %q", path, v)
		}
	}
	f("", "", 200, "text/html", "app.js")
	f("app.js", "", 200, "text/javascript", "")
	f("pmapi/fetch?names=hinv.ncpu", "", 200, "application/json", `"hinv.ncpu"`)
	f("pmapi/metric?names=kernel.all.load", "", 200, "application/json", `"instant"`)
	f("metrics?names=kernel.all.load", "", 200, "text/plain", "kernel_all_load")
	f("stream?names=hinv.ncpu&hostspec=192.0.2.1", "", 400, "application/json", "Connection refused")
	f("no/such/page", "", 404, "", "")
	for _, foreign := range []string{
		"evil.example.com", "evil.example.com:44323", "localhost.evil.example.com", "127.0.0.1.nip.io", "localhostx", "xlocalhost", "2130706433", "0x7f000001", "127.1", "[::1].evil.example.com", "localhost:1:2",
	} {
		f("pmapi/fetch?names=hinv.ncpu", foreign, 403, "", "")
		f("stream?names=hinv.ncpu", foreign, 403, "", "")
		f("", foreign, 403, "", "")
		f("-/page", foreign, 403, "", "")
	}
	for _, own := range []string{"localhost", "LOCALHOST:1", "localhost.", "127.0.0.1:80", "[::1]", "a.localhost"} {
		f("pmapi/fetch?names=hinv.ncpu", own, 200, "application/json", `"hinv.ncpu"`)
	}
	f("pmapi/fetch?names=hinv.ncpu&hostspec=192.0.2.1", "", 400, "application/json", "Connection refused")
	f("pmapi/store?name=pmcd.control.timeout&value=5", "", 403, "application/json", "No permission")
	stop()
	if _, err := http.Get(page); err == nil {
		t.Error("the page is served after the end")
	}
}

// TestPageElsewhere runs the collector when the port of the page is taken, and without a page.
func TestPageElsewhere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
	home := tempDir(t)
	vars := map[string]string{"HOME": home, "PCP_RUN_DIR": home}
	o, errs := new(screen), new(screen)
	if status := run(t.Context(), testEnv(o, errs, vars, "--port", "0", "--web-port", taken)); status == 0 || !strings.Contains(errs.String(), "--web-port") {
		t.Errorf("on a port that is taken: %d, %s", status, errs)
	}
	out, stop := start(t, vars, "--port", "0", "--no-web", "--no-record")
	if strings.Contains(out.String(), "http://") {
		t.Errorf("--no-web: %s", out)
	}
	stop()
	// Two collectors have a page each, wherever the usual port is.
	a, stopA := start(t, vars, "--port", "0", "--no-record")
	other := tempDir(t)
	b, stopB := start(t, map[string]string{"HOME": other, "PCP_RUN_DIR": other}, "--port", "0", "--no-record")
	if pageOf(t, a) == pageOf(t, b) {
		t.Error("both have the same page")
	}
	stopA()
	stopB()
}

// TestPageToken shows private data to clients with the token of the page, and to no other user.
func TestPageToken(t *testing.T) {
	home := tempDir(t)
	vars := map[string]string{"HOME": home, "PCP_RUN_DIR": home}
	args := []string{"--port", "0", "--web-port", "0", "--no-record", "--dir", filepath.Join(home, "state")}
	out, stop := start(t, vars, args...)
	page, token := pageAndToken(t, out)
	file := filepath.Join(home, "state", "page-token")
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Fatalf("the file of the token: %v, %v", info.Mode(), err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != token+"\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
	for _, path := range []string{"pmcd.log"} {
		if b, err := os.ReadFile(filepath.Join(home, "state", path)); err != nil || strings.Contains(string(b), token) {
			t.Errorf("%s has the token (%v)", path, err)
		}
	}
	// processes returns the number of processes that a client sees.
	processes := func(authorization string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+"pmapi/fetch?names=proc.psinfo.rss", nil)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%d %s, %v", resp.StatusCode, b, err)
		}
		return strings.Count(string(b), `"instance":`)
	}
	if n := processes("Bearer " + token); n < 1 {
		t.Errorf("the user sees %d processes", n)
	}
	for _, other := range []string{"", "Bearer", "Bearer " + strings.ToLower(token), "Bearer " + token[1:]} {
		if n := processes(other); n != 0 {
			t.Errorf("%q sees %d processes", other, n)
		}
	}
	stop()
	// The token stays, and the address with it, except a token that others could
	// read.
	out, stop = start(t, vars, args...)
	if _, again := pageAndToken(t, out); again != token {
		t.Error("there is another token after a restart")
	}
	stop()
	for _, spoil := range []func() error{
		func() error { return os.Chmod(file, 0o644) },
		func() error { return os.WriteFile(file, nil, 0o600) },
		func() error { return os.WriteFile(file, []byte("short\n"), 0o600) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		out, stop = start(t, vars, args...)
		_, again := pageAndToken(t, out)
		if info, err := os.Stat(file); again == token || err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", again, info.Mode(), err)
		}
		token = again
		stop()
	}
}

// TestPageWithoutPort shows nothing without the token if the collector has no port: over its
// socket, it would take any client for the user who started it.
func TestPageWithoutPort(t *testing.T) {
	dir := tempDir(t)
	set := &settings{dir: dir, socket: filepath.Join(dir, "pmcd.socket"), archiveDir: dir, zone: time.UTC}
	set.alerts = func() ([]alert.State, []error) { return nil, nil }
	var err error
	if set.series, err = set.openSeries(slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer set.series.Close()
	p, err := openPage(t.Context(), set, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.start()
	defer p.stop()
	ask := func(path, token string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.link+path, nil)
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
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	for _, path := range []string{"pmapi/fetch?names=proc.psinfo.rss", "stream?names=proc.psinfo.rss", "metrics", "pmapi/context?hostspec=unix:" + set.socket} {
		if status, body := ask(path, ""); status != 403 || !strings.Contains(body, "token") {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if status, body := ask(path, p.token); status != 400 { // there is no collector
			t.Errorf("%s with the token: %d %s", path, status, body)
		}
	}
	// Only the user has dashboards.
	if status, body := ask("dashboards", ""); status != 404 {
		t.Errorf("dashboards: %d %s", status, body)
	}
	if status, body := ask("dashboards", p.token); status != 200 || !strings.Contains(body, `"dashboards":[]`) {
		t.Errorf("dashboards with the token: %d %s", status, body)
	}
}
