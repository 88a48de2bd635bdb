package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/oracle/demos"
)

// runDemo runs a C program of the guide and returns its output and status, which is -1 if the program
// does not end within a minute.
func runDemo(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(oracle.Env(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s--\n%s--\nstatus %d\n", out.Bytes(), strings.ReplaceAll(errs.String(), program, "PROGRAM"), cmd.ProcessState.ExitCode())
}

var (
	guideClock  = regexp.MustCompile(`\d\d:\d\d:\d\d(\.\d+)?|(?m)^@ .*$|(Mon|Tue|Wed|Thu|Fri|Sat|Sun) .*\d{4}$`)
	guideNumber = regexp.MustCompile(`[ 0-9.]*\d`)
)

func withoutClock(s string) string { return guideClock.ReplaceAllString(s, "TIME") }

// withoutNumbers replaces numbers and the spaces before them.
func withoutNumbers(s string) string {
	return guideNumber.ReplaceAllString(withoutClock(s), "#")
}

// TestGuideClients runs the clients of the guide with both collectors. The agent sample is the
// same on both sides and the other agents are ours in our collector.
func TestGuideClients(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "proc", "simple", "sample"}})
	theirs := collector{name: "real pmcd", unix: d.Unix, env: d.Env}
	ours := startOurs(t, d, ourConf(d, []string{
		"linux 60 dso linux_init $PMDAS/linux/pmda_linux.so", "proc 3 dso proc_init $PMDAS/proc/pmda_proc.so",
		"simple 253 dso simple_init $PMDAS/simple/pmda_simple.so", "sample 29 pipe binary $PMDAS/sample/pmdasample -d 29",
	}))
	ours.env = append(ours.env, "PMCD_SOCKET="+strings.TrimPrefix(ours.unix, "unix:"))
	same := func(s string) string { return s }
	for _, call := range []struct {
		command string // local: is each collector
		mask    func(string) string
		want    string // the output has it
	}{
		{"guide freemem local: mem.freemem", withoutNumbers, "local::mem.freemem =# Kbyte\n"},
		{"guide freemem local: sample.longlong.million", same, "local::sample.longlong.million = 1000000 \n"},
		{"guide freemem local: sample.string.hullo", same, `= "hullo world!" `},
		{"guide freemem local: sample.nosuch", same, "Error looking up sample.nosuch: Unknown metric name\n"},
		{"guide freemem local: sample.bad.unknown", same, "Error "},
		{"guide freemem unix:/no/socket sample.bin", same, "Error connecting to pmcd on unix:/no/socket: No such file or directory\n"},
		{"guide poll local: 3 simple.numfetch simple.color sample.bin sample.float.one sample.aggregate.hullo", withoutClock, "PMID: 253.0.1 [0]       "},
		{"guide events local: sample.event.records", withoutClock, "instance 0: 0 event records\n"},
		{"guide events local: sample.event.records", withoutClock, "instance 0: 1 event records\n"},
		{"guide events local: sample.event.records", withoutClock, "    sample.event.param_64 -3\n"},
		{"guide events local: sample.event.records", withoutClock, "missed event records\n"},
		{"guide events local: sample.event.highres_records", withoutClock, "pmUnpackEventRecords: "},
		{"guide events local: sample.bin", same, "pmUnpackEventRecords: "},
		{"pmclient -s 3 -t 0.05", withoutNumbers, "Load Average"},
		{"pmclient_fg -s 3 -t 0.05", withoutNumbers, "Load Average"},
		{"procmemstat", withoutNumbers, "After malloc"},
		{"procmemstat -u bytes", withoutNumbers, "sizes in bytes"},
	} {
		words := strings.Fields(call.command)
		program := demos.Build(t, words[0])
		want := call.mask(runDemo(t, theirs.env, program, words[1:]...))
		if got := call.mask(runDemo(t, ours.env, program, words[1:]...)); want != got {
			t.Errorf("%s (-real pmcd, +ours):\n%s", call.command, cmp.Diff(want, got))
		}
		if !strings.Contains(want, call.want) {
			t.Errorf("%s prints no %q:\n%s", call.command, call.want, want)
		}
	}
}

// guideDump matches what differs between two runs in diagnostic output of the trace library.
var guideDump = regexp.MustCompile(`(?m)^\d+:.*$|0x[0-9a-f]+|\d+(\.\d+)?`)

