package atop

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sar"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
)

// SarCommand is pcp-atopsar.
var SarCommand = &cli.Command{
	Name:     "atopsar",
	Link:     "pcp-atopsar",
	Group:    cli.SeePast,
	Summary:  "report the activity of a system by resource",
	Synopsis: "[-flags] [-r file|date|y...] [-R cnt] [-b date|time] [-e date|time] | [-flags] interval [samples]",
	Doc: `Prints tables of the use of processors, memory, disks and networks, and of the processes that use
most of them: one for each flag, with a line for each sample. They are from archives (-r, or "pcp -a
ARCHIVE atopsar"), by default today's archives of pmlogger for this host; with an interval they are
live.`,
	Examples: []cli.Example{
		{Line: "pcp atopsar -m 5 10", Text: "watch the memory, ten times every five seconds"},
		{Line: "pcp -z -a ARCHIVE -t 1min atopsar -c -d", Text: "report processors and disks from an archive, minute by minute"},
		{Line: "pcp atopsar -r y -A", Text: "print all reports of yesterday"},
	},
	SeeAlso: []string{"pcp-atop(1)", "pmlogger(1)"},
	Options: func() []cli.Option {
		return slices.Concat(
			[]cli.Option{
				cli.Heading("General flags"),
				readOption,
				{Short: 'R', Arg: "CNT", Help: "summarize this many samples in one"},
				beginOption,
				endOption,
				{Short: 'S', Help: "print the time on each line of a sample"},
				{Short: 'x', Help: "never use colors to indicate overload"},
				{Short: 'C', Help: "always use colors to indicate overload"},
				{Short: 'M', Help: "use markers to indicate overload: * for critical, + for almost"},
				{Short: 'H', Help: "repeat the heads of reports"},
				{Short: 'a', Help: "print all resources, even when they are not active"},
				cli.Heading("Flags that select reports"),
				{Short: 'A', Help: "print all reports"},
				{Short: 'c', Help: "cpu utilization"},
				{Short: 'p', Help: "process(or) load"},
				{Short: 'P', Help: "processes & threads"},
				{Short: 'g', Help: "gpu utilization"},
				{Short: 'm', Help: "memory & swapspace"},
				{Short: 's', Help: "swap rate"},
				{Short: 'B', Help: "pressure stall info (PSI)"},
				{Short: 'l', Help: "logical volume activity"},
				{Short: 'f', Help: "multiple device activity"},
				{Short: 'd', Help: "disk activity"},
				{Short: 'h', Help: "infiniband utilization"},
				{Short: 'n', Help: "NFS client mounts"},
				{Short: 'j', Help: "NFS client activity"},
				{Short: 'J', Help: "NFS server activity"},
				{Short: 'i', Help: "net-interf (general)"},
				{Short: 'I', Help: "net-interf (errors)"},
				{Short: 'w', Help: "ip   v4    (general)"},
				{Short: 'W', Help: "ip   v4    (errors)"},
				{Short: 'y', Help: "icmp v4    (general)"},
				{Short: 'Y', Help: "icmp v4    (per type)"},
				{Short: 'u', Help: "udp  v4"},
				{Short: 'z', Help: "ip   v6    (general)"},
				{Short: 'Z', Help: "ip   v6    (errors)"},
				{Short: 'k', Help: "icmp v6    (general)"},
				{Short: 'K', Help: "icmp v6    (per type)"},
				{Short: 'U', Help: "udp  v6"},
				{Short: 't', Help: "tcp        (general)"},
				{Short: 'T', Help: "tcp        (errors)"},
				{Short: 'o', Help: "HTTP activity"},
				{Short: 'O', Help: "top-3 processes cpu"},
				{Short: 'G', Help: "top-3 processes memory"},
				{Short: 'D', Help: "top-3 processes disk"},
				{Short: 'N', Help: "top-3 processes network"},
				cli.Heading("Options of PCP"),
			},
			longOptions(),
		)
	},
	Debug: []string{"appl0"},
	Run:   runSar,
}

