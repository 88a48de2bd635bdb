package pmcd_test

import (
	"testing"

	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
)

// TestStartFailure compares the log lines about agents that do not start with
// those of the C collector.
func TestStartFailure(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		spec       pmcd.AgentSpec
	}{
		{
			"no program", "pmcd: error starting /nonexistent/pmda: No such file or directory\n" +
				"pmcd: unexpected end-of-file at initial exchange with a PMDA\n",
			pmcd.AgentSpec{Transport: conf.Transport{Kind: conf.Pipe, Args: []string{"/nonexistent/pmda"}}},
		},
		{
			"ends", "pmcd: unexpected end-of-file at initial exchange with a PMDA\n",
			pmcd.AgentSpec{Transport: conf.Transport{Kind: conf.Pipe, Args: []string{"/bin/true"}}},
		},
		{
			"no socket", "pmcd: Error connecting to \"a\" agent : No such file or directory\n",
			pmcd.AgentSpec{Transport: conf.Transport{Kind: conf.Socket, Network: "unix", Address: "/nonexistent/socket"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Name, tt.spec.Domain = "a", 300
			report := new(logBuffer)
			start(t, pmcd.Config{Report: report, Agents: []pmcd.AgentSpec{tt.spec}})
			if got := report.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
