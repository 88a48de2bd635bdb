package export

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
	"github.com/go-pcp/pcp/pcptime"
)

// Commands returns the programs.
func Commands() []*cli.Command {
	var list []*cli.Command
	all := formats()
	for i := range all {
		list = append(list, all[i].command())
	}
	return append(list, Arrow(nil))
}

// commonKeys are the settings that all of these programs have.
var commonKeys = []string{
	"source", "output", "derived", "header", "globals", "samples", "interval", "type", "precision", "daemonize",
	"count_scale", "space_scale", "time_scale", "version", "count_scale_force", "space_scale_force", "time_scale_force",
	"type_prefer", "precision_force", "limit_filter", "limit_filter_force", "live_filter", "rank", "invert_filter", "predicate",
	"names_change", "speclocal", "instances", "ignore_incompat", "ignore_unknown", "omit_flat",
}

// ignoredKeys returns the settings of pmrep that these programs ignore in its
// files.
func ignoredKeys(own []string) []string {
	return slices.DeleteFunc(append(conf.PmrepKeys(), conf.NewerKeys()...), func(key string) bool { return slices.Contains(own, key) })
}

const timeFormat = "%Y-%m-%d %H:%M:%S"

// commonDefaults are the settings before files and options.
func commonDefaults() conf.Settings {
	return conf.Settings{"source": "local:", "header": "1", "globals": "1", "interval": "60", "precision": "3", "version": "1", "timefmt": timeFormat}
}

// optOutputFile is -F, for programs that write files.
var optOutputFile = cli.Option{Short: 'F', Long: "output-file", Arg: "OUTFILE", Help: "output file"}

// commonOptions are the options, as the programs list them.
func commonOptions() []cli.Option {
	return []cli.Option{
		cli.Heading("General options"),
		cli.OptArchive, cli.OptArchiveFolio, cli.OptContainer, cli.OptHost, cli.OptLocalPMDA, cli.OptSpecLocal,
		metricset.OptConfig, metricset.OptCheck, optOutputFile, metricset.OptDerived, metricset.OptDaemonize,
		cli.OptDebug, cli.OptVersion, cli.OptHelp,

		cli.Heading("Reporting options"),
		metricset.OptNoHeader, metricset.OptNoGlobals,
		cli.OptAlign, cli.OptStart, cli.OptFinish, cli.OptOrigin, cli.OptSamples, cli.OptInterval, cli.OptTimeZone, cli.OptHostZone,
		metricset.OptRaw, metricset.OptRawPrefer, metricset.OptIgnoreIncompat, metricset.OptIgnoreUnknown, metricset.OptNamesChange,
		metricset.OptInstances, metricset.OptLiveFilter, metricset.OptRank, metricset.OptLimit, metricset.OptLimitForce,
		metricset.OptInvertFilter, metricset.OptPredicate, metricset.OptOmitFlat, metricset.OptLabels, metricset.OptTimeFormat,
		metricset.OptPrecision, metricset.OptPrecisionForce, metricset.OptCountScale, metricset.OptCountForce,
		metricset.OptSpaceScale, metricset.OptSpaceForce, metricset.OptTimeScale, metricset.OptTimeForce,
	}
}

func (f *format) command() *cli.Command {
	return &cli.Command{
		Name: "export-" + f.name, Link: "pcp2" + f.name, Group: cli.Export,
		Summary:  f.summary,
		Synopsis: "[option...] metricspec [...]",
		Doc:      f.doc,
		Examples: f.examples,
		SeeAlso:  []string{"pmrep(1)", "pmrep.conf(5)"},
		Options: func() []cli.Option {
			common := slices.DeleteFunc(commonOptions(), func(o cli.Option) bool { return slices.Contains(f.without, o.Long) })
			return append(common, f.options...)
		},
		Debug: []string{"appl0"},
		Run:   f.run,
	}
}

