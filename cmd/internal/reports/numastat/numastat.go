package numastat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// Command is pcp-numastat.
var Command = &cli.Command{
	Name:    "numastat",
	Link:    "pcp-numastat",
	Group:   cli.SeeNow,
	Summary: "show the allocation of memory on NUMA nodes",
	Doc: `Prints for each NUMA node the number of allocated pages by kind. Options of pcp itself (pcp -h HOST
numastat, pcp -a ARCHIVE -S TIME numastat) select the host and the time.

Without -w the width of lines is NUMASTAT_WIDTH, or that of the terminal; other output has all nodes
in one line.

As in PCP 7, -m prints the memory of each node by use, in Kbytes, and -n the allocations with a heading. With PCP_COMPAT=7, -n
is the default. With -p the
arguments are processes: numbers, or regular expressions that match a part of the command line. For one process its
memory on each node is divided into huge pages, heap, stack and the rest; several are a table. Memory of processes of
other users is only visible to root.`,
	Examples: []cli.Example{
		{Line: "pcp numastat", Text: "show all nodes"},
		{Line: "pcp numastat -w 80", Text: "show four in a line"},
		{Line: "pcp numastat -m", Text: "show what the memory of each node is used for"},
		{Line: "pcp numastat -p postgres", Text: "show on which nodes the memory of these processes is"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'w', Long: "width", Arg: "N", Help: "how wide lines may be"},
			{Short: 'm', Long: "meminfo", Help: "show the memory of each node by use", Extra: true},
			{Short: 'n', Long: "numastat", Help: "show the allocations on each node", Extra: true},
			{Short: 'p', Long: "process", Help: "show the memory of the processes that the arguments name", Extra: true},
			cli.OptJSON,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Interruptible: true,
	Run:           run,
}

const prefix = "mem.numa.alloc."

var metrics = []string{
	prefix + "hit", prefix + "miss", prefix + "foreign", prefix + "interleave_hit", prefix + "local_node", prefix + "other_node",
}

const (
	column    = 16      // the width of each
	unlimited = 1 << 30 // the width if the output is not a terminal
)

func run(ctx context.Context, env *cli.Env) int {
	width := int64(0)
	var wrong error
	var s selection
	return pmcc.Report{
		Kind: pmcc.Kind{Prefix: env.ProgName() + ": ", Bare: true},
		Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
			switch opt.Short {
			case 'm':
				s.memory = true
				return true
			case 'n':
				s.allocations = true
				return true
			case 'p':
				s.processes = true
				return true
			case 'w':
			default:
				return false
			}
			n, ok := pytext.Int(arg)
			if !ok {
				wrong = fmt.Errorf("-w %s: not a number", arg)
			}
			width = n
			return true
		},
		Check: func(o *source.Options) bool {
			s.local = !o.FromArchive() && len(o.Hosts) == 0
			if env.Seven() && !s.any() && !o.JSON {
				s.allocations = true
			}
			wrong = cmp.Or(wrong, s.match(o.Args))
			if s.any() && o.JSON {
				wrong = errors.New("--json is only for the report without -m, -n and -p")
			}
			return false
		},
		Valid: func() error { return wrong },
	}.Run(ctx, env, func(m *pmcc.Manager) int {
		if !s.any() {
			return report(ctx, env, m, width)
		}
		if width == 0 {
			var ok bool
			if width, ok = lineWidth(env); !ok {
				return env.Fatalf("NUMASTAT_WIDTH=%s: not a number", env.Getenv("NUMASTAT_WIDTH"))
			}
		}
		s.width = int(max(width, 2*column))
		return s.report(ctx, m)
	})
}

// report prints the table with lines of a width, or of that of the terminal if it is 0.
func report(ctx context.Context, env *cli.Env, m *pmcc.Manager, width int64) int {
	if !m.Lookup(ctx, metrics...) {
		return 0
	}
	nodes, ok := m.Nodes(ctx, metrics[0])
	if !ok || !m.Once(ctx) {
		return 0
	}
	values := make([][]pcp.Value, len(metrics))
	for i, name := range metrics {
		var err error
		if values[i], err = m.As(name, pcp.TypeU64); err != nil {
			m.Failed(err)
			return 0
		}
	}
	if len(nodes) == 0 {
		fmt.Fprintln(env.Stdout, "No NUMA nodes found, exiting")
		return 1
	}
	if m.JSON {
		table(m, nodes, values)
		return 0
	}
	if width == 0 {
		if width, ok = lineWidth(env); !ok {
			return env.Fatalf("NUMASTAT_WIDTH=%s: not a number", env.Getenv("NUMASTAT_WIDTH"))
		}
	}
	print(env, nodes, values, int((max(width, 2*column)-column)/column))
	return 0
}

// lineWidth returns the maximum width of lines without -w.
func lineWidth(env *cli.Env) (int64, bool) {
	if env.IsSet("NUMASTAT_WIDTH") {
		return pytext.Int(env.Getenv("NUMASTAT_WIDTH"))
	}
	if env.Columns != nil {
		if n := env.Columns(); n > 0 {
			return int64(n), true
		}
	}
	return unlimited, true
}

// title returns the beginning of a row.
func title(metric string) string {
	name := strings.TrimPrefix(metric, prefix)
	if !strings.Contains(name, "_") {
		return "numa_" + name
	}
	return name
}

// at returns the value of a node, 0 if it is missing.
func at(values []pcp.Value, inst int32) uint64 {
	for _, v := range values {
		if v.Inst == inst {
			return v.Uint64()
		}
	}
	return 0
}

// print prints the rows, with a number of nodes per line. If that is not all of them, each line has a
// heading.
func print(env *cli.Env, nodes []pcp.Instance, values [][]pcp.Value, perLine int) {
	heading := func(list []pcp.Instance) {
		fmt.Fprintf(env.Stdout, "%-16s", "")
		for _, n := range list {
			fmt.Fprintf(env.Stdout, "%16s", n.Name)
		}
		fmt.Fprintln(env.Stdout)
	}
	if perLine > len(nodes) {
		heading(nodes)
	}
	for i, metric := range metrics {
		for rest := nodes; len(rest) > 0; {
			list := rest[:min(perLine, len(rest))]
			rest = rest[len(list):]
			if perLine <= len(nodes) {
				heading(list)
			}
			fmt.Fprintf(env.Stdout, "%-16s", title(metric))
			for _, n := range list {
				fmt.Fprintf(env.Stdout, "%16d", at(values[i], n.Inst))
			}
			fmt.Fprintln(env.Stdout)
		}
	}
}

// table prints a JSON object for each node.
func table(m *pmcc.Manager, nodes []pcp.Instance, values [][]pcp.Value) {
	for _, n := range nodes {
		row := m.Row("", n.Name)
		for i, metric := range metrics {
			row.Columns.Value(title(metric), pcp.Uint64Value(at(values[i], n.Inst)))
		}
		row.Write()
	}
}
