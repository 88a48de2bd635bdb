package atop

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/parseable"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pcp-atop.
var Command = &cli.Command{
	Name:     "atop",
	Link:     "pcp-atop",
	Group:    cli.SeeNow,
	Summary:  "show the activity of a system and its processes",
	Synopsis: "[-flags] [interval [samples]]",
	Doc: `Shows the activity since the previous sample of processors, memory, disks and networks, and below
them of processes, active ones first. On a terminal keys select the view (h shows help); into a pipe
or a file it prints text, and with -P lines for programs. Samples are live, every ten seconds by
default, or from archives (-r, or "pcp -a ARCHIVE atop").`,
	Examples: []cli.Example{
		{Line: "pcp atop", Text: "watch this host"},
		{Line: "pcp -z -a ARCHIVE atop -m 60 10 | less", Text: "read ten minutes of an archive, with the memory of processes"},
		{Line: "pcp atop -P CPU,DSK 5", Text: "print processors and disks for a program"},
	},
	SeeAlso: []string{"pcp-atopsar(1)", "pmlogger(1)"},
	Options: func() []cli.Option {
		return slices.Concat(
			[]cli.Option{
				cli.Heading("General flags"),
				{Short: 'V', Help: "show version information"},
				{Short: 'a', Help: "show all processes, not only active ones"},
				{Short: 'R', Help: "calculate the proportional set size of processes"},
				{Short: 'W', Help: "determine where in the kernel threads wait"},
				{Short: 'P', Arg: "LABELS", Help: "print lines for programs, of these labels or ALL"},
				{Short: 'Z', Help: "no spaces in what -P prints of names"},
				cli.OptJSON,
				{Short: 'L', Arg: "COLUMNS", Help: "length of lines of text [80]"},
				{Short: 'f', Help: "also show inactive parts of the system"},
				{Short: 'F', Help: "do not sort the resources of the system"},
				{Short: 'G', Help: "leave out processes that have ended"},
				{Short: 'l', Help: "limit the lines of resources"},
				{Short: 'y', Help: "show the threads of processes"},
				{Short: 'Y', Help: "sort threads"},
				{Short: '1', Help: "show averages per second"},
				{Short: 'x', Help: "no colors"},
				cli.Heading("Lists of processes"),
				{Short: 'g', Help: "what each does"},
				{Short: 'm', Help: "memory"},
				{Short: 'd', Help: "disks"},
				{Short: 'n', Help: "network"},
				{Short: 's', Help: "scheduling"},
				{Short: 'v', Help: "various: parents, users, dates"},
				{Short: 'c', Help: "command lines"},
				{Short: 'X', Help: "control groups"},
				{Short: 'o', Help: "the columns that an atoprc has"},
				{Short: 'u', Help: "sums for each user"},
				{Short: 'p', Help: "sums for each program"},
				{Short: 'j', Help: "sums for each container"},
				cli.Heading("Orders of processes"),
				{Short: 'C', Help: "processors"},
				{Short: 'M', Help: "memory"},
				{Short: 'D', Help: "disks"},
				{Short: 'N', Help: "network"},
				{Short: 'E', Help: "graphics processors"},
				{Short: 'A', Help: "the resource that is used most"},
				cli.Heading("Archives"),
				readOption,
				{Short: 'w', Arg: "DIR", Help: "record an archive, with a folio, in a new directory"},
				{Short: 'S', Help: "finish before midnight"},
				beginOption,
				endOption,
				{Short: 'h', Help: ""},
				{Short: 'i', Help: ""},
				{Short: 'k', Help: ""},
				{Short: 'q', Help: ""},
				{Short: 't', Help: ""},
				{Short: 'z', Help: ""},
				{Short: 'B', Help: ""},
				{Short: 'H', Help: ""},
				{Short: 'I', Help: ""},
				{Short: 'J', Help: ""},
				{Short: 'K', Help: ""},
				{Short: 'O', Help: ""},
				{Short: 'Q', Help: ""},
				{Short: 'T', Help: ""},
				{Short: 'U', Help: ""},
				cli.Heading("Options of PCP"),
			},
			longOptions(),
		)
	},
	Debug: []string{"appl0"},
	Run:   run,
}

// maxFlags is how many flags C takes.
const maxFlags = 63

// A monitor is the view of pcp-atop.
type monitor struct {
	arguments
	*settings
	e     *engine
	flags []byte

	chosen   []bool // of parseable.Labels; nil: text or a terminal
	noSpaces bool
	write    string // -w
	midnight bool

	printer *screen.Printer
	lines   *parseable.Printer
	objects *objects.Printer // --json
	b       []byte
	term    *terminal // nil: no terminal
	input   screen.Input
}

