package prom

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// promtool runs promtool, and returns its output and status.
func promtool(t *testing.T, stdin string, args ...string) (out, errs string, status int) {
	t.Helper()
	cmd := exec.Command(debian(t, "promtool"), args...)
	var o, e bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &o, &e
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// TestPromtool has promtool ask us and a Prometheus with the same samples. Output and status are the same, and pcp query has that status too.
func TestPromtool(t *testing.T) {
	theirs := startPrometheus(t, "global: {}\n")
	w := newWorld(t)
	w.pushTo(t, theirs)
	at := start.Add(20 * time.Minute).Truncate(time.Second)
	first, last := fmt.Sprint("--start=", at.Unix()), fmt.Sprint("--end=", at.Add(5*time.Minute).Unix())
	instant := func(expr string) int {
		t.Helper()
		return same(t, theirs, w.ours, "query", "instant", "--time="+at.Format(time.RFC3339), "URL", expr)
	}
	instant("gen_reads")
	instant(`max by (kind) (rate(gen_reads{hostname="www1"}[5m]))`)
	instant("gen_level > 0 and gen_writes")
	instant("1 + 1")
	instant("gen_reads[30s]")
	instant(`"text"`) // which promtool does not print
	for _, expr := range []string{"gen_temp", "nothing", "sum(", "gen_reads * on (hostname) gen_temp"} {
		status := instant(expr)
		query := twin.Call{Tool: "pcp", Args: []string{"query", expr, "-a", w.dir, "-Z", "UTC", "-O", at.Format("@2006-01-02 15:04:05")}}.Run(t, true)
		if query.Status != status {
			t.Errorf("%s: pcp query has status %d, promtool %d\n%s%s", expr, query.Status, status, query.Out, query.Err)
		}
	}
	same(t, theirs, w.ours, "query", "range", first, last, "--step=30s", "URL", "gen_temp")
	same(t, theirs, w.ours, "query", "range", first, last, "--step=1m", "URL", "sum by (hostname) (delta(gen_level[90s])) > bool 0")
	same(t, theirs, w.ours, "query", "range", first, last, "--step=1m", "URL", "gen_temp[5m]")
	same(t, theirs, w.ours, "query", "range", last, first, "--step=1m", "URL", "gen_temp")
	same(t, theirs, w.ours, "query", "series", first, last, "--match=gen_level", "--match={le=\"1\"}", "URL")
	same(t, theirs, w.ours, "query", "series", first, last, "--match={}", "URL")
	same(t, theirs, w.ours, "query", "labels", first, last, "URL", "instname")
	same(t, theirs, w.ours, "query", "labels", first, last, "URL", "none")
}

// same runs promtool with two servers, and returns the status. Series may be in any order.
func same(t *testing.T, theirs, ours string, args ...string) int {
	t.Helper()
	run := func(server string) (text string, status int) {
		list := slices.Clone(args)
		list[slices.Index(list, "URL")] = server
		out, errs, status := promtool(t, "", list...)
		lines := strings.SplitAfter(out, "\n")
		if slices.Contains(args, "instant") {
			slices.Sort(lines)
		}
		// Version 3 names the parameter in more errors than version 2.
		errs = strings.ReplaceAll(strings.ReplaceAll(errs, server, "URL"), `invalid parameter "query": `, "")
		return strings.Join(lines, "") + errs, status
	}
	want, status := run(theirs)
	got, status2 := run(ours)
	if got != want || status != status2 {
		t.Errorf("promtool %q: status %d\n%.1500s\nwith Prometheus %d\n%.1500s", args, status2, got, status, want)
	}
	return status
}

// advice is about names, which are those of PCP.
var advice = regexp.MustCompile(`^[a-zA-Z_0-9]+ (counter metrics should have "_total" suffix|non-counter metrics should not have "_total" suffix|` +
	`non-histogram( and non-summary)? metrics should not have "_(count|sum|bucket)" suffix|metric names should be written in 'snake_case' not 'camelCase'|` +
	`use base unit "\w+" instead of "\w+"|metric name should not include type '\w+'|metric names should not contain abbreviated units)$`)

// TestCheckMetrics has promtool read all metrics of a collector. It advises other names, and finds nothing else.
func TestCheckMetrics(t *testing.T) {
	debian(t, "promtool")
	l := startLive(t, time.Second)
	text := get(t, l.page+"/metrics?token="+l.token)
	if n := strings.Count(text, "# TYPE "); n < 1500 {
		t.Errorf("%d metrics:\n%.300s", n, text)
	}
	out, errs, status := promtool(t, text, "check", "metrics")
	if status != 3 || out != "" {
		t.Errorf("status %d: %s", status, out)
	}
	n := 0
	for line := range strings.Lines(errs) {
		if n++; !advice.MatchString(strings.TrimSpace(line)) {
			t.Errorf("promtool: %s", line)
		}
	}
	if n < 100 {
		t.Errorf("%d lines of advice", n)
	}
	// Metrics whose names suit promtool have no advice at all.
	if out, errs, status := promtool(t, get(t, l.page+"/metrics?names=kernel.all.load,hinv.ncpu,mem.util.free"), "check", "metrics"); status != 0 || out+errs != "" {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

// TestCheckRules has promtool and pcp alerts check read rule files: they accept and refuse the same ones, except for
// names with other characters, which version 3 accepts.
func TestCheckRules(t *testing.T) {
	debian(t, "promtool")
	f := func(ok bool, text string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "rules.yml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, status := promtool(t, "", "check", "rules", path)
		ours := twin.Call{Tool: "pcp", Args: []string{"alerts", "check", path}}.Run(t, true)
		if status == 0 != ok || ours.Status == 0 != ok {
			t.Errorf("%s\npromtool: status %d\n%s%s\npcp alerts check: status %d\n%s%s", text, status, out, errs, ours.Status, ours.Out, ours.Err)
		}
		if !ok && !strings.Contains(string(ours.Out)+string(ours.Err), "rules.yml") {
			t.Errorf("pcp alerts check does not name the file: %s%s", ours.Out, ours.Err)
		}
	}
	rule := func(lines ...string) string {
		return "groups:\n- name: g\n  rules:\n  - " + strings.Join(lines, "\n    ") + "\n"
	}
	f(true, rule("alert: A", "expr: kernel_all_load > 1", "for: 5m", "keep_firing_for: 1m", "labels: {severity: page}", `annotations: {summary: '{{ $labels.hostname }} has {{ $value | humanize }}'}`))
	f(true, rule("record: a:b", "expr: sum by (hostname) (rate(disk_dev_read[5m]))"))
	f(true, "groups: []\n")
	f(true, "groups:\n- name: g\n  interval: 30s\n  limit: 10\n  rules: []\n")
	f(false, rule("alert: A", "expr: sum("))
	f(false, rule("alert: A"))
	f(false, rule("expr: up"))
	f(false, rule("alert: A", "record: b", "expr: up"))
	f(false, rule("record: a", "expr: up", "for: 5m"))
	f(false, rule("record: a", "expr: up", "annotations: {a: b}"))
	f(false, rule("alert: A", "expr: up", "for: soon"))
	f(false, rule("alert: A", "expr: up", `annotations: {summary: '{{ $value | nothing }}'}`))
	f(false, rule("alert: A", "expr: up", "colour: red"))
	f(false, "groups:\n- name: g\n  rules: []\n- name: g\n  rules: []\n")
	f(false, "groups:\n- rules: []\n")
	f(false, "groups:\n- name: g\n\trules: []\n")
}