// program returns the program of a format for package metricset.
func (f *format) program(x *run) *metricset.Program {
	name := "pcp2" + f.name
	keys := slices.Concat(commonKeys, f.keys)
	defaults := commonDefaults()
	maps.Copy(defaults, f.defaults)
	if f.raw {
		defaults["type"] = "1"
	}
	return &metricset.Program{
		Paths: []string{"./" + name + ".conf", "$HOME/." + name + ".conf", "$HOME/.pcp/" + name + ".conf", "$PCP_SYSCONF_DIR/" + name + ".conf"},
		Keys:  keys, Ignored: ignoredKeys(keys), Defaults: defaults,
		Own: func(r *metricset.Report, opt *cli.Option, arg string) bool {
			if opt.Long == optOutputFile.Long || opt.Long == optOutput.Long {
				if _, err := os.Lstat(arg); err == nil {
					r.Stop("File %s already exists.", arg)
				}
				x.outfile = arg
				return true
			}
			if key, ok := f.flags[opt.Long]; ok {
				r.Settings[key] = "1"
				return true
			}
			if key, ok := f.settings[opt.Long]; ok {
				r.Settings[key] = arg
				return true
			}
			return false
		},
	}
}

// port reads a setting that is a port.
func (x *run) port(key string) (int, error) {
	n, ok := pytext.Int(x.r.Settings[key])
	if !ok || n < 0 || n > 65535 {
		return 0, &conf.Error{Text: fmt.Sprintf("Error while reading option %s: a port is a number from 0 to 65535, not %q.", key, x.r.Settings[key])}
	}
	return int(n), nil
}

func (x *run) adapt(s sender) exporter { return &adapter{sender: s, x: x} }

// every returns the header of most programs that send.
func every(to string) func(x *run) string {
	return func(x *run) string {
		n, where := len(x.set.Metrics), x.receiver(to)
		if x.fromArchive {
			return fmt.Sprintf("Sending %d archived metrics to %s...\n(Ctrl-C to stop)\n", n, where)
		}
		return fmt.Sprintf("Sending %d metrics to %s every %.1f sec", n, where, x.r.Interval.Seconds()) +
			x.runtime(":\n%d samples(s) with %.1f sec interval ~ %d sec runtime.\n", "...\n(Ctrl-C to stop)\n")
	}
}

// receiver fills in settings: "Graphite host $graphite_host".
func (x *run) receiver(text string) string {
	return os.Expand(text, func(key string) string { return x.r.Settings[key] })
}

// withoutTimes are common options that those without times as text lack.
var withoutTimes = []string{"output-file", "timezone", "hostzone", "timestamp-format"}

func extended() []cli.Option {
	return []cli.Option{
		{Short: 'x', Long: "with-extended", Help: "write extended information about metrics"},
		{Short: 'X', Long: "with-everything", Help: "write everything, incl. internal IDs"},
	}
}

var optExact = cli.Option{Short: 'E', Long: "exact-types", Help: "output numbers as number data types not strings"}

