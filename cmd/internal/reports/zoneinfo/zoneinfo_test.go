package zoneinfo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

var (
	zones = []string{"Normal::node10", "DMA32::node10", "DMA::node10", "Normal::node2"}
	kept  = []string{
		"Normal::node10::lowmem_reserved0", "DMA::node10::lowmem_reserved1", "DMA::node10::lowmem_reserved0", "DMA32::node10::lowmem_reserved0",
		"Normal::node2::lowmem_reserved0", "Movable::node10::lowmem_reserved0",
	}
)

// record writes an archive, without some of the metrics, and with more zones if some names have colons.
func record(t *testing.T, names ...string) string {
	t.Helper()
	list := reporttest.Machine()
	all, insts := slices.Concat(always, since5), slices.Clone(zones)
	for _, name := range names {
		if strings.Contains(name, "::") || strings.HasPrefix(name, "odd") {
			insts = append(insts, name)
		}
	}
	for _, name := range all {
		m := reporttest.Metric{Name: below + name, InDom: 14, Insts: insts}
		switch {
		case name == "protection":
			m.InDom, m.Insts = 15, kept
			m.Value = func(_ int, inst string) string {
				return []string{"40", "83", "0", "400", "4", "8"}[slices.Index(kept, inst)]
			}
		case slices.Contains(perNode, name) && !slices.Contains(names, "nr_zspages"):
			m.InDom, m.Insts = 16, []string{"node2", "node10"}
		default:
			m.Value = func(n int, inst string) string {
				if name == "free" {
					return []string{"18446744073709551615", "403"}[min(n, 1)]
				}
				return "8"
			}
		}
		list = append(list, m)
	}
	return reporttest.Record(t, time.Second, slices.DeleteFunc(list, func(m reporttest.Metric) bool {
		return slices.Contains(names, strings.TrimPrefix(m.Name, below))
	})...)
}

// short returns the report with similar lines of a node or zone merged.
func short(out string) string {
	var b strings.Builder
	last := ""
	for line := range strings.Lines(out) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(word, "nr_") || strings.HasPrefix(word, "numa_") || slices.Contains([]string{"min", "low", "high", "spanned", "present", "managed"}, word) {
			if line = "\t… " + value + "\n"; line == last {
				continue
			}
		}
		b.WriteString(line)
		last = line
	}
	return b.String()
}

// TestReport checks the report of nodes, which are in the order of their numbers.
func TestReport(t *testing.T) {
	base := record(t)
	out, status := reporttest.Run(t, Command, base, "-s", "1")
	want := reporttest.Uname + `TimeStamp = 22:13:21
NODE  2, per-node status
	… 512
Node 2, zone    Normal
	pages free 4611686018427387904
	… 2
              protection [1]
	… 2
NODE 10, per-node status
	… 512
Node 10, zone    DMA
	pages free 4611686018427387904
	… 2
              protection [0, 20]
	… 2
Node 10, zone    DMA32
	pages free 4611686018427387904
	… 2
              protection [100]
	… 2
Node 10, zone    Normal
	pages free 4611686018427387904
	… 2
              protection [10]
	… 2
Node 10, zone    Movable
	 pages free 0
	… 0
              protection [2]
`
	if got := short(out); got != want || status != 0 {
		t.Errorf("status %d\n%s\nwant\n%s", status, got, want)
	}
	if n := strings.Count(out, "\n"); n != 2+2*(1+len(perNode))+4*(1+len(ofPages)+1+len(perZone))+1+len(ofPages)+1 {
		t.Errorf("%d lines", n)
	}
	if out, status = reporttest.Run(t, Command, base, "-a", base, "-s", "2", "-Z", "EST5EDT"); status != 0 || strings.Count(out, "pages free 100\n") != 4 || !strings.Contains(out, "TimeStamp = 17:13:24\n") {
		t.Errorf("-s 2: status %d\n%s", status, out)
	}
}

// TestOldKernels checks the report without the metrics of newer kernels.
func TestOldKernels(t *testing.T) {
	out, status := reporttest.Run(t, Command, record(t, "nr_zspages", "odd", "odd::zone"), "-s", "1")
	zone := func(title, protection string) string {
		return title + "\n\tper-node status\n\t… 2\n\tpages free 4611686018427387904\n\t… 2\n              protection " + protection + "\n\t… 2\n"
	}
	want := reporttest.Uname + "TimeStamp = 22:13:21\n" + zone("Node 10, zone    DMA", "[0, 20]") + zone("Node 10, zone    DMA32", "[100]") +
		zone("Node 10, zone    Normal", "[10]") + zone("Node 2, zone    Normal", "[1]") + zone("Invalid input format", "[]") + zone("Invalid input format", "[]")
	if got := short(out); got != want || status != 0 {
		t.Errorf("status %d\n%s\nwant\n%s", status, got, want)
	}
	if strings.Contains(out, "numa_local") || strings.Contains(out, "nr_zone_") {
		t.Errorf("lines of newer kernels:\n%s", out)
	}
}

// TestOthers checks JSON and errors.
func TestOthers(t *testing.T) {
	f := func(base, args, want string, wantStatus int) {
		t.Helper()
		if out, status := reporttest.Run(t, Command, base, strings.Fields(args)...); !strings.Contains(out, want) || status != wantStatus {
			t.Errorf("%s: status %d, %q, want %q", args, status, out, want)
		}
	}
	base := record(t)
	f(base, "--json -s 1", `{"time":"2023-11-14T22:13:21Z","host":"cellar","instance":"node10","units":"pages","columns":{"nr_inactive_anon":512,`, 0)
	f(base, "--json -s 1", `"instance":"DMA::node10","units":"pages","columns":{"free":4.611686018427388e+18,"min":2,`, 0)
	f(base, "-x", "invalid option -- 'x'", 1)
	f(record(t, "odd"), "-s 1", "TimeStamp = 22:13:21\nIncorrect machine info due to some missing metrics\n", 0)
	f(record(t, "DMA::nodex"), "-s 1", "pcp-zoneinfo: mem.zoneinfo.present: \"DMA::nodex\" is not a zone of a node\n", 1)
	f(record(t, "min", "hinv.ncpu"), "", "pcp-zoneinfo: pmLookupName: Unknown metric name [b'mem.zoneinfo.min']", 1)
	f(record(t, "hinv.ncpu"), "", "pcp-zoneinfo: pmLookupName: Unknown metric name [b'hinv.ncpu']", 1)
	f("nosuch", "", "No such file or directory ['nosuch']\n", 0)
}
