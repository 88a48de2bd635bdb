package summary

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// Command is pcp-summary, which pcp also runs without a command.
var Command = &cli.Command{
	Name:     "summary",
	Link:     "pcp-summary",
	Group:    cli.SeeNow,
	Summary:  "summarize a collector or archive",
	Synopsis: "[options]",
	Doc: `Prints a short summary of a collector or an archive: host, hardware and time zone, the version of
the collector, its agents with the status of those with problems, and the pmlogger and pmie
processes. "pcp" without a command prints the same.`,
	Examples: []cli.Example{
		{Line: "pcp summary", Text: "summarize the collector on this machine, like pcp alone"},
		{Line: "pcp summary -h HOST", Text: "summarize the collector on a host"},
		{Line: "pcp summary -a ARCHIVE -P", Text: "summarize an archive, with the number of evaluations of pmie"},
	},
	SeeAlso: []string{"pmcd(1)", "pmlogger(1)", "pmie(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.OptArchive,
			{Short: 'D', Help: "debug"},
			cli.OptHost,
			cli.OptOrigin,
			cli.OptNameSpace,
			{Short: 'P', Long: "pmie", Help: "display pmie evaluation statistics"},
			cli.OptJSON,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// Width is the maximum length of lines of lists. That of PCP 7 is width7.
const (
	Width  = 64
	width7 = 68
)

// indent is the beginning of the lines of a list after the first.
const indent = "           "

// A page holds the data about a source.
type page struct {
	env   *cli.Env
	debug bool // -D
	rules bool // -P

	archive string // as given; "" for a collector
	host    string
	values  values
	seven   bool // as PCP 7
}

func run(ctx context.Context, env *cli.Env) int {
	p := &page{env: env, seven: env.Seven()}
	o := source.Parse(env, cli.ParseConfig{Archives: true, Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		switch opt.Short {
		case 'D':
			p.debug = true
		case 'P':
			p.rules = true
		default:
			return false
		}
		return true
	}})
	if status, exit := o.Done(); exit {
		return 2 * status // the C script's
	}
	if !p.read(ctx, o) {
		return 1
	}
	if o.JSON {
		p.objects()
		return 0
	}
	p.print()
	return 0
}

// read gets all values. It reports whether it succeeded; if not, it has printed the
// reason on standard output, as the C tool does.
func (p *page) read(ctx context.Context, o *source.Options) bool {
	told := *p.env
	told.Config() // before it is copied
	told.Stderr = p.env.Stdout
	o = source.New(&told, o.Options)
	c, err := o.Connect(ctx)
	if err != nil {
		return false
	}
	defer c.Close()
	p.host = p.env.Getenv("PCP_HOST")
	if len(o.Hosts) > 0 {
		p.host = o.Hosts[0]
	}
	if p.host == "" {
		p.host, _ = os.Hostname()
	}
	r := reader{c: c}
	if a, ok := c.Archive(); ok {
		r.archive = a
		p.archive = o.Archives[0]
		p.host = "unknown host"
		label, err := a.Label(ctx)
		if err == nil {
			p.host = firstWord(label.Host)
			p.values.zone = firstWord(label.TimeZone)
			o.HostZone = !o.TimeZoneSet
		}
		loc, err := o.SetZone(ctx, c, false)
		if err != nil {
			return false
		}
		if o.HasWindow() {
			w, err := o.Window(ctx, c, loc)
			if err != nil {
				return false
			}
			r.origin = w.Origin
		}
	}
	r.read(ctx, &p.values, p.rules)
	return true
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(s, " "), " ")
	return word
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(p.env.Stdout, format, args...) }