// formats are the programs, except pcp2arrow.
func formats() []format {
	return []format{
		{
			name: "json", summary: "write metrics as JSON",
			doc: `Writes samples of metrics as one JSON document, to standard output or a file. The names of metrics are paths in it, and each
value comes with its unit.`,
			examples: []cli.Example{
				{Line: "pcp2json -s 3 -t 1s kernel.all.load", Text: "write three samples"},
				{Line: "pcp2json -a ARCHIVE -E -x :sar-B", Text: "write the metrics of a view of pmrep, with types, and numbers as numbers"},
			},
			keys:    []string{"timefmt", "extended", "everything", "exact_types", "include_labels"},
			options: slices.Concat(extended(), []cli.Option{optExact}),
			flags:   map[string]string{"with-extended": "extended", "with-everything": "everything", "exact-types": "exact_types"},
			header: func(x *run) string {
				n, out := len(x.set.Metrics), x.outName()
				if x.fromArchive {
					return fmt.Sprintf("{ \"//\": \"Writing %d archived metrics to %s...\" }\n{ \"//\": \"(Ctrl-C to stop)\" }\n", n, out)
				}
				return fmt.Sprintf("{ \"//\": \"Waiting for %d metrics to be written to %s", n, out) +
					x.runtime(":\" }\n{ \"//\": \"%d samples(s) with %.1f sec interval ~ %d sec runtime.\" }\n", "...\" }\n{ \"//\": \"(Ctrl-C to stop)\" }\n")
			},
			make: func(x *run) (exporter, error) {
				return x.adapt(&stream{run: x, textWriter: &jsonWriter{what: x.what, exact: x.r.Settings.On("exact_types"), head: x.head}}), nil
			},
		},
		{
			name: "xml", summary: "write metrics as XML",
			doc:      "Writes samples of metrics as an XML document, to standard output or a file. The names of metrics are nested elements.",
			examples: []cli.Example{{Line: "pcp2xml -s 3 -t 1s kernel.all.load", Text: "write three samples"}},
			keys:     []string{"timefmt", "extended", "everything", "include_labels"},
			options:  extended(),
			flags:    map[string]string{"with-extended": "extended", "with-everything": "everything"},
			header: func(x *run) string {
				n, out, b := len(x.set.Metrics), x.outName(), ""
				if x.outfile == "" {
					b = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
				}
				if x.fromArchive {
					return b + fmt.Sprintf("<!-- Writing %d archived metrics to %s... -->\n<!-- Ctrl-C to stop -->\n", n, out)
				}
				return b + fmt.Sprintf("<!-- Writing %d metrics to %s", n, out) +
					x.runtime(": -->\n<!-- %d samples(s) with %.1f sec interval ~ %d sec runtime. -->\n", "... -->\n<!-- Ctrl-C to stop -->\n")
			},
			make: func(x *run) (exporter, error) {
				return x.adapt(&stream{run: x, textWriter: &xmlWriter{
					what: x.what, head: x.head, declare: x.outfile != "" || !x.r.Settings.Is1("header"),
				}}), nil
			},
		},
		{
			name: "xlsx", summary: "write metrics to a spreadsheet",
			doc:      `Writes samples of metrics to a file of Excel's format: a row for each sample, a column for each metric and instance that exists at the start. The file is complete when the program has ended.`,
			examples: []cli.Example{{Line: "pcp2xlsx -a ARCHIVE -t 1m -F report.xlsx disk.dev.read mem.util.free", Text: "create a sheet from an archive"}},
			keys:     []string{"timefmt", "include_labels"},
			defaults: conf.Settings{"timefmt": "yyyy-mm-dd hh:mm:ss"},
			without: []string{
				"live-filter", "rank", "limit-filter", "limit-filter-force", "invert-filter", "predicate",
			},
			header: func(x *run) string {
				n := len(x.set.Metrics)
				if x.fromArchive {
					return fmt.Sprintf("Recording %d archived metrics to %s...\n(Ctrl-C to stop)\n", n, x.outfile)
				}
				return fmt.Sprintf("Recording %d metrics to %s", n, x.outfile) +
					x.runtime(":\n%d samples(s) with %.1f sec interval ~ %d sec runtime.\n", "...\n(Ctrl-C to stop)\n")
			},
			make:        func(x *run) (exporter, error) { return &xlsx{run: x, format: x.r.Settings["timefmt"]}, nil },
			needsOutput: true,
		},
		{
			name: "graphite", summary: "send metrics to a Graphite server",
			doc:      `Sends samples of metrics to a Graphite server, in its pickle protocol or as lines of text. While the server is unavailable, the last 1000 samples are kept and delivered later.`,
			examples: []cli.Example{{Line: "pcp2graphite -g graphite.example.com -t 10s disk.dev mem.util", Text: "send all metrics of two trees"}},
			keys:     []string{"graphite_host", "graphite_port", "pickle", "pickle_protocol", "prefix"},
			defaults: conf.Settings{"graphite_host": "localhost", "graphite_port": "2004", "pickle": "1", "pickle_protocol": "0", "prefix": "pcp.", "timefmt": "%c"},
			without:  slices.Concat(withoutTimes, []string{"include-labels"}),
			options: []cli.Option{
				{Short: 'g', Long: "graphite-host", Arg: "SERVER", Help: "Graphite server (default: localhost)"},
				{Short: 'p', Long: "pickle-port", Arg: "PICKLE-PORT", Help: "Graphite pickle port (default: 2004)"},
				{Short: 'X', Long: "pickle-protocol", Arg: "PROTOCOL", Help: "pickle protocol version (default: 0)"},
				{Short: 'E', Long: "text-port", Arg: "TEXT-PORT", Help: "Graphite plaintext port (usually: 2003)"},
				{Short: 'x', Long: "prefix", Arg: "PREFIX", Help: "prefix for metric names (default: pcp.)"},
			},
			settings: map[string]string{
				"graphite-host": "graphite_host", "pickle-port": "graphite_port", "pickle-protocol": "pickle_protocol", "text-port": "text_port", "prefix": "prefix",
			},
			header: every("Graphite host $graphite_host"),
			make:   makeGraphite,
		},
		{
			name: "influxdb", summary: "send metrics to an InfluxDB server",
			doc:      `Sends samples of metrics to an InfluxDB server by its HTTP interface of version 1. While the server is unavailable, the last 1000 samples are kept and delivered later.`,
			examples: []cli.Example{{Line: "pcp2influxdb -g http://influx.example.com:8086 -x pcp -t 10s kernel.all.load", Text: "send the load"}},
			keys:     []string{"influx_server", "influx_db", "influx_user", "influx_pass", "influx_tags"},
			defaults: conf.Settings{"influx_server": "http://127.0.0.1:8086", "influx_db": "pcp", "timefmt": "%H:%M:%S"},
			without:  slices.Concat(withoutTimes, []string{"include-labels"}),
			options: []cli.Option{
				{Short: 'g', Long: "db-server", Arg: "SERVER", Help: "InfluxDB server URL (default: http://127.0.0.1:8086)"},
				{Short: 'x', Long: "db-name", Arg: "DATABASE", Help: "metrics database name (default: pcp)"},
				{Short: 'U', Long: "db-user", Arg: "USERNAME", Help: "username for database"},
				{Short: 'E', Long: "db-pass", Arg: "PASSWORD", Help: "password for database"},
				{Short: 'X', Long: "db-tags", Arg: "TAGS", Help: "string of tags to add to metrics"},
			},
			settings: map[string]string{
				"db-server": "influx_server", "db-name": "influx_db", "db-user": "influx_user", "db-pass": "influx_pass", "db-tags": "influx_tags",
			},
			header: func(x *run) string {
				return x.receiver("Using database '$influx_db' and tags '$influx_tags'.\n") + every("InfluxDB at $influx_server")(x)
			},
			make: func(x *run) (exporter, error) {
				s := x.r.Settings
				e := &influxDB{run: x, server: s["influx_server"], database: s["influx_db"], user: s["influx_user"], password: s["influx_pass"], tags: s["influx_tags"]}
				e.begin()
				return x.adapt(e), nil
			},
		},
		{
			name: "elasticsearch", summary: "send metrics to an Elasticsearch server",
			doc:      `Sends a document for each sample of metrics to an Elasticsearch server. While the server is unavailable, the last 1000 samples are kept and delivered later.`,
			examples: []cli.Example{{Line: "pcp2elasticsearch -g http://es.example.com:9200 -t 10s kernel.all.load", Text: "send the load"}},
			keys:     []string{"es_server", "es_auth", "es_password", "es_index", "es_hostid", "es_search_type", "include_labels"},
			defaults: conf.Settings{"es_server": "http://localhost:9200/", "es_index": "pcp", "es_search_type": "pcp-metric", "timefmt": "%H:%M:%S"},
			without:  withoutTimes,
			options: []cli.Option{
				{Short: 'g', Long: "es-host", Arg: "SERVER", Help: "Elasticsearch server (default: http://localhost:9200/)"},
				{Short: 'x', Long: "es-index", Arg: "INDEX", Help: "Elasticsearch index for metric names (default: pcp)"},
				{Short: 'X', Long: "es-hostid", Arg: "HOSTID", Help: "Elasticsearch host-id for measurements"},
				{Short: 'p', Long: "es-search-type", Arg: "TYPE", Help: "Elasticsearch search type for measurements"},
			},
			settings: map[string]string{"es-host": "es_server", "es-index": "es_index", "es-hostid": "es_hostid", "es-search-type": "es_search_type"},
			header:   every("Elasticsearch at $es_server"),
			make: func(x *run) (exporter, error) {
				s := x.r.Settings
				e := &elasticsearch{
					run: x, server: s["es_server"], index: s["es_index"], hostID: s["es_hostid"], kind: s["es_search_type"],
					user: s["es_auth"], password: s["es_password"],
				}
				e.begin()
				return x.adapt(e), nil
			},
		},
		{
			name: "spark", summary: "serve metrics to an Apache Spark job",
			doc:      "Waits for one client, a job of Apache Spark, and sends it a line of JSON for each sample of metrics.",
			examples: []cli.Example{{Line: "pcp2spark -t 10s disk.dev.read", Text: "serve reads of disks on port 44325"}},
			keys:     []string{"spark_server", "spark_port", "include_labels"},
			defaults: conf.Settings{"spark_server": "127.0.0.1", "spark_port": "44325", "timefmt": "%H:%M:%S"},
			without:  withoutTimes,
			options: []cli.Option{
				{Short: 'g', Long: "spark-server", Arg: "SERVER", Help: "Spark server (default: 127.0.0.1)"},
				{Short: 'p', Long: "spark-port", Arg: "PORT", Help: "Spark port (default: 44325)"},
			},
			settings: map[string]string{"spark-server": "spark_server", "spark-port": "spark_port"},
			header: func(x *run) string {
				return every("Spark $spark_server:$spark_port")(x)
			},
			make: func(x *run) (exporter, error) {
				port, err := x.port("spark_port")
				return x.adapt(&spark{run: x, server: x.r.Settings["spark_server"], port: port}), err
			},
		},
		{
			name: "zabbix", summary: "send metrics to a Zabbix server",
			doc:      `Sends values of metrics to a Zabbix server as one of its trappers, with the instances for its low level discovery if asked to. While the server is unavailable, the last 1000 messages are kept and delivered later.`,
			examples: []cli.Example{{Line: "pcp2zabbix -g zabbix.example.com -X app1 -l -t 10s disk.dev.read", Text: "send reads of disks, and discover disks"}},
			keys:     []string{"zabbix_server", "zabbix_port", "zabbix_host", "zabbix_interval", "zabbix_prefix", "zabbix_lld"},
			defaults: conf.Settings{"zabbix_server": "localhost", "zabbix_port": "10051", "zabbix_prefix": "pcp.", "timefmt": "%H:%M:%S"},
			without:  slices.Concat(withoutTimes, []string{"include-labels"}),
			options: []cli.Option{
				{Short: 'g', Long: "zabbix-server", Arg: "SERVER", Help: "Zabbix server (default: localhost)"},
				{Short: 'p', Long: "zabbix-port", Arg: "PORT", Help: "Zabbix port (default: 10051)"},
				{Short: 'X', Long: "zabbix-host", Arg: "HOSTID", Help: "Zabbix host-id for measurements"},
				{Short: 'E', Long: "zabbix-interval", Arg: "INTERVAL", Help: "interval to send collected metrics"},
				{Short: 'x', Long: "zabbix-prefix", Arg: "PREFIX", Help: "prefix for metric names (default: pcp.)"},
				{Short: 'l', Long: "zabbix-lld", Help: "emit low level discovery keys for each metric"},
			},
			flags: map[string]string{"zabbix-lld": "zabbix_lld"},
			settings: map[string]string{
				"zabbix-server": "zabbix_server", "zabbix-port": "zabbix_port", "zabbix-host": "zabbix_host", "zabbix-interval": "zabbix_interval", "zabbix-prefix": "zabbix_prefix",
			},
			header: func(x *run) string {
				n, where := len(x.set.Metrics), x.r.Settings["zabbix_server"]
				if x.fromArchive {
					return fmt.Sprintf("Sending %d archived metrics to Zabbix server %s...\n(Ctrl-C to stop)\n", n, where)
				}
				seconds, _ := x.zabbixInterval()
				return fmt.Sprintf("Sending %d metrics to Zabbix server %s every %d sec", n, where, int64(seconds)) +
					x.runtime(":\n%d samples(s) with %.1f sec interval ~ %d sec runtime.\n", "...\n(Ctrl-C to stop)\n")
			},
			make: makeZabbix,
		},
		{
			name: "template", summary: "write metrics as sentences, one for each value",
			doc: `Writes samples of metrics to standard output or a file: for each metric the numbers of its descriptor, and a sentence for each value. It is the
example for exporters of one's own.`,
			examples: []cli.Example{{Line: "pcp2template -a ARCHIVE -s 1 kernel.all.load", Text: "write one sample"}},
			keys:     []string{"timefmt"},
			defaults: conf.Settings{"interval": "10"},
			without:  []string{"include-labels"},
			make:     func(x *run) (exporter, error) { return x.adapt(&stream{run: x, textWriter: templateWriter{}}), nil },
		},
		{
			name: "openmetrics", summary: "write metrics in the OpenMetrics text format",
			doc: `Writes samples of metrics in the OpenMetrics text format, to standard output or a file, or posts each to a server. Counters are not converted. All labels are always written: -m and -X, which version 7 needs for this, have no effect.`,
			examples: []cli.Example{
				{Line: "pcp2openmetrics -s 1 kernel.all.load", Text: "write one sample"},
				{Line: "pcp2openmetrics -u http://push.example.com/metrics -t 10s disk.dev", Text: "post samples to a server"},
			},
			keys:     slices.Concat(httpKeys, []string{"timefmt", "everything", "times", "include_labels", "no_comment"}),
			defaults: httpDefaults, raw: true,
			without: []string{"no-header", "raw", "raw-prefer"},
			options: slices.Concat([]cli.Option{
				{Short: 'l', Long: "times", Help: "live timestamp mode"},
				{Short: 'X', Long: "with-everything", Help: "write everything, incl. internal IDs"},
				{Short: 'x', Long: "no-comment", Help: "omit comment lines"},
			}, httpOptions),
			flags:    map[string]string{"times": "times", "with-everything": "everything", "no-comment": "no_comment"},
			settings: httpSettings,
			make: func(x *run) (exporter, error) {
				d, err := x.document("application/openmetrics-text; version=1.0.0; charset=utf-8")
				s := x.r.Settings
				return x.adapt(&openMetrics{document: d, times: s.On("times") || x.fromArchive, noComment: s.On("no_comment")}), err
			},
		},
		{
			name: "opentelemetry", summary: "write metrics as OTLP, the protocol of OpenTelemetry",
			doc: `Writes samples of metrics as requests of OTLP in JSON, one for each, to standard output or a file, or posts them to a collector of
OpenTelemetry. Counters become rates, which are gauges; with -r they stay counters. All labels are always written: -m has no effect.`,
			examples: []cli.Example{
				{Line: "pcp2opentelemetry -r -u http://otel.example.com:4318/v1/metrics -t 10s disk.dev", Text: "post samples to a collector"},
			},
			keys:     slices.Concat(httpKeys, []string{"timefmt", "everything", "include_labels"}),
			defaults: httpDefaults,
			without:  []string{"no-header"},
			options:  httpOptions,
			settings: httpSettings,
			make: func(x *run) (exporter, error) {
				d, err := x.document("application/json")
				return x.adapt(&openTelemetry{document: d}), err
			},
		},
	}
}

