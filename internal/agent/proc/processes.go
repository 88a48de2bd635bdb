package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/containers"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of listMetrics.
const (
	blockList = iota
	blockCount
)

// Columns of blockList.
const (
	listPID = iota
	listArgs
	numList
)

// Serial numbers of instance domains.
const (
	serial    = 9
	hotSerial = 39
)

// A process is an entry of a list of processes.
type process struct {
	pid  int32
	name string // of the instance: the number with six digits, and the command
	args []byte // the command with its arguments
	seen uint64 // the reading that found it last
	open *openFiles
}

// processes is the list of processes: all of them, threads too, or those of one
// control group.
type processes struct {
	*machine
	filter  filter
	private bool // private files of processes are not read
	hot     *hot // not nil: only hot processes are listed, for hotproc
	tables  map[*column.Metric][]column.Metric

	source *column.Source
	indom  *column.InDom
	list   *column.Block
	count  *column.Block

	pids    []int32
	known   map[int32]*process
	reading uint64

	path   []byte
	buffer procfs.Buffer
	keeps  bool // files stay open, as machine.open allows
	names  directory
	opened func(path string) // for tests: called with each file to read
}

// A filter selects the processes that a client sees.
type filter struct {
	threads bool
	cgroup  string // path of a control group below the root directory, "" for all processes
	// container is a line of /proc/PID/cgroup that the processes of a container have, or one of
	// a group below; "" for all processes.
	container string
}

// Limits of the values of one process.
const (
	maxFile = 16 << 20 // bytes of a file
	maxName = 64       // bytes of an instance name (PROC_PID_STAT_CMD_MAXLEN)
	maxLine = 4096     // bytes of a process's number, a space, its arguments and a NUL, as the C agent keeps them
	maxPath = 4096     // bytes of the path of a control group
)

// newProcesses returns the list of the processes of m.
func newProcesses(m *machine, f filter, private bool) *processes {
	return newList(m, f, private, nil)
}

// newList returns the list of hot processes if h is not nil.
func newList(m *machine, f filter, private bool, h *hot) *processes {
	p := &processes{
		machine: m, filter: f, private: private, hot: h,
		known: make(map[int32]*process), buffer: procfs.Buffer{Max: maxFile}, tables: make(map[*column.Metric][]column.Metric),
	}
	p.indom = &column.InDom{
		Serial: serial, Help: "Processes, by their identifiers; the names are these and the commands",
		InstanceLabels: p.labels,
	}
	if h != nil {
		p.indom.Serial, p.indom.Help = hotSerial, "Processes that are hot, as the instances of proc"
	}
	b := column.NewBlocks(p.table(listMetrics), []column.Layout{
		blockList:  {Cols: numList, InDom: p.indom, Lists: true},
		blockCount: {Cols: 1},
	}...)
	p.list, p.count = b[blockList], b[blockCount]
	p.source = &column.Source{Name: "/proc", Blocks: b, Read: p.read}
	return p
}

// labels returns the labels of a process, with those of its container.
func (p *processes) labels(pid int32, _ string) map[string]any {
	m := map[string]any{"pid": pid}
	text, err := p.readFile(p.pathOf(pid, "cgroup", false), true)
	if err != nil {
		return m
	}
	for line := range procfs.Lines(text) {
		_, line, _ = bytes.Cut(line, []byte{':'})
		_, path, _ := bytes.Cut(line, []byte{':'})
		if l := p.containers.Labels(string(path)); l != (containers.Labels{}) {
			return l.Map(m)
		}
	}
	return m
}

func (p *processes) family() column.Family {
	return column.Family{Name: "processes", Metrics: p.table(listMetrics), Sources: []*column.Source{p.source}}
}

// table returns a table of metrics for the list; for hot processes it has other
// names and clusters.
func (p *processes) table(metrics []column.Metric) []column.Metric {
	if p.hot == nil || !strings.HasPrefix(metrics[0].Name, "proc.") {
		return metrics
	}
	if p.tables[&metrics[0]] == nil {
		p.tables[&metrics[0]] = hotTable(metrics)
	}
	return p.tables[&metrics[0]]
}

// each returns a source with a row for each process, and its blocks.
func (p *processes) each(name string, metrics []column.Metric, layouts ...column.Layout) (*column.Source, []*column.Block) {
	for i := range layouts {
		layouts[i].InDom = p.indom
	}
	b := column.NewBlocks(p.table(metrics), layouts...)
	return &column.Source{Name: name, Blocks: b, After: []*column.Source{p.source}}, b
}

// read lists the processes.
func (p *processes) read() error {
	if err := p.find(); err != nil {
		return err
	}
	if p.filter.container != "" {
		p.pids = slices.DeleteFunc(p.pids, func(pid int32) bool { return !p.inContainer(pid) })
	}
	slices.Sort(p.pids)
	p.pids = slices.Compact(p.pids)
	p.reading++
	p.list.Clear()
	for _, pid := range p.pids {
		proc := p.known[pid]
		if proc == nil {
			proc = p.meet(pid)
			p.known[pid] = proc
		}
		proc.seen = p.reading
		row := p.list.AddNamed(pid, proc.name)
		p.list.Set(row, listPID, uint64(pid))
		p.list.SetString(row, listArgs, proc.args)
	}
	p.count.Set(0, 0, uint64(len(p.pids)))
	if len(p.known) > len(p.pids) {
		for pid, proc := range p.known {
			if proc.seen != p.reading {
				p.close(proc)
				delete(p.known, pid)
			}
		}
	}
	return nil
}

