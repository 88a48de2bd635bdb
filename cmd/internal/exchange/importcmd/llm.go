package importcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// VLLMCommand is vllmbench2pcp.
var VLLMCommand = &cli.Command{
	Name:     "import vllmbench",
	Link:     "vllmbench2pcp",
	Group:    cli.Export,
	Summary:  "create an archive from the results of a benchmark by vLLM",
	Synopsis: "[options] results",
	Options:  llmOptions,
	Doc: `The file is the JSON document that "vllm bench" writes, "-" is standard input. It may be the report of a
document of Model Furnace. Each result becomes a metric vllm.bench.NAME with an instance for the
server and the model, and has its value at the start and at the end of the benchmark. The name of the
server is the host of the archive, and the date of the benchmark the name of the archive, unless
options set others.`,
	Examples: []cli.Example{{Line: "pcp import vllmbench -a bench results.json", Text: "create the archive bench"}},
	SeeAlso:  []string{"pminfo(1)", "pmrep(1)"},
	Run: func(ctx context.Context, env *cli.Env) int {
		return runLLM(ctx, env, (*llm).readVLLM)
	},
}

// GuideLLMCommand is guidellm2pcp.
var GuideLLMCommand = &cli.Command{
	Name:     "import guidellm",
	Link:     "guidellm2pcp",
	Group:    cli.Export,
	Summary:  "create an archive from the results of benchmarks by GuideLLM",
	Synopsis: "[options] results",
	Options:  llmOptions,
	Doc: `The file is the JSON document that "guidellm benchmark" writes, "-" is standard input. It may be the
report of a document of Model Furnace. Each result becomes a metric guidellm.NAME with an instance for
each benchmark, and has its value at the start and at the end of the benchmark. The identifier of
the run is the host of the archive, and its start the name of the archive, unless options set
others.`,
	Examples: []cli.Example{{Line: "pcp import guidellm -a bench results.json", Text: "create the archive bench"}},
	SeeAlso:  []string{"pminfo(1)", "pmrep(1)"},
	Run: func(ctx context.Context, env *cli.Env) int {
		return runLLM(ctx, env, (*llm).readGuideLLM)
	},
}

func llmOptions() []cli.Option {
	return []cli.Option{
		{Short: 'a', Long: "archive", Arg: "ARCHIVE", Help: "archive to create [start of the benchmark]"},
		optAppend(),
		{Short: 'H', Long: "hostname", Arg: "HOST", Help: "host that the archive is of"},
		{Short: 'v', Long: "verbose", Help: "report each step"},
		{Short: 'h', Long: "help", Help: "show this usage message and exit"},
	}
}

// runLLM imports a document that read understands.
func runLLM(ctx context.Context, env *cli.Env, read func(*llm) error) int {
	l := &llm{env: env}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: l.own})
	if !o.Errors() && !o.WantsHelp() && len(o.Args) != 1 {
		o.Usagef("a file of results is needed")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	l.file = o.Args[0]
	err := l.load()
	if err == nil {
		if err = read(l); err != nil {
			err = fmt.Errorf("%s: %w", l.file, err)
		}
	}
	if err == nil && l.verbose {
		fmt.Fprintln(env.Stdout, "Writing archive:", l.archive)
	}
	return l.out.finish(ctx, env, time.UTC, err)
}

// An llm is an import of the results of a benchmark.
type llm struct {
	env           *cli.Env
	file          string
	archive, host string
	verbose       bool
	append        bool

	wrapped object // the whole document: with labels, if it is one of Model Furnace
	report  object
	out     output
	insts   map[int32]string
}

func (l *llm) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "archive":
		l.archive = arg
	case "hostname":
		l.host = arg
	case "verbose":
		l.verbose = true
	case "append":
		l.append = true
	default:
		return false
	}
	return true
}

// maxResults is the maximum size of a document: GuideLLM writes all prompts and answers into it.
const maxResults = 256 << 20

// load reads the document.
func (l *llm) load() error {
	in := l.env.Stdin
	if l.file != "-" {
		f, err := os.Open(l.file)
		if err != nil {
			return fmt.Errorf("%s: %s", l.file, cli.ErrText(err))
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxResults+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %s", l.file, cli.ErrText(err))
	case len(b) > maxResults:
		return fmt.Errorf("%s: more than %d MiB", l.file, maxResults>>20)
	}
	if err := json.Unmarshal(quoteNaN(b), &l.wrapped); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("%s: offset %d: not JSON: %w", l.file, syntax.Offset, err)
		}
		return fmt.Errorf("%s: not the results of a benchmark: an object of JSON is needed", l.file)
	}
	l.report = l.wrapped
	if _, ok := l.wrapped["report"]; ok {
		if l.report, err = l.wrapped.object("report"); err != nil {
			return fmt.Errorf("%s: %w", l.file, err)
		}
	}
	return nil
}

