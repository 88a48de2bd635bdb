package dstat

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp-dstat.
var Command = &cli.Command{
	Name:     "dstat",
	Link:     "pcp-dstat",
	Group:    cli.SeeNow,
	Summary:  "show groups of metrics side by side, a line per interval",
	Synopsis: "[-afv] [options...] [delay [count]]",
	Doc: `Prints a line of values at each interval, for processors, disks, networks and any other plugin. Each
plugin has an option of its name, and --list lists them; the default is the set of -a. Without a
delay a line covers one second, and on a terminal it is updated before its interval ends. Options of
pcp itself (pcp -h HOST dstat, pcp -a ARCHIVE -S TIME dstat) select the source and the time.

Plugins are sections of files in the directories $PCP_SYSCONF_DIR/dstat and ~/.pcp/dstat, in the
format of pcp-dstat(5). If none are installed, the built-in plugins are used.

Colors are used on terminals, or always with --color; NO_COLOR disables them. The table written by
-o has the exact values, and is appended to an existing file.`,
	Examples: []cli.Example{
		{Line: "pcp dstat -tcdn 5", Text: "watch processors, disks and networks, each five seconds"},
		{Line: "pcp dstat --cpu -C 0,1,total --top-cpu", Text: "show two processors, their mean, and the process with the most processor time"},
		{Line: "pcp -a ARCHIVE -S 'yesterday 14:00' dstat -tvn -o table.csv 60 30", Text: "print half an hour of yesterday, and write it to a table"},
		{Line: "pcp dstat --list", Text: "list the plugins"},
	},
	SeeAlso: []string{"pcp-dstat(1)", "pcp-dstat(5)", "pmrep(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Plugins"),
			{Short: 'c', Long: "cpu", Help: "use of processors"},
			{Short: 'C', Arg: "0,3,total", Help: "of these processors, and of all"},
			{Short: 'd', Long: "disk", Help: "bytes read from and written to disks"},
			{Short: 'D', Arg: "sda,total", Help: "of these disks, and of all"},
			{Long: "device-mapper", Help: "the same for devices of the device mapper (or --dm)"},
			{Short: 'L', Arg: "root,total", Help: "of these ones, and of all"},
			{Long: "multi-device", Help: "the same for software RAID (or --md)"},
			{Short: 'M', Arg: "md0,total", Help: "of these ones, and of all"},
			{Long: "partition", Help: "the same for partitions (or --part)"},
			{Short: 'P', Arg: "sda1,total", Help: "of these ones, and of all"},
			{Short: 'g', Long: "page", Help: "pages read and written"},
			{Short: 'i', Long: "int", Help: "interrupts"},
			{Short: 'I', Arg: "9,CAL", Help: "of these lines"},
			{Short: 'l', Long: "load", Help: "load averages"},
			{Short: 'm', Long: "mem", Help: "use of memory"},
			{Short: 'n', Long: "net", Help: "bytes received and sent"},
			{Short: 'N', Arg: "eth1,total", Help: "by these interfaces, and by all"},
			{Short: 'p', Long: "proc", Help: "processes that run, wait and are new"},
			{Short: 'r', Long: "io", Help: "requests to disks"},
			{Short: 's', Long: "swap", Help: "use of swap space"},
			{Short: 'S', Arg: "sda2,total", Help: "of these devices"},
			{Short: 't', Long: "time", Help: "date and time"},
			{Long: "time-adv", Help: "date and time, with milliseconds"},
			{Short: 'T', Long: "epoch", Help: "seconds since 1970"},
			{Long: "epoch-adv", Help: "seconds since 1970, with milliseconds"},
			{Short: 'y', Long: "sys", Help: "interrupts and context switches"},
			{Long: "aio", Help: "asynchronous requests"},
			{Long: "fs", Help: "open files and inodes"},
			{Long: "filesystem", Help: "as --fs"},
			{Long: "ipc", Help: "System V queues, semaphores and shared memory"},
			{Long: "lock", Help: "locks of files"},
			{Long: "raw", Help: "raw sockets"},
			{Long: "socket", Help: "sockets by protocol"},
			{Long: "tcp", Help: "TCP connections by state"},
			{Long: "udp", Help: "UDP sockets"},
			{Long: "unix", Help: "Unix sockets"},
			{Long: "vm", Help: "page faults, pages allocated and freed"},
			{Long: "vm-adv", Help: "pages scanned and reclaimed"},
			{Long: "list", Help: "list all plugins; each has an option of its name"},
			{Long: "plugin"}, // which in C is the name of a missing plugin
			cli.Heading("Sets of plugins"),
			{Short: 'a', Long: "all", Help: "-cdngy, which is the default"},
			{Short: 'f', Long: "full", Help: "show each processor, disk, interface and so on"},
			{Short: 'v', Long: "vmstat", Help: "-pmgdyc"},
			cli.Heading("Output"),
			{Long: "bits", Help: "print bits where figures are bytes"},
			{Long: "float", Help: "print fractions where there is room"},
			{Long: "integer", Help: "print no fractions"},
			{Long: "bw", Help: "choose colors for a light background (or --blackonwhite)"},
			{Long: "blackonwhite"},
			{Long: "black-on-white"},
			{Long: "color", Help: "print colors, also to files and pipes"},
			{Long: "nocolor", Help: "print no colors"},
			{Long: "noheaders", Help: "do not repeat the headings"},
			{Long: "noupdate", Help: "print a line only when its interval is over"},
			{Long: "nomissed", Help: "do not report samples that were late"},
			{Short: 'o', Long: "output", Arg: "FILE", Help: "write a table of comma-separated values as well"},
			cli.OptJSON,
			{Short: 'q', Help: "check the plugins and exit"},
			{Short: 'V', Long: "version", Help: "print versions, this host and the plugins"},
			{Long: "debug", Arg: "DBG"},
			{Long: "dbg"},
			{Short: 'h', Long: "help", Help: "print this text and exit"},
			{Short: '?'},
			{Arg: "|", Help: "\nDelay is the time between lines (default: 1 second), count how many lines there are (default: no limit)."},
		}
	},
	Run: run,
}

