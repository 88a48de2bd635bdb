package importcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
)

// IostatCommand is iostat2pcp.
var IostatCommand = &cli.Command{
	Name:     "import iostat",
	Link:     "iostat2pcp",
	Group:    cli.Export,
	Summary:  "create an archive from the output of iostat",
	Synopsis: "[-v] [-S start] [-t interval] [-V version] [-Z timezone] infile outfile",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'S', Arg: "START", Help: "time of the first sample, HH:MM:SS, if the file has no times [00:00:00]"},
			{Short: 't', Arg: "INTERVAL", Help: "seconds between samples, if the file has no times"},
			{Short: 'V', Arg: "VERSION", Help: "version of the archive, 2 or 3 [PCP_ARCHIVE_VERSION]"},
			{Short: 'v', Help: "print the times of samples"},
			{Short: 'Z', Arg: "TIMEZONE", Help: "time zone of times, +HHMM or -HHMM [that of the file, else UTC]"},
			optAppend(),
			{Short: '?', Long: "help", Help: "show this usage message and exit"},
		}
	},
	Doc: `The file is the output of iostat(1) from the package sysstat, preferably with times:
S_TIME_FORMAT=ISO iostat -t. "-" is standard input. The first of its reports, which has the averages
since boot, is not imported.

Metrics have the names of the Linux agent, but their values are the rates of iostat, and
instantaneous. If a file has no times, they begin at -S on the day in its first line; the interval
is computed from totals and rates of disks, or is 15 seconds if there are none.

Dates such as 05/11/26 are the day before the month.`,
	Examples: []cli.Example{
		{Line: "pcp import iostat --append more.txt io", Text: "add later output to the archive"},
		{Line: "S_TIME_FORMAT=ISO iostat -t -x 10 100 >io.txt && pcp import iostat io.txt io", Text: "record and import"},
		{Line: "pcp import iostat -S 09:00:00 -t 10 io.txt io", Text: "set the times of samples without times"},
	},
	SeeAlso: []string{"iostat(1)", "pmval(1)"},
	Run:     runIostat,
}

