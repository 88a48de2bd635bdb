package prom

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/docpage"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// shell runs the commands of a page for which pcp up runs.
func (l *live) shell(t *testing.T) *docpage.Shell {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(twin.Tool(t, "pcp"), filepath.Join(dir, "pcp")); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(l.dir, "pcp", "pmlogger", "*", "*.index"))
	if err != nil || len(found) == 0 {
		t.Fatalf("nothing is recorded: %v", err)
	}
	return &docpage.Shell{
		Dir: dir, Env: append(slices.Clone(l.env), "PATH="+dir+":"+os.Getenv("PATH")),
		Replace: []string{"localhost:44323", strings.TrimPrefix(l.page, "http://"), "ARCHIVE", strings.TrimSuffix(found[0], ".index"), "TOKEN", l.token},
	}
}

// filled evaluates an expression of a page, as a client with the page's token. It must have a result.
func (l *live) filled(t *testing.T, expr string) {
	t.Helper()
	expr = strings.ReplaceAll(expr, "$__rate_interval", "1m")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.page+"/api/v1/query?"+url.Values{"query": {expr}}.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	text := send(t, r)
	if !strings.Contains(text, `"status":"success"`) || !strings.Contains(text, `"metric":`) {
		t.Errorf("%s: %.300s", expr, text)
	}
}

