package mpstat

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// TestSeven checks that with PCP_COMPAT=7 the time of guests is not part of that of users.
func TestSeven(t *testing.T) {
	processors := []string{"cpu0", "cpu1"}
	metrics := []reporttest.Metric{
		{Name: "kernel.all.intr", Sem: pcp.SemCounter},
		{Name: "kernel.percpu.intr", Sem: pcp.SemCounter, InDom: 1, Insts: processors},
		{Name: numbers, InDom: 1, Insts: processors},
		{Name: online, InDom: 1, Insts: processors},
	}
	metrics = append(metrics, reporttest.Machine()...)
	for _, name := range []string{"user", "vuser", "nice", "vnice", "sys", "wait.total", "irq.hard", "irq.soft", "steal", "guest", "guest_nice", "idle"} {
		// A second of four processors has 4000 ms.
		step := map[string]int{"user": 2000, "vuser": 1000, "guest": 1000, "idle": 2000}[name]
		value := func(n int, _ string) string { return strconv.Itoa(n * step) }
		metrics = append(
			metrics,
			reporttest.Metric{Name: "kernel.all.cpu." + name, Sem: pcp.SemCounter, Value: value},
			reporttest.Metric{Name: "kernel.percpu.cpu." + name, Sem: pcp.SemCounter, InDom: 1, Insts: processors, Value: value},
		)
	}
	base := reporttest.Record(t, time.Second, metrics...)
	for _, c := range []struct{ compat, usr string }{{"", "50.0"}, {"7", "25.0"}} {
		out, status := reporttest.RunEnv(t, Command, map[string]string{"PCP_COMPAT": c.compat}, base, "-s", "3")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if last := strings.Fields(lines[len(lines)-1]); status != 0 || len(last) < 3 || last[2] != c.usr {
			t.Errorf("PCP_COMPAT=%s: status %d, want %s of users:\n%s", c.compat, status, c.usr, out)
		}
	}
}
