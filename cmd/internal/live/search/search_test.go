package search

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	index "github.com/go-pcp/pcp/cmd/internal/pmproxy/search"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// runIt runs pmsearch.
func runIt(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{
		Name: "pmsearch", Args: args, Command: Command, Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" },
	}
	status = Command.Run(context.Background(), env)
	return out.String(), errs.String(), status
}

// at returns the options that name a server.
func at(t *testing.T, s *httptest.Server) []string {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"-h", u.Hostname(), "-p", u.Port()}
}

var number = regexp.MustCompile(`[0-9]+\.[0-9]+`)

// TestProxy asks a pmproxy.
func TestProxy(t *testing.T) {
	x := index.NewIndex(index.Limits{})
	x.Replace("here", []index.Document{
		{Type: index.Metric, Name: "disk.dev.read", InDom: "60.1", OneLine: "per-disk reads + more", Help: "two\nlines \x1b[2J"},
		{Type: index.InDom, Name: "60.1", InDom: "60.1"},
		{Type: index.Instance, Name: "sda", InDom: "60.1"},
		{Type: index.Instance, Name: "sdb", InDom: "60.1"},
	})
	h, err := index.New(index.Config{Index: x})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := httptest.NewServer(h)
	defer s.Close()
	conf := filepath.Join(t.TempDir(), "pmproxy.conf")
	if err := os.WriteFile(conf, []byte("[pmproxy]\nresult.count = 7\n[pmsearch]\nresult.count = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const disk = "Type: metric\nName: disk.dev.read\nInDom: 60.1\nOne line: per-disk reads + more\nHelp: two\nlines \x1b[2J\n"
	const sda, sdb = "Type: instance\nName: sda\nInDom: 60.1\n", "Type: instance\nName: sdb\nInDom: 60.1\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"disk", "more"}, disk},
		{[]string{"-q", "-C", "nothing"}, "0 search results\n"},
		{[]string{"sd*"}, sda + "\n" + sdb},
		{[]string{"-N1", "sd*"}, sda},
		{[]string{"-O", "1", "sd*"}, sdb},
		{[]string{"-c", conf, "sd*"}, sda},
		{[]string{"-n", "-N", "2", "60.1"}, "Type: indom\nName: 60.1\nInDom: 60.1\n\n" + sda},
		{[]string{"-s", "sd"}, "Name: sda\n\nName: sdb\n"},
		{[]string{"-tT", "sd*"}, "2 hits in N seconds\n\n" + sda + "\n" + sdb},
		{[]string{"-t", "sda"}, "1 hit\n\n" + sda},
		{[]string{"-dS", "sda"}, "ID: 9cf14b64d1c803e6c8dc1f8d4eb4de24da14ccfe\nScore: N\n" + sda},
	} {
		out, errs, status := runIt(t, append(at(t, s), c.args...)...)
		if strings.HasPrefix(c.args[0], "-tT") || c.args[0] == "-dS" {
			first, rest, _ := strings.Cut(out, "Type")
			out = number.ReplaceAllString(first, "N") + "Type" + rest
			if strings.Contains(first, "Score: 0.00") {
				t.Errorf("%q: %s", c.args, first)
			}
		}
		if out != c.want || errs != "" || status != 0 {
			t.Errorf("%q: status %d, %s%q, want %q", c.args, status, errs, out, c.want)
		}
	}
	out, errs, status := runIt(t, append(at(t, s), "-i")...)
	if status != 0 || errs != "" || !strings.HasPrefix(out, "RediSearch statistics:\n    Documents: 4\n        Terms: ") ||
		!strings.HasSuffix(out, "- Average offset bits per record: 16.00\n") || strings.Count(out, "\n") != 16 || !strings.Contains(out, "0.00 MB\n") {
		t.Errorf("-i: status %d, %s%s", status, errs, out)
	}
}

// TestFailures compares the messages if there is no answer.
func TestFailures(t *testing.T) {
	answer := func(status int, body string) []string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return append(at(t, s), "x")
	}
	closed := httptest.NewServer(nil)
	gone := append(at(t, closed), "x")
	closed.Close()
	bad := filepath.Join(t.TempDir(), "bad.conf")
	if err := os.WriteFile(bad, []byte("[pmsearch]\nresult.count = many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{answer(400, `{"success":false}`), "it cannot search"},
		{answer(200, `{"docs":`), "unexpected end of JSON"},
		{answer(404, "no"), "status 404"},
		{answer(302, ""), "status 302"},
		{gone, "connection refused"},
		{[]string{"-c", bad, "x"}, "bad.conf: line 2: result.count"},
		{[]string{"-c", bad + ".not", "x"}, "no such file"},
		{[]string{"-p", "70000", "x"}, "larger than 65535"},
		{[]string{"-N", "0", "x"}, "-N"},
		{nil, "Usage: pmsearch [options] [query | indom]"},
	} {
		out, errs, status := runIt(t, c.args...)
		if status != 1 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: status %d, %q, %s", c.args, status, out, errs)
		}
	}
}

// TestColours marks words for a terminal.
func TestColours(t *testing.T) {
	s := &searcher{env: new(cli.Env), colour: true}
	if got, want := s.text("a <b>word</b>\x1b of\nit"), "a "+cyan+"word"+reset+"\x1b of\nit"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
