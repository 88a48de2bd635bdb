package prom

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// editor is the package of Prometheus' editor of expressions, which Prometheus' own page and others have.
const editor = "@prometheus-io/codemirror-promql@0.314.0"

// npmInstall installs a package of npm in a directory. The test is skipped where that is not possible.
func npmInstall(t *testing.T, dir, name string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed (Debian's packages nodejs and npm have it)", program)
		}
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts", "--prefix", dir, name)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: npm does not get %s: %v\n%.1000s", name, err, out)
	}
}

// TestEditor has Prometheus' editor complete expressions from our metrics: names with their types and help, labels and values.
func TestEditor(t *testing.T) {
	dir := t.TempDir()
	npmInstall(t, dir, editor)
	script, err := os.ReadFile("testdata/editor.cjs")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "editor.cjs") // it finds packages beside it
	if err := os.WriteFile(path, script, 0o600); err != nil {
		t.Fatal(err)
	}
	l := startLive(t, time.Second)
	l.recorded(t, "last_over_time(kernel_all_load[1m])")
	w := newWorld(t)

	type option struct{ Label, Detail, Info string }
	type reply struct {
		Text    string
		Options []option
		Failed  []string
	}
	complete := func(server string, texts ...string) map[string][]option {
		t.Helper()
		list, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("node", path, server, string(list))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("node: %v\n%s", err, &errs)
		}
		all := make(map[string][]option)
		for line := range strings.Lines(out.String()) {
			var r reply
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Failed) > 0 {
				t.Errorf("%s: %q", r.Text, r.Failed)
			}
			all[r.Text] = r.Options
		}
		return all
	}
	labels := func(list []option) string {
		var names []string
		for _, o := range list {
			names = append(names, o.Label)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}

	archived := complete(w.ours, "gen_r|", "gen_reads{|}", `gen_reads{instname="|"}`, `gen_latency_bucket{hostname="www1", le=~"|"}`, "sum by (|) (gen_temp)")
	for text, want := range map[string]string{
		"gen_reads{|}":                                 "hostname instid instname kind zone",
		`gen_reads{instname="|"}`:                      "sda sdb sdc sdd sde",
		`gen_latency_bucket{hostname="www1", le=~"|"}`: "+Inf 0.1 0.5 1 5",
		"sum by (|) (gen_temp)":                        "hostname zone",
	} {
		if got := labels(archived[text]); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if list := archived["gen_r|"]; !slices.Contains(list, option{Label: "gen_reads", Detail: "counter"}) || !slices.ContainsFunc(list, func(o option) bool { return o.Label == "rate" }) {
		t.Errorf("names from archives: %.500v", list)
	}

	running := complete(l.page, "kernel_all_|", "kernel_all_load{|}", `kernel_all_load{instname="|"}`)
	if got := labels(running[`kernel_all_load{instname="|"}`]); got != "1 minute 15 minute 5 minute" {
		t.Errorf("instances of a collector: %s", got)
	}
	if got := labels(running["kernel_all_load{|}"]); !strings.Contains(got, "hostname instid instname") {
		t.Errorf("labels of a collector: %s", got)
	}
	if !slices.ContainsFunc(running["kernel_all_|"], func(o option) bool {
		return o.Label == "kernel_all_load" && o.Detail == "gauge" && strings.Contains(o.Info, "1, 5 and 15 minutes")
	}) {
		t.Errorf("names of a collector: %.500v", running["kernel_all_|"])
	}
}