func run(ctx context.Context, env *cli.Env) int {
	m := &monitor{arguments: arguments{env: env}}
	var status int
	if m.settings, status = readSettings(env, nil); status != 0 {
		return status
	}
	m.raw = false
	own := func(o *cli.Options, opt *cli.Option, arg string) bool { return m.own(ctx, o, opt, arg) }
	if status, stop := m.parse(own, func() {}, func() int { return m.fail(true) }); stop {
		return status
	}
	o := m.o
	m.e = m.engine(m, m.interval)
	m.e.samples = o.Samples
	if !m.e.open(ctx, o, m.hot, m.Seven) {
		return 1
	}
	defer m.e.c.Close()
	if m.write != "" && o.JSON {
		return env.Fatalf("--json prints samples, and -w records them")
	}
	if m.write != "" {
		return m.record(ctx)
	}
	m.e.s.Proportional, m.e.s.WaitChannels = m.proportional, m.waitChannels
	if !m.e.raw {
		m.e.s.Account(ctx, true)
		defer m.e.s.Account(context.WithoutCancel(ctx), false)
	}
	if o.JSON {
		host, _ := m.e.c.HostName(ctx)
		m.objects = &objects.Printer{Chosen: m.chosen, Host: host}
	}
	if m.chosen != nil {
		m.e.s.SystemOnly = !parseable.Tasks(m.chosen)
		m.lines = &parseable.Printer{Chosen: m.chosen, Host: &m.e.s.Host, Zone: m.e.loc, NoSpaces: m.noSpaces, Seven: m.Seven}
	}
	defer m.closeTerminal()
	return m.e.run(ctx)
}

// own handles an option.
func (m *monitor) own(ctx context.Context, o *cli.Options, opt *cli.Option, arg string) bool {
	if mine, done := m.common(ctx, o, opt, arg); done {
		return mine
	}
	switch opt.Short {
	case 'V':
		fmt.Fprintf(m.env.Stdout, "%s version: %s <pcp@groups.io>\n", m.env.ProgName(), m.env.Version)
		m.last = true
	case 'w':
		m.write = arg
	case 'S':
		m.midnight = true
	case 'P':
		chosen, err := parseable.Parse(arg)
		if err != nil {
			fmt.Fprintln(m.env.Stderr, err)
			m.usage = true
		}
		m.chosen = chosen
	case 'L':
		n, err := positive("", arg)
		if m.Width = n; err != nil {
			m.usage = true
		}
	case 'a':
		m.All = true
	case 'R':
		if m.Seven && m.raw {
			fmt.Fprintln(m.env.Stderr, "PSIZE gathering depends on rawfile")
			break
		}
		m.proportional = true
	case 'W':
		m.waitChannels = true
	case 'Z':
		m.noSpaces = true
	default:
		if len(m.flags) < maxFlags {
			m.flags = append(m.flags, byte(opt.Short))
		}
	}
	return true
}

// apply handles the flags when the first sample is shown. It returns false if C prints the usage message.
func (m *monitor) apply() bool {
	for _, f := range m.flags {
		switch f {
		case 'd':
			if !m.e.s.DiskIO {
				fmt.Fprintln(m.env.Stderr, "No disk-activity figures available; request ignored")
				continue
			}
			m.SetList(f)
		case 'n':
			if !m.e.s.NetIO {
				fmt.Fprintln(m.env.Stderr, m.noNetwork())
				continue
			}
			m.SetList(f)
		case 'X':
			if !m.e.s.CGroups {
				fmt.Fprintln(m.env.Stderr, "No cgroup v2 details available; request ignored!")
				continue
			}
			m.SetList(f)
		case '1':
			m.Average = !m.Average
		case 'f':
			m.Fixed = !m.Fixed
		case 'F':
			m.NoSort = !m.NoSort
		case 'y':
			m.Threads = !m.Threads
		case 'Y':
			m.SortThreads = !m.SortThreads
		case 'G':
			m.NoExited = !m.NoExited
		case 'x':
			m.Colors = !m.Colors
		case 'l':
			m.Max.Limit()
		default:
			if !m.SetList(f) {
				return false
			}
		}
	}
	return true
}

// noNetwork returns the message about transfers of tasks that are not available.
func (s *settings) noNetwork() string {
	if s.Seven {
		return "BPF or BCC PMDA not active or 'netproc' module not enabled; request ignored!"
	}
	return "BCC PMDA not active or 'netproc' module not enabled; request ignored!"
}