// find sets pids to the existing processes.
func (p *processes) find() error {
	p.pids = p.pids[:0]
	if p.filter.cgroup != "" && p.hot == nil {
		return p.findInGroup()
	}
	err := p.names.pids(p.dir, func(pid int32) {
		if p.hot != nil && p.hot.subjects[pid] == nil {
			return
		}
		p.pids = append(p.pids, pid)
	})
	if err != nil || !p.filter.threads {
		return err
	}
	for _, pid := range slices.Clone(p.pids) {
		_ = p.names.pids(p.pathOf(pid, "task", false), func(tid int32) { p.pids = append(p.pids, tid) })
	}
	return nil
}

// inContainer reports whether a process is in the container of the filter.
func (p *processes) inContainer(pid int32) bool {
	b, err := p.file(pid, "cgroup", true)
	if err != nil {
		return false
	}
	for line := range procfs.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(p.filter.container)); ok && (len(rest) == 0 || rest[0] == '/') {
			return true
		}
	}
	return false
}

// findInGroup finds the processes of a control group.
func (p *processes) findInGroup() error {
	dir := filepath.Join(p.root, p.filter.cgroup)
	files := []string{"cgroup.procs"}
	if p.filter.threads {
		files = []string{"cgroup.threads", "tasks"} // of versions 2 and 1
	}
	for _, file := range files {
		b, err := p.buffer.Read(filepath.Join(dir, file), false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for line := range procfs.Lines(b) {
			if v, _, ok := procfs.Uint(line); ok && v > 0 && v <= math.MaxInt32 {
				p.pids = append(p.pids, int32(v))
			}
		}
		return nil
	}
	return nil
}

// meet returns a new process. Its name is fixed, as that of an instance must be,
// even if the process executes another program.
func (p *processes) meet(pid int32) *process {
	digits := strconv.Itoa(int(pid))
	prefix := strings.Repeat("0", max(0, 6-len(digits))) + digits + " "
	args := p.arguments(pid, maxLine-len(prefix)-1)
	name := prefix + string(args)
	if i := strings.IndexByte(name[len(prefix):], ' '); i >= 0 {
		name = name[:len(prefix)+i]
	}
	return &process{pid: pid, name: name[:min(len(name), maxName)], args: args}
}

// arguments returns the command of a process with its arguments, or the kernel's name
// for it in parentheses if there are none. It returns limit bytes at most.
func (p *processes) arguments(pid int32, limit int) []byte {
	if b, err := p.file(pid, "cmdline", true); err == nil && len(b) > 0 {
		b = b[:min(len(b), limit)]
		return bytes.ReplaceAll(bytes.TrimRight(b, "\x00"), []byte{0}, []byte{' '})
	}
	if b, err := p.file(pid, "status", true); err == nil {
		line, _, _ := bytes.Cut(b, []byte{'\n'})
		if name, ok := bytes.CutPrefix(line, []byte("Name:\t")); ok {
			return []byte("(" + string(name) + ")")
		}
	}
	return []byte("<exiting>")
}

// file reads a file of a process or thread. whole is that of [procfs.Buffer.Read].
func (p *processes) file(pid int32, name string, whole bool) ([]byte, error) {
	if p.filter.threads {
		b, err := p.readFile(p.pathOf(pid, name, true), whole)
		if err == nil {
			return b, nil
		}
	}
	if o := p.kept(pid, name); o != nil {
		return p.readKept(o, pid, name)
	}
	return p.readFile(p.pathOf(pid, name, false), whole)
}

func (p *processes) readFile(path string, whole bool) ([]byte, error) {
	if p.opened != nil {
		p.opened(path)
	}
	return p.buffer.Read(path, whole)
}

// pathOf returns the path of a file of a process; for a thread, as it is found below
// the process.
func (p *processes) pathOf(pid int32, name string, thread bool) string {
	b := append(p.path[:0], p.dir...)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(pid), 10)
	if thread {
		b = append(b, "/task/"...)
		b = strconv.AppendInt(b, int64(pid), 10)
	}
	b = append(b, '/')
	b = append(b, name...)
	p.path = b
	return string(b)
}

// listMetrics are known from the list of processes.
var listMetrics = []column.Metric{
	{Name: "proc.nprocs", Cluster: 8, Item: 99, Type: pcp.TypeU32, Sem: instant, From: blockCount, Help: "Processes"},
	{Name: "proc.psinfo.pid", Cluster: 8, Item: 0, Type: pcp.TypeU32, Sem: discrete, Col: listPID, Help: "Process identifier"},
	{Name: "proc.psinfo.psargs", Cluster: 8, Item: 41, Type: pcp.TypeString, Sem: discrete, Col: listArgs, Help: "Command with its arguments"},
}
