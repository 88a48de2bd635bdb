package perfevent

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
)

// intel is the name of the events that all newer processors of Intel have, perf that of those of the kernel.
const (
	intel = "ix86arch"
	perf  = "perf"
)

// Limits of the kernel's files.
const (
	maxFile   = 4096
	maxCPUs   = 8192
	maxNodes  = 1024
	maxPMUs   = 1024
	maxEvents = 4000 // of all PMUs; each has a cluster of metrics
)

// A machine has the files of the kernel. They are read when the agent starts.
type machine struct {
	root   string // of sys and proc
	sys    string
	buffer procfs.Buffer

	cpus  []int   // that are online
	turns [][]int // the first processor of each node, the second of each, and so on

	nextCPU, nextTurn int // for the next event that is counted on one of them
}

func newMachine(root, sys string) *machine {
	m := &machine{root: root, sys: sys, buffer: procfs.Buffer{Max: maxFile}}
	m.cpus, _ = cpuList(m.text("devices/system/cpu/online"))
	var nodes [][]int
	for n := range maxNodes {
		list, ok := cpuList(m.text(fmt.Sprintf("devices/system/node/node%d/cpulist", n)))
		if ok && len(list) > 0 {
			nodes = append(nodes, list)
		}
		if !ok && n > 0 && !procfs.Exists(filepath.Join(sys, fmt.Sprintf("devices/system/node/node%d", n))) {
			break
		}
	}
	if len(nodes) == 0 && len(m.cpus) > 0 {
		nodes = [][]int{m.cpus}
	}
	for turn := 0; ; turn++ {
		var list []int
		for _, node := range nodes {
			if turn < len(node) {
				list = append(list, node[turn])
			}
		}
		if list == nil {
			break
		}
		m.turns = append(m.turns, list)
	}
	return m
}

// text returns the first line of a file below /sys, "" if it cannot be read.
func (m *machine) text(name string) string {
	b, err := m.buffer.Read(filepath.Join(m.sys, name), true)
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return strings.TrimSpace(string(line))
}

// cpuList reads a list of numbers and ranges: 0-3,8. It may be empty.
func cpuList(text string) ([]int, bool) {
	var list []int
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseUint(first, 10, 32)
		to := from
		if isRange && err == nil {
			to, err = strconv.ParseUint(last, 10, 32)
		}
		if err != nil || to < from || to-from >= maxCPUs || len(list)+int(to-from) >= maxCPUs {
			return nil, false
		}
		for n := from; n <= to; n++ {
			list = append(list, int(n))
		}
	}
	return list, true
}

// on returns the processors on which an event is counted; mask has those of its PMU, nil for all.
func (m *machine) on(c choice, mask []int) ([]int, error) {
	if len(m.cpus) == 0 {
		return nil, fmt.Errorf("%s/devices/system/cpu/online lists no processor", m.sys)
	}
	switch c {
	case everywhere:
		if mask != nil {
			return mask, nil
		}
		return m.cpus, nil
	case eachCPU:
		return m.cpus, nil
	case oneCPU:
		cpu := m.cpus[m.nextCPU%len(m.cpus)]
		m.nextCPU++
		return []int{cpu}, nil
	case eachNode:
		return m.turns[0], nil
	case oneOfNode:
		list := m.turns[m.nextTurn%len(m.turns)]
		m.nextTurn++
		return list, nil
	}
	if int(c) >= len(m.cpus) {
		return nil, fmt.Errorf("processor %d is not online: the list of those has %d", c, len(m.cpus))
	}
	return []int{m.cpus[c]}, nil
}

// tracepoint returns the number of a tracepoint, as sched:sched_switch.
func (m *machine) tracepoint(name string) (uint64, error) {
	group, event, ok := strings.Cut(name, ":")
	if !ok || !isFileName(group) || !isFileName(event) {
		return 0, errUnknown
	}
	for _, dir := range []string{"kernel/tracing", "kernel/debug/tracing"} {
		text := m.text(filepath.Join(dir, "events", group, event, "id"))
		if id, err := strconv.ParseUint(text, 10, 32); err == nil {
			return id, nil
		}
	}
	return 0, errUnknown
}

// isFileName reports whether a part of an event's name can be that of a file in a directory.
func isFileName(s string) bool {
	return s != "" && s[0] != '.' && !strings.ContainsAny(s, "/\x00")
}

// present reports whether the machine has a PMU of a section.
func (m *machine) present(pmu string) bool {
	switch pmu {
	case perf, "perf_raw":
		return true
	case intel:
		// The kernel counts them if the virtual machine has them, too.
		return procfs.Exists(filepath.Join(m.sys, devices, "cpu")) && m.hasFlag("arch_perfmon")
	}
	return false
}

// hasFlag reports whether the first processor has a flag.
func (m *machine) hasFlag(flag string) bool {
	buffer := procfs.Buffer{Max: 16 << 20}
	b, err := buffer.Read(hostroot.Path(m.root, "proc/cpuinfo"), true)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(b) {
		name, value, _ := strings.Cut(string(line), ":")
		if strings.TrimSpace(name) == "flags" {
			return slices.Contains(strings.Fields(value), flag)
		}
	}
	return false
}

// paranoid returns the sysctl kernel.perf_event_paranoid, "" if it cannot be read.
func (m *machine) paranoid() string {
	b, err := m.buffer.Read(hostroot.Path(m.root, "proc/sys/kernel/perf_event_paranoid"), true)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
