package uptime

import (
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// TestSeven checks that with PCP_COMPAT=7 values that are missing at the time are question marks. 6.0.3 shows the first record with values.
func TestSeven(t *testing.T) {
	later := func(text string) func(int, string) string {
		return func(n int, _ string) string {
			if n == 0 {
				return ""
			}
			return text
		}
	}
	base := reporttest.Record(
		t, time.Minute,
		reporttest.Metric{Name: "other", Value: func(int, string) string { return "1" }},
		reporttest.Metric{Name: upMetric, Type: pcp.TypeU32, Value: later("90061")},
		reporttest.Metric{Name: usersMetric, Type: pcp.TypeU32, Value: later("1")},
		reporttest.Metric{Name: loadMetric, Type: pcp.TypeFloat, InDom: 2, Insts: []string{"1 minute", "5 minute", "15 minute"}, Value: func(n int, inst string) string {
			return map[string]string{"1 minute": later("0.5")(n, inst), "5 minute": later("0.4")(n, inst), "15 minute": later("0.3")(n, inst)}[inst]
		}},
	)
	for _, c := range []struct{ compat, at, want string }{
		{"", "", " 22:14:20 up 1 day,  1:01, 1 user,  load average: 0.50, 0.40, 0.30\n"},
		{"7", "", " 22:13:20 up ? time, ? users, load average: ?, ?, ?\n"},
		{"7", "70sec", " 22:14:30 up 1 day,  1:01, 1 user,  load average: 0.50, 0.40, 0.30\n"},
	} {
		vars := map[string]string{"PCP_COMPAT": c.compat}
		if c.at != "" {
			vars["PCP_ORIGIN_TIME"] = c.at
		}
		if out, status := reporttest.RunEnv(t, Command, vars, base); status != 0 || out != c.want {
			t.Errorf("PCP_COMPAT=%s at %s: status %d, %q, want %q", c.compat, c.at, status, out, c.want)
		}
	}
}
