package dmcache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// doc is the description of both commands.
const doc = `Prints a line for each cache of the device mapper (dm-cache, which lvmcache uses too) at each interval: the used share of its metadata and blocks, hits and misses per second of reads and writes, and the shares of hits in all reads and writes of the device. The metrics are those of the agents dm and linux. Devices given as arguments are always shown. Options of pcp itself (pcp -h HOST dmcache, pcp -a ARCHIVE -S TIME -s 5 dmcache) select the source, the time and the number of samples.`

func options() []cli.Option {
	return []cli.Option{
		cli.Heading("Options"),
		{Short: 'R', Long: "repeat", Arg: "N", Help: "repeat the header after every N samples"},
		{Short: 'i', Long: "iops", Help: "display IOPs instead of cache hit ratio"},
		{Short: 'V', Long: "version", Shown: true, Help: "display version number and exit"},
		cli.OptHelp,
		cli.OptJSON,
	}
}

// Command is pcp-dmcache.
var Command = &cli.Command{
	Name:     "dmcache",
	Link:     "pcp-dmcache",
	Group:    cli.SeeNow,
	Summary:  "show the use of caches of the device mapper",
	Synopsis: "[options] [device ...]",
	Doc:      doc,
	Examples: []cli.Example{
		{Line: "pcp dmcache", Text: "show all caches, each second"},
		{Line: "pcp -a ARCHIVE -t 1min dmcache -i", Text: "show operations per second instead of ratios, from an archive"},
	},
	SeeAlso:     []string{"pmdadm(1)", "lvmcache(7)"},
	Options:     options,
	DieOnSignal: true,
	Run:         run,
}

// LVMCommand is pcp-lvmcache, another name of the same command.
var LVMCommand = &cli.Command{
	Name:     "lvmcache",
	Link:     "pcp-lvmcache",
	Group:    cli.SeeNow,
	Summary:  "show the use of caches of logical volumes",
	Synopsis: "[options] [device ...]",
	Doc:      doc,
	Examples: []cli.Example{
		{Line: "pcp lvmcache", Text: "show all caches, each second"},
		{Line: "pcp lvmcache -R 60 vg-home", Text: "show one of them, with a heading each minute"},
	},
	SeeAlso:     []string{"pmdadm(1)", "lvmcache(7)"},
	Options:     options,
	DieOnSignal: true,
	Run:         run,
}

var metrics = []string{
	"dmcache.cache.used", "dmcache.cache.total", "dmcache.metadata.used", "dmcache.metadata.total",
	"dmcache.read_hits", "dmcache.read_misses", "dmcache.write_hits", "dmcache.write_misses",
	"disk.dm.read", "disk.dm.write",
}

const repeat = 10 // samples for each heading, unless -R is given

// A report holds the options.
type report struct {
	env     *cli.Env
	m       *pmcc.Manager
	iops    bool
	repeat  int64
	devices []string
	host    string
	stop    bool // an argument was wrong and the message has been printed
}

func (r *report) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'i':
		r.iops = true
	case 'R':
		n, ok := pytext.Int(arg)
		if r.repeat = n; !ok || n == 0 {
			r.env.Fatalf("-R %s: after how many samples the header is to be repeated must be a number other than 0", arg)
			r.stop = true
		}
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	r := &report{env: env, repeat: repeat}
	return pmcc.Report{
		Kind: pmcc.Kind{Prefix: env.ProgName() + ": ", Bare: true, Blank: true, Missing: "Missing:"},
		Own:  r.own,
		Check: func(o *source.Options) bool {
			r.devices = slices.Sorted(slices.Values(o.Args))
			return r.stop
		},
	}.Run(ctx, env, func(m *pmcc.Manager) int {
		if status, ok := m.Use(ctx, metrics, len(metrics)); !ok {
			return status
		}
		r.m, r.host = m, m.Host(ctx)
		return m.Each(ctx, r.sample)
	})
}

// columns are the values of a sample, by metric and device.
type columns map[string]map[string]pmcc.Value

func (r *report) sample() error {
	c := make(columns, len(metrics))
	for _, name := range metrics {
		c[name] = pmcc.ByName(r.m.Converted(name))
	}
	width := 0
	for name := range c["dmcache.cache.used"] {
		width = max(width, utf8.RuneCountInString(name))
	}
	if !r.m.JSON && int64(r.m.Reports())%r.repeat == 0 {
		r.heading(width)
	}
	devices := r.devices
	if len(devices) == 0 {
		devices = slices.Sorted(maps.Keys(c["dmcache.cache.used"]))
	}
	for _, name := range devices {
		if r.m.JSON {
			r.jsonRow(c, name)
			continue
		}
		read, write := c.percent("dmcache.read_hits", "disk.dm.read", name, 7), c.percent("dmcache.write_hits", "disk.dm.write", name, 7)
		if r.iops {
			read, write = c.number("disk.dm.read", name), c.number("disk.dm.write", name)
		}
		fmt.Fprintln(r.m.Out, cut(name, width),
			c.percent("dmcache.metadata.used", "dmcache.metadata.total", name, 5),
			c.percent("dmcache.cache.used", "dmcache.cache.total", name, 5),
			c.number("dmcache.read_hits", name), c.number("dmcache.read_misses", name), read,
			c.number("dmcache.write_hits", name), c.number("dmcache.write_misses", name), write)
	}
	if len(devices) == 0 && !r.m.JSON {
		fmt.Fprintln(r.m.Out, "No values available")
	}
	return nil
}

func (r *report) heading(width int) {
	last := "ratio"
	if r.iops {
		last = "  ops"
	}
	fmt.Fprintf(r.m.Out, "@ %s (host %s)\n", r.m.Clock("%a %b %e %H:%M:%S %Y", r.m.Now()), r.host)
	fmt.Fprintf(r.m.Out, "%s ---%%used--- ---------reads--------- --------writes---------\n", pmcc.Center(" device ", width, '-'))
	fmt.Fprintf(r.m.Out, "%*s meta  cache     hit    miss   %s     hit    miss   %[3]s\n", width, "", last)
}

// jsonRow prints the row of a device with --json: the values of its metrics, counters as rates.
func (r *report) jsonRow(c columns, device string) {
	row := r.m.Row("", device)
	for _, name := range metrics {
		row.Number(name, c[name][device])
	}
	row.Write()
}

// number formats a value like pmNumberStr(3), or returns a question mark if there is none.
func (c columns) number(metric, device string) string {
	f, ok := c[metric][device].Number()
	if !ok {
		return fmt.Sprintf("%7s", "?")
	}
	return fmt.Sprintf("%7s", strings.Trim(pcp.NumberStr(f), " "))
}

// percent returns a value as a percentage of another.
func (c columns) percent(metric, of, device string, width int) string {
	part, ok := c[metric][device].Number()
	all, okAll := c[of][device].Number()
	text := "?%"
	switch share := 100 * part / all; {
	case !ok || !okAll:
	case all == 0:
		text = "0%"
	case share >= 100:
		text = "100%"
	default:
		text = fmt.Sprintf("%3.1f%%", share)
	}
	return fmt.Sprintf("%*s", width, text)
}

// cut returns the first n characters of s, which may have fewer.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return pmcc.Cut(s, n)
}
