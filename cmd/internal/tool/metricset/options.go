package metricset

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// The options of these programs that are not those of all tools. [Start] handles them.
var (
	OptConfig    = cli.Option{Short: 'c', Long: "config", Arg: "FILE", Help: "config file path"}
	OptCheck     = cli.Option{Short: 'C', Long: "check", Help: "check config and metrics and exit"}
	OptDerived   = cli.Option{Short: 'e', Long: "derived", Arg: "FILE|DFNT", Help: "derived metrics definitions"}
	OptDaemonize = cli.Option{Long: "daemonize", Help: "daemonize on startup"}

	OptNoHeader       = cli.Option{Short: 'H', Long: "no-header", Help: "omit headers"}
	OptNoGlobals      = cli.Option{Short: 'G', Long: "no-globals", Help: "omit global metrics"}
	OptRaw            = cli.Option{Short: 'r', Long: "raw", Help: "output raw counter values (no rate conversion)"}
	OptRawPrefer      = cli.Option{Short: 'R', Long: "raw-prefer", Help: "prefer output raw counter values (no rate conversion)"}
	OptIgnoreIncompat = cli.Option{Short: 'I', Long: "ignore-incompat", Help: "ignore incompatible instances (default: abort)"}
	OptIgnoreUnknown  = cli.Option{Short: '5', Long: "ignore-unknown", Help: "ignore unknown metrics (default: abort)"}
	OptNamesChange    = cli.Option{Short: '4', Long: "names-change", Arg: "ACTION", Help: "update/ignore/abort on PMNS change (default: ignore)"}
	OptInstances      = cli.Option{Short: 'i', Long: "instances", Arg: "STR", Help: "instances to report (default: all current)"}
	OptLiveFilter     = cli.Option{Short: 'j', Long: "live-filter", Help: "perform instance live filtering"}
	OptRank           = cli.Option{Short: 'J', Long: "rank", Arg: "COUNT", Help: "limit results to COUNT highest/lowest valued instances"}
	OptLimit          = cli.Option{Short: '8', Long: "limit-filter", Arg: "LIMIT", Help: "default limit for value filtering"}
	OptLimitForce     = cli.Option{Short: '9', Long: "limit-filter-force", Arg: "LIMIT", Help: "forced limit for value filtering"}
	OptInvertFilter   = cli.Option{Short: 'n', Long: "invert-filter", Help: "perform ranking before live filtering"}
	OptPredicate      = cli.Option{Short: 'N', Long: "predicate", Arg: "METRIC", Help: "set predicate filter reference metric"}
	OptOmitFlat       = cli.Option{Short: 'v', Long: "omit-flat", Help: "omit single-valued metrics"}
	OptLabels         = cli.Option{Short: 'm', Long: "include-labels", Help: "include metric label info"}
	OptTimeFormat     = cli.Option{Short: 'f', Long: "timestamp-format", Arg: "STR", Help: "strftime string for timestamp format"}
	OptPrecision      = cli.Option{Short: 'P', Long: "precision", Arg: "N", Help: "prefer N digits after decimal separator (default: 3)"}
	OptPrecisionForce = cli.Option{Short: '0', Long: "precision-force", Arg: "N", Help: "force N digits after decimal separator"}
	OptCountScale     = cli.Option{Short: 'q', Long: "count-scale", Arg: "SCALE", Help: "default count unit"}
	OptCountForce     = cli.Option{Short: 'Q', Long: "count-scale-force", Arg: "SCALE", Help: "forced count unit"}
	OptSpaceScale     = cli.Option{Short: 'b', Long: "space-scale", Arg: "SCALE", Help: "default space unit"}
	OptSpaceForce     = cli.Option{Short: 'B', Long: "space-scale-force", Arg: "SCALE", Help: "forced space unit"}
	OptTimeScale      = cli.Option{Short: 'y', Long: "time-scale", Arg: "SCALE", Help: "default time unit"}
	OptTimeForce      = cli.Option{Short: 'Y', Long: "time-scale-force", Arg: "SCALE", Help: "forced time unit"}
)

// flags are the options that set a number.
func flags() map[string][2]string {
	return map[string][2]string{
		"no-header":       {"header", "0"},
		"no-globals":      {"globals", "0"},
		"raw":             {"type", "1"},
		"raw-prefer":      {"type_prefer", "1"},
		"ignore-incompat": {"ignore_incompat", "1"},
		"ignore-unknown":  {"ignore_unknown", "1"},
		"live-filter":     {"live_filter", "1"},
		"invert-filter":   {"invert_filter", "1"},
		"omit-flat":       {"omit_flat", "1"},
		"include-labels":  {"include_labels", "1"},
	}
}

// arguments are options with a setting as argument.
func arguments() map[string]string {
	return map[string]string{
		"rank":               "rank",
		"limit-filter":       "limit_filter",
		"limit-filter-force": "limit_filter_force",
		"predicate":          "predicate",
		"timestamp-format":   "timefmt",
		"precision":          "precision",
		"precision-force":    "precision_force",
		"count-scale":        "count_scale",
		"count-scale-force":  "count_scale_force",
		"space-scale":        "space_scale",
		"space-scale-force":  "space_scale_force",
		"time-scale":         "time_scale",
		"time-scale-force":   "time_scale_force",
	}
}

// namesActions are the arguments of -4.
func namesActions() map[string]string {
	return map[string]string{"ignore": "0", "abort": "1", "update": "2"}
}

// own handles the options of these programs.
func (r *Report) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	if r.exit != nil { // an option has ended the program
		return true
	}
	if r.p.Own != nil && r.p.Own(r, opt, arg) {
		return true
	}
	if f, ok := flags()[opt.Long]; ok {
		r.Settings[f[0]] = f[1]
		return true
	}
	if name, ok := arguments()[opt.Long]; ok {
		r.Settings[name] = arg
		return true
	}
	switch opt.Long {
	case "interval":
		r.intervalSet = true
		return false
	case "config":
		r.config = arg
	case "check":
		r.Check = true
	case "daemonize":
		r.Settings["daemonize"] = "1"
	case "derived":
		r.add("derived", arg)
	case "spec-local":
		r.add("speclocal", arg)
	case "instances":
		r.Instances = append(r.Instances, conf.SplitInstances(arg)...)
	case "names-change":
		action, ok := namesActions()[arg]
		if !ok {
			r.Stop("Unknown names-change action '%s' specified.", arg)
		}
		r.Settings["names_change"] = action
	default:
		return false
	}
	return true
}

// add adds to a list of definitions. The first on the command line replaces those of files.
func (r *Report) add(name, arg string) {
	if old := r.Settings[name]; strings.HasPrefix(old, ";") {
		arg = old[1:] + ";" + arg
	}
	r.Settings[name] = ";" + arg
}

// Stop has an option end the program, with a message and status 1. The first call counts.
func (r *Report) Stop(format string, args ...any) {
	if r.exit == nil {
		r.exit = &conf.Error{Text: fmt.Sprintf(format, args...)}
	}
}
