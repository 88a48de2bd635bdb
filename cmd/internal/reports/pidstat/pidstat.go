package pidstat

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/cmd/internal/tool/table"
)

// Command is pcp-pidstat.
var Command = &cli.Command{
	Name:    "pidstat",
	Link:    "pcp-pidstat",
	Group:   cli.SeeNow,
	Summary: "show processor time, memory, stack or states of processes",
	Doc: `Prints a table of the processes at each interval: the processor time of each since the previous
table, or with -r page faults and memory, with -k the stack, with -R priority and scheduling policy,
with -B states. The metrics are those of the agents proc and linux. Options of pcp itself (pcp -h
HOST pidstat, pcp -a ARCHIVE -S TIME pidstat) select the source and the time.`,
	Examples: []cli.Example{
		{Line: "pcp pidstat -s 2", Text: "print one table, of the next second"},
		{Line: "pcp pidstat -G '^post' -r -t 10", Text: "watch the memory of the processes whose name begins with post"},
		{Line: "pcp pidstat -a ARCHIVE -z -t 1min -B R,D", Text: "show which processes ran or waited for a disk, from an archive"},
	},
	SeeAlso: []string{"pcp-ps(1)", "pmdaproc(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptArchive,
			cli.OptSamples,
			cli.OptInterval,
			{Short: 'G', Long: "process-name", Arg: "NAME", Help: "only processes whose name matches a regular expression"},
			{Short: 'I', Help: "divide the use of processors by their number"},
			{Short: 'U', Long: "user-name", Arg: "[USERNAME]", Maybe: true, Help: "show names of users, and only processes of one if given"},
			{Short: 'p', Long: "pid-list", Arg: "PID1,PID2..", Help: "only these processes; SELF is this one, ALL is all"},
			{Short: 'R', Help: "report real-time priority and scheduling policy"},
			{Short: 'r', Help: "report page faults and memory"},
			{Short: 'k', Help: "report the stack"},
			{Short: 'f', Arg: "FORMAT", Help: "format of times, as of strftime(3)"},
			{Short: 'B', Arg: "STATE1,STATE2..", Help: "report processes in these states; all is all of them, detail the time in each"},
			cli.OptVersion,
			cli.OptTimeZone,
			cli.OptHostZone,
			{Short: 'l', Help: "show commands with their arguments"},
			cli.OptJSON,
			{Short: '?', Arg: "-"}, // which in C takes an argument and ignores it
			{Short: '?', Long: "help", Shown: true, Help: "show this usage message and exit"},
		}
	},
	Interruptible: true,
	Run:           run,
}

// The fetched metrics: always, for -B and -l, and for -l alone.
var (
	metrics = []string{
		"hinv.ncpu", "kernel.all.cpu.guest", "kernel.all.cpu.idle", "kernel.all.cpu.nice", "kernel.all.cpu.sys",
		"kernel.all.cpu.user", "kernel.all.cpu.vuser", "kernel.uname.machine", "kernel.uname.nodename",
		"kernel.uname.release", "kernel.uname.sysname", "mem.physmem", "proc.id.uid", "proc.id.uid_nm",
		"proc.memory.vmstack", "proc.nprocs", "proc.psinfo.cmd", "proc.psinfo.guest_time", "proc.psinfo.maj_flt",
		"proc.psinfo.minflt", "proc.psinfo.pid", "proc.psinfo.policy", "proc.psinfo.processor", "proc.psinfo.rss",
		"proc.psinfo.rt_priority", "proc.psinfo.stime", "proc.psinfo.utime", "proc.psinfo.vsize",
	}
	stateMetrics = []string{"proc.psinfo.sname", "proc.psinfo.start_time", "proc.psinfo.wchan_s"}
	argsMetrics  = []string{"proc.psinfo.psargs"}
)

// Arguments of -B other than lists of states.
const (
	allStates = "all"
	detail    = "detail"
)

// A report holds the options and the tables so far.
type report struct {
	env *cli.Env
	m   *pmcc.Manager

	priority, memory, stack, state, perCPU, args, users bool
	twiceB, twiceL                                      bool

	user    string // of -U; "": any
	name    *regexp.Regexp
	pids    []int64 // of -p, if some
	some    bool
	format  string
	special string   // allStates or detail, "" if it is states
	wanted  []string // states of -B
	stop    bool     // an argument was wrong and the message has been printed

	begun  bool
	ncpu   float64
	clock  string // time of the sample
	header string // blanks after "Timestamp"
	stamp  string // with the blanks after it
	spent  map[stateOf]float64
}

