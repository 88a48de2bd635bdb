package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis/diagnosistest"
	"github.com/go-pcp/pcp/cmd/internal/testing/docpage"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// stageFault writes the recording of a fault.
func stageFault(t *testing.T, base, name string) {
	t.Helper()
	for _, f := range diagnosistest.Faults() {
		if f.Name == name {
			diagnosistest.New(t).FaultTo(base, f.Change)
			return
		}
	}
	t.Fatalf("there is no fault %q", name)
}

// status returns the exit status of a command that has ended.
func status(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := err.(*exec.ExitError)
	if !ok {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// TestDiagnosePage runs the commands of docs/diagnose.md, and compares the example with the output. The commands in it must work too.
func TestDiagnosePage(t *testing.T) {
	page := docpage.Read(t, "docs/diagnose.md")
	w := newPageWorld(t)
	for _, ext := range []string{"0", "meta", "index"} {
		if err := os.Remove(filepath.Join(w.dir, "20261121."+ext)); err != nil {
			t.Fatal(err)
		}
	}
	stageFault(t, filepath.Join(w.dir, "20261121"), "memory leak")
	if err := os.Mkdir(filepath.Join(w.dir, "orders"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "orders", "orders.yaml"), []byte(page.File(t, "orders.yaml")), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range page.Commands() {
		line := c.Text
		if strings.HasPrefix(line, "go run ./cmd/bench/faults ") {
			continue // it stages faults for a quarter of an hour
		}
		n++
		if strings.HasPrefix(line, "pcp ieconf ") {
			w.must(t, line)
			continue
		}
		if !strings.Contains(line, " -a ") {
			line += " -L"
		}
		if !strings.Contains(line, " -a ") && !strings.Contains(line, " -s ") {
			line += " -s 2"
		}
		if !strings.Contains(line, " -a ") {
			line += " -t 0.1"
		}
		out, err := w.command(t.Context(), line).Output()
		if s := status(t, err); s > 1 {
			t.Errorf("%s: status %d", line, s)
		}
		if strings.Contains(line, " -a ") && !strings.Contains(line, "--pmie") && !strings.Contains(page.Text, "```text\n"+string(out)+"```\n") {
			t.Errorf("%s: docs/diagnose.md has other output than\n%s", line, out)
		}
	}
	if n != 5 {
		t.Errorf("the page has %d commands, not 5", n)
	}
	run := 0
	for line := range strings.Lines(page.Text) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "Evidence:"))
		if strings.HasPrefix(line, "pcp -a ") {
			run++
			if out, err := w.command(t.Context(), line).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if run < 4 {
		t.Errorf("only %d commands of the example were run", run)
	}
}

// TestDiagnose has the exit status and the JSON of pcp diagnose.
func TestDiagnose(t *testing.T) {
	pcp, dir := program(t), t.TempDir()
	stageFault(t, filepath.Join(dir, "leak"), "memory leak")
	diagnosistest.New(t).WriteTo(filepath.Join(dir, "sound"), func(*diagnosistest.Stage, int) {})
	hostile := diagnosistest.New(t)
	hostile.Spawn(6000, 1, "/tmp/evil\nERROR forged: \x1b[31m"+strings.Repeat("x", 3000))
	hostile.WriteTo(filepath.Join(dir, "hostile"), func(s *diagnosistest.Stage, _ int) { s.Level("proc.fd.count", "evil", 50000) })
	for name, text := range map[string]string{
		"rules": "delta = 10 sec;\nwaiting = some_inst disk.dev.aveq > 10 -> print \"%i\";\ncalm = kernel.all.nprocs > 1000 -> print \"many\";\n",
		"wrong": "a = b >",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "etc/diagnose"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (out, errs string, exit int) {
		t.Helper()
		cmd := exec.Command(pcp, append([]string{"diagnose"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(covered(), "PCP_CONF=/dev/null", "PCP_SYSCONF_DIR="+dir+"/etc", "PMCD_PORT=1", "PMCD_SOCKET="+dir+"/nobody", "TZ=UTC")
		var o, e strings.Builder
		cmd.Stdout, cmd.Stderr = &o, &e
		err := cmd.Run()
		return o.String(), e.String(), status(t, err)
	}
	for _, test := range []struct {
		args      string
		exit      int
		out, errs string
	}{
		{"-a sound", 0, "Nothing is short. ", ""},
		{"-a leak", 1, "\nERROR memory.short: only 1% of memory is available\n", ""},
		{"-a hostile", 1, "\nWARNING files.process: a process has 50000 files open\n", ""},
		{"-a leak --pmie rules", 1, "\nWARNING waiting: the rule of pmie was true for sda\n  Since:    14:26:00, to the end\n", ""},
		{"-a sound --pmie rules", 0, "Nothing is short. ", ""},
		{"-a sound --pmie wrong", 2, "", "near line 1 of file wrong"},
		{"-a sound --pmie missing", 2, "", "open missing: "},
		{"-a sound --pmie .", 2, "", "."},
		{"--pmie rules", 2, "", "--pmie requires an archive"},
		{"-a leak -T @14:23", 0, "Nothing is short. ", ""},
		{"-a missing", 2, "", "there is no archive missing"},
		{"-a leak -S @23:00", 2, "", ""},
		{"-a leak -T @14:20:05", 2, "", "fewer than two samples"},
		{"-a leak -t 1msec", 2, "", "more than 10000 samples"},
		{"-a leak -s 5", 2, "", "-s is for collectors"},
		{"-S -1hour", 2, "", "replay -1h diagnose"},
		{"-a leak --rules nosuch", 2, "", "--rules: stat nosuch: no such file or directory"},
		{"-s 1", 2, "", "-s requires at least 2 samples"},
		{"web1", 2, "", `unexpected argument "web1"`},
		{"-h localhost", 2, "", "no collector answers"},
	} {
		out, errs, exit := run(strings.Fields(test.args)...)
		if exit != test.exit || !strings.Contains(out, test.out) || !strings.Contains(errs, test.errs) {
			t.Errorf("pcp diagnose %s: status %d, want %d with %q and %q\n%s%s", test.args, exit, test.exit, test.out, test.errs, out, errs)
		}
		if strings.Contains(out, "\nERROR forged") || strings.Contains(out, "\x1b") || strings.Contains(out, strings.Repeat("x", 400)) {
			t.Errorf("pcp diagnose %s: the name of a process is printed as it is\n%.2000s", test.args, out)
		}
	}

	text, err := os.ReadFile(testdir.Repo(t, "docs/json.md"))
	if err != nil {
		t.Fatal(err)
	}
	out, _, exit := run("-a", "leak", "--json", "--unchecked", "--pmie", "rules")
	if exit != 1 {
		t.Errorf("--json: status %d", exit)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		fields(v, func(field string) {
			if seen[field] = true; !strings.Contains(string(text), "`"+field+"`") {
				t.Errorf("field %q is not in docs/json.md: %s", field, line)
			}
		})
	}
	for _, field := range []string{"severity", "takers", "cause", "effects", "before", "reason", "ok", "rule", "evidence", "since"} {
		if !seen[field] {
			t.Errorf("--json has no field %q", field)
		}
	}

	// Rules of the administrator.
	if err := os.WriteFile(filepath.Join(dir, "etc/diagnose/own.yaml"), []byte("rules:\n- id: memory.short\n  off: yes\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errs, exit := run("-a", "leak"); exit != 2 || !strings.Contains(errs, "etc/diagnose/own.yaml:3: \"yes\" is not one of true, false") {
		t.Errorf("a wrong rule: status %d, %s", exit, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "etc/diagnose/own.yaml"), []byte("rules:\n- id: memory.short\n  off: true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _, exit := run("-a", "leak"); exit != 1 || strings.Contains(out, "ERROR memory.short") || !strings.Contains(out, "ERROR memory.swapping") {
		t.Errorf("without memory.short: status %d\n%s", exit, out)
	}
}

// TestDiagnoseNext expects that the commands that the built-in rules name exist, and have the options that they are named with.
func TestDiagnoseNext(t *testing.T) {
	list, err := diagnosis.Rules()
	if err != nil {
		t.Fatal(err)
	}
	table := commands()
	for _, r := range list {
		words := strings.Fields(r.Next)
		if len(words) < 2 || words[0] != "pcp" {
			t.Errorf("%s: %q is not a command of pcp", r.ID, r.Next)
			continue
		}
		c := cli.Find(table, words[1])
		if c == nil {
			t.Errorf("%s: there is no command %s", r.ID, words[1])
			continue
		}
		for _, w := range words[2:] {
			long, isLong := strings.CutPrefix(w, "--")
			if !strings.HasPrefix(w, "-") {
				continue
			}
			if !slices.ContainsFunc(c.OptionList(), func(o cli.Option) bool { return isLong && o.Long == long || !isLong && string(o.Short) == w[1:] }) {
				t.Errorf("%s: pcp %s has no option %s", r.ID, c.Name, w)
			}
		}
	}
}
