package ps

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

// Command is pcp-ps.
var Command = &cli.Command{
	Name:    "ps",
	Link:    "pcp-ps",
	Group:   cli.SeeNow,
	Summary: "list processes",
	Doc: `Lists the processes of this machine once, after a second in which their use of processors is
measured; from archives it lists them at each interval. The metrics are those of the agents proc and
linux. Options of pcp itself (pcp -h HOST ps, pcp -a ARCHIVE -S TIME -s 2 ps) select the source, the
time and the number of samples. There is one list less than samples, since rates need two.

Each option that selects processes prints a list, all in the layout of the first of -e, -p, -P, -U,
-u, -c. With PCP_COMPAT=7 there is one list, by the last of these options, and as many lists as samples.

Columns of -o: %cpu, %mem, args, cls, cmd, pid, pname, ppid, pri, rss, rtprio, start, state, time, tty, uid, uname,
vsize, wchan. As in the C program, cmd is cut off after 30 characters and %cpu is system time alone; args is the whole command.`,
	Examples: []cli.Example{
		{Line: "pcp ps -e", Text: "list all processes"},
		{Line: "pcp ps -o pid,uname,%mem,args -O %mem", Text: "choose columns, and sort by memory"},
		{Line: "pcp ps -U postgres", Text: "list the processes of a user"},
	},
	SeeAlso: []string{"pcp-pidstat(1)", "pmdaproc(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			{Short: 'e', Arg: "-", Maybe: true, Help: "show all processes"},
			{Short: 'c', Arg: "NAME1,NAME2..", Help: "only processes that run these commands"},
			{Short: 'p', Arg: "PID1,PID2..", Help: "only these processes"},
			{Short: 'P', Arg: "PPID1,PPID2..", Help: "only children of these processes"},
			{Short: 'U', Arg: "USERNAME", Help: "only processes of this user"},
			{Short: 'o', Arg: "COL1,COL2..|ALL", Help: "show these columns"},
			{Short: 'u', Help: "show users, memory and start times"},
			{Short: 'O', Long: "sort", Arg: "%cpu|%mem", Help: "sort by a column of the list, the largest first", Extra: true},
			cli.OptJSON,
			cli.OptVersion,
			cli.OptTimeZone,
			cli.OptHostZone,
			{Short: 't', Arg: "DELTA"},
			{Short: 'k'},           // which the C program accepts and ignores,
			{Short: 'l', Arg: "-"}, // and this
			{Short: '?', Arg: "-"}, // and the arguments after this option
			{Short: '?', Long: "help", Shown: true, Help: "show this usage message and exit"},
		}
	},
	Interruptible: true,
	Run:           run,
}

var metrics = []string{
	"kernel.uname.nodename", "kernel.uname.release", "kernel.uname.sysname", "kernel.uname.machine", "hinv.ncpu",
	"proc.psinfo.pid", "proc.psinfo.guest_time", "proc.psinfo.utime", "proc.psinfo.ppid", "proc.psinfo.rt_priority",
	"proc.psinfo.rss", "proc.id.uid_nm", "proc.psinfo.stime", "kernel.all.boottime", "proc.psinfo.sname",
	"proc.psinfo.start_time", "proc.psinfo.vsize", "proc.psinfo.priority", "proc.psinfo.nice", "proc.psinfo.wchan_s",
	"proc.psinfo.psargs", "proc.psinfo.cmd", "proc.psinfo.ttyname", "mem.physmem", "proc.psinfo.policy",
}

// A list holds the options.
type list struct {
	env *cli.Env
	m   *pmcc.Manager

	all, commands, parents, pids, user, owners bool // -e, -c, -P, -p, -U, -u

	names           []string
	pidList, parent []int64
	owner           string
	everything      bool     // -o ALL
	columns         []string // of -o
	chosen          bool     // -o
	order           string   // of -O
	stop            bool     // an argument was wrong, and the message has been printed
	unsorted        string   // why -O cannot sort, or ""
	last            rune     // the last option of -e, -c, -P, -p, -U and -u

	optioned bool // there was an option
	left     int  // number of lists to print, -1 until known

	failed bool
	begun  bool
	header string // blanks after "Timestamp"
	clock  string // time of the sample
	stamp  string // with the blanks after it
}