// Additional settings of programs that post documents.
var (
	httpKeys     = []string{"url", "http_user", "http_pass", "http_timeout"}
	httpDefaults = conf.Settings{"header": "0", "interval": "10", "http_timeout": "2.5"}
	httpSettings = map[string]string{"url": "url", "http-timeout": "http_timeout", "http-pass": "http_pass", "http-user": "http_user"}
	httpOptions  = []cli.Option{
		{Short: 'u', Long: "url", Arg: "URL", Help: "URL of endpoint to receive HTTP POST"},
		{Short: 'o', Long: "http-timeout", Arg: "SECONDS", Help: "timeout when sending HTTP POST"},
		{Short: 'p', Long: "http-pass", Arg: "PASSWORD", Help: "password for endpoint"},
		{Short: 'U', Long: "http-user", Arg: "USERNAME", Help: "username for endpoint"},
	}
)

func (x *run) outName() string {
	if x.outfile == "" {
		return "stdout"
	}
	return x.outfile
}

// document makes the end of an exporter that posts or writes documents.
func (x *run) document(kind string) (document, error) {
	s := x.r.Settings
	seconds, err := strconv.ParseFloat(s["http_timeout"], 64)
	if err != nil || !(seconds > 0) || seconds > 3600 {
		return document{}, &conf.Error{Text: fmt.Sprintf("Error while reading option http_timeout: a number of seconds expected, not %q.", s["http_timeout"])}
	}
	d := document{run: x, url: s["url"], timeout: time.Duration(seconds * float64(time.Second)), user: s["http_user"], pass: s["http_pass"], kind: kind}
	d.begin()
	return d, nil
}

