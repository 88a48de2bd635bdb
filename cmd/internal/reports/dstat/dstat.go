package dstat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// defaultTime is the format of times without DSTAT_TIMEFMT.
const defaultTime = "%d-%m %H:%M:%S"

// A program is a run of dstat.
type program struct {
	report
	o       *source.Options
	places  []place
	all     *conf.Sections
	wanted  []string // names of plugins
	sel     selection
	light   bool // --bw
	color   bool // --color
	noColor bool // --nocolor
	verify  bool // -q
	ended   bool // an option has done the requested work
	status  int
	silent  bool // print nothing on standard output at the end
}

func run(ctx context.Context, env *cli.Env) int {
	env.Config() // before env is copied
	p := &program{report: report{
		env: env, pace: pace{began: time.Now(), samples: -1, delay: 1, update: true}, screen: screen{headings: true, term: newTerminal(env)},
		command: strings.Join(append([]string{env.Command.Link}, env.Args...), " "),
	}}
	if !p.term.is {
		p.headings, p.update = false, false
	}
	status := p.main(ctx)
	p.finish(ctx)
	return status
}

// finish ends the last line. As in the C program, a signal that ends the process does so twice.
func (p *program) finish(ctx context.Context) {
	cause := context.Cause(ctx)
	terminated := cause != nil && strings.HasPrefix(cause.Error(), syscall.SIGTERM.String())
	if cause != nil && !terminated {
		io.WriteString(p.env.Stdout, "\n")
	}
	end := func() {
		if p.silent {
			return
		}
		if p.update {
			io.WriteString(p.env.Stdout, "\n")
		}
		if reset := p.env.Own(escReset); p.term.is && !p.env.NoColour() {
			if p.theme != nil {
				reset = p.theme.reset
			}
			io.WriteString(p.env.Stdout, reset)
		}
	}
	if end(); terminated {
		end()
	}
}

func (p *program) main(ctx context.Context) int {
	env := p.env
	var err error
	if p.places, err = findPlaces(env.Config()); err == nil {
		p.all, err = define(p.places...)
	}
	if err != nil {
		return env.Fatalf("plugins: %v", err)
	}
	p.o = p.parse(ctx)
	if p.ended {
		return p.status
	}
	if status, exit := p.o.Done(); exit {
		return status
	}
	if p.o.JSON && p.table.path != "" {
		return env.Fatalf("--json is an output of its own, and -o another")
	}
	if p.json = p.o.JSON; p.json { // one complete line per interval, whatever the terminal supports
		p.update, p.silent, p.noColor, p.term.is = false, true, true, false
	}
	if status, ok := p.prepare(); !ok {
		return status
	}
	if status, ok := p.connect(ctx); !ok {
		return status
	}
	defer p.c.Close()
	if err := p.start(ctx); err != nil {
		return p.failed(err)
	}
	return p.failed(p.run(ctx))
}

// failed prints why the report ends, if that is an error, and returns the exit status.
func (p *program) failed(err error) int {
	plain, isPlain := errors.AsType[*plainError](err)
	metric, isMetric := errors.AsType[*metricError](err)
	file, isFile := errors.AsType[*fileError](err)
	line, isLine := errors.AsType[*lineError](err)
	set, isSet := err.(*conf.Error) // of expressions
	text := ""
	switch {
	case err == errSaid:
		return 1
	case err == nil, pcp.Code(err) == pcp.ErrEOL, errors.Is(err, context.Canceled), errors.Is(err, syscall.EPIPE):
		return 0
	case isPlain:
		text = plain.text
	case isMetric:
		text = metric.Error()
	case isFile:
		text = file.Error()
	case isLine:
		return p.env.Fatalf("%v", line)
	case isSet:
		text = set.Text
	default:
		return p.env.Fatalf("%s", cli.ErrText(err))
	}
	p.env.FlushOut()
	fmt.Fprintln(p.env.Stderr, text)
	return 1
}

// format is that of times.
func (p *program) format() string { return cmp.Or(p.env.Getenv("DSTAT_TIMEFMT"), defaultTime) }

// prepare creates the requested plugins. It returns false if the program must exit.
func (p *program) prepare() (status int, ok bool) {
	now := pcptime.Strftime(p.format(), time.Now().In(pcptime.Local(p.env.Getenv("TZ"))))
	times := 0
	for _, name := range p.wanted {
		if isTime(name) {
			times++
		}
	}
	if times == len(p.wanted) {
		if !p.json {
			fmt.Fprintln(p.env.Stdout, "You did not select any stats, using -cdngy by default.")
		}
		p.wanted = append(p.wanted, "cpu", "disk", "net", "page", "sys")
	}
	for _, name := range p.wanted {
		if isTime(name) {
			p.plugins = append(p.plugins, newTimePlugin(name, utf8.RuneCountInString(now)))
			continue
		}
		if !p.all.Has(name) {
			p.env.FlushOut()
			fmt.Fprintf(p.env.Stderr, "Ignoring unknown plugin '%s'\n", name)
			continue
		}
		if p.debug {
			p.tellDefaults(name)
		}
		made, err := newPlugin(p.all, name, &p.sel)
		if err != nil {
			return p.failed(err), false
		}
		p.plugins = append(p.plugins, made)
	}
	if p.verify {
		p.silent = true
		return 0, false
	}
	return 0, true
}

func isTime(name string) bool {
	for _, t := range timeNames {
		if name == t {
			return true
		}
	}
	return false
}

