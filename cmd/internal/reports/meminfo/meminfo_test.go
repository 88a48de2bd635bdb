package meminfo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// record writes an archive without some of the metrics.
func record(t *testing.T, without ...string) string {
	t.Helper()
	metrics := reporttest.Machine()
	for _, l := range lines {
		m := reporttest.Metric{Name: l.metric}
		if l.metric == "mem.util.bounce" { // has a late value
			m.Value = func(n int, _ string) string { return []string{"", "2048"}[n/(reporttest.Samples-1)] }
		}
		metrics = append(metrics, m)
	}
	return reporttest.Record(t, time.Second, slices.DeleteFunc(metrics, func(m reporttest.Metric) bool { return slices.Contains(without, m.Name) })...)
}

// TestReport checks the report, whose groups of metrics are one interval apart as in the C
// program.
func TestReport(t *testing.T) {
	base := record(t)
	out, status := reporttest.Run(t, Command, base, "-s", "2")
	for _, want := range []string{
		reporttest.Uname + "Timestamp         : 11/14/2023 22:13:20\nMemTotal          : 2048 kB\n",
		"Bounce            : NA\n", "HugePages_Total   : 2048 \n", "Hugepagesize      : 2 kB\n", "DirectMap1G       : 2048 kB\n\nTimestamp         : 11/14/2023 22:13:22\n",
	} {
		if !strings.Contains(out, want) || status != 0 {
			t.Errorf("status %d, no %q in:\n%s", status, want, out)
		}
	}
	if n := strings.Count(out, "\n"); n != 1+2*(len(lines)+2) {
		t.Errorf("%d lines", n)
	}
	out, status = reporttest.Run(t, Command, base, "--json", "-z", "x", "-s", "1")
	if want := `{"time":"2023-11-14T22:13:21Z","host":"cellar","units":"Kbyte","columns":{"MemTotal":2048,"MemFree":2048,`; !strings.HasPrefix(out, want) || status != 0 || !strings.Contains(out, `"Bounce":null`) {
		t.Errorf("--json: status %d, %s", status, out)
	}
	out, status = reporttest.Run(t, Command, record(t, "mem.util.free"))
	if want := "Error: not all required metrics are available\nMissing: ['mem.util.free']\n"; out != want || status != 1 {
		t.Errorf("status %d, %q, want %q", status, out, want)
	}
	if out, status = reporttest.Run(t, Command, "nosuch"); out != "pcp-meminfo No such file or directory ['nosuch']\n" || status != 0 {
		t.Errorf("status %d, %q", status, out)
	}
	if out, status = reporttest.Run(t, Command, base, "-?"); status != 1 || !strings.Contains(out, "invalid option -- '?'") {
		t.Errorf("status %d, %q", status, out)
	}
	if _, status = reporttest.Run(t, Command, "x", "-a", base, "--help"); status != 1 {
		t.Errorf("--help: status %d", status)
	}
}
