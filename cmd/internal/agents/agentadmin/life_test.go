package agentadmin_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestOracleNewLife takes a new agent from its template to a real running collector and
// removes it again, by its Makefile and without a network; dbpmda queries it before.
func TestOracleNewLife(t *testing.T) {
	oracle.Require(t)
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: no make here")
	}
	dir := generate(t, "files")
	goTool(t, dir, "build", "-o", filepath.Join(dir, "pmdafiles"), ".")
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}})
	// The tool only changes the collector's own files. In the foreground the collector
	// writes no PID file.
	private := append(slices.Clone(d.Env), "PMNS_DEFAULT="+d.PMNS, "PCP_VAR_DIR="+filepath.Join(d.Dir, "var"))
	if err := os.WriteFile(filepath.Join(d.Dir, "run", "pmcd.pid"), []byte(fmt.Sprintln(d.PID())), 0o644); err != nil {
		t.Fatal(err)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	// The wrapper's first word, agent, is an argument of the combined program.
	wrapper := "#!/bin/sh\nshift\nexec " + filepath.Join(bin, "agent") + " \"$@\"\n"
	for _, err := range []error{
		os.Symlink(self, filepath.Join(bin, "agent")),
		os.WriteFile(filepath.Join(bin, "pcp"), []byte(wrapper), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(dir, "installed")
	makefile := func(rule string) {
		t.Helper()
		cmd := exec.Command("make", rule, "DIR="+target)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), private...), "PATH="+bin+":"+os.Getenv("PATH"),
			"CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", rule, err, out)
		}
	}
	makefile("test")
	makefile("check")

	script := fmt.Sprintf("open pipe %s -d 400 -l %s\ndesc 400.0.0\ninstance 400.0\nfetch 400.0.0\ntext 400.0.0\nquit\n",
		filepath.Join(dir, "pmdafiles"), filepath.Join(dir, "dbpmda.log"))
	names := filepath.Join(dir, "names")
	if err := os.WriteFile(names, []byte("root {\n\tfiles\t400:*:*\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(oracle.Path("dbpmda"), "-n", names, "-ie")
	cmd.Env = append(oracle.Env(), d.Env...)
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "Error") ||
		!strings.Contains(string(out), "numval: ") || !strings.Contains(string(out), "Semantics: ") {
		t.Errorf("dbpmda: %v\n%s", err, out)
	}

	makefile("install")
	until := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				log, _ := os.ReadFile(d.Log)
				t.Fatalf("there is never %s\n%s", what, log)
			}
		}
	}
	probe := func() string { return d.Run(t, "pmprobe", "-v", "files").Stdout }
	until("a value of the agent", func() bool { return strings.Contains(probe(), "files.refreshes 1 ") })
	makefile("remove")
	until("an end of the agent", func() bool { return !strings.Contains(probe(), "files.refreshes 1 ") })
	if _, err := os.Stat(filepath.Join(target, "pmdafiles")); !os.IsNotExist(err) {
		t.Errorf("make remove leaves the program: %v", err)
	}
}