// A stateOf is a process in a state.
type stateOf struct {
	state string
	pid   string
}

func (r *report) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'k':
		r.stack = true
	case 'r':
		r.memory = true
	case 'R':
		r.priority = true
	case 'I':
		r.perCPU = true
	case 'l':
		r.twiceL, r.args = r.args || r.twiceL, true
	case 'f':
		r.format = arg
	case 'U':
		r.users, r.user = true, arg
	case 'B':
		r.setStates(arg)
	case 'G':
		var err error
		if r.name, err = regexp.Compile(arg); err != nil && !r.stop {
			r.env.Fatalf("-G: %v", err)
			r.stop = true
		}
	case 'p':
		r.setPIDs(arg)
	case '?':
		o.WantUsage()
	default:
		return false
	}
	return true
}

func (r *report) setStates(arg string) {
	r.twiceB, r.state = r.twiceB || r.state, true
	switch arg {
	case "All", "all":
		r.special = allStates
	case "Detail", "detail":
		r.special = detail
	default:
		r.wanted = append(r.wanted, strings.Split(strings.ReplaceAll(arg, ",", " "), " ")...)
	}
}

func (r *report) setPIDs(arg string) {
	r.pids, r.some = nil, true
	switch arg {
	case "ALL":
		r.some = false
	case "SELF":
		r.pids = []int64{int64(os.Getpid())}
	default:
		for _, field := range strings.Split(arg, ",") {
			pid, ok := pytext.Int(field)
			if !ok && !r.stop {
				fmt.Fprintln(r.env.Stdout, "Invalid Process Id List: use comma separated pids without whitespaces")
				r.stop = true
			}
			r.pids = append(r.pids, pid)
		}
	}
}

// incompatible returns an error about conflicting options, "" if there are none.
func (r *report) incompatible() string {
	switch {
	case r.priority && r.memory:
		return "-R is incompatible with -r"
	case r.priority && r.stack:
		return "-R is incompatible with -k"
	case r.memory && r.stack:
		return "-r is incompatible with -k"
	case (r.memory || r.stack || r.priority) && r.state:
		return "Incompatible flags provided"
	case r.twiceB:
		return "Incorrect usage of the B flag"
	case r.twiceL:
		return "Incorrect usage of the -l flag"
	}
	return ""
}

func run(ctx context.Context, env *cli.Env) int {
	r := &report{env: env, format: "%H:%M:%S", spent: make(map[stateOf]float64)}
	return pmcc.Report{
		Kind:  pmcc.Kind{Prefix: env.ProgName() + ": "},
		Own:   r.own,
		Check: func(*source.Options) bool { return r.stop },
	}.Run(ctx, env, func(m *pmcc.Manager) int {
		if problem := r.incompatible(); problem != "" {
			return m.Refuse("Error: " + problem)
		}
		names := metrics
		if r.state || r.args {
			names = slices.Concat(names, stateMetrics)
		}
		checked := len(names)
		if r.args {
			names = append(names, argsMetrics...)
		}
		if !r.state {
			checked = len(names)
		}
		if status, ok := m.Use(ctx, names, checked); !ok {
			return status
		}
		r.m = m
		return m.Each(ctx, r.sample)
	})
}

// sample prints the table of a sample.
func (r *report) sample() error {
	ncpu, ok := r.m.One("hinv.ncpu").Number()
	if !r.m.Sampled() || !ok || !r.m.One("kernel.uname.sysname").OK() {
		return nil
	}
	r.ncpu = ncpu
	if !r.begun && !r.m.JSON {
		line := r.m.Machine()
		if line == "" {
			return nil
		}
		fmt.Fprintln(r.m.Out, line)
		r.begun = true
	}
	r.clock = r.m.Clock(r.format, r.m.Now())
	var blanks string
	r.header, blanks = pmcc.Indents(r.clock)
	r.stamp = r.clock + blanks
	if r.state {
		r.states()
	} else {
		r.processes()
	}
	return nil
}

func (r *report) print(line string) { fmt.Fprintln(r.m.Out, pmcc.Marked(line)) }

// A tabbed cell is followed by a tab, since its column is wider than its numbers.
type tabbed struct{ table.Cell }

// String implements table.Cell.
func (t tabbed) String() string { return t.Cell.String() + "\t" }