// show implements view.
func (m *monitor) show(ctx context.Context, f *frame) command {
	if m.objects != nil {
		m.b = m.objects.Append(m.b[:0], f.Deviation, sample.FromSeconds(f.Time).Timestamp(), f.Seconds)
		return m.flush()
	}
	if m.chosen != nil {
		m.b = m.lines.Append(m.b[:0], &parseable.Input{
			Deviation: f.Deviation, Time: f.Time, Seconds: f.Seconds, Boot: f.Boot,
			DiskIO: m.e.s.DiskIO, NetIO: m.e.s.NetIO, CGroups: m.e.s.CGroups,
		})
		return m.flush()
	}
	if m.printer == nil {
		if !m.apply() {
			m.fail(false)
			return abort
		}
		m.Plain = m.env.NoColour()
		m.printer = screen.New(m.Settings, m.e.s, m.e.loc)
		if !m.openTerminal() {
			return abort
		}
	}
	m.input = screen.Input{Deviation: f.Deviation, Time: f.Time, Seconds: f.Seconds, Boot: f.Boot, Archive: m.e.raw}
	if m.term != nil {
		return m.interact(ctx)
	}
	m.b = m.printer.Text(m.b[:0], &m.input)
	return m.flush()
}

// flush writes the pending output.
func (m *monitor) flush() command {
	if _, err := m.env.Stdout.Write(m.b); err != nil {
		m.env.OutputFailed(err)
		return abort
	}
	return forward
}

// prepare implements view.
func (m *monitor) prepare() {}

// next implements view.
func (m *monitor) next() bool { return false }

// fail prints the usage message and returns the exit status.
func (m *monitor) fail(pcp bool) int {
	if !m.env.Classic() {
		fmt.Fprint(m.env.Stderr, m.env.Command.Usage(m.env.ProgName()))
		return 1
	}
	name := m.env.ProgName()
	w := m.env.Stdout
	if !pcp {
		name = "atop"
	}
	fmt.Fprintf(w, "Usage: %s [-flags] [--pcp-flags] [interval [samples]]\n\t\tor\n", name)
	fmt.Fprintf(w, "Usage: %s -w  file  [-S] [-a] [interval [samples]]\n", name)
	fmt.Fprintf(w, "       %s -r  file  [-b [yy-mm-dd ]hh:mm:ss] [-e [yy-mm-dd ]hh:mm:ss] [-flags] [interval [samples]]\n\n", name)
	io.WriteString(w, usageFlags)
	if pcp {
		io.WriteString(w, "\n\tspecific flags for PCP (long options only):\n"+longUsage())
	}
	prog := m.env.ProgName()
	fmt.Fprintf(w, usageRest, prog, prog, prog)
	return 1
}

// usageFlags and usageRest are the parts of the usage message.
const (
	usageFlags = `	generic flags:
	  -V  show version information
	  -a  show or log all processes (i.s.o. active processes only)
	  -R  calculate proportional set size (PSS) per process
	  -W  determine WCHAN (string) per thread
	  -P  generate parseable output for specified label(s)
	  -Z  no spaces in parseable output for command (line)
	  -L  alternate line length (default 80) in case of non-screen output
	  -f  show fixed number of lines with system statistics
	  -F  suppress sorting of system resources
	  -G  suppress exited processes in output
	  -l  show limited number of lines for certain resources
	  -y  show threads within process
	  -Y  sort threads (when combined with 'y')
	  -1  show average-per-second i.s.o. total values

	  -x  no colors in case of high occupation
	  -g  show general process-info (default)
	  -m  show memory-related process-info
	  -d  show disk-related process-info
	  -n  show network-related process-info
	  -s  show scheduling-related process-info
	  -v  show various process-info (ppid, user/group, date/time)
	  -c  show command line per process
	  -X  show cgroup v2 info per process
	  -o  show own defined process-info
	  -u  show cumulated process-info per user
	  -p  show cumulated process-info per program (i.e. same name)
	  -j  show cumulated process-info per container

	  -C  sort processes in order of cpu consumption (default)
	  -M  sort processes in order of memory consumption
	  -D  sort processes in order of disk activity
	  -N  sort processes in order of network activity
	  -E  sort processes in order of GPU activity
	  -A  sort processes in order of most active resource (auto mode)
`
	usageRest = `
	specific flags for raw logfiles:
	  -w  write raw data to PCP archive folio
	  -r  read  raw data from PCP archive folio
	  -S  finish %s automatically before midnight (i.s.o. #samples)
	  -b  begin showing data from specified date/time
	  -e  finish showing data after specified date/time

	interval: number of seconds   (minimum 0)
	samples:  number of intervals (minimum 1)

If the interval-value is zero, a new sample can be
forced manually by sending signal USR1 (kill -USR1 %s-pid)
or with the keystroke 't' in interactive mode.

Please refer to the man-page of '%s' for more details.
`
)
