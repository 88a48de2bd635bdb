package netstat

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// Command is pcp-netstat.
var Command = &cli.Command{
	Name:    "netstat",
	Link:    "pcp-netstat",
	Group:   cli.SeeNow,
	Summary: "show counters of network protocols and interfaces",
	Doc: `Prints the counters of network protocols, like netstat -s, and a table of the interfaces, like
netstat -i; with --statistics or -i only one of them. For a live host it prints them once, for an
archive at each interval. Missing values are NA. Options of pcp itself (pcp -h HOST netstat, pcp -a
ARCHIVE -S TIME netstat) select the source and the time.`,
	Examples: []cli.Example{
		{Line: "pcp netstat -i", Text: "show the interfaces of this host"},
		{Line: "pcp -a ARCHIVE netstat -p TCP -s 3", Text: "show the counters of TCP three times"},
	},
	SeeAlso: []string{"pcp-ss(1)", "netstat(8)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.OptStart,
			cli.OptFinish,
			{Long: "statistics", Help: "show the counters of all protocols"},
			{Short: 'i', Help: "show the table of interfaces"},
			{Short: 'p', Arg: "TCP|IP|UDP|ICMP", Help: "show the counters of one protocol"},
			{Long: "help", Help: "show this usage message and exit"},
			{Short: '?', Arg: "-"}, // with an argument, as in C
			{Short: 'a', Arg: "FILE"},
			{Short: 's', Arg: "N"},
			{Short: 'z', Arg: "-"}, // and the arguments after this option are ignored, as in C
			cli.OptJSON,
		}
	},
	Interruptible: true,
	Run:           run,
}

var protocols = []string{"TCP", "IP", "UDP", "ICMP"}

// A report holds the options.
type report struct {
	m        *pmcc.Manager
	all      bool
	filtered bool
	protocol string // with filtered
	ifaces   bool
	begun    bool // the first line was printed
}

func run(ctx context.Context, env *cli.Env) int {
	r := report{}
	return pmcc.Report{Kind: pmcc.Kind{Prefix: env.ProgName() + " "}, Own: r.option}.Run(ctx, env, func(m *pmcc.Manager) int {
		if !r.all && !r.filtered && !r.ifaces {
			r.all, r.ifaces = true, true
		}
		r.m = m
		if status, ok := r.use(ctx); !ok {
			return status
		}
		if r.filtered && r.protocol == "" {
			return m.Errorf("-p: the protocol is one of %s", strings.Join(protocols, ", "))
		}
		return m.EachOrFirst(ctx, r.print)
	})
}

func (r *report) option(o *cli.Options, opt *cli.Option, arg string) bool {
	switch {
	case opt.Long == "statistics":
		r.all = true
	case opt.Short == 'i':
		r.ifaces = true
	case opt.Short == 'p':
		r.filtered = true
		if slices.Contains(protocols, arg) { // others after a valid one are ignored, as in C
			r.protocol = arg
		}
	case opt.Short == 'a':
		o.AddArchive(arg)
	case opt.Short == 's':
		o.Common(cli.OptSamples, arg)
	case opt.Short == 'z':
		o.Common(cli.OptHostZone, "")
	case opt.Short == '?', opt.Long == "help":
		o.WantUsage()
	default:
		return false
	}
	return true
}

// use looks the metrics up. Counters that the host does not have are left out; all other metrics must exist.
func (r *report) use(ctx context.Context) (status int, ok bool) {
	var counters, table []string
	for _, s := range sections {
		for _, l := range s.lines {
			counters = append(counters, l.metric)
		}
	}
	for _, c := range columns {
		table = append(table, c.metric)
	}
	missing := r.m.Missing(ctx, counters...)
	counters = slices.DeleteFunc(counters, func(name string) bool { return slices.Contains(missing, name) })
	names := append(counters, table...)
	if status, ok = r.m.UseEach(ctx, names, pmcc.MachineMetrics()); ok {
		r.m.Split(pmcc.Group{Names: names}, pmcc.Group{Names: pmcc.MachineMetrics()})
	}
	return status, ok
}

// sections returns the requested sections, in the order of the report; a section may occur twice.
func (r *report) sections() []section {
	var list []section
	if r.all {
		list = append(list, sections...)
	}
	for _, s := range sections {
		if r.filtered && strings.Contains(strings.ToLower(s.name), strings.ToLower(r.protocol)) {
			list = append(list, s)
		}
	}
	return list
}

// print prints a report, or nothing if the host is unknown.
func (r *report) print() error {
	w := r.m.Out
	if r.m.JSON {
		r.printJSON()
		return nil
	}
	if !r.begun {
		machine := r.m.Machine()
		if machine == "" {
			return pmcc.ErrNotYet
		}
		fmt.Fprintln(w, machine)
		r.begun = true
	}
	fmt.Fprintf(w, "%s\n\n", r.m.Clock("%H:%M:%S", r.m.GroupTime(0)))
	for _, s := range r.sections() {
		fmt.Fprintf(w, "%s:\n", s.name)
		for _, l := range s.lines {
			text := "NA"
			if v := r.m.One(l.metric); v.OK() {
				text = v.String()
			}
			fmt.Fprintf(w, "\t"+l.text+"\n", text)
		}
		fmt.Fprint(w, "\n\n")
	}
	if r.ifaces {
		r.printTable()
	}
	return nil
}

// printTable prints the table of interfaces. If a value is missing, the following values move to the left, as
// in C.
func (r *report) printTable() {
	w := r.m.Out
	fmt.Fprintf(w, "Kernel Interface table\n%10s", "Iface")
	rows := make(map[string]string)
	for _, c := range columns {
		fmt.Fprintf(w, " %10s", c.title)
		for _, v := range r.m.Named(c.metric) {
			rows[v.Name] += fmt.Sprintf("%10s ", v.Value)
		}
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(w, "%10s %s\n", name, rows[name])
	}
	fmt.Fprintln(w)
}

// printJSON prints the sample with --json: a line for each section, and one for each interface.
func (r *report) printJSON() {
	for _, s := range r.sections() {
		row := r.m.Row(s.name, "")
		for _, l := range s.lines {
			row.Number(l.metric, r.m.One(l.metric))
		}
		row.Write()
	}
	if !r.ifaces {
		return
	}
	rows := make(map[string]pmcc.Row)
	for _, c := range columns {
		for _, v := range r.m.Named(c.metric) {
			row, ok := rows[v.Name]
			if !ok {
				row = r.m.Row("Iface", v.Name)
			}
			if f, ok := v.Value.Number(); ok {
				row.Columns.Number(c.metric, f)
			}
			rows[v.Name] = row
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row := rows[name]
		row.Write()
	}
}
