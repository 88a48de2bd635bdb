package getopt

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmns"
)

// Options holds the values of the options that tools share (pmOptions), and the other
// arguments.
type Options struct {
	Hosts     []string
	Archives  []string // one, which may be a list separated by commas, unless Program.Multi
	Local     bool     // -L
	NameSpace *pmns.Tree
	Container string // --container

	Samples    int // 0: no limit, or none if SamplesSet
	SamplesSet bool
	Interval   time.Duration
	Start, Finish,
	Align, Origin *string // as given, which may be empty; see Bounds

	TimeZone    string // -Z
	TimeZoneSet bool   // TimeZone was given; if it is empty, it means UTC
	HostZone    bool   // -z

	Args []string // arguments other than options

	p          *Program
	args       []string // those to read
	gui        bool
	guiPort    int // 0: none, or not a port
	guiPortSet bool
	errs       int
	noUsage    bool // the mistakes do not call for the usage message
	version    bool
	debugs     []string // of PCP_DEBUG and -D
	debugLog   *debug.Log
	help       bool // the options ask for help
}

// NewOptions returns Options without values, for the arguments of p, which begin with the name
// of the program, as in os.Args. It fills the fields of p that have a default.
func NewOptions(p *Program, args []string) *Options {
	p.defaults(args)
	o := &Options{p: p}
	if len(args) > 0 {
		o.args = args[1:]
	}
	return o
}

// Parse reads the environment and the arguments as pmGetOptions(3) does. The program
// then makes its own checks and calls [Options.Done].
func (o *Options) Parse() {
	o.p.EnvDebug() // the library reports that it ignores a wrong PCP_DEBUG; the options refuse it
	o.environment()
	if o.Args = o.args; !o.p.EnvOnly {
		o.arguments()
	}
	if !o.p.Later {
		o.End()
	}
}

// ParseArgs reads the arguments as pmgetopt_r(3) does, for programs whose C counterparts use
// only that function. PCP_DEBUG is the only environment variable that it takes for an
// option, and it checks options one by one.
func (o *Options) ParseArgs() {
	o.debugs = o.p.EnvDebug()
	o.arguments()
}

// arguments reads the arguments of the program.
func (o *Options) arguments() {
	p := New(o.p.Options, o.args)
	p.POSIX = o.p.POSIX || o.p.Config.IsSet("POSIXLY_CORRECT")
	for opt, arg := range p.All() {
		switch {
		case opt == nil:
			o.Usagef("%s", p.Problem())
		case o.p.Own != nil && o.p.Own(o, opt, arg):
		default:
			o.common(opt, arg)
		}
	}
	o.Args = p.Args()
}

// Usagef records a mistake on the command line, for Done to print.
func (o *Options) Usagef(format string, args ...any) {
	o.p.Messages.Errorf(format, args...)
	o.errs++
}

// WantUsage makes Done print the usage message alone.
func (o *Options) WantUsage() { o.errs++ }

// Done prints the mistakes, or the help or version that the options ask for, all on standard
// error as C programs do. It reports whether the program must exit, and with which status.
func (o *Options) Done() (status int, exit bool) {
	switch {
	case o.version:
		o.p.Messages.Flush()
		return 0, true
	case o.errs > 0:
		if !o.noUsage {
			o.p.usage()
		}
		o.p.Messages.Flush()
		return 1, true
	}
	return 0, false
}

// Program returns the program's description, with the defaults filled in.
func (o *Options) Program() *Program { return o.p }

// Common applies opt of this package, for an option that a tool has under another name, or with an argument that
// is ignored: a tool calls it in its Own.
func (o *Options) Common(opt Option, arg string) { o.common(&opt, arg) }

// common handles the options of table.go. If neither common nor the tool
// handles an option of the tool's table, that is our own bug.
func (o *Options) common(opt *Option, arg string) {
	switch opt.Long {
	case "align":
		o.Align = &arg
	case "archive":
		o.AddArchive(arg)
	case "archive-list":
		o.addArchiveList(arg)
	case "archive-folio":
		o.addFolio(arg)
	case "container":
		o.Container = arg
	case "debug":
		o.debug(arg)
	case "derived":
		if err := o.LoadDerived(arg); err != nil {
			o.Usagef("pmLoadDerivedConfig failed: %v", err)
		}
	case "finish":
		o.Finish = &arg
	case "guimode":
		o.guiMode()
	case "guiport":
		o.setGuiPort(arg)
	case "help":
		o.help = true
		o.WantUsage()
	case "host":
		o.addHost(arg)
	case "host-list":
		o.addHostList(arg)
	case "hostsfile":
		o.addHostsFile(arg)
	case "hostzone":
		o.hostZone()
	case "interval":
		o.interval(arg)
	case "local-PMDA":
		o.Local = true
	case "namespace":
		o.nameSpace(arg, true)
	case "origin":
		o.Origin = &arg
	case "samples":
		o.sampleCount(arg)
	case "spec-local":
		o.specLocal(arg)
	case "start":
		o.Start = &arg
	case "timezone":
		o.timeZone(arg)
	case "uniqnames":
		o.nameSpace(arg, false)
	case "version":
		o.version = true
		o.p.Messages.Printf("%s version %s\n", o.p.Name, o.p.Version)
	default:
		panic(fmt.Sprintf("%s: option -%c --%s is in the table, and neither its Own nor this package handles it", o.p.Name, opt.Short, opt.Long))
	}
}

