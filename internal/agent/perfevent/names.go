package perfevent

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An attr is what perf_event_open(2) is to count (struct perf_event_attr).
type attr struct {
	kind                                    uint32
	config, config1, config2                uint64
	noUser, noKernel, noHypervisor, noGuest bool
}

// Kinds of events (PERF_TYPE_*).
const (
	kindHardware   = 0
	kindSoftware   = 1
	kindTracepoint = 2
	kindCache      = 3
	kindRaw        = 4
)

// hardware returns the number of an event that the kernel has for all processors (PERF_COUNT_HW_*), by its lower-case name.
func hardware(name string) (uint64, bool) {
	switch strings.TrimPrefix(name, "perf_count_hw_") {
	case "cpu-cycles", "cycles", "cpu_cycles":
		return 0, true
	case "instructions":
		return 1, true
	case "cache-references", "cache_references":
		return 2, true
	case "cache-misses", "cache_misses":
		return 3, true
	case "branch-instructions", "branches", "branch_instructions":
		return 4, true
	case "branch-misses", "branch_misses":
		return 5, true
	case "bus-cycles", "bus_cycles":
		return 6, true
	case "stalled-cycles-frontend", "idle-cycles-frontend", "stalled_cycles_frontend":
		return 7, true
	case "stalled-cycles-backend", "idle-cycles-backend", "stalled_cycles_backend":
		return 8, true
	case "ref-cycles", "ref_cpu_cycles":
		return 9, true
	}
	return 0, false
}

// software returns the number of an event of the kernel itself (PERF_COUNT_SW_*), by its lower-case name.
func software(name string) (uint64, bool) {
	switch strings.TrimPrefix(name, "perf_count_sw_") {
	case "cpu-clock", "cpu_clock":
		return 0, true
	case "task-clock", "task_clock":
		return 1, true
	case "page-faults", "faults", "page_faults":
		return 2, true
	case "context-switches", "cs", "context_switches":
		return 3, true
	case "cpu-migrations", "migrations", "cpu_migrations":
		return 4, true
	case "minor-faults", "page_faults_min":
		return 5, true
	case "major-faults", "page_faults_maj":
		return 6, true
	case "alignment-faults", "alignment_faults":
		return 7, true
	case "emulation-faults", "emulation_faults":
		return 8, true
	}
	return 0, false
}

// softwareEvents are the names of software events in a section [dynamic], below "software", in alphabetical order.
func softwareEvents() []string {
	return []string{
		"alignment-faults", "context-switches", "cpu-clock", "cpu-migrations", "emulation-faults", "major-faults", "minor-faults", "page-faults", "task-clock",
	}
}

// cache returns the number of an event of a cache (PERF_COUNT_HW_CACHE_*), by its lower-case name as perf(1) has it: l1-dcache-load-misses.
func cache(name string) (uint64, bool) {
	for id, prefix := range [...]string{"l1-dcache-", "l1-icache-", "llc-", "dtlb-", "itlb-", "branch-", "node-"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		for op, word := range [...][2]string{{"loads", "load-misses"}, {"stores", "store-misses"}, {"prefetches", "prefetch-misses"}} {
			switch rest {
			case word[0]:
				return uint64(id | op<<8), true
			case word[1]:
				return uint64(id | op<<8 | 1<<16), true
			}
		}
	}
	return 0, false
}

// architectural returns the event in the kernel that a processor of Intel calls name, of those that all its processors have ([ix86arch]).
func architectural(name string) (string, bool) {
	event, ok := map[string]string{
		"unhalted_core_cycles": "cycles", "instruction_retired": "instructions", "instructions_retired": "instructions",
		"unhalted_reference_cycles": "ref-cycles", "llc_references": "cache-references", "llc_misses": "cache-misses",
		"branch_instructions_retired": "branches", "mispredicted_branch_retired": "branch-misses",
	}[strings.ToLower(name)]
	return event, ok
}

// The errors of events that only libpfm knows.
var (
	errUnknown = errors.New("not supported: the kernel has no event of that name, and the agent has no tables of processors (libpfm); " +
		"use RAW:NAME rawcode=0xCODE, or PMU.EVENT in a section [dynamic]")
	errRAPL = errors.New("not supported: use power.energy-pkg and others in a section [dynamic], or the agent denki")
)

// encode returns what to count for the name of an event in a section for PMUs.
func (m *machine) encode(s setting, pmus []string) (attr, error) {
	if strings.HasPrefix(s.name, "RAW:") {
		if !s.hasRaw {
			return attr{}, errors.New("a raw event needs rawcode=0xCODE")
		}
		return attr{kind: kindRaw, config: s.raw, noHypervisor: true, noGuest: true}, nil
	}
	if s.hasRaw {
		return attr{}, errors.New("only a raw event (RAW:NAME) can have a rawcode")
	}
	if strings.HasPrefix(s.name, "RAPL:") {
		return attr{}, errRAPL
	}
	a := attr{noHypervisor: true}
	name := strings.TrimPrefix(s.name, "perf::")
	if id, err := m.tracepoint(name); err == nil {
		a.kind, a.config = kindTracepoint, id
		return a, nil
	}
	name, modifiers, _ := strings.Cut(name, ":")
	if err := a.modify(modifiers); err != nil {
		return a, err
	}
	for _, pmu := range pmus {
		if event, ok := architectural(name); ok && pmu == intel {
			name = event
		}
	}
	name = strings.ToLower(name)
	var ok bool
	if a.config, ok = hardware(name); ok {
		a.kind = kindHardware
		return a, nil
	}
	if a.config, ok = software(name); ok {
		a.kind = kindSoftware
		return a, nil
	}
	if a.config, ok = cache(name); ok {
		a.kind = kindCache
		return a, nil
	}
	if code, isRaw := strings.CutPrefix(name, "r"); isRaw {
		if n, err := strconv.ParseUint(code, 16, 64); err == nil {
			a.kind, a.config = kindRaw, n
			return a, nil
		}
	}
	return a, errUnknown
}

// modify applies modifiers, such as u: count in user mode only.
func (a *attr) modify(modifiers string) error {
	if modifiers == "" {
		return nil
	}
	a.noUser, a.noKernel, a.noHypervisor = true, true, true
	for _, m := range strings.Split(modifiers, ":") {
		switch m {
		case "u":
			a.noUser = false
		case "k":
			a.noKernel = false
		case "h":
			a.noHypervisor = false
		default:
			if _, _, attribute := strings.Cut(m, "="); attribute {
				return fmt.Errorf("not supported: attribute %.60q; :u, :k and :h are", m)
			}
			return errUnknown
		}
	}
	return nil
}
