package up

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// pageOf finds the address of the page in what pcp up prints.
func pageOf(t *testing.T, out *screen) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^  page     (http://localhost:\d+/)$`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("no page in\n%s", out)
	}
	return m[1]
}

// TestPage asks for the page and for what it asks, as a browser would and as pages from elsewhere would.
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
	}
	f("", "", 200, "text/html", "app.js")
	f("app.js", "", 200, "text/javascript", "")
	f("pmapi/fetch?names=hinv.ncpu", "", 200, "application/json", `"hinv.ncpu"`)
	f("pmapi/metric?names=kernel.all.load", "", 200, "application/json", `"instant"`)
	f("metrics?names=kernel.all.load", "", 200, "text/plain", "kernel_all_load")
	f("no/such/page", "", 404, "", "")
	f("pmapi/fetch?names=hinv.ncpu", "evil.example.com", 403, "", "")
	f("pmapi/fetch?names=hinv.ncpu&hostspec=192.0.2.1", "", 400, "application/json", "Connection refused")
	f("pmapi/store?name=pmcd.control.timeout&value=5", "", 403, "application/json", "No permission")
	stop()
	if _, err := http.Get(page); err == nil {
		t.Error("the page is served after the end")
	}
}

// TestPageElsewhere checks what happens when the port of the page is taken, and without a page.
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
	// Two of them have a page each, wherever the usual port is.
	a, stopA := start(t, vars, "--port", "0", "--no-record")
	other := tempDir(t)
	b, stopB := start(t, map[string]string{"HOME": other, "PCP_RUN_DIR": other}, "--port", "0", "--no-record")
	if pageOf(t, a) == pageOf(t, b) {
		t.Error("both have the same page")
	}
	stopA()
	stopB()
}