// environment reads the variables that mean the same as an option (PCPIntro(1)).
func (o *Options) environment() {
	for _, v := range []struct {
		name string
		set  func(string)
	}{
		{"PCP_DEBUG", o.debug},
		{"PCP_ALIGN_TIME", func(s string) { o.Align = &s }},
		{"PCP_ARCHIVE", o.AddArchive},
		{"PCP_ARCHIVE_LIST", o.addArchiveList},
		{"PCP_FOLIO", o.addFolio},
		{"PCP_GUIMODE", func(string) { o.guiMode() }},
		{"PCP_HOST", o.addHost},
		{"PCP_HOST_LIST", o.addHostList},
		{"PCP_SPECLOCAL", o.specLocal},
		{"PCP_LOCALMODE", func(string) { o.Local = true }},
		{"PCP_LOCALPMDA", func(string) { o.Local = true }},
		{"PCP_NAMESPACE", func(s string) { o.nameSpace(s, true) }},
		{"PCP_UNIQNAMES", func(s string) { o.nameSpace(s, false) }},
		{"PCP_ORIGIN", func(s string) { o.Origin = &s }},
		{"PCP_ORIGIN_TIME", func(s string) { o.Origin = &s }},
		{"PCP_GUIPORT", o.setGuiPort},
		{"PCP_START_TIME", func(s string) { o.Start = &s }},
		{"PCP_SAMPLES", o.sampleCount},
		{"PCP_FINISH_TIME", func(s string) { o.Finish = &s }},
		{"PCP_INTERVAL", o.interval},
		{"PCP_TIMEZONE", o.timeZone},
		{"PCP_HOSTZONE", func(string) { o.hostZone() }},
	} {
		if o.p.Config.IsSet(v.name) {
			value := o.p.Config.Getenv(v.name)
			v.set(value)
			if o.Debugging("config") { // by PCP_DEBUG, which comes first
				fmt.Fprintf(o.p.Stderr, "pmGetOptions: %s=%s set from the environment\n", v.name, value)
			}
		}
	}
}

// End makes the checks that need all options (__pmEndOptions). Parse calls it
// unless Program.Later leaves that to the program.
func (o *Options) End() {
	if !o.Local && len(o.Hosts) == 0 && len(o.Archives) == 0 && o.Origin != nil {
		o.AddOwnArchive()
	}
	archive := o.namesArchive()
	if !archive && (o.Start != nil || o.Align != nil || o.Origin != nil) {
		o.Usagef("time window options are supported for archives only")
	}
	if o.HostZone && !archive && (o.Local || len(o.Hosts) == 0) {
		o.Usagef("use of timezone from metric source requires a source")
	}
}

// FromArchive reports whether metrics come from archives (PM_CONTEXT_ARCHIVE). In
// a tool that does not read any they never do, regardless of the environment.
func (o *Options) FromArchive() bool { return !o.p.NoArchives && o.namesArchive() }

func (o *Options) namesArchive() bool {
	return !o.Local && len(o.Archives) > 0 && len(o.Hosts) == 0
}

func (o *Options) addHost(spec string) {
	switch {
	case len(o.Hosts) > 0 && !o.p.Multi:
		o.Usagef("too many hosts requested: %s", spec)
	case len(o.Archives) > 0 && !o.p.Mixed:
		o.Usagef("only one host or archive allowed")
	default:
		o.Hosts = append(o.Hosts, spec)
	}
}

// Host returns the host that the options name, or this one by default.
func (o *Options) Host() string {
	if len(o.Hosts) > 0 {
		return o.Hosts[0]
	}
	return "local:"
}

// HasWindow reports whether the options set any part of a time window.
func (o *Options) HasWindow() bool {
	return o.Start != nil || o.Finish != nil || o.Align != nil || o.Origin != nil
}

// AddHost adds a host that an argument names, as -h does.
func (o *Options) AddHost(spec string) { o.addHost(spec) }

func (o *Options) addHostList(list string) {
	if len(o.Archives) > 0 && !o.p.Mixed {
		o.Usagef("only one of hosts or archives allowed")
		return
	}
	for _, h := range strings.Split(list, ",") {
		if h != "" {
			o.Hosts = append(o.Hosts, h)
		}
	}
	if len(o.Hosts) > 1 && !o.p.Multi {
		o.Usagef("too many hosts requested: %s", list)
	}
}