// newTimePlugin creates a plugin that shows the time, with the width of its format.
func newTimePlugin(name string, room int) *plugin {
	p := &plugin{name: name, label: "system", time: true, group: ungrouped, names: []string{name}}
	switch name {
	case "time":
		p.width = room
	case "time-adv":
		p.width = room + len(".000")
	case "epoch":
		p.label, p.width = "epoch", len("1676009089")
	case "epoch-adv":
		p.label, p.width = "epoch", len("1676009089.000")
	}
	return p
}

// connect opens the source of the options; if they name none and there is no collector, it uses agents in
// this process.
func (p *program) connect(ctx context.Context) (status int, ok bool) {
	o, env := p.o, p.env
	if !o.Local && len(o.Hosts)+len(o.Archives) == 0 && o.Origin != nil {
		o.AddOwnArchive()
	}
	var err error
	switch {
	case o.FromArchive():
		p.archive, p.update = true, false
		var a *pmapi.ArchiveContext
		if a, err = o.OpenArchive(o.Archives[0]); err == nil {
			p.c = a.Context
		} else if !env.Classic() {
			return o.CannotOpen(o.Archives[0], err), false
		}
	case o.Local:
		p.c, err = o.OpenLocal(ctx)
	default:
		p.c, err = o.DialOrLocal(ctx, o.Host())
		if err != nil && !env.Classic() {
			return o.CannotConnect(o.Host(), err), false
		}
	}
	if err != nil {
		return p.failed(err), false
	}
	return 0, true
}

// operands parses the arguments delay and count.
func (p *program) operands() error {
	args := p.o.Args
	if len(args) > 0 {
		d, err := pcptime.ParseInterval(args[0])
		if err != nil || d <= 0 {
			return plainf("Invalid sample delay '%s'", args[0])
		}
		p.o.Interval = d.Truncate(time.Microsecond)
		p.delay = float64(p.o.Interval/time.Second) + float64(p.o.Interval%time.Second/time.Microsecond)/1e6
	}
	if len(args) > 1 {
		n, err := strconv.Atoi(strings.TrimSpace(args[1]))
		if err != nil {
			return plainf("Invalid sample count '%s'", args[1])
		}
		p.samples = n + 1
	}
	if len(args) > 2 {
		return plainf("Incorrect argument list, try --help")
	}
	if p.samples == 0 {
		p.samples = -1
	}
	return nil
}

// start prepares the report for its first line.
func (p *program) start(ctx context.Context) error {
	o, env := p.o, p.env
	zone, err := o.SetZone(ctx, p.c, false)
	if err != nil {
		return errSaid
	}
	window, err := o.Window(ctx, p.c, zone)
	if err != nil {
		return errSaid
	}
	if p.group, err = pmapi.NewFetchGroupConfig(p.c, env.Config()); err != nil {
		return err
	}
	set := &derive.Set{Debug: o.DebugLog()}
	_ = set.LoadInstalled(env.Config()) // errors have been reported
	if err := defineMetrics(set, p.plugins); err != nil {
		return plainf("Failed to register derived metric:\n%v.", err)
	}
	p.c.UseDerived(set, func(err error) {
		env.Printf("%v\n", original(err, p.plugins))
		env.Flush()
	})
	if err := p.bind(ctx); err != nil {
		return err
	}

	interval := cmp.Or(o.Interval, time.Second)
	if p.samples = o.Samples; o.Finish != nil {
		runtime := window.Finish.Sub(window.Origin)
		if p.samples > 0 {
			p.samples = max(2, p.samples)
			interval = time.Duration(runtime / float64(p.samples-1) * float64(time.Second))
		} else {
			p.samples = int(runtime/interval.Seconds() + 1)
		}
		if interval <= 0 {
			return plainf("Interval must be greater than zero.")
		}
	}
	o.Interval = interval
	if err := p.operands(); err != nil {
		return err
	}
	if !o.HostZone && (!o.TimeZoneSet || o.TimeZone == "") {
		zone = metricset.FixedZone(pcptime.Local(env.Getenv("TZ")), time.Unix(window.Origin.Sec, 0))
	}
	p.clock = metricset.NewClock(p.format(), zone)
	if a, ok := p.c.Archive(); ok {
		if err := a.SetMode(ctx, pmapi.ModeInterp, &window.Origin, o.Interval); err != nil {
			return err
		}
	}
	if p.table.path != "" || p.term.is || p.json {
		p.host, _ = p.c.HostName(ctx)
	}
	p.version = p.pcpVersion()
	p.term.setTitle(env.Stdout, p.host, p.command)
	p.setColors()
	io.WriteString(env.Stdout, p.theme.noWrap)
	if p.debug {
		io.WriteString(env.Stdout, debugText)
	}
	return nil
}

// errSaid is the error of a failure that has been reported.
var errSaid = &plainError{}

// pcpVersion returns the version of the installed PCP, or else of this program.
func (p *program) pcpVersion() string {
	return cmp.Or(p.env.Config().Get("PCP_VERSION"), p.env.Version)
}

// setColors decides on colours.
func (p *program) setColors() {
	switch {
	case p.noColor:
	case p.color:
		p.colors = true
	case !p.term.is || p.env.Getenv("NO_COLOR") != "":
	default:
		p.colors = p.term.colorful()
	}
	if p.theme = noColors(); p.colors {
		p.theme = newTheme(p.light)
		p.theme.own(p.env.Own)
	}
}
