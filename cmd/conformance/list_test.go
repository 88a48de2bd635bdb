//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseList(t *testing.T) {
	list, err := parseList(strings.NewReader("# head\n\n002\n015  pmcd pmstore,pminfo # stores\n015 own pmcd alone\n532 pmcd pmdate noon\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []test{{id: "002", mode: offline}, {id: "015", mode: pmcd, tools: []string{"pmstore", "pminfo"}}, {id: "015", mode: ownPMCD, tools: []string{"pmcd"}, alone: true}, {id: "532", mode: pmcd, tools: []string{"pmdate"}, noon: true}}
	if !slices.EqualFunc(list, want, func(a, b test) bool {
		return a.String() == b.String() && slices.Equal(a.tools, b.tools) && a.alone == b.alone && a.noon == b.noon
	}) {
		t.Errorf("parseList = %v, want %v", list, want)
	}
	for text, want := range map[string]string{
		"12\n":                 "not the number",
		"../x\n":               "not the number",
		"a/b\n":                "not the number",
		"002 real\n":           "mode",
		"002 pmcd a b\n":       "too much",
		"002 pmcd a alone b\n": "too much",
		"002 pmcd\n002 pmcd\n": "line 2",
	} {
		if list, err := parseList(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseList(%q) = %v, %v, want an error with %q", text, list, err, want)
		}
	}
}

func TestNoonZone(t *testing.T) {
	for hour := range 24 {
		now := time.Date(2026, 11, 28, hour, 48, 0, 0, time.UTC)
		date := exec.Command("date", "-d", now.Format(time.RFC3339), "+%H:%M %Z")
		date.Env = []string{"TZ=" + noonZone(now)}
		if out, err := date.CombinedOutput(); err != nil || string(out) != "12:48 DAY\n" {
			t.Errorf("at %v: %s, %v", now, out, err)
		}
	}
}

// TestLists checks the lists that are here.
func TestLists(t *testing.T) {
	seen := make(map[string]bool)
	for _, path := range []string{"must-pass.list", "long.list"} {
		list, err := parseArgs([]string{"@" + path})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if seen[e.String()] {
				t.Errorf("%s: %v is listed before", path, e)
			}
			seen[e.String()] = true
			if len(e.tools) == 0 {
				t.Errorf("%s: %v does not say what must have run", path, e)
			}
			if own := slices.Contains(e.tools, "pmcd"); own != e.mode.ours() {
				t.Errorf("%s: %v with commands %v", path, e, e.tools)
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("the lists have %d tests", len(seen))
	}
}

// doesItself lists commands of ours that do work which the real ones leave to others.
var doesItself = map[string][]string{
	"pmnsmerge":    {"pmnsadd", "pmnsdel"},
	"pmdumplog":    {"mkaf", "pmafm", "pmlogcheck", "pcp", "pmlogger_rewrite", "pmlogger_daily", "pmlogger_daily_report"},
	"pmlogcheck":   {"mkaf", "pmafm", "pmlogger_rewrite", "pmlogger_daily", "pmlogger_merge"},
	"pminfo":       {"pmafm", "pcp"},
	"pmclient":     {"pmafm"},
	"pmrep":        {"pmlogger_daily_report"},
	"pmprobe":      {"pmlogger_rewrite", "pmlogger_daily", "pmlogger_merge", "pcp"},
	"pmie":         {"pcp"},
	"pmie2col":     {"pcp"},
	"pmdate":       {"pmlogger_merge", "pmlogger_daily", "pmlogger_daily_report"},
	"pmlogmv":      {"pmlogger_rewrite", "pmlogger_daily"},
	"pmlogrewrite": {"pmlogger_rewrite", "pmlogger_daily"},
	"pmlogextract": {"pmlogger_merge", "pmlogger_daily"},

	"pmlogger_merge":   {"pmlogger_daily"},
	"pmlogger_rewrite": {"pmlogger_daily"},
	"pmcpp":            {"pminfo"},
	"pmlogsummary":     {"pmdiff"},
	"pcp-atop":         {"pcp"},
	"pcp-atopsar":      {"pcp"},
	"pcp-dstat":        {"pcp"},
	"pcp-pidstat":      {"pcp"},
	"pcp-ps":           {"pcp"},
	"pcp-free":         {"pcp"},
	"pcp-iostat":       {"pcp"},
	"pcp-ipcs":         {"pcp"},
	"pcp-mpstat":       {"pcp"},
	"pcp-numastat":     {"pcp"},
	"pcp-ss":           {"pcp"},
	"pcp-tapestat":     {"pcp"},
	"pcp-uptime":       {"pcp"},
	"pcp-vmstat":       {"pcp"},
	"pmstat":           {"pcp"}, // by vmstat
}

// TestListsNameAll checks that a test names all commands of ours that it runs: an unnamed
// command may be the real one unnoticed, as pmevent was in 443.
func TestListsNameAll(t *testing.T) {
	listed, err := parseArgs([]string{"@must-pass.list", "@long.list"})
	if err != nil {
		t.Fatal(err)
	}
	candidates, err := parseArgs([]string{"@candidates.list"})
	if err != nil {
		t.Fatal(err)
	}
	ours, runs := make(map[string]bool), make(map[string][]string)
	for _, x := range listed {
		for _, name := range x.tools {
			ours[name] = true
		}
	}
	for _, x := range candidates {
		runs[x.String()] = x.tools
	}
	for _, x := range listed {
		if x.String() == "441:pmcd" {
			continue // its commands run when its archive is made, which the cache keeps
		}
		for _, name := range runs[x.String()] {
			does := func(other string) bool { return slices.Contains(x.tools, other) }
			if ours[name] && !does(name) && (x.mode.ours() || !isService(name)) && !slices.ContainsFunc(doesItself[name], does) {
				t.Errorf("%v does not name %s, which it runs", x, name)
			}
		}
	}
}

func TestParseArgs(t *testing.T) {
	list, err := parseArgs([]string{"002", "015:pmcd:pmstore"})
	if err != nil || len(list) != 2 || list[0].mode != offline || list[1].mode != pmcd || list[1].tools[0] != "pmstore" {
		t.Errorf("parseArgs = %v, %v", list, err)
	}
	if _, err := parseArgs([]string{"@/no/such/list"}); err == nil {
		t.Error("parseArgs reads a list that is not there")
	}
}

func TestHelpers(t *testing.T) {
	suite := t.TempDir()
	os.Mkdir(filepath.Join(suite, "src"), 0o777)
	for name, text := range map[string]string{
		"002":        "$here/src/store; src/load x | src/store\nLD_PRELOAD=$here/src/shm.so src/no.such src/data.txt\n",
		"003":        "cat src/*.c\nsrc/github-50 -x\n. ./common.filter\n",
		"src/load.c": "", "src/store.c": "", "src/shm.c": "", "src/other.c": "", "src/github-50.c": "",
		// Scripts that it sources or runs count too.
		"common.filter":   ". ./common.filter\n$here/mk.logfarm -c\nsrc/hex2nbo $1\n",
		"mk.logfarm":      "src/timeshift -\n",
		"src/hex2nbo.c":   "",
		"src/timeshift.c": "",
	} {
		if err := os.WriteFile(filepath.Join(suite, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got := helpers(suite, []test{{id: "002"}, {id: "003"}, {id: "004"}})
	if want := []string{"github-50", "hex2nbo", "load", "shm.so", "store", "timeshift"}; !slices.Equal(got, want) {
		t.Errorf("helpers = %q, want %q", got, want)
	}
}

// TestSave checks that the files of a failed test are removed when it passes.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	x := test{id: "002", mode: pmcd}
	if err := save(dir, x, &result{Status: fail, Output: []byte("a\n"), Expected: []byte("b\n")}); err != nil {
		t.Fatal(err)
	}
	diff, err := os.ReadFile(filepath.Join(dir, "002.pmcd.diff"))
	if err != nil || !strings.Contains(string(diff), "-b\n+a\n") {
		t.Errorf("difference %q, %v", diff, err)
	}
	if err := save(dir, x, &result{Status: pass, Output: []byte("b\n"), Expected: []byte("b\n")}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestExplanation checks the output for a failed test.
func TestExplanation(t *testing.T) {
	x := test{id: "002", mode: pmcd, tools: []string{"pminfo", "pmval"}}
	var long strings.Builder
	for i := range 100 {
		fmt.Fprintln(&long, i)
	}
	got := explanation(x, &result{Status: fail, Expected: []byte(long.String()), Output: []byte("1\n")})
	for _, want := range []string{"    --- expected\n", "    -0\n", "lines more", "    again: cmd/conformance/run -v -keep /tmp/qa 002:pmcd:pminfo,pmval\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("explanation lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n"); n != diffLines+2 {
		t.Errorf("%d lines", n)
	}
}

// TestCommandsIn finds commands in all directories, and through links.
func TestCommandsIn(t *testing.T) {
	bin, lib, agents := t.TempDir(), t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(bin, "pmval"), filepath.Join(bin, "pmlogextract"), filepath.Join(lib, "pmboth"), filepath.Join(bin, "pmboth")} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, to := range map[string]string{
		filepath.Join(bin, "pmevent"): "pmval", filepath.Join(lib, "pmlogextract"): filepath.Join(bin, "pmlogextract"),
		filepath.Join(bin, "pmgone"): "nowhere",
	} {
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.MkdirAll(filepath.Join(agents, "simple"), 0o755), os.Mkdir(filepath.Join(agents, "linked"), 0o755),
		os.WriteFile(filepath.Join(lib, "pmdalinked"), nil, 0o755),
		os.Symlink(filepath.Join(lib, "pmdalinked"), filepath.Join(agents, "linked", "pmdalinked")),
	); err != nil {
		t.Fatal(err)
	}
	f := func(name string, want ...string) {
		t.Helper()
		if got := commandsIn([]string{bin, lib}, agents, name); !slices.Equal(got, want) {
			t.Errorf("commandsIn(%s) = %q, want %q", name, got, want)
		}
	}
	f("pmval", filepath.Join(bin, "pmval"))
	f("pmevent", filepath.Join(bin, "pmval"))
	f("pmlogextract", filepath.Join(bin, "pmlogextract"))
	f("pmboth", filepath.Join(bin, "pmboth"), filepath.Join(lib, "pmboth"))
	f("pmdasimple", filepath.Join(agents, "simple", "pmdasimple"))
	f("pmdalinked", filepath.Join(lib, "pmdalinked"), filepath.Join(agents, "linked", "pmdalinked"))
	f("pmgone")
	f("pmdanone")
}

// TestCheckWrapped refuses a sandbox in which a real command can be called.
func TestCheckWrapped(t *testing.T) {
	dir := t.TempDir()
	l := &layout{Wrap: filepath.Join(dir, "wrap")}
	for name, text := range map[string]string{"wrap": "wrapper", "pmval": "real", "pminfo": "wrapper"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		l.checkWrapped("pmval", []string{dir}, nil), l.checkWrapped("pmx", nil, []string{filepath.Join(dir, "pmval")}),
	} {
		if err == nil {
			t.Error("a real command is not found")
		}
	}
	if err := errors.Join(l.checkWrapped("pminfo", []string{dir}, nil), l.checkWrapped("pmnone", []string{dir}, nil)); err != nil {
		t.Error(err)
	}
}

// TestReadmeCounts checks the table of README that counts the lines of the lists.
func TestReadmeCounts(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[mode][]int)
	for i, name := range []string{"candidates.list", "must-pass.list", "long.list"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := parseList(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range list {
			for len(counts[test.mode]) <= i {
				counts[test.mode] = append(counts[test.mode], 0)
			}
			counts[test.mode][i]++
		}
	}
	for m, n := range counts {
		row := fmt.Sprintf("| %s | %d | %d | %d |", m, n[0], n[1], n[2])
		if !strings.Contains(string(readme), row) {
			t.Errorf("README.md lacks the row %q", row)
		}
	}
}
