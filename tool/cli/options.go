package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmns"
)

// The options that many tools share, with the texts for their usage messages. A
// tool puts those that it takes into its table; ParseOptions handles them.
var (
	OptAlign     = Option{Short: 'A', Long: "align", Arg: "TIME", Help: "align sample times on natural boundaries"}
	OptArchive   = Option{Short: 'a', Long: "archive", Arg: "FILE", Help: "metrics source is a PCP log archive"}
	OptContainer = Option{Long: "container", Arg: "NAME", Help: "specify an individual container to be queried"}
	OptDebug     = Option{Short: 'D', Long: "debug", Arg: "DBG"}
	OptDerived   = Option{Long: "derived", Arg: "FILE", Help: "load derived metric definitions from FILE(s)"}
	OptFinish    = Option{Short: 'T', Long: "finish", Arg: "TIME", Help: "end of the time window"}
	OptGuiMode   = Option{Short: 'g', Long: "guimode", Help: "start in GUI mode with new time control"}
	OptGuiPort   = Option{Short: 'p', Long: "guiport", Arg: "N", Help: "port for connection to existing time control"}
	OptHelp      = Option{Short: '?', Long: "help", Help: "show this usage message and exit"}
	OptHost      = Option{Short: 'h', Long: "host", Arg: "HOST", Help: "metrics source is PMCD on host"}
	OptHostsFile = Option{Short: 'H', Long: "hostsfile", Arg: "FILE", Help: "read metric source hosts from a file"}
	OptHostZone  = Option{Short: 'z', Long: "hostzone", Help: "set reporting timezone to local time of metrics source"}
	OptInterval  = Option{Short: 't', Long: "interval", Arg: "DELTA", Help: "sampling interval"}
	OptLocalPMDA = Option{Short: 'L', Long: "local-PMDA", Help: "metrics source is local connection to a PMDA"}
	OptNameSpace = Option{Short: 'n', Long: "namespace", Arg: "FILE", Help: "use an alternative PMNS"}
	OptOrigin    = Option{Short: 'O', Long: "origin", Arg: "TIME", Help: "initial sample time within the time window"}
	OptSamples   = Option{Short: 's', Long: "samples", Arg: "N", Help: "terminate after this many samples"}
	OptSpecLocal = Option{Short: 'K', Long: "spec-local", Arg: "SPEC", Help: "optional additional PMDA spec for local connection"}
	OptStart     = Option{Short: 'S', Long: "start", Arg: "TIME", Help: "start of the time window"}
	OptTimeZone  = Option{Short: 'Z', Long: "timezone", Arg: "TZ", Help: "set reporting timezone"}
	OptUniqNames = Option{Short: 'N', Long: "uniqnames", Arg: "FILE", Help: "like -n but only one name allowed for each PMID"}
	OptVersion   = Option{Short: 'V', Long: "version", Help: "display version number and exit"}

	// OptJSON is not an option of the C tools.
	OptJSON = Option{Long: "json", Help: "write one JSON object a line (docs/json.md)", Extra: true}

	// General are the options of tools that sample metrics (PMAPI_GENERAL_OPTIONS).
	General = []Option{
		{Help: "General options"},
		OptAlign, OptArchive, OptDebug, OptGuiMode, OptHost, OptNameSpace, OptOrigin, OptGuiPort,
		OptStart, OptSamples, OptFinish, OptInterval, OptTimeZone, OptHostZone, OptVersion, OptHelp,
	}

	OptArchiveList  = Option{Long: "archive-list", Arg: "FILES", Help: "comma-separated list of metric source archives"}
	OptArchiveFolio = Option{Long: "archive-folio", Arg: "FILE", Help: "read metric source archives from a folio"}
	OptHostList     = Option{Long: "host-list", Arg: "HOSTS", Help: "comma-separated list of metric source hosts"}
)

// Options holds the values of the options that tools share (pmOptions).
type Options struct {
	Hosts     []string
	Archives  []string // one, which may be a list separated by commas, unless ParseConfig.Multi
	Local     bool     // -L
	NameSpace *pmns.Tree
	Container string

	Samples    int // 0: no limit, or none if SamplesSet
	SamplesSet bool
	Interval   time.Duration
	Start, Finish,
	Align, Origin *string // as given, which may be empty; see Window

	JSON bool // --json

	TimeZone    string // -Z
	TimeZoneSet bool   // TimeZone was given; if it is empty, it means UTC
	HostZone    bool   // -z

	Args []string // arguments other than options

	env        *Env
	cfg        ParseConfig
	gui        bool
	guiPort    int // 0: none, or one that is not a port
	guiPortSet bool
	errs       int
	noUsage    bool // the mistakes do not call for the usage message
	version    bool
	debugs     []string // of PCP_DEBUG and -D
	help       bool     // the options ask for help
}

// A ParseConfig says how a tool departs from the common ways.
type ParseConfig struct {
	Multi bool // any number of hosts or archives (PM_OPTFLAG_MULTI)
	Mixed bool // hosts and archives together (PM_OPTFLAG_MIXED)
	Later bool // the tool calls End, as its arguments too may name a source (PM_OPTFLAG_DONE)
	POSIX bool // options end at the first other argument (PM_OPTFLAG_POSIX)

	AndOr bool // the C tool says "at most one of -Z and/or -z allowed"

	Archives bool // the tool reads archives
	HighRes  bool // the C tool takes intervals of nanoseconds, and says so

	// SpecLocal handles the arguments of -K. It returns what is wrong with one,
	// or "". Package source has such a function.
	SpecLocal func(spec string) string

	// Derived loads the definitions of derived metrics from files. It returns what
	// is wrong with the files, or "". Package source has such a function.
	Derived func(path string) string

	// Own is called first for each option, and reports whether it has handled
	// it. It reports a mistake in the argument by Options.Usagef.
	Own func(o *Options, opt *Option, arg string) bool
}

