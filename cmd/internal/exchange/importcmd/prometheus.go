package importcmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/unitname"
	"github.com/go-pcp/pcp/openmetrics"
)

// PrometheusCommand is "pcp import prometheus".
var PrometheusCommand = &cli.Command{
	Name:     "import prometheus",
	Group:    cli.Export,
	Summary:  "create an archive from metrics in the text format of Prometheus or OpenMetrics",
	Synopsis: "[options] file ... archive",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			{Short: 'h', Long: "host", Arg: "HOST", Help: "host that the data are of [this host]"},
			{Short: 'Z', Long: "timezone", Arg: "TZ", Help: "time zone of the host [TZ]"},
			{Long: "archive-version", Arg: "N", Help: "version of the archive, 2 or 3 [PCP_ARCHIVE_VERSION]"},
			{Long: "append", Help: "add to the archive if there is one"},
			cli.OptVersion,
			cli.OptHelp,
			cli.Heading("Reading options"),
			{Short: 't', Long: "time", Arg: "TIME", Help: "time of samples without a time [modification time of the file]"},
			{Short: 'p', Long: "prefix", Arg: "NAME", Help: "put this and a dot before the names of metrics"},
		}
	},
	Doc: `Each file has the text that a program serves to Prometheus, or a series of samples with times as for
"promtool tsdb create-blocks-from openmetrics"; "-" is standard input. Times below 100000000000 are
in seconds, as in OpenMetrics, others in milliseconds.

Names are kept, except that a colon becomes a dot, and an underscore at the beginning x_. A metric
with labels has an instance for each set of labels, named by a number and the labels, as in "0
method:get code:200" (a blank in a value becomes an underscore); the archive also has the labels as
such.

All metrics are of type DOUBLE. Counters, and the _bucket, _count and _sum of histograms and
summaries are counters, others are instantaneous; a metric without # TYPE is a counter if its name
ends in _total. The units are those of # UNIT, or of the last word of a name before _total or _sum,
such as seconds, milliseconds, bytes, celsius or watts.`,
	Examples: []cli.Example{
		{Line: "curl -s localhost:9100/metrics >node.prom && pcp import prometheus node.prom node", Text: "record a node exporter once"},
		{Line: "pcp import prometheus node-*.prom node", Text: "import files saved at several times"},
		{Line: "pcp import prometheus --append later.prom node", Text: "add a file saved later"},
	},
	SeeAlso: []string{"pmval(1)", "pmdaopenmetrics(1)"},
	Run:     runPrometheus,
}

func runPrometheus(ctx context.Context, env *cli.Env) int {
	p := &prometheus{env: env, opt: importer.Options{JoinLabels: true}, families: make(map[string]*family), metrics: make(map[string]*promMetric)}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: p.own})
	if !o.WantsVersion() && !o.Errors() && len(o.Args) < 2 {
		o.Usagef("a file and an archive are needed")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	base := o.Args[len(o.Args)-1]
	old, err := findStored(env, base, &p.opt)
	if err == nil && old != nil {
		// Its version and time zone are used unless options set others.
		p.opt.Version, p.zone = cmp.Or(p.opt.Version, old.label.Version), cmp.Or(p.zone, old.label.TimeZone)
	}
	var loc *time.Location
	if err == nil {
		loc, err = completeOptions(env, &p.opt, p.zone)
	}
	if err != nil {
		return env.Fatalf("%v", err)
	}
	if p.timeText != "" {
		if p.time, err = parseAny(p.timeText, loc); err != nil {
			return env.Fatalf("-t %s: %v", p.timeText, err)
		}
	}
	last := len(o.Args) - 1
	for _, file := range o.Args[:last] {
		if err = p.readFile(ctx, file); err != nil {
			break
		}
	}
	if err == nil && len(p.samples) == 0 {
		err = fmt.Errorf("%s: %w", o.Args[last-1], errNoValue)
	}
	if err == nil {
		err = p.write(ctx, base)
	}
	return p.out.finish(ctx, env, loc, err)
}

func (p *prometheus) own(o *cli.Options, opt *cli.Option, arg string) bool {
	if takeLabel(o, opt, arg, &p.opt, &p.zone) {
		return true
	}
	switch opt.Long {
	case "time":
		p.timeText = arg
	case "prefix":
		if clean := cleanName(arg); clean != arg || arg == "" {
			o.Usagef("-p %s: not the name of metrics", arg)
			break
		}
		p.prefix = arg
	default:
		return false
	}
	return true
}

// Limits of an import, and of a line.
const (
	maxPromSamples = 1 << 24
	maxPromSeries  = 1 << 18
	maxPromLine    = 1 << 20
	maxPromBytes   = 1 << 34
)

// A prometheus is the files of one archive.
type prometheus struct {
	env            *cli.Env
	opt            importer.Options
	out            output
	zone, timeText string
	prefix         string
	time           time.Time // of samples without a time, zero for that of the file

	families map[string]*family
	metrics  map[string]*promMetric
	order    []*promMetric
	series   int
	files    []string
	samples  []promSample
}

