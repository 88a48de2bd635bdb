package perfevent

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Conf is the contents of a file perfevent.conf.
type Conf struct {
	sections []section
	dynamic  []setting // events by the names of the kernel's directories
	derived  []derivation
}

// A section lists events for a processor that has one of its PMUs.
type section struct {
	pmus   []string
	events []setting
}

// A derivation is a metric that is the sum of events. The first group whose events are all counted is used.
type derivation struct {
	name   string
	line   int
	groups [][]setting
}

// A setting is a line about an event.
type setting struct {
	name      string
	line      int
	on        choice
	scale     float64
	perfScale bool // the scale is that of the kernel
	raw       uint64
	hasRaw    bool
	params    map[string]uint64
}

// A choice is where an event is counted. A choice of 0 or more is the place of a processor in the list of those that are online.
type choice int

const (
	everywhere choice = -1 - iota // no choice: all processors, or those of the PMU
	eachCPU
	oneCPU // another for each event
	eachNode
	oneOfNode // the same processor of each node, another for each event
)

func choices(word string) (choice, bool) {
	switch word {
	case "cpu":
		return eachCPU, true
	case "cpu_rr":
		return oneCPU, true
	case "node":
		return eachNode, true
	case "node_rr":
		return oneOfNode, true
	}
	n, err := strconv.ParseUint(word, 10, 16)
	return choice(n), err == nil
}

// params are the parameters of events that a setting can have, with the largest value of each; 0 is the smallest, and 1 that of domain.
func params() map[string]uint64 {
	const most = math.MaxInt32
	return map[string]uint64{
		"chip": most, "core": most, "domain": 6, "lpar": most, "phys_processor_idx": most, "partition_id": most, "hw_chip_id": most, "sibling_part_id": most,
	}
}

// Limits of the file.
const (
	maxLine     = 64 << 10 // bytes of a line
	maxSettings = 16384
)

// Parse reads a file perfevent.conf. Errors have the name of the file and the line.
func Parse(r io.Reader, path string) (Conf, error) {
	p := parser{known: params()}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		p.line++
		if err := p.take(withoutComment(in.Text())); err != nil {
			return Conf{}, fmt.Errorf("%s:%d: %w", path, p.line, err)
		}
	}
	if err := in.Err(); err != nil {
		return Conf{}, fmt.Errorf("%s:%d: %w", path, p.line+1, err)
	}
	return p.conf, nil
}

// withoutComment returns a line up to a # at its start or behind a blank.
func withoutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}

// A parser knows the section that it is in.
type parser struct {
	conf  Conf
	known map[string]uint64
	in    part
	line  int
	count int
}

// A part is a kind of section.
type part int

const (
	nowhere part = iota
	ofPMU
	ofKernel
	derived
)

func (p *parser) take(line string) error {
	switch {
	case line == "":
		return nil
	case line[0] == '[':
		return p.begin(line)
	case line == "||":
		if p.in != derived {
			return fmt.Errorf("|| is outside of a section [NAME:derived]")
		}
		d := &p.conf.derived[len(p.conf.derived)-1]
		d.groups = append(d.groups, nil)
		return nil
	}
	s, err := p.setting(line)
	if err != nil {
		return err
	}
	if p.count++; p.count > maxSettings {
		return fmt.Errorf("the file has more than %d events", maxSettings)
	}
	switch p.in {
	case ofPMU:
		last := &p.conf.sections[len(p.conf.sections)-1]
		last.events = append(last.events, s)
	case ofKernel:
		p.conf.dynamic = append(p.conf.dynamic, s)
	case derived:
		d := &p.conf.derived[len(p.conf.derived)-1]
		group := &d.groups[len(d.groups)-1]
		*group = append(*group, s)
	default:
		return fmt.Errorf("%.60q is before the first section", s.name)
	}
	return nil
}

// begin reads the line that begins a section.
func (p *parser) begin(line string) error {
	names, err := sectionNames(line)
	if err != nil {
		return err
	}
	name, isDerived := strings.CutSuffix(names[0], ":derived")
	switch {
	case isDerived && len(names) == 1:
		p.in = derived
		p.conf.derived = append(p.conf.derived, derivation{name: name, line: p.line, groups: make([][]setting, 1)})
	case slices.Contains(names, "dynamic") && len(names) == 1:
		p.in = ofKernel
	case slices.ContainsFunc(names, func(s string) bool { return s == "dynamic" || strings.HasSuffix(s, ":derived") }):
		return fmt.Errorf("dynamic or NAME:derived is the only name of its section")
	default:
		p.in = ofPMU
		p.conf.sections = append(p.conf.sections, section{pmus: names})
	}
	return nil
}

// sectionNames reads "[NAME "OTHER NAME"]".
func sectionNames(line string) ([]string, error) {
	var names []string
	rest := line[1:]
	for {
		rest = strings.TrimLeft(rest, " \t")
		switch {
		case rest == "]" && len(names) > 0:
			return names, nil
		case rest == "" || rest[0] == ']':
			return nil, fmt.Errorf("a section begins with a line [NAME], not %.60q", line)
		case rest[0] == '"':
			name, after, ok := strings.Cut(rest[1:], `"`)
			if !ok {
				return nil, fmt.Errorf("a name has no closing quote")
			}
			names, rest = append(names, name), after
		default:
			n := strings.IndexAny(rest, " \t]\"")
			if n < 0 {
				return nil, fmt.Errorf("a section begins with a line [NAME], not %.60q", line)
			}
			names, rest = append(names, rest[:n]), rest[n:]
		}
	}
}

// setting reads a line about an event.
func (p *parser) setting(line string) (setting, error) {
	words := strings.Fields(line)
	s := setting{name: words[0], line: p.line, on: everywhere, scale: 1}
	if c := s.name[0] | 0x20; c < 'a' || c > 'z' {
		return s, fmt.Errorf("%.60q: the name of an event begins with a letter", s.name)
	}
	for _, c := range []byte(s.name) {
		if c <= ' ' || c > '~' {
			return s, fmt.Errorf("%.60q: the name of an event has printable ASCII characters only", s.name)
		}
	}
	for _, word := range words[1:] {
		if err := p.option(&s, word); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (p *parser) option(s *setting, word string) error {
	if on, ok := choices(word); ok {
		s.on = on
		return nil
	}
	if code, ok := strings.CutPrefix(word, "rawcode=0x"); ok && p.in == ofPMU {
		n, err := strconv.ParseUint(code, 16, 64)
		if err != nil {
			return fmt.Errorf("%.60q: a hexadecimal number is needed behind rawcode=", word)
		}
		s.raw, s.hasRaw = n, true
		return nil
	}
	if p.in == derived {
		if word == "perf_scale" {
			s.perfScale = true
			return nil
		}
		if v, err := strconv.ParseFloat(word, 64); err == nil && strings.Contains(word, ".") && !math.IsInf(v, 0) {
			s.scale = v
			return nil
		}
	}
	name, value, ok := strings.Cut(word, ":")
	if most, known := p.known[name]; ok && known && p.in == ofKernel {
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil || n > most || name == "domain" && n == 0 {
			return fmt.Errorf("%.60q: a number up to %d is needed", word, most)
		}
		s.params = maps.Clone(s.params)
		if s.params == nil {
			s.params = make(map[string]uint64)
		}
		s.params[name] = n
		return nil
	}
	return fmt.Errorf("%.60q is not an option of an event in this section", word)
}