// parse reads the options. Options that print something do so at once.
func (p *program) parse(ctx context.Context) *source.Options {
	// Each plugin is an option too, after the listed options.
	command := *p.env.Command
	rows := command.OptionList()
	for _, name := range p.all.Names() {
		if name != "" {
			rows = append(rows, cli.Option{Long: name})
		}
	}
	command.Options = func() []cli.Option { return rows }
	env := *p.env
	env.Command = &command
	cfg := cli.ParseConfig{Archives: true, Later: true}
	var so *source.Options
	cfg.Own = func(o *cli.Options, opt *cli.Option, arg string) bool {
		if p.ended {
			return true
		}
		if p.terminal(ctx, o, opt, &env) {
			return true
		}
		return p.option(opt, arg)
	}
	so = source.Parse(&env, cfg)
	return so
}

// terminal handles options after which the program exits.
func (p *program) terminal(ctx context.Context, o *cli.Options, opt *cli.Option, env *cli.Env) bool {
	switch {
	case opt.Short == '?':
		o.WantUsage()
		return true
	case opt.Long == "help":
		if env.Classic() {
			o.WantUsage()
			o.Options.Done()
		} else {
			env.Help(p.env.Command)
		}
	case opt.Long == "list":
		p.silent = true
		_, cols := p.term.size()
		list(p.env.Stdout, p.places, cols)
	case opt.Long == "version":
		p.silent = true
		p.status = p.tellVersion(ctx, source.New(env, o))
	default:
		return false
	}
	p.ended = true
	return true
}

