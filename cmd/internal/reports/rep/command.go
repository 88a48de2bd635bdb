package rep

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
)

// Command is pmrep, and CSVCommand is the same with CSV output.
var (
	Command = &cli.Command{
		Name:     "rep",
		Link:     "pmrep",
		Group:    cli.SeeNow,
		Summary:  "print metrics in columns or as CSV, or write them to an archive",
		Synopsis: "[option...] metricspec [...]",
		Doc: `Prints the values of metrics at each interval, a column for each instance. Arguments are names of
metrics or subtrees, optionally with attributes
(NAME,LABEL,INSTANCES,UNIT,TYPE,WIDTH,PRECISION,LIMIT), or names of metricsets from the
configuration after a colon. Counters are shown as rates. The configuration is the first of
./pmrep.conf, ~/.pmrep.conf, ~/.pcp/pmrep.conf, and pmrep/pmrep.conf or the files in pmrep in the
directory of PCP's configuration. Without -c, built-in metricsets such as :bpf-runq and :redis
have the names that it lacks.`,
		Examples: []cli.Example{
			{Line: "pcp rep :vmstat", Text: "print a report like vmstat(8) each second"},
			{Line: "pcp rep -a ARCHIVE -t 10min -p -b MB disk.dev.total_bytes", Text: "report traffic of disks from an archive"},
			{Line: "pcp rep -o csv -F out.csv -s 60 kernel.all.load", Text: "write a minute of load averages as CSV"},
			{Line: "pcp rep -J 3 -1 proc.psinfo.utime", Text: "report the three busiest processes"},
		},
		SeeAlso: []string{"pmrep.conf(5)", "pcp2json(1)", "pmval(1)"},
		Options: func() []cli.Option { return slices.Concat(options(), []cli.Option{cli.OptJSON}) },
		Run:     func(ctx context.Context, env *cli.Env) int { return run(ctx, env, outStdout) },
	}
	CSVCommand = &cli.Command{
		Name:     "2csv",
		Link:     "pcp2csv",
		Group:    cli.Export,
		Summary:  "export metrics as CSV",
		Synopsis: "[option...] metricspec [...]",
		Doc:      `The same as "pcp rep -o csv"; see there.`,
		Examples: []cli.Example{{Line: "pcp 2csv -a ARCHIVE kernel.all.load", Text: "write the load averages in an archive as CSV"}},
		SeeAlso:  []string{"pmrep(1)"},
		Options:  options,
		Run:      func(ctx context.Context, env *cli.Env) int { return run(ctx, env, outCSV) },
	}
)

// outputs
const (
	outArchive = "archive"
	outCSV     = "csv"
	outStdout  = "stdout"
)

func options() []cli.Option {
	return []cli.Option{
		cli.Heading("General options"),
		cli.OptArchive, cli.OptArchiveFolio, cli.OptContainer, cli.OptHost, cli.OptLocalPMDA, cli.OptSpecLocal,
		metricset.OptConfig, metricset.OptCheck,
		{Short: 'o', Long: "output", Arg: "OUTPUT", Help: "output target: archive, csv, stdout (default)"},
		{Short: 'F', Long: "output-file", Arg: "OUTFILE", Help: "output file"},
		metricset.OptDerived, metricset.OptDaemonize,
		cli.OptDebug, cli.OptVersion, cli.OptHelp,
		cli.Heading("Reporting options"),
		metricset.OptNoHeader,
		{Short: 'U', Long: "no-unit-info", Help: "omit unit info from headers"},
		{Long: "no-inst-info", Help: "omit instance info from headers"},
		metricset.OptNoGlobals,
		{Short: 'p', Long: "timestamps", Help: "print timestamps"},
		cli.OptAlign, cli.OptStart, cli.OptFinish, cli.OptOrigin, cli.OptSamples, cli.OptInterval, cli.OptTimeZone, cli.OptHostZone,
		{Short: 'd', Long: "delay", Help: "delay, pause between updates for archive replay"},
		metricset.OptRaw, metricset.OptRawPrefer, metricset.OptIgnoreIncompat, metricset.OptIgnoreUnknown,
		metricset.OptInstances, metricset.OptLiveFilter, metricset.OptRank,
		{Short: '2', Long: "overall-rank", Help: "report overall ranking from archive"},
		{Short: '3', Long: "overall-rank-alt", Help: "report overall ranking from archive in pmrep format"},
		{Short: '4', Long: "names-change", Arg: "ACTION", Help: "update/ignore/abort on PMNS changes (default: ignore)"},
		metricset.OptLimit, metricset.OptLimitForce, metricset.OptInvertFilter, metricset.OptPredicate,
		{Short: '6', Long: "sort-metric", Arg: "METRIC", Help: "set sort reference metric for colxrow output"},
		metricset.OptOmitFlat, metricset.OptLabels,
		{Long: "include-texts", Help: "include metric help texts in archive output"},
		{Short: 'X', Long: "colxrow", Arg: "STR", Help: "swap stdout columns and rows using STR as header label"},
		{Short: 'w', Long: "width", Arg: "N", Help: "default column width"},
		{Short: 'W', Long: "width-force", Arg: "N", Help: "forced column width"},
		metricset.OptPrecision, metricset.OptPrecisionForce,
		{Short: 'l', Long: "delimiter", Arg: "STR", Help: "delimiter to separate csv/stdout columns"},
		{Short: 'k', Long: "extended-csv", Help: "write extended CSV"},
		{Long: "csv-unit-info", Help: "append units to the names in the CSV header", Extra: true},
		{Short: 'x', Long: "extended-header", Help: "display extended header"},
		{Short: '7', Long: "fixed-header", Help: "fixed header and dynamic instances with colxrow output"},
		{Short: 'E', Long: "repeat-header", Arg: "N", Help: "repeat stdout headers every N lines"},
		{Short: '1', Long: "dynamic-header", Help: "update header dynamically on metric/instance changes"},
		{Short: 'g', Long: "separate-header", Help: "write separated header before metrics"},
		metricset.OptTimeFormat,
		{Short: 'u', Long: "no-interpol", Help: "disable interpolation mode with archives"},
		metricset.OptCountScale, metricset.OptCountForce, metricset.OptSpaceScale, metricset.OptSpaceForce,
		metricset.OptTimeScale, metricset.OptTimeForce,
	}
}

