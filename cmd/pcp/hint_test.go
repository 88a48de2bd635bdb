package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// TestHints gives a misspelt metric to each command that takes names of metrics. Under "pcp" they
// suggest the right name; under their classic names they print the C tools' output.
func TestHints(t *testing.T) {
	pcp := program(t)
	dir := t.TempDir()
	twin.Fixture(t, "machine", filepath.Join(dir, "machine"))
	for name, text := range map[string]string{
		"rules":   "kernel.all.laod > 1 -> print \"x\";\n",
		"extract": "kernel.all.laod\n",
		"text":    "kernel.all.laod\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		cmd := exec.Command(pcp, args...)
		cmd.Args[0] = name
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PCP_CONF=/dev/null", "PMCD_PORT=1", "PMCD_SOCKET="+dir+"/nobody", "TZ=UTC", "HOME="+dir)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		if args[0] == "top" { // its screen for a metric
			return out.String()
		}
		if strings.Contains(out.String(), "did you mean") {
			t.Errorf("%s %q: a hint on standard output: %s", name, args, out.String())
		}
		return errs.String()
	}
	for _, line := range []string{
		"pminfo info -a machine kernel.all.laod",
		"pmval val -a machine kernel.all.laod",
		"pmevent event -a machine kernel.all.laod",
		"pmprobe probe -a machine kernel.all.laod",
		"pmdumptext dumptext -a machine kernel.all.laod",
		"pmrep rep -a machine kernel.all.laod",
		"pcp2csv 2csv -a machine kernel.all.laod",
		"pcp2json pcp2json -a machine kernel.all.laod",
		"pcp2xml pcp2xml -a machine kernel.all.laod",
		"pcp2influxdb pcp2influxdb -a machine kernel.all.laod",
		"pmlogsummary logsummary machine kernel.all.laod",
		"pmdumplog dumplog machine kernel.all.laod",
		"pmlogdump logdump machine kernel.all.laod",
		"pmlogextract logextract -c extract machine out",
		"pmie ie -a machine rules",
		"- top -a machine --once kernel.all.laod",
		"- chart -a machine kernel.all.laod",
		"pmstore store -L -K clear -K add,60,pmda_linux,linux_init kernel.all.laod 1",
	} {
		f := strings.Fields(line)
		const hint = "did you mean kernel.all.load?"
		if got := run("pcp", f[1:]...); !strings.Contains(got, hint) {
			t.Errorf("pcp %q: no hint: %s", f[1:], got)
		}
		if f[0] == "-" {
			continue
		}
		if got := run(f[0], f[2:]...); strings.Contains(got, "did you mean") {
			t.Errorf("%s %q: a hint: %s", f[0], f[2:], got)
		}
	}
}
