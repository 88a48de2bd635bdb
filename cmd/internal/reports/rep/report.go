package rep

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
)

// Placeholders for missing values and instances.
const (
	noValue  = "N/A"
	noInst   = "~"
	singular = "="
)

// A writer is a kind of output.
type writer interface {
	// header writes the header, with a dynamic header that of the instances in s; again is set for all but the first.
	header(s *pmrep.Sample, again bool)
	// sample writes a sample, and the header before it if that is due.
	sample(s *pmrep.Sample) error
	// finish writes what follows the last sample.
	finish() error
}

// A reporter is one run of pmrep.
type reporter struct {
	ctx context.Context
	env *cli.Env
	r   *metricset.Report

	outFile string
	file    *os.File
	out     *bufio.Writer
	form    form
	w       writer

	swapped bool // columns and rows
	overall bool // ranking
	sortBy  []string
}

// report does the work after the options are parsed.
func (p *reporter) report(output string) error {
	if err := p.r.Connect(p.ctx); err != nil {
		return err
	}
	if err := p.validate(output); err != nil {
		return err
	}
	return p.execute()
}

// validate checks and completes the settings.
func (p *reporter) validate(output string) error {
	r, s := p.r, p.r.Settings
	if err := r.CheckSettings(); err != nil {
		return err
	}
	if err := p.checkRepeat(); err != nil {
		return err
	}
	if s["output"] != outArchive && s["output"] != outCSV && s["output"] != outStdout {
		return errorf("Error while parsing options: Invalid output target specified.")
	}
	if output == outCSV {
		s["output"] = outCSV
	}
	output = s["output"]
	if err := p.checkArchive(output); err != nil {
		return err
	}
	if s.On("separate_header") && !s.On("width") {
		s["width"] = "8"
	}
	_, p.swapped = s["colxrow"]
	p.overall = s.On("overall_rank") || s.On("overall_rank_alt")
	if p.overall {
		if rank, _ := s.Int("rank"); rank == 0 {
			return errorf("Overall ranking requires ranking enabled.")
		}
		if !r.Archive || output != outStdout {
			return errorf("Overall ranking supported only with archive input and stdout output.")
		}
		s["header"], p.swapped = "0", false
		delete(s, "predicate")
	}
	if err := p.checkJSON(output); err != nil {
		return err
	}
	p.form = newForm(s, output, p.swapped)
	p.form.specs = p.env.Seven()
	if !r.Archive {
		s["interpol"] = "1"
	}
	r.Interpolated = s.On("interpol")
	if err := r.Resolve(p.ctx); err != nil {
		return err
	}
	return p.checkSort()
}

func errorf(format string, args ...any) error { return &conf.Error{Text: fmt.Sprintf(format, args...)} }

// auto is a setting of repeat_header: repeat it for each screenful.
const auto = "auto"

func (p *reporter) checkRepeat() error {
	if p.r.Settings["repeat_header"] == auto {
		return nil
	}
	_, err := p.r.Settings.Natural("repeat_header")
	return err
}

// checkJSON reports whether the settings allow --json to print samples.
func (p *reporter) checkJSON(output string) error {
	switch s := p.r.Settings; {
	case !p.r.Options.JSON:
		return nil
	case output != outStdout:
		return errorf("--json is an output of its own, and not for %s.", output)
	case p.overall:
		return errorf("--json prints samples, of which overall ranking prints none.")
	default:
		s["header"], s["extheader"] = "0", "0"
	}
	return nil
}

func (p *reporter) checkArchive(output string) error {
	if output != outArchive {
		return nil
	}
	if p.outFile == "" {
		return errorf("Output archive must be defined with archive output.")
	}
	dir := filepath.Dir(p.outFile)
	if !housekeeping.Writable(dir) {
		if !strings.Contains(p.outFile, "/") {
			dir = "."
		}
		return errorf("Output directory %s not accessible.", dir)
	}
	return nil
}

// checkSort looks at the metrics by which lines are sorted.
func (p *reporter) checkSort() error {
	if !p.r.Settings.On("sort_metric") {
		return nil
	}
	p.sortBy = strings.Split(p.r.Settings["sort_metric"], ",")
	for _, name := range p.sortBy {
		name = strings.TrimPrefix(name, "-")
		i := p.r.Set.Find(name)
		if i < 0 {
			return errorf("Sort reference metric %s not part of metrics.", name)
		}
		if p.r.Set.Metrics[i].Flat() {
			return errorf("Sort reference metric must have instances.")
		}
	}
	return nil
}