// A family has the properties of the metrics of a name, from comments.
type family struct{ kind, unit, help string }

// A promMetric is the samples of one name.
type promMetric struct {
	name   string // as in the file
	labels bool   // a sample has labels
	series map[string]*series
	order  []*series
	where  string // file and line of the first sample
}

// A series is a metric with labels.
type series struct {
	m      *promMetric
	labels []openmetrics.Label // sorted by name
	handle importer.Handle
	last   int64 // time of the last value
}

// A promSample is one value.
type promSample struct {
	time  int64 // nanoseconds
	value float64
	s     *series
	file  int32 // index
	line  int32
}

func (p *prometheus) readFile(ctx context.Context, file string) error {
	in := p.env.Stdin
	stamp := time.Now()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return errors.New(cli.FileErrText(err))
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return errors.New(cli.FileErrText(err))
		}
		if info.IsDir() {
			return fmt.Errorf("%s: Is a directory", file)
		}
		in, stamp = f, info.ModTime()
	}
	if !p.time.IsZero() {
		stamp = p.time
	}
	p.files = append(p.files, file)
	r := openmetrics.NewScanner(in, openmetrics.Limits{Bytes: maxPromBytes, Line: maxPromLine})
	ended := false
	for r.Next() {
		line := r.Line()
		var err error
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case ended:
			err = errors.New("there is more after # EOF")
		case string(line) == "# EOF":
			ended = true
		case line[0] == '#':
			err = p.comment(line)
		default:
			err = p.sample(line, stamp.UnixNano(), r.Number())
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, r.Number(), err)
		}
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// comment reads a line with a property of the metrics of a name.
func (p *prometheus) comment(line []byte) error {
	keyword, word, rest := openmetrics.Comment(line)
	what, name, text := string(keyword), string(word), string(rest)
	if what != "HELP" && what != "TYPE" && what != "UNIT" || name == "" {
		return nil
	}
	if openmetrics.NameLen(name) != len(name) {
		return fmt.Errorf("%q is not the name of a metric", name)
	}
	f := p.families[name]
	if f == nil {
		f = &family{}
		p.families[name] = f
	}
	switch what {
	case "HELP":
		f.help = openmetrics.Help(text)
	case "UNIT":
		f.unit = strings.Join(strings.Fields(text), " ")
	case "TYPE":
		if !slices.Contains(openmetrics.Kinds(), text) {
			return fmt.Errorf("the type of %s is %q, must be one of %s", name, text, strings.Join(openmetrics.Kinds(), ", "))
		}
		if f.kind != "" && f.kind != text {
			return fmt.Errorf("the type of %s is %s, but was %s", name, text, f.kind)
		}
		f.kind = text
	}
	return nil
}

// sample reads a line with a value.
func (p *prometheus) sample(line []byte, stamp int64, number int) error {
	series, n, err := openmetrics.ParseSeries(line, true)
	if err != nil {
		return err
	}
	sample := openmetrics.ParseSample(line[n:])
	if len(sample.Value) == 0 || sample.Value[0] == '#' || len(sample.Extra) > 0 {
		return fmt.Errorf("%s: a value and perhaps a time are needed, not %.40q", series.Name, bytes.TrimLeft(line[n:], " \t"))
	}
	value, ok := parseFloat(string(sample.Value))
	if !ok {
		return fmt.Errorf("%s: %.40q is not a number", series.Name, sample.Value)
	}
	if len(sample.Timestamp) > 0 {
		if stamp, err = promTime(string(sample.Timestamp)); err != nil {
			return fmt.Errorf("%s: %w", series.Name, err)
		}
	}
	if len(p.samples) == maxPromSamples {
		return fmt.Errorf("more than %d samples", maxPromSamples)
	}
	s, err := p.seriesOf(series.Name, series.Labels, number)
	if err != nil {
		return fmt.Errorf("%s: %w", series.Name, err)
	}
	p.samples = append(p.samples, promSample{stamp, value, s, int32(len(p.files) - 1), int32(min(number, math.MaxInt32))})
	return nil
}

// secondsBelow is the number below which a time is in seconds, and not in milliseconds.
const secondsBelow = 1e11