func (l *list) own(o *cli.Options, opt *cli.Option, arg string) bool {
	l.optioned = true
	fields := func() []string { return strings.Split(strings.ReplaceAll(arg, ",", " "), " ") }
	if strings.ContainsRune("ecPpUu", opt.Short) {
		l.last = opt.Short
	}
	switch opt.Short {
	case 'e':
		l.all = true
	case 'u':
		l.owners = true
	case 'c':
		l.commands, l.names = true, append(l.names, fields()...)
	case 'p':
		l.pids, l.pidList = true, l.numbers(l.pidList, fields(), "pid")
	case 'P':
		l.parents, l.parent = true, l.numbers(l.parent, fields(), "ppid")
	case 'U':
		l.user, l.owner = true, strings.TrimSpace(arg)
	case 'o':
		l.choose(arg, fields())
	case 'O':
		l.sortBy(arg)
	case 't':
		o.Common(cli.OptInterval, arg)
	case 'k', 'l':
	case '?':
		o.WantUsage()
	default:
		return false
	}
	return true
}

// wrong reports an error in an argument on standard output, as the C program does.
func (l *list) wrong(text string) {
	if !l.stop {
		fmt.Fprintln(l.env.Stdout, text)
	}
	l.stop = true
}

// numbers appends the numbers of processes to a list.
func (l *list) numbers(to []int64, fields []string, kind string) []int64 {
	for _, f := range fields {
		n, ok := pytext.Int(f)
		if !ok {
			l.wrong("Invalid " + kind + " Id List: use comma separated pids without whitespaces")
		}
		to = append(to, n)
	}
	return to
}

func (l *list) choose(arg string, fields []string) {
	l.chosen = true
	if strings.EqualFold(arg, "all") {
		l.everything = true
		return
	}
	for _, name := range fields {
		name = strings.ToLower(name)
		if column(name) == nil {
			if l.env.Seven() {
				l.wrong("Invalid Column List: incorrect name or improper comma-separated format")
				return
			}
			l.wrong("Invalid ppid Id List: Either colum name is not correct or use comma separated colum names without whitespaces")
			return
		}
		l.columns = append(l.columns, name)
	}
}

func (l *list) sortBy(arg string) {
	l.order = strings.ToLower(arg)
	if l.order != "%cpu" && l.order != "%mem" {
		l.env.Fatalf("-O %s: lists are sorted by %%cpu or %%mem", arg)
		l.stop = true
	}
}

// sortable returns the reason why -O cannot sort, "" if it can.
func (l *list) sortable(json bool) string {
	switch {
	case l.order == "" || l.everything || json && !l.chosen:
	case l.chosen && !slices.Contains(l.columns, l.order):
		return "-O " + l.order + " wants that column among those of -o"
	case !l.chosen && l.env.Seven() && !json && l.last != 'u' && l.last != 'U', !l.chosen && !l.owners && !l.user:
		return "-O " + l.order + " wants a list with that column: that of -u, -U or -o"
	}
	return ""
}

func run(ctx context.Context, env *cli.Env) int {
	l := &list{env: env, left: -1}
	return pmcc.Report{Own: l.own, Check: l.check}.Run(ctx, env, func(m *pmcc.Manager) int {
		l.m = m
		names := metrics
		if m.JSON && len(m.Missing(ctx, "proc.id.uid")) == 0 {
			names = append(slices.Clone(metrics), "proc.id.uid") // which the C program does not fetch
		}
		if status, ok := m.Use(ctx, names, len(metrics)); !ok {
			return status
		}
		status := m.Each(ctx, l.sample)
		if l.failed {
			return 1
		}
		return status
	})
}

// check completes the options. It returns true if an argument was wrong.
func (l *list) check(o *source.Options) bool {
	if l.optioned && o.Samples > 0 {
		l.left = o.Samples
	}
	l.unsorted = l.sortable(o.JSON)
	if l.env.Seven() && !o.JSON {
		return l.stop // printSeven reports it
	}
	if why := l.unsorted; why != "" && !l.stop {
		o.Usagef("%s", why)
	}
	return l.stop
}

