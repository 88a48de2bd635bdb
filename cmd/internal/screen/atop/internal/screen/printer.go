package screen

import (
	"regexp"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// Unlimited is the number of lines of a resource without a limit.
const Unlimited = 999

// Lines are the maximum numbers of lines of resources.
type Lines struct {
	CPU, GPU, Disk, Array, Volume, Interface, Port, Mount, Node, Cache int
}

// Settings are the settings of options, an atoprc and keys.
type Settings struct {
	Limits      figure.Limits
	List        list
	Order       byte
	Threads     bool // y
	SortThreads bool // Y
	Fixed       bool // f: inactive resources are shown too
	NoSort      bool // F: resources are not sorted
	Average     bool // 1
	All         bool // a: inactive processes are shown too
	NoExited    bool // G
	Colors      bool // not x
	Plain       bool // the terminal shows no colors
	Seven       bool // show what PCP 7 shows
	Max         Lines
	Width       int // of text

	Palette struct{ Info, Almost, Critical, Thread int } // colors of a terminal
	Select  Selection
	OwnRow  []cell // the columns of the list o
	own     map[kind][]item
}

// NewSettings returns those without options, of PCP 7 if seven.
func NewSettings(seven bool) *Settings {
	s := &Settings{
		Seven: seven, Limits: figure.DefaultLimits, List: General, Order: ByCPU, Colors: true, Width: 80,
		Max: Lines{Unlimited, Unlimited, Unlimited, Unlimited, Unlimited, Unlimited, Unlimited, Unlimited, Unlimited, Unlimited},
		own: make(map[kind][]item),
	}
	if seven {
		s.Limits.Disk = 90
	}
	s.Select.Threads = seven
	s.Palette.Info, s.Palette.Almost, s.Palette.Critical, s.Palette.Thread = 2, 6, 1, 3
	return s
}

// SetOwn sets the fields of the line that a tag of an atoprc names, or the columns of the list o. It reports whether
// there is such a tag. An error is in the words of C.
func (s *Settings) SetOwn(tag, text string) (found bool, err error) {
	if tag == "ownprocline" {
		s.OwnRow, err = cells(text, tag)
		return true, err
	}
	for k := range layouts() {
		if l := &layouts()[k]; l.own == tag {
			s.own[kind(k)], err = l.items(text, tag, nil, s.Seven)
			return true, err
		}
	}
	return false, nil
}

// Limit sets the limits of resources that have no limit yet (l).
func (m *Lines) Limit() {
	for _, l := range []struct {
		to *int
		n  int
	}{{&m.CPU, 0}, {&m.GPU, 2}, {&m.Disk, 3}, {&m.Array, 3}, {&m.Volume, 4}, {&m.Interface, 2}, {&m.Port, 2}, {&m.Mount, 2}, {&m.Node, 0}, {&m.Cache, 0}} {
		if *l.to == Unlimited {
			*l.to = l.n
		}
	}
}

// A Selection selects the processes and resources shown.
type Selection struct {
	Users                      []int32 // nil: all
	PIDs                       []int32
	Name, Command              *regexp.Regexp
	Container                  string // "H": none
	States                     string
	Threads                    bool // states and PIDs of threads count for their process, as in PCP 7
	Disks, Volumes, Interfaces *regexp.Regexp
}

// tasks reports whether a selection leaves out tasks.
func (s *Selection) tasks() bool {
	return s.Users != nil || s.PIDs != nil || s.Name != nil || s.Command != nil || s.Container != "" || s.States != ""
}

// leavesOut reports whether a task is not selected.
func (s *Selection) leavesOut(t *sample.Task) bool {
	switch {
	case s.Users != nil && !has(s.Users, t.RUID), s.PIDs != nil && !s.hasPID(t),
		s.Name != nil && !s.Name.MatchString(t.Name),
		s.Container == "H" && t.Container != "",
		s.Container != "" && s.Container != "H" && t.Container != s.Container,
		s.States != "" && !s.hasState(t):
		return true
	case s.Command == nil:
		return false
	case t.Command != "":
		return !s.Command.MatchString(t.Command)
	}
	return !s.Command.MatchString(t.Name)
}

func has(list []int32, n int32) bool {
	for _, m := range list {
		if m == n {
			return true
		}
	}
	return false
}

func (s *Selection) hasPID(t *sample.Task) bool {
	if s.Threads {
		return has(s.PIDs, t.TGID)
	}
	return has(s.PIDs, t.PID)
}

// hasState reports whether a task is in a selected state.
func (s *Selection) hasState(t *sample.Task) bool {
	is := func(state byte) bool { return strings.IndexByte(s.States, state) >= 0 }
	return is(t.State) || s.Threads && (is('R') && t.Running > 0 || is('S') && t.Sleeping > 0 || is('D') && t.DiskSleep > 0 || is('I') && t.Idle > 0)
}

// A Printer shows samples.
type Printer struct {
	*Settings
	Zone *time.Location

	s      *sample.Sampler
	b      []byte  // text
	canvas *Canvas // nil: text
	begun  bool
	tmp    []byte

	items [kinds][]item
	shown []item

	pidWidth, sortWidth int
	fitted              []cell
	spaces              []int
	wideWidth           int
	offset              int // how far command lines are scrolled
	listed              map[list][]cell
	generalText         string

	// Texts that stay in C's buffers from one line to the next.
	lastScale, lastScaleOne, lastFreqOne string
	saidAccounting                       bool

	list []*sample.Task // the processes shown
	sums []sample.Task
	zip  []*sample.Task
}

// New returns a Printer of a Sampler's samples.
func New(set *Settings, s *sample.Sampler, zone *time.Location) *Printer {
	p := &Printer{
		Settings: set, Zone: zone, s: s, listed: make(map[list][]cell),
		lastScale: "scaling    ?", lastScaleOne: "scaling    ?",
	}
	p.pidWidth = len(figure.Int(nil, 0, int64(s.Host.MaxPID)))
	return p
}

func (p *Printer) onScreen() bool { return p.canvas != nil }

// width returns how wide lines may be.
func (p *Printer) width() int {
	if p.onScreen() {
		return p.canvas.Cols
	}
	return p.Width
}

func (p *Printer) print(s string) {
	if p.onScreen() {
		p.canvas.put(s)
	} else {
		p.b = append(p.b, s...)
	}
}

func (p *Printer) printBytes(b []byte) {
	if p.onScreen() {
		p.canvas.put(string(b))
	} else {
		p.b = append(p.b, b...)
	}
}

// newline ends a line.
func (p *Printer) newline() {
	if p.onScreen() {
		p.canvas.move(p.canvas.row+1, 0)
	} else {
		p.b = append(p.b, '\n')
	}
}

// colored reports whether a terminal gets colors.
func (p *Printer) colored() bool { return p.Colors && !p.Plain }

// styled prints in a color, or without colors in bold.
func (p *Printer) styled(c color, print func()) {
	if !p.onScreen() || c == colorNone {
		print()
		return
	}
	before := p.canvas.style
	if p.colored() {
		p.canvas.style.color = p.paint(c)
	} else {
		p.canvas.style.bold = true
	}
	print()
	p.canvas.style = before
}

// paint returns the color of a terminal, counted from 1.
func (p *Printer) paint(c color) int {
	switch c {
	case colorInfo:
		return p.Palette.Info + 1
	case colorAlmost:
		return p.Palette.Almost + 1
	case colorCrit:
		return p.Palette.Critical + 1
	case colorThread:
		return p.Palette.Thread + 1
	}
	return 0
}

// thread prints the row of a thread in its color, that of its process perhaps in bold.
func (p *Printer) thread(c color, bold bool, print func()) {
	if !p.onScreen() {
		print()
		return
	}
	before := p.canvas.style
	p.canvas.style.color, p.canvas.style.bold = p.paint(c), bold
	print()
	p.canvas.style = before
}

// label prints the label of a line about the system.
func (p *Printer) label(s string, badness uint32) {
	switch {
	case !p.onScreen():
		p.print(s)
	case badness >= 100:
		blink := p.canvas.style.blink
		p.canvas.style.blink = true
		p.styled(colorCrit, func() { p.print(s) })
		p.canvas.style.blink = blink
	case p.almost(badness):
		p.styled(colorAlmost, func() { p.print(s) })
	default:
		p.print(s)
	}
}

// SetList sets the list or order that a flag selects. It reports whether there is such a
// flag.
func (s *Settings) SetList(flag byte) bool {
	switch flag {
	case ByCPU, ByMemory, ByDisk, ByNet, ByGPU, Auto:
		s.Order = flag
	case byte(General), byte(Schedule):
		s.List, s.Order = list(flag), ByCPU
	case byte(Memory):
		s.List, s.Order = Memory, ByMemory
	case byte(Disk):
		s.List, s.Order = Disk, ByDisk
	case byte(Net):
		s.List, s.Order = Net, ByNet
	case byte(GPUs):
		s.List, s.Order = GPUs, ByGPU
	case byte(Various), byte(Arguments), byte(Groups), byte(Own), byte(Users), byte(Programs), byte(Container):
		s.List = list(flag)
	default:
		return false
	}
	return true
}