// TestGuideTrace runs the demonstrations of the trace library with the real agent and ours.
func TestGuideTrace(t *testing.T) {
	real, ours, inside := startTraced(t, traceOptions)
	sides := []traced{real, ours, inside}
	env := func(a traced) []string {
		return []string{"PCP_TRACE_HOST=127.0.0.1", fmt.Sprintf("PCP_TRACE_PORT=%d", a.port), "PCP_TRACE_TIMEOUT=60", "PCP_TRACE_REQTIMEOUT=60"}
	}
	app1, app2, app3, pmtrace := demos.Build(t, "app1"), demos.Build(t, "app2"), demos.Build(t, "app3"), demos.Build(t, "pmtrace")
	masked := func(a traced) string {
		return guideDump.ReplaceAllString(runDemo(t, env(a), app1), "N")
	}
	want := masked(real)
	for _, a := range sides[1:] {
		if got := masked(a); want != got {
			t.Errorf("app1 with %s (-real, +ours):\n%s", a.name, cmp.Diff(want, got))
		}
	}
	if !strings.HasSuffix(want, "status N\n") || !strings.Contains(want, "'imouttahere'") {
		t.Errorf("app1: %s", want)
	}
	for _, a := range sides {
		if out := runDemo(t, env(a), pmtrace, "-v", "4.5", "demo"); !strings.Contains(out, "status 0\n") {
			t.Errorf("pmtrace with %s: %s", a.name, out)
		}
		run3(t, a, env(a), app3)
		run2(t, a, env(a), app2)
	}
	// How often app2 worked is not the same twice.
	counts := func(a traced) string {
		var lines []string
		for _, tree := range []string{"trace.transact.count", "trace.point.count", "trace.observe.value", "trace.counter.value"} {
			for line := range strings.Lines(a.info(t, "-f", tree)) {
				if threadTag.MatchString(line) {
					continue
				}
				if strings.Contains(line, "sucker") || strings.Contains(line, "mainloop") {
					_, line, _ = strings.Cut(line, " or ")
					line, _, _ = strings.Cut(line, " value")
					line = "    some " + line + "\n"
				} else if strings.HasPrefix(line, "    inst") {
					_, line, _ = strings.Cut(line, " or ")
					line = "    " + line
				}
				lines = append(lines, line)
			}
			lines = append(lines, "\n")
		}
		slices.Sort(lines)
		return strings.Join(lines, "")
	}
	settled(t, func(errorf func(string, ...any)) {
		want := counts(real)
		for _, a := range sides[1:] {
			if got := counts(a); want != got {
				errorf("%s: (-real, +ours):\n%s", a.name, cmp.Diff(want, got))
			}
		}
		for _, tag := range []string{"simple", "observe", "counter", "imouttahere", "demo", "mainloop", "io_sucker"} {
			if !strings.Contains(want, `"`+tag+`"]`) {
				errorf("no tag %s: %s", tag, want)
			}
		}
	})
}

// threadTag matches the tags of app3.
var threadTag = regexp.MustCompile(`or "(pio|pcpu|ptime)_sucker"\]`)

// run3 runs app3, whose threads share a connection: when several connect at once, others time out in
// the library, with either agent, or wait for ever, since each of them initialises the library's lock.
// The agent has the transactions of the threads that got through.
func run3(t *testing.T, a traced, env []string, app3 string) {
	t.Helper()
	for range 20 {
		out := runDemo(t, append(slices.Clone(env), "PCP_TRACE_TIMEOUT=2", "PCP_TRACE_REQTIMEOUT=2"), app3) // for which they wait
		if strings.HasSuffix(out, "status -1\n") {
			continue
		}
		if !strings.Contains(out, "PROGRAM: reaped sproc #2\n") || !strings.HasSuffix(out, "status 0\n") {
			t.Fatalf("app3 with %s: %s", a.name, out)
		}
		done := false
		for tag, kind := range map[string]string{"pio_sucker": "io-bound", "pcpu_sucker": "cpu-bound", "ptime_sucker": "timer"} {
			if !strings.Contains(out, "finished 10 "+kind) {
				continue
			}
			done = true
			settled(t, func(errorf func(string, ...any)) {
				counts := a.info(t, "-f", "trace.transact.count")
				_, after, _ := strings.Cut(counts, `or "`+tag+`"] value `)
				n := 0
				if fmt.Sscan(after, &n); n < 10 {
					errorf("%s: app3 says %s%s", a.name, out, counts)
				}
			})
		}
		if done {
			return
		}
	}
	t.Errorf("no thread of app3 got through to %s", a.name)
}

// run2 runs app2, a loop without an end, until it has done each kind of work.
func run2(t *testing.T, a traced, env []string, app2 string) {
	t.Helper()
	cmd := exec.Command(app2)
	cmd.Env = append(oracle.Env(), env...)
	if err := oracle.StartWith(cmd, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		out := a.info(t, "-f", "trace.transact.count")
		if strings.Contains(out, `"cpu_sucker"`) && strings.Contains(out, `"io_sucker"`) && strings.Contains(out, `"time_sucker"`) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("app2 with %s: %s", a.name, out)
		}
	}
}

var guideValue = regexp.MustCompile(`(?m) value \d+$`)

