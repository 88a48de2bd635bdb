package logctl

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/daemon/mapfile"
	"github.com/go-pcp/pcp/internal/pmiestats"
)

// A kind is the program being controlled: pmlogger or pmie, whose control files have the same form.
type kind struct {
	name     string // of the program
	control  string // setting of the control file
	line     string // line of a new control file, if no policy defines one
	combined string // line of a control file for several classes

	titles, unknown string // columns of the status table, and their values for an instance that does not run

	list      func(dir string) []instance                          // reads the files of processes
	log       func(dir string) string                              // path of the log, for the fourth field of a line
	ident     func(dir string) string                              // name of an instance, for the fourth field of its line
	filter    func() func(line string) bool                        // selects the lines of a log, in order, that report errors
	generator func(host, path string) (name string, args []string) // the program that generates a configuration
	split     func(text string) [4]string                          // splits a configuration, so that several can be merged
}

// An instance is a running process, found by its file.
type instance struct {
	pid   int
	where string // directory of its archives, or its log
	cells string // its columns in the status table
}

var logger = &kind{
	name: "pmlogger", control: "PCP_PMLOGGERCONTROL_PATH",
	line:     "%h n n PCP_ARCHIVE_DIR/%i -c ./%i.config",
	combined: "%h n n PCP_ARCHIVE_DIR/%i -c ./%i.config -r",
	titles:   "Archive          ", unknown: "?                ",
	list: func(dir string) (list []instance) {
		for _, l := range mapfile.List(dir) {
			list = append(list, instance{l.PID, l.Dir(), loggerCells(filepath.Base(l.Archive))})
		}
		return list
	},
	log:    func(dir string) string { return filepath.Join(dir, "pmlogger.log") },
	ident:  filepath.Base,
	filter: withoutGroups,
	generator: func(host, path string) (string, []string) {
		return "pmlogconf", []string{"-c", "-q", "-h", host, path}
	},
	split: splitLogger,
}

func loggerCells(archive string) string { return fmt.Sprintf("%-17s", archive) }

var engine = &kind{
	name: "pmie", control: "PCP_PMIECONTROL_PATH",
	line:     "%h n n PCP_LOG_DIR/pmie/%i/pmie.log -c ./%i.config",
	combined: "%h n n PCP_LOG_DIR/pmie/%i/pmie.log -c ./%i.config",
	titles:   "Rules Evaluations", unknown: "    ?           ?",
	list: func(dir string) (list []instance) {
		count := func(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
		for _, p := range pmiestats.List(dir) {
			list = append(list, instance{p.PID, p.Log, engineCells(count(p.Rules), count(p.Actual))})
		}
		return list
	},
	log:    func(log string) string { return log },
	ident:  func(log string) string { return filepath.Base(filepath.Dir(log)) },
	filter: func() func(string) bool { return func(string) bool { return true } },
	generator: func(_, path string) (string, []string) {
		return "pmieconf", []string{"-cF", "-f", path}
	},
	split: splitRules,
}

func engineCells(rules, evals string) string { return fmt.Sprintf("%5s %11s", rules, evals) }

// withoutGroups leaves out pmlogger's messages about its configuration.
func withoutGroups() func(line string) bool {
	group := false
	return func(line string) bool {
		switch {
		case group:
			group = !strings.HasPrefix(line, "} logged")
			return false
		case strings.HasPrefix(line, "Group ["):
			group = true
			return false
		}
		return !strings.HasPrefix(line, "preprocessor cmd:") && !strings.HasPrefix(line, "Config parsed")
	}
}

// splitLogger splits a configuration of pmlogger into the text before the groups of pmlogconf, these groups, other requests, and
// the access section.
func splitLogger(text string) (parts [4]string) {
	part, state := 2, 0
	first := true
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case first && strings.HasPrefix(line, "#pmlogconf "):
			part = 0
		case state == 1 && len(words) > 0 && words[0] == "#+":
			state, part = 2, 1
		case state == 3 && !strings.HasPrefix(line, "#"):
			state, part = 4, 2
		}
		first = false
		if strings.HasPrefix(line, "[access]") {
			part = 3
		}
		parts[part] += line
		switch {
		case strings.HasPrefix(line, "# DO NOT UPDATE THE INITIAL SECTION OF THIS FILE"):
			state = 1
		case strings.HasPrefix(line, "# DO NOT UPDATE THE FILE ABOVE THIS LINE"):
			state = 3
		}
	}
	return parts
}

// splitRules splits rules of pmie into the text before the section that pmieconf generated, that section, and other
// rules.
func splitRules(text string) (parts [4]string) {
	part := 2
	first := true
	for line := range strings.Lines(text) {
		switch {
		case first && strings.HasPrefix(line, "// pmieconf-pmie"):
			part = 0
		case strings.HasPrefix(line, "// --- START GENERATED SECTION (do not change this section) ---"):
			part = 1
		}
		first = false
		parts[part] += line
		if strings.HasPrefix(line, "// --- END GENERATED SECTION (changes below will be preserved) ---") {
			part = 2
		}
	}
	return parts
}
