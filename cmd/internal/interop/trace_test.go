package interop

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/trace"
)

// A traced is an agent trace with its collector.
type traced struct {
	name string
	env  []string
	unix string
	port int
}

// traceOptions make rates appear after two seconds, and stay for eight.
const traceOptions = "-T 10 -N 5"

// startTraced starts the real agent and ours, each as a process of a real
// collector, and ours inside our collector.
func startTraced(t *testing.T, options string) (real, ours, inside traced) {
	t.Helper()
	oracle.Require(t)
	start := func(name, program string) (traced, *oracle.PMCD) {
		port := oracle.FreePort(t)
		d := oracle.StartPMCD(t, oracle.Config{
			Agents: []string{"pmcd", "trace"},
			Lines:  []string{fmt.Sprintf("trace 10 pipe binary %s -d 10 -I %d %s", program, port, options)},
		})
		a := traced{name, d.Env, d.Unix, port}
		a.wait(t)
		return a, d
	}
	real, _ = start("real agent", "$PMDAS/trace/pmdatrace")
	ours, d := start("our agent", twin.Tool(t, "pmdatrace"))
	port := oracle.FreePort(t)
	c := startOursWith(t, d, "trace\t10\tdso\ttrace_init\t/none/pmda_trace.so\n[access]\nallow \"*\" : all;\n",
		[]string{fmt.Sprintf("PCP_TRACE_PORT=%d", port)})
	return real, ours, traced{"our agent in our collector", c.env, c.unix, port}
}