// TestGuideMMV runs the factory of the guide with the real agent and with ours, and the guide's
// program that reads the mapped file.
func TestGuideMMV(t *testing.T) {
	acme, mmvdump := demos.Build(t, "acme"), demos.Build(t, "mmvdump")
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "mmv"}})
	tmp := filepath.Join(d.Dir, "tmp")
	cmd := exec.Command(acme)
	cmd.Env = append(oracle.Env(), append(slices.Clone(d.Env), "PCP_TMP_DIR="+tmp)...)
	if err := oracle.StartWith(cmd, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	ours := startOursWith(t, d, ourConf(d, []string{"mmv 70 dso mmv_init $PMDAS/mmv/pmda_mmv.so"}), []string{"PCP_TMP_DIR=" + tmp})
	theirs := collector{name: "real pmcd", unix: d.Unix, env: d.Env}
	settled(t, func(errorf func(string, ...any)) {
		read := func(c collector) string {
			out := realTools.run(t, c.env, "pminfo", "-h", c.unix, "-dfmtTl", "mmv.acme")
			return guideValue.ReplaceAllString(out.Stdout, " value N") + out.Stderr
		}
		want, got := read(theirs), read(ours)
		if want != got {
			errorf("mmv.acme: (-real agent, +ours):\n%s", cmp.Diff(want, got))
		}
		if strings.Count(want, " value N\n") != 9 || !strings.Contains(want, `or "Giant_Rubber_Bands"]`) {
			errorf("values: %s", want)
		}
	})
	// Both programs read the file while it is written.
	file := filepath.Join(tmp, "mmv", "acme")
	number := regexp.MustCompile(`= \d+`)
	want := number.ReplaceAllString(runDemo(t, d.Env, mmvdump, file), "= N")
	ourDump := runOurs(t, d.Env, "mmvdump", file)
	got := number.ReplaceAllString(fmt.Sprintf("%s--\n%s--\nstatus %d\n", ourDump.Stdout, ourDump.Stderr, ourDump.Exit), "= N")
	if want != got || !strings.Contains(want, "acme") {
		t.Errorf("mmvdump (-C, +ours):\n%s", cmp.Diff(want, got))
	}
}

// TestGuideTxmon runs the C agent txmon under both collectors, and ours under our collector: the C
// program txrecord records transactions for each of them.
func TestGuideTxmon(t *testing.T) {
	// Each agent needs a segment of shared memory of its own.
	key := func(i int) string { return fmt.Sprintf("%#x", 0x67000000+os.Getpid()*4+i) }
	pmns := "root {\n\ttxmon\n}\ntxmon {\n\tcount 248:0:0\n\tave_time 248:0:1\n\tmax_time 248:0:2\n\treset_count 248:0:3\n\tcontrol\n}\n" +
		"txmon.control {\n\tlevel 248:0:4\n\treset 248:0:5\n}\n"
	agents := [2]string{}
	for i := range agents {
		agents[i] = demos.Build(t, "txmon", "0xdeadbeef", key(i))
	}
	t.Cleanup(func() { // C agents leave their segments when they end
		for i := range agents {
			if out, err := exec.Command("ipcrm", "-M", key(i)).CombinedOutput(); err != nil {
				t.Errorf("ipcrm: %v\n%s", err, out)
			}
		}
	})
	line := func(program string) string { return "txmon 248 pipe binary " + program + " -d 248 one two" }
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}, Lines: []string{line(agents[0])}, PMNS: pmns})
	sides := []collector{
		{name: "C agent, real pmcd", unix: d.Unix, env: d.Env},
		startOurs(t, d, ourConf(d, []string{line(agents[1])})),
		startOurs(t, d, ourConf(d, []string{line("env PCP_TXMON_KEY=" + key(2) + " " + twin.Tool(t, "pmdatxmon"))})),
	}
	sides[1].name, sides[2].name = "C agent, our pmcd", "our agent, our pmcd"
	read := func(c collector) string {
		out := realTools.run(t, c.env, "pminfo", "-h", c.unix, "-dfm", "txmon")
		return out.Stdout + out.Stderr
	}
	var want string
	for i, c := range sides {
		read(c) // the agent has made its segment when it answers
		out := runDemo(t, c.env, demos.Build(t, "txrecord", "0xdeadbeef", key(i)), "one", "1.5", "two", "2", "one", "2.5")
		if !strings.HasSuffix(out, "status 0\n") {
			t.Errorf("%s: txrecord: %s", c.name, out)
		}
		stored := realTools.run(t, c.env, "pmstore", "-h", c.unix, "txmon.control.level", "2")
		got := read(c) + stored.Stdout + stored.Stderr
		if i == 0 {
			want = got
			if !strings.Contains(want, `"one"] value 2`) {
				t.Errorf("%s: %s", c.name, want)
			}
		} else if want != got {
			t.Errorf("%s (-C agent and real pmcd, +this):\n%s", c.name, cmp.Diff(want, got))
		}
	}
}
