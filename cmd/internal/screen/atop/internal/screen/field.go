package screen

import (
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// A field is a figure in a line about the system, of twelve columns.
type field struct {
	name string // in an atoprc
	put  func(x *line)
	// valid reports whether a system has the resource; nil: all have.
	valid func(s *sample.System) bool
	// always7 is set if all systems have the resource in PCP 7.
	always7 bool
}

// A color is the color of a figure on a terminal.
type color int

const (
	colorDefault color = -1 // the color of the badness of the line
	colorNone    color = 0
	colorInfo    color = 2
	colorAlmost  color = 3
	colorCrit    color = 4
	colorThread  color = 5
)

// A line is the input of the fields of a line.
type line struct {
	p       *Printer
	s       *sample.System
	b       []byte // the text of the field
	color   color
	missing bool // the figure is missing now

	seconds float64
	average bool // figures per second
	index   int  // in a table
	disks   []sample.Disk

	// Of all tasks.
	user, sys                                    sample.Count
	procs, running, sleeping, diskSleep, zombies int
	idle                                         int
	exited, overflow                             int

	ms        sample.Count // of processor time in the interval, per processor
	transfers sample.Count // of the disk
	total     sample.Count // processor time: of all,
	perCPU    sample.Count // and of one
}

// trim cuts the text of a field to the size of C's buffer.
func (x *line) trim(size int) { x.b = x.b[:min(len(x.b), size)] }

// div is the interval for averages, 0 for totals.
func (x *line) div() int {
	if x.average {
		return int(x.seconds)
	}
	return 0
}

// The sizes of C's buffers, without the NUL.
const (
	short = 14
	long  = 15
)

// count returns a field with a label and a count in width columns, which may be a rate per
// second.
func count(name, label string, width int, of func(x *line) sample.Count) field {
	return field{name: name, put: func(x *line) {
		x.b = append(x.b, label...)
		x.b = figure.Value(x.b, of(x), width, x.div())
		x.trim(long)
	}}
}

// number returns a field with a label and a count that is never a rate.
func number(name, label string, width, size int, of func(x *line) sample.Count) field {
	return field{name: name, put: func(x *line) {
		x.b = append(x.b, label...)
		x.b = figure.Value(x.b, of(x), width, 0)
		x.trim(size)
	}}
}

// colored returns a field that has the color of its line.
func colored(f field) field {
	put := f.put
	f.put = func(x *line) {
		x.color = colorDefault
		put(x)
	}
	return f
}

// onlyIf returns a field that only some systems have.
func onlyIf(f field, valid func(s *sample.System) bool) field {
	f.valid = valid
	return f
}

// since7 returns a field that all systems have in PCP 7.
func since7(f field) field {
	f.always7 = true
	return f
}

// memory returns a field with a label and a number of bytes, with the color of its line.
func memory(name, label string, of func(x *line) sample.Count) field {
	return colored(plainMemory(name, label, of))
}

func plainMemory(name, label string, of func(x *line) sample.Count) field {
	return field{name: name, put: func(x *line) {
		x.b = append(x.b, label...)
		x.b = figure.Memory(x.b, of(x), figure.MiB, 0)
		x.trim(long)
	}}
}

// share returns a field with a label and a percentage in width columns, cut to size.
func share(name, label string, width, size int, of func(x *line) float64) field {
	return field{name: name, put: func(x *line) {
		f := float32(of(x))
		if f < 0 {
			f = 0
		}
		if f > 1 {
			x.color = colorDefault
		}
		x.b = append(x.b, label...)
		x.b = append(figure.Float(x.b, width, 0, float64(f)), '%')
		x.trim(size)
	}}
}

// quiet returns a field that never has the color of its line.
func quiet(f field) field {
	put := f.put
	f.put = func(x *line) {
		put(x)
		x.color = colorNone
	}
	return f
}

var blankBox = field{name: "BLANKBOX", put: func(x *line) { x.b = append(x.b, "            "...) }}
