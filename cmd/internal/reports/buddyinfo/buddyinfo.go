package buddyinfo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// Command is pcp-buddyinfo.
var Command = &cli.Command{
	Name:    "buddyinfo",
	Link:    "pcp-buddyinfo",
	Group:   cli.SeeNow,
	Summary: "show free blocks of memory by size, as in /proc/buddyinfo",
	Doc: `Prints a row for each zone of memory and node: how many blocks of each size are free, of one page
(Order0) to 1,024 pages (Order10). For a live host it does so once, for an archive at each interval.
Options of pcp itself (pcp -h HOST buddyinfo, pcp -a ARCHIVE -S TIME buddyinfo) select the source
and the time.`,
	Examples: []cli.Example{
		{Line: "pcp buddyinfo", Text: "show the free blocks of this host"},
		{Line: "pcp -a ARCHIVE buddyinfo -u", Text: "show all samples of an archive as they were recorded"},
	},
	SeeAlso: []string{"proc(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptArchive,
			{Short: 'u', Long: "no-interpol", Help: "disable interpolation mode with archives"},
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

const pages = "mem.buddyinfo.pages"

var metrics = []string{pages, "mem.buddyinfo.total"}

// Text before and between columns.
const (
	before  = "        "
	between = "  "
)

func run(ctx context.Context, env *cli.Env) int {
	asRecorded := false
	return pmcc.Report{
		Kind: pmcc.Kind{Missing: "Missing:"},
		Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
			asRecorded = asRecorded || opt.Short == 'u'
			return opt.Short == 'u'
		},
	}.Run(ctx, env, func(m *pmcc.Manager) int {
		if asRecorded {
			if status, ok := m.AsRecorded(ctx); !ok {
				return status
			}
		}
		all := slices.Concat(metrics, pmcc.MachineMetrics())
		if status, ok := m.Use(ctx, all, len(all)); !ok {
			return status
		}
		m.Split(pmcc.Group{Names: metrics, Unread: true}, pmcc.Group{Names: all})
		r := report{m: m, machine: "unknown"}
		return m.EachOrFirst(ctx, r.sample)
	})
}

// A report is the state of the report so far.
type report struct {
	m       *pmcc.Manager
	machine string // machine type of the host, "unknown" until it is known
}

// sample prints the table of a sample, nothing if there is no memory.
func (r *report) sample() error {
	values := r.m.Named(pages)
	free := make(map[string]string, len(values))
	var zones, nodes, orders []string
	for _, v := range values {
		free[v.Name] = v.Value.String()
		if part := strings.Split(v.Name, "::"); len(part) == 3 {
			zones, orders, nodes = append(zones, part[0]), append(orders, part[1]), append(nodes, part[2])
		}
	}
	if len(values) == 0 {
		return nil
	}
	number := make(map[string]int, len(orders))
	for _, order := range orders {
		n, err := strconv.Atoi(order[min(len("order"), len(order)):])
		if err != nil {
			return fmt.Errorf("%s: %q is not a size of blocks", pages, order)
		}
		number[order] = n
	}
	zones, nodes, orders = distinct(zones, strings.Compare), distinct(nodes, strings.Compare),
		distinct(orders, func(a, b string) int { return number[a] - number[b] })
	count := func(zone, order, node string) string {
		if s, ok := free[zone+"::"+order+"::"+node]; ok {
			return s
		}
		return "0"
	}
	if r.m.JSON {
		for _, zone := range zones {
			for _, node := range nodes {
				row := r.m.Row("", zone+"::"+node)
				for _, order := range orders {
					f, _ := strconv.ParseFloat(count(zone, order, node), 64)
					row.Columns.Number(order, f)
				}
				row.Write()
			}
		}
		return nil
	}
	r.heading()
	stamp := r.m.Clock("%H:%M:%S", r.m.Now())
	for _, zone := range zones {
		for _, node := range nodes {
			row := ""
			for _, order := range orders {
				row += fmt.Sprintf("%-8s", count(zone, order, node)) + between
			}
			fmt.Fprintln(r.m.Out, stamp, before, fmt.Sprintf("%-9s", zone), before, node, before, row+" ")
		}
	}
	return nil
}

func (r *report) heading() {
	if machine := r.m.Machine(); machine != "" && r.machine == "unknown" {
		r.machine = machine[:strings.LastIndex(machine, "  (")]
	}
	if ncpu := r.m.One("hinv.ncpu"); ncpu.OK() {
		fmt.Fprintf(r.m.Out, "%s  (%s CPU)\n", r.machine, ncpu)
	}
	const wide = between + "  "
	heading := "TimeStamp " + before + "Normal" + before + wide + " Nodes" + before + "Order0"
	for n := 1; n <= 10; n++ {
		heading += wide + "Order" + strconv.Itoa(n)
	}
	fmt.Fprintln(r.m.Out, heading)
}

// distinct returns the sorted names without duplicates.
func distinct(names []string, order func(a, b string) int) []string {
	slices.SortFunc(names, order)
	return slices.Compact(names)
}
