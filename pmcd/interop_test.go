package pmcd_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmcd"
)

// TestRealToolsSeeTheSame runs real tools against a real collector and ours, both
// with the same C agents, and compares their output.
func TestRealToolsSeeTheSame(t *testing.T) {
	agents := []string{"pmcd", "linux", "proc", "sample", "simple"}
	real := oracle.StartPMCD(t, oracle.Config{Agents: agents})
	t.Setenv("PCP_CONF", real.Dir+"/pcp.conf") // leads simple to its help
	ours := startTwin(t, real)
	for _, args := range [][]string{
		// One of sample's metrics is the collector's own, whose help text differs.
		{"pminfo", "-d", "sample"},
		{"pminfo", "-dtT", "sample.long", "sample.string", "sample.event", "simple"},
		{"pminfo", "-dmt", "linux", "kernel", "mem", "disk", "network", "filesys", "hinv", "swap"},
		{"pminfo", "-dt", "proc"},
		{"pminfo", "-f", "sample.long", "sample.float", "sample.string", "sample.aggregate", "sample.bin", "sample.event.type"},
		{"pminfo", "-fx", "sample.event.records"},
		{"pminfo", "-f", "sample.dynamic", "sample.secret", "sample.hordes.one"},
		{"pminfo", "-l", "sample.long.one", "simple.color"},
		{"pminfo", "-I", "simple.color", "sample.bin"},
		{"pminfo", "-f", "no.such.metric"},
		{"pminfo", "-dfmtTlsI", "simple.color", "sample.long.one"},
		{"pmprobe", "-v", "sample.long", "sample.bin", "sample.bad"},
		{"pmprobe", "-I", "sample.bin"},
		{"pmprobe", "-i", "sample.bin"},
		{"pmprobe", "-f", "hinv"},
		{"pmval", "-s", "2", "-t", "10msec", "-i", "bin-100,bin-900", "sample.bin"},
		{"pmstore", "sample.long.write_me", "77"},
		{"pminfo", "-f", "sample.long.write_me"},
		{"pmstore", "-i", "red", "simple.color", "300"},
		{"pmstore", "sample.long.one", "3"},
		// These need the client's identity.
		{"pminfo", "-f", "proc.runq.kernel", "sample.percontext.pdu"},
		{"pmprobe", "-v", "proc.nosuch", "hinv.ncpu"},
	} {
		tool := args[0]
		run := func(host string) oracle.Output {
			return oracle.Run(t, tool, append([]string{"-h", host}, args[1:]...)...)
		}
		for _, by := range [][2]string{{real.Unix, "unix:" + ours.Socket}, {real.TCP, ours.TCP}} {
			// Some values are of the machine and keep changing: processes start
			// and end. Both are asked again, so that they stay in step.
			d := "?"
			for try := 0; d != "" && try < 5; try++ {
				want, got := run(by[0]), run(by[1])
				clean(&want, by[0])
				clean(&got, by[1])
				d = cmp.Diff(want, got)
			}
			if d != "" {
				t.Errorf("%s by %s (-real +ours):\n%s", strings.Join(args, " "), by[1], d)
			}
		}
	}
}

// TestContainersAndCredentials needs C agents that ask who their clients are.
func TestContainersAndCredentials(t *testing.T) {
	real := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "proc"}})
	ours := startTwin(t, real)
	for _, args := range [][]string{
		{"?container=nosuch", "pminfo", "-f", "network.interface.in.bytes"},
		{"?container=nosuch", "pminfo", "-l", "hinv.ncpu"},
		{"", "pmprobe", "proc.psinfo.cmd"}, // of all processes, for root
	} {
		run := func(socket string) oracle.Output {
			out := oracle.Run(t, args[1], append([]string{"-h", "unix://" + socket + args[0]}, args[2:]...)...)
			clean(&out, socket)
			return out
		}
		want, got := run(real.Socket), run(ours.Socket)
		switch args[2] {
		case "proc.psinfo.cmd": // processes come and go
			var name string
			var n int
			if _, err := fmt.Sscan(got.Stdout, &name, &n); err != nil || n < 5 {
				t.Errorf("%q gives %+v, the real one %+v", args, got, want)
			}
			continue
		case "-f": // the agent's reason depends on its view of the root agent
			re := regexp.MustCompile(`Error: (Not Connected|Container not found)`)
			if !re.MatchString(got.Stdout) || !re.MatchString(want.Stdout) {
				t.Errorf("%q gives %+v, the real one %+v", args, got, want)
			}
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-real +ours):\n%s", args, d)
		}
	}
}

