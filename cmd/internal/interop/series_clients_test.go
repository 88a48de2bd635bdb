package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestGrafanaSeries makes the calls of the Grafana plugin's source of series, with POST as it does for long
// requests, of the real pmproxy and of ours, and compares the result of each call as the plugin
// uses it next.
func TestGrafanaSeries(t *testing.T) {
	s := startSeries(t)
	base := s.startProxy()
	// call returns the answer, decoded.
	call := func(server, command string, form url.Values) any {
		t.Helper()
		status, kind, body := get(server+"/series/"+command, form)
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil || status != http.StatusOK {
			t.Fatalf("%s%s %v: %d %s %.300s", server, command, form, status, kind, body)
		}
		return v
	}
	// run returns all answers of a panel.
	run := func(server string) (all []any) {
		keep := func(v any) any {
			all = append(all, sortLists(v))
			return v
		}
		list := func(v any) string {
			var ids []string
			for _, e := range v.([]any) {
				ids = append(ids, e.(string))
			}
			return strings.Join(ids, ",")
		}
		keep(call(server, "ping", nil))
		for _, expr := range []string{`kernel.all.load{hostname == "bozo-laptop"}`, `rate(kernel.percpu.cpu.user{hostname == "bozo-laptop"})`, `disk.dev.read{hostname == "bozo-laptop"}`} {
			ids := list(keep(call(server, "query", url.Values{"expr": {expr}})))
			if ids == "" {
				t.Fatalf("%s has no series %s", server, expr)
			}
			keep(call(server, "descs", url.Values{"series": {ids}}))
			keep(call(server, "metrics", url.Values{"series": {ids}}))
			insts := keep(call(server, "instances", url.Values{"series": {ids}}))
			for _, in := range insts.([]any) {
				keep(call(server, "labels", url.Values{"series": {in.(map[string]any)["instance"].(string)}}))
			}
			window := url.Values{"series": {ids}, "start": {"1317633000"}, "finish": {"1317633100"}, "interval": {"1"}}
			switch {
			case !strings.HasPrefix(expr, "rate"):
				keep(call(server, "values", window))
			case server != base: // the real one dies
				if values := call(server, "values", window).([]any); len(values) == 0 {
					t.Errorf("%s has no values", expr)
				}
			}
		}
		keep(call(server, "metrics", url.Values{"match": {"kernel.all.l*"}})) // metrics(glob) of a template
		keep(call(server, "labels", url.Values{"match": {"host*"}}))          // label_names(glob)
		keep(call(server, "labels", url.Values{"names": {"hostname"}}))       // label_values(name)
		return all
	}
	real, ours := run(base), run(s.api.URL)
	if len(real) != len(ours) {
		t.Fatalf("%d answers, the real one has %d", len(ours), len(real))
	}
	for i := range real {
		if d := cmp.Diff(real[i], ours[i]); d != "" {
			t.Errorf("answer %d: real -, ours +:\n%s", i, d)
		}
	}
}

// TestRealSeriesClient has the real pmseries read its key server through our pmproxy, which
// forwards its protocol.
func TestRealSeriesClient(t *testing.T) {
	s := startSeries(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := pmproxy.New(pmproxy.Config{Listeners: []net.Listener{ln}, KeyServer: "localhost:" + s.port})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	direct := s.port
	for _, args := range [][]string{{"kernel.all.load"}, {"-t", "kernel.all.load[samples:3]"}, {"-l"}} {
		want, err := s.real(args...)
		if err != nil || want == "" {
			t.Fatalf("%q: %v %s", args, err, want)
		}
		s.port = fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
		got, err := s.real(args...)
		s.port = direct
		if err != nil || inOrder(got) != inOrder(want) {
			t.Errorf("%q by way of the proxy: %v %s, want %s", args, err, got, want)
		}
	}
}

// startProxy starts the real pmproxy, and returns its URL.
func (s *seriesPair) startProxy() string {
	s.t.Helper()
	proxy := filepath.Join("/usr/lib/pcp/bin", "pmproxy")
	if _, err := os.Stat(proxy); err != nil {
		oracle.Missing(s.t, "no pmproxy")
	}
	port := fmt.Sprint(oracle.FreePort(s.t))
	s.start(proxy, "-f", "-A", "-p", port, "-c", s.config, "-l", filepath.Join(s.dir, "log"), "-s", filepath.Join(s.dir, "socket"))
	base := "http://" + net.JoinHostPort("127.0.0.1", port)
	s.until("pmproxy", func() bool {
		status, _, _ := get(base+"/series/ping", nil)
		return status == 200
	})
	return base
}
