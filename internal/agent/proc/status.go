package proc

import (
	"bytes"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of statusMetrics.
const (
	blockStatus = iota
	blockStatusText
)

// Columns of blockStatus that are not found by their keys.
const (
	statusUID = iota
	statusEUID
	statusSUID
	statusFSUID
	statusGID
	statusEGID
	statusSGID
	statusFSGID
	statusReal
	statusNonLib
	numStatus
)

// Columns of blockStatusText.
const (
	textUIDName = iota
	textEUIDName
	textSUIDName
	textFSUIDName
	textGIDName
	textEGIDName
	textSGIDName
	textFSGIDName
	textPending
	textBlocked
	textIgnored
	textCaught
	textCPUs
	textNSGroup
	textNSPID
	textNSPGroup
	textNSSession
	numStatusText
)

// statusTexts are the lines of /proc/PID/status that are copied unchanged, and
// their columns of blockStatusText.
var statusTexts = [...]struct {
	key string
	col int
}{
	{"SigPnd", textPending},
	{"SigBlk", textBlocked},
	{"SigIgn", textIgnored},
	{"SigCgt", textCaught},
	{"Cpus_allowed_list", textCPUs},
	{"NStgid", textNSGroup},
	{"NSpid", textNSPID},
	{"NSpgid", textNSPGroup},
	{"NSsid", textNSSession},
}

// A statusSource reads /proc/PID/status.
type statusSource struct {
	*processes
	source       *column.Source
	status, text *column.Block
	keys         map[string]int
	lines        []statusLine // known lines, in order
	scratch      []byte
}

func newStatusSource(p *processes) *statusSource {
	s := &statusSource{processes: p}
	var b []*column.Block
	s.source, b = p.each("/proc/PID/status", statusMetrics, column.Layout{Cols: numStatus}, column.Layout{Cols: numStatusText})
	s.status, s.text = b[blockStatus], b[blockStatusText]
	s.keys = s.status.Keys()
	s.source.Row = func(row int) {
		if b, err := s.file(s.status.Insts()[row], "status", true); err == nil {
			s.parse(b, row)
		}
	}
	return s
}

func (s *statusSource) family() column.Family {
	return column.Family{Name: "status", Metrics: s.table(statusMetrics), Sources: []*column.Source{s.source}}
}

// parse reads lines such as "VmRSS:	 1234 kB".
func (s *statusSource) parse(b []byte, row int) {
	cells := s.status.Row(row)
	at := 0
	for line := range procfs.Lines(b) {
		l, next, ok := s.lineOf(line, at)
		if !ok {
			continue
		}
		at = next
		value := line[len(l.key)+1:]
		switch l.kind {
		case lineNumber:
			if v, _, ok := procfs.Uint(value); ok {
				cells[l.col] = column.Num(v)
			}
		case lineUsers:
			s.identify(value, row, statusUID, textUIDName, s.users)
		case lineGroups:
			s.identify(value, row, statusGID, textGIDName, s.groups)
		case lineText:
			s.keep(value, row, l.col)
		}
	}
	s.sum(cells)
	if vz := s.keys[openVZ]; !cells[vz].OK {
		s.status.SetError(vz, pcp.ErrAppVersion)
	}
}

// identify stores the real, effective, saved and file system identifier of a line,
// and their names.
func (s *statusSource) identify(value []byte, row, col, name int, names *names) {
	for i := range 4 {
		id, rest, ok := procfs.Uint(value)
		if !ok {
			return
		}
		value = rest
		s.status.Set(row, col+i, id)
		s.text.SetText(row, name+i, names.name(uint32(id)))
	}
}

// keep stores a line with commas in place of blanks.
func (s *statusSource) keep(value []byte, row, col int) {
	s.scratch = append(s.scratch[:0], procfs.Trim(value)...)
	for i, c := range s.scratch {
		if c == ' ' || c == '\t' {
			s.scratch[i] = ','
		}
	}
	s.text.SetString(row, col, s.scratch)
}

// A statusLine is a kind of line of /proc/PID/status.
type statusLine struct {
	key  string
	kind int
	col  int
}

// Kinds of lines.
const (
	lineOther = iota
	lineNumber
	lineText
	lineUsers
	lineGroups
)

// maxLines is the maximum number of known lines; kernels have about 60.
const maxLines = 256

// lineOf identifies a line, and returns the place in lines to look for the next one: all
// processes have the same lines in the same order, only that some are missing.
func (s *statusSource) lineOf(line []byte, at int) (l statusLine, next int, ok bool) {
	for i := at; i < len(s.lines); i++ {
		key := s.lines[i].key
		if len(line) > len(key) && line[len(key)] == ':' && string(line[:len(key)]) == key {
			return s.lines[i], i + 1, true
		}
	}
	key, _, ok := bytes.Cut(line, []byte{':'})
	if !ok {
		return l, at, false
	}
	l = s.newLine(string(key))
	if len(s.lines) == maxLines {
		return l, at, true
	}
	s.lines = slices.Insert(s.lines, at, l)
	return l, at + 1, true
}

func (s *statusSource) newLine(key string) statusLine {
	if col, ok := s.keys[key]; ok {
		return statusLine{key, lineNumber, col}
	}
	switch key {
	case "Uid":
		return statusLine{key, lineUsers, 0}
	case "Gid":
		return statusLine{key, lineGroups, 0}
	}
	for _, t := range statusTexts {
		if key == t.key {
			return statusLine{key, lineText, t.col}
		}
	}
	return statusLine{key, lineOther, 0}
}

// sum computes the values that combine several lines. Threads of the kernel have no
// memory; their values are 0 as in C.
func (s *statusSource) sum(cells []column.Cell) {
	for _, key := range memoryKeys {
		if col := s.keys[key]; !cells[col].OK {
			cells[col] = column.Num(0)
		}
	}
	used := cells[s.keys["VmRSS"]].Bits + cells[s.keys["VmSwap"]].Bits
	cells[statusReal] = column.Num(used)
	cells[statusNonLib] = column.Num(used - min(used, cells[s.keys["VmLib"]].Bits))
}

// openVZ is a line that only the kernels of OpenVZ have.
const openVZ = "envID"

// memoryKeys are the lines that a process without its own memory does not have.
var memoryKeys = [...]string{
	"VmPeak", "VmSize", "VmLck", "VmPin", "VmHWM", "VmRSS", "VmData", "VmStk", "VmExe", "VmLib", "VmPTE", "VmSwap",
}

// statusMetrics are the metrics of /proc/PID/status.
var statusMetrics = []column.Metric{
	{Name: "proc.id.uid", Cluster: 24, Item: 0, Type: pcp.TypeU32, Sem: discrete, Col: statusUID, Help: "Real user identifier"},
	{Name: "proc.id.euid", Cluster: 24, Item: 1, Type: pcp.TypeU32, Sem: discrete, Col: statusEUID, Help: "Effective user identifier"},
	{Name: "proc.id.suid", Cluster: 24, Item: 2, Type: pcp.TypeU32, Sem: discrete, Col: statusSUID, Help: "Saved user identifier"},
	{Name: "proc.id.fsuid", Cluster: 24, Item: 3, Type: pcp.TypeU32, Sem: discrete, Col: statusFSUID, Help: "File system user identifier"},
	{Name: "proc.id.gid", Cluster: 24, Item: 4, Type: pcp.TypeU32, Sem: discrete, Col: statusGID, Help: "Real group identifier"},
	{Name: "proc.id.egid", Cluster: 24, Item: 5, Type: pcp.TypeU32, Sem: discrete, Col: statusEGID, Help: "Effective group identifier"},
	{Name: "proc.id.sgid", Cluster: 24, Item: 6, Type: pcp.TypeU32, Sem: discrete, Col: statusSGID, Help: "Saved group identifier"},
	{Name: "proc.id.fsgid", Cluster: 24, Item: 7, Type: pcp.TypeU32, Sem: discrete, Col: statusFSGID, Help: "File system group identifier"},
	{Name: "proc.id.uid_nm", Cluster: 24, Item: 8, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textUIDName, Help: "Name of the real user"},
	{Name: "proc.id.euid_nm", Cluster: 24, Item: 9, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textEUIDName, Help: "Name of the effective user"},
	{Name: "proc.id.suid_nm", Cluster: 24, Item: 10, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textSUIDName, Help: "Name of the saved user"},
	{Name: "proc.id.fsuid_nm", Cluster: 24, Item: 11, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textFSUIDName, Help: "Name of the file system user"},
	{Name: "proc.id.gid_nm", Cluster: 24, Item: 12, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textGIDName, Help: "Name of the real group"},
	{Name: "proc.id.egid_nm", Cluster: 24, Item: 13, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textEGIDName, Help: "Name of the effective group"},
	{Name: "proc.id.sgid_nm", Cluster: 24, Item: 14, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textSGIDName, Help: "Name of the saved group"},
	{Name: "proc.id.fsgid_nm", Cluster: 24, Item: 15, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textFSGIDName, Help: "Name of the file system group"},
	{Name: "proc.psinfo.signal_s", Cluster: 24, Item: 16, Type: pcp.TypeString, Sem: instant, From: blockStatusText, Col: textPending, Help: "Signals that are pending, in hexadecimal"},
	{Name: "proc.psinfo.blocked_s", Cluster: 24, Item: 17, Type: pcp.TypeString, Sem: instant, From: blockStatusText, Col: textBlocked, Help: "Signals that are blocked, in hexadecimal"},
	{Name: "proc.psinfo.sigignore_s", Cluster: 24, Item: 18, Type: pcp.TypeString, Sem: instant, From: blockStatusText, Col: textIgnored, Help: "Signals that are ignored, in hexadecimal"},
	{Name: "proc.psinfo.sigcatch_s", Cluster: 24, Item: 19, Type: pcp.TypeString, Sem: instant, From: blockStatusText, Col: textCaught, Help: "Signals that are caught, in hexadecimal"},
	{Name: "proc.memory.vmsize", Cluster: 24, Item: 20, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmSize", Help: "Size of the address space"},
	{Name: "proc.memory.vmlock", Cluster: 24, Item: 21, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmLck", Help: "Memory that is locked"},
	{Name: "proc.memory.vmrss", Cluster: 24, Item: 22, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmRSS", Help: "Memory that is resident"},
	{Name: "proc.memory.vmdata", Cluster: 24, Item: 23, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmData", Help: "Private memory that can be written"},
	{Name: "proc.memory.vmstack", Cluster: 24, Item: 24, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmStk", Help: "Stack"},
	{Name: "proc.memory.vmexe", Cluster: 24, Item: 25, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmExe", Help: "Program text"},
	{Name: "proc.memory.vmlib", Cluster: 24, Item: 26, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmLib", Help: "Text of shared libraries"},
	{Name: "proc.memory.vmswap", Cluster: 24, Item: 27, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmSwap", Help: "Memory that is swapped out, without shared memory"},
	{Name: "proc.psinfo.threads", Cluster: 24, Item: 28, Type: pcp.TypeU32, Sem: instant, Key: "Threads", Help: "Threads"},
	{Name: "proc.psinfo.vctxsw", Cluster: 24, Item: 29, Type: pcp.TypeU32, Sem: instant, Key: "voluntary_ctxt_switches", Help: "Context switches since the process had to wait"},
	{Name: "proc.psinfo.nvctxsw", Cluster: 24, Item: 30, Type: pcp.TypeU32, Sem: instant, Key: "nonvoluntary_ctxt_switches", Help: "Context switches since the time slice was over, or another process went first"},
	{Name: "proc.psinfo.cpusallowed", Cluster: 24, Item: 31, Type: pcp.TypeString, Sem: instant, From: blockStatusText, Col: textCPUs, Help: "Processors on which the process may run, as a list"},
	{Name: "proc.psinfo.ngid", Cluster: 24, Item: 32, Type: pcp.TypeU32, Sem: discrete, Key: "Ngid", Help: "NUMA group, 0 for none"},
	{Name: "proc.memory.vmpeak", Cluster: 24, Item: 33, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmPeak", Help: "Largest size of the address space so far"},
	{Name: "proc.memory.vmpin", Cluster: 24, Item: 34, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmPin", Help: "Memory that is pinned"},
	{Name: "proc.memory.vmhwm", Cluster: 24, Item: 35, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmHWM", Help: "Most memory that was resident so far"},
	{Name: "proc.memory.vmpte", Cluster: 24, Item: 36, Type: pcp.TypeU32, Sem: instant, Units: kbyte, Key: "VmPTE", Help: "Page tables"},
	{Name: "proc.namespaces.tgid", Cluster: 24, Item: 37, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textNSGroup, Help: "Thread group in each name space, from the outermost in"},
	{Name: "proc.namespaces.pid", Cluster: 24, Item: 38, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textNSPID, Help: "Process identifier in each name space, from the outermost in"},
	{Name: "proc.namespaces.pgid", Cluster: 24, Item: 39, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textNSPGroup, Help: "Process group in each name space, from the outermost in"},
	{Name: "proc.namespaces.sid", Cluster: 24, Item: 40, Type: pcp.TypeString, Sem: discrete, From: blockStatusText, Col: textNSSession, Help: "Session in each name space, from the outermost in"},
	{Name: "proc.psinfo.tgid", Cluster: 24, Item: 41, Type: pcp.TypeU32, Sem: discrete, Key: "Tgid", Help: "Thread group: the identifier of the process that a thread is of"},
	{Name: "proc.namespaces.envid", Cluster: 24, Item: 42, Type: pcp.TypeU32, Sem: discrete, Key: "envID", Help: "Container of an OpenVZ kernel"},
	{Name: "proc.memory.vmreal", Cluster: 24, Item: 43, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Col: statusReal, Help: "Memory that is resident or swapped out"},
	{Name: "proc.memory.vmnonlib", Cluster: 24, Item: 44, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Col: statusNonLib, Help: "Memory that is resident or swapped out, without the text of shared libraries"},
}
