// Package examples_test runs the examples as their readers do.
package examples_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// bin builds the examples and pcp once, and returns where they are.
var bin = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "../cmd/pcp", "./acme", "./httpserver", "./download", "./batch",
		"./dirsize", "./logtail", "./statusfile", "./tally", "./report", "./guide/...")
	out, err := cmd.CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
		return dir, err
	}
	for _, link := range []string{"pminfo", "pmval", "pmstore", "pmlogger", "pmdatrace"} {
		if err := os.Symlink("pcp", filepath.Join(dir, link)); err != nil {
			return dir, err
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := bin(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// A machine has a directory for files of values of its own, and maybe a
// collector.
type machine struct {
	dir  string
	env  []string
	host string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := bin(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ex") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &machine{dir: dir, env: append(oracle.Env(), "PCP_TMP_DIR="+dir, "HOME="+dir, "XDG_STATE_HOME="+dir)}
}

func (m *machine) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Env = m.env
	return cmd
}

// start starts a program, waits for it to print want, and ends it by ctrl-C at the end of
// the test: it must then return with status 0.
func (m *machine) start(t *testing.T, want, name string, args ...string) {
	t.Helper()
	cmd := m.command(t, name, args...)
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := oracle.StartWith(cmd, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, out.String())
			}
		case <-time.After(time.Minute):
			cmd.Process.Kill()
			t.Errorf("%s does not end by ctrl-C\n%s", name, out.String())
		}
	})
	for end := time.Now().Add(time.Minute); !strings.Contains(out.String(), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not say %q\n%s", name, want, out.String())
		}
	}
}

// collect starts our collector, with more options.
func (m *machine) collect(t *testing.T, options ...string) {
	t.Helper()
	socket := filepath.Join(m.dir, "s")
	m.host = "unix:" + socket
	m.start(t, "pmcd.log", "pcp", append([]string{"up", "--port", "0", "--socket", socket, "--dir", filepath.Join(m.dir, "state")}, options...)...)
}

// info runs a tool of ours.
func (m *machine) tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := m.command(t, name, append([]string{"-h", m.host}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("%s %v: %v\n%s", name, args, err, errs.Bytes())
	}
	return out.String()
}

// real runs a tool of the real PCP.
func (m *machine) real(t *testing.T, name string, args ...string) string {
	t.Helper()
	out := oracle.Run(t, name, append([]string{"-h", m.host}, args...)...)
	if out.Exit != 0 || out.Stderr != "" {
		t.Fatalf("%s %v: %+v", name, args, out)
	}
	return out.Stdout
}

// An output is written by a program while the test looks at it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// checkAcme holds what two tools print to what the Programmer's Guide shows.
func checkAcme(t *testing.T, run func(t *testing.T, name string, args ...string) string) {
	t.Helper()
	got := map[string]bool{}
	for line := range strings.Lines(run(t, "pminfo", "-m", "mmv.acme")) {
		got[strings.TrimSpace(line)] = true
	}
	for _, line := range []string{
		"mmv.acme.products.count PMID: 70.321.7", "mmv.acme.products.time PMID: 70.321.8", "mmv.acme.products.queuetime PMID: 70.321.10",
	} {
		if !got[line] {
			t.Errorf("pminfo -m: no %q in %q", line, slices.Sorted(maps.Keys(got)))
		}
	}
	if len(got) != 3 {
		t.Errorf("pminfo -m: %q", slices.Sorted(maps.Keys(got)))
	}
	text := run(t, "pmval", "-f2", "-s3", "-t0.5", "mmv.acme.products.time")
	for _, line := range []string{
		`metric:    mmv\.acme\.products\.time`, `semantics: cumulative counter \(converting to rate\)`,
		`units:     microsec \(converting to time utilization\)`, `samples:   3`,
		` +Anvils +Rockets +Giant_Rubber_Bands ?`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
			t.Errorf("pmval: no line %q in\n%s", line, text)
		}
	}
	// One machine works all the time, as long as the program gets to run.
	rows := regexp.MustCompile(`(?m)^ +(\d+\.\d\d) +(\d+\.\d\d) +(\d+\.\d\d) *$`).FindAllStringSubmatch(text, -1)
	total := 0.0
	for _, row := range rows {
		for _, cell := range row[1:] {
			x, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Error(err)
			}
			total += x
		}
	}
	if len(rows) != 3 || total <= 0 {
		t.Errorf("pmval: utilization of %v in %d rows\n%s", total, len(rows), text)
	}
}

func TestAcme(t *testing.T) {
	m := newMachine(t)
	m.collect(t)
	m.start(t, "open", "acme")
	t.Run("ours", func(t *testing.T) { checkAcme(t, m.tool) })
	t.Run("real tools", func(t *testing.T) { checkAcme(t, m.real) })
}

func TestAcmeUnderRealPMCD(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "mmv"}})
	m := newMachine(t)
	m.env = append(m.env, "PCP_TMP_DIR="+filepath.Join(d.Dir, "tmp"))
	m.host = d.Unix
	m.start(t, "open", "acme")
	t.Run("our tools", func(t *testing.T) { checkAcme(t, m.tool) })
	t.Run("real tools", func(t *testing.T) { checkAcme(t, m.real) })
}

