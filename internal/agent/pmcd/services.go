package pmcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/pmda"
)

// Other daemons of PCP describe themselves in files below PCP_TMP_DIR that are
// named after their process numbers. Any member of PCP's group can write there, so
// the files are not trusted.

// Limits of the input. The rest is ignored.
const (
	maxServices  = 4096  // daemons of a kind
	maxPortFile  = 16384 // of a pmlogger, in bytes
	maxPortLine  = 4096  // of it, as MAXPATHLEN
	primaryName  = "primary"
	pidFileLimit = 64
)

// A logger is a pmlogger process, or another name of the primary one.
type logger struct {
	pcp.Instance
	port              uint32
	pmcdHost, archive string
	note              string
}

// listLoggers reads dir as __pmLogFindLocalPorts does: files of processes that have
// ended do not count.
func listLoggers(dir string, exists func(pid int) bool) ([]logger, error) {
	names, err := listDir(dir)
	if err != nil {
		return nil, err
	}
	var list []logger
	for _, name := range names {
		inst := pcp.Instance{Name: name}
		if name != primaryName {
			pid, ok := parsePID(name)
			if !ok || !exists(pid) {
				continue
			}
			inst.Inst = int32(pid)
		}
		b, err := readSmall(filepath.Join(dir, name), maxPortFile)
		if err != nil {
			continue // it has just ended, or is not a logger's
		}
		if l, ok := parseLogger(b); ok {
			l.Instance = inst
			list = append(list, l)
		}
	}
	return list, nil
}

// parseLogger parses the lines of a file: the port, the host of the pmcd that it
// logs from, the archive, and a note. All but the first can be missing.
func parseLogger(b []byte) (l logger, ok bool) {
	line := func() string {
		s, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		return string(s[:min(len(s), maxPortLine)])
	}
	if !bytes.Contains(b, []byte("\n")) {
		return l, false
	}
	port, err := strconv.ParseUint(strings.TrimSpace(line()), 10, 32)
	if err != nil {
		return l, false
	}
	l.port, l.pmcdHost, l.archive, l.note = uint32(port), line(), line(), line()
	return l, true
}

// An engine is a pmie process, or another name of the primary one.
type engine struct {
	pcp.Instance
	pmiestats.Stats
}

// listEngines reads dir. The engine whose number is in pidFile is also listed as
// the primary one.
func listEngines(dir, pidFile string, exists func(pid int) bool) ([]engine, error) {
	names, err := listDir(dir)
	if err != nil {
		return nil, err
	}
	primary := runningPID(pidFile, exists)
	var list []engine
	for _, name := range names {
		pid, ok := parsePID(name)
		if !ok || !exists(pid) {
			continue
		}
		b, err := readSmall(filepath.Join(dir, name), pmiestats.Size+1)
		if err != nil {
			continue
		}
		var e engine
		if err := e.Decode(b); err != nil || e.Version != pmiestats.Version {
			continue
		}
		e.Instance = pcp.Instance{Inst: int32(pid), Name: name}
		list = append(list, e)
		if pid == primary {
			e.Instance = pcp.Instance{Name: primaryName}
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b engine) int { return int(a.Inst) - int(b.Inst) })
	return list, nil
}

