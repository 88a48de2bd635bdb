package rep

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
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

// A reporter is one run of pmrep.
type reporter struct {
	ctx context.Context
	env *cli.Env
	r   *metricset.Report
	set *pmrep.Set

	outFile string
	file    *os.File
	out     *bufio.Writer

	output              string
	json                bool // --json
	delim, timeFormat   string
	stamps              bool
	swapped             bool   // columns and rows
	corner              string // the label of the instances in that case
	header              bool
	dynamic, fixed      bool
	static              bool // neither
	unitInfo, instInfo  bool
	separate, labelled  bool
	overall, overallAlt bool
	sortBy              []string

	repeat     int
	repeatAuto bool
	lines      int
	clock      *metricset.Clock
	stampWidth int

	row       []byte
	cells     []cell
	widths    []int         // of the columns of the last format, without the time
	empty     int           // ≥ 0: the format is that of a line without values, of this width
	columns   []swapColumn  // swapped
	found     []instName    // swapped: the lines
	prevInsts []metricInsts // of the last dynamic header
	hadInsts  bool          // prevInsts is set

	csv    csvState
	ranked [][]pmrep.Value // overall ranking
	arch   *importer.Importer
	rec    *recorded
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
	p.output = s["output"]
	if p.output != outArchive && p.output != outCSV && p.output != outStdout {
		return errorf("Error while parsing options: Invalid output target specified.")
	}
	if output == outCSV {
		p.output = outCSV
	}
	s["output"] = p.output
	if err := p.checkArchive(); err != nil {
		return err
	}
	if s.On("separate_header") && !s.On("width") {
		s["width"] = "8"
	}
	p.corner, p.swapped = s["colxrow"], false
	if _, ok := s["colxrow"]; ok {
		p.swapped = true
	}
	rank, _ := s.Int("rank")
	p.overallAlt = s.On("overall_rank_alt")
	p.overall = s.On("overall_rank") || p.overallAlt
	if rank == 0 && p.overall {
		return errorf("Overall ranking requires ranking enabled.")
	}
	if p.overall && (!r.Archive || p.output != outStdout) {
		return errorf("Overall ranking supported only with archive input and stdout output.")
	}
	if p.overall {
		s["header"], p.swapped = "0", false
		delete(s, "predicate")
	}
	p.json = r.Options.JSON
	if err := p.checkJSON(); err != nil {
		return err
	}
	p.dynamic, p.fixed = s.On("dynamic_header"), s.On("fixed_header")
	if p.output == outArchive {
		p.dynamic, p.fixed = false, false
	}
	if !p.swapped || p.output != outStdout || p.dynamic {
		p.fixed = false
	}
	if s["names_change"] == "2" {
		p.fixed, p.dynamic = false, true
	}
	p.static = !p.fixed && !p.dynamic
	if !r.Archive {
		s["interpol"] = "1"
	}
	r.Interpolated = s.On("interpol")
	if err := r.Resolve(p.ctx); err != nil {
		return err
	}
	p.set = r.Set
	return p.checkSort()
}

func errorf(format string, args ...any) error { return &conf.Error{Text: fmt.Sprintf(format, args...)} }

// auto is a setting of repeat_header: repeat it for each screenful.
const auto = "auto"

func (p *reporter) checkRepeat() (err error) {
	if p.r.Settings["repeat_header"] != auto {
		p.repeat, err = p.r.Settings.Natural("repeat_header")
	}
	return err
}

func (p *reporter) checkArchive() error {
	if p.output != outArchive {
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
		i := p.set.Find(name)
		if i < 0 {
			return errorf("Sort reference metric %s not part of metrics.", name)
		}
		if p.set.Metrics[i].Flat() {
			return errorf("Sort reference metric must have instances.")
		}
	}
	return nil
}

