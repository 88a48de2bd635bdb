package rules_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// promtool returns the path of promtool.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is not installed (Debian's package prometheus has it)")
	}
	return path
}

// step is the time between two samples in seconds, and between the times at which alerts are compared.
const step = 30

// A generated is a metric with random samples.
type generated struct {
	name  string
	sem   pcp.Sem
	insts []string
	next  func(r *rand.Rand, last float64) float64
}

// metrics are those of testdata/node.yml.
func metrics() []generated {
	walk := func(low, high, by float64) func(*rand.Rand, float64) float64 {
		return func(r *rand.Rand, last float64) float64 {
			if r.IntN(40) == 0 {
				return low + float64(r.IntN(int(high-low)+1))
			}
			return min(max(last+float64(r.IntN(int(2*by)+1))-by, low), high)
		}
	}
	count := func(by, quiet int) func(*rand.Rand, float64) float64 {
		return func(r *rand.Rand, last float64) float64 {
			const first = 1e7 // Prometheus 2 and 3 extrapolate differently near 0
			last = max(last, first)
			switch r.IntN(50) {
			case 0:
				return first // it begins again
			case 1, 2, 3:
				return last + float64(by)
			}
			if quiet > 0 {
				return last + float64(r.IntN(quiet))
			}
			return last
		}
	}
	return []generated{
		{"kernel.percpu.cpu.idle", pcp.SemCounter, []string{"cpu0", "cpu1"}, count(30000, 4000)},
		{"kernel.all.load", pcp.SemInstant, []string{"1 minute", "5 minute"}, walk(0, 24, 3)},
		{"hinv.ncpu", pcp.SemDiscrete, nil, func(*rand.Rand, float64) float64 { return 2 }},
		{"mem.util.available", pcp.SemInstant, nil, walk(0, 4000, 500)},
		{"mem.physmem", pcp.SemDiscrete, nil, func(*rand.Rand, float64) float64 { return 4096 }},
		{"filesys.full", pcp.SemInstant, []string{"/dev/sda1", "/dev/sdb1"}, walk(50, 100, 8)},
		{"disk.dev.errors", pcp.SemCounter, []string{"sda", "sdb"}, count(1, 0)},
	}
}