// quoteNaN replaces the numbers that are not JSON, but that Python reads and writes, by strings as Python
// prints them. It changes only bytes outside of strings.
func quoteNaN(b []byte) []byte {
	if !bytes.Contains(b, []byte("NaN")) && !bytes.Contains(b, []byte("Infinity")) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for i := 0; i < len(b); {
		if b[i] == '"' {
			end := i + 1
			for end < len(b) && b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(b))
			out = append(out, b[i:end]...)
			i = end
			continue
		}
		switch rest := b[i:]; {
		case bytes.HasPrefix(rest, []byte("NaN")):
			out = append(out, `"nan"`...)
			i += len("NaN")
		case bytes.HasPrefix(rest, []byte("Infinity")):
			out = append(out, `"inf"`...)
			i += len("Infinity")
		case bytes.HasPrefix(rest, []byte("-Infinity")):
			out = append(out, `"-inf"`...)
			i += len("-Infinity")
		default:
			out = append(out, rest[0])
			i++
		}
	}
	return out
}

// An object is one of JSON.
type object map[string]json.RawMessage

// object returns the object with a name, and its members.
func (o object) object(name string) (object, error) {
	var in object
	if err := json.Unmarshal(o[name], &in); err != nil || in == nil {
		return nil, fmt.Errorf("%s: an object is needed", name)
	}
	return in, nil
}

// value returns a number or a text as Python prints it; ok is false for null or without one.
func (o object) value(name string) (text string, ok bool, err error) {
	raw := o[name]
	if len(raw) == 0 || string(raw) == "null" {
		return "", false, nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, err == nil, err
	}
	text = string(raw)
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return "", false, fmt.Errorf("%s: a number or a text is needed", name)
	}
	if strings.ContainsAny(text, ".eE") {
		text = pytext.Float(f)
	}
	return text, true, nil
}

// text returns a text, which must not be empty.
func (o object) text(name string) (string, error) {
	var s string
	if err := json.Unmarshal(o[name], &s); err != nil || s == "" {
		return "", fmt.Errorf("%s: a text is needed", name)
	}
	return s, nil
}

// number returns a number.
func (o object) number(name string) (float64, error) {
	f, err := strconv.ParseFloat(string(o[name]), 64)
	if err != nil {
		return 0, fmt.Errorf("%s: a number is needed", name)
	}
	return f, nil
}

// micros rounds seconds to microseconds, as Python does.
func micros(seconds float64) (int64, error) {
	if !(seconds >= 0 && seconds <= maxMRTGTime) {
		return 0, fmt.Errorf("%v seconds: must be from 0 to %d", seconds, int64(maxMRTGTime))
	}
	whole, rest := math.Modf(seconds)
	return int64(whole)*1e6 + int64(math.RoundToEven(rest*1e6)), nil
}

// llmTime returns the time of microseconds since 1970. The original has it as a number with a point, from
// which it takes the nanoseconds.
func llmTime(us int64) time.Time {
	whole, rest := math.Modf(float64(us) / 1e6)
	return time.Unix(int64(whole), int64(rest*1e9))
}

// An llmMetric is a row of the tables below.
type llmMetric struct {
	name  string
	typ   pcp.Type
	units pcp.Units
	help  string // may be empty
}

// The numbers of metrics and of the domain of benchmarks are those of the original.
const llmDomain = 510

func llmInDom() pcp.InDom { return pcp.NewInDom(llmDomain, 1) }

// Units as the original has them: a rate is in count x sec.
var (
	llmSeconds = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
	llmMillis  = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	llmRate    = pcp.Units{DimTime: 1, DimCount: 1, ScaleTime: pcp.TimeSec}
)

