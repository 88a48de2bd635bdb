package pmda_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// blocks returns the code blocks of the guide in a language, and fails unless
// there are n.
func blocks(t *testing.T, lang string, n int) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n```"+lang+"\n(.*?\n)```\n").FindAllStringSubmatch(string(text), -1)
	if len(found) != n {
		t.Fatalf("docs/agents.md has %d blocks of %s, want %d", len(found), lang, n)
	}
	var list []string
	for _, m := range found {
		list = append(list, m[1])
	}
	return list
}

func block(t *testing.T, lang string) string { return blocks(t, lang, 1)[0] }

// buildGuide builds the first agent of docs/agents.md, in its own module as in
// the guide.
func buildGuide(t *testing.T) (path string) {
	t.Helper()
	return buildProgram(t, blocks(t, "go", 3)[0], "pmdaclock")
}

// TestGuideLocal runs the test that docs/agents.md has for its first agent.
func TestGuideLocal(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds programs")
	}
	dir := filepath.Dir(buildGuide(t))
	if err := os.WriteFile(filepath.Join(dir, "main_test.go"), []byte(blocks(t, "go", 3)[1]), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-mod=mod", "-v", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestClock") {
		t.Errorf("go test: %v\n%s", err, out)
	}
}

func buildProgram(t *testing.T, source, name string) (path string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "guide") // PCP's user must be able to read it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod := "module example.com/clock\n\ngo 1.26.0\n\nrequire github.com/go-pcp/pcp v0.0.0\n\nreplace github.com/go-pcp/pcp => " + root + "\n"
	for _, err := range []error{
		os.Chmod(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644),
		os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	build(t, dir, filepath.Join(dir, name), "-mod=mod", ".")
	return filepath.Join(dir, name)
}

func build(t *testing.T, dir, out string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-o", out}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
}

// TestGuideOurs follows docs/agents.md, under our collector.
func TestGuideOurs(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds programs")
	}
	path := buildGuide(t)
	dir := filepath.Dir(path)
	build(t, "../cmd", filepath.Join(dir, "pcp"), "./pcp")
	port := strconv.Itoa(oracle.FreePort(t))
	here := strings.NewReplacer("/path/to", dir, "/tmp/clock.socket", dir+"/socket", "44555", port)
	for lang, name := range map[string]string{"conf": "clock.conf", "pmns": "clock.pmns"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(here.Replace(block(t, lang))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := func(line string) *exec.Cmd {
		words := strings.Fields(here.Replace(line))
		if words[0] != "pcp" && words[0] != "pmdaclock" { // a link to it
			words = append([]string{"pcp", strings.TrimPrefix(words[0], "pm")}, words[1:]...)
		}
		cmd := exec.Command(filepath.Join(dir, words[0]), words[1:]...)
		cmd.Dir = dir
		return cmd
	}
	sh := blocks(t, "sh", 3)
	var out bytes.Buffer
	pmcd := command(sh[0])
	pmcd.Stdout, pmcd.Stderr = &out, &out
	if err := pmcd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		pmcd.Process.Signal(os.Interrupt)
		if err := pmcd.Wait(); err != nil || t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "clock-pmcd.log"))
			t.Errorf("pmcd ends with %v\n%s%s", err, &out, log)
		}
	}()
	var got strings.Builder
	lines := strings.Split(strings.TrimSpace(sh[1]), "\n")
	for i, line := range append(lines, strings.Split(strings.TrimSpace(sh[2]), "\n")...) {
		var text []byte
		var err error
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if text, err = command(line).Output(); err == nil || i > 0 || time.Now().After(end) {
				break // the first waits for the collector
			}
		}
		if wrong := strings.HasSuffix(line, " -?"); (err != nil) != wrong { // a usage message has status 1
			t.Errorf("%s: %v\n%s", line, err, text)
		}
		got.Write(text)
	}
	for _, want := range []string{
		"clock.time PMID: 400.0.0 [seconds since the start of 1970]\n",
		`    inst [1 or "Tokyo"] value `,
		`"agent":"clock","city":"Tokyo"`,
		"clock.format old value=24 new value=12\n",
		// The checklist.
		"clock: domain 400, 3 metrics, 1 instance domain, 4 values: 0 problems\n",
		"    Semantics: counter  Units: sec\n",
		"clock.format 1 12\n",
		"clock.format old value=12 new value=24\n",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("the tools do not print %q:\n%s", want, &got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "clock.log")); err != nil {
		t.Error(err)
	}
}

// TestGuide follows docs/agents.md, under the C collector.
func TestGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds a program")
	}
	path := buildGuide(t)
	oracle.Require(t)
	line := strings.ReplaceAll(block(t, "conf"), "/path/to/pmdaclock", path)
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines:  []string{strings.TrimSpace(line)},
		PMNS:   block(t, "pmns"),
	})
	out := d.Run(t, "pminfo", "-dfmtTl", "clock")
	for _, want := range []string{
		"clock.time PMID: 400.0.0 [seconds since the start of 1970]\n",
		"    Semantics: counter  Units: sec\n",
		"The hour that a clock in the city shows, in the format of clock.format.\n",
		"    Data Type: 32-bit unsigned int  InDom: 400.1 0x64000001\n",
		`    inst [1 or "Tokyo"] value `,
		`"agent":"clock","city":"Tokyo"`,
		"    value 24\n",
	} {
		if !strings.Contains(out.Stdout, want) {
			t.Errorf("pminfo does not print %q:\n%s%s", want, out.Stdout, out.Stderr)
		}
	}
	out = d.Run(t, "pmstore", "clock.format", "12")
	if out.Stdout != "clock.format old value=24 new value=12\n" {
		t.Errorf("pmstore: %+v", out)
	}
	out = d.Run(t, "pmstore", "clock.format", "13")
	if got := out.Stdout + out.Stderr; !strings.Contains(got, "Bad input to pmstore") {
		t.Errorf("pmstore of a bad value: %+v", out)
	}
	log, err := os.ReadFile(filepath.Join(filepath.Dir(d.Log), "clock.log"))
	if err != nil || !strings.Contains(string(log), "Info: clock starts cities=2\n") {
		t.Errorf("clock.log: %v\n%s", err, log)
	}
	status := d.Run(t, "pminfo", "-f", "pmcd.agent.status")
	if want := fmt.Sprintf("inst [400 or %q] value 0\n", "clock"); !strings.Contains(status.Stdout, want) {
		t.Errorf("pmcd.agent.status:\n%s", status.Stdout)
	}
}