func (a traced) client(t *testing.T, state trace.State) *trace.Client {
	t.Helper()
	c, err := trace.New(trace.Config{Host: "127.0.0.1", Port: a.port, State: state, Config: config.New(func(string) string { return "" })})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// wait waits until the agent listens: it does so after the handshake with its collector, and before
// it answers a request.
func (a traced) wait(t *testing.T) {
	t.Helper()
	if got := a.info(t, "-f", "trace.point.count"); !strings.Contains(got, "alue") {
		t.Fatalf("%s: %s", a.name, got)
	}
}

// info returns the output of the real pminfo.
func (a traced) info(t *testing.T, args ...string) string {
	t.Helper()
	out := realTools.run(t, a.env, "pminfo", append([]string{"-h", a.unix}, args...)...)
	return out.Stdout + strings.ReplaceAll(out.Stderr, a.unix, "HOST")
}

// store stores a value with the real pmstore.
func (a traced) store(t *testing.T, args ...string) string {
	t.Helper()
	out := realTools.run(t, a.env, "pmstore", append([]string{"-h", a.unix}, args...)...)
	return out.Stdout + strings.ReplaceAll(out.Stderr, a.unix, "HOST")
}

var (
	tracePort = regexp.MustCompile(`(?m)(^trace\.control\.port\n) {4}value \d+$`)
	traceTime = regexp.MustCompile(`(?m)(inst \[\d+ or "[^"]*"\] value) [0-9.e+-]+$`)
)

// values returns the values of all metrics of the agent, except its port. If
// timed, values that depend on the clock are left out as well.
func (a traced) values(t *testing.T, timed bool) string {
	t.Helper()
	out := tracePort.ReplaceAllString(a.info(t, "-f", "trace"), "${1}    value PORT")
	if !timed {
		return out
	}
	var list []string
	for part := range strings.SplitSeq(out, "\n\n") {
		if strings.Contains(part, "_time") {
			part = traceTime.ReplaceAllString(part, "$1 TIME")
		}
		list = append(list, part)
	}
	return strings.Join(list, "\n\n")
}

// TestTraceScript sends both agents the same 200 records, and fetches all metrics.
func TestTraceScript(t *testing.T) {
	real, ours, inside := startTraced(t, traceOptions)
	if want, got := real.info(t, "-dml", "trace"), ours.info(t, "-dml", "trace"); want != got {
		t.Errorf("pminfo -dml (-real, +ours):\n%s", cmp.Diff(want, got))
	}
	if want, got := real.values(t, false), ours.values(t, false); want != got {
		t.Errorf("before the first record (-real, +ours):\n%s", cmp.Diff(want, got))
	}
	script := func(c *trace.Client, seed uint64, calls int) {
		r := rand.New(rand.NewPCG(seed, seed))
		for range calls {
			tag, v := fmt.Sprintf("tag %d", r.IntN(12)), float64(r.IntN(1000))/8
			var err error
			switch r.IntN(4) {
			case 0:
				err = c.Record(tag, time.Duration(v*float64(time.Second)))
			case 1:
				err = c.Point(tag)
			case 2:
				err = c.Observe(tag, -v)
			case 3:
				err = c.Counter(tag, v)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sides := []traced{real, ours, inside}
	// After a reset the real agent refuses requests for the metrics of counters until it has one.
	trees := []string{"trace.transact", "trace.point", "trace.observe", "trace.control.period", "trace.control.buckets", "trace.control.debug", "trace.control.reset"}
	compareEach := func(when string) {
		t.Helper()
		for _, tree := range trees {
			if want, got := real.info(t, "-f", tree), ours.info(t, "-f", tree); want != got {
				t.Errorf("%s (-real, +ours):\n%s", when, cmp.Diff(want, got))
			}
		}
	}
	compare := func(when string) {
		t.Helper()
		want := real.values(t, false)
		if got := ours.values(t, false); want != got {
			t.Errorf("%s (-real, +ours):\n%s", when, cmp.Diff(want, got))
		}
		if !strings.Contains(want, `"tag 11"`) {
			t.Errorf("%s: too few tags:\n%s", when, want)
		}
	}
	for _, a := range sides {
		script(a.client(t, trace.StateNone), 1, 200)
	}
	time.Sleep(2500 * time.Millisecond) // the bucket is complete
	compare("after 200 synchronous calls")
	counts := []string{"-f", "trace.transact.count", "trace.transact.total_time", "trace.point.count", "trace.observe", "trace.counter.value"}
	if want, got := ours.info(t, counts...), inside.info(t, counts...); cutRates(want) != cutRates(got) {
		t.Errorf("inside our collector (-process, +inside):\n%s", cmp.Diff(want, got))
	}
	for _, args := range [][]string{{"trace.control.reset", "7"}, {"trace.control.port", "7"}, {"trace.control.period", "7"}, {"trace.control.debug", "2049"}, {"trace.control.debug", "x"}, {"trace.control.debug", "-1"}, {"trace.control.debug", "0"}} {
		if want, got := real.store(t, args...), ours.store(t, args...); args[0] != "trace.control.port" && want != got {
			t.Errorf("pmstore %q (-real, +ours):\n%s", args, cmp.Diff(want, got))
		}
		compareEach(fmt.Sprintf("after the reset and a store of %q", args))
	}
	for _, a := range sides[:2] {
		script(a.client(t, trace.StateAsync), 2, 200)
	}
	time.Sleep(2500 * time.Millisecond)
	compare("after 200 asynchronous calls")
	time.Sleep(10 * time.Second)
	compare("when the period has passed")
	if want := real.info(t, "-f", "trace.point.rate"); !strings.Contains(want, "No value") {
		t.Errorf("the period has not passed: %s", want)
	}
}

func cutRates(s string) string {
	before, after, _ := strings.Cut(s, "trace.observe.rate")
	_, after, _ = strings.Cut(after, "\n\n")
	return before + after
}

// tracer is a C program that runs the commands that it reads with libpcp_trace. It has its
// own prototypes.
const tracer = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern int pmtracebegin(const char *), pmtraceend(const char *), pmtraceabort(const char *), pmtracepoint(const char *);
extern int pmtraceobs(const char *, double), pmtracecounter(const char *, double), pmtracestate(int);
extern char *pmtraceerrstr(int);
int main(void) {
	char line[512];
	while (fgets(line, sizeof line, stdin)) {
		char *tag = strtok(line + 1, " \n");
		char *num = strtok(NULL, " \n");
		double v = num ? atof(num) : 0;
		int sts = 0;
		switch (line[0]) {
		case 'b': sts = pmtracebegin(tag); break;
		case 'e': sts = pmtraceend(tag); break;
		case 'a': sts = pmtraceabort(tag); break;
		case 'p': sts = pmtracepoint(tag); break;
		case 'o': sts = pmtraceobs(tag, v); break;
		case 'c': sts = pmtracecounter(tag, v); break;
		case 's': sts = pmtracestate(atoi(tag)); break;
		case 'x': printf("%s: %s\n", tag, pmtraceerrstr(atoi(tag))); continue;
		}
		printf("%c %s %d\n", line[0], tag, sts);
		fflush(stdout);
	}
	return 0;
}
`

// buildTracer compiles it.
func buildTracer(t *testing.T) string {
	t.Helper()
	oracle.Require(t)
	cc, err := exec.LookPath("cc")
	if err != nil {
		oracle.Missing(t, "no C compiler, so that no C program sends anything to our agent")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "tracer.c")
	if err := os.WriteFile(source, []byte(tracer), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "tracer")
	if out, err := exec.Command(cc, "-o", program, source, "-lpcp_trace").CombinedOutput(); err != nil {
		oracle.Missing(t, fmt.Sprintf("libpcp_trace cannot be linked: %v\n%s", err, out))
	}
	return program
}

func (a traced) run(t *testing.T, program, script string) string {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(oracle.Env(), "PCP_TRACE_HOST=127.0.0.1", fmt.Sprintf("PCP_TRACE_PORT=%d", a.port))
	cmd.Stdin = strings.NewReader(script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: C program: %v\n%s", a.name, err, stderr.String())
	}
	return string(out) + stderr.String()
}

// TestTraceCProgram has a program of libpcp_trace talk to both agents.
func TestTraceCProgram(t *testing.T) {
	program := buildTracer(t)
	real, ours, inside := startTraced(t, traceOptions)
	const script = `b one
b one
b two
e two
e one
e one
e three
a two
b four
a four
p here
p here
o seen 4.25
o one 7
c count 1e9
b ` + "t234567890t234567890t234567890t234567890t234567890t234567890t234567890t234567890t234567890t234567890t234567890t23" + `
e ` + "t234567890t234567890t234567890t234567890t234567890t234567890t234567890t234567890t234567890t234567890t234567890t23" + `
`
	want := real.run(t, program, script)
	for _, a := range []traced{ours, inside} {
		if got := a.run(t, program, script); want != got {
			t.Errorf("what C calls return with %s (-real, +ours):\n%s", a.name, cmp.Diff(want, got))
		}
	}
	time.Sleep(2500 * time.Millisecond)
	if want, got := real.values(t, true), ours.values(t, true); want != got {
		t.Errorf("values (-real, +ours):\n%s", cmp.Diff(want, got))
	}
	// Calls of an asynchronous C program return how many bytes they sent. Data that the agent has
	// not read when such a program ends is lost, so there are not too many.
	for _, a := range []traced{ours, inside} {
		if got := a.run(t, program, "s 32\n"+strings.Repeat("p many\n", 500)); strings.Count(got, "p many 32\n") != 500 {
			t.Errorf("asynchronous calls with %s: %.200s", a.name, got)
		}
		settled(t, func(errorf func(string, ...any)) {
			if got := a.info(t, "-f", "trace.point.count"); !strings.Contains(got, `or "many"] value 500`) {
				errorf("asynchronous calls: %s", got)
			}
		})
	}
	if !strings.Contains(want, "o one 0\n") {
		t.Errorf("a tag of two kinds: %s", want)
	}
	// The Go client returns the same as the C library.
	c := ours.client(t, trace.StateNone)
	var b strings.Builder
	for line := range strings.Lines(script) {
		f := strings.Fields(line)
		value := 0.0
		if len(f) > 2 {
			fmt.Sscan(f[2], &value)
		}
		err := map[string]func() error{
			"b": func() error { return c.Begin(f[1]) }, "e": func() error { return c.End(f[1]) }, "a": func() error { return c.Abort(f[1]) },
			"p": func() error { return c.Point(f[1]) }, "o": func() error { return c.Observe(f[1], value) }, "c": func() error { return c.Counter(f[1], value) },
		}[f[0]]()
		code := 0
		if err != nil {
			code = int(err.(trace.Error))
		}
		fmt.Fprintf(&b, "%s %s %d\n", f[0], f[1], code)
	}
	if want != b.String() {
		t.Errorf("what calls return (-C, +Go):\n%s", cmp.Diff(want, b.String()))
	}
	var codes, texts strings.Builder
	for _, code := range []int{0, -1, -22, -110, -11999, -12000, -12001, -12002, -12003, -12004, -12005, -12006, -12007, -12008, -12009, -12010, -12011, -12012, 5} {
		fmt.Fprintf(&codes, "x %d\n", code)
		fmt.Fprintf(&texts, "%d: %s\n", code, trace.ErrText(code))
	}
	if diff := cmp.Diff(ours.run(t, program, codes.String()), texts.String()); diff != "" {
		t.Errorf("texts of errors (-C, +Go):\n%s", diff)
	}
}

// TestTraceTools runs both pmtrace with both agents.
func TestTraceTools(t *testing.T) {
	real, ours, inside := startTraced(t, traceOptions)
	for _, args := range [][]string{{"pt"}, {"-q", "pt"}, {"-v", "4.5", "obs"}, {"-c", "1e3", "cnt"}, {"-e", "echo hi", "run"}, {"-h", "127.0.0.1", "-q", "-e", "true", "run"}} {
		var want string
		for i, a := range []traced{real, ours, inside} {
			for _, tool := range []string{oracle.Path("pmtrace"), twin.Tool(t, "pmtrace")} {
				cmd := exec.Command(tool, args...)
				cmd.Env = append(oracle.Env(), "PCP_TRACE_HOST=localhost", fmt.Sprintf("PCP_TRACE_PORT=%d", a.port))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s %q: %v", tool, args, err)
				}
				if i == 0 && want == "" {
					want = string(out)
				} else if string(out) != want {
					t.Errorf("%s %q with %s prints %q, want %q", tool, args, a.name, out, want)
				}
			}
		}
	}
	settled(t, func(errorf func(string, ...any)) {
		want := real.values(t, true)
		if got := ours.values(t, true); want != got {
			errorf("values (-real, +ours):\n%s", cmp.Diff(want, got))
		}
		if strings.Count(want, "value 4\n") != 2 {
			errorf("values:\n%s", want)
		}
	})
}

// TestTraceRefused holds the agents' rules for hosts against each other.
func TestTraceRefused(t *testing.T) {
	for _, options := range []string{"-A disallow:127.0.0.1", "-A disallow:* -A allow:localhost:0", "-A allow:*:0", "-A disallow:10.*"} {
		real, ours, _ := startTraced(t, options)
		f := func(a traced) string {
			cmd := exec.Command(oracle.Path("pmtrace"), "-h", "127.0.0.1", "tag")
			cmd.Env = append(oracle.Env(), fmt.Sprintf("PCP_TRACE_PORT=%d", a.port))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("pmtrace: %v", err)
			}
			return string(out)
		}
		// The real agent answers a refused program and closes the connection without reading what
		// the program may have sent by then: on a busy machine the kernel drops the answer with it.
		want := f(real)
		for range 50 {
			if !strings.Contains(want, "Connection reset by peer") {
				break
			}
			want = f(real)
		}
		if got := f(ours); want != got {
			t.Errorf("%s: pmtrace prints %q, with the real agent %q", options, got, want)
		} else {
			t.Logf("%s: %q", options, want)
		}
	}
	// The real agent refuses all of them.
	_, ours, _ := startTraced(t, "-A allow:127.0.0.1:2")
	for range 2 {
		if err := ours.client(t, trace.StateNone).Point("x"); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(oracle.Path("pmtrace"), "-h", "127.0.0.1", "tag")
	cmd.Env = append(oracle.Env(), fmt.Sprintf("PCP_TRACE_PORT=%d", ours.port))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), trace.ErrConnLimit.Error()) {
		t.Errorf("a third client where two may be: %q, %v", out, err)
	}
}

// TestTraceRestart ends the real agent and ours and starts them again: clients
// continue.
func TestTraceRestart(t *testing.T) {
	oracle.Require(t)
	for _, program := range []string{"$PMDAS/trace/pmdatrace", twin.Tool(t, "pmdatrace")} {
		a := traced{name: program, port: oracle.FreePort(t)}
		d := oracle.StartPMCD(t, oracle.Config{
			Agents: []string{"pmcd", "trace"},
			Lines:  []string{fmt.Sprintf("trace 10 pipe binary %s -d 10 -I %d", program, a.port)},
		})
		a.env, a.unix = d.Env, d.Unix
		a.wait(t)
		var clients []*trace.Client
		for _, state := range []trace.State{trace.StateNone, trace.StateAsync} {
			c, err := trace.New(trace.Config{
				Host: "127.0.0.1", Port: a.port, State: state, Config: config.New(func(string) string { return "" }),
				Reconnect: []time.Duration{100 * time.Millisecond},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Point("before"); err != nil {
				t.Errorf("%s: %v", program, err)
			}
			clients = append(clients, c)
		}
		for _, c := range clients {
			if err := c.Flush(t.Context()); err != nil {
				t.Errorf("%s: %v", program, err)
			}
		}
		d.Stop(t)
		for _, c := range clients {
			c.Point("while it is away") // which fails, or is lost
			c.Flush(t.Context())
		}
		d.Start(t)
		a.wait(t)
		time.Sleep(200 * time.Millisecond)
		for _, c := range clients {
			err := c.Point("after")
			if err == nil {
				err = c.Flush(t.Context())
			}
			if err != nil {
				t.Errorf("%s: after its restart: %v", program, err)
			}
		}
		settled(t, func(errorf func(string, ...any)) {
			if got := a.info(t, "-f", "trace.point.count"); !strings.Contains(got, `inst [1 or "after"] value 2`) {
				errorf("%s: %s", program, got)
			}
		})
	}
}
