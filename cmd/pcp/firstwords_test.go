package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestHelpBegins checks the first commands of the list, and that it does not include programs which
// a collector starts.
func TestHelpBegins(t *testing.T) {
	got := outcomeOf(t, t.TempDir(), nil, "pcp", "help").out
	_, list, ok := strings.Cut(got, "To begin with:\n")
	begin, rest, _ := strings.Cut(list, "\n\n")
	if !ok {
		t.Fatalf("pcp help: %s", got)
	}
	for _, name := range []string{"up", "top", "ps", "info", "val", "record", "replay", "chart", "alerts", "help"} {
		if !regexp.MustCompile(`(?m)^  ` + name + ` `).MatchString(begin) {
			t.Errorf("what pcp help begins with lacks %s:\n%s", name, begin)
		}
	}
	each(commands(), func(c *cli.Command) {
		if c.Group == cli.AgentPrograms && (regexp.MustCompile(`(?m)^  `+c.Name+` `).MatchString(rest) || !strings.Contains(rest, c.Name)) {
			t.Errorf("%s is in the list of commands, or is not named at all", c.Name)
		}
	})
}

// TestSynonyms checks that words that newcomers try have the advice of a
// command.
func TestSynonyms(t *testing.T) {
	uses := cli.ForeignNames()
	for name, want := range map[string]string{
		"prometheus": "pcp up", "exporter": "pcp up", "dashboard": "pcp chart", "grafana": "pcp proxy", "web": "pcp chart", "export": "pcp export-json",
		"kill": "pcp signal", "monitor": "pcp top", "cpu": "pcp mpstat", "disk": "pcp iostat", "processes": "pcp ps",
	} {
		if !strings.Contains(uses[name], want) {
			t.Errorf("%s leads to %q, want %s", name, uses[name], want)
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
