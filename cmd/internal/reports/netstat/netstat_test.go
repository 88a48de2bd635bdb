package netstat

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// record writes an archive without some of the metrics. The counters grow by one per second; lo counts no errors.
func record(t *testing.T, without ...string) string {
	t.Helper()
	list, first := reporttest.Machine(), 1000
	for _, s := range sections {
		for _, l := range s.lines {
			first++
			from := first
			list = append(list, reporttest.Metric{Name: l.metric, Sem: pcp.SemCounter, Value: func(n int, _ string) string { return strconv.Itoa(from + n) }})
		}
	}
	for _, c := range columns {
		list = append(list, reporttest.Metric{Name: c.metric, InDom: 3, Insts: []string{"lo", "ens2"}, Value: func(n int, inst string) string {
			if inst == "lo" && strings.HasSuffix(c.metric, ".errors") {
				return ""
			}
			return strconv.Itoa(len(c.title)*100 + n)
		}})
	}
	return reporttest.Record(t, time.Second, slices.DeleteFunc(list, func(m reporttest.Metric) bool { return slices.Contains(without, m.Name) })...)
}

const table = `Kernel Interface table
     Iface        MTU      RX-OK     RX-ERR     RX-DRP      TX-OK     TX-ERR     TX-DRP
      ens2        30~        50~        60~        60~        50~        60~        60~ ` + `
        lo        30~        50~        60~        50~        60~ ` + `

`

// TestReport checks the sections and the table.
func TestReport(t *testing.T) {
	base := record(t, "network.tcp.insegs")
	f := func(args, want string) {
		t.Helper()
		if out, status := reporttest.Run(t, Command, base, strings.Fields(args)...); out != want || status != 0 {
			t.Errorf("%s: status %d\n%s\nwant\n%s", args, status, out, want)
		}
	}
	rows := func(n string) string { return strings.ReplaceAll(table, "~", n) }
	f("-s 2 -i", reporttest.Uname+"22:13:20\n\n"+rows("0")+"22:13:22\n\n"+rows("2"))
	icmp := reporttest.Uname + `22:13:20

Icmp:
	1009 ICMP messages received
	1010 Input ICMP message failed
	ICMP input histogram:
		destination unreachable: 1011
	1012 ICMP messages sent
	1013 ICMP messages failed
	ICMP input histogram:
		Output destination unreachable: 1014


IcmpMsg:
		InType3: 1015
		OutType0: 1016


`
	f("-s 1 -p FOO -p ICMP -p x", icmp)
	f("-s 1 -p ICMP -i -z x", icmp+rows("0"))
	out, status := reporttest.Run(t, Command, base, "-s", "1")
	for _, want := range []string{"\nTcp:\n\t1017 active connections openings\n", "\tNA segments received\n", "\nTcpExt:\n", "\tInNoECTpkts: 1089\n\n\n" + rows("0")} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q in:\n%s", status, want, out)
		}
	}
	f("-s 1 --statistics", strings.TrimSuffix(out, rows("0")))
}

// TestOthers checks JSON and mistakes.
func TestOthers(t *testing.T) {
	base := record(t, "network.tcp.insegs")
	out, status := reporttest.Run(t, Command, base, "-s", "1", "--json", "-i", "-p", "UDP")
	for _, want := range []string{
		`{"time":"2023-11-14T22:13:21Z","host":"cellar","table":"Udp","columns":{"network.udp.indatagrams":1027,`, `"table":"UdpLite"`,
		`"table":"Iface","instance":"lo","columns":{"network.interface.mtu":300,`,
	} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("--json: status %d, no %q in:\n%s", status, want, out)
		}
	}
	if out, _ := reporttest.Run(t, Command, base, "-s", "1", "--json", "-p", "TCP"); !strings.Contains(out, `"network.tcp.insegs":null`) {
		t.Errorf("--json: %s", out)
	}
	f := func(base, args, want string) {
		t.Helper()
		if out, status := reporttest.Run(t, Command, base, strings.Fields(args)...); !strings.HasPrefix(out, want) || status != 1 {
			t.Errorf("%s: status %d, %q, want %q", args, status, out, want)
		}
	}
	f(base, "-p tcp", "pcp-netstat: -p: the protocol is one of TCP, IP, UDP, ICMP\n")
	f(base, "-?", "pcp-netstat: option requires an argument -- '?'\nUsage: pcp-netstat")
	f(base, "-? x", "Usage: pcp-netstat")
	f(base, "--help", "Usage: pcp-netstat")
	f(base, "-s x", "pcp-netstat: -s requires a positive numeric argument\n")
	f(base, "-x", "pcp-netstat: invalid option -- 'x'\n")
	f(record(t, "network.interface.mtu", "hinv.ncpu"), "", "pcp-netstat: pmLookupName: Unknown metric name [b'network.interface.mtu']")
	f(record(t, "hinv.ncpu"), "", "pcp-netstat: pmLookupName: Unknown metric name [b'hinv.ncpu']")
}
