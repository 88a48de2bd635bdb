package up

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

// inLog waits until the log of a collector has a text.
func inLog(t *testing.T, home, want string) {
	t.Helper()
	path := filepath.Join(home, ".local", "state", "pcp", "pmcd.log")
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the log lacks %q: %v\n%s", want, err, b)
		}
	}
}

// TestRules has rules of a file that become true and clear.
func TestRules(t *testing.T) {
	home := tempDir(t)
	file := filepath.Join(home, "my.rules")
	text := `delta = 50 msec;
busy = sample.long.hundred == 100 -> print "a hundred: %v";
colours = some_inst sample.colour > 0 -> print "%i";
flips = sample.long.one == 1 && $minute >= 0 -> shell "echo done > ` + home + `/done";
none = no.such.metric > 1 -> print "none";
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stop := start(t, map[string]string{"HOME": home, "PCP_RUN_DIR": home}, "--port", "0", "--sample", "--no-record", "--rules="+file)
	if want := "  rules    " + file + "; pcp alerts lists those that are true\n"; !strings.Contains(out.String(), want) {
		t.Errorf("the screen lacks %q:\n%s", want, out)
	}
	inLog(t, home, "a hundred: 100")
	inLog(t, home, "rule=busy")
	inLog(t, home, "instance=green")
	inLog(t, home, "no.such.metric")
	inLog(t, home, "rule=flips")
	stop()
	if b, err := os.ReadFile(filepath.Join(home, "done")); string(b) != "done\n" {
		t.Errorf("the command of a rule left %q, %v", b, err)
	}
}

// TestRulesTell has the command that lists alerts find those of the collector's rules, and a
// receiver get them.
func TestRulesTell(t *testing.T) {
	home := tempDir(t)
	told := make(chan alert.Alert, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a alert.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		told <- a
	}))
	defer hook.Close()
	for name, text := range map[string]string{
		"my.rules":            "delta = 50 msec;\ncolours = some_inst sample.colour > 250 -> webhook pager \"%i is %v\";\nnever = sample.long.one > 2 -> print \"x\";\n",
		"pmie/receivers.conf": "receiver pager\nkind webhook\nurl " + hook.URL + "\n",
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
	out, stop := start(t, vars, "--port", "0", "--web-port", "0", "--sample", "--no-record", "--rules="+filepath.Join(home, "my.rules"))
	select {
	case a := <-told:
		if a.Rule != "colours" || a.Status != alert.Firing || !strings.HasPrefix(a.Text, a.Instance+" is ") {
			t.Errorf("told %+v", a)
		}
	case <-time.After(time.Minute):
		t.Fatal("the receiver is not told")
	}
	dir := alert.StateDirs(vars["PCP_RUN_DIR"], "")[0]
	list := func() []alert.State {
		t.Helper()
		states, err := alert.ReadStates(dir, func(pid int) bool { return pid == os.Getpid() })
		if err != nil {
			t.Fatal(err)
		}
		return states
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		states := list()
		if len(states) == 1 && len(states[0].Alerts) > 0 {
			a := states[0].Alerts[0]
			if a.Rule != "colours" || a.Expr != "some_inst (sample.colour > 250)" || time.Since(a.Since) > time.Minute || states[0].Receivers[0].Receiver != "pager" {
				t.Errorf("%+v", states[0])
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is not said what fires: %+v", states)
		}
	}
	// The page serves alerts to clients with its token, and to no other.
	page, token := pageAndToken(t, out)
	for _, f := range []struct{ path, bearer, want string }{
		{"alerts", token, `"rule":"colours"`},
		{"alerts", "", "no such page"},
		{"api/v1/alerts", token, `"alertname":"colours"`},
		{"api/v1/alerts", token, `"state":"firing"`},
		{"api/v1/alerts", "", `"alerts":[]`},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+f.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+f.bearer)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(b), f.want) || strings.Contains(string(b), "colours") != (f.bearer == token) {
			t.Errorf("%s: %s, %v, want %s", f.path, b, err, f.want)
		}
	}
	// Silences and acknowledgements are for clients with the token, and stay for the next run.
	ask := func(method, path, body, bearer string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, page+path, strings.NewReader(body))
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
		return resp.StatusCode, string(b)
	}
	id := list()[0].Alerts[0].ID
	for _, f := range []struct {
		method, path, body, bearer string
		status                     int
		want                       string
	}{
		{"POST", "alerts/silences", `{"rule":"colours","seconds":60}`, "", 404, "no such page"},
		{"POST", "alerts/silences", `{"rule":"colours","seconds":-1}`, token, 400, "from 1 to a year"},
		{"POST", "alerts/silences", `{"rule":`, token, 400, "unexpected end"},
		{"POST", "alerts/silences", strings.Repeat(" ", maxAsked+1), token, 400, "longer than"},
		{"PUT", "alerts/silences", "", token, 405, "want GET"},
		{"POST", "alerts/silences", `{"rule":"colours","instance":"none","seconds":3600,"comment":"<b>"}`, token, 200, `"comment":"\u003cb\u003e"`},
		{"DELETE", "alerts/silences/none", "", token, 404, "no such silence"},
		{"PUT", "alerts/acknowledgements/none", "", token, 404, "no alert of this process"},
		{"GET", "alerts", "", token, 200, `"silences":[{"id":`},
		{"GET", "alerts", "", token, 200, `"periods":[{"from":`},
		{"GET", "alerts", "", token, 200, `"own":true`},
	} {
		if status, b := ask(f.method, f.path, f.body, f.bearer); status != f.status || !strings.Contains(b, f.want) {
			t.Errorf("%s %s %.60s: %d %s, want %d %s", f.method, f.path, f.body, status, b, f.status, f.want)
		}
	}
	if status, b := ask("PUT", "alerts/acknowledgements/"+id, `{"comment":"mine"}`, token); status == 404 {
		t.Logf("the alert is over: %s", b) // the metric varies
	} else if status != 200 {
		t.Errorf("%d %s", status, b)
	}
	stop()
	if states := list(); len(states) != 0 {
		t.Errorf("after the end: %+v", states)
	}
	if b, err := os.ReadFile(filepath.Join(home, ".local", "state", "pcp", quietName)); err != nil || !strings.Contains(string(b), `"instance":"none","until":`) {
		t.Errorf("the file has %s, %v", b, err)
	}
}

// TestObserve has a rule for two instances, one of which clears after a while.
func TestObserve(t *testing.T) {
	var b strings.Builder
	r := &rules{firing: map[string]bool{}, log: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))}
	one, two := deliver.Match{Host: "h", Instance: "one", Value: "1"}, deliver.Match{Host: "h", Instance: "two", Value: "2"}
	for _, ev := range []deliver.Evaluation{
		{Rule: "other", State: deliver.True, Matches: []deliver.Match{{}}},
		{Rule: "r", State: deliver.True, Matches: []deliver.Match{one, two}},
		{Rule: "r", State: deliver.Unknown},
		{Rule: "r", State: deliver.True, Matches: []deliver.Match{one}},
		{Rule: "r", State: deliver.False},
	} {
		r.observe(ev)
	}
	want := `level=WARN msg="a rule is true" rule=other host="" instance="" value=""
level=WARN msg="a rule is true" rule=r host=h instance=one value=1
level=WARN msg="a rule is true" rule=r host=h instance=two value=2
level=INFO msg="a rule is not true any more" rule=r host=h instance=two
level=INFO msg="a rule is not true any more" rule=r host=h instance=one
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// TestRulesBuiltIn runs the built-in rules.
func TestRulesBuiltIn(t *testing.T) {
	home := tempDir(t)
	out, stop := start(t, map[string]string{"HOME": home, "PCP_RUN_DIR": home}, "--port", "0", "--no-record", "--rules")
	if !strings.Contains(out.String(), "  rules    built-in rules; pcp alerts lists those that are true\n") {
		t.Errorf("the screen does not tell of rules:\n%s", out)
	}
	inLog(t, home, "rules are evaluated")
	stop()
}

// TestRulesWrong has rules that end the start.
func TestRulesWrong(t *testing.T) {
	dir := tempDir(t)
	file := filepath.Join(dir, "rules")
	if err := os.WriteFile(file, []byte("good = 1 > 0 -> print \"x\";\n\nbad = 1 > -> print;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pager := filepath.Join(dir, "pager")
	if err := os.WriteFile(pager, []byte("good = 1 > 0 -> webhook pager \"x\";\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(dir, "beside") // wrong for the metric, which has instances
	if err := os.WriteFile(beside, []byte("few = sample.long.one > 2 -> print \"x\";\nmany = sample.colour > 0 -> print \"%i\";\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{
		beside: beside + ": rules cannot be used:\nrules: syntax error - near line 2 of file " + beside + ", at its end\nrule condition must have a single boolean value\n",
		file:   "near line 3 of file " + file, dir: dir + ": Is a directory", filepath.Join(dir, "none"): "No such file or directory",
	} {
		out, errs := new(screen), new(screen)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if status := run(ctx, testEnv(out, errs, map[string]string{"HOME": dir, "PCP_RUN_DIR": dir, "PCP_SYSCONF_DIR": dir}, "--port", "0", "--sample", "--no-record", "--rules="+arg)); status != 1 || !strings.Contains(errs.String(), want) {
			log, err := os.ReadFile(filepath.Join(dir, ".local/state/pcp/pmcd.log"))
			t.Errorf("%s: status %d: %s%s, want %q; the log, %v:\n%s", arg, status, out, errs, want, err, log)
		}
	}
}