// columns returns the name of the table that the options select, and its columns between the number and the command of
// a process.
func (r *report) columns() (string, table.Columns[pmcc.Process]) {
	get := func(name, metric string) table.Column[pmcc.Process] {
		return table.Column[pmcc.Process]{Name: name, Title: name, Format: "\t%s", Cell: func(p pmcc.Process) table.Cell { return p.Get(metric) }}
	}
	figure := func(name string, f func(pmcc.Process) pmcc.Figure) table.Column[pmcc.Process] {
		return table.Column[pmcc.Process]{Name: name, Title: name, Format: "\t%s", Cell: func(p pmcc.Process) table.Cell { return f(p) }}
	}
	rate := func(name, metric string) table.Column[pmcc.Process] {
		return table.Column[pmcc.Process]{Name: name, Title: name, Format: "\t%s", Cell: func(p pmcc.Process) table.Cell { return tabbed{p.Rate(metric)} }}
	}
	switch {
	case r.stack:
		return "stack", table.Columns[pmcc.Process]{get("StkSize", "proc.memory.vmstack")}
	case r.memory:
		return "memory", table.Columns[pmcc.Process]{
			rate("MinFlt/s", "proc.psinfo.minflt"), rate("MajFlt/s", "proc.psinfo.maj_flt"),
			get("VSize", "proc.psinfo.vsize"), get("RSS", "proc.psinfo.rss"), figure("%Mem", pmcc.Process.Memory),
		}
	case r.priority:
		return "priority", table.Columns[pmcc.Process]{
			get("prio", "proc.psinfo.rt_priority"),
			{Name: "policy", Title: "policy", Format: "\t%s", Cell: func(p pmcc.Process) table.Cell { return p.Policy() }},
		}
	}
	return "cpu", table.Columns[pmcc.Process]{
		figure("usr", pmcc.Process.User), figure("system", pmcc.Process.System), figure("guest", pmcc.Process.Guest),
		figure("%CPU", r.total), get("CPU", "proc.psinfo.processor"),
	}
}

// processes prints a row for each process that the options select, below a heading.
func (r *report) processes() {
	name, columns := r.columns()
	owner, metric := "UID", "proc.id.uid"
	if r.users {
		metric = "proc.id.uid_nm"
		if name == "cpu" {
			owner = "UName"
		}
	}
	if !r.m.JSON {
		r.print("Timestamp" + r.header + owner + "\tPID" + columns.Titles() + "\tCommand")
	}
	for _, p := range r.m.Processes() {
		if !r.selected(p) {
			continue
		}
		if r.m.JSON {
			row := r.row(name, p)
			columns.AddTo(&row.Columns, p)
			row.Value("Command", r.command(p))
			row.Write()
			continue
		}
		r.print(fmt.Sprintf("%s%s\t%s%s\t%s", r.stamp, p.Get(metric), p.Get("proc.psinfo.pid"), columns.Line(p), r.command(p)))
	}
}

// row begins the row of a process for --json, with its owner.
func (r *report) row(table string, p pmcc.Process) pmcc.Row {
	row := r.m.Row(table, p.Get("proc.psinfo.pid").String())
	row.Value("PID", p.Get("proc.psinfo.pid"))
	row.Value("UID", p.Get("proc.id.uid"))
	row.Value("UName", p.Get("proc.id.uid_nm"))
	return row
}

// command returns the name of a process, or with -l its arguments.
func (r *report) command(p pmcc.Process) pmcc.Value {
	if r.args {
		return p.Get("proc.psinfo.psargs")
	}
	return p.Get("proc.psinfo.cmd")
}

// selected reports whether the options select a process.
func (r *report) selected(p pmcc.Process) bool {
	name := p.Get("proc.psinfo.cmd")
	positive := func(metric string) bool {
		f, ok := p.Get(metric).Number()
		return !ok || f > 0
	}
	switch {
	case r.user != "" && p.Get("proc.id.uid_nm").String() != r.user:
	case r.some && !(p.Get("proc.psinfo.pid").OK() && slices.Contains(r.pids, p.Get("proc.psinfo.pid").Int())):
	case !name.OK():
	case r.name != nil && !r.name.MatchString(name.String()):
	case r.priority && !positive("proc.psinfo.rt_priority"):
	case r.memory && !positive("proc.psinfo.vsize"):
	case r.stack && !positive("proc.memory.vmstack"):
	default:
		return true
	}
	return false
}

// total returns the share of processor time of a process, with -I of all processors.
func (r *report) total(p pmcc.Process) pmcc.Figure {
	total := p.Total()
	if r.perCPU && total.OK {
		return pmcc.Round(total.F / r.ncpu)
	}
	return total
}