// A reporter is the view of pcp-atopsar. Its fields are the state of C's functions reportlive and reportraw,
// which determines the output when one report follows another.
type reporter struct {
	arguments
	e *engine
	p sar.Printer

	wanted   [64]bool // by the index in sar.Reports
	reports  int      // how many are wanted
	name     string   // for the usage message, "" the usual one
	sum      int      // -R
	repeat   uint     // lines between heads
	stamps   bool     // -S
	color    byte     // 't' on a terminal, 'a' always, 0 never
	total    sample.Total
	now      int // the current report
	begun    bool
	lastDay  int64 // its last second
	line     uint
	nextHead uint
	sumUntil uint
	seconds  int64 // in total
	exited   int
}

// noRepeat is the number of lines between heads without -H.
const noRepeat = 9999999

func runSar(ctx context.Context, env *cli.Env) int {
	r := &reporter{arguments: arguments{env: env}, sum: 1, repeat: noRepeat, color: 't'}
	rc, status := readSettings(env, r.sarFlags)
	if status != 0 {
		return status
	}
	r.p.Limits, r.p.Seven = rc.Limits, rc.Seven
	r.raw = getoptArchive(env)
	own := func(o *cli.Options, opt *cli.Option, arg string) bool { return r.own(ctx, o, opt, arg) }
	today := func() {
		if !r.raw {
			fromMidnight(r.o.Options, time.Now().In(env.Local()))
			r.raw = true
		}
	}
	if status, stop := r.parse(own, today, r.fail); stop {
		return status
	}
	o := r.o
	r.e = r.engine(r, rc.interval)
	if o.Samples > 0 {
		r.e.samples = o.Samples + 1
	}
	if r.reports == 0 {
		r.wanted[0], r.reports = true, 1
	}
	r.p.Own = env.Own
	r.p.Color = r.color == 'a' || r.color == 't' && env.Colours()
	if !r.e.open(ctx, o, false, rc.Seven) {
		return 1
	}
	defer r.e.c.Close()
	r.choose()
	return r.e.run(ctx)
}

// own handles an option. An h selects a report: the report with an argument is not available, as in
// C.
func (r *reporter) own(ctx context.Context, o *cli.Options, opt *cli.Option, arg string) bool {
	if mine, done := r.common(ctx, o, opt, arg); done {
		if opt.Short == 'b' {
			o.Origin = o.Start
		}
		return mine
	}
	switch opt.Short {
	case 'R':
		n, _ := getopt.Atoi(arg)
		if r.sum = n; !numeric(arg) || n < 1 {
			r.usage = true
		}
	default:
		if !r.sarFlag(byte(opt.Short)) { // a report for the second time
			r.usage, r.name = true, r.env.Program
		}
	}
	return true
}

// sarFlag handles a flag of the command line or of an atoprc. It returns false for a
// report that does not exist or is selected already.
func (r *reporter) sarFlag(flag byte) bool {
	switch flag {
	case 'S':
		r.stamps = true
	case 'x':
		r.color = 0
	case 'C':
		r.color = 'a'
	case 'M':
		r.p.Markers = true
	case 'H':
		r.repeat = 23
		if r.env.Rows != nil {
			if rows := r.env.Rows(); rows > 0 {
				r.repeat = uint(rows - 1)
			}
		}
	case 'a':
		r.p.All = true
	case 'A':
		for i := range sar.Reports {
			r.wanted[i] = true
		}
		r.reports = len(sar.Reports)
	default:
		for i := range sar.Reports {
			if sar.Reports[i].Flag == rune(flag) && !r.wanted[i] {
				r.wanted[i] = true
				r.reports++
				return true
			}
		}
		return false
	}
	return true
}

// sarFlags handles the flags of an atoprc.
func (r *reporter) sarFlags(flags string) {
	for _, f := range []byte(flags) {
		if f != '-' {
			r.sarFlag(f)
		}
	}
}

