package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestHelp checks that "pcp help" fits a terminal, begins with ten commands, and lists others by the task that is their
// group; and that "pcp help --all" has all commands, except agents that a collector starts, which it only names.
func TestHelp(t *testing.T) {
	got := outcomeOf(t, t.TempDir(), nil, "pcp", "help").out
	if n := strings.Count(got, "\n"); n > 40 {
		t.Errorf("pcp help has %d lines, more than a terminal", n)
	}
	_, list, ok := strings.Cut(got, "To begin with:\n")
	begin, rest, _ := strings.Cut(list, "\n\n")
	if names := regexp.MustCompile(`(?m)^  [a-z]`).FindAllString(begin, -1); !ok || len(names) != 10 {
		t.Errorf("pcp help begins with %d commands, want 10:\n%s", len(names), got)
	}
	_, tasks, ok := strings.Cut(rest, "By task:\n")
	tasks, _, _ = strings.Cut(tasks, "\n\n")
	if !ok {
		t.Fatalf("pcp help has no tasks:\n%s", got)
	}
	group := ""
	for line := range strings.Lines(tasks) {
		if name := strings.TrimSpace(line[:21]); name != "" {
			group = name
		}
		for name := range strings.FieldsSeq(line[21:]) {
			if c := cli.Find(commands(), name); c == nil || c.Group != group {
				t.Errorf("pcp help lists %s under %q, which is not its group: %+v", name, group, c)
			}
		}
	}
	all := outcomeOf(t, t.TempDir(), nil, "pcp", "help", "--all").out
	for _, c := range commands() {
		if !slices.Contains(cli.Groups(), c.Group) {
			t.Errorf("%s: %q is none of the groups in cmd/internal/tool/cli/group.go", c.Name, c.Group)
		}
		listed := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(c.Name) + ` `).MatchString(all)
		if listed != (c.Group != cli.AgentPrograms) || !strings.Contains(all, c.Name) {
			t.Errorf("pcp help --all: %s, of the group %q: in the list: %t", c.Name, c.Group, listed)
		}
	}
}

// TestSynonyms checks that words that newcomers try have the advice of a
// command, by "pcp help WORD" too.
func TestSynonyms(t *testing.T) {
	for name, want := range map[string]string{
		"prometheus": "pcp up", "exporter": "pcp up", "dashboard": "pcp chart", "grafana": "pcp proxy", "web": "pcp chart", "exports": "pcp export-json",
		"kill": "pcp signal", "monitor": "pcp top", "cpu": "pcp mpstat", "disk": "pcp iostat", "processes": "pcp ps",
		"htop": "pcp top", "glances": "pcp top", "sar": "pcp atopsar", "sysstat": "pcp pidstat", "docker stats": "pcp top --view cgroups",
		"kubectl top": "pcp top --view cgroups", "nvidia-smi": "pcp info -f nvidia", "node_exporter": "pcp up", "collectd": "pcp up",
		"netdata": "pcp up", "perf": "pcp pidstat", "PromQL": "pcp query", "promtool": "pcp alerts check", "webhook": "pcp alerts",
		"iotop": "pcp top --sort written", "iftop": "pcp top --view network", "StatsD": "pcp up --statsd", "otel": "pcp otlp",
		"influxdb": "pcp export-influxdb", "victoriametrics": "pcp push", "df": "pcp info -f filesys.full",
	} {
		use, ok := cli.Foreign(name)
		if !ok || !strings.Contains(use, want) {
			t.Errorf("%s leads to %q, want %s", name, use, want)
		}
		if c := cli.Find(commands(), name); c != nil {
			t.Errorf("%s is a command", name)
		}
	}
}

// TestReadme checks the beginning of README: the effect of pcp alone, and the requirements for
// building.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)[1]
	for _, want := range []string{"`pcp help` lists the commands", "`pcp` alone summarizes", "Building needs Go " + string(version), "the first time, the network"} {
		if !strings.Contains(text, want) {
			t.Errorf("README lacks %q", want)
		}
	}
	if alone := outcomeOf(t, t.TempDir(), []string{"PMCD_PORT=1", "PCP_RUN_DIR=/none", "HOME=/none", "PCP_CONF=/dev/null"}, "pcp"); strings.Contains(alone.out, "To begin with") {
		t.Error("pcp alone does list the commands: README says otherwise")
	}
	if page, err := os.ReadFile("../../docs/instrumenting.md"); err != nil || strings.Contains(string(page), "has neither yet") || strings.Contains(string(page), "C implementation's `pmproxy`") {
		t.Errorf("docs/instrumenting.md leads to the C implementation for what is here (%v)", err)
	}
}