// runIostat reads its arguments as the script iostat2pcp does, which prints its usage
// message to standard output.
func runIostat(ctx context.Context, env *cli.Env) int {
	p := &iostat{env: env, baseTime: "00:00:00", zone: "UTC", devices: make(map[string]*device)}
	args, bad, help := p.options()
	if help && !env.Classic() {
		env.Help(env.Command)
		return 0
	}
	if bad || len(args) != 2 {
		fmt.Fprintf(env.Stdout, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		return 1
	}
	p.file, p.base = args[0], args[1]
	fail := func(format string, args ...any) int {
		fmt.Fprintf(env.Stdout, "%s: %s\n", env.ProgName(), fmt.Sprintf(format, args...))
		return 1
	}
	if p.zoneSet {
		if _, err := zoneOf(p.zone); err != nil || len(p.zone) != len("+hhmm") {
			return fail("Illegal -Z value, must be +NNNN or -NNNN")
		}
	}
	switch p.version {
	case "2", "3":
		p.opt.Version = int(p.version[0] - '0')
	case "":
	default:
		return fail("Illegal -V value, must be 2 or 3")
	}
	if _, err := time.Parse("15:4:5", p.baseTime); err != nil {
		return fail("Illegal -S value, must be HH:MM:SS")
	}
	if p.intervalSet {
		n, err := strconv.ParseUint(p.intervalText, 10, 31)
		if err != nil || n == 0 {
			return fail("Illegal -t value, must be a number of seconds")
		}
		p.interval = int64(n)
	}
	in := env.Stdin
	if p.file != "-" {
		f, err := os.Open(p.file)
		if err != nil {
			return env.Fatalf("Failed to open infile \"%s\": %s", p.file, cli.ErrText(err))
		}
		defer f.Close()
		in = f
	}
	p.in = lineReader{r: bufio.NewReaderSize(in, maxLine)}
	err := p.run(ctx)
	if err != nil {
		err = fmt.Errorf("%s:%d: %w", p.file, max(p.in.line, 1), err)
		env.FlushOut()
	}
	return p.out.finish(ctx, env, p.location(), err)
}

// An iostat is one file to import.
type iostat struct {
	env        *cli.Env
	file, base string
	opt        importer.Options
	out        output
	in         lineReader

	// Settings from options.
	verbose                               bool
	baseTime, intervalText, version, zone string
	baseTimeSet, intervalSet, zoneSet     bool

	host     string
	date     string // of the first line, YYYY-MM-DD
	stamps   stampStyle
	firstTag string        // of the first section, if there are no times
	offset   time.Duration // of the time zone
	interval int64         // seconds, 0 if not known

	sample int       // -1 for the report since boot
	now    time.Time // of the sample
	stamp  string    // as -v prints it
	next   time.Time // of the sample that begins
	nextAs string

	section section
	layout  layout
	cpu     [6]importer.Handle
	devices map[string]*device
	order   []*device
}

// A section is a part of a report.
type section int

const (
	noSection section = iota
	cpuSection
	deviceSection
)

// A stampStyle is how times are written.
type stampStyle int

const (
	noStamps  stampStyle = iota
	stampDMY             // 27/07/10 12:47:34
	stampISO             // 2010-07-27T12:46:07+1000
	stampYMD             // 2010-07-27 12:46:07
	stampTime            // Time: 03:49:57 PM
	stampMDY             // 07/27/2010 03:49:57 PM
)

// A device is a line of the section of devices.
type device struct {
	name    string
	handles []importer.Handle
	seen    bool // in the present sample
}

// options takes the options.
func (p *iostat) options() (args []string, bad, help bool) {
	g := getopt.New(p.env.Command.OptionList(), p.env.Args)
	g.POSIX = true
	for opt, arg := range g.All() {
		switch {
		case opt == nil:
			fmt.Fprintf(p.env.Stderr, "%s: %s\n", p.env.ProgName(), g.Problem())
			bad = true
		case opt.Long == "append":
			p.opt.Append = true
		case opt.Short == 'S':
			p.baseTime, p.baseTimeSet = arg, true
		case opt.Short == 't':
			p.intervalText, p.intervalSet = arg, true
		case opt.Short == 'V':
			if p.version = arg; arg == "" {
				p.version = "?"
			}
		case opt.Short == 'v':
			p.verbose = true
		case opt.Short == 'Z':
			p.zone, p.zoneSet = arg, true
		default:
			help, bad = true, true
		}
	}
	return g.Args(), bad, help
}

// zoneOf returns the offset of a time zone: UTC, Z, +HHMM or +HH:MM.
func zoneOf(zone string) (time.Duration, error) {
	if zone == "UTC" || zone == "Z" {
		return 0, nil
	}
	for _, form := range []string{"-0700", "-07:00"} {
		if t, err := time.Parse(form, zone); err == nil {
			_, seconds := t.Zone()
			return time.Duration(seconds) * time.Second, nil
		}
	}
	return 0, fmt.Errorf("%q is not a time zone", zone)
}

func (p *iostat) location() *time.Location {
	if p.offset == 0 {
		return time.UTC
	}
	return time.FixedZone("", int(p.offset/time.Second))
}

func (p *iostat) say(format string, args ...any) {
	fmt.Fprintf(p.env.Stdout, "%s: "+format+"\n", append([]any{p.env.ProgName()}, args...)...)
}

func (p *iostat) run(ctx context.Context) error {
	p.sample = -1
	for {
		line, err := p.in.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = p.take(line)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case p.in.line == 0:
		return errors.New("the file is empty")
	case p.sample < 0:
		return errors.New("only the averages since boot are here: no second report begins in a way that is known")
	case p.sample == 0 && p.stamps == noStamps:
		p.begin()
	}
	return p.endSample()
}

// take imports a line.
func (p *iostat) take(line string) error {
	blank := strings.TrimSpace(line) == ""
	switch p.in.line {
	case 1:
		return p.title(line)
	case 3:
		p.stamps = p.stampOf(line)
		var err error
		if p.offset, err = zoneOf(p.zone); err != nil {
			return err
		}
		if p.stamps != noStamps {
			p.ignored()
			p.now, _, _ = p.parseStamp(line)
			return nil
		}
		p.firstTag, _, _ = strings.Cut(line, ":")
		if !blank && !isHeader(line) {
			return fmt.Errorf("%q is neither a time in a form that is known nor the head of a section; run iostat with -t and S_TIME_FORMAT=ISO", line)
		}
	}
	if blank {
		return nil
	}
	if p.stamps == noStamps {
		if tag, _, _ := strings.Cut(line, ":"); p.in.line > 3 && tag == p.firstTag {
			if err := p.nextSample(); err != nil {
				return err
			}
		}
	} else if t, text, ok := p.parseStamp(line); ok {
		p.next, p.nextAs = t, text
		return p.nextSample()
	}
	switch {
	case strings.HasPrefix(line, "Device"):
		p.section = deviceSection
		if p.sample < 0 {
			return p.defineDevices(line)
		}
	case strings.HasPrefix(line, "avg-cpu:"):
		p.section = cpuSection
		if p.sample < 0 {
			return p.defineCPU()
		}
	case p.sample < 0:
	case p.section == cpuSection:
		return p.putCPU(line)
	case p.section == deviceSection:
		return p.putDevice(line)
	}
	return nil
}

func isHeader(line string) bool {
	return strings.HasPrefix(line, "Device") || strings.HasPrefix(line, "avg-cpu:")
}

// title reads the first line: "Linux 2.6.32-23-generic (bozo)  27/07/10  _i686_  (1 CPU)".
func (p *iostat) title(line string) error {
	for word := range strings.FieldsSeq(line) {
		for _, form := range []string{"02/01/06", "2006-01-02", "01/02/2006"} {
			if t, err := time.Parse(form, word); err == nil {
				p.date = t.Format(time.DateOnly)
			}
		}
	}
	if p.date == "" {
		// A date such as 11/22/26, of a locale that cannot be known, does for a file with
		// times.
		for word := range strings.FieldsSeq(line) {
			if t, err := time.Parse("01/02/06", word); err == nil {
				p.date = t.Format(time.DateOnly)
			}
		}
	}
	if p.date == "" {
		return fmt.Errorf("%q: First line does not look like iostat ... I give up", line)
	}
	if _, rest, ok := strings.Cut(line, "("); ok {
		p.host, _, _ = strings.Cut(rest, ")")
	}
	return nil
}

// stampOf reports how times are written in the file, and sets the time zone if they
// have one.
func (p *iostat) stampOf(line string) stampStyle {
	line = strings.TrimSpace(line)
	for style := stampDMY; style <= stampMDY; style++ {
		p.stamps = style
		if _, _, ok := p.parseStamp(line); ok {
			if style == stampISO {
				if p.zone = line[len("2010-07-27T12:46:07"):]; p.zone == "Z" {
					p.zone = "UTC"
				}
			}
			return style
		}
	}
	return noStamps
}

// ignored warns of options that do not matter as there are times.
func (p *iostat) ignored() {
	if p.baseTimeSet {
		p.say("Warning: timestamps found, -S %s option ignored", p.baseTime)
	}
	if p.intervalSet {
		p.say("Warning: timestamps found, -t %s option ignored", p.intervalText)
	}
	if p.zoneSet && p.stamps == stampISO {
		p.say("Warning: ISO timestamps found, -Z %s option ignored", p.zone)
	}
}

// parseStamp reads a line with a time; ok is false if it is another line. The text
// is how -v prints the time.
func (p *iostat) parseStamp(line string) (t time.Time, text string, ok bool) {
	line = strings.TrimSpace(line)
	var forms []string
	switch p.stamps {
	case stampDMY:
		forms = []string{"02/01/06 15:04:05"}
	case stampISO:
		forms = []string{"2006-01-02T15:04:05-0700", "2006-01-02T15:04:05Z07:00"}
	case stampYMD:
		forms = []string{"2006-01-02 15:04:05"}
	case stampTime:
		clock, found := strings.CutPrefix(line, "Time: ")
		if !found {
			return t, "", false
		}
		line = p.date + " " + clock
		forms = []string{"2006-01-02 03:04:05 PM", "2006-01-02 15:04:05"}
	case stampMDY:
		forms = []string{"01/02/2006 03:04:05 PM", "01/02/2006 15:04:05"}
	default:
		return t, "", false
	}
	for _, form := range forms {
		t, err := time.ParseInLocation(form, line, p.location())
		if err != nil {
			continue
		}
		if p.stamps == stampTime && t.Before(p.now) {
			// Only the first line has a date.
			t = t.AddDate(0, 0, 1)
			p.date = t.Format(time.DateOnly)
		}
		return t, t.Format("2006-01-02T15:04:05.000000"), true
	}
	return t, "", false
}

// nextSample ends a sample and begins another.
func (p *iostat) nextSample() error {
	if p.stamps == noStamps {
		switch {
		case p.sample == 0:
			p.begin()
		case p.sample > 0:
			p.next, p.nextAs = p.step(p.now)
		}
	}
	if p.verbose && p.sample == 0 {
		fmt.Fprintf(p.env.Stdout, "stamp_style=%d zone=%s basedate=%s now=%d stamp=%s", p.stamps, p.zone, p.date, p.now.Unix(), p.stamp)
		if p.interval != 0 {
			fmt.Fprintf(p.env.Stdout, " interval=%d", p.interval)
		}
		if p.firstTag != "" {
			fmt.Fprintf(p.env.Stdout, " first_tag=%s", p.firstTag)
		}
		fmt.Fprintln(p.env.Stdout)
	}
	if p.sample >= 0 {
		if err := p.endSample(); err != nil {
			return err
		}
	}
	p.sample++
	p.now, p.stamp = p.next, p.nextAs
	return nil
}

// begin finds out the times of the first sample and of that after it, in a file without
// times.
func (p *iostat) begin() {
	p.say("Warning: no timestamps, assuming data starts at %s %s %s", p.date, p.baseTime, p.zone)
	start, _ := time.ParseInLocation("2006-01-02 15:4:5", p.date+" "+p.baseTime, p.location())
	if p.interval == 0 {
		p.say("Warning: cannot determine sample interval, assuming 15 seconds")
		p.interval = 15
	}
	p.now, p.stamp = p.step(start)
	p.next, p.nextAs = p.step(p.now)
}

// step returns the time of the sample after t.
func (p *iostat) step(t time.Time) (time.Time, string) {
	t = t.Add(time.Duration(p.interval) * time.Second)
	return t, t.Format("Mon Jan _2 15:04:05 2006")
}

// endSample writes a sample.
func (p *iostat) endSample() error {
	for _, d := range p.order {
		if !d.seen {
			// With -z devices that did nothing are left out.
			for _, h := range d.handles[:min(len(d.handles), idleMetrics)] {
				if err := p.put(h, "0"); err != nil {
					return err
				}
			}
		}
		d.seen = false
	}
	if p.verbose {
		fmt.Fprintf(p.env.Stdout, "End of sample %d @ %d %s\n", p.sample, p.now.Unix(), p.stamp)
	}
	if p.out.im == nil {
		return importer.ErrNoData
	}
	return p.out.write(p.now)
}

// idleMetrics is the number of metrics of a device that are 0 when it is idle;
// times of requests then have no value.
const idleMetrics = 7

func (p *iostat) put(h importer.Handle, value string) error {
	if err := h.Put(value); err != nil {
		return err
	}
	p.out.values++
	return nil
}

// start makes the archive.
func (p *iostat) start() error {
	if p.out.im != nil {
		return nil
	}
	p.opt.Host, p.opt.TimeZone = p.host, "UTC"
	if p.zone != "UTC" {
		// As TZ has it, which counts west of Greenwich.
		sign, zone := "-", strings.ReplaceAll(p.zone, ":", "")
		if zone[0] == '-' {
			sign = "+"
		}
		p.opt.TimeZone = "PCP" + sign + zone[1:3] + ":" + zone[3:]
	}
	return p.out.start(p.env, p.base, p.opt, p.file)
}

func (p *iostat) defineCPU() error {
	if err := p.start(); err != nil {
		return err
	}
	for i, name := range []string{"user", "nice", "sys", "wait.total", "steal", "idle"} {
		name = "kernel.all.cpu." + name
		if err := p.out.add(name, pcp.Desc{Type: pcp.TypeFloat, InDom: pcp.InDomNull, Sem: pcp.SemInstant}); err != nil {
			return err
		}
		var err error
		if p.cpu[i], err = p.out.im.Handle(name, ""); err != nil {
			return err
		}
	}
	return nil
}

func (p *iostat) putCPU(line string) error {
	if p.cpu[0] == (importer.Handle{}) {
		return errors.New("avg-cpu: there is no such section in the report since boot")
	}
	// Some versions of iostat write a NUL after each value.
	fields := strings.Fields(strings.ReplaceAll(line, "\x00", ""))
	if len(fields) != len(p.cpu) {
		return fmt.Errorf("avg-cpu: number of values? expected %d, found %d", len(p.cpu), len(fields))
	}
	for i, h := range p.cpu {
		f, err := number(fields[i])
		if err == nil {
			err = p.put(h, decimal(f/100))
		}
		if err != nil {
			return fmt.Errorf("avg-cpu: %w", err)
		}
	}
	return nil
}
