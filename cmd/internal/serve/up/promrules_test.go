package up

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestPromRules evaluates rules of Prometheus beside those of pmie: an Alertmanager and a web hook get the alerts, and the page, its interface of
// Prometheus and pcp alerts show them.
func TestPromRules(t *testing.T) {
	home := tempDir(t)
	hooked, managed := make(chan alert.Alert, 100), make(chan map[string]any, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		if r.URL.Path == "/hook" {
			var a alert.Alert
			if err := json.Unmarshal(body, &a); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			hooked <- a
			return
		}
		var list []map[string]any
		if err := json.Unmarshal(body, &list); err != nil || r.URL.Path != "/api/v2/alerts" {
			t.Errorf("%s: %s: %v", r.URL, body, err)
		}
		for _, a := range list {
			managed <- a
		}
	}))
	defer srv.Close()
	for name, text := range map[string]string{
		"my.rules": "delta = 50 msec;\nones = sample.long.one == 1 -> webhook hook \"one\";\n",
		"node.yml": `groups:
- name: sample
  interval: 100ms
  rules:
  - record: colours:sum
    expr: sum without (instid, instname) (sample_colour)
  - alert: Colour
    expr: sample_colour{instname="red"} >= 100 and on () colours:sum > 0
    labels: {severity: page}
    annotations: {summary: '{{ $labels.instname }} is {{ $value }}', runbook: 'https://example.com/{{ $labels.severity }}'}
  - {alert: Late, expr: sample_long_one, for: 1h}
  - {alert: Never, expr: sample_long_one > 1}
`,
		"pmie/receivers.conf": "receiver hook\nkind webhook\nurl " + srv.URL + "/hook\nreceiver am\nkind alertmanager\nurl " + srv.URL + "\nlabel via pcp\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"HOME": home, "PCP_RUN_DIR": filepath.Join(home, "run"), "PCP_SYSCONF_DIR": home}
	file := filepath.Join(home, "node.yml")
	out, stop := start(t, vars, "--port", "0", "--web-port", "0", "--sample", "--no-record", "--rules="+filepath.Join(home, "my.rules"), "--rules="+file)
	if want := "  rules    " + filepath.Join(home, "my.rules") + ", " + file + "; "; !strings.Contains(out.String(), want) {
		t.Errorf("the screen lacks %q:\n%s", want, out)
	}
	var named []string
	for end := time.After(time.Minute); len(named) < 2; {
		select {
		case a := <-hooked:
			if slices.Contains(named, a.Rule) {
				continue
			}
			if named = append(named, a.Rule); a.Rule == "Colour" && (a.Status != alert.Firing || a.Instance != "red" || !strings.HasPrefix(a.Text, "red is ") ||
				a.Labels["severity"] != "page" || a.Labels["alertname"] != "Colour" || a.Annotations["summary"] != a.Text || !strings.Contains(a.Series, `instname="red"`)) {
				t.Errorf("the web hook gets %+v", a)
			}
		case <-end:
			t.Fatalf("the web hook gets %q", named)
		}
	}
	if slices.Sort(named); !slices.Equal(named, []string{"Colour", "ones"}) {
		t.Errorf("the web hook gets %q", named)
	}
	select {
	case a := <-managed:
		labels, _ := a["labels"].(map[string]any)
		notes, _ := a["annotations"].(map[string]any)
		if labels["alertname"] != "Colour" || labels["instname"] != "red" || labels["severity"] != "page" || labels["via"] != "pcp" || labels["host"] != nil ||
			notes["runbook"] != "https://example.com/" || len(notes) != 2 {
			t.Errorf("the Alertmanager gets %v", a)
		}
	case <-time.After(time.Minute):
		t.Fatal("the Alertmanager gets nothing")
	}
	dir := alert.StateDirs(vars["PCP_RUN_DIR"], "")[0]
	await.Until(t, "pcp alerts knows the alerts", func() bool {
		states, err := alert.ReadStates(dir, func(pid int) bool { return pid == os.Getpid() })
		if err != nil {
			t.Fatal(err)
		}
		return len(states) == 1 && len(states[0].Alerts) == 2 && len(states[0].Pending) == 1 && states[0].Pending[0].Rule == "Late"
	})
	page, token := pageAndToken(t, out)
	get := func(path, bearer string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+bearer)
		resp, err := http.DefaultClient.Do(r)
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
	for path, want := range map[string]string{
		"alerts": `"rule":"Colour"`, "api/v1/alerts": `"alertname":"Colour"`, "api/v1/rules": `"name":"Late","query":"sample_long_one","duration":3600`,
		"api/v1/query?query=colours:sum": `"colours:sum"`, `api/v1/query?query=ALERTS{alertstate="pending"}`: `"alertname":"Late"`,
	} {
		if got := get(path, token); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		if got := get(path, ""); strings.Contains(got, want) {
			t.Errorf("%s without the token: %s", path, got)
		}
	}
	if got := get("api/v1/alerts", token); strings.Count(got, `"Colour"`) != 1 || strings.Count(got, `"state":"pending"`) != 1 || !strings.Contains(got, `"alertname":"ones"`) {
		t.Errorf("alerts: %s", got)
	}
	stop()
	// The next run continues with the alerts.
	if b, err := os.ReadFile(filepath.Join(home, ".local", "state", "pcp", savedAlerts)); err != nil || !strings.Contains(string(b), `"rule":"Late"`) {
		t.Errorf("saved: %s, %v", b, err)
	}
	var log strings.Builder
	f, err := promrules.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &promRules{files: []*promrules.File{f}}
	p.connect(nil, slog.New(slog.DiscardHandler))
	p.r = &rules{log: slog.New(slog.NewTextHandler(&log, nil))}
	p.restore(filepath.Join(home, ".local", "state", "pcp", savedAlerts))
	if r := p.engine.Groups()[0].Rules[2]; r.Name != "Late" || len(r.Alerts) != 1 || log.Len() > 0 {
		t.Errorf("restored %+v, the log: %s", r, &log)
	}
	// Alerts that a later release has saved stay.
	newer := filepath.Join(home, "newer.json")
	const text = `{"version":2,"alerts":{}}`
	if err := os.WriteFile(newer, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.restore(newer)
	p.save(newer)
	if b, err := os.ReadFile(newer); err != nil || string(b) != text || !strings.Contains(log.String(), "the file has version 2, and this release reads versions up to 1") {
		t.Errorf("%s, %v, the log: %s", b, err, &log)
	}
}

// TestPromRulesReload reads files again, of which one has become wrong.
func TestPromRulesReload(t *testing.T) {
	dir := tempDir(t)
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := write("one.yml", "groups: [{name: a, rules: [{alert: A, expr: '1'}]}]"), write("two.yml", "groups: [{name: b, rules: [{alert: B, expr: '1'}]}]")
	p := &promRules{}
	for _, name := range []string{one, two} {
		f, err := promrules.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, f)
	}
	var log strings.Builder
	p.connect(nil, slog.New(slog.DiscardHandler))
	p.r = &rules{log: slog.New(slog.NewTextHandler(&log, nil)), prom: p}
	write("one.yml", "groups: [{name: a, rules: [{alert: A, expr: '1 +'}]}]")
	write("two.yml", "groups: [{name: b, rules: [{alert: C, expr: '1'}]}]")
	p.reload()
	if got := p.engine.AlertingRules(); !slices.Equal(got, []string{"A", "C"}) {
		t.Errorf("rules %q", got)
	}
	if !strings.Contains(log.String(), "one.yml:1:") || strings.Contains(log.String(), "two.yml") {
		t.Errorf("the log: %s", &log)
	}
}

// TestPromRulesWrong has mistakes in a file that end the start.
func TestPromRulesWrong(t *testing.T) {
	dir := tempDir(t)
	file := filepath.Join(dir, "node.yml")
	if err := os.WriteFile(file, []byte("groups:\n- name: a\n  rules:\n  - alert: A\n    expr: up ==\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs := new(screen), new(screen)
	status := run(t.Context(), testEnv(out, errs, map[string]string{"HOME": dir, "PCP_RUN_DIR": dir, "PCP_SYSCONF_DIR": dir}, "--port", "0", "--no-record", "--rules="+file))
	want := file + ": rules cannot be used:\n" + file + `:5: group "a", rule 1, "A": could not parse expression: 1:6: parse error: unexpected end of input`
	if status != 1 || !strings.Contains(errs.String(), want) {
		t.Errorf("status %d: %s%s, want %q", status, out, errs, want)
	}
}