func (p *page) print() {
	v := &p.values
	if p.debug {
		p.printf("log_archive:\n")
		p.dump(v.lists["pmcd.pmlogger.archive"])
		p.printf("log_host:\n")
		p.dump(v.lists["pmcd.pmlogger.pmcd_host"])
	}
	p.printf("Performance Co-Pilot configuration on %s:\n\n", cmp.Or(v.one["pmcd.hostname"], p.host))
	if p.archive != "" {
		p.printf("  archive: %s\n", p.archive)
	}
	p.printf(" platform: %s\n", v.one["pmda.uname"])
	p.printf(" hardware: %s\n", p.hardware())
	p.printf(" timezone: %s\n", p.timezone())
	if services := v.one["pmcd.services"]; services != "" {
		p.printf(" services: %s\n", services)
	}
	if v.one["pmcd.version"] != "" || !p.seven {
		p.printf("     pmcd: %s,%s\n", p.version(), p.users())
		if agents := p.agents(); agents != "" {
			p.printf("     pmda: %s\n", agents)
		}
	}
	p.loggers()
	p.received()
	p.engines()
}

// timezone returns the time zone, with PCP 7 also its name.
func (p *page) timezone() string {
	v := &p.values
	zone := cmp.Or(v.one["pmcd.timezone"], v.zone, "Unknown")
	if name := strings.TrimPrefix(v.one["pmcd.zoneinfo"], ":"); p.seven && name != "" {
		zone += " (" + name + ")"
	}
	return zone
}

// noPrimary is the archive or log of a primary process that does not run.
func (p *page) noPrimary() string {
	if p.seven {
		return ""
	}
	return "0" // which C compares with the names of archives
}

// dump prints a list unchanged.
func (p *page) dump(list []entry) {
	for _, e := range list {
		p.printf("%s \"%s\"\n", e.inst, e.value)
	}
}

func (p *page) hardware() string {
	v := &p.values
	cpu := "cpu"
	if types := v.lists["hinv.cputype"]; len(types) > 0 {
		cpu = types[0].value + " cpu"
	}
	text := plural(v.one["hinv.ncpu"], cpu) + plural(v.one["hinv.ndisk"], "disk") + plural(v.one["hinv.nnode"], "node") +
		plural(v.one["hinv.nrouter"], "router") + plural(v.one["hinv.nxbow"], "xbow") + plural(v.one["hinv.ncell"], "cell")
	if mem := v.one["hinv.physmem"]; mem != "" && mem != "0" {
		text += " " + mem + "MB RAM"
	}
	return strings.Join(strings.Fields(text), " ")
}

// plural returns the count of things with their name, between a space and a comma, ""
// if the count is 0 or unknown.
func plural(count, what string) string {
	switch count {
	case "", "0":
		return ""
	case "1":
		return " 1 " + what + ","
	}
	return " " + count + " " + what + "s,"
}

func (p *page) version() string {
	v := &p.values
	text := "Version " + cmp.Or(v.one["pmcd.version"], "unknown")
	if v.one["pmcd.version"] != "" && v.one["pmcd.build"] != "" {
		text += "-" + v.one["pmcd.build"]
	}
	return text
}

// users prints the number of agents and other clients of the collector.
func (p *page) users() string {
	agents := plural(p.values.one["pmcd.numagents"], "agent")
	count, err := strconv.Atoi(p.values.one["pmcd.numclients"])
	if err != nil {
		return agents
	}
	clients := plural(strconv.Itoa(count-1), "client") // except this one
	if clients == "" {
		return strings.TrimSuffix(agents, ",")
	}
	return agents + strings.TrimSuffix(clients, ",")
}

// agents lists the agents, each with its status if that is not 0.
func (p *page) agents() string {
	var b strings.Builder
	for _, e := range p.values.lists["pmcd.agent.status"] {
		b.WriteString(e.name)
		if n, err := strconv.Atoi(e.value); err != nil || n != 0 {
			fmt.Fprintf(&b, "[%d]", n)
		}
		b.WriteByte(' ')
	}
	lines := cli.Fill(b.String(), Width)
	if p.seven {
		lines = cli.FillGoal(b.String(), width7, width7)
	}
	return strings.Join(lines, "\n"+indent)
}