// sample prints the lists of a sample. It ends the report after the last one.
func (l *list) sample() error {
	if !l.m.Sampled() || !l.m.One("hinv.ncpu").OK() || !l.m.One("kernel.uname.sysname").OK() {
		return l.notReady()
	}
	if l.left < 0 {
		l.left = 1
	}
	if l.m.JSON {
		return l.once(l.objects)
	}
	if !l.begun {
		line := l.m.Machine()
		if line == "" {
			return l.notReady()
		}
		fmt.Fprintln(l.m.Out, line)
		l.begun = true
	}
	l.clock = l.m.Clock("%H:%M:%S", l.m.Now())
	var blanks string
	l.header, blanks = pmcc.Indents(l.clock)
	l.stamp = l.clock + blanks
	if l.env.Seven() {
		if l.unsorted != "" {
			l.refuse()
			return pmcc.ErrDone
		}
		return l.once(l.printSeven)
	}
	layout := l.layout()
	for range l.count() {
		if err := l.once(func() { l.print(layout) }); err != nil {
			return err
		}
	}
	if l.chosen {
		return l.once(l.printColumns)
	}
	return nil
}

// notReady returns the result of a sample that has no rates or lacks metrics of the host. In PCP 7 it does not count.
func (l *list) notReady() error {
	if l.env.Seven() {
		return pmcc.ErrNone
	}
	return nil
}

// once prints a list. It returns an error after the last one; for archives, the last list is
// that of the last sample.
func (l *list) once(print func()) error {
	print()
	if l.m.Archive {
		return nil
	}
	if l.left--; l.left <= 0 {
		return pmcc.ErrDone
	}
	return nil
}

// plain reports whether no option selects processes or columns.
func (l *list) plain() bool {
	return !l.chosen && !l.commands && !l.pids && !l.parents && !l.user && !l.owners
}

// count returns the number of lists of the same processes: one for each option. -e does not count
// as a selecting option.
func (l *list) count() int {
	n := 0
	for _, wanted := range [...]bool{l.all, l.plain(), l.pids, l.parents, l.commands, l.owners, l.user} {
		if wanted {
			n++
		}
	}
	return n
}

// selected reports whether the options select a process.
func (l *list) selected(p pmcc.Process) bool {
	is := func(numbers []int64, metric string) bool {
		v := p.Get(metric)
		return v.OK() && slices.Contains(numbers, v.Int())
	}
	if l.env.Seven() { // by the last option
		return (l.last != 'U' || strings.TrimSpace(owner(p)) == l.owner) &&
			(l.last != 'p' || is(l.pidList, "proc.psinfo.pid")) &&
			(l.last != 'c' || slices.Contains(l.names, strings.TrimSpace(name(p)))) &&
			(l.last != 'P' || is(l.parent, "proc.psinfo.ppid"))
	}
	return (!l.user || strings.TrimSpace(owner(p)) == l.owner) &&
		(!l.pids || is(l.pidList, "proc.psinfo.pid")) &&
		(!l.commands || slices.Contains(l.names, strings.TrimSpace(name(p)))) &&
		(!l.parents || is(l.parent, "proc.psinfo.ppid"))
}

// processes returns the selected processes, in the order of the list.
func (l *list) processes() []pmcc.Process {
	list := slices.DeleteFunc(l.m.Processes(), func(p pmcc.Process) bool { return !l.selected(p) })
	by := pmcc.Process.System
	switch {
	case l.order == "":
		return list
	case l.order == "%mem":
		by = pmcc.Process.Memory
	case l.m.JSON:
		by = pmcc.Process.Total
	}
	key := func(p pmcc.Process) float64 {
		if f := by(p); f.OK {
			return f.F
		}
		return -1
	}
	slices.SortStableFunc(list, func(a, b pmcc.Process) int {
		switch x, y := key(a), key(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return list
}