// clean takes the host's address and the time out of an output.
func clean(o *oracle.Output, host string) {
	for _, s := range []*string{&o.Stdout, &o.Stderr} {
		*s = strings.ReplaceAll(*s, host, "HOST")
		*s = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+`).ReplaceAllString(*s, "TIME")
	}
}

// TestOwnMetrics compares the metrics of our agent pmcd with those of the real
// one: all but the help text, which is ours.
func TestOwnMetrics(t *testing.T) {
	real := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}})
	ours := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(t, "pmcd")}})
	describe := func(host string) map[string]string {
		t.Helper()
		out := oracle.Run(t, "pminfo", "-h", host, "-dm", "pmcd")
		if out.Exit != 0 {
			t.Fatalf("pminfo: %s", out.Stderr)
		}
		found := map[string]string{}
		for _, block := range strings.Split(strings.TrimSpace(out.Stdout), "\n\n") {
			name, _, _ := strings.Cut(block, " ")
			found[name] = block
		}
		return found
	}
	want, got := describe(real.TCP), describe(ours.TCP)
	if len(got) < 80 {
		t.Errorf("only %d metrics", len(got))
	}
	for _, name := range []string{ // of 7.2
		"pmcd.control.creds_timeout", "pmcd.limits.contexts", "pmcd.limits.inpdusize", "pmcd.limits.metrics", "pmcd.pmlogger.note",
	} {
		if got[name] == "" {
			t.Errorf("there is no %s", name)
		}
		if want[name] == "" {
			delete(got, name)
		}
	}
	for name, block := range got {
		if want[name] != block {
			t.Errorf("ours\n%s\nreal\n%s", block, want[name])
		}
	}
	missing := map[string]bool{}
	for name := range want {
		if got[name] == "" {
			missing[name] = true
		}
	}
	for name := range missing {
		t.Errorf("%s is missing", name)
	}
	// All of ours have help and values.
	out := oracle.Run(t, "pminfo", "-h", ours.TCP, "-tT", "pmcd")
	if strings.Contains(out.Stdout+out.Stderr, "not available") || strings.Contains(out.Stdout+out.Stderr, "Error") {
		t.Errorf("help text is missing:\n%s%s", out.Stdout, out.Stderr)
	}
	out = oracle.Run(t, "pmprobe", "-h", ours.TCP, "pmcd")
	// Other daemons need not run here, and there are no pools of buffers.
	daemons := regexp.MustCompile(`^pmcd\.(pmlogger|pmie|buf)\.\S+ 0$`)
	for line := range strings.Lines(out.Stdout) {
		if daemons.MatchString(strings.TrimSpace(line)) {
			continue
		}
		if f := strings.Fields(line); len(f) < 2 || f[1] == "0" || strings.HasPrefix(f[1], "-") {
			t.Errorf("no value: %s", line)
		}
	}
	for metric, want := range map[string]string{
		"pmcd.agent.status": "inst [2 or \"pmcd\"] value 0", "pmcd.simabi": "value \"", "pmcd.control.timeout": "value 60",
	} {
		if out := oracle.Run(t, "pminfo", "-h", ours.TCP, "-f", metric); !strings.Contains(out.Stdout, want) {
			t.Errorf("%s: %s, want %s", metric, out.Stdout, want)
		}
	}
}

// TestPython uses the collector as python3-pcp's programs do.
func TestPython(t *testing.T) {
	ours := start(t, pmcd.Config{Agents: []pmcd.AgentSpec{builtin(t, "pmcd"), builtin(t, "simple"), builtin(t, "linux")}})
	out := oracle.Python(t, nil, `
import sys
from pcp import pmapi
import cpmapi as c
ctx = pmapi.pmContext(c.PM_CONTEXT_HOST, sys.argv[1])
names = ("simple.color", "pmcd.agent.status", "kernel.all.load")
ids = ctx.pmLookupName(names)
descs = ctx.pmLookupDescs(ids)
print([c.PM_TYPE_32, c.PM_TYPE_32, c.PM_TYPE_FLOAT] == [d.contents.type for d in descs])
print(ctx.pmGetInDom(descs[0]))
res = ctx.pmFetch(ids)
print([res.contents.get_numval(i) for i in range(3)])
print(ctx.pmNameID(ids[0]))
print(ctx.pmGetContextHostName() != "")
print(sorted(ctx.pmGetChildren("simple")))
ctx.pmTraversePMNS("simple.time", lambda n: print(n))
try:
    ctx.pmLookupName("no.such")
except pmapi.pmErr as e:
    print(e.errno() == c.PM_ERR_NAME)
print(ctx.pmLookupText(ids[0], c.PM_TEXT_ONELINE) != "")
print(ctx.pmLookupLabels(ids[0]) is not None)
`, "unix://"+ours.Socket)
	want := `True
([0, 1, 2], ['red', 'green', 'blue'])
[3, 3, 3]
simple.color
True
['color', 'now', 'numfetch', 'time']
simple.time.user
simple.time.sys
True
True
True
`
	lines := strings.SplitAfter(out.Stdout, "\n")
	if d := cmp.Diff(want, strings.Join(lines, "")); d != "" || out.Exit != 0 {
		t.Errorf("python (-want +got):\n%s%s", d, out.Stderr)
	}
}
