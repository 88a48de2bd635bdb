package pmproxy

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// TestPageToken checks that only clients with the page's token can read private data, and tries the ways
// that others could use.
func TestPageToken(t *testing.T) {
	const token = "0123456789ABCDEFGHIJ"
	says := func(what string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := rest.PeerOf(r.Context())
			if p.Trusted != (what == "private") || p.User != map[string]string{"private": "page"}[what] {
				what += " for the wrong peer"
			}
			rest.Send(w, 200, rest.TypeText, []byte(what))
		})
	}
	address, _ := start(t, Config{
		PageToken: token,
		Handlers:  map[string]http.Handler{"/pmapi": says("public"), "/": says("public")},
		Private:   map[string]http.Handler{"/pmapi": says("private"), "/none": says("private")},
	})
	ask := func(method, path string, headers ...string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			if headers[i] == "Host" {
				r.Host = headers[i+1]
				continue
			}
			r.Header.Add(headers[i], headers[i+1])
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
		return resp, string(b)
	}
	enter := func(status int, headers ...string) (cookie, key string) {
		t.Helper()
		resp, body := ask("POST", "/-/page", headers...)
		var v struct{ Key string }
		if err := json.Unmarshal([]byte(body), &v); err != nil || resp.StatusCode != status || (v.Key != "") != (status == 200) || (len(resp.Cookies()) > 0) != (status == 200) {
			t.Fatalf("%v: %d %s %v", headers, resp.StatusCode, body, resp.Cookies())
		}
		if status != 200 {
			return "", ""
		}
		c := resp.Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge <= 0 || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("cookie %v", resp.Header)
		}
		if strings.Contains(c.Value+v.Key+c.Name, token) || c.Value == v.Key {
			t.Error("the token is in what the browser keeps")
		}
		return c.Name + "=" + c.Value, v.Key
	}
	show := []string{"Authorization", "Bearer " + token}
	cookie, key := enter(200, show...)
	enter(403)
	enter(403, "Authorization", "Bearer ")
	enter(403, "Authorization", "Bearer "+token[1:])
	enter(403, "Authorization", "Basic "+token)
	enter(403, "Cookie", cookie, PageHeader, key)
	enter(403, append(show, "Origin", "http://evil.example.com")...)
	enter(403, append(show, "Sec-Fetch-Site", "cross-site")...)
	enter(403, append(show, "Sec-Fetch-Site", "same-site")...) // a server on another port of this host
	enter(403, append(show, "Host", "evil.example.com")...)

	for _, c := range []struct {
		what, want string
		headers    []string
	}{
		{"nobody", "public", nil},
		{"the page", "private", []string{"Cookie", cookie, PageHeader, key}},
		{"the page, as browsers say", "private", []string{"Cookie", cookie, PageHeader, key, "Sec-Fetch-Site", "same-origin", "Origin", "http://" + address}},
		{"a program with the token", "private", show},
		{"a wrong token", "public", []string{"Authorization", "Bearer x" + token}},
		{"the cookie alone, as a server on another port sees it", "public", []string{"Cookie", cookie}},
		{"the key alone", "public", []string{PageHeader, key}},
		{"the token in place of both", "public", []string{"Cookie", strings.Split(cookie, "=")[0] + "=" + token, PageHeader, token}},
		{"empty ones", "public", []string{"Cookie", strings.Split(cookie, "=")[0] + "=", PageHeader, ""}},
		{"a page of another site", "public", []string{"Cookie", cookie, PageHeader, key, "Sec-Fetch-Site", "cross-site"}},
		{"a page of another port", "public", []string{"Cookie", cookie, PageHeader, key, "Sec-Fetch-Site", "same-site"}},
		{"a page of another origin in an old browser", "public", []string{"Cookie", cookie, PageHeader, key, "Origin", "http://localhost:1"}},
		{"the origin of a file", "public", []string{"Cookie", cookie, PageHeader, key, "Origin", "null"}},
	} {
		if resp, body := ask("GET", "/pmapi/fetch", c.headers...); resp.StatusCode != 200 || body != c.want {
			t.Errorf("%s: %d %s, want %s", c.what, resp.StatusCode, body, c.want)
		}
		if _, body := ask("GET", "/-/page", c.headers...); strings.Contains(body, `"known":true`) != (c.want == "private") {
			t.Errorf("%s: %s", c.what, body)
		}
	}
	// A foreign name for this host gets nothing, whatever it presents.
	if resp, body := ask("GET", "/pmapi/fetch", "Cookie", cookie, PageHeader, key, "Host", "evil.example.com"); resp.StatusCode != 403 || strings.Contains(body, "private") {
		t.Errorf("another Host: %d %s", resp.StatusCode, body)
	}
	// The CORS headers must not let other origins send the key or a token.
	resp, _ := ask("OPTIONS", "/pmapi/fetch", "Origin", "http://evil.example.com", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", PageHeader)
	if h := strings.ToLower(resp.Header.Get("Access-Control-Allow-Headers")); strings.Contains(h, "x-pcp") || strings.Contains(h, "authorization") || resp.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("other origins may send %q", h)
	}
	if resp, _ := ask("PUT", "/-/page"); resp.StatusCode != 405 {
		t.Errorf("PUT: %d", resp.StatusCode)
	}
	// The credentials that an open page still sends after the end, to any new server on the port, are
	// worthless at the next start.
	old := address
	address, _ = start(t, Config{
		PageToken: token, Handlers: map[string]http.Handler{"/pmapi": says("public")}, Private: map[string]http.Handler{"/pmapi": says("private")},
	})
	if _, body := ask("GET", "/pmapi/fetch", "Cookie", cookie, PageHeader, key); body != "public" {
		t.Errorf("cookie and key of another run: %s", body)
	}
	again, newKey := enter(200, show...)
	if strings.Split(again, "=")[0] != strings.Split(cookie, "=")[0] || newKey == key {
		t.Errorf("another run has the cookie %s and the same key: %v", again, newKey == key)
	}
	address = old
	// Without a token there is no such page, and short tokens are refused.
	plain, _ := start(t, Config{Handlers: map[string]http.Handler{"/pmapi": says("public")}, Private: map[string]http.Handler{"/pmapi": says("private")}})
	address = plain
	if resp, body := ask("POST", "/-/page", "Authorization", "Bearer "); resp.StatusCode != 400 || len(resp.Cookies()) > 0 {
		t.Errorf("without a token: %d %s", resp.StatusCode, body)
	}
	if _, body := ask("GET", "/pmapi/fetch", "Authorization", "Bearer "); body != "public" {
		t.Errorf("without a token: %s", body)
	}
	if _, err := New(Config{PageToken: "short"}); err == nil {
		t.Error("a short token is accepted")
	}
}

// TestPageTokenLog checks that the token does not appear in the log, which has requests with -D http.
func TestPageTokenLog(t *testing.T) {
	const token = "0123456789ABCDEFGHIJ"
	var mu sync.Mutex
	var b strings.Builder
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return b.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	address, _ := start(t, Config{PageToken: token, Log: log, Handlers: map[string]http.Handler{"/": api("page")}})
	for _, path := range []string{"/?token=" + token, "/?x=1&token=" + token + "#y", "/-/page?token=" + token, "/nosuch/" + token} {
		get(t, address, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	}
	get(t, address, "POST /-/page HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nAuthorization: Bearer "+token+"x\r\n\r\n")
	mu.Lock()
	defer mu.Unlock()
	if text := b.String(); strings.Contains(text, token) || strings.Count(text, "msg=request") < 5 {
		t.Errorf("the log has %s", text)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
