package mpstat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// Command is pcp-mpstat.
var Command = &cli.Command{
	Name:    "mpstat",
	Link:    "pcp-mpstat",
	Group:   cli.SeeNow,
	Summary: "show the use of processors and their interrupts",
	Doc: `Prints at each interval the shares of processor time, of all processors together or of each, and
with -I the number of interrupts per second: in total, or a column for each hardware or software
interrupt. Options of pcp itself (pcp -h HOST mpstat, pcp -a ARCHIVE -S TIME mpstat) select the host
and the time.`,
	Examples: []cli.Example{
		{Line: "pcp mpstat -t 5", Text: "print the shares of the time of all processors together"},
		{Line: "pcp mpstat -P 0,1 -s 2", Text: "print those of two processors"},
		{Line: "pcp mpstat -a ARCHIVE -I SUM -P ALL", Text: "show how interrupts are spread over the processors"},
	},
	SeeAlso: []string{"pcp-vmstat(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptArchive,
			cli.OptSamples,
			cli.OptInterval,
			cli.OptVersion,
			cli.OptJSON,
			cli.OptHelp,
			{Short: 'u', Help: "show processor time, as it does without options"},
			{Short: 'A', Help: "the same as -P ALL -I ALL"},
			{Short: 'P', Arg: "1,3..|ON|ALL", Help: "show these processors, those that are online, or all"},
			{Short: 'I', Arg: "SUM|CPU|SCPU|ALL", Help: "show interrupts: their sum, each hardware one, each software one, or all this"},
		}
	},
	Interruptible: true,
	Run:           run,
}

const (
	hardTree = "kernel.percpu.interrupts"
	softTree = "kernel.percpu.softirqs"
	numbers  = "hinv.map.cpu_num"
	online   = "hinv.cpu.online"
	ncpu     = "hinv.ncpu"
)

// uname are the metrics of the first line, in its order.
var uname = [...]string{"kernel.uname.sysname", "kernel.uname.release", "kernel.uname.nodename", "kernel.uname.machine", ncpu}

// A share is a column of the shares of processor time.
type share struct {
	name   string // of the metrics, after "kernel.all.cpu." and "kernel.percpu.cpu."
	title  string
	format string
	json   string
}

var shares = [...]share{
	{"user", "%usr", "\t%-5s", "usr"},
	{"nice", "%nice", "\t%-6s", "nice"},
	{"sys", "%sys", "\t%-5s", "sys"},
	{"wait.total", "%iowait", "\t%-8s", "iowait"},
	{"irq.hard", "%irq", "\t%-5s", "irq"},
	{"irq.soft", "%soft", "\t%-6s", "soft"},
	{"steal", "%steal", "\t%-7s", "steal"},
	{"guest", "%guest", "\t%-7s", "guest"},
	{"guest_nice", "%nice", "\t%-6s", "guest_nice"},
	{"idle", "%idle", "\t%-6s", "idle"},
}

// metric is the name of a share in the names of metrics. In PCP 7 the time of guests is not part of two of
// them.
func (r *report) metric(share string) string {
	if r.env.Seven() && (share == "user" || share == "nice") {
		return "v" + share
	}
	return share
}

// metrics are the required metrics, in addition to those of single interrupts.
func (r *report) metrics() []string {
	list := []string{
		"kernel.uname.nodename", "kernel.uname.release", "kernel.uname.sysname", "kernel.uname.machine", numbers, ncpu, online,
	}
	for _, tree := range [...]string{"kernel.all.cpu.", "kernel.percpu.cpu."} {
		for _, s := range shares {
			list = append(list, tree+r.metric(s.name))
		}
	}
	return append(list, "kernel.all.intr", "kernel.percpu.intr")
}

// Values of -P other than lists.
const (
	everyCPU  = "ALL"
	onlineCPU = "ON"
)

