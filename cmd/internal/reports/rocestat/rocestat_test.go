package rocestat

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// record writes an archive of two adapters. All counters grow by 3 in two seconds, those of data by 10^10.
func record(t *testing.T, lanes []string, strange string) string {
	t.Helper()
	var list []reporttest.Metric
	for i, name := range counters {
		list = append(list, reporttest.Metric{Name: below + name, InDom: 1, Insts: []string{"mlx5_0_1", "mlx5_1_1", "x_delta"}, Value: func(n int, inst string) string {
			switch {
			case strange == "no value" && i == 3 && inst == "mlx5_1_1", inst == "x_delta" && strange != "delta":
				return ""
			case strings.HasSuffix(name, "_data"):
				return strconv.Itoa(n * 10_000_000_000)
			}
			return strconv.Itoa(1000 + i + 3*n)
		}})
	}
	for i, name := range laneMetrics {
		list = append(list, reporttest.Metric{Name: name, InDom: 2, Insts: lanes, Value: func(n int, inst string) string {
			return strconv.Itoa((i + 1) * n * 750_000_000)
		}})
	}
	return reporttest.Record(t, 2*time.Second, list...)
}

// TestReport has both tables.
func TestReport(t *testing.T) {
	base := record(t, []string{"ens6_lane0", "ens6_lane9", "odd"}, "")
	out, status := reporttest.Run(t, Command, base, "-t", "2", "-s", "2")
	for _, want := range []string{
		"zzz <11/14/23 22:13:20>\n                             Counter                  mlx5_0_1                  mlx5_1_1\n" +
			"                 link_error_recovery                   1000(0)                   1000(0)\n",
		"\n                       port_rcv_data                      0(0)                      0(0)\n",
		"zzz <11/14/23 22:13:22>\n", "\n                 link_error_recovery                 1003(1.5)                 1003(1.5)\n",
		"\n                       port_rcv_data            10000000000(5)            10000000000(5)\n",
		"\n\n    Netdev                Queue     tx_bytes     rx_bytes   tx/s(Gbps)   rx/s(Gbps)        pause  pause_delta\n" +
			"      ens6     Default(TCP) - 0    750000000   1500000000            3            6   2250000000   2250000000\n" +
			"      ens6            Queue - 9    750000000   1500000000            3            6   2250000000   2250000000\n" +
			"       odd        Unknown Queue    750000000   1500000000            3            6   2250000000   2250000000\n\n",
	} {
		if !strings.Contains(out, want) || status != 0 {
			t.Errorf("status %d, no %q in:\n%s", status, want, out)
		}
	}
	f := func(base, args, want string, wantStatus, lines int) {
		t.Helper()
		out, status := reporttest.Run(t, Command, base, strings.Fields(args)...)
		if !strings.Contains(out, want) || status != wantStatus || lines >= 0 && strings.Count(out, "\n") != lines {
			t.Errorf("%s: status %d, %q, want %q", args, status, out, want)
		}
	}
	f(base, "-s 1 --hw_stats", "Counter", 0, 1+1+len(counters)+2)
	f(base, "-s 1 --lane_stats", "Netdev", 0, 1+4+1)
	f(base, "-s 1 --json", `{"time":"2023-11-14T22:13:20Z","host":"cellar","table":"adapter","instance":"mlx5_0_1","columns":{"link.link_error_recovery":1000,`, 0, 5)
	f(base, "-s 1 --json --lane", `"table":"lane","instance":"odd","columns":{"tx_bytes":0,"rx_bytes":0,"rx_pause":0}}`, 0, 3)
	f(base, "-?", "invalid option -- '?'", 1, -1)
	f(record(t, []string{"a_lane1"}, "no value"), "-s 1", "rocestat.hw.rnr.rnr_nak_retry_err: no value for \"mlx5_1_1\"\n", 1, -1)
	f(record(t, []string{"a_lane1"}, "delta"), "-s 1", "rocestat.hw.link.link_error_recovery: \"x_delta\" is not an adapter\n", 1, -1)
	f(reporttest.Record(t, time.Second, reporttest.Machine()...), "", "Missing ['rocestat.hw.link.link_error_recovery', ", 1, 2)
	f("nosuch", "", "pcp-rocestat No such file or directory ['nosuch']\n", 0, 1)
}