// execute prints headers and samples.
func (p *reporter) execute() error {
	p.debug()
	output := p.form.output
	if err := p.r.Prepare(p.ctx, output == outArchive); err != nil {
		return err
	}
	if err := p.openOutput(); err != nil {
		return err
	}
	p.w = p.writer()
	printed := p.r.Detached() && p.outFile == "" && output != outArchive
	if printed { // first line, depending on the program name
		p.out.Reset(io.Discard)
	}
	if p.r.Settings.Is1("extheader") {
		p.writeExtHeader(&p.form)
	}
	if p.form.header && !p.form.dynamic {
		p.w.header(nil, false)
	}
	if printed {
		p.out.Reset(p.env.Stdout)
	}
	if err := p.flush(); err != nil || p.r.Check {
		return err
	}
	p.r.Silent = p.outFile != ""
	if err := p.r.Run(p.ctx, p); err != nil {
		return err
	}
	if err := p.w.finish(); err != nil {
		return err
	}
	return p.flush()
}

// writer returns the writer for the output that the settings ask for.
func (p *reporter) writer() writer {
	r, s := p.r, p.r.Settings
	l := newLine(&p.form, p.out, r.Loc, p.swapped)
	switch {
	case r.Options.JSON:
		return &jsonWriter{out: p.out, set: r.Set, host: func() string { return r.HostName(p.ctx) }, labelled: p.form.labelled}
	case p.overall:
		return &ranking{line: l, set: r.Set, rank: r.Set.Options().Rank, spec: s.On("overall_rank_alt")}
	case p.form.output == outArchive:
		return &recorder{ctx: p.ctx, r: r, out: p.out, set: r.Set, file: p.outFile, labelled: p.form.labelled}
	case p.form.output == outCSV:
		t := &csvTable{line: l, set: r.Set, repeat: p.repeater()}
		if s.On("extcsv") {
			t.extended = p.extended
		}
		return t
	case p.swapped:
		t := &swappedTable{line: l, set: r.Set, repeat: p.repeater(), corner: s["colxrow"], sortBy: p.sortBy}
		t.arrange(nil)
		return t
	}
	width, _ := s.Natural("width")
	t := &columnTable{line: l, set: r.Set, repeat: p.repeater(), width: width}
	t.arrange(nil)
	return t
}

// extended returns the host and the zone for the lines of extended CSV.
func (p *reporter) extended() (host, zone string) {
	host = "localhost"
	if !p.r.Options.Local {
		host = p.r.HostName(p.ctx)
	}
	return host, " " + metricset.UTCOffset(p.r.Zone)
}

// openOutput opens the output.
func (p *reporter) openOutput() error {
	var w io.Writer = p.env.Stdout
	if p.form.output != outArchive && p.outFile != "" {
		f, err := os.OpenFile(p.outFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return err
		}
		p.file, w = f, f
	}
	p.out = bufio.NewWriterSize(w, 1<<16)
	return nil
}

// repeater returns what decides when the header is repeated.
func (p *reporter) repeater() *repeater {
	switch every := p.r.Settings["repeat_header"]; {
	case !p.form.header:
		return &repeater{}
	case every != auto:
		n, _ := p.r.Settings.Natural("repeat_header") // which is checked
		return &repeater{every: n}
	case p.form.static:
		return &repeater{auto: p.perScreen}
	}
	return &repeater{}
}

// perScreen returns how many samples fit on the terminal below a header.
func (p *reporter) perScreen() int {
	lines := p.terminalLines()
	header := 2
	if p.form.unitInfo {
		header = 3
	}
	if !p.swapped {
		if anyInstances(p.r.Set) {
			header++
		}
		return lines - header
	}
	insts := make(map[int32]bool)
	for _, m := range p.r.Set.Metrics {
		for _, in := range m.Instances {
			insts[in.Inst] = true
		}
	}
	return lines/len(insts) - (header - 1)
}

// defaultLines is the height if the output is not a terminal.
const defaultLines = 24

func (p *reporter) terminalLines() int {
	if n, err := strconv.Atoi(strings.TrimSpace(p.env.Getenv("LINES"))); err == nil && n > 0 {
		return n
	}
	if p.env.Rows != nil {
		if n := p.env.Rows(); n > 0 {
			return n
		}
	}
	return defaultLines
}

// WriteSample implements pmrep.Writer.
func (p *reporter) WriteSample(s *pmrep.Sample) error {
	if err := p.w.sample(s); err != nil {
		return err
	}
	if p.r.Live() {
		return p.flush()
	}
	if p.out.Buffered() > flushAt {
		return p.out.Flush()
	}
	return nil
}

// flushAt is the maximum size of buffered output.
const flushAt = 1 << 15

func (p *reporter) flush() error {
	if err := p.out.Flush(); err != nil {
		return err
	}
	return p.env.FlushOut()
}

// close ends the output, however the report ended.
func (p *reporter) close() (err error) {
	if p.out != nil {
		err = p.out.Flush()
	}
	if p.file != nil {
		if e := p.file.Close(); err == nil {
			err = e
		}
	}
	if a, ok := p.w.(*recorder); ok {
		if e := a.close(); err == nil {
			err = e
		}
	}
	return err
}