// option handles the other options.
func (p *program) option(opt *cli.Option, arg string) bool {
	choose := func(prefix string) *chosen {
		c := &chosen{}
		for _, name := range strings.Split(arg, ",") {
			if name != total {
				c.names = append(c.names, prefix+name)
			}
		}
		sort.Strings(c.names)
		if slices.Contains(strings.Split(arg, ","), total) {
			c.names = append(c.names, total)
		}
		return c
	}
	switch opt.Short {
	case 'C':
		p.sel.cpu = choose("cpu")
		return true
	case 'D':
		p.sel.disk = choose("")
		return true
	case 'L':
		p.sel.dm = choose("")
		return true
	case 'M':
		p.sel.md = choose("")
		return true
	case 'P':
		p.sel.part = choose("")
		return true
	case 'I':
		p.sel.line = choose("line")
		return true
	case 'N':
		p.sel.net, p.sel.packets = choose(""), choose("")
		return true
	case 'S': // which has no sum
		p.sel.swap = &chosen{}
		for _, name := range strings.Split(arg, ",") {
			p.sel.swap.names = append(p.sel.swap.names, "/dev/"+name)
		}
		return true
	case 'q':
		p.verify = true
		return true
	}
	switch opt.Long {
	case "debug", cli.OptJSON.Long:
		return false
	case "dbg":
		p.debug = true
	case "device-mapper":
		p.want("dm")
	case "multi-device":
		p.want("md")
	case "partition":
		p.want("part")
	case "filesystem":
		p.want("fs")
	case "all":
		p.want("cpu", "disk", "net", "page", "sys")
	case "vmstat":
		p.want("proc", "mem", "page", "disk", "sys", "cpu")
	case "full":
		p.sel.full = true
	case "bits":
		p.bits = true
	case "bw", "black-on-white", "blackonwhite":
		p.light = true
	case "color":
		p.color, p.noColor, p.update = true, false, true
	case "nocolor":
		p.color, p.noColor = false, true
	case "float":
		p.float = true
	case "integer":
		p.integer = true
	case "noheaders":
		p.headings = false
	case "noupdate":
		p.update = false
	case "nomissed":
		p.quietMissed = true
	case "output":
		p.table.path = arg
	default:
		p.want(opt.Long)
	}
	return true
}

// want adds plugins to those shown.
func (p *program) want(names ...string) {
	for _, name := range names {
		if !slices.Contains(p.wanted, name) {
			p.wanted = append(p.wanted, name)
		}
	}
}

// tellVersion prints the output of --version.
func (p *program) tellVersion(ctx context.Context, o *source.Options) int {
	p.o = o
	if status, ok := p.connect(ctx); !ok {
		return status
	}
	defer p.c.Close()
	group, err := pmapi.NewFetchGroupConfig(p.c, p.env.Config())
	if err != nil {
		return p.failed(err)
	}
	w := p.env.Stdout
	fmt.Fprintf(w, "pcp-dstat %s\nWritten by the PCP team <pcp@groups.io> and Dag Wieers <dag@wieers.com>\n"+
		"Homepages at https://pcp.io/ and http://dag.wieers.com/home-made/dstat/\n\n", p.pcpVersion())
	facts := []struct{ metric, title string }{
		{"kernel.uname.sysname", "Platform %s\n"},
		{"kernel.uname.release", "Kernel %s\nPython none, but " + runtime.Version() + "\n\n"},
		{"hinv.ncpu", "Processors: %s\n"},
		{"hinv.pagesize", "Pagesize: %s\n"},
		{"kernel.all.hz", "Clock ticks per second: %s\n\n"},
	}
	var items []*pmapi.GroupItem
	for _, f := range facts {
		item, err := group.Add(ctx, pmapi.GroupMetric{Metric: f.metric, Scale: "instant", Type: pcp.TypeString})
		if err != nil {
			return p.failed(err)
		}
		items = append(items, item)
	}
	if err := group.Fetch(ctx); err != nil {
		return p.failed(err)
	}
	for i, f := range facts {
		text := "unknown"
		if items[i].Err == nil {
			text, _ = items[i].Value.Text()
		}
		if i == 2 {
			p.tellTerminal(w)
		}
		fmt.Fprintf(w, f.title, text)
	}
	_, cols := p.term.size()
	list(w, p.places, cols)
	return 0
}

func (p *program) tellTerminal(w io.Writer) {
	no := "no "
	if p.term.colorful() {
		no = ""
	}
	rows, cols := p.term.size()
	fmt.Fprintf(w, "Terminal type: %s (%scolor support)\nTerminal size: %d lines, %d columns\n\n", orNone(p.env.Getenv("TERM")), no, rows, cols)
}

// debugText is the output of --dbg before the first line.
const debugText = `Config file keywords: ('header', 'interval', 'timefmt')
Metric spec keywords: ('label', 'instances', 'unit', 'type', 'width', 'precision', 'limit', 'formula', None, 'printtype', 'colorstep', 'grouptype', 'cullinsts', 'plugin', 'valuesets')
`

// tellDefaults prints a section's settings of its plugin, for --dbg.
func (p *program) tellDefaults(section string) {
	for key, value := range p.all.Values(section) {
		switch key {
		case "label", "instances", "unit", "type", "width", "precision", "limit", "formula", "printtype", "colorstep",
			"grouptype", "cullinsts", "plugin", "valuesets":
			fmt.Fprintf(p.env.Stdout, "Default %s %s -> %s\n", section, key, value)
		}
	}
}
