package perfevent

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
)

// devices is the directory of PMUs, below /sys.
const devices = "bus/event_source/devices"

// A pmu is a directory of devices with its events.
type pmu struct {
	name    string
	kind    uint32
	mask    []int // processors; nil for all
	events  []string
	formats map[string]format
}

// pmus returns the PMUs that have events, in the order of their names, and the software events at the end.
func (m *machine) pmus() []*pmu {
	var list []*pmu
	names := procfs.Names(filepath.Join(m.sys, devices))
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxPMUs)] {
		dir := filepath.Join(devices, name)
		if name[0] == '.' || !procfs.Exists(filepath.Join(m.sys, dir, "events")) || !procfs.Exists(filepath.Join(m.sys, dir, "format")) {
			continue
		}
		kind, err := strconv.ParseUint(m.text(filepath.Join(dir, "type")), 10, 32)
		if err != nil {
			continue
		}
		p := &pmu{name: name, kind: uint32(kind), formats: make(map[string]format)}
		if mask, ok := cpuList(m.text(filepath.Join(dir, "cpumask"))); ok {
			p.mask = mask
		}
		for _, event := range procfs.Names(filepath.Join(m.sys, dir, "events")) {
			if event[0] != '.' && !strings.HasSuffix(event, ".scale") && !strings.HasSuffix(event, ".unit") {
				p.events = append(p.events, event)
			}
		}
		slices.Sort(p.events)
		list = append(list, p)
	}
	return append(list, &pmu{name: "software", kind: kindSoftware, events: softwareEvents()})
}

// A bitRange is where a part of a value goes: bits low to high of a configuration word, 0 to 2.
type bitRange struct{ word, low, high int }

// A format is the place of a term: the lowest bits of its value go to the first range.
type format []bitRange

// parseFormat reads a file of the directory format: "config:0-7,32-35".
func parseFormat(text string) (format, bool) {
	word, ranges, ok := strings.Cut(text, ":")
	if !ok {
		return nil, false
	}
	at, ok := map[string]int{"config": 0, "config1": 1, "config2": 2}[word]
	if !ok {
		return nil, false
	}
	var f format
	for _, part := range strings.Split(ranges, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		low, err := strconv.ParseUint(first, 10, 8)
		high, err2 := strconv.ParseUint(last, 10, 8)
		if err != nil || err2 != nil || low > high || high > 63 || len(f) == 64 {
			return nil, false
		}
		f = append(f, bitRange{at, int(low), int(high)})
	}
	return f, true
}

// put sets a term in an attr. It reports whether the value fits.
func (f format) put(a *attr, v uint64) bool {
	for _, r := range f {
		width := r.high - r.low + 1
		part := v
		if width < 64 {
			part &= 1<<width - 1
			v >>= width
		} else {
			v = 0
		}
		switch r.word {
		case 0:
			a.config |= part << r.low
		case 1:
			a.config1 |= part << r.low
		case 2:
			a.config2 |= part << r.low
		}
	}
	return v == 0
}

// A term is a part of the description of an event: event=0x3c. A value that the user has to set is a question mark.
type term struct {
	name  string
	value uint64
	asked bool
}

// parseTerms reads a file of the directory events: "event=0x3c,umask=0x01,inv,chip=?".
func parseTerms(text string) ([]term, error) {
	var list []term
	for _, part := range strings.Split(text, ",") {
		name, value, has := strings.Cut(strings.TrimSpace(part), "=")
		t := term{name: name, value: 1, asked: value == "?"}
		if name == "" || len(list) == 64 {
			return nil, fmt.Errorf("the kernel describes it by %.60q", text)
		}
		if has && !t.asked {
			n, err := strconv.ParseUint(value, 0, 64)
			if err != nil {
				return nil, fmt.Errorf("the kernel describes it by %.60q", text)
			}
			t.value = n
		}
		list = append(list, t)
	}
	return list, nil
}

// errNoEvent is the reason for an event of a section [dynamic] that the kernel does not have.
var errNoEvent = errors.New("there is no such event in " + "/sys/" + devices)

// encodeDynamic returns what to count for an event of a PMU, and its name with the parameters that it was given.
func (m *machine) encodeDynamic(p *pmu, event string, s setting) (a attr, name string, err error) {
	name = p.name + "." + event
	a.kind = p.kind
	if p.formats == nil {
		a.config, _ = software(event)
		return a, name, nil
	}
	terms, err := parseTerms(m.text(filepath.Join(devices, p.name, "events", event)))
	if err != nil {
		return a, name, err
	}
	unused := maps.Clone(s.params)
	for _, t := range terms {
		if t.asked {
			v, given := s.params[t.name]
			if t.name == "lpar" && s.params["domain"] <= 2 {
				given, v = true, 0 // it has no meaning there
			} else if given {
				name += fmt.Sprintf("_%s_%d", t.name, v)
			}
			if !given {
				return a, name, fmt.Errorf("the event needs %s:NUMBER", t.name)
			}
			delete(unused, t.name)
			t.value = v
		}
		if err := m.put(p, &a, t); err != nil {
			return a, name, err
		}
	}
	delete(unused, "lpar")
	for _, param := range slices.Sorted(maps.Keys(unused)) {
		return a, name, fmt.Errorf("the event has no parameter %s", param)
	}
	return a, name, nil
}

// put sets a term.
func (m *machine) put(p *pmu, a *attr, t term) error {
	switch t.name {
	case "config":
		a.config |= t.value
		return nil
	case "config1":
		a.config1 |= t.value
		return nil
	case "config2":
		a.config2 |= t.value
		return nil
	case "period", "freq":
		return nil // of samples, which are not taken
	}
	f, ok := p.formats[t.name]
	if !ok {
		path := filepath.Join(devices, p.name, "format", t.name)
		if !isFileName(t.name) {
			return fmt.Errorf("the kernel describes it by the term %.60q", t.name)
		}
		if f, ok = parseFormat(m.text(path)); !ok {
			return fmt.Errorf("/sys/%s does not describe where its term %s is", path, t.name)
		}
		p.formats[t.name] = f
	}
	if !f.put(a, t.value) {
		return fmt.Errorf("%s=%#x does not fit into its bits", t.name, t.value)
	}
	return nil
}

// scale returns the factor of an event of a PMU (EVENT.scale).
func (m *machine) scale(pmu, event string) (float64, error) {
	path := filepath.Join(devices, pmu, "events", event+".scale")
	v, err := strconv.ParseFloat(m.text(path), 64)
	if err != nil {
		return 0, fmt.Errorf("/sys/%s has no scale", path)
	}
	return v, nil
}