func (o *Options) addHostsFile(path string) {
	if len(o.Archives) > 0 && !o.p.Mixed {
		o.Usagef("only one of hosts or archives allowed")
		return
	}
	f, err := os.Open(path)
	if err != nil {
		o.runtimef("cannot open hosts file %s: %s", path, ErrText(err))
		return
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		line, _, _ := strings.Cut(in.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(o.Hosts) > 0 && !o.p.Multi {
			o.Usagef("too many hosts requested: %s", path)
			return
		}
		o.Hosts = append(o.Hosts, words[0])
	}
	if err := in.Err(); err != nil {
		o.runtimef("cannot read hosts file %s: %s", path, ErrText(err))
	}
}

func (o *Options) guiMode() {
	if o.guiPortSet {
		o.Usagef("at most one of -g and -p allowed")
		return
	}
	o.gui = true
}

func (o *Options) setGuiPort(arg string) {
	if o.gui {
		o.Usagef("at most one of -g and -p allowed")
		return
	}
	o.guiPortSet = true
	o.guiPort = 0
	if n, ok := Atoi(arg); ok && n > 0 {
		o.guiPort = n
	}
}

func (o *Options) nameSpace(path string, dupOK bool) {
	if path == "" { // which pmns takes for the default one
		o.p.Messages.Printf("Error Parsing ASCII PMNS: Cannot open \"\"\n")
		o.runtimef("Cannot load namespace from \"\": %s", ErrText(fs.ErrNotExist))
		return
	}
	tree, err := (&pmns.Loader{DupOK: dupOK, Config: o.p.Config, Debug: o.DebugLog()}).Load(path)
	if err != nil {
		if pe, ok := errors.AsType[*pmns.ParseError](err); ok {
			o.p.Messages.Printf("%s", pe.Diagnostic)
		}
		o.runtimef("Cannot load namespace from \"%s\": %s", path, ErrText(err))
		return
	}
	o.NameSpace = tree
}

func (o *Options) runtimef(format string, args ...any) {
	o.Usagef(format, args...)
	o.noUsage = true
}

func (o *Options) sampleCount(arg string) {
	n, ok := Atoi(arg)
	if !ok || n < 0 {
		o.Usagef("-s requires a positive numeric argument")
		return
	}
	o.Samples, o.SamplesSet = n, true
}

func (o *Options) interval(arg string) {
	d, err := pcptime.ParseInterval(arg)
	if err != nil {
		function := "pmParseInterval"
		if o.p.HighRes {
			function = "pmParseHighResInterval"
		}
		o.Usagef("-t argument not in %s(3) format:\n%v", function, err)
		return
	}
	o.Interval = d
}

func (o *Options) timeZone(tz string) {
	if o.HostZone {
		o.twoZones()
		return
	}
	o.TimeZone, o.TimeZoneSet = tz, true
}

func (o *Options) hostZone() {
	if o.TimeZoneSet {
		o.twoZones()
		return
	}
	o.HostZone = true
}

func (o *Options) twoZones() {
	o.Usagef("at most one of -Z and -z allowed")
}

// LoadDerived applies --derived, for a tool that has it under another name.
func (o *Options) LoadDerived(path string) error {
	if o.p.Derived == nil {
		return nil // a program without metrics
	}
	return o.p.Derived(o, path)
}

// specLocal handles -K. Programs without local contexts do not look at PCP_SPECLOCAL.
func (o *Options) specLocal(spec string) {
	if o.p.SpecLocal == nil {
		return
	}
	if err := o.p.SpecLocal(o, spec); err != nil {
		o.Usagef("pmSpecLocalPMDA failed: %v", err)
	}
}

// GuiMode reports whether -g asks for time control.
func (o *Options) GuiMode() bool { return o.gui }

// GuiPort returns the port that -p names. As in the C library it is 0, as if the option had
// not been there, if the argument is not a positive number.
func (o *Options) GuiPort() int { return o.guiPort }

// Errors reports whether Done will report mistakes.
func (o *Options) Errors() bool { return o.errs > 0 }

// WantsVersion reports whether Done will print the version.
func (o *Options) WantsVersion() bool { return o.version }

// WantsHelp reports whether the options ask for help and nothing is wrong with them.
func (o *Options) WantsHelp() bool { return o.help && o.errs == 1 }

// Bounds returns the options of a time window as package pcptime wants them.
func (o *Options) Bounds() pcptime.Bounds {
	return pcptime.Bounds{Start: o.Start, Finish: o.Finish, Align: o.Align, Origin: o.Origin}
}

// Number returns the argument of an option that takes a number. If it is not a
// number, or is less than least, Number records a mistake as [Options.Usagef]
// does, "-b requires numeric argument" with kind in place of "numeric", and returns 0.
func (o *Options) Number(opt *Option, arg string, least int, kind string) int {
	n, ok := Atoi(arg)
	if !ok || n < least {
		o.Usagef("-%c requires %s argument", opt.Short, kind)
		return 0
	}
	return n
}
