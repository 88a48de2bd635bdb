package iostat

import (
	"context"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/devstat"
)

// Command is pcp-iostat.
var Command = &cli.Command{
	Name:          "iostat",
	Link:          "pcp-iostat",
	Group:         cli.SeeNow,
	Summary:       "show requests to disks",
	Doc:           doc,
	Examples:      examples,
	SeeAlso:       []string{"pcp-tapestat(1)", "pmrep(1)"},
	Options:       options,
	Interruptible: true,
	Run:           run,
}

// ClassicCommand is the same command under its name outside of pcp.
var ClassicCommand = &cli.Command{
	Name:          "pmiostat",
	Link:          "pmiostat",
	Group:         cli.SeeNow,
	Summary:       "the same as pcp iostat",
	Doc:           doc,
	Examples:      examples,
	SeeAlso:       []string{"pcp-iostat(1)"},
	Options:       options,
	Interruptible: true,
	Run:           run,
}

const doc = `Prints a row for each disk at each interval: requests merged and served per second, KiB read and written per second, the mean size of a request in KiB, the length of the queue, the mean time of a request in milliseconds including its wait, and the share of time in which the disk was busy.

Question marks show that counters of a disk went backwards. As in the C program, disks listed after a new disk are missing from one sample, and min of -G is never more than 0.`

var examples = []cli.Example{
	{Line: "pcp iostat -t 5 -x t", Text: "print the time in each line"},
	{Line: "pmiostat -a ARCHIVE -S @09:00 -T @10:00 -t 10min -x noidle", Text: "show which disks worked during an hour"},
	{Line: "pmiostat -R '^nvme' -G sum", Text: "print one row for several disks"},
}

func options() []cli.Option {
	return slices.Concat(devstat.Options(), []cli.Option{
		{Arg: "|", Help: "\t\tdm\tshow the device mapper instead of disks"},
		{Arg: "|", Help: "\t\tt\tbegin each line with the time"},
		{Arg: "|", Help: "\t\th\tleave out headings"},
		{Arg: "|", Help: "\t\tnoidle\tomit idle devices"},
	})
}

func run(ctx context.Context, env *cli.Env) int {
	r := &devstat.Report{Table: func(extended []string) *devstat.Table {
		if slices.Contains(extended, "dm") {
			return table("disk.dm.")
		}
		return table("disk.dev.")
	}}
	return r.Run(ctx, env)
}

// pick returns a width for the precision: the precision plus the first number if it is 0, plus the second if it is
// 1, and else plus the last.
func pick(zero, one, more int) func(int) int {
	return func(precision int) int {
		switch precision {
		case 0:
			return precision + zero
		case 1:
			return precision + one
		}
		return precision + more
	}
}

// wider returns a width that is always the precision plus n.
func wider(n int) func(int) int { return pick(n, n, n) }

func table(tree string) *devstat.Table {
	t := &devstat.Table{
		Idle: func(v []float64) bool { return v[0] == 0 && v[1] == 0 && v[2] == 0 && v[3] == 0 },
	}
	for _, name := range [...]string{
		"read", "read_bytes", "write", "write_bytes", "read_merge", "write_merge", "blkread", "blkwrite", "read_rawactive", "write_rawactive", "avactive",
	} {
		t.Metrics = append(t.Metrics, tree+name)
	}
	for _, name := range [...]string{
		"read", "read_merge", "write_merge", "write", "read_rawactive", "write_rawactive", "avactive", "read_bytes", "write_bytes",
	} {
		t.Keys = append(t.Keys, tree+name)
	}
	add := func(name string, width func(int) int, digits int, cell, mark func(int) int) {
		t.Columns = append(t.Columns, devstat.Column{Name: name, Width: width, Cell: cell, Digits: digits, Mark: mark, None: mark})
	}
	plain := func(name string, width func(int) int) { add(name, width, 0, width, width) }
	merged, mean, waits := pick(6, 5, 5), pick(8, 7, 6), pick(7, 6, 5)
	plain("rrqm/s", merged)
	plain("wrqm/s", merged)
	plain("r/s", wider(5))
	plain("w/s", wider(4))
	plain("rkB/s", wider(6))
	plain("wkB/s", wider(6))
	add("avgrq-sz", mean, 1, mean, mean)
	add("avgqu-sz", wider(6), 1, mean, mean)
	plain("await", wider(5))
	add("r_await", wider(5), 0, waits, waits)
	add("w_await", wider(5), 0, waits, waits)
	plain("%util", wider(5))
	t.Values = func(d *devstat.Device) ([]float64, bool) {
		dt := d.Elapsed()
		reads, writes := d.Since(tree+"read"), d.Since(tree+"write")
		kbytes := float64(d.Since(tree+"read_bytes") + d.Since(tree+"write_bytes"))
		reading, writing := d.Since(tree+"read_rawactive"), d.Since(tree+"write_rawactive")
		waiting := float64(reading + writing)
		busy := float64(d.Since(tree+"avactive")) / 1000
		requests := float64(reads) + float64(writes)
		v := []float64{
			d.Rate(tree + "read_merge"), d.Rate(tree + "write_merge"), d.Rate(tree + "read"), d.Rate(tree + "write"),
			d.Rate(tree + "read_bytes"), d.Rate(tree + "write_bytes"),
			ratio(kbytes, requests), waiting / dt / 1000,
			ratio(waiting, requests), ratio(float64(reading), float64(reads)), ratio(float64(writing), float64(writes)),
			100 * busy / dt,
		}
		for _, i := range [...]int{0, 1, 2, 3, 6, 7, 8, 11} {
			if v[i] < 0 {
				return v, false
			}
		}
		return v, true
	}
	return t
}

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