// A report holds the options.
type report struct {
	env *cli.Env
	m   *pmcc.Manager

	usage      bool // -u, -A, or no option at all
	filter     bool // -P or -A
	which      string
	list       []int64 // of -P, if which is ""
	interrupts bool    // -I or -A
	kind       string
	stop       bool // an argument was wrong and the message has been printed

	begun      bool
	known      [len(uname)]string // last known values
	hard, soft []string
	stamp      string
	headed     map[string]bool // tables whose headings must not be printed again
}

func (r *report) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch {
	case opt.Long != "":
		return false
	case opt.Short == 'u':
		r.usage = true
	case opt.Short == 'A':
		r.interrupts, r.kind = true, "ALL"
		r.filter, r.which, r.list = true, everyCPU, nil
		r.usage = true
	case opt.Short == 'I':
		r.usage, r.interrupts, r.kind = false, true, arg
	case opt.Short == 'P':
		r.usage = false
		r.processors(arg)
	}
	return true
}

func (r *report) processors(arg string) {
	r.filter, r.which, r.list = true, arg, nil
	if arg == everyCPU || arg == onlineCPU {
		return
	}
	r.which = ""
	for _, f := range strings.Split(arg, ",") {
		n, ok := pytext.Int(f)
		if !ok && !r.stop {
			fmt.Fprintln(r.env.Stdout, "Invalid CPU List: use comma separated cpu nos without whitespaces")
			r.stop = true
		}
		r.list = append(r.list, n)
	}
}

func run(ctx context.Context, env *cli.Env) int {
	r := &report{env: env, usage: true, headed: make(map[string]bool), known: [...]string{"", "", "", "", "1"}}
	return pmcc.Report{
		Kind:  pmcc.Kind{Prefix: env.ProgName() + ": ", Missing: "Missing:"},
		Own:   r.own,
		Check: func(*source.Options) bool { return r.stop },
	}.Run(ctx, env, func(m *pmcc.Manager) int {
		r.m = m
		names := r.metrics()
		for _, t := range []struct {
			tree string
			list *[]string
		}{{hardTree, &r.hard}, {softTree, &r.soft}} {
			var err error
			if *t.list, err = m.Tree(ctx, t.tree); err != nil {
				m.Failed(err)
				return 0
			}
			slices.Reverse(*t.list)
			names = append(names, *t.list...)
		}
		if status, ok := m.Use(ctx, names, len(names)); !ok {
			return status
		}
		return m.Each(ctx, r.sample)
	})
}

// sample prints the tables of a sample.
func (r *report) sample() error {
	if !r.m.Sampled() {
		r.remember()
		return nil
	}
	if !r.begun {
		r.remember()
		r.begun = true
		if k := r.known; !r.m.JSON {
			fmt.Fprintf(r.env.Stdout, "%s  %s  (%s)  %s  %s    (%s CPU)\n", k[0], k[1], k[2], r.m.Clock("%x", r.m.Now()), k[3], k[4])
		}
	}
	r.stamp = r.m.Clock("%H:%M:%S", r.m.Now())
	if r.m.Elapsed() == 0 {
		return fmt.Errorf("two samples have the same time, %s, so that there are no rates", r.stamp)
	}
	if r.usage || r.filter && !r.interrupts {
		r.print(r.usageTable())
	}
	if r.wants("SUM") {
		r.print(r.sums())
	}
	if (r.wants("CPU") || r.wants("SCPU")) && len(r.cpus(true)) == 0 {
		return fmt.Errorf("%s has no values, so that it is not known which processors there are", numbers)
	}
	if r.wants("CPU") {
		r.print(r.each("hard", r.hard))
	}
	if r.wants("SCPU") {
		r.print(r.each("soft", r.soft))
	}
	return nil
}

// wants reports whether -I selects a table of interrupts.
func (r *report) wants(kind string) bool {
	return r.interrupts && (r.kind == kind || r.kind == "ALL")
}

// remember keeps the values of the first line, which archives may have only once.
func (r *report) remember() {
	for i, name := range uname {
		if v := r.m.One(name); v.OK() {
			r.known[i] = v.String()
		}
	}
}
