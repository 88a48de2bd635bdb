package tapestat

import (
	"context"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/devstat"
)

// Command is pcp-tapestat.
var Command = &cli.Command{
	Name:    "tapestat",
	Link:    "pcp-tapestat",
	Group:   cli.SeeNow,
	Summary: "show requests to tape drives",
	Doc: `Prints a row for each tape drive at each interval: reads and writes per second, KB read and written
per second, the shares of time spent in reads, writes and all requests, and the number, in thousands
per second, of requests with a residual and of other requests.`,
	Examples: []cli.Example{
		{Line: "pcp tapestat -t 5 -x t", Text: "print the time in each line"},
		{Line: "pcp tapestat -a ARCHIVE -x noidle", Text: "show active drives"},
	},
	SeeAlso: []string{"pcp-iostat(1)"},
	Options: func() []cli.Option {
		return slices.Concat(devstat.Options(), []cli.Option{
			{Arg: "|", Help: "\t\tt\tbegin each line with the time"},
			{Arg: "|", Help: "\t\th\tleave out headings"},
			{Arg: "|", Help: "\t\tnoidle\tomit idle devices"},
		})
	},
	Interruptible: true,
	Run: func(ctx context.Context, env *cli.Env) int {
		r := &devstat.Report{Missing: "Missing:", Table: func([]string) *devstat.Table { return table() }}
		return r.Run(ctx, env)
	},
}

const tree = "tape.dev."

// wider returns a width for the precision: zero if it is 0, else the precision plus more.
func wider(zero, more int) func(int) int {
	return func(precision int) int {
		if precision == 0 {
			return zero
		}
		return precision + more
	}
}

// mean returns the width of the question marks of two columns, less a number of
// characters.
func mean(less int) func(int) int {
	return func(precision int) int {
		return max(precision+6, 8) - less
	}
}

func table() *devstat.Table {
	t := &devstat.Table{
		Indent: " ",
		Idle:   func(v []float64) bool { return v[0] == 0 && v[1] == 0 && v[2] == 0 && v[3] == 0 },
	}
	for _, name := range [...]string{
		"in_flight", "io_ns", "other_cnt", "read_byte_cnt", "read_cnt", "read_ns", "resid_cnt", "write_byte_cnt", "write_cnt", "write_ns",
	} {
		t.Metrics = append(t.Metrics, tree+name)
	}
	for _, name := range [...]string{
		"read_cnt", "write_cnt", "read_byte_cnt", "write_byte_cnt", "read_ns", "write_ns", "io_ns", "resid_cnt", "other_cnt",
	} {
		t.Keys = append(t.Keys, tree+name)
	}
	width := wider(6, 5)
	add := func(name string, whole bool, mark, none func(int) int) {
		t.Columns = append(t.Columns, devstat.Column{Name: name, Width: width, Cell: width, Whole: whole, Mark: mark, None: none})
	}
	five := wider(5, 5)
	add("r/s", false, width, wider(5, 4))
	add("w/s", false, width, width)
	add("kb_r/s", true, five, five)
	add("kb_w/s", true, wider(4, 4), five)
	add("r_pct", false, wider(6, 6), five)
	add("w_pct", false, wider(6, 6), five)
	add("o_pct", false, mean(0), mean(1))
	add("Rs/s", false, mean(0), mean(1))
	add("o_cnt", false, five, five)
	t.Values = func(d *devstat.Device) ([]float64, bool) {
		dt := d.Elapsed()
		share := func(metric string) float64 { return float64(100*d.Since(tree+metric)) / 1e9 / dt }
		thousands := func(metric string) float64 { return d.Rate(tree+metric) / 1000 }
		v := []float64{
			d.Rate(tree + "read_cnt"), d.Rate(tree + "write_cnt"), thousands("read_byte_cnt"), thousands("write_byte_cnt"),
			share("read_ns"), share("write_ns"), share("io_ns"), thousands("resid_cnt"), thousands("other_cnt"),
		}
		for _, n := range v {
			if n < 0 {
				return v, false
			}
		}
		return v, true
	}
	return t
}
