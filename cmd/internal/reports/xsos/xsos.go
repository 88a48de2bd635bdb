package xsos

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp-xsos.
var Command = &cli.Command{
	Name:     "xsos",
	Link:     "pcp-xsos",
	Group:    cli.SeeNow,
	Summary:  "show the state of a host at one time",
	Synopsis: "[options]",
	Doc: `Prints sections about the system, the memory, the storage, the network and the processes of a host,
now or at a time of an archive, in the style of the program xsos. Without options it is the section
of the system. Options of pcp itself (pcp -h HOST xsos, pcp -a ARCHIVE -O TIME xsos) select the source and
the time; values of an archive are the first ones from that time on.`,
	Examples: []cli.Example{
		{Line: "pcp xsos", Text: "show the system: versions, uptime, load and processors"},
		{Line: "pcp xsos --all", Text: "show all sections"},
		{Line: "pcp -a ARCHIVE -O @10:00 xsos -m -p", Text: "show memory and processes of a host at ten o'clock"},
	},
	SeeAlso: []string{"ps(1)", "pcp-summary(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.OptArchive,
			cli.OptHost,
			cli.OptOrigin,
			cli.OptStart,
			{Long: "all", Help: "show everything"},
			{Short: 'o', Long: "os", Help: "show hostname, distro, kernel info, uptime, etc"},
			{Short: 'd', Long: "disks", Help: "show disks and filesystems"},
			{Short: 'm', Long: "mem", Help: "show memory"},
			{Short: 'n', Long: "netdev", Help: "show network interfaces and sockets"},
			{Short: 'N', Long: "netstat", Help: "show network statistics"},
			{Short: 'p', Long: "ps", Help: "show processes"},
			{Short: 'u', Long: "units", Arg: "P", Help: "unit of sizes: b for byte, or k, m, g, t"},
			{Short: 'x', Long: "nocolor", Help: "show no colors"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// A section is a part of the report, with its option and its metrics.
type section struct {
	option  string // long name
	metrics []string
	print   func(*page)
}

func sections() []section {
	return []section{
		{"os", osMetrics, (*page).system},
		{"mem", memoryMetrics, (*page).memory},
		{"disks", diskMetrics, (*page).disks},
		{"netdev", netMetrics, (*page).interfaces},
		{"netstat", netstatMetrics(), (*page).netstat},
		{"ps", processMetrics, (*page).processes},
	}
}

// baseMetrics are needed by more than one section.
var baseMetrics = []string{"kernel.all.boottime", "mem.physmem"}

// A value is that of an instance, or the only one of a metric, as pminfo prints it, without quotes.
type value struct {
	inst int32
	name string
	text string
}

// A page is one report.
type page struct {
	env       *cli.Env
	colors    colors
	size, net unit
	wanted    map[string]bool // sections by their options
	all       bool

	zone   *time.Location
	time   float64 // of the sample, in seconds since 1970
	values map[string][]value
}

func run(ctx context.Context, env *cli.Env) int {
	p := &page{env: env, size: units()["G"], net: units()["M"], wanted: make(map[string]bool), values: make(map[string][]value)}
	plain := false
	o := source.Parse(env, cli.ParseConfig{Archives: true, Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "all":
			p.all = true
		case "units":
			u, ok := units()[strings.ToUpper(arg[:min(1, len(arg))])]
			if !ok {
				u = unit{name: "B", divisor: 1, percent: 1}
			}
			p.size, p.net = u, u
		case "nocolor":
			plain = true
		default:
			if !slices.ContainsFunc(sections(), func(s section) bool { return s.option == opt.Long }) {
				return false
			}
			p.wanted[opt.Long] = true
		}
		return true
	}})
	if !o.Errors() && len(o.Args) > 0 {
		o.Usagef("Unknown argument: %s", o.Args[0])
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if !plain && (env.Classic() || env.Colours()) {
		p.colors = palette(env)
	}
	if len(p.wanted) == 0 && !p.all {
		p.wanted["os"] = true
	}
	names := slices.Clone(baseMetrics)
	var show []section
	for _, s := range sections() {
		if p.all || p.wanted[s.option] {
			show = append(show, s)
			names = append(names, s.metrics...)
		}
	}
	if !p.read(ctx, o, names) {
		return 1
	}
	for _, s := range show {
		s.print(p)
		p.printf("\n")
	}
	return 0
}

// read gets all values that there are. It reports whether there is one; if not, it has printed the reason.
func (p *page) read(ctx context.Context, o *source.Options, names []string) bool {
	c, err := o.Connect(ctx)
	if err != nil {
		return false
	}
	defer c.Close()
	p.time, p.zone = float64(time.Now().UnixNano())/1e9, time.Local
	a, recorded := c.Archive()
	var origin pcp.Timestamp
	if recorded {
		label, err := a.Label(ctx)
		if err != nil {
			return p.env.Fatalf("%v", err) == 0
		}
		origin = label.Start
		p.values["pmcd.hostname"] = []value{{text: label.Host}}
		p.values["pmcd.timezone"] = []value{{text: label.TimeZone}}
		if label.ZoneInfo != "" {
			p.values["pmcd.zoneinfo"] = []value{{text: label.ZoneInfo}}
		}
	}
	if p.zone, err = o.SetZone(ctx, c, false); err != nil {
		return false
	}
	if recorded && o.HasWindow() {
		w, err := o.Window(ctx, c, p.zone)
		if err != nil {
			return false
		}
		origin = w.Origin
	}
	ids, _ := c.LookupName(ctx, names...)
	var known []string
	var wanted []pcp.PMID
	for i, id := range ids {
		if id != pcp.PMIDNull {
			known, wanted = append(known, names[i]), append(wanted, id)
		}
	}
	found := false
	if !recorded && len(wanted) > 0 {
		res, err := c.Fetch(ctx, wanted)
		if err != nil {
			return p.env.Fatalf("%v", err) == 0
		}
		for i := range res.Sets {
			found = p.take(ctx, c, known[i], &res.Sets[i]) || found
		}
	}
	if recorded {
		p.time = float64(origin.Sec) + float64(origin.Nsec)/1e9
		for i, id := range wanted { // each wherever it comes first
			if err := a.SetMode(ctx, pmapi.ModeForw, &origin, 0); err != nil {
				return p.env.Fatalf("%v", err) == 0
			}
			if res, err := c.Fetch(ctx, []pcp.PMID{id}); err == nil {
				found = p.take(ctx, c, known[i], &res.Sets[0]) || found
			}
		}
	}
	if !found {
		return p.env.Fatalf("failed to retrieve all %d metric values", len(names)) == 0
	}
	return true
}

// take keeps the values of a metric, and reports whether it has any.
func (p *page) take(ctx context.Context, c *pmapi.Context, name string, set *pcp.ValueSet) bool {
	desc, err := c.LookupDesc(ctx, set.PMID)
	if err != nil || set.Err != 0 || len(set.Values) == 0 {
		return false
	}
	names := make(map[int32]string)
	if desc.InDom != pcp.InDomNull {
		insts, err := c.GetInDom(ctx, desc.InDom)
		if err != nil {
			return false
		}
		for _, i := range insts {
			names[i.Inst] = i.Name
		}
	}
	var list []value
	for i := range set.Values {
		v := &set.Values[i]
		text := string(v.AppendPrint(nil, desc.Type, 1, time.UTC))
		if desc.Type == pcp.TypeString {
			text, _ = v.As(desc.Type).Text()
		}
		list = append(list, value{v.Inst, names[v.Inst], strings.Join(strings.Fields(text), " ")})
	}
	p.values[name] = list
	return true
}

// text returns the value of a metric without instances, "" if there is none.
func (p *page) text(name string) string {
	if list := p.values[name]; len(list) > 0 {
		return list[0].text
	}
	return ""
}

// number returns the value of a metric without instances, 0 if there is none.
func (p *page) number(name string) float64 { return number(p.text(name)) }

// of returns the value of an instance as text, "" if there is none.
func (p *page) of(name string, inst int32) string {
	for _, v := range p.values[name] {
		if v.inst == inst {
			return v.text
		}
	}
	return ""
}

// byInst returns the values of a metric by instance.
func (p *page) byInst(name string) map[int32]string {
	m := make(map[int32]string, len(p.values[name]))
	for _, v := range p.values[name] {
		m[v.inst] = v.text
	}
	return m
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(p.env.Stdout, format, args...) }

// put prints the value of a metric in a format of one string, or that it is unknown.
func (p *page) put(format, name string) {
	text := p.text(name)
	if text == "" {
		text = p.colors.orange + "unknown"
	}
	p.printf(format, text)
}

// A unit is that of sizes.
type unit struct {
	name     string
	divisor  float64 // in bytes
	low      int     // digits after the point of large sizes
	high     int     // and of small ones
	percent  int     // and of percentages
	bytes    int     // and of counters of bytes
	packets  string  // unit of packets
	packetsN float64 // and their divisor, 0 for 1
}

// units returns the units other than bytes, by the letter of the option.
func units() map[string]unit {
	return map[string]unit{
		"K": {name: "KiB", divisor: 1 << 10, percent: 1},
		"M": {name: "MiB", divisor: 1 << 20, percent: 1, packets: " k", packetsN: 1e3},
		"G": {name: "GiB", divisor: 1 << 30, low: 1, high: 2, bytes: 1, packets: " M", packetsN: 1e6},
		"T": {name: "TiB", divisor: 1 << 40, low: 2, high: 3, bytes: 2, packets: " M", packetsN: 1e6},
	}
}

// round returns a number with some digits after the point, without zeros at the end.
func round(f float64, digits int) string {
	scale := math.Pow(10, float64(digits))
	return decimal(math.Trunc(f*scale+0.5) / scale)
}

// decimal prints a number as awk does.
func decimal(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e16 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// ratio returns a part of the total, 0 if there is no total.
func ratio(part, total float64) float64 {
	if total == 0 {
		return 0
	}
	return part / total
}

// colors are the sequences of the terminal, empty without colors.
type colors struct {
	reset, red, green, orange, blue, purple, cyan, white string
	onBlue, boldWhite, boldPurple, boldBlue, boldRed     string
}

func palette(env *cli.Env) colors {
	sgr := func(s string) string { return env.Own("\x1b[" + s + "m") }
	return colors{
		reset: sgr("0"), red: sgr("0;31"), green: sgr("0;32"), orange: sgr("0;33"), blue: sgr("0;34"), purple: sgr("0;35"), cyan: sgr("0;36"),
		white: sgr("0;37"), onBlue: sgr("44"), boldWhite: sgr("1;37"), boldPurple: sgr("1;35"), boldBlue: sgr("1;34"), boldRed: sgr("1;31"),
	}
}

// Headings of three levels.
func (p *page) h0() string { return p.colors.boldRed }
func (p *page) h1() string { return "  " + p.colors.boldPurple }
func (p *page) h2() string { return "    " + p.colors.boldBlue }