func makeGraphite(x *run) (exporter, error) {
	s := x.r.Settings
	key, pickle := "graphite_port", s.On("pickle")
	if s["text_port"] != "" {
		key, pickle = "text_port", false
	}
	port, err := x.port(key)
	if err != nil {
		return nil, err
	}
	proto, ok := pytext.Int(s["pickle_protocol"])
	if ok && proto < 0 {
		proto = highestPickle
	}
	if !ok || proto > highestPickle {
		return nil, &conf.Error{Text: fmt.Sprintf("pickle protocol must be <= %d", highestPickle)}
	}
	g := &graphite{run: x, host: s["graphite_host"], port: port, pickle: pickle, protocol: int(proto), prefix: s["prefix"]}
	g.begin()
	return x.adapt(g), nil
}

// zabbixInterval is how many seconds are between two messages.
func (x *run) zabbixInterval() (float64, error) {
	text, own := x.r.Settings["zabbix_interval"], x.r.Interval.Seconds()
	if text == "" {
		return own, nil
	}
	d, err := pcptime.ParseInterval(text)
	if err != nil {
		return 0, &conf.Error{Text: fmt.Sprintf("Error while reading option zabbix_interval: %v", err)}
	}
	return max(d.Seconds(), own), nil
}

func makeZabbix(x *run) (exporter, error) {
	s := x.r.Settings
	port, err := x.port("zabbix_port")
	if err != nil {
		return nil, err
	}
	z := &zabbix{run: x, server: s["zabbix_server"], port: port, hostID: s["zabbix_host"], prefix: s["zabbix_prefix"], discover: s.On("zabbix_lld")}
	if z.hostID == "" {
		z.hostID = x.head.host
	}
	if z.interval, err = x.zabbixInterval(); err != nil {
		return nil, err
	}
	if x.fromArchive {
		z.interval = archiveBatch
	}
	z.begin()
	return x.adapt(z), nil
}