// eventually retries a check that may fail until a program is ready.
func eventually(t *testing.T, what func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !what() {
		select {
		case <-ctx.Done():
			t.Error("it never came")
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestHTTPServer(t *testing.T) {
	m := newMachine(t)
	m.collect(t)
	m.start(t, "Serving", "httpserver", "-load")
	eventually(t, func() bool {
		text := m.tool(t, "pminfo", "-f", "mmv.httpserver.http.requests", "mmv.httpserver.http.latency.stats", "mmv.httpserver.go.sched.goroutines.goroutines")
		return strings.Contains(text, `"GET:/products/{id}:200"]`) && strings.Contains(text, `"GET:/products/{id}:404"]`) &&
			strings.Contains(text, `"POST:/orders:201::p99"]`) && regexp.MustCompile(`goroutines\.goroutines\n    value [1-9]`).MatchString(text)
	})
}

func TestDownload(t *testing.T) {
	m := newMachine(t)
	m.collect(t)
	m.start(t, "Fetching", "download", "-each", "1h")
	value := func(metric string) float64 {
		text := m.tool(t, "pminfo", "-f", metric)
		_, number, _ := strings.Cut(text, "value ")
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return x
	}
	// The time grows although no download ends.
	before := value("mmv.download.time")
	eventually(t, func() bool { return value("mmv.download.time") > before })
	if x := value("mmv.download.jumps"); x != 0 {
		t.Errorf("%v nanoseconds of downloads that ended", x)
	}
	if text := m.tool(t, "pminfo", "-f", "mmv.download.current"); !strings.Contains(text, `value "pretended"`) {
		t.Error(text)
	}
}

func TestBatch(t *testing.T) {
	m := newMachine(t)
	m.collect(t)
	for i, want := range []string{"done: 198 good, 2 failed so far, 0 left\n", "done: 396 good, 4 failed so far, 0 left\n"} {
		out, err := m.command(t, "batch", "-jobs", "200").CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("run %d: %v: %s", i, err, out)
		}
	}
	// It has ended, and can be seen.
	text := m.tool(t, "pminfo", "-f", "mmv.batch")
	for _, want := range []string{`"good"] value 396`, `"failed"] value 4`, `value "done"`, `"p99"] value `, "mmv.batch.job.time.count\n    value 400"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestTimeLimit runs each example for a limited time.
func TestTimeLimit(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"acme", "httpserver", "download", "batch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"-for", "300ms"}
			if name == "batch" {
				args = append(args, "-jobs", "1000000000")
			}
			start := time.Now()
			if out, err := m.command(t, name, args...).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if took := time.Since(start); took < 300*time.Millisecond {
				t.Errorf("it took %v", took)
			}
			_, err := os.Stat(filepath.Join(m.dir, "mmv", name))
			if persists := name == "batch"; (err == nil) != persists {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// codeBlocks returns the Go code of a page.
func codeBlocks(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1) {
		blocks = append(blocks, string(m[1]))
	}
	if len(blocks) == 0 {
		t.Fatalf("no code in %s", page)
	}
	return blocks
}

// TestWalkThrough holds the page about the factory to its source.
func TestWalkThrough(t *testing.T) {
	source, err := os.ReadFile("acme/main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		line = strings.ReplaceAll(line, "productsInDom", "61")
		line = strings.ReplaceAll(line, "Cluster: cluster", "Cluster: 321")
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, block := range codeBlocks(t, "../docs/acme.md") {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, " //")
			line = strings.Join(strings.Fields(line), " ")
			line = strings.ReplaceAll(line, `Instances: []string{"Anvils", "Rockets", "Giant_Rubber_Bands"}`, "Instances: names")
			if !lines[line] {
				t.Errorf("docs/acme.md has a line that acme/main.go has not: %s", line)
			}
		}
	}
}

// TestFirstProgram runs the program with which docs/instrumenting.md starts.
func TestFirstProgram(t *testing.T) {
	m := newMachine(t)
	// Within the module, so that it finds package mmv; _ keeps it out of ./...
	dir, err := os.MkdirTemp(".", "_shop")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := codeBlocks(t, "../docs/instrumenting.md")[0]
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	shop := filepath.Join(m.dir, "shop")
	if out, err := exec.Command("go", "build", "-o", shop, "./"+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m.collect(t)
	cmd := exec.Command(shop)
	cmd.Env = m.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		text := m.tool(t, "pminfo", "-fT", "mmv")
		return strings.Contains(text, `or "Anvils"] value `) && strings.Contains(text, `or "Rockets"] value `)
	})
	cmd.Process.Kill()
	await.Exit(t, cmd)
	eventually(t, func() bool { return !strings.Contains(m.tool(t, "pminfo", "mmv"), "mmv.shop") })
}

// TestReport gives a tool options that are right, and some that are not.
func TestReport(t *testing.T) {
	m := newMachine(t)
	m.collect(t)
	lines := strings.Split(strings.TrimSpace(m.tool(t, "report", "-s", "2", "-t", "10msec", "pmcd.numclients")), "\n")
	if len(lines) != 2 || !regexp.MustCompile(`^\d\d:\d\d:\d\d \[pmcd\.numclients [1-9]\d*\]$`).MatchString(lines[0]) {
		t.Errorf("report: %q", lines)
	}
	f := func(want string, args ...string) {
		t.Helper()
		cmd := m.command(t, "report", args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(errs.String(), want) {
			t.Errorf("report %q: %v, %s", args, err, &errs)
		}
	}
	f("report: no metricname\nUsage: report [options] metricname ...\n\nGeneral options:\n", "-s", "1")
	f("report: Cannot open archive \"none\": No such file or directory\n", "-a", "none", "x")
	f("report: only one host or archive allowed\nUsage: ", "-a", "none", "-h", m.host, "x")
	f("report: ", "-h", m.host, "no.such.metric")
}
