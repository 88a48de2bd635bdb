package bpf

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Settings are those of bpf.conf.
type Settings struct {
	// Enabled has the modules that are switched on or off. Others are as they are by default.
	Enabled map[string]bool
	// Processes is how many events a module lists, by its name; others list defaultProcesses.
	Processes map[string]int
}

const (
	defaultProcesses = 20
	maxProcesses     = 1000
)

// enabled reports whether a module is to run.
func (s *Settings) enabled(m *module) bool {
	if on, ok := s.Enabled[m.name]; ok {
		return on
	}
	return m.on
}

// processes returns how many events a module lists.
func (s *Settings) processes(name string) int {
	if n, ok := s.Processes[name]; ok {
		return n
	}
	return defaultProcesses
}

// maxLine limits a line of the file.
const maxLine = 64 << 10

// upstream lists the modules of PCP's agent that this one does not have.
func upstream() []string {
	return []string{
		"bashreadline", "biosnoop", "fsslower", "mountsnoop", "opensnoop", "statsnoop", "tcpconnect", "tcpconnlat", "vfsstat",
	}
}

// read reads bpf.conf, with a section for each module, whose name may end with ".so". A module that is switched on and not known here is logged, as are
// settings of PCP's agent that this one does not have.
func (s *Settings) read(r io.Reader, path string, log *slog.Logger) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	s.Enabled, s.Processes = make(map[string]bool), make(map[string]int)
	known := modules(Config{})
	section, supported := "", false
	for n := 1; in.Scan(); n++ {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if text[0] == '[' {
			if !strings.HasSuffix(text, "]") {
				return fmt.Errorf("%s:%d: a section is [MODULE]", path, n)
			}
			section = strings.TrimSuffix(strings.TrimSpace(text[1:len(text)-1]), ".so")
			supported = slices.ContainsFunc(known, func(m *module) bool { return m.name == section })
			if !supported && !slices.Contains(upstream(), section) {
				return fmt.Errorf("%s:%d: there is no module %.40q", path, n, section)
			}
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		if !ok || section == "" {
			return fmt.Errorf("%s:%d: NAME = VALUE below a line [MODULE] is needed", path, n)
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch name {
		case "enabled":
			on, err := strconv.ParseBool(value)
			if err != nil {
				return fmt.Errorf("%s:%d: enabled is true or false, not %.40q", path, n, value)
			}
			if !supported {
				if on {
					log.Warn("module is not supported", "file", path, "line", n, "module", section)
				}
				continue
			}
			s.Enabled[section] = on
		case "process_count":
			count, err := strconv.Atoi(value)
			if err != nil || count < 1 || count > maxProcesses {
				return fmt.Errorf("%s:%d: process_count: a number from 1 to %d is needed, not %.40q", path, n, maxProcesses, value)
			}
			s.Processes[section] = count
		default:
			if supported {
				log.Warn("setting is not supported", "file", path, "line", n, "module", section, "name", name)
			}
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ownUser returns the user of this process.
func ownUser() int { return os.Geteuid() }
