package haproxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/testing/await"
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

const conf = `global
    stats socket %[1]s/stats level user
    description the test
defaults
    mode http
    timeout connect 1s
    timeout client 1s
    timeout server 1s
frontend in
    bind 127.0.0.1:%[2]d
    stats enable
    stats uri /stats
    default_backend out
backend out
    server "one" 127.0.0.1:1
`

// TestServer compares values with the answers of the socket.
func TestServer(t *testing.T) {
	s := servicetest.Start(t, "haproxy", func(s *servicetest.Server) []string {
		path := filepath.Join(s.Dir, "conf")
		if err := os.WriteFile(path, fmt.Appendf(nil, conf, s.Dir, s.Port), 0o644); err != nil {
			t.Fatal(err)
		}
		return []string{"-db", "-f", path}
	})
	socket := filepath.Join(s.Dir, "stats")
	s.Await(t, "unix", socket)
	if resp, err := http.Get("http://" + s.Address() + "/"); err == nil { // no server answers
		resp.Body.Close()
	}
	ask := func(q string) string {
		t.Helper()
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, q+"\n")
		b, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	await.Until(t, "the request is counted, which may be after its answer", func() bool {
		lines := strings.Split(ask("show stat"), "\n")
		column := slices.Index(strings.Split(lines[0], ","), "hrsp_5xx")
		return slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "out,BACKEND,") && strings.Split(line, ",")[column] == "1"
		})
	})
	a := newAgent(t, Config{Socket: socket})
	v := servicetest.Read(t, a)
	info := servicetest.Lines(ask("show info"), ": ")
	for name, key := range map[string]string{
		"name": "Name", "version": "Version", "pid": "Pid", "maxconn": "Maxconn", "ulimit_n": "Ulimit-n", "hard_maxconn": "Hard_maxconn", "description": "description",
	} {
		if got := strings.Trim(v["haproxy.info."+name][""], `"`); got != info[key] || got == "" {
			t.Errorf("haproxy.info.%s is %q, the socket has %s: %q", name, got, key, info[key])
		}
	}
	insts := map[string]string{"in::FRONTEND": "", "out::BACKEND": "", "out::one": ""}
	if got := v["haproxy.stat.type"]; len(got) != len(insts) || got["in::FRONTEND"] != "0" || got["out::BACKEND"] != "1" || got["out::one"] != "2" {
		t.Errorf("types are %v", got)
	}
	lines := strings.Split(ask("show stat"), "\n")
	names := strings.Split(strings.TrimPrefix(lines[0], "# "), ",")
	checked := 0
	for _, line := range lines[1:] {
		fields := strings.Split(line, ",")
		if len(fields) < 2 {
			continue
		}
		for i, name := range names[:len(names)-1] {
			switch name {
			case "lastchg", "downtime", "lastsess", "rate", "req_rate", "conn_rate", "scur", "chkfail":
				continue // they change
			}
			metric := v["haproxy.stat."+name]
			if got := strings.Trim(metric[fields[0]+"::"+fields[1]], `"`); metric != nil && got != fields[i] {
				t.Errorf("haproxy.stat.%s of %s is %q, the socket has %q", name, fields[:2], got, fields[i])
			} else if got != "" {
				checked++
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d values were compared", checked)
	}
	servicetest.Hammer(t, a)

	page := newAgent(t, Config{URL: "http://" + s.Address() + "/stats;csv"})
	if got := servicetest.Read(t, page)["haproxy.stat.type"]["out::BACKEND"]; got != "1" {
		t.Errorf("by the page the type of the backend is %s", got)
	}
}

// FuzzDecode reads an answer of any bytes.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("Name: HAProxy\nUptime_sec: 3\n\n# pxname,svname,qcur,qmax,\na,FRONTEND,1,2,\n\"a,b\",\"x\"\"y\",,,\n"))
	f.Add([]byte("# pxname,svname,\n\"\n"))
	f.Add([]byte("# pxname,svname,\n" + strings.Repeat(",", 1000)))
	f.Add([]byte("Unknown command\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		proxies := &service.InDom{}
		a, err := service.New(service.Config{
			Name: "haproxy", Domain: Domain, Metrics: metrics(proxies), InDoms: []*service.InDom{proxies},
			Servers: []service.Server{{Name: "x", Read: func(_ context.Context, a *service.Answer) error { return decode(b, proxies, a) }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		servicetest.Read(t, a)
	})
}
