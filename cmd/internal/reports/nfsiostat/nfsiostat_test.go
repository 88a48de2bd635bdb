package nfsiostat

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// record writes an archive of two mounts, without some of the values ("/b nfsclient.age"). The first mount reads a lot.
func record(t *testing.T, without ...string) string {
	t.Helper()
	list := reporttest.Machine()
	grow := map[string]int{
		"sends": 500, "backlog_u": 3, "age": 2, "ops": 400, "ntrans": 410, "errors": 2, "execute": 600, "rtt": 500, "queue": 100,
		"bytes_recv": 4096 * 400, "bytes_sent": 100 * 400,
	}
	for _, name := range metrics()[:len(metrics())-len(pmcc.MachineMetrics())] {
		m := reporttest.Metric{Name: name, Sem: pcp.SemCounter, InDom: 7, Insts: []string{"/a", "/b"}}
		if name == mountpoint || name == export {
			m.Type, m.Sem = pcp.TypeString, pcp.SemInstant
		}
		m.Value = func(n int, inst string) string {
			growth := grow[name[strings.LastIndex(name, ".")+1:]]
			switch {
			case slices.Contains(without, inst+" "+name):
				return ""
			case name == mountpoint:
				return inst
			case name == export:
				return "server:" + inst
			case inst == "/b" && !strings.HasPrefix(name, "nfsclient.ops.read"):
				return "0"
			case inst == "/b":
				growth *= 1_000_000_000
			}
			return strconv.Itoa(growth * (n + 1))
		}
		list = append(list, m)
	}
	return reporttest.Record(t, time.Second, list...)
}

const first = `server:/a mounted on /a:
                    ops/s       rpc bklog
                  250.000           3.000

read:                    ops/s        kB/s        kB/op         retrans   avg RTT (ms)   avg exe (ms)   avg queue (ms)        errors
                       200.000     819.531        4.098       10 (2.5%)          1.250          1.500            0.250      2 (0.5%)
write:                   ops/s        kB/s        kB/op         retrans   avg RTT (ms)   avg exe (ms)   avg queue (ms)        errors
                       200.000     819.531        4.098       10 (2.5%)          1.250          1.500            0.250      2 (0.5%)

`

// second is a mount without an age, so that it has no rates, and whose numbers do not fit.
const second = `server:/b mounted on /b:
                    ops/s       rpc bklog
                    0.000           0.000

read:                    ops/s        kB/s        kB/op         retrans   avg RTT (ms)   avg exe (ms)   avg queue (ms)        errors
                         0.000       0.000        4.098 1.000000000e+10          1.250          1.500            0.250 2.0000000e+09
write:                   ops/s        kB/s        kB/op         retrans   avg RTT (ms)   avg exe (ms)   avg queue (ms)        errors
                         0.000       0.000        0.000        0 (0.0%)          0.000          0.000            0.000      0 (0.0%)

`

// TestReport checks the report. The counters grow evenly, so that all samples are alike.
func TestReport(t *testing.T) {
	base := record(t)
	stamp := "Timestamp         :11/14/2023 22:13:2"
	want := "Linux  6.1  (cellar)  11/14/2023 22:13:20  arm64    (4 CPU)\n" + stamp + "0\n\n" + first + second + stamp + "1\n\n" + first + second
	if out, status := reporttest.Run(t, Command, base, "-s", "2"); out != want || status != 0 {
		t.Errorf("status %d\n%s\nwant\n%s", status, out, want)
	}
	if out, status := reporttest.Run(t, Command, base); strings.Count(out, first+second) != reporttest.Samples || status != 0 {
		t.Errorf("status %d\n%s", status, out)
	}
	for _, c := range []struct {
		f     float64
		width int
		want  string
	}{{1e10, 16, " 10000000000.000"}, {1e20, 16, " 1.000000000e+20"}, {-1e300, 12, "############"}} {
		if got := number(c.f, c.width); got != c.want {
			t.Errorf("number(%g, %d) = %q, want %q", c.f, c.width, got, c.want)
		}
	}
}

// TestOthers checks JSON and errors.
func TestOthers(t *testing.T) {
	f := func(base, args, want string, wantStatus int) {
		t.Helper()
		if out, status := reporttest.Run(t, Command, base, strings.Fields(args)...); !strings.HasPrefix(out, want) || status != wantStatus {
			t.Errorf("%s: status %d, %q, want %q", args, status, out, want)
		}
	}
	f(record(t), "--json -s 1", `{"time":"2023-11-14T22:13:20Z","host":"cellar","instance":"/a","columns":{"export":"server:/a","ops/s":250,"rpc bklog":3,"read ops/s":200,`, 0)
	f(record(t, "/b nfsclient.ops.read.rtt"), "-s 1", "Linux", 1)
	f(record(t, "/a nfsclient.age"), "--json", "pcp-nfsiostat: nfsclient.age: no value for \"server:/a\"\n", 1)
	f(record(t, "/a "+export, "/b "+export), "", "Error: not all required metrics are available\nMissing ['nfsclient.export']\n", 1)
	f(record(t), "-x", "pcp-nfsiostat: invalid option -- 'x'\nUsage: pcp-nfsiostat", 1)
	f("nosuch", "", "No such file or directory ['nosuch']\n", 0)
	machine := reporttest.Machine()
	f(reporttest.Record(t, time.Second, machine...), "", "Error: not all required metrics are available\nMissing ['nfsclient.mountpoint', 'nfsclient.export',", 1)
}
