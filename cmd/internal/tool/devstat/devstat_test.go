package devstat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/devstat"
)

// command is a report of two columns: a rate, and a whole number that is not known if the counter decreases.
func command() *cli.Command {
	width := func(n int) func(int) int { return func(precision int) int { return n + precision } }
	table := &devstat.Table{
		Metrics: []string{"test.reads", "test.bytes"}, Keys: []string{"test.reads"},
		Columns: []devstat.Column{
			{Name: "r/s", Width: width(5), Cell: width(5), Mark: width(5), None: width(5)},
			{Name: "bytes", Width: width(6), Cell: width(6), Whole: true, Mark: width(6), None: width(6)},
		},
		Values: func(d *devstat.Device) ([]float64, bool) {
			v := []float64{d.Rate("test.reads"), float64(d.Since("test.bytes"))}
			return v, v[1] >= 0
		},
		Idle:   func(v []float64) bool { return v[0] == 0 },
		Indent: " ",
	}
	return &cli.Command{
		Name: "devices", Link: "pcp-devices", Options: func() []cli.Option { return devstat.Options() },
		Run: func(ctx context.Context, env *cli.Env) int {
			return (&devstat.Report{Table: func([]string) *devstat.Table { return table }}).Run(ctx, env)
		},
	}
}

// TestReport prints devices: sda reads, sdb is idle and its counter of bytes decreases in the fourth sample.
func TestReport(t *testing.T) {
	insts := []string{"sda", "sdb"}
	archive := reporttest.Record(t, time.Second,
		reporttest.Metric{Name: "test.reads", Sem: pcp.SemCounter, InDom: 1, Insts: insts, Value: func(n int, inst string) string {
			return map[string]string{"sda": fmt.Sprint(5 * n * n), "sdb": "7"}[inst]
		}},
		reporttest.Metric{Name: "test.bytes", Sem: pcp.SemCounter, InDom: 1, Insts: insts, Value: func(n int, inst string) string {
			if inst == "sdb" && n > 2 {
				n = 0
			}
			return fmt.Sprint(1000 * n)
		}})
	f := func(args, want string, wantStatus int) {
		t.Helper()
		out, status := reporttest.Run(t, command(), archive, strings.Fields(args)...)
		if want = strings.TrimPrefix(want, "\n"); out != want || status != wantStatus {
			t.Errorf("%s: status %d, want %d\n%swant\n%s", args, status, wantStatus, out, want)
		}
	}
	f("-s 3", `
# Device         r/s    bytes
sda             5.00     1000
sdb             0.00     1000
sda            15.00     1000
sdb             0.00     1000
sda            25.00     1000
sdb                ?        ?
`, 0)
	f("-s 2 -P 0 -x t", `
# Timestamp              Device         r/s  bytes
Tue Nov 14 22:13:21 2023 sda              5   1000
Tue Nov 14 22:13:21 2023 sdb              0   1000
Tue Nov 14 22:13:22 2023 sda             15   1000
Tue Nov 14 22:13:22 2023 sdb              0   1000
`, 0)
	f("-s 2 -x h,noidle", `
sda             5.00     1000
sda            15.00     1000
`, 0)
	f("-s 2 -x h -R b$", `
sdb             0.00     1000
sdb             0.00     1000
`, 0)
	f("-s 1 -x h -G sum", `
sum(.*)         5.00     2000
`, 0)
	f("-s 1 -x h -G avg -R sd", `
avg(sd)         2.50     1000
`, 0)
	f("-s 1 -x h -G max", `
max(.*)         5.00     1000
`, 0)
	f("-s 1 -x h -G min", `
min(.*)         0.00        0
`, 0)
	f("-s 1 -x h -u", `
sda             5.00     1000
sdb             0.00     1000
`, 0)
	f("-s 3 --json -t 1", `
{"time":"2023-11-14T22:13:21Z","host":"cellar","instance":"sda","columns":{"r/s":5,"bytes":1000}}
{"time":"2023-11-14T22:13:21Z","host":"cellar","instance":"sdb","columns":{"r/s":0,"bytes":1000}}
{"time":"2023-11-14T22:13:22Z","host":"cellar","instance":"sda","columns":{"r/s":15,"bytes":1000}}
{"time":"2023-11-14T22:13:22Z","host":"cellar","instance":"sdb","columns":{"r/s":0,"bytes":1000}}
{"time":"2023-11-14T22:13:23Z","host":"cellar","instance":"sda","columns":{"r/s":25,"bytes":1000}}
{"time":"2023-11-14T22:13:23Z","host":"cellar","instance":"sdb","columns":{"r/s":null,"bytes":null}}
`, 0)
	f("-P x", `
pcp-devices: -P x: not a number
`, 1)
}
