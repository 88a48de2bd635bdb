package nginx

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

func newAgent(t testing.TB, cfg Config) *service.Agent {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestDescriptors(t *testing.T) {
	servicetest.Facts(t, newAgent(t, Config{}), "testdata/upstream.txt")
}

const conf = `daemon off;
pid %[1]s/pid;
error_log %[1]s/error;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/a;
	proxy_temp_path %[1]s/b;
	fastcgi_temp_path %[1]s/c;
	uwsgi_temp_path %[1]s/d;
	scgi_temp_path %[1]s/e;
	server {
		listen 127.0.0.1:%[2]d;
		location = /nginx_status { stub_status; }
		location = /private { return 401; }
	}
}
`

// TestServer makes requests, and finds them counted.
func TestServer(t *testing.T) {
	s := servicetest.Start(t, "nginx", func(s *servicetest.Server) []string {
		path := filepath.Join(s.Dir, "conf")
		if err := os.WriteFile(path, fmt.Appendf(nil, conf, s.Dir, s.Port), 0o644); err != nil {
			t.Fatal(err)
		}
		return []string{"-p", s.Dir, "-c", path, "-e", filepath.Join(s.Dir, "error")}
	})
	s.Await(t, "tcp", s.Address())
	url := "http://" + s.Address() + "/nginx_status"
	page := func() string {
		t.Helper()
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	a := newAgent(t, Config{URL: url})
	servicetest.Read(t, a) // its own connection
	before := page()
	v := servicetest.Read(t, a)
	var n [7]int
	if _, err := fmt.Sscanf(strings.Join(strings.Fields(before), " "), "Active connections: %d server accepts handled requests %d %d %d Reading: %d Writing: %d Waiting: %d", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6]); err != nil {
		t.Fatalf("%v: %s", err, before)
	}
	for name, want := range map[string]int{"active": n[0], "accepts_count": n[1], "handled_count": n[2], "requests_count": n[3] + 1, "writing": 1, "waiting": 1} {
		if got := v["nginx."+name][""]; got != fmt.Sprint(want) {
			t.Errorf("nginx.%s is %s, want %d by the page\n%s", name, got, want, before)
		}
	}
	servicetest.Hammer(t, a)
	if err := newAgent(t, Config{URL: "http://" + s.Address() + "/"}).Try(t.Context()); err == nil || !strings.Contains(err.Error(), "stub_status; allow") {
		t.Errorf("without the page: %v", err)
	}
	if err := newAgent(t, Config{URL: "http://" + s.Address() + "/private"}).Try(t.Context()); err == nil || !strings.Contains(err.Error(), service.ErrCredentials.Error()) {
		t.Errorf("with a page that requires a password: %v", err)
	}
}

// FuzzDecode reads a page of any bytes.
func FuzzDecode(f *testing.F) {
	f.Add("Active connections: 1 \nserver accepts handled requests\n 1 1 1 \nReading: 0 Writing: 1 Waiting: 0 \n")
	f.Add("Active connections: 99999999999999999999 \nserver accepts handled requests\n x -1 1 \nReading: 0 Writing: 1 Waiting: 0 \n")
	f.Add("<html>")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := service.New(service.Config{
			Name: "nginx", Domain: Domain, Metrics: metrics(),
			Servers: []service.Server{{Name: "x", Read: func(_ context.Context, a *service.Answer) error { return decode(text, a) }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		servicetest.Read(t, a)
	})
}
