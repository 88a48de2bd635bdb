package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/docpage"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestKernelLatencyPage enables the agent bpf in a collector as docs/bpf.md does, and runs the commands of the page. Where the kernel refuses the
// programs, the collector has the reason.
func TestKernelLatencyPage(t *testing.T) {
	w := newPageWorld(t)
	conf := filepath.Join(w.dir, "etc", "pmcd", "pmcd.conf")
	if err := os.MkdirAll(filepath.Dir(conf), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "PCP_PMCDCONF_PATH="+conf, "PCP_PMDAS_DIR="+filepath.Join(w.dir, "pmdas"))
	ran := map[string]bool{}
	run := func(line string) string {
		t.Helper()
		ran[line] = true
		out, err := w.command(t.Context(), line).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	const enable = "pcp agent enable --reload bpf"
	ran[enable] = true               // without the signal, as no collector runs
	ran["pcp up --agent bpf"] = true // by TestAgentOption of serve/up
	if out := run("pcp agent enable bpf"); !strings.Contains(out, "agent bpf is enabled, with domain 157") {
		t.Fatalf("%s: %s", enable, out)
	}
	pmcd := w.start(t, "pcp pmcd -f -A -c "+conf+" -p "+w.port+" -s "+w.socket+" -l "+filepath.Join(w.dir, "pmcd.log"))
	t.Cleanup(func() { w.stop(t, pmcd, "pcp pmcd") })
	await.Until(t, "the collector answers", func() bool { return w.command(t.Context(), "pcp info -f bpf.module.state").Run() == nil })
	state := run("pcp info -f bpf.module.state")
	if !strings.Contains(state, `"runqlat"] value "`) {
		t.Fatalf("there is no state of the module:\n%s", state)
	}
	if out := run("pcp info -f bpf.runq.latency"); strings.Contains(state, `"runqlat"] value "running"`) != strings.Contains(out, "inst [") {
		t.Errorf("a module in the state\n%s\nhas the values\n%s", state, out)
	}
	const view = "pcp rep -s 3 :bpf-runq"
	if ran[view] = true; strings.Contains(state, `"runqlat"] value "running"`) {
		if out := run(view); !strings.Contains(out, "1024-2047") {
			t.Errorf("the view has no ranges:\n%s", out)
		}
	}
	run("pcp store -i runqlat bpf.control.enabled 0")
	if out := run("pcp info -f bpf.module.state"); !strings.Contains(out, `"runqlat"] value "off"`) {
		t.Errorf("the module is not off:\n%s", out)
	}
	for _, c := range docpage.Read(t, "docs/bpf.md").Typed(func(name string) bool { return name == "pcp" }) {
		if !ran[c.Text] {
			t.Errorf("%s:%d: %s: no test runs it", c.Page, c.Line, c.Text)
		}
	}
}
