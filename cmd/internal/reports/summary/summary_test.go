package summary

import (
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// TestSeven checks the archives that pmproxy receives and the width of lists, with PCP_COMPAT=7 and without.
func TestSeven(t *testing.T) {
	agents := strings.Fields("root pmcd proc pmproxy xfs sample sampledso podman linux nfsclient apache mmv kvm jbd2 dm")
	base := reporttest.Record(
		t, time.Second,
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
