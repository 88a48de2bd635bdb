package buddyinfo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// record writes an archive, with additional instances if some are given.
func record(t *testing.T, more ...string) string {
	t.Helper()
	insts := append([]string{"Normal::order10::node0", "Normal::order9::node0", "DMA::order9::node0", "Normal::order9::node1", "odd"}, more...)
	list := reporttest.Machine()
	for _, name := range metrics {
		list = append(list, reporttest.Metric{Name: name, InDom: 38, Insts: insts, Value: func(_ int, inst string) string {
			return []string{"17", "123456789", "3"}[slices.Index(insts, inst)%3]
		}})
	}
	return reporttest.Record(t, 2*time.Second, list...)
}

// TestReport checks the table. The C program fetches a group of metrics needlessly, so that the table
// is of the time after one interval, or with -u of the second record.
func TestReport(t *testing.T) {
	base := record(t)
	out, status := reporttest.Run(t, Command, base, "-s", "2")
	want := reporttest.Uname + `TimeStamp         Normal             Nodes        Order0    Order1    Order2    Order3    Order4    Order5    Order6    Order7    Order8    Order9    Order10
22:13:21          DMA                node0          3         0          ~
22:13:21          DMA                node1          0         0          ~
22:13:21          Normal             node0          123456789  17         ~
22:13:21          Normal             node1          17        0          ~
`
	if first, _, _ := strings.Cut(out, reporttest.Uname+"TimeStamp         Normal             Nodes        Order0    Order1    Order2    Order3    Order4    Order5    Order6    Order7    Order8    Order9    Order10\n22:13:23"); strings.ReplaceAll(want, "~", "") != first || status != 0 {
		t.Errorf("status %d\n%s\nwant\n%s", status, out, want)
	}
	if out, status = reporttest.Run(t, Command, base, "-u", "-z"); status != 0 || !strings.Contains(out, "\n22:13:22 ") || strings.Contains(out, "22:13:24") || !strings.Contains(out, "22:13:26") {
		t.Errorf("-u: status %d\n%s", status, out)
	}
	if out, status = reporttest.Run(t, Command, base, "--json", "-s", "1"); status != 0 || !strings.HasPrefix(out, `{"time":"2023-11-14T22:13:21Z","host":"cellar","instance":"DMA::node0","columns":{"order9":3,"order10":0}}`) {
		t.Errorf("--json: status %d, %s", status, out)
	}
	if out, status = reporttest.Run(t, Command, record(t, "DMA::orderx::node0")); status != 1 || out != "pcp-buddyinfo: mem.buddyinfo.pages: \"orderx\" is not a size of blocks\n" {
		t.Errorf("status %d, %s", status, out)
	}
	if _, status = reporttest.Run(t, Command, base, "-x"); status != 1 {
		t.Errorf("-x: status %d", status)
	}
}
