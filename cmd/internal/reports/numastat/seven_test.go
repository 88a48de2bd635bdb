package numastat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// record writes an archive of a host with three nodes, one of which is offline, and three processes.
func record(t *testing.T) string {
	t.Helper()
	list := reporttest.Machine()
	nodes := []string{"node0", "node1", "node2"}
	online := func(_ int, inst string) string {
		return map[string]string{"node0": "1", "node1": "1", "node2": "0"}[inst]
	}
	list = append(list, reporttest.Metric{Name: "hinv.node.online", Type: pcp.TypeU32, InDom: 1, Insts: nodes, Value: online})
	number := func(_ int, inst string) string { return inst[len("node"):] + "00" }
	for _, name := range metrics {
		list = append(list, reporttest.Metric{Name: name, InDom: 1, Insts: nodes, Value: number})
	}
	for _, name := range memory {
		if name != "kreclaimable" {
			list = append(list, reporttest.Metric{Name: memPrefix + name, InDom: 1, Insts: nodes, Value: number})
		}
	}
	processes := []string{"000007 db", "000012 web", "000031 db"}
	field := func(i int) func(int, string) string {
		return func(_ int, inst string) string { return strings.Fields(strings.TrimLeft(inst, "0"))[i] }
	}
	add := func(name string, typ pcp.Type, value func(int, string) string) {
		list = append(list, reporttest.Metric{Name: name, Type: typ, InDom: 2, Insts: processes, Value: value})
	}
	add(pidMetric, pcp.TypeU32, field(0))
	add(commandMetric, pcp.TypeString, field(1))
	add(argsMetric, pcp.TypeString, func(_ int, inst string) string { return "/bin/" + inst[len(inst)-2:] + " -v" })
	for i, use := range uses {
		add(mapsPrefix+use, pcp.TypeString, func(_ int, inst string) string {
			if strings.HasSuffix(inst, "web") {
				return ""
			}
			return fmt.Sprintf("node0:%d.50,node1:0.00,odd,node:1,node9:x", i)
		})
	}
	return reporttest.Record(t, time.Second, list...)
}

const head = "Linux  6.1  (cellar)  11/14/23  arm64    (4 CPU)\nTimestamp            : 11/14/2023 22:13:20\n"

func TestMemory(t *testing.T) {
	base := record(t)
	out, status := reporttest.Run(t, Command, base, "-m", "-n")
	for _, want := range []string{
		head + "Per-node system memory usage (KB)\n" + strings.Repeat(" ", 30) + "node0       node1       \nTotal                :           00         100\n",
		"Active_anon          :           00         100\n", "Kreclaimable         :           NA          NA\n\n",
		"NUMA memory allocation statistics (pages)\n", "Interleave_hit       :           00         100\n",
	} {
		if want = strings.ReplaceAll(want, "          00 ", "           0 "); !strings.Contains(out, want) || status != 0 {
			t.Errorf("status %d, no %q in:\n%s", status, want, out)
		}
	}
	out, _ = reporttest.Run(t, Command, base, "-n", "-w", "32")
	if want := strings.Repeat(" ", 30) + "node0       \nHit                  :            0\n" + strings.Repeat(" ", 30) + "node1       \nHit                  :          100\n"; !strings.Contains(out, want) {
		t.Errorf("no %q in:\n%s", want, out)
	}
}

// TestSeven: with PCP_COMPAT=7 the report without options is that of -n.
func TestSeven(t *testing.T) {
	base := record(t)
	want, _ := reporttest.Run(t, Command, base, "-n")
	if out, status := reporttest.RunEnv(t, Command, map[string]string{"PCP_COMPAT": "7"}, base); out != want || status != 0 {
		t.Errorf("status %d, %s\nwant\n%s", status, out, want)
	}
	if out, _ := reporttest.Run(t, Command, base); out == want {
		t.Errorf("the report of version 7 without PCP_COMPAT:\n%s", out)
	}
}

func TestProcesses(t *testing.T) {
	base := record(t)
	f := func(want string, args ...string) {
		t.Helper()
		out, status := reporttest.Run(t, Command, base, args...)
		if want = head + want; out != want || status != 0 {
			t.Errorf("%q: status %d:\n%s\nwant:\n%s", args, status, out, want)
		}
	}
	line := strings.Repeat("  "+strings.Repeat("-", 15), 3) + "\n"
	titles := "           Node 0           Node 1            Total\n"
	const hyphens = "----------------"
	detail := "Per-node process memory usage (in MBs) for PID 7 (db)\n" + strings.Repeat(" ", 16) + titles + strings.Repeat(" ", 16) + line +
		"Huge                         0.50             0.00             0.50\n" +
		"Heap                         1.50             0.00             1.50\n" +
		"Stack                        2.50             0.00             2.50\n" +
		"Private                      3.50             0.00             3.50\n" + hyphens + line +
		"Total                        8.00             0.00             8.00\n\n"
	f(detail, "-p", "7")
	table := "Per-node process memory usage (in MBs)\nPID             " + titles + hyphens + line +
		"7 (db)                       8.00             0.00             8.00\n" +
		"31 (db)                      8.00             0.00             8.00\n" + hyphens + line +
		"Total                       16.00             0.00            16.00\n\n"
	f(table, "-p", "^db")
	f("No matching process with NUMA maps data for PID 8.\n\n"+strings.Replace(table, "7 (db)                       8.00             0.00             8.00\n31 (db)                      8.00             0.00             8.00\n",
		"31 (db)                      8.00             0.00             8.00\n7 (db)                       8.00             0.00             8.00\n", 1), "-p", "31", "8", "7")
	f("No matching processes with NUMA maps data.\n\n", "-p", "web")
	zero := strings.NewReplacer("PID 7 (db)", "PID 12 (web)", "0.50", "0.00", "1.50", "0.00", "2.50", "0.00", "3.50", "0.00", "8.00", "0.00")
	f(zero.Replace(detail), "-p", "12") // without maps
	for _, args := range [][]string{{"-p"}, {"-p", "0"}, {"-p", "99999999999"}, {"-p", "("}, {"-m", "7"}, {"-m", "--json"}} {
		if out, status := reporttest.Run(t, Command, base, args...); status != 1 {
			t.Errorf("%q: status %d: %s", args, status, out)
		}
	}
}

// TestBlocks divides columns; each node and the total are in one block.
func TestBlocks(t *testing.T) {
	for n := range 12 {
		var nodes []int
		for i := range n {
			nodes = append(nodes, i)
		}
		for width := range 120 {
			s := selection{width: width}
			var got []int
			totals := 0
			list := s.blocks(nodes, labelWidth)
			for _, b := range list {
				columns := len(b.nodes)
				if got = append(got, b.nodes...); b.total {
					columns++
					totals++
				}
				if columns > max(1, (width-labelWidth)/cellWidth) {
					t.Errorf("%d nodes, width %d: %v", n, width, list)
				}
			}
			if !slices.Equal(got, nodes) || totals != 1 || !list[len(list)-1].total {
				t.Errorf("%d nodes, width %d: %s", n, width, strconv.Quote(fmt.Sprint(list)))
			}
		}
	}
}
