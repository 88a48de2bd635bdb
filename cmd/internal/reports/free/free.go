package free

import (
	"context"
	"fmt"
	"math/big"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pcptime"
)

// Command is pcp-free.
var Command = &cli.Command{
	Name:    "free",
	Link:    "pcp-free",
	Group:   cli.SeeNow,
	Summary: "show free and used memory",
	Doc: `Prints the size of memory and swap space, and the used and free parts: once, or with -s at each
interval, or -c times. Options of pcp itself (pcp -h HOST free, pcp -a ARCHIVE -S TIME free) select
the host and the time.

As in the C program the column free of the row of low memory is its total, and -c without -s does not wait.`,
	Examples: []cli.Example{
		{Line: "pcp free -m", Text: "print MiB"},
		{Line: "pcp -a ARCHIVE -S @14:00 free -t", Text: "print the memory at two o'clock, and the sum of memory and swap space"},
	},
	SeeAlso: []string{"pcp-vmstat(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'b', Long: "bytes", Help: "show bytes"},
			{Short: 'k', Long: "kilobytes", Help: "show KiB, as it does without options"},
			{Short: 'm', Long: "megabytes", Help: "show MiB"},
			{Short: 'g', Long: "gigabytes", Help: "show GiB"},
			{Short: 'r', Long: "terabytes", Help: "show TiB"},
			{Short: 'o', Help: "show a row without buffers and cache, as old systems do"},
			{Short: 'l', Long: "lohi", Help: "show low and high memory"},
			{Short: 't', Long: "total", Help: "show the sum of memory and swap space"},
			{Short: 'c', Long: "count", Arg: "COUNT", Help: "print so many times"},
			{Short: 'c', Long: "samples", Arg: "COUNT", Help: "the same as --count"},
			{Short: 's', Long: "seconds", Arg: "DELTA", Help: "print at this interval"},
			{Short: 's', Long: "interval", Arg: "DELTA", Help: "the same as --seconds"},
			{Short: 'w', Help: "show buffers and cache in columns of their own"},
			cli.OptJSON,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Interruptible: true,
	Run:           run,
}

var metrics = []string{
	"mem.physmem", "mem.util.free", "mem.util.shmem", "mem.util.bufmem", "mem.util.cached", "mem.util.highFree", "mem.util.highTotal",
	"mem.util.lowFree", "mem.util.lowTotal", "mem.util.swapFree", "mem.util.swapTotal", "mem.util.available", "mem.util.slabReclaimable",
}

// A report holds the options.
type report struct {
	m     *pmcc.Manager
	shift uint // of bytes
	units string

	wide, lowHigh, total, compat bool

	count  int // 0: not given
	counts bool
	pause  bool
}

func (r *report) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'b':
		r.shift, r.units = 0, "byte"
	case 'k':
		r.shift, r.units = 10, "Kbyte"
	case 'm':
		r.shift, r.units = 20, "Mbyte"
	case 'g':
		r.shift, r.units = 30, "Gbyte"
	case 'r':
		r.shift, r.units = 40, "Tbyte"
	case 'o':
		r.compat = true
	case 'w':
		r.wide = true
	case 'l':
		r.lowHigh = true
	case 't':
		r.total = true
	case 's':
		d, err := pcptime.ParseInterval(arg)
		if err != nil {
			o.Usagef("interval argument not in pmParseHighResInterval(3) format:\n%v", err)
		}
		r.pause, o.Interval = true, d
	case 'c':
		n, ok := getopt.Atoi(arg)
		if o.Finish != nil {
			o.Usagef("at most one of finish time and sample count allowed")
		} else if !ok || n < 0 {
			o.Usagef("sample count must be a positive numeric argument")
		}
		r.counts, r.count = true, n
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	r := &report{shift: 10, units: "Kbyte"}
	return pmcc.Report{Kind: pmcc.Kind{Prefix: env.ProgName() + ": ", Bare: true}, Own: r.own}.Run(ctx, env, func(m *pmcc.Manager) int {
		r.m = m
		if !m.Lookup(ctx, metrics...) {
			return 0
		}
		if r.counts && r.count == 0 {
			return m.Errorf("-c 0 asks for no output")
		}
		for n := 1; m.Once(ctx); n++ {
			if err := r.print(); err != nil {
				m.Failed(err)
				return 0
			}
			if r.pause && !m.JSON {
				fmt.Fprintln(m.Out)
			}
			if n == r.count || !r.pause && r.count == 0 || r.pause && !m.Sleep(ctx) {
				return 0
			}
		}
		return 0
	})
}