// fail prints the usage message and returns the exit status.
func (r *reporter) fail() int {
	r.env.Flush()
	if !r.env.Classic() {
		fmt.Fprint(r.env.Stderr, r.env.Command.Usage(r.env.ProgName()))
		return 1
	}
	name := cmp.Or(r.name, r.env.ProgName())
	w := r.env.Stderr
	fmt.Fprintf(w, "Usage: %s [-flags] [-r file|date|y...] [-R cnt] [-b date|time] [-e date|time]\n\t\tor\n", name)
	fmt.Fprintf(w, "Usage: %s [-flags] interval [samples]\n\n\tToday's pmlogger archive is used by default!\n\n", name)
	io.WriteString(w, sarUsage)
	for i := range sar.Reports {
		fmt.Fprintf(w, "\t  -%c  %s\n", sar.Reports[i].Flag, sar.Reports[i].About)
	}
	io.WriteString(w, "\n\tAdditional PCP flags (long options only):\n")
	io.WriteString(r.env.Stdout, longUsage()) // C mixes them up
	io.WriteString(w, "\nPlease refer to the man-page of 'pcp-atopsar' for more details.\n")
	return 1
}

// sarUsage is the middle of the usage message.
const sarUsage = `	Generic flags:
	  -r  read statistical data from pmlogger archive
	      (pathname, or date in format YYYYMMDD, or y[y..])
	  -R  summarize <cnt> samples into one sample
	  -b  begin  showing data from  specified date/time
	  -e  finish showing data after specified date/time
	  -S  print timestamp on every line in case of more resources
	  -x  never  use colors to indicate overload (default: only if tty)
	  -C  always use colors to indicate overload (default: only if tty)
	  -M  use markers to indicate overload (* = critical, + = almost)
	  -H  repeat report headers (in case of tty: depending on screen lines)
	  -a  print all resources, even when inactive

	Specific flags to select reports:
	  -A  print all available reports
`

// prepare implements view: it continues with the first selected report.
func (r *reporter) prepare() {
	if r.raw {
		if i := slices.Index(r.wanted[:], true); i >= 0 {
			r.now = i
		}
	}
	r.choose()
}

// choose reads tasks only for reports that show them. One of them depends on whether any task of the reports
// before it had counters of disks.
func (r *reporter) choose() {
	i := slices.Index(r.wanted[:], true)
	r.e.s.SystemOnly = !r.raw || i >= 0 && !sar.Reports[i].Tasks // live reports have no tasks
	disk := slices.IndexFunc(sar.Reports, func(rep sar.Report) bool { return rep.Flag == 'D' })
	r.e.s.SeekDiskIO = r.raw && r.wanted[disk]
}

// next implements view: it continues with the report after the current one.
func (r *reporter) next() bool {
	if r.raw {
		if i := slices.Index(r.wanted[:], true); i >= 0 {
			r.wanted[i] = false
			r.now = i + 1
			r.choose()
			return true
		}
	}
	return false
}

// show implements view.
func (r *reporter) show(_ context.Context, f *frame) command {
	var last command
	if r.raw {
		last = r.showRaw(f)
	} else {
		last = r.showLive(f)
	}
	if _, err := r.env.Stdout.Write(r.p.B); err != nil {
		r.env.OutputFailed(err)
		last = abort
	}
	r.p.B = r.p.B[:0]
	return last
}

// begin prints the lines before all reports.
func (r *reporter) begin() {
	if !r.begun {
		h := &r.e.s.Host
		r.printf("\n%s  %s  %s  %s  %s\n\n", h.Node, h.Release, h.Version, h.Machine, time.Now().In(r.e.loc).Format("2006/01/02"))
		r.begun = true
	}
}

func (r *reporter) printf(format string, args ...any) { r.p.B = fmt.Appendf(r.p.B, format, args...) }

// clock returns a time of day.
func (r *reporter) clock(seconds float64) string {
	return time.Unix(int64(seconds), 0).In(r.e.loc).Format("15:04:05")
}

// day prints the date if a day begins. As in C it is a day of the local time zone.
func (r *reporter) day(seconds float64) {
	if seconds <= float64(r.lastDay) {
		return
	}
	r.date(seconds)
	t := time.Unix(int64(seconds), 0).In(r.env.Local())
	r.lastDay = time.Date(t.Year(), t.Month(), t.Day(), 23, 59, 59, 0, t.Location()).Unix()
	r.line++
}

func (r *reporter) date(seconds float64) {
	r.printf("-------------------------- analysis date: %s --------------------------\n",
		time.Unix(int64(seconds), 0).In(r.e.loc).Format("2006/01/02"))
}

