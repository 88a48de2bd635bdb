package cli

import (
	"fmt"
	"slices"

	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pcptime"
)

// The options that tools share. [ParseOptions] handles them.
var (
	OptAlign        = getopt.OptAlign
	OptArchive      = getopt.OptArchive
	OptContainer    = getopt.OptContainer
	OptDebug        = getopt.OptDebug
	OptDerived      = getopt.OptDerived
	OptFinish       = getopt.OptFinish
	OptGuiMode      = getopt.OptGuiMode
	OptGuiPort      = getopt.OptGuiPort
	OptHelp         = getopt.OptHelp
	OptHost         = getopt.OptHost
	OptHostsFile    = getopt.OptHostsFile
	OptHostZone     = getopt.OptHostZone
	OptInterval     = getopt.OptInterval
	OptLocalPMDA    = getopt.OptLocalPMDA
	OptNameSpace    = getopt.OptNameSpace
	OptOrigin       = getopt.OptOrigin
	OptSamples      = getopt.OptSamples
	OptSpecLocal    = getopt.OptSpecLocal
	OptStart        = getopt.OptStart
	OptTimeZone     = getopt.OptTimeZone
	OptUniqNames    = getopt.OptUniqNames
	OptVersion      = getopt.OptVersion
	OptArchiveList  = getopt.OptArchiveList
	OptArchiveFolio = getopt.OptArchiveFolio
	OptHostList     = getopt.OptHostList
	General         = getopt.General

	// OptJSON is not an option of the C tools.
	OptJSON = Option{Long: "json", Help: "write one JSON object a line (docs/json.md)", Extra: true}
)

// Options holds the values of the options that tools share.
type Options struct {
	*getopt.Options
	JSON bool // --json

	env *Env
}

// A ParseConfig sets how a tool departs from the common rules.
type ParseConfig struct {
	Multi bool // any number of hosts or archives (PM_OPTFLAG_MULTI)
	Mixed bool // hosts and archives together (PM_OPTFLAG_MIXED)
	Later bool // the tool calls End, as its arguments too may name a source (PM_OPTFLAG_DONE)
	POSIX bool // options end at the first other argument (PM_OPTFLAG_POSIX)

	AndOr bool // the C tool prints "at most one of -Z and/or -z allowed"

	Archives bool // the tool reads archives
	HighRes  bool // the C tool takes intervals of nanoseconds, and prints that

	// NonEmpty reports an empty argument of an option as a mistake; under the name of the C tool, only if that lacks the option.
	NonEmpty bool
	// Once lists options that are a mistake if they are given twice with different arguments; the last one of others counts,
	// or they add up.
	Once []string

	// SpecLocal handles the arguments of -K, and Derived those of --derived. Their errors
	// are printed as they are. Package source has such functions.
	SpecLocal, Derived func(o *getopt.Options, arg string) error

	// Own is called first for each option, and reports whether it has handled
	// it. It reports a mistake in the argument by Options.Usagef.
	Own func(o *Options, opt *Option, arg string) bool
}

// ParseOptions reads the environment and the arguments of a command as
// pmGetOptions(3) does. The tool then makes its own checks and calls
// [Options.Done].
func ParseOptions(env *Env, cfg ParseConfig) *Options {
	o := newOptions(env, cfg)
	o.Parse()
	return o
}

// ParseArgs reads the arguments of a command as pmgetopt_r(3) does, for tools
// whose C counterparts use only that function. PCP_DEBUG is the only environment
// variable that it takes for an option, and it checks options one by one. It uses
// only the fields POSIX, AndOr and Own of cfg. As with [ParseOptions], the tool
// then calls [Options.Done].
func ParseArgs(env *Env, cfg ParseConfig) *Options {
	o := newOptions(env, cfg)
	o.ParseArgs()
	return o
}

func newOptions(env *Env, cfg ParseConfig) *Options {
	o := &Options{env: env}
	p := env.program()
	p.Multi, p.Mixed, p.Later, p.POSIX, p.HighRes = cfg.Multi, cfg.Mixed, cfg.Later, cfg.POSIX, cfg.HighRes
	p.NoArchives = !cfg.Archives
	p.SpecLocal, p.Derived = cfg.SpecLocal, cfg.Derived
	once := make(map[string]string)
	p.Own = func(_ *getopt.Options, opt *Option, arg string) bool {
		if slices.Contains(cfg.Once, opt.Long) {
			if was, ok := once[opt.Long]; ok && was != arg {
				o.Usagef("--%s is given twice, as %q and %q", opt.Long, was, arg)
				return true
			}
			once[opt.Long] = arg
		}
		switch {
		case cfg.NonEmpty && arg == "" && opt.Arg != "" && !opt.Maybe && (opt.Extra || !env.Classic()):
			o.Usagef("%s needs a value, not an empty one", optionName(opt))
		case cfg.Own != nil && cfg.Own(o, opt, arg):
		case opt.Long == OptJSON.Long:
			o.JSON = true
		case cfg.AndOr && (opt.Long == OptTimeZone.Long && o.HostZone || opt.Long == OptHostZone.Long && o.TimeZoneSet):
			o.Usagef("at most one of -Z and/or -z allowed")
		default:
			return false
		}
		return true
	}
	o.Options = getopt.NewOptions(p, append([]string{env.Name}, env.Args...))
	return o
}

// optionName returns the name of an option, for messages.
func optionName(opt *Option) string {
	if opt.Long != "" {
		return "--" + opt.Long
	}
	return "-" + string(opt.Short)
}

// program returns the properties of a command that package getopt needs.
func (e *Env) program() *getopt.Program {
	p := &getopt.Program{
		Name: e.ProgName(), Version: e.Version, Config: e.Config(),
		Stdout: e.Stdout, Stderr: e.Stderr, Messages: e.messages(),
	}
	if e.Command != nil {
		p.Synopsis, p.Options = e.Command.Synopsis, e.Command.OptionList()
	}
	if !e.Classic() {
		p.Usage = e.usage
	}
	return p
}

// Done prints the mistakes, or the help or version that the options ask for. It
// reports whether the tool must exit, and with which status.
func (o *Options) Done() (status int, exit bool) {
	if o.TimeZoneSet && !o.Errors() && o.env.Explains() && !pcptime.KnownZone(o.TimeZone) {
		const unknown = "this machine knows no time zone %q: names are such as Europe/Oslo, rules such as CET-1CEST"
		if o.env.Classic() { // which continues as the C tool does
			fmt.Fprintf(o.env.Stderr, "%s: note: "+unknown+"; times are in UTC\n", o.env.CalledAs(), o.TimeZone)
		} else {
			o.Usagef(unknown, o.TimeZone)
		}
	}
	switch {
	case o.env.Classic():
	case o.WantsVersion():
		o.env.toStdout()
		return 0, true
	case o.WantsHelp():
		o.env.Help(o.env.Command)
		return 0, true
	}
	return o.Options.Done()
}