// listDir lists a directory, sorted. A missing directory is empty.
func listDir(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) || dir == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxServices)
	if err != nil && err != io.EOF {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// readSmall reads up to limit bytes of a regular file. If there is a pipe in its
// place, it does not wait for a writer.
func readSmall(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// parsePID parses the name of a process's file.
func parsePID(name string) (int, bool) {
	n, err := strconv.ParseUint(name, 10, 31)
	return int(n), err == nil && n > 1
}

// runningPID returns the process whose number is in a file, or 0 if it has ended.
func runningPID(path string, exists func(pid int) bool) int {
	b, err := readSmall(path, pidFileLimit)
	if err != nil {
		return 0
	}
	pid, ok := parsePID(strings.TrimSpace(string(b)))
	if !ok || !exists(pid) {
		return 0
	}
	return pid
}

// services lists the daemons of PCP that serve clients on this host.
func (a *Agent) services() string {
	list := "pmcd" // which asks
	if a.cfg.RunDir != "" && runningPID(filepath.Join(a.cfg.RunDir, "pmproxy.pid"), processExists) != 0 {
		list += " pmproxy"
	}
	return list
}

func (a *Agent) listLoggers(context.Context) (err error) {
	a.loggerInst = a.loggerInst[:0]
	if a.loggers, err = listLoggers(a.tmp("pmlogger"), processExists); err != nil {
		return err
	}
	for i := range a.loggers {
		a.loggerInst = append(a.loggerInst, a.loggers[i].Instance)
	}
	return nil
}

func (a *Agent) listEngines(context.Context) (err error) {
	a.engineInst = a.engineInst[:0]
	pidFile := ""
	if a.cfg.RunDir != "" {
		pidFile = filepath.Join(a.cfg.RunDir, "pmie.pid")
	}
	if a.engines, err = listEngines(a.tmp("pmie"), pidFile, processExists); err != nil {
		return err
	}
	for i := range a.engines {
		a.engineInst = append(a.engineInst, a.engines[i].Instance)
	}
	return nil
}

// tmp is a directory below PCP_TMP_DIR, "" if that is not known.
func (a *Agent) tmp(name string) string {
	if a.cfg.TmpDir == "" {
		return ""
	}
	return filepath.Join(a.cfg.TmpDir, name)
}

func (a *Agent) loggerMetrics() []pmda.Metric {
	indom := &pmda.InDom{
		Serial:  serialLogger,
		List:    func(context.Context) ([]pcp.Instance, error) { return a.loggerInst, nil },
		Refresh: a.listLoggers,
		OneLine: "the pmlogger processes of this host",
		Help: "Numbered and called by their process numbers; the primary one, which logs this\n" +
			"host for its own sake, is number 0 as well.",
	}
	metric := func(item int, name string, kind pcp.Type, one, help string, value func(l *logger) (pcp.Value, error)) pmda.Metric {
		return pmda.Metric{
			Name: "pmcd.pmlogger." + name, Cluster: clusterLogger, Item: item, Type: kind, Sem: pcp.SemDiscrete, InDom: indom,
			OneLine: one, Help: help,
			Value: func(_ int32, i int) (pcp.Value, error) { return value(&a.loggers[i]) },
		}
	}
	return []pmda.Metric{
		metric(0, "port", pcp.TypeU32, "TCP ports that the pmlogger processes are controlled by",
			"Where pmlc(1) connects to.",
			func(l *logger) (pcp.Value, error) { return number(l.port) }),
		metric(1, "pmcd_host", pcp.TypeString, "hosts that the pmlogger processes log",
			"The name of the host with the collector that the values come from.",
			func(l *logger) (pcp.Value, error) { return text(l.pmcdHost) }),
		metric(2, "archive", pcp.TypeString, "archives that the pmlogger processes write",
			"The path without the ending of a volume, from the root of the file system.",
			func(l *logger) (pcp.Value, error) { return text(l.archive) }),
		metric(3, "host", pcp.TypeString, "host that the pmlogger processes run on",
			"The same for all: this host's name for itself.",
			func(*logger) (pcp.Value, error) {
				host, err := os.Hostname()
				if err != nil {
					return pcp.Value{}, err
				}
				return text(host)
			}),
		metric(4, "note", pcp.TypeString, "notes about the pmlogger processes",
			"The argument of pmlogger's options -m and -x, such as pmlogger_check, or reexec\n"+
				"after it has started itself again. \"\" without them.",
			func(l *logger) (pcp.Value, error) { return text(l.note) }),
	}
}

func (a *Agent) engineMetrics() []pmda.Metric {
	indom := &pmda.InDom{
		Serial:  serialEngine,
		List:    func(context.Context) ([]pcp.Instance, error) { return a.engineInst, nil },
		Refresh: a.listEngines,
		OneLine: "the pmie processes of this host",
		Help: "Numbered and called by their process numbers; the primary one is number 0 as\n" +
			"well.",
	}
	metric := func(item int, name string, kind pcp.Type, sem pcp.Sem, units pcp.Units, one, help string, value func(e *engine) (pcp.Value, error)) pmda.Metric {
		return pmda.Metric{
			Name: "pmcd.pmie." + name, Cluster: clusterEngine, Item: item, Type: kind, Sem: sem, Units: units, InDom: indom,
			OneLine: one, Help: help,
			Value: func(_ int32, i int) (pcp.Value, error) { return value(&a.engines[i]) },
		}
	}
	var none pcp.Units
	return []pmda.Metric{
		metric(0, "configfile", pcp.TypeString, pcp.SemDiscrete, none, "files with the rules of the pmie processes",
			"The path of the file with a process's rules.",
			func(e *engine) (pcp.Value, error) { return text(e.Config) }),
		metric(1, "logfile", pcp.TypeString, pcp.SemDiscrete, none, "log files of the pmie processes",
			"The path of the file to which a process writes its messages.",
			func(e *engine) (pcp.Value, error) { return text(e.Log) }),
		metric(2, "pmcd_host", pcp.TypeString, pcp.SemDiscrete, none, "hosts that the pmie processes watch",
			"The host of metrics for which a rule names no other.",
			func(e *engine) (pcp.Value, error) { return text(e.Host) }),
		metric(3, "numrules", pcp.TypeU32, pcp.SemDiscrete, none, "rules of the pmie processes",
			"How many rules a process evaluates.",
			func(e *engine) (pcp.Value, error) { return number(e.Rules) }),
		metric(4, "actions", pcp.TypeU32, pcp.SemCounter, count, "actions of the pmie processes",
			"How often a rule was true and its action was performed.",
			func(e *engine) (pcp.Value, error) { return number(e.Actions) }),
		metric(5, "eval.true", pcp.TypeU32, pcp.SemCounter, count, "evaluations of rules that were true",
			"Counts evaluations with this outcome.",
			func(e *engine) (pcp.Value, error) { return number(e.True) }),
		metric(6, "eval.false", pcp.TypeU32, pcp.SemCounter, count, "evaluations of rules that were false",
			"Counts evaluations with this outcome.",
			func(e *engine) (pcp.Value, error) { return number(e.False) }),
		metric(7, "eval.unknown", pcp.TypeU32, pcp.SemCounter, count, "evaluations of rules that were neither true nor false",
			"Counts evaluations that lacked values, such as the first with a rate.",
			func(e *engine) (pcp.Value, error) { return number(e.Unknown) }),
		metric(8, "eval.expected", pcp.TypeFloat, pcp.SemDiscrete, perSecond, "evaluations a second that the rules ask for",
			"The sum over a process's rules. Where eval.actual grows more slowly the process\n"+
				"cannot keep up.",
			func(e *engine) (pcp.Value, error) { return pcp.FloatValue(e.Expected), nil }),
		metric(9, "eval.actual", pcp.TypeU32, pcp.SemCounter, count, "evaluations of rules",
			"Counts all evaluations, whatever their outcome.",
			func(e *engine) (pcp.Value, error) { return number(e.Actual) }),
	}
}
