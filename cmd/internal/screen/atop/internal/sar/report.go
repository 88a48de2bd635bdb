package sar

import (
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// A Report is a table that an option of pcp-atopsar selects.
type Report struct {
	Flag rune
	// Categories are the categories of the resources in the report, for sums over several
	// samples.
	Categories string
	Tasks      bool // it shows tasks
	About      string
	Head       string
	head7      string // of PCP 7, "" for the same

	// The contents are one of these.
	line  func(p *Printer, in *Input) int
	rates []rate
	disks func(*sample.System) []sample.Disk
}

// Line prints the lines of a sample and returns their number; 0 if the report is not available.
func (r *Report) Line(p *Printer, in *Input) int {
	switch {
	case r.rates != nil:
		for i := range r.rates {
			c := &r.rates[i]
			p.text(c.sep)
			p.f(c.width, c.prec, float64(*c.of(in.System))/float64(in.Seconds))
		}
		p.text("\n")
		return 1
	case r.disks != nil:
		return p.diskLine(in, r.disks(in.System))
	}
	return r.line(p, in)
}

// An Input is a sample, or the sum of several.
type Input struct {
	System  *sample.System
	Seconds int64 // since the sample before
	Hertz   int64
	Stamp   string // the beginning of the second line and those that follow

	// Of tasks: nothing in live reports and sums.
	Procs                                 []*sample.Task
	HasTasks                              bool // Procs are known
	Tasks                                 int
	Running, Sleeping, DiskSleep, Zombies int
	Idle                                  int // of PCP 7
	Exited                                int

	DiskIO, NetIO bool // the source has the transfers of tasks
}

// A Printer prints reports, and remembers the tables that each has printed.
type Printer struct {
	B       []byte // the output
	Limits  figure.Limits
	All     bool // -a: inactive resources are shown too
	Color   bool
	Own     func(string) string // of the codes of colors, see cli.Env.Own
	Markers bool                // -M
	Seven   bool                // as PCP 7

	colored bool
	begun   map[string]bool // the tables of instances that were printed before
}

// The colors of critical and almost critical figures, and of heads.
const (
	headColor   = "\x1b[30;43m"
	mediumColor = "\x1b[36m"
	highColor   = "\x1b[31m"
	noColor     = "\x1b[00m"
)

// Head prints the head of a report after a time.
func (p *Printer) Head(r *Report, at string) {
	p.B = append(p.B, '\n')
	if p.Color {
		p.color(headColor)
	}
	p.text(at)
	p.text("  ")
	if p.Seven && r.head7 != "" {
		p.text(r.head7)
	} else {
		p.text(r.Head)
	}
	if p.Color {
		p.color(noColor)
	}
	p.B = append(p.B, '\n')
}

func (p *Printer) color(code string) { p.text(p.Own(code)) }

func (p *Printer) text(s string) { p.B = append(p.B, s...) }

// f prints a number in width columns with prec digits after the point.
func (p *Printer) f(width, prec int, v float64) { p.B = figure.Float(p.B, width, prec, v) }

func (p *Printer) d(width int, v int64) { p.B = figure.Int(p.B, width, v) }

// left prints a string left-aligned in width columns.
func (p *Printer) left(width int, s string) {
	p.text(s)
	for n := len(s); n < width; n++ {
		p.B = append(p.B, ' ')
	}
}

// before begins a figure with a badness: a percentage of the critical value.
func (p *Printer) before(badness uint32) {
	switch {
	case !p.Color:
	case badness >= 100:
		p.colored = true
		p.color(highColor)
	case p.almost(badness):
		p.colored = true
		p.color(mediumColor)
	}
}

func (p *Printer) almost(badness uint32) bool {
	return p.Limits.Almost != 0 && badness >= uint32(p.Limits.Almost)
}

// after ends it, and the line.
func (p *Printer) after(badness uint32) {
	if p.colored {
		p.colored = false
		p.color(noColor)
	}
	if p.Markers {
		if badness >= 100 {
			p.text(" *")
		} else if p.almost(badness) {
			p.text(" +")
		}
	}
	p.B = append(p.B, '\n')
}

// first reports whether a table is printed for the first time; the caller records that it was
// printed.
func (p *Printer) first(table string) bool { return !p.begun[table] }

func (p *Printer) done(table string, lines int) int {
	if p.begun == nil {
		p.begun = make(map[string]bool)
	}
	p.begun[table] = true
	if lines == 0 {
		p.B = append(p.B, '\n')
		return 1
	}
	return lines
}

// next begins the line of one more instance.
func (p *Printer) next(in *Input, lines int) {
	if lines > 0 {
		p.text(in.Stamp)
		p.text("  ")
	}
}

// unsigned converts f to C's 32 bits.
func unsigned(f float64) uint32 { return uint32(figure.Count(f)) }

// A rate is a column with a count per second, after the separator from the column before.
type rate struct {
	sep         string
	width, prec int
	of          func(*sample.System) *sample.Count
}

// tail returns the end of a string, of at most n bytes.
func tail(s string, n int) string { return s[max(len(s)-n, 0):] }
