package slabinfo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// record writes an archive without some of the metrics, or the values of some ("dentry mem.slabinfo.slabs.total").
func record(t *testing.T, without ...string) string {
	t.Helper()
	list, insts := reporttest.Machine(), []string{"kmalloc-8", "Acpi-State", "dentry"}
	for i, name := range metrics {
		list = append(list, reporttest.Metric{Name: name, InDom: 12, Insts: insts, Value: func(_ int, inst string) string {
			if slices.Contains(without, inst+" "+name) {
				return ""
			}
			return []string{"300000000", "1", "20"}[(slices.Index(insts, inst)+i)%3]
		}})
	}
	return reporttest.Record(t, time.Second, slices.DeleteFunc(list, func(m reporttest.Metric) bool { return slices.Contains(without, m.Name) })...)
}

// TestReport checks the table, whose groups of metrics are one interval apart as in the C program.
func TestReport(t *testing.T) {
	base := record(t)
	out, status := reporttest.Run(t, Command, base, "-s", "2")
	gap := strings.Repeat(" ", 11)
	row := "22:13:21          Acpi-State               " + gap + "      20 " // and so on
	if status != 0 || strings.Count(out, reporttest.Uname+"TimeStamp         Name") != 2 || !strings.Contains(out, row) {
		t.Errorf("status %d, no %q in:\n%s", status, row, out)
	}
	if i, j := strings.Index(out, "dentry"), strings.Index(out, "kmalloc-8"); i < 0 || j < i || strings.Count(out, "22:13:24") != 3 {
		t.Errorf("not sorted, or at other times:\n%s", out)
	}
	out, status = reporttest.Run(t, Command, base, "--json", "-s", "1", "-a", base)
	if want := `{"time":"2023-11-14T22:13:21Z","host":"cellar","instance":"Acpi-State","columns":{"mem.slabinfo.objects.active":20,`; !strings.HasPrefix(out, want) || status != 0 {
		t.Errorf("--json: status %d, %s", status, out)
	}
	out, status = reporttest.Run(t, Command, record(t, "dentry mem.slabinfo.objects.size"))
	if want := "pcp-slabinfo: mem.slabinfo.objects.size: no value for \"dentry\"\n"; !strings.HasSuffix(out, want) || status != 1 {
		t.Errorf("status %d, %q, want %q", status, out, want)
	}
	out, status = reporttest.Run(t, Command, record(t, "hinv.ncpu"))
	if want := "Missing ['hinv.ncpu']\n"; !strings.HasSuffix(out, want) || status != 1 {
		t.Errorf("status %d, %q, want %q", status, out, want)
	}
	if _, status = reporttest.Run(t, Command, base, "-x"); status != 1 {
		t.Errorf("-x: status %d", status)
	}
}
