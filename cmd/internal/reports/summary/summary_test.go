package summary

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestSeven checks the archives that pmproxy receives and the width of lists, with PCP_COMPAT=7 and without.
func TestSeven(t *testing.T) {
	agents := strings.Fields("root pmcd proc pmproxy xfs sample sampledso podman linux nfsclient apache mmv kvm jbd2 dm")
	base := reporttest.Record(
		t, time.Second,
		reporttest.Metric{Name: "pmcd.version", Type: pcp.TypeString, Value: func(int, string) string { return "7.2.1" }},
		reporttest.Metric{Name: "pmcd.agent.status", Type: pcp.TypeU32, InDom: 1, Insts: agents, Value: func(int, string) string { return "0" }},
		reporttest.Metric{Name: receivedPaths, Type: pcp.TypeString, InDom: 2, Insts: []string{"1", "2"}, Value: func(_ int, inst string) string {
			return map[string]string{"1": "/log/fedora/1", "2": "/log/debian/2"}[inst]
		}},
	)
	for compat, want := range map[string]string{
		"": "     pmda: root pmcd proc pmproxy xfs sample sampledso podman linux\n           nfsclient apache mmv kvm jbd2 dm\n",
		"7": "     pmda: root pmcd proc pmproxy xfs sample sampledso podman linux nfsclient\n           apache mmv kvm jbd2 dm\n" +
			"  pmproxy: /log/debian/2\n           /log/fedora/1\n",
	} {
		out, status := reporttest.RunEnv(t, Command, map[string]string{"PCP_COMPAT": compat}, base)
		if status != 0 || !strings.HasSuffix(out, "\n"+want) {
			t.Errorf("PCP_COMPAT=%s: status %d\n%s\nwant at the end\n%s", compat, status, out, want)
		}
	}
}

// TestSevenLines compares the summary of PCP 7 with that of PCP 6: the name of the time zone, archives of pmproxy, and a pmie
// process whose log is called 0.
func TestSevenLines(t *testing.T) {
	one := func(inst, value string) []entry { return []entry{{inst: inst, value: value}} }
	v := values{
		one: map[string]string{"pmcd.version": "7.2.1", "pmcd.timezone": "CET-1", "pmcd.zoneinfo": ":Europe/Paris"},
		lists: map[string][]entry{
			"pmcd.pmie.pmcd_host": one("77", "web"), "pmcd.pmie.configfile": one("77", "c"), "pmcd.pmie.logfile": one("77", "0"), "pmcd.pmie.numrules": one("77", "2"),
			receivedPaths: {{inst: "2", value: "/log/b"}, {inst: "1", value: "/log/a"}},
		},
	}
	f := func(seven bool, want ...string) string {
		t.Helper()
		var b bytes.Buffer
		p := &page{env: &cli.Env{Stdout: &b}, values: v, seven: seven}
		p.print()
		for _, w := range want {
			if !strings.Contains(b.String(), w+"\n") {
				t.Errorf("seven %v: no %q in\n%s", seven, w, b.String())
			}
		}
		return b.String()
	}
	if out := f(false, " timezone: CET-1", "     pmcd: Version 7.2.1,", "     pmie: primary engine: 0"); strings.Contains(out, "pmproxy") {
		t.Error(out)
	}
	f(true, " timezone: CET-1 (Europe/Paris)", "     pmcd: Version 7.2.1,", "  pmproxy: /log/a", indent+"/log/b", "     pmie: web: 0")
	delete(v.one, "pmcd.version")
	f(false, "     pmcd: Version unknown,")
	if out := f(true); strings.Contains(out, "pmcd:") {
		t.Errorf("pmcd without a version:\n%s", out)
	}
}