// input returns the values of a sample that reports print.
func (r *reporter) input(f *frame, stamp string) *sar.Input {
	if !r.stamps {
		stamp = "        "
	}
	return &sar.Input{System: f.System, Seconds: int64(f.Seconds), Hertz: int64(r.e.s.Host.Hertz), Stamp: stamp, DiskIO: r.e.s.DiskIO, NetIO: r.e.s.NetIO}
}

// print prints the lines of a report, or deselects it if it is not available. It returns false if there are
// no reports left.
func (r *reporter) print(in *sar.Input) (lines uint, more bool) {
	lines = uint(sar.Reports[r.now].Line(&r.p, in))
	if lines != 0 {
		r.line += lines
		return lines, true
	}
	r.line++
	r.wanted[r.now] = false
	r.reports--
	return 0, r.reports != 0
}

// head prints the head of the report.
func (r *reporter) head(seconds float64) {
	r.p.Head(&sar.Reports[r.now], r.clock(seconds))
	r.line += 2
}

func (r *reporter) showLive(f *frame) command {
	r.begin()
	stamp := r.clock(f.Time)
	if r.reports > 1 {
		if f.Number == 0 {
			return forward
		}
		r.date(f.Time)
		left := r.reports
		for i := range sar.Reports {
			if !r.wanted[i] || left == 0 {
				continue
			}
			left--
			r.now = i
			r.head(f.Time - f.Seconds)
			r.printf("%s  ", stamp)
			if _, more := r.print(r.input(f, stamp)); !more {
				return abort
			}
		}
		r.printf("\n")
		return forward
	}
	r.now = slices.Index(r.wanted[:], true)
	r.day(f.Time)
	if f.Number == 0 {
		r.head(f.Time)
		r.nextHead = r.repeat
		return forward
	}
	r.printf("%s  ", stamp)
	if _, more := r.print(r.input(f, stamp)); !more {
		return abort
	}
	if r.line >= r.nextHead {
		r.nextHead = r.line + r.repeat
		r.head(f.Time)
	}
	return forward
}

func (r *reporter) showRaw(f *frame) command {
	if !r.wanted[r.now] {
		return forward
	}
	r.begin()
	r.day(f.Time)
	if f.Number == 1 {
		r.e.s.SetTime(sample.FromSeconds(f.Time))
		r.line, r.nextHead = 1, 0
		r.sumUntil = uint(r.sum) + 1
		r.seconds, r.exited = 0, 0
		r.total.Reset()
		return forward
	}
	if r.line >= r.nextHead {
		r.nextHead = r.line + r.repeat
		r.head(r.e.s.Time().Seconds())
	}
	stamp := r.clock(f.Time)
	in := r.input(f, stamp)
	in.Tasks, in.Running, in.Sleeping, in.DiskSleep, in.Idle, in.Zombies = len(f.Tasks), f.Running, f.Sleeping, f.DiskSleep, f.Idle, f.Zombies
	if r.sum == 1 {
		r.printf("%s  ", stamp)
		in.Procs, in.HasTasks, in.Exited = f.Procs, true, f.Exited
		if !r.printTwice(in) {
			return abort
		}
	} else {
		r.total.Add(sar.Reports[r.now].Categories, f.System)
		r.seconds += int64(float64(f.Seconds))
		r.exited += f.Exited
		if uint(f.Number) >= r.sumUntil {
			r.printf("%s  ", stamp)
			in.System, in.Seconds, in.Exited = &r.total.System, max(r.seconds, 1), r.exited
			if !r.printTwice(in) {
				return abort
			}
			r.sumUntil = uint(r.sum + f.Number)
			r.seconds, r.exited = 0, 0
			r.total.Reset()
		}
	}
	r.e.s.SetTime(sample.FromSeconds(f.Time))
	return forward
}

// printTwice prints a report. C counts an unavailable report twice.
func (r *reporter) printTwice(in *sar.Input) bool {
	lines, more := r.print(in)
	if more && lines == 0 {
		r.reports--
		more = r.reports != 0
	}
	return more
}