// loggers lists the pmlogger processes and their archives.
func (p *page) loggers() {
	rows := join(p.values.lists["pmcd.pmlogger.pmcd_host"], p.values.lists["pmcd.pmlogger.archive"])
	if processes(rows) == 0 {
		return
	}
	primary := p.noPrimary()
	for _, r := range rows {
		if r.inst == "0" {
			primary = r.fields[1]
		}
	}
	var lines []string
	for _, r := range rows {
		switch {
		case r.inst == "0":
		case r.fields[1] == primary && primary != "":
			if !slices.ContainsFunc(lines, func(s string) bool { return strings.HasPrefix(s, "primary logger: ") }) {
				lines = append(lines, "primary logger: "+r.fields[1])
			}
		case r.inst != "1":
			lines = append(lines, r.fields[0]+": "+r.fields[1])
		}
	}
	slices.Sort(lines)
	p.printf(" pmlogger: %s\n", strings.Join(lines, "\n"+indent))
}

// received lists the archives that pmproxy receives, as PCP 7 does.
func (p *page) received() {
	var lines []string
	for _, e := range p.values.lists[receivedPaths] {
		lines = append(lines, firstWord(e.value))
	}
	if len(lines) == 0 || !p.seven {
		return
	}
	slices.Sort(lines)
	p.printf("  pmproxy: %s\n", strings.Join(lines, "\n"+indent))
}

// engines lists the pmie processes and their logs, or with -P their rules.
func (p *page) engines() {
	l := p.values.lists
	hosts, configs, logs, rules := l["pmcd.pmie.pmcd_host"], l["pmcd.pmie.configfile"], l["pmcd.pmie.logfile"], l["pmcd.pmie.numrules"]
	if len(hosts) == 0 || len(configs) == 0 || len(logs) == 0 || len(rules) == 0 {
		return
	}
	rows := join(hosts, logs)
	if p.rules {
		rows = join(hosts, configs, rules)
	}
	if processes(rows) == 0 {
		return
	}
	if p.rules {
		counts := [][]entry{hosts, configs, rules}
		for _, name := range []string{"pmcd.pmie.eval.true", "pmcd.pmie.eval.false", "pmcd.pmie.eval.unknown", "pmcd.pmie.actions", "pmcd.pmie.eval.expected"} {
			if len(l[name]) == 0 {
				counts = counts[:3]
				break
			}
			counts = append(counts, l[name])
		}
		rows = join(counts...)
	} else {
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(number(a.inst), number(b.inst)) })
	}
	primary := p.noPrimary()
	first, others := []string(nil), []string(nil)
	for _, r := range rows {
		switch {
		case r.inst == "0":
			primary = r.fields[1]
		case r.fields[1] == primary && primary != "":
			first = append(first, p.engine("primary engine", r)...)
		}
	}
	for _, r := range rows {
		if r.inst == "0" {
			primary = r.fields[1]
		} else if r.inst != "1" && r.fields[1] != primary {
			others = append(others, p.engine(r.fields[0], r)...)
		}
	}
	lines := slices.Concat(first, others)
	if !p.rules {
		slices.Sort(lines)
	}
	p.printf("     pmie: %s\n", strings.Join(lines, "\n"+indent))
}

// engine returns the lines about a pmie process.
func (p *page) engine(who string, r row) []string {
	if !p.rules {
		return []string{who + ": " + r.fields[1]}
	}
	field := func(i int) string {
		if i < len(r.fields) {
			return r.fields[i]
		}
		return "0"
	}
	whole := func(i int) uint64 { return uint64(number(field(i))) }
	var lines []string
	for _, text := range []string{
		fmt.Sprintf("%s: %s (%d rules)\n", who, r.fields[1], whole(2)),
		fmt.Sprintf("evaluations true=%d false=%d unknown=%d (actions=%d)\n", whole(3), whole(4), whole(5), whole(6)),
		fmt.Sprintf("expected evaluation rate=%.2f rules/sec\n", number(field(7))),
	} {
		lines = append(lines, cli.Fill(text, Width)...)
	}
	return lines
}

// number reads a number as awk does: other text is 0.
func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 {
		return 0
	}
	return f
}