// TestPromtool evaluates a file over random samples, and has the unit tests of promtool check all alerts at all times.
func TestPromtool(t *testing.T) {
	tool := promtool(t)
	rounds := 3
	if longtest.Enabled() {
		rounds = 100
	}
	random := rand.New(rand.NewPCG(longtest.Seed(t), 1))
	kinds := map[string]bool{}
	for round := range rounds {
		steps := int64(120)
		h := newHost()
		var test strings.Builder
		dir := t.TempDir()
		text, err := os.ReadFile("testdata/node.yml")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "rules.yml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		test.WriteString("rule_files: [rules.yml]\nevaluation_interval: 30s\ngroup_eval_order: [node, disks]\ntests:\n- interval: 30s\n  input_series:\n")
		for _, m := range metrics() {
			h.metric(m.name, m.sem, m.insts...)
			insts := m.insts
			if insts == nil {
				insts = []string{""}
			}
			rows, last, missing := map[string][]string{}, map[string]float64{}, map[string]bool{}
			for i := range steps {
				values := map[string]float64{}
				if len(insts) > 1 && random.IntN(30) == 0 {
					missing[insts[0]] = !missing[insts[0]]
				}
				none := random.IntN(60) == 0
				for _, inst := range insts {
					if missing[inst] || none { // a record without the instance ends the series
						rows[inst] = append(rows[inst], "stale")
						continue
					}
					last[inst] = m.next(random, last[inst])
					values[inst] = last[inst]
					rows[inst] = append(rows[inst], strconv.FormatFloat(last[inst], 'g', -1, 64))
				}
				h.add(m.name, i*step, values)
			}
			for n, inst := range insts {
				series := names.Metric(m.name) + `{hostname="www"`
				if inst != "" {
					series += fmt.Sprintf(`,instname=%q,instid="%d"`, inst, n)
				}
				fmt.Fprintf(&test, "  - {series: %s, values: %q}\n", quote(series+"}"), strings.Join(rows[inst], " "))
			}
		}
		type at struct {
			alert string
			time  int64
		}
		got := map[at][]rules.Alert{}
		e := rules.New(rules.Config{Data: h.data(), Interval: step * 1e9, Observe: func(ev rules.Evaluation) {
			if ev.Err != nil {
				t.Error(ev.Err)
			}
			got[at{ev.Alert, ev.Time.Unix()}] = ev.Alerts
		}})
		e.Load([]*rules.File{parse(t, string(text))})
		if err := e.Walk(t.Context(), seconds(0), seconds((steps-1)*step)); err != nil {
			t.Fatal(err)
		}
		test.WriteString("  alert_rule_test:\n")
		firing := 0
		for i := range steps {
			for _, g := range e.Groups() {
				for _, r := range g.Rules {
					now := i * step
					if !r.Alerting {
						continue
					}
					seen := got[at{r.Name, now - now%int64(g.Interval.Seconds())}]
					fmt.Fprintf(&test, "  - eval_time: %ds\n    alertname: %s\n    exp_alerts:\n", now, r.Name)
					for _, a := range seen {
						if a.State != rules.Firing {
							continue
						}
						firing++
						kinds[r.Name] = true
						test.WriteString("    - exp_labels: {" + pairs(a.Labels) + "}\n      exp_annotations: {" + pairs(a.Annotations) + "}\n")
					}
				}
			}
		}
		file := filepath.Join(dir, "test.yml")
		if err := os.WriteFile(file, []byte(test.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(tool, "test", "rules", file).CombinedOutput()
		if err != nil || firing == 0 {
			t.Fatalf("round %d: %d alerts: %v\n%.6000s", round, firing, err, out)
		}
	}
	if len(kinds) < 6 {
		t.Errorf("only %v fired", kinds)
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// pairs returns labels in YAML, without the name of an alert, which promtool adds.
func pairs(l labels.Labels) string {
	var list []string
	l.Range(func(l labels.Label) {
		if l.Name != "alertname" {
			list = append(list, fmt.Sprintf("%s: %s", l.Name, quote(l.Value)))
		}
	})
	return strings.Join(list, ", ")
}

// TestPromtoolMistakes has promtool report the mistakes of files: the messages are the same.
func TestPromtoolMistakes(t *testing.T) {
	tool := promtool(t)
	for i, text := range []string{
		"groups:\n- name: g\n  rules:\n  - alert: A\n    expr: sum(a b)\n",
		"groups:\n- name: g\n  rules:\n  - alert: A\n    record: b\n    expr: a\n",
		"groups:\n- name: g\n  rules:\n  - expr: a\n",
		"groups:\n- name: g\n  rules:\n  - alert: A\n    expresion: 1\n",
		"groups:\n- name: g\n  rules:\n  - record: a\n    expr: a\n    annotations: {a: b}\n  - record: 'x y'\n    expr: a{\n",
		"groups:\n- name: g\n  interval: never\n",
		"groups:\n- name: g\n  rules:\n  - {alert: A, expr: a, labels: {__name__: b}, annotations: {a: '{{ if }}'}}\n",
		"group: []\n", "groups:\n- name: ''\n",
	} {
		name := filepath.Join(t.TempDir(), "r.yml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, failed := exec.Command(tool, "check", "rules", name).CombinedOutput()
		_, err := rules.ReadFile(name)
		if i == 4 { // Prometheus 3 allows any name
			out = bytes.ReplaceAll(out, []byte("invalid recording rule name: x y"), nil)
		}
		if (err == nil) != (failed == nil) {
			t.Errorf("%s\nours: %v\ntheirs: %v\n%s", text, err, failed, out)
			continue
		}
		if err == nil {
			continue
		}
		flat := strings.Join(strings.Fields(string(out)), " ")
		var missing []string
		for line := range strings.Lines(err.Error()) {
			_, message, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), name), ": ")
			if !strings.Contains(flat, strings.Join(strings.Fields(message), " ")) {
				missing = append(missing, message)
			}
		}
		if len(missing) > 0 {
			t.Errorf("%s\npromtool does not report %q:\n%s", text, missing, slices.Clip(out))
		}
	}
}
