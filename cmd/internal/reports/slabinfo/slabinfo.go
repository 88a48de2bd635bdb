package slabinfo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// Command is pcp-slabinfo.
var Command = &cli.Command{
	Name:    "slabinfo",
	Link:    "pcp-slabinfo",
	Group:   cli.SeeNow,
	Summary: "show the slab caches of the kernel, as in /proc/slabinfo",
	Doc: `Prints a row for each cache of objects of the kernel (slab), once for a live host, and for each
sample of an archive. Options of pcp itself (pcp -h HOST slabinfo, pcp -a ARCHIVE -S TIME slabinfo)
select the source and the time. As in the C program the number of objects is below objsize byte if
the size is below num_objs, and the other way round.`,
	Examples: []cli.Example{
		{Line: "pcp slabinfo", Text: "show the caches of this host, as root"},
		{Line: "pcp -a ARCHIVE -S @10:00 slabinfo -s 1", Text: "show those of a host at ten o'clock"},
	},
	SeeAlso: []string{"slabinfo(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			{Short: 'a', Arg: "FILE"},
			cli.OptHostZone,
			cli.OptTimeZone,
			cli.OptHelp,
			cli.OptSamples,
			cli.OptVersion,
			cli.OptJSON,
		}
	},
	Interruptible: true,
	Run:           run,
}

// metrics are the metrics of the table, in the order in which the C program fetches
// them.
var metrics = []string{
	"mem.slabinfo.slabs.active", "mem.slabinfo.slabs.pages_per_slab", "mem.slabinfo.slabs.total_size",
	"mem.slabinfo.slabs.objects_per_slab", "mem.slabinfo.objects.active", "mem.slabinfo.objects.total",
	"mem.slabinfo.objects.size", "mem.slabinfo.slabs.total",
}

// columns are the columns of a row, with the width of each.
var columns = []struct {
	metric string
	width  int
}{
	{"mem.slabinfo.objects.active", 8},
	{"mem.slabinfo.objects.total", 8},
	{"mem.slabinfo.objects.size", 8},
	{"mem.slabinfo.slabs.objects_per_slab", 7},
	{"mem.slabinfo.slabs.pages_per_slab", 9},
	{"mem.slabinfo.slabs.active", 8},
	{"mem.slabinfo.slabs.total", 8},
}

// Text before and between columns.
const (
	before  = "        "
	between = "         "
)

func run(ctx context.Context, env *cli.Env) int {
	return pmcc.Report{Own: pmcc.TakeArchive}.Run(ctx, env, func(m *pmcc.Manager) int {
		all := slices.Concat(metrics, pmcc.MachineMetrics())
		if status, ok := m.Use(ctx, all, len(all)); !ok {
			return status
		}
		m.Split(pmcc.Group{Names: metrics}, pmcc.Group{Names: pmcc.MachineMetrics()}, pmcc.Group{Names: all, Unread: true})
		return m.EachOrFirst(ctx, func() error { return print(m) })
	})
}

// print prints the table of a sample, nothing if there are no caches.
func print(m *pmcc.Manager) error {
	values := make([]map[string]pmcc.Value, len(columns))
	for i, c := range columns {
		values[i] = pmcc.ByName(m.Named(c.metric))
	}
	names := slices.SortedStableFunc(maps.Keys(values[0]), func(a, b string) int {
		if d := strings.Compare(strings.ToLower(a), strings.ToLower(b)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if len(names) == 0 {
		return nil
	}
	if m.JSON {
		for _, name := range names {
			row := m.Row("", name)
			for i, c := range columns {
				row.Number(c.metric, values[i][name])
			}
			row.Write()
		}
		return nil
	}
	machine := m.Machine()
	if machine == "" {
		fmt.Fprintln(m.Out, "Incorrect machine info due to some missing metrics")
		return nil
	}
	fmt.Fprintln(m.Out, machine)
	heading := "TimeStamp " + before + "Name" + strings.Repeat(" ", 22)
	for _, title := range []string{"active_objs", "num_objs", "objsize byte", "objperslab", "pagesperslab", "active_slabs", "num_slabs"} {
		heading += between + title
	}
	fmt.Fprintln(m.Out, heading)
	stamp := m.Clock("%H:%M:%S", m.Now())
	for _, name := range names {
		row := fmt.Sprintf("%s %s %-25s", stamp, before, name)
		for i, c := range columns {
			v := values[i][name]
			if !v.OK() {
				return fmt.Errorf("%s: no value for %q", c.metric, name)
			}
			row += fmt.Sprintf(" %s %*d", between, c.width, v.Int())
		}
		fmt.Fprintln(m.Out, row)
	}
	return nil
}
