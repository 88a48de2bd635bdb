package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func board(title string) string {
	return fmt.Sprintf(`{"format": "go-pcp dashboard 1", "title": %q, "panels": []}`, title)
}

// do sends a request with headers as NAME VALUE pairs.
func do(t *testing.T, h http.Handler, method, path, body string, headers ...string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%s %s: %v in %.200s", method, path, err, w.Body)
	}
	return w.Code, v
}

func TestHandler(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "dashboards")
	h := New(Config{Dir: dir})
	want := func(method, path, body string, status int, headers ...string) map[string]any {
		t.Helper()
		code, v := do(t, h, method, path, body, headers...)
		if code != status || v["success"] != (status == 200) {
			t.Fatalf("%s %s: %d %v, want %d", method, path, code, v, status)
		}
		return v
	}
	if v := want("GET", "/dashboards", "", 200); len(v["dashboards"].([]any)) != 0 {
		t.Errorf("there are %v", v)
	}
	first := want("PUT", "/dashboards/one", board("One"), 200, "If-None-Match", "*")["version"].(string)
	want("PUT", "/dashboards/one", board("Other"), 412, "If-None-Match", "*")
	second := want("PUT", "/dashboards/one", board("Two"), 200, "If-Match", `"`+first+`"`)["version"].(string)
	want("PUT", "/dashboards/one", board("Three"), 412, "If-Match", first)
	want("PUT", "/dashboards/gone", board("x"), 404, "If-Match", first)
	want("PUT", "/dashboards/b", board("</script>\x00\u202e"), 400) // a zero byte is not JSON
	want("PUT", "/dashboards/b", board("</script>"), 200)
	list := want("GET", "/dashboards", "", 200)["dashboards"].([]any)
	if len(list) != 2 || list[1].(map[string]any)["version"] != second || list[1].(map[string]any)["dashboard"].(map[string]any)["title"] != "Two" {
		t.Errorf("there are %v", list)
	}
	if info, err := os.Stat(filepath.Join(dir, "one.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info, err)
	}

	for _, x := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/dashboards/../one", board("x"), 400},
		{"PUT", "/dashboards/a%2fb", board("x"), 400},
		{"PUT", "/dashboards/" + strings.Repeat("a", 41), board("x"), 400},
		{"PUT", "/dashboards/A", board("x"), 400},
		{"PUT", "/dashboards/a/b", board("x"), 400},
		{"PUT", "/dashboards", board("x"), 405},
		{"POST", "/dashboards/one", board("x"), 405},
		{"GET", "/dashboardsx", "", 404},
		{"PUT", "/dashboards/c", "", 400},
		{"PUT", "/dashboards/c", "[]", 400},
		{"PUT", "/dashboards/c", `{"format":"go-pcp dashboard 2","title":"","panels":[]}`, 400},
		{"PUT", "/dashboards/c", `{"format":"go-pcp dashboard 1","panels":[]}`, 400},
		{"PUT", "/dashboards/c", `{"format":"go-pcp dashboard 1","title":"x"}`, 400},
		{"PUT", "/dashboards/c", board(strings.Repeat("t", maxTitle+1)), 400},
		{"PUT", "/dashboards/c", board("x") + strings.Repeat(" ", MaxFile), 413},
		{"PUT", "/dashboards/c", strings.Repeat("[", 20000), 400},
		{"DELETE", "/dashboards/c", "", 404},
	} {
		want(x.method, x.path, x.body, x.status)
	}

	// A file that cannot be read does not hide the others, and can be removed.
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := want("GET", "/dashboards", "", 200)
	if len(v["dashboards"].([]any)) != 2 || !strings.Contains(fmt.Sprint(v["problems"]), "bad.json: not a dashboard") {
		t.Errorf("there are %v", v)
	}
	want("DELETE", "/dashboards/bad", "", 200)
	want("DELETE", "/dashboards/one", "", 412, "If-Match", first)
	want("DELETE", "/dashboards/one", "", 200, "If-Match", second)
	if list := want("GET", "/dashboards", "", 200)["dashboards"].([]any); len(list) != 1 {
		t.Errorf("there are %v", list)
	}
	for i := 1; i < MaxFiles; i++ {
		want("PUT", fmt.Sprintf("/dashboards/n%d", i), board("x"), 200)
	}
	want("PUT", "/dashboards/more", board("x"), 507)
	want("PUT", "/dashboards/n1", board("y"), 200)
}

// TestDirectory checks errors of the directory.
func TestDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := New(Config{Dir: filepath.Join(file, "dashboards")})
	if code, v := do(t, h, "PUT", "/dashboards/one", board("x")); code != 500 || !strings.Contains(fmt.Sprint(v["message"]), file) {
		t.Errorf("%d %v", code, v)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{board("x"), "", "{}", `{"format":"go-pcp dashboard 1","title":null,"panels":[{}]}`, `{"FORMAT":"go-pcp dashboard 1","title":"\ud800","panels":[1e999]}`, strings.Repeat("[", 100)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := check(b)
		if err != nil {
			return
		}
		again, err := check(out)
		if err != nil || !bytes.Equal(out, again) || !json.Valid(out) {
			t.Errorf("check(%q) = %q, and again %q, %v", b, out, again, err)
		}
	})
}

// TestStalledClient has a client that does not finish its request: others are served meanwhile.
func TestStalledClient(t *testing.T) {
	h := New(Config{Dir: t.TempDir()})
	body, feed := io.Pipe()
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("PUT", "/dashboards/slow", body))
		done <- w.Code
	}()
	text := board("Slow")
	if _, err := io.WriteString(feed, text[:1]); err != nil { // the handler reads it
		t.Fatal(err)
	}
	if code, _ := do(t, h, "PUT", "/dashboards/fast", board("Fast")); code != 200 {
		t.Errorf("beside a client that stalls: %d", code)
	}
	io.WriteString(feed, text[1:])
	feed.Close()
	if code := <-done; code != 200 {
		t.Errorf("the slow client: %d", code)
	}
}