// optOutput is -o of pcp2arrow.
var optOutput = cli.Option{Short: 'o', Long: "output", Arg: "OUTFILE", Help: "output file"}

// Arrow returns pcp2arrow, which stores samples in tables that open makes. Without open the program
// fails with a message.
func Arrow(open func(path string, columns []Column) (Table, error)) *cli.Command {
	f := &format{
		name: "arrow", summary: "write metrics to Parquet files",
		doc: `Writes samples of metrics to a directory with a file of Apache Parquet: a row for each sample, a column for each metric and
instance that exists at the start. It is a separate program because of its size: "go -C cmd/pcp2arrow build".`,
		examples: []cli.Example{{Line: "pcp2arrow -a ARCHIVE -t 10s -o DIRECTORY disk.dev", Text: "create a table from an archive"}},
		defaults: conf.Settings{"header": "0", "ignore_incompat": "1", "ignore_unknown": "1"},
		without: []string{
			"output-file", "derived", "daemonize", "no-header", "no-globals", "ignore-incompat", "ignore-unknown", "names-change",
			"predicate", "omit-flat", "include-labels", "timestamp-format", "precision", "precision-force", "count-scale",
			"count-scale-force", "space-scale", "space-scale-force", "time-scale", "time-scale-force",
		},
		options: []cli.Option{optOutput},
		make: func(x *run) (exporter, error) {
			switch {
			case open == nil:
				return nil, &conf.Error{Text: "pcp2arrow is not in this program: build it with \"go -C cmd/pcp2arrow build\""}
			case x.outfile == "":
				return nil, &conf.Error{Text: "No output file name given, cannot proceed."}
			}
			return &arrow{run: x, open: open}, nil
		},
	}
	return f.command()
}