// start begins the archive, with the metrics under a prefix.
func (l *llm) start(host string, t time.Time, prefix string, metrics []llmMetric) error {
	if l.host == "" {
		l.host = host
	}
	if l.archive == "" {
		l.archive = t.UTC().Format("20060102.15.04")
	}
	opt := importer.Options{Host: l.host, TimeZone: "UTC", Append: l.append}
	if err := l.out.start(l.env, l.archive, opt, l.file); err != nil {
		return err
	}
	l.insts = make(map[int32]string)
	for _, in := range l.out.stored.instances(llmInDom()) {
		l.insts[in.Inst] = in.Name
	}
	for i, m := range metrics {
		id := pcp.NewPMID(llmDomain, 0, i)
		if _, err := l.out.im.AddMetric(prefix+m.name, pcp.Desc{PMID: id, Type: m.typ, InDom: llmInDom(), Sem: pcp.SemDiscrete, Units: m.units}); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		l.out.metrics++
		if m.help == "" {
			continue
		}
		if err := l.out.im.PutText(pcp.TextPMID|pcp.TextOneLine, uint32(id), m.help); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// label puts a label on all metrics.
func (l *llm) label(name, value string) error {
	return l.out.im.PutLabel(pcp.LabelContext, 0, 0, name, value)
}

// labels puts labels from the document, if it has them.
func (l *llm) labels(names ...string) error {
	for _, name := range names {
		if raw := l.wrapped[name]; len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
			continue
		}
		value, err := l.wrapped.text(name)
		if err == nil {
			err = l.label(name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// instance adds a benchmark.
func (l *llm) instance(name string, id int32) error {
	if len(l.insts) == maxInstances {
		return errManyInstances
	}
	if l.verbose {
		fmt.Fprintf(l.env.Stdout, "[%d] %s\n", id, name)
	}
	l.insts[id] = name
	return l.out.im.AddInstance(llmInDom(), name, id)
}

// write writes the values that put puts, at the start and at the end of a benchmark.
func (l *llm) write(start, end time.Time, put func() error) error {
	for _, t := range []time.Time{start, end} {
		if err := put(); err != nil {
			return err
		}
		if err := l.out.write(t); err != nil {
			return err
		}
	}
	return l.out.im.PutMark()
}

// put puts a value of o, if it has one. member is the place in o, and name that of the metric.
func (l *llm) put(o object, member, name, inst string) error {
	value, ok, err := o.value(member)
	if err != nil || !ok {
		return err
	}
	if l.verbose && strings.HasPrefix(name, vllmPrefix) {
		fmt.Fprintln(l.env.Stdout, "adding", member, ":", value)
	}
	if err := l.out.im.PutValue(name, inst, value); err != nil {
		return fmt.Errorf("%s: %q: %w", member, value, err)
	}
	l.out.values++
	return nil
}

const vllmPrefix = "vllm.bench."

// vllmMetrics are the results of vllm bench, by number.
func vllmMetrics() []llmMetric {
	list := []llmMetric{
		{"duration", pcp.TypeDouble, llmSeconds, "time that the benchmark took"},
		{"request_rate", pcp.TypeDouble, llmRate, "requests a second that were to be sent, infinite for all at once (--request-rate)"},
		{"burstiness", pcp.TypeDouble, pcp.Units{}, "burstiness of requests that was set: 1 for a Poisson process, less for more bursts (--burstiness)"},
		{"max_concurrency", pcp.TypeDouble, counts, "limit of requests at a time that was set (--max-concurrency)"},
		{"completed", pcp.TypeU64, counts, "requests that were answered"},
		{"num_prompts", pcp.TypeU64, counts, "requests that were sent"},
		{"total_input_tokens", pcp.TypeU64, counts, "tokens in all requests"},
		{"total_output_tokens", pcp.TypeU64, counts, "tokens in all answers"},
		{"request_throughput", pcp.TypeDouble, llmRate, "answered requests a second"},
		{"request_goodput", pcp.TypeDouble, llmRate, "answered requests a second that met the service level objectives"},
		{"output_throughput", pcp.TypeDouble, llmRate, "tokens of answers a second"},
		{"total_token_throughput", pcp.TypeDouble, llmRate, "tokens of requests and answers a second"},
		{"max_output_tokens_per_s", pcp.TypeDouble, llmSeconds, "tokens of answers in the busiest second"},
		{"max_concurrent_requests", pcp.TypeU64, pcp.Units{}, "requests at a time, at most"},
	}
	for _, of := range []struct{ name, help string }{
		{"ttft", "time to the first token of an answer"},
		{"tpot", "time for each token of an answer after the first"},
		{"itl", "time between two tokens of an answer"},
		{"e2el", "time from a request to the end of its answer"},
	} {
		for _, s := range []struct{ name, help string }{
			{"mean", "mean"}, {"median", "median"}, {"std", "standard deviation"}, {"p99", "99th percentile"},
		} {
			list = append(list, llmMetric{s.name + "_" + of.name + "_ms", pcp.TypeDouble, llmMillis, of.help + ": " + s.help})
		}
	}
	return list
}

// vllmOrder are the first results in the order in which values are put; the others follow.
var vllmOrder = []string{"request_rate", "burstiness", "max_concurrency", "duration"}

// readVLLM imports a report of vllm bench.
func (l *llm) readVLLM() error {
	backend, err := l.report.text("backend")
	if err != nil {
		return err
	}
	model, err := l.report.text("model_id")
	if err != nil {
		return err
	}
	date, err := l.report.text("date")
	if err != nil {
		return err
	}
	start, err := time.Parse("20060102-150405", date)
	if err != nil || start.Unix() < 0 {
		return fmt.Errorf("date: %q is not a date like 20260131-235900", date)
	}
	duration, err := l.report.number("duration")
	if err != nil {
		return err
	}
	took, err := micros(duration)
	if err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	if l.verbose {
		fmt.Fprintln(l.env.Stdout, "Backend", backend)
	}
	metrics := vllmMetrics()
	if err := l.start(backend, start, vllmPrefix, metrics); err != nil {
		return err
	}
	if err := l.labels("model_id", "tokenizer_id", "endpoint_type", "backend"); err != nil {
		return err
	}
	inst := backend + "-" + model
	if err := l.instance(inst, l.freeID(inst)); err != nil {
		return err
	}
	return l.write(start, llmTime(start.UnixMicro()+took), func() error {
		done := make(map[string]bool)
		for _, name := range vllmOrder {
			done[name] = true
			if err := l.put(l.report, name, vllmPrefix+name, inst); err != nil {
				return err
			}
		}
		for _, m := range metrics {
			if done[m.name] {
				continue
			}
			if err := l.put(l.report, m.name, vllmPrefix+m.name, inst); err != nil {
				return err
			}
		}
		return nil
	})
}

const guidePrefix = "guidellm."

// guideRun are the averages of a run, in seconds, by number. Versions of GuideLLM have different ones. The
// original never records those that are not in guideRunOrder.
var guideRun = []string{
	"finalized_delay_avg", "queued_time_avg", "scheduled_time_delay_avg", "scheduled_time_sleep_avg", "worker_resolve_start_delay_avg",
	"worker_resolve_time_avg", "worker_resolve_end_delay_avg", "worker_start_delay_avg", "worker_start_time_targeted_delay_avg",
	"worker_time_avg", "worker_targeted_start_delay_avg", "request_start_delay_avg", "request_start_time_delay_avg",
	"request_start_time_targeted_delay_avg", "request_targeted_start_delay_avg", "request_time_delay_avg", "request_time_avg",
}

var guideRunOrder = []string{
	"finalized_delay_avg", "queued_time_avg", "request_start_delay_avg", "request_targeted_start_delay_avg", "request_start_time_delay_avg",
	"request_time_delay_avg", "request_start_time_targeted_delay_avg", "worker_resolve_start_delay_avg", "worker_resolve_time_avg",
	"worker_resolve_end_delay_avg", "worker_start_delay_avg", "worker_start_time_targeted_delay_avg", "worker_time_avg",
	"worker_targeted_start_delay_avg",
}

// guideGroups are the distributions of a benchmark.
var guideGroups = []struct {
	name, help string
	units      pcp.Units
}{
	{"requests_per_second", "requests a second", llmRate},
	{"request_latency", "time from a request to the end of its answer", llmMillis},
	{"time_to_first_token_ms", "time to the first token of an answer", llmMillis},
	{"time_per_output_token_ms", "time for each token of an answer", llmMillis},
	{"inter_token_latency_ms", "time between two tokens of an answer", llmMillis},
	{"output_tokens_per_second", "tokens of answers a second", llmRate},
	{"tokens_per_second", "tokens of requests and answers a second", llmRate},
}

// guideStats are the statistics of a distribution in the order in which values are put.
var guideStats = []string{"mean", "mode", "count", "median", "min", "max", "std_dev", "variance"}

var guideRequests = []string{"successful", "errored", "incomplete", "total"}

// guideMetrics are the results of GuideLLM, by number.
func guideMetrics() []llmMetric {
	list := []llmMetric{
		{"run_id", pcp.TypeString, pcp.Units{}, "identifier of the run that the benchmarks belong to"},
		{"duration", pcp.TypeDouble, llmSeconds, "time that the benchmark took"},
	}
	for i, help := range []string{
		"requests that were answered", "requests that failed", "requests that had no complete answer at the end", "requests that were sent",
	} {
		list = append(list, llmMetric{"run_stats.requests_made." + guideRequests[i], pcp.TypeU64, counts, help})
	}
	for _, name := range guideRun {
		// Without a text, the archive lacks the descriptors of those without values, as the original's.
		list = append(list, llmMetric{"run_stats." + name, pcp.TypeDouble, llmSeconds, ""})
	}
	for _, g := range guideGroups {
		for _, s := range []struct {
			name, help string
			typ        pcp.Type
			units      pcp.Units
		}{
			{"mean", "mean", pcp.TypeDouble, g.units},
			{"median", "median", pcp.TypeDouble, g.units},
			{"mode", "most frequent", pcp.TypeDouble, g.units},
			{"count", "number of measurements", pcp.TypeU64, counts},
			{"min", "minimum", pcp.TypeDouble, g.units},
			{"max", "maximum", pcp.TypeDouble, g.units},
			{"std_dev", "standard deviation", pcp.TypeDouble, pcp.Units{}},
			{"variance", "variance", pcp.TypeDouble, pcp.Units{}},
		} {
			list = append(list, llmMetric{g.name + ".total." + s.name, s.typ, s.units, g.help + ": " + s.help})
		}
	}
	return list
}

// readGuideLLM imports a report of GuideLLM.
func (l *llm) readGuideLLM() error {
	var list []object
	if err := json.Unmarshal(l.report["benchmarks"], &list); err != nil || len(list) == 0 {
		return errors.New("benchmarks: an array of objects is needed")
	}
	var run string
	for i, b := range list {
		if err := l.benchmark(b, &run); err != nil {
			return fmt.Errorf("benchmarks[%d]: %w", i, err)
		}
	}
	return nil
}

// benchmark imports one benchmark. The first sets run and begins the archive.
func (l *llm) benchmark(b object, run *string) error {
	stats, err := b.object("run_stats")
	if err != nil {
		return err
	}
	var at [2]time.Time
	for i, name := range []string{"start_time", "end_time"} {
		f, err := stats.number(name)
		if err != nil {
			return fmt.Errorf("run_stats: %w", err)
		}
		us, err := micros(f)
		if err != nil {
			return fmt.Errorf("run_stats: %s: %w", name, err)
		}
		at[i] = llmTime(us)
	}
	if *run == "" {
		if *run, err = b.text("run_id"); err != nil {
			return err
		}
		if l.verbose {
			fmt.Fprintln(l.env.Stdout, "Run", *run)
		}
		if err := l.start(*run, at[0], guidePrefix, guideMetrics()); err != nil {
			return err
		}
		if err := l.label("guidellm_run_id", *run); err != nil {
			return err
		}
		if err := l.labels("model", "inference_server", "accelerator_type"); err != nil {
			return err
		}
	}
	inst, err := b.text("id_")
	if err != nil {
		return err
	}
	if err := l.instance(inst, l.instanceID(inst)); err != nil {
		return err
	}
	if err := l.label("guidellm_id", inst); err != nil {
		return err
	}
	made, err := stats.object("requests_made")
	if err != nil {
		return fmt.Errorf("run_stats: %w", err)
	}
	metrics, err := b.object("metrics")
	if err != nil {
		return err
	}
	return l.write(at[0], at[1], func() error {
		if err := l.put(b, "duration", guidePrefix+"duration", inst); err != nil {
			return err
		}
		if err := l.out.im.PutValue(guidePrefix+"run_id", inst, *run); err != nil {
			return err
		}
		for _, name := range guideRequests {
			if err := l.put(made, name, guidePrefix+"run_stats.requests_made."+name, inst); err != nil {
				return err
			}
		}
		for _, name := range guideRunOrder {
			if err := l.put(stats, name, guidePrefix+"run_stats."+name, inst); err != nil {
				return err
			}
		}
		for _, g := range guideGroups {
			group, err := metrics.object(g.name)
			if err != nil {
				return fmt.Errorf("metrics: %w", err)
			}
			if group, err = group.object("total"); err != nil {
				return fmt.Errorf("metrics: %s: %w", g.name, err)
			}
			for _, name := range guideStats {
				if err := l.put(group, name, guidePrefix+g.name+".total."+name, inst); err != nil {
					return fmt.Errorf("metrics: %s: %w", g.name, err)
				}
			}
		}
		return nil
	})
}

// freeID returns the number of a benchmark, or the first free number.
func (l *llm) freeID(name string) int32 {
	for id := int32(1); ; id++ {
		if had, ok := l.insts[id]; !ok || had == name {
			return id
		}
	}
}

// instanceID returns a number for the name of a benchmark that is the same in all archives, unless two
// names of an archive have the same.
func (l *llm) instanceID(name string) int32 {
	for {
		h := fnv.New32a()
		io.WriteString(h, name)
		id := int32(h.Sum32() & math.MaxInt32)
		if had, ok := l.insts[id]; !ok || had == name {
			return id
		}
		name = "_" + name
	}
}