// execute prints headers and samples.
func (p *reporter) execute() error {
	s := p.r.Settings
	p.debug()
	if err := p.r.Prepare(p.ctx, p.output == outArchive); err != nil {
		return err
	}
	p.prepare()
	if err := p.openOutput(); err != nil {
		return err
	}
	printed := p.r.Detached() && p.outFile == "" && p.output != outArchive
	if printed { // first line, depending on the program name
		p.out.Reset(io.Discard)
	}
	if p.output == outStdout {
		p.format(nil)
	}
	if s.Is1("extheader") {
		p.writeExtHeader()
	}
	p.header = s.Is1("header")
	if p.header && !p.dynamic {
		p.writeHeader(nil, false)
	}
	if printed {
		p.out.Reset(p.env.Stdout)
	}
	p.setRepeat()
	if p.r.Check {
		return p.flush()
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.r.Silent = p.outFile != ""
	if err := p.r.Run(p.ctx, p); err != nil {
		return err
	}
	return p.goodbye()
}

// prepare determines the format of lines.
func (p *reporter) prepare() {
	s := p.r.Settings
	p.delim, p.timeFormat = "  ", "%H:%M:%S"
	if p.output == outCSV {
		p.delim, p.timeFormat = ",", "%Y-%m-%d %H:%M:%S"
	}
	if d, ok := s["delimiter"]; ok {
		p.delim = d
	}
	if f, ok := s["timefmt"]; ok {
		p.timeFormat = f
	}
	p.stamps = s.On("timestamp") && p.timeFormat != ""
	p.unitInfo, p.instInfo = s.On("unitinfo"), s.On("instinfo")
	p.separate, p.labelled = s.On("separate_header"), s.On("include_labels")
	p.clock = metricset.NewClock(p.timeFormat, p.r.Loc)
	p.stampWidth = runes(p.clock.Format(pcp.TimestampOf(time.Now())))
	p.empty = -1
}

// openOutput opens the output.
func (p *reporter) openOutput() error {
	var w io.Writer = p.env.Stdout
	if p.output != outArchive && p.outFile != "" {
		f, err := os.OpenFile(p.outFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return err
		}
		p.file, w = f, f
	}
	p.out = bufio.NewWriterSize(w, 1<<16)
	return nil
}

// setRepeat sets the number of lines after which the header is repeated.
func (p *reporter) setRepeat() {
	if !p.header {
		p.repeat = 0
		return
	}
	if p.r.Settings["repeat_header"] == auto && p.static {
		p.repeatAuto = true
		p.autoRepeat()
	}
}

// autoRepeat determines how many samples fit on the terminal.
func (p *reporter) autoRepeat() {
	lines := p.terminalLines()
	header := 2
	if p.unitInfo {
		header = 3
	}
	if !p.swapped {
		if slices.ContainsFunc(p.set.Metrics, func(m *pmrep.Metric) bool { return m.Desc.InDom != pcp.InDomNull }) {
			header++
		}
		p.repeat = lines - header
		return
	}
	insts := make(map[int32]bool)
	for _, m := range p.set.Metrics {
		for _, in := range m.Instances {
			insts[in.Inst] = true
		}
	}
	p.repeat = lines/len(insts) - (header - 1)
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
	if p.output == outStdout && !p.dynamic && !p.json {
		if p.repeatAuto {
			p.autoRepeat()
		}
		if p.lines > 0 && p.repeat == p.lines || p.repeatAuto && p.lines >= p.repeat {
			p.writeHeader(nil, true)
			p.lines = 0
		}
		p.lines++
	}
	var err error
	switch {
	case p.json:
		p.writeJSON(s)
	case p.overall:
		p.rankOverall(s)
	case p.output == outArchive:
		err = p.writeArchive(s)
	case p.output == outCSV:
		p.writeCSV(s)
	case p.swapped:
		p.writeSwapped(s)
	default:
		p.writeColumns(s)
	}
	if err != nil {
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

// goodbye writes the text after the last sample.
func (p *reporter) goodbye() error {
	if p.overall {
		p.writeOverall()
	}
	return p.flush()
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
	if e := p.endArchive(); err == nil {
		err = e
	}
	return err
}
