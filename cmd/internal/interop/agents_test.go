package interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestRealAgentsUnderOurs runs the C agents as processes of our collector and
// compares their metrics there with those in the real one.
func TestRealAgentsUnderOurs(t *testing.T) {
	names := []string{"simple", "sample", "trivial", "linux"}
	d := oracle.StartPMCD(t, oracle.Config{Agents: names})
	theirs := collector{name: "real pmcd", tcp: d.TCP, unix: d.Unix, env: d.Env}
	ours := startOurs(t, d, fmt.Sprintf(`
simple	253	pipe	binary	%[1]s/simple/pmdasimple -d 253
sample	29	pipe	binary	%[1]s/sample/pmdasample -d 29
trivial	250	pipe	binary	%[1]s/trivial/pmdatrivial -d 250
linux	60	pipe	binary	%[1]s/linux/pmdalinux -d 60
[access]
allow "*" : all;
`, d.PMDAs))
	settled(t, func(errorf func(string, ...any)) {
		for _, group := range []string{"simple", "sample", "trivial", "hinv", "kernel.uname", "swap", "mem.util"} {
			want := realTools.see(t, theirs, group)
			got := realTools.see(t, ours, group)
			if diff := cmp.Diff(sortedNames(want), sortedNames(got)); diff != "" {
				errorf("%s: (-real pmcd, +ours):\n%s", group, diff)
			}
			for name, w := range want {
				g := got[name]
				compareDesc(errorf, name, g, w)
				compareInsts(errorf, name, g, w)
			}
			// Text and labels are from the same agent, so they are the same.
			for _, options := range []string{"-tT", "-l"} {
				w := realTools.run(t, theirs.env, "pminfo", "-h", theirs.unix, options, group)
				g := realTools.run(t, ours.env, "pminfo", "-h", ours.unix, options, group)
				if diff := cmp.Diff(withoutUnsteady(w), withoutUnsteady(g)); diff != "" {
					errorf("pminfo %s %s: (-real pmcd, +ours):\n%s", options, group, diff)
				}
			}
		}
	})
}

// TestOurAgentsUnderReal runs our agents as processes of the real collector
// and compares them with the same agents in our process.
func TestOurAgentsUnderReal(t *testing.T) {
	binary := func(name string) string { return twin.Tool(t, name) }
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines: []string{
			"simple 253 pipe binary " + binary("pmdasimple") + " -d 253",
			"trivial 250 pipe binary " + binary("pmdatrivial") + " -d 250",
			"linux 60 pipe binary " + binary("pmdalinux") + " -d 60",
			"xfs 11 pipe binary " + binary("pmdaxfs") + " -d 11",
			"kvm 95 pipe binary " + binary("pmdakvm") + " -d 95",
			"jbd2 122 pipe binary " + binary("pmdajbd2") + " -d 122",
		},
		PMNS: `root { simple trivial xfs kvm jbd2 load 60:2:0 ncpu 60:0:32 }
xfs { reclaims 11:18:31 reset 11:16:79 accounting 11:30:0 }
kvm { trace 95:*:* nested_run 95:0:39 }
jbd2 { count 122:0:1 }
simple { numfetch 253:0:0 color 253:0:1 time now 253:2:4 }
simple.time { user 253:1:2 sys 253:1:3 }
trivial { time 250:0:0 }
`,
	})
	theirs := collector{name: "real pmcd", tcp: d.TCP, unix: d.Unix, env: d.Env}
	ours := startOurs(t, d, `
simple	253	dso	simple_init	/none/pmda_simple.so
trivial	250	dso	trivial_init	/none/pmda_trivial.so
linux	60	dso	linux_init	/none/pmda_linux.so
xfs	11	dso	xfs_init	/none/pmda_xfs.so
kvm	95	dso	kvm_init	/none/pmda_kvm.so
jbd2	122	dso	jbd2_init	/none/pmda_jbd2.so
[access]
allow "*" : all;
`)
	settled(t, func(errorf func(string, ...any)) {
		for _, group := range []string{"simple", "trivial", "xfs", "kvm", "jbd2"} {
			want := realTools.see(t, ours, group)
			got := realTools.see(t, theirs, group)
			for name, w := range want {
				compareDesc(errorf, name, got[name], w)
				compareInsts(errorf, name, got[name], w)
			}
			for _, options := range []string{"-tT", "-l"} {
				if options == "-l" && (group == "xfs" || group == "jbd2") {
					continue // have no labels, as in C; our collector adds the label agent to agents in its process
				}
				w := realTools.run(t, ours.env, "pminfo", "-h", ours.unix, options, group)
				g := realTools.run(t, theirs.env, "pminfo", "-h", theirs.unix, options, group)
				if diff := cmp.Diff(withoutUnsteady(w), withoutUnsteady(g)); diff != "" {
					errorf("pminfo %s %s: (-our pmcd, +real):\n%s", options, group, diff)
				}
			}
		}
	})
	// linux is the agent with the most metrics; two of them will do.
	out := realTools.run(t, theirs.env, "pminfo", "-h", theirs.unix, "-df", "load", "ncpu")
	if out.Exit != 0 || !strings.Contains(out.Stdout, `inst [15 or "15 minute"] value`) || !strings.Contains(out.Stdout, "\n    value ") {
		t.Errorf("our linux under the real pmcd: exit %d, %q, %q", out.Exit, out.Stdout, out.Stderr)
	}
}
