package parseable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A Label is the name of a kind of lines.
type Label struct {
	Name string
	line func(*Printer, *Input)
}

// Labels are all labels, in the order in which they are printed.
var Labels = []Label{
	{"CPU", (*Printer).allCPU},
	{"cpu", (*Printer).eachCPU},
	{"CPL", (*Printer).load},
	{"GPU", (*Printer).gpu},
	{"MEM", (*Printer).memory},
	{"SWP", (*Printer).swap},
	{"PAG", (*Printer).paging},
	{"PSI", (*Printer).pressure},
	{"LVM", func(p *Printer, in *Input) { p.disks(in.System.Volumes) }},
	{"MDD", func(p *Printer, in *Input) { p.disks(in.System.Arrays) }},
	{"DSK", func(p *Printer, in *Input) { p.disks(in.System.Disks) }},
	{"NFM", (*Printer).mounts},
	{"NFC", (*Printer).nfsClient},
	{"NFS", (*Printer).nfsServer},
	{"NET", (*Printer).net},
	{"IFB", (*Printer).ports},
	{"NUM", (*Printer).nodeMemory},
	{"NUC", (*Printer).nodeCPU},
	{"LLC", (*Printer).caches},
	{"PRG", (*Printer).general},
	{"PRC", (*Printer).taskCPU},
	{"PRM", (*Printer).taskMemory},
	{"PRD", (*Printer).taskDisk},
	{"PRN", (*Printer).taskNet},
	{"PRE", (*Printer).taskGPU},
}

// Parse returns the labels of a list that commas separate. ALL selects all labels. An error is in the words of C.
func Parse(list string) (chosen []bool, err error) {
	if strings.HasPrefix(list, "-") {
		return nil, fmt.Errorf("flag -P should be followed by label list")
	}
	chosen = make([]bool, len(Labels))
	for list != "" {
		var name string
		name, list, _ = strings.Cut(list, ",")
		i := slices.IndexFunc(Labels, func(l Label) bool { return l.Name == name })
		switch {
		case i >= 0:
			chosen[i] = true
		case name == "ALL":
			for i := range chosen {
				chosen[i] = true
			}
			return chosen, nil
		default:
			return nil, fmt.Errorf("label %s not found", name)
		}
	}
	return chosen, nil
}

// Tasks reports whether one of the labels is about tasks.
func Tasks(chosen []bool) bool {
	first := slices.IndexFunc(Labels, func(l Label) bool { return l.Name == "PRG" })
	return slices.Contains(chosen[first:], true)
}

// An Input is a sample.
type Input struct {
	*sample.Deviation
	Time    float64
	Seconds float64
	Boot    bool // since the system was started

	DiskIO, NetIO, CGroups bool
}

// A Printer writes samples.
type Printer struct {
	Chosen   []bool // of Labels
	Host     *sample.Host
	Zone     *time.Location
	NoSpaces bool // -Z
	Seven    bool // the fields of PCP 7

	b      []byte
	header []byte
}

// Append appends the lines of a sample.
func (p *Printer) Append(b []byte, in *Input) []byte {
	p.b = b
	if in.Boot {
		p.b = append(p.b, "RESET\n"...)
	}
	at := time.Unix(int64(in.Time), 0).In(p.Zone)
	for i, l := range Labels {
		if !p.Chosen[i] {
			continue
		}
		p.header = append(p.header[:0], l.Name...)
		p.header = append(append(p.header, ' '), p.Host.Node...)
		p.header = append(strconv.AppendInt(append(p.header, ' '), int64(in.Time), 10), ' ')
		p.header = at.AppendFormat(p.header, "2006/01/02 15:04:05 ")
		p.header = strconv.AppendInt(p.header, int64(int32(in.Seconds)), 10)
		p.header = p.header[:min(len(p.header), 255)]
		l.line(p, in)
	}
	p.b = append(p.b, "SEP\n"...)
	return p.b
}

// begin begins a line, and end ends it. Each item between them is preceded by a space.
func (p *Printer) begin() { p.b = append(p.b, p.header...) }
func (p *Printer) end()   { p.b = append(p.b, '\n') }

func (p *Printer) counts(list ...sample.Count) {
	for _, n := range list {
		p.b = strconv.AppendInt(append(p.b, ' '), n, 10)
	}
}

func (p *Printer) numbers(list ...int32) {
	for _, n := range list {
		p.b = strconv.AppendInt(append(p.b, ' '), int64(n), 10)
	}
}

func (p *Printer) word(s string) { p.b = append(append(p.b, ' '), s...) }
func (p *Printer) char(c byte)   { p.b = append(p.b, ' ', c) }

func (p *Printer) float(prec int, f float64) {
	p.b = ctext.AppendFloat(append(p.b, ' '), f, 'f', prec)
}

func (p *Printer) yes(is bool) {
	if is {
		p.char('y')
	} else {
		p.char('n')
	}
}

// name writes a string that may have spaces: in parentheses, or with underscores.
func (p *Printer) name(s string) {
	p.b = append(p.b, ' ')
	if !p.NoSpaces {
		p.b = append(append(append(p.b, '('), s...), ')')
		return
	}
	if s == "" {
		s = "_"
	}
	start := len(p.b)
	p.b = append(p.b, s...)
	for i := start; i < len(p.b); i++ {
		if p.b[i] == ' ' {
			p.b[i] = '_'
		}
	}
}