// promTime returns nanoseconds. The text format has milliseconds, OpenMetrics seconds.
func promTime(text string) (int64, error) {
	f, ok := parseFloat(text)
	if !ok || !(f >= 0 && f < secondsBelow*1000) {
		return 0, fmt.Errorf("%.40q is not a time", text)
	}
	if f >= secondsBelow {
		return int64(f) * int64(time.Millisecond), nil
	}
	if f > math.MaxInt64/1e9 {
		return 0, fmt.Errorf("%.40q is not a time", text)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if sec, err := strconv.ParseInt(whole, 10, 64); err == nil && len(fraction) <= 9 {
		nsec, err := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
		if err == nil {
			return sec*1e9 + nsec, nil
		}
	}
	return int64(f * 1e9), nil
}

// seriesOf returns the series of a metric with some labels.
func (p *prometheus) seriesOf(name string, labels []openmetrics.Label, line int) (*series, error) {
	m := p.metrics[name]
	if m == nil {
		m = &promMetric{name: name, series: make(map[string]*series), where: fmt.Sprintf("%s:%d", p.files[len(p.files)-1], line)}
		p.metrics[name] = m
		p.order = append(p.order, m)
	}
	var key strings.Builder
	for _, l := range labels {
		fmt.Fprintf(&key, "%s=%q,", l.Name, l.Value)
	}
	s := m.series[key.String()]
	if s == nil {
		if len(m.order) == maxInstances {
			return nil, errManyInstances
		}
		if p.series++; p.series > maxPromSeries {
			return nil, fmt.Errorf("more than %d series", maxPromSeries)
		}
		s = &series{m: m, labels: labels, last: math.MinInt64}
		m.series[key.String()] = s
		m.order = append(m.order, s)
		m.labels = m.labels || len(labels) > 0
	}
	return s, nil
}

// promSuffixes are the suffixes of names of samples behind that of their
// family.
var promSuffixes = []string{"_total", "_bucket", "_count", "_sum", "_created", "_info", "_gcount", "_gsum"}

// familyOf returns the family of a metric, and the suffix of its name behind that of
// the family.
func (p *prometheus) familyOf(name string) (f family, suffix string) {
	for _, suffix := range promSuffixes {
		base, ok := strings.CutSuffix(name, suffix)
		if own := p.families[name]; ok && (own == nil || own.kind == "") {
			if f := p.families[base]; f != nil {
				return *f, suffix
			}
		}
	}
	if f := p.families[name]; f != nil {
		return *f, ""
	}
	if strings.HasSuffix(name, "_total") {
		return family{kind: "counter"}, ""
	}
	return family{}, ""
}

// describe returns the descriptor of a metric without its instance domain, and its help text.
func (p *prometheus) describe(name string) (pcp.Desc, string) {
	f, suffix := p.familyOf(name)
	d := pcp.Desc{Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	switch f.kind {
	case "counter":
		d.Sem = pcp.SemCounter
	case "histogram", "summary":
		if suffix != "" {
			d.Sem = pcp.SemCounter
		}
	}
	switch suffix {
	case "_created":
		d.Sem, d.Units = pcp.SemInstant, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
		return d, f.help
	case "_bucket", "_count", "_gcount":
		d.Units = counts
		return d, f.help
	}
	base := strings.TrimSuffix(strings.TrimSuffix(name, suffix), "_total")
	if u, ok := unitsOf(f.unit, base); ok {
		d.Units = u
	} else if d.Sem == pcp.SemCounter && suffix != "_sum" {
		d.Units = counts
	}
	return d, f.help
}

// unitsOf returns the units of a comment UNIT, or of the last word of a name without suffix, unless it is a rate.
func unitsOf(unit, name string) (u pcp.Units, ok bool) {
	if u, ok = unitname.FromWord(unit); ok {
		return u, true
	}
	i := strings.LastIndexByte(name, '_')
	if i < 0 || strings.HasSuffix(name[:i], "_per") {
		return pcp.Units{}, false
	}
	return unitname.FromWord(name[i+1:])
}

// write makes the archive.
func (p *prometheus) write(ctx context.Context, base string) error {
	if err := p.out.start(p.env, base, p.opt, p.files...); err != nil {
		return err
	}
	if err := p.declareAll(); err != nil {
		return err
	}
	slices.SortStableFunc(p.samples, func(a, b promSample) int { return cmp.Compare(a.time, b.time) })
	for i, s := range p.samples {
		if s.s.last == s.time {
			return fmt.Errorf("%s:%d: %s: a second value for one time", p.files[s.file], s.line, s.s.handle)
		}
		s.s.last = s.time
		err := s.s.handle.PutDouble(s.value)
		p.out.values++
		if err == nil && (i+1 == len(p.samples) || p.samples[i+1].time != s.time) {
			if err = ctx.Err(); err == nil {
				err = p.out.write(time.Unix(0, s.time))
			}
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.files[s.file], s.line, err)
		}
	}
	return nil
}

// metricName returns the name of a metric here: each colon is a dot, and an underscore
// does not begin a part of it.
func metricName(name string) string { return cleanName(strings.ReplaceAll(name, ":", ".")) }

// name returns the name of the instance with a number.
func (s *series) name(number int) string {
	b := strconv.AppendInt(nil, int64(number), 10)
	for _, l := range s.labels {
		b = append(b, ' ')
		b = append(b, l.Name...)
		b = append(b, ':')
		b = append(b, strings.Map(func(r rune) rune {
			if r <= ' ' {
				return '_'
			}
			return r
		}, l.Value)...)
	}
	return string(b)
}

// jsonString returns s as a string of JSON.
func jsonString(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