// flags and arguments are the options that directly correspond to settings.
func flags() map[string][2]string {
	return map[string][2]string{
		"no-unit-info":     {"unitinfo", "0"},
		"no-inst-info":     {"instinfo", "0"},
		"timestamps":       {"timestamp", "1"},
		"delay":            {"delay", "1"},
		"overall-rank":     {"overall_rank", "1"},
		"overall-rank-alt": {"overall_rank_alt", "1"},
		"include-texts":    {"include_texts", "1"},
		"extended-csv":     {"extcsv", "1"},
		"csv-unit-info":    {"csv_unitinfo", "1"},
		"extended-header":  {"extheader", "1"},
		"fixed-header":     {"fixed_header", "1"},
		"dynamic-header":   {"dynamic_header", "1"},
		"separate-header":  {"separate_header", "1"},
		"no-interpol":      {"interpol", "0"},
	}
}

func arguments() map[string]string {
	return map[string]string{
		"output":        "output",
		"sort-metric":   "sort_metric",
		"colxrow":       "colxrow",
		"width":         "width",
		"width-force":   "width_force",
		"delimiter":     "delimiter",
		"repeat-header": "repeat_header",
	}
}

// own handles the options that pmrep alone has.
func (p *reporter) own(r *metricset.Report, opt *cli.Option, arg string) bool {
	if f, ok := flags()[opt.Long]; ok {
		r.Settings[f[0]] = f[1]
		return true
	}
	if name, ok := arguments()[opt.Long]; ok {
		r.Settings[name] = arg
		return true
	}
	if opt.Long != "output-file" {
		return false
	}
	if _, err := os.Stat(arg + ".index"); err == nil {
		r.Stop("Archive %s already exists.", arg)
	} else if kind := metricset.Exists(arg); kind != "" {
		r.Stop("%s %s already exists.", kind, arg)
	}
	p.outFile = arg
	return true
}

// builtin are the metricsets that the configuration of an installation need not have.
//
//go:embed views/*.conf
var builtin embed.FS

// views returns the files of builtin.
func views() fs.FS {
	sub, err := fs.Sub(builtin, "views")
	if err != nil {
		panic(err)
	}
	return sub
}

// program returns the description of pmrep for package metricset.
func (p *reporter) program() *metricset.Program {
	return &metricset.Program{
		Paths:    metricset.PmrepPaths("pmrep"),
		Embedded: views(),
		Keys:     append(conf.PmrepKeys(), conf.NewerKeys()...),
		Defaults: conf.Settings{
			"version": "1", "source": "local:", "output": outStdout, "header": "1", "instinfo": "1", "unitinfo": "1", "globals": "1",
			"timestamp": "0", "interval": "1", "precision": "3", "interpol": "1",
		},
		Own:         p.own,
		FirstLabels: true,
	}
}

func run(ctx context.Context, env *cli.Env, output string) int {
	p := &reporter{ctx: ctx, env: env}
	r, err := metricset.Start(env, p.program())
	if err == nil {
		defer r.Close()
		p.r = r
		err = p.report(output)
		if e := p.close(); err == nil {
			err = e
		}
	}
	return metricset.Exit(ctx, env, err)
}

// debug prints the output of -D appl1.
func (p *reporter) debug() {
	if !p.r.Options.Debugging("appl1") {
		return
	}
	quote := func(list []string) string {
		var b strings.Builder
		for i, s := range list {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("'" + s + "'")
		}
		return "(" + b.String() + ")"
	}
	p.env.Stdout.Write([]byte("Known config file keywords: " + quote(conf.PmrepKeys()) + "\n" +
		"Known metric spec keywords: " + quote(slices.Clone(conf.Properties())) + "\n"))
}
