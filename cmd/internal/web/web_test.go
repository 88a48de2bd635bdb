package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxBundle is the maximum size of the page on the wire.
const maxBundle = 130_000

func serve(t *testing.T, cfg Config, method, target string, header ...string) *http.Response {
	t.Helper()
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestServe(t *testing.T) {
	f := func(method, target string, status int, mime string) {
		t.Helper()
		r := serve(t, Config{}, method, target)
		if r.StatusCode != status || r.Header.Get("Content-Type") != mime {
			t.Errorf("%s %s: %d %s, want %d %s", method, target, r.StatusCode, r.Header.Get("Content-Type"), status, mime)
		}
		csp := r.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'self';") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s %s: policy %q", method, target, csp)
		}
		if r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s may be sniffed", method, target)
		}
	}
	const text = "text/plain; charset=utf-8"
	f("GET", "/", 200, "text/html; charset=utf-8")
	f("HEAD", "/", 200, "text/html; charset=utf-8")
	f("GET", "/index.html", 200, "text/html; charset=utf-8")
	f("GET", "/?x=1", 200, "text/html; charset=utf-8")
	f("GET", "/app.js", 200, "text/javascript; charset=utf-8")
	f("GET", "/app.css", 200, "text/css; charset=utf-8")
	f("GET", "/icon.svg", 200, "image/svg+xml")
	f("GET", "/sources.sum", 404, text)
	f("GET", "/dist/app.js", 404, text)
	f("GET", "/../web.go", 404, text)
	f("GET", "//app.js", 404, text)
	f("POST", "/", 405, text)
	f("DELETE", "/app.js", 405, text)
	f("POST", "/no", 404, text)
}

// TestTokenIsNotCached checks that no cache stores an address with a token.
func TestTokenIsNotCached(t *testing.T) {
	for target, want := range map[string]string{"/?token=x": "no-store", "/?a=b&token=x": "no-store", "/?token": "no-store", "/": "no-cache", "/app.js": "no-cache"} {
		if got := serve(t, Config{}, "GET", target).Header.Get("Cache-Control"); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

func TestPrefix(t *testing.T) {
	f := func(target string, status int) {
		t.Helper()
		if r := serve(t, Config{Prefix: "/ui/"}, "GET", target); r.StatusCode != status {
			t.Errorf("%s: %d, want %d", target, r.StatusCode, status)
		}
	}
	f("/ui", 301)
	f("/ui/", 200)
	f("/ui/app.js", 200)
	f("/app.js", 404)
	f("/uiapp.js", 404)
	if _, err := New(Config{Prefix: "ui"}); err == nil {
		t.Error("a prefix without / is taken")
	}
}

func TestCached(t *testing.T) {
	tag := serve(t, Config{}, "GET", "/app.js").Header.Get("ETag")
	if r := serve(t, Config{}, "GET", "/app.js", "If-None-Match", tag); tag == "" || r.StatusCode != 304 {
		t.Errorf("asked again with %s: %d, want 304", tag, r.StatusCode)
	}
	if r := serve(t, Config{}, "GET", "/app.js", "If-None-Match", `"other"`); r.StatusCode != 200 {
		t.Errorf("asked with another tag: %d, want 200", r.StatusCode)
	}
}

// TestSize checks that the page stays small, all of it compressed as a server would send it.
func TestSize(t *testing.T) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := fs.Glob(dist, "dist/*")
	for _, name := range names {
		data, err := dist.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		z.Write(data)
	}
	z.Close()
	t.Logf("%d bytes compressed", b.Len())
	if b.Len() > maxBundle {
		t.Errorf("the bundle has %d bytes compressed, more than %d", b.Len(), maxBundle)
	}
}

// TestSources checks that dist was built from the current sources: cmd/internal/web/build writes their
// sums into dist/sources.sum. (The tests there check the output of esbuild.)
func TestSources(t *testing.T) {
	var want strings.Builder
	for _, dir := range []string{"src", "vendor"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(data), filepath.ToSlash(path))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("dist/sources.sum")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("the bundle is not of these sources: go -C web/build run .")
	}
}

// markup matches code that creates elements or code from text.
var markup = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function|srcdoc|createContextualFragment`)

// foreign is an address of another server.
var foreign = regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9-]+\.[a-z]`)

// TestNoMarkup checks that the sources create only text from text, and send no requests to other servers.
func TestNoMarkup(t *testing.T) {
	names, err := filepath.Glob("src/*")
	if err != nil || len(names) < 10 {
		t.Fatalf("sources: %d, %v", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m := markup.Find(data); m != nil {
			t.Errorf("%s: %s", name, m)
		}
		text := strings.ReplaceAll(string(data), "http://www.w3.org/2000/svg", "")
		if m := foreign.FindString(text); m != "" {
			t.Errorf("%s: %s", name, m)
		}
	}
}
