package apache

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
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

const conf = `ServerName localhost
ServerRoot %[1]s
PidFile %[1]s/pid
ErrorLog %[1]s/error
Mutex file:%[1]s default
Listen 127.0.0.1:%[2]d
LoadModule mpm_event_module %[3]s/mod_mpm_event.so
LoadModule authz_core_module %[3]s/mod_authz_core.so
LoadModule status_module %[3]s/mod_status.so
ExtendedStatus On
StartServers 1
ServerLimit 1
ThreadsPerChild 25
MaxRequestWorkers 25
MinSpareThreads 1
MaxSpareThreads 25
<Location /server-status>
	SetHandler server-status
</Location>
`

// modules is the directory of the modules of a server.
func modules(t testing.TB, program string) string {
	for _, dir := range []string{"/usr/lib/apache2/modules", filepath.Join(filepath.Dir(program), "../lib/apache2/modules"), "/usr/lib64/httpd/modules"} {
		if _, err := os.Stat(filepath.Join(dir, "mod_status.so")); err == nil {
			return dir
		}
	}
	t.Fatalf("the modules of %s are not found", program)
	return ""
}

// TestServer compares values with the page that the server answers.
func TestServer(t *testing.T) {
	s := servicetest.Start(t, "apache2 httpd", func(s *servicetest.Server) []string {
		path := filepath.Join(s.Dir, "conf")
		if err := os.WriteFile(path, fmt.Appendf(nil, conf, s.Dir, s.Port, modules(t, s.Program)), 0o644); err != nil {
			t.Fatal(err)
		}
		return []string{"-f", path, "-D", "FOREGROUND"}
	})
	s.Await(t, "tcp", s.Address())
	url := "http://" + s.Address() + "/server-status"
	a := newAgent(t, Config{URL: url})
	page := func() map[string]string {
		t.Helper()
		resp, err := http.Get(url + "?auto")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return servicetest.Lines(string(b), ": ")
	}
	number := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	await.Until(t, "all workers have started", func() bool {
		p := page()
		return number(p["BusyWorkers"])+number(p["IdleWorkers"]) == 25
	})
	before := page()
	v := servicetest.Read(t, a)
	after := page()
	for name, key := range map[string]string{"total_accesses": "Total Accesses", "total_kbytes": "Total kBytes", "uptime": "Uptime"} {
		if got := v["apache."+name][""]; got == "" || number(got) < number(before[key]) || number(got) > number(after[key]) {
			t.Errorf("apache.%s is %s, between %s and %s by the page", name, got, before[key], after[key])
		}
	}
	sum := 0
	for name, m := range v {
		if strings.HasPrefix(name, "apache.sb_") {
			sum += number(m[""])
		}
	}
	if sum != len(before["Scoreboard"]) || sum != 25 {
		t.Errorf("the scoreboard has %d places, the metrics %d", len(before["Scoreboard"]), sum)
	}
	if busy, idle := v["apache.busy_servers"][""], v["apache.idle_servers"][""]; number(busy) < 1 || number(busy)+number(idle) != 25 {
		t.Errorf("%s workers are busy and %s idle, of 25", busy, idle)
	}
	if v["apache.requests_per_sec"][""] == "" && before["ReqPerSec"] != "" {
		t.Error("apache.requests_per_sec has no value")
	}
	servicetest.Hammer(t, a)
	if err := newAgent(t, Config{URL: "http://" + s.Address() + "/x"}).Try(t.Context()); err == nil || !strings.Contains(err.Error(), "SetHandler server-status") {
		t.Errorf("without the page: %v", err)
	}
}

func TestUptime(t *testing.T) {
	for n, want := range map[uint64]string{0: "00:00:00", 3661: "01:01:01", 86400: "1day 00:00:00", 2*86400 + 59: "2days 00:00:59"} {
		if got := uptime(n); got != want {
			t.Errorf("%d seconds are %q, want %q", n, got, want)
		}
	}
}

// FuzzDecode reads a page of any bytes.
func FuzzDecode(f *testing.F) {
	f.Add("localhost\nTotal Accesses: 1\nUptime: 99999999999999999999\nReqPerSec: .5\nBytesPerReq: 1e300\nScoreboard: _W_.\n")
	f.Add("Scoreboard: \x00\xff\n_: 5\nuptime_s: x\n")
	f.Add("<html>")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := service.New(service.Config{
			Name: "apache", Domain: Domain, Metrics: metrics(),
			Servers: []service.Server{{Name: "x", Read: func(_ context.Context, a *service.Answer) error { return decode(text, a) }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		servicetest.Read(t, a)
	})
}