// TestFromPrometheus runs the commands of docs/from-prometheus.md, scrapes with its configuration, and evaluates its expressions.
func TestFromPrometheus(t *testing.T) {
	page := docpage.Read(t, "docs/from-prometheus.md")
	debian(t, "promtool")
	l := startLive(t, time.Second)
	l.recorded(t, "rate(kernel_all_pswitch[1m])")
	sh := l.shell(t)
	if out, errs, status := promtool(t, "", "check", "rules", sh.Write(t, "rules.yml", page.File(t, "rules.yml"))); status != 0 {
		t.Errorf("promtool check rules: status %d\n%s%s", status, out, errs)
	}
	n := 0
	for _, c := range page.Commands() {
		if c.Text == "pcp up" {
			continue // it runs
		}
		n++
		if out := sh.Run(t, c); out == "" || strings.Contains(out, `"result":[]`) {
			t.Errorf("%s: %q", c.Text, out)
		}
	}
	if n < 11 {
		t.Errorf("the page has %d commands", n)
	}

	_, table, _ := strings.Cut(page.Text, "## Queries\n")
	exprs := regexp.MustCompile("(?m)^\\| .* \\| `([^`]+)` \\|$").FindAllStringSubmatch(table, -1)
	if len(exprs) != 13 {
		t.Errorf("the page has %d expressions", len(exprs))
	}
	for _, m := range exprs {
		l.filled(t, m[1])
	}
	l.filled(t, "topk(5, rate(proc_psinfo_utime[5m]))")
	l.filled(t, "last_over_time(hinv_ncpu[1d])")

	file := sh.Write(t, "prometheus.yml", page.File(t, "prometheus.yml"))
	if out, errs, status := promtool(t, "", "check", "config", file); status != 0 {
		t.Errorf("promtool check config: status %d\n%s%s", status, out, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	theirs := startPrometheus(t, "global: {scrape_interval: 1s}\n"+string(text))
	await.Until(t, "Prometheus scrapes", func() bool {
		r := ask(t, theirs, "query", url.Values{"query": {`up{job="pcp"} == 1 and on () rate(kernel_all_pswitch[10s])`}})
		return strings.Contains(string(r.Data), `"metric":`)
	})
}

// TestGrafana follows docs/grafana.md: the calls that Grafana's data source makes to the URL of the page have results, and so have its expressions.
func TestGrafana(t *testing.T) {
	page := docpage.Read(t, "docs/grafana.md")
	l := startLive(t, time.Second)
	l.recorded(t, "rate(kernel_all_pswitch[1m])")
	sh := l.shell(t)
	archives, port := filepath.Join(t.TempDir(), "archives"), fmt.Sprint(oracle.FreePort(t))
	sh.Replace = append(sh.Replace, "/data/archives", archives, "alpha beta", "unix:"+filepath.Join(l.dir, "pcp", "pmcd.socket"), "pcp proxy", "pcp proxy -i 127.0.0.1 -p "+port)
	proxied := false
	for _, c := range page.Commands() {
		switch words := strings.Fields(c.Text); {
		case c.Text == "   pcp up": // it runs
		case words[0] == "pcp":
			sh.Start(t, c)
			proxied = proxied || words[1] == "proxy"
		default:
			if out := sh.Run(t, c); !strings.HasPrefix(out, `{"status":"success","data":`) || strings.Contains(out, `"result":[]`) || strings.Contains(out, `"data":[]`) {
				t.Errorf("%s: %q", c.Text, out)
			}
		}
	}
	if !proxied {
		t.Error("the page has no pcp proxy")
	}

	source := page.File(t, "pcp.yaml")
	for _, want := range []string{"type: prometheus\n", "url: http://localhost:44323\n", "httpMethod: POST\n"} {
		if !strings.Contains(source, want) {
			t.Errorf("the data source has no %q:\n%s", want, source)
		}
	}
	if with := page.File(t, "processes.yaml"); !strings.Contains(with, "httpHeaderName1: Authorization\n") || !strings.Contains(with, "httpHeaderValue1: Bearer TOKEN\n") {
		t.Errorf("the data source with processes:\n%s", with)
	}
	if token := await.File(t, filepath.Join(l.dir, "pcp", "page-token")); strings.TrimSpace(token) != l.token {
		t.Errorf("page-token has %q, want %q", token, l.token)
	}
	now := time.Now().Unix()
	window := url.Values{"start": {fmt.Sprint(now - 3600)}, "end": {fmt.Sprint(now)}}
	with := func(pairs ...string) url.Values {
		v := url.Values{"start": window["start"], "end": window["end"]}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return v
	}
	for _, c := range []struct {
		path string
		v    url.Values
		want string
	}{
		{"query", with("query", "1+1"), `"2"`},
		{"query_range", with("query", "kernel_all_load", "step", "15"), `"values":`},
		{"labels", window, `"instname"`},
		{"labels", with("match[]", `{__name__="kernel_all_load"}`), `"instname"`},
		{"label/__name__/values", window, `"kernel_all_load"`},
		{"label/hostname/values", window, `["`},
		{"series", with("match[]", "kernel_all_load"), `"15 minute"`},
		{"metadata", url.Values{"limit": {"10000"}}, `"disk_dev_read":[{"type":"counter"`},
		{"query_exemplars", with("query", "kernel_all_load"), `[]`},
	} {
		if r := ask(t, l.page, c.path, c.v); r.Status != "success" || !strings.Contains(string(r.Data), c.want) {
			t.Errorf("%s %v: %s %.300s", c.path, c.v, r.Error, r.Data)
		}
	}
	for _, path := range []string{"status/buildinfo", "rules", "alerts"} {
		if text := get(t, l.page+"/api/v1/"+path); !strings.Contains(text, `"status":"success"`) {
			t.Errorf("%s: %s", path, text)
		}
	}
	n := 0
	for _, b := range page.Blocks {
		if b.Kind == "promql" {
			for expr := range strings.Lines(b.Text) {
				n++
				l.filled(t, strings.TrimSpace(expr))
			}
		}
	}
	if n < 7 {
		t.Errorf("the page has %d expressions", n)
	}
	await.Until(t, "pcp proxy serves the recording", func() bool {
		w, err := http.Get("http://127.0.0.1:" + port + "/api/v1/label/hostname/values")
		if err != nil {
			return false
		}
		w.Body.Close()
		r := ask(t, "http://127.0.0.1:"+port, "query", url.Values{"query": {`last_over_time(kernel_all_load{hostname!=""}[1h])`}})
		return strings.Contains(string(r.Data), `"metric":`)
	})
}

// TestPushed runs the examples of docs/from-opentelemetry.md and docs/statsd.md that push metrics, and shows the metrics.
func TestPushed(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED: without bash there is no /dev/udp")
	}
	web, udp := fmt.Sprint(oracle.FreePort(t)), fmt.Sprint(oracle.FreePort(t))
	l := startLive(t, time.Second, "--otlp=127.0.0.1:"+web, "--statsd=127.0.0.1:"+udp)
	l.recorded(t, "rate(kernel_all_pswitch[1m])")
	sh := l.shell(t)
	sh.Replace = append(sh.Replace, "localhost:4318", "127.0.0.1:"+web, "127.0.0.1/8125", "127.0.0.1/"+udp)

	page := docpage.Read(t, "docs/from-opentelemetry.md")
	n := 0
	for _, b := range page.Blocks {
		for _, beginning := range []string{"curl ", "pcp info "} {
			if strings.HasPrefix(b.Text, beginning) {
				n++
				if out := sh.Run(t, docpage.Command{Page: page.Name, Line: b.Line, Text: b.Text}); !strings.Contains(out, "value") {
					t.Errorf("%s: %s", b.Text, out)
				}
			}
		}
	}
	if out := sh.Run(t, docpage.Command{Page: page.Name, Text: "pcp info -f opentelemetry.shop.orders"}); n != 2 || !strings.Contains(out, "value 5") {
		t.Errorf("%d examples; %s", n, out)
	}

	page = docpage.Read(t, "docs/statsd.md")
	var send, show, want string
	for i, b := range page.Blocks {
		if c, rest, ok := strings.Cut(strings.TrimPrefix(b.Text, "$ "), "\n$ "); ok && strings.Contains(c, "/dev/udp") {
			send = "bash -c " + strconv.Quote(c)
			show, want = strings.TrimSpace(rest), page.Blocks[i+1].Text
		}
	}
	if show == "" {
		t.Fatalf("%s has no example", page.Name)
	}
	if err := os.Symlink("pcp", filepath.Join(sh.Dir, "pminfo")); err != nil {
		t.Fatal(err)
	}
	sh.Run(t, docpage.Command{Page: page.Name, Text: send})
	await.Until(t, "the agent has received the datagram", func() bool {
		cmd := exec.Command(filepath.Join(sh.Dir, "pcp"), "info", "statsd.shop")
		cmd.Env = sh.Env
		return cmd.Run() == nil
	})
	if got := sh.Run(t, docpage.Command{Page: page.Name, Text: show}); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwanted\n%s", show, got, want)
	}
}