// values returns the values of the metrics in KiB, 0 for missing values.
func (r *report) values() (map[string]*big.Int, error) {
	all := make(map[string]*big.Int, len(metrics))
	for _, name := range metrics {
		all[name] = new(big.Int)
		values, err := r.m.As(name, pcp.TypeU64)
		switch {
		case err != nil:
			return nil, err
		case len(values) == 0:
			continue
		}
		v, err := pcp.ConvScale(values[0], r.m.Desc(name).Units, pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte})
		if err != nil {
			return nil, err
		}
		all[name].SetUint64(v.Uint64())
	}
	return all, nil
}

func sum(terms ...*big.Int) *big.Int {
	n := new(big.Int)
	for _, t := range terms {
		n.Add(n, t)
	}
	return n
}

func less(n *big.Int, terms ...*big.Int) *big.Int { return n.Sub(n, sum(terms...)) }

// print prints a sample.
func (r *report) print() error {
	v, err := r.values()
	if err != nil {
		return err
	}
	physmem, free, buffers, slab := v["mem.physmem"], v["mem.util.free"], v["mem.util.bufmem"], v["mem.util.slabReclaimable"]
	used := less(sum(physmem), free, buffers, v["mem.util.cached"], slab)
	cache := sum(v["mem.util.cached"], slab)
	swap, swapFree := v["mem.util.swapTotal"], v["mem.util.swapFree"]
	swapUsed := less(sum(swap), swapFree)
	low, lowFree := v["mem.util.lowTotal"], v["mem.util.lowFree"]
	if low.Sign() == 0 { // all of it is low
		low, lowFree = physmem, free
	}
	high, highFree := v["mem.util.highTotal"], v["mem.util.highFree"]

	columns := []string{"total", "used", "free", "shared", "buff/cache", "available"}
	cells := []*big.Int{physmem, used, free, v["mem.util.shmem"], sum(buffers, cache), v["mem.util.available"]}
	if r.wide {
		columns = []string{"total", "used", "free", "shared", "buffers", "cache", "available"}
		cells = []*big.Int{physmem, used, free, v["mem.util.shmem"], buffers, cache, v["mem.util.available"]}
	}
	r.heading(columns)
	r.row("Mem:", columns, cells...)
	if r.lowHigh {
		r.row("Low:", columns, low, less(sum(low), lowFree), r.lowFree(low, lowFree))
		r.row("High:", columns, high, less(sum(high), highFree), highFree)
	}
	if r.compat {
		cached := sum(buffers, v["mem.util.cached"])
		r.row(compatible, []string{"used", "free"}, less(sum(used), cached), sum(free, cached))
	}
	r.row("Swap", columns, swap, swapUsed, swapFree)
	if r.total {
		r.row("Total", columns, sum(physmem, swap), sum(used, swapUsed), sum(free, swapFree))
	}
	return nil
}

// compatible appends the beginning of the row of -o.
const compatible = "-/+ buffers/cache:"

// lowFree returns the value of low memory below "free": as in the C program, on which scripts rely, all
// low memory.
func (r *report) lowFree(total, free *big.Int) *big.Int {
	if r.m.JSON {
		return free
	}
	return total
}

func (r *report) heading(columns []string) {
	if r.m.JSON {
		return
	}
	line := fmt.Sprintf("%19s", columns[0])
	for _, c := range columns[1:] {
		line += fmt.Sprintf(" %11s", c)
	}
	fmt.Fprintln(r.m.Out, line)
}

func (r *report) row(name string, columns []string, cells ...*big.Int) {
	row := r.m.Row(table(name), "")
	row.Units = r.units
	line := fmt.Sprintf("%-7s", name)
	if name == compatible {
		line = name + " " // as wide as the label above
	}
	for i, n := range cells {
		n = new(big.Int).Lsh(n, 10)
		n.Rsh(n, r.shift)
		line += fmt.Sprintf(" %11d", n)
		row.Columns = append(row.Columns, pcpjson.Column{Name: columns[i], Value: []byte(n.String())})
	}
	if r.m.JSON {
		row.Write()
		return
	}
	fmt.Fprintln(r.m.Out, line)
}

// table returns the name of a row in JSON.
func table(name string) string {
	return map[string]string{
		"Mem:": "memory", "Low:": "low", "High:": "high", compatible: "without cache", "Swap": "swap", "Total": "total",
	}[name]
}