// ParseOptions reads the environment and the arguments of a command as
// pmGetOptions(3) does. The tool then makes its own checks and calls
// [Options.Done].
func ParseOptions(env *Env, cfg ParseConfig) *Options {
	o := &Options{env: env, cfg: cfg}
	env.Debug() // the library says that it ignores a wrong PCP_DEBUG; the options refuse it
	o.environment()
	o.arguments()
	if !cfg.Later {
		o.End()
	}
	return o
}

// Usagef records a mistake on the command line, for Done to print.
func (o *Options) Usagef(format string, args ...any) {
	o.env.Errorf(format, args...)
	o.errs++
}

// WantUsage makes Done print the usage message alone.
func (o *Options) WantUsage() { o.errs++ }

// Done prints the mistakes, or the help or version that the options ask for. It
// reports whether the tool must exit, and with which status.
func (o *Options) Done() (status int, exit bool) {
	switch {
	case o.version && !o.env.Classic():
		o.env.toStdout()
		return 0, true
	case o.version:
		o.env.Flush()
		return 0, true
	case o.help && o.errs == 1 && !o.env.Classic():
		o.env.Help(o.env.Command)
		return 0, true
	case o.errs > 0:
		if !o.noUsage {
			o.env.usage()
		}
		o.env.Flush()
		return 1, true
	}
	return 0, false
}

// common handles the options of this file's table. If neither common nor the tool
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
		if msg := o.LoadDerived(arg); msg != "" {
			o.Usagef("pmLoadDerivedConfig failed: %s", msg)
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
	case "json":
		o.JSON = true
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
		o.env.Printf("%s version %s\n", o.env.ProgName(), o.env.Version)
	default:
		panic(fmt.Sprintf("tool %s: option -%c --%s is in its table and nobody handles it", o.env.Name, opt.Short, opt.Long))
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
		if o.env.IsSet(v.name) {
			value := o.env.Getenv(v.name)
			v.set(value)
			if o.Debugging("config") { // by PCP_DEBUG, which comes first
				fmt.Fprintf(o.env.Stderr, "pmGetOptions: %s=%s set from the environment\n", v.name, value)
			}
		}
	}
}

// End makes the checks that need all options (__pmEndOptions). ParseOptions
// calls it unless ParseConfig.Later says that the tool does.
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
// a tool that does not read any they never do, whatever the environment says.
func (o *Options) FromArchive() bool { return o.cfg.Archives && o.namesArchive() }

func (o *Options) namesArchive() bool {
	return !o.Local && len(o.Archives) > 0 && len(o.Hosts) == 0
}

func (o *Options) addHost(spec string) {
	switch {
	case len(o.Hosts) > 0 && !o.cfg.Multi:
		o.Usagef("too many hosts requested: %s", spec)
	case len(o.Archives) > 0 && !o.cfg.Mixed:
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

// HasWindow reports whether the options say anything about a time window.
func (o *Options) HasWindow() bool {
	return o.Start != nil || o.Finish != nil || o.Align != nil || o.Origin != nil
}

// AddHost adds a host that an argument names, as -h does.
func (o *Options) AddHost(spec string) { o.addHost(spec) }

func (o *Options) addHostList(list string) {
	if len(o.Archives) > 0 && !o.cfg.Mixed {
		o.Usagef("only one of hosts or archives allowed")
		return
	}
	for _, h := range strings.Split(list, ",") {
		if h != "" {
			o.Hosts = append(o.Hosts, h)
		}
	}
	if len(o.Hosts) > 1 && !o.cfg.Multi {
		o.Usagef("too many hosts requested: %s", list)
	}
}

func (o *Options) addHostsFile(path string) {
	if len(o.Archives) > 0 && !o.cfg.Mixed {
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
		if len(o.Hosts) > 0 && !o.cfg.Multi {
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
		o.env.Printf("Error Parsing ASCII PMNS: Cannot open \"\"\n")
		o.runtimef("Cannot load namespace from \"\": %s", ErrText(fs.ErrNotExist))
		return
	}
	tree, err := (&pmns.Loader{DupOK: dupOK, Config: o.env.Config()}).Load(path)
	if err != nil {
		if pe, ok := errors.AsType[*pmns.ParseError](err); ok {
			o.env.Printf("%s", pe.Diagnostic)
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
		if o.cfg.HighRes {
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
	and := "and"
	if o.cfg.AndOr {
		and = "and/or"
	}
	o.Usagef("at most one of -Z %s -z allowed", and)
}

// LoadDerived loads the definitions of derived metrics from a list of files and
// directories. It returns why it cannot, or "". What is wrong with definitions is printed.
func (o *Options) LoadDerived(path string) string {
	if o.cfg.Derived == nil {
		return "" // a tool without metrics
	}
	return o.cfg.Derived(path)
}

// specLocal handles -K. Tools without local contexts do not look at PCP_SPECLOCAL.
func (o *Options) specLocal(spec string) {
	if o.cfg.SpecLocal == nil {
		return
	}
	if msg := o.cfg.SpecLocal(spec); msg != "" {
		o.Usagef("pmSpecLocalPMDA failed: %s", msg)
	}
}

// GuiMode reports whether -g asks for time control.
func (o *Options) GuiMode() bool { return o.gui }

// GuiPort returns the port that -p names. As in the C library it is 0, as if the option had
// not been there, if the argument is not a positive number.
func (o *Options) GuiPort() int { return o.guiPort }

// Errors reports whether Done will say that something was wrong.
func (o *Options) Errors() bool { return o.errs > 0 }

// WantsVersion reports whether Done will print the version.
func (o *Options) WantsVersion() bool { return o.version }
