package numastat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// A selection is the reports of PCP 7 that the options select.
type selection struct {
	memory, allocations, processes bool

	local   bool // the processes are those of this host
	width   int  // of lines
	pids    []int64
	matches []*regexp.Regexp
}

func (s *selection) any() bool { return s.memory || s.allocations || s.processes }

// match takes the arguments of -p.
func (s *selection) match(args []string) error {
	if !s.processes {
		if s.any() && len(args) > 0 {
			return fmt.Errorf("%s: processes need -p", args[0])
		}
		return nil
	}
	if len(args) == 0 {
		return errors.New("-p needs the number or name of a process")
	}
	for _, arg := range args {
		if strings.Trim(arg, "0123456789") == "" {
			n, err := strconv.ParseInt(arg, 10, 32)
			if err != nil || n == 0 {
				return fmt.Errorf("%s: not the number of a process", arg)
			}
			s.pids = append(s.pids, n)
			continue
		}
		re, err := regexp.Compile(arg)
		if err != nil {
			return err
		}
		s.matches = append(s.matches, re)
	}
	return nil
}

// The metrics of -m, without memPrefix.
var memory = []string{
	"total", "free", "used", "active", "inactive", "active_anon", "inactive_anon", "active_file", "inactive_file", "unevictable", "mlocked",
	"dirty", "writeback", "filePages", "mapped", "anonpages", "shmem", "kernelStack", "pageTables", "NFS_Unstable", "bounce", "writebackTmp",
	"filehugepages", "filepmdmapped", "slab", "slabReclaimable", "slabUnreclaimable", "anonhugepages", "shmemhugepages", "shmempmdmapped",
	"hugepagesTotal", "hugepagesFree", "hugepagesSurp", "swapCached", "kreclaimable",
}

const memPrefix = "mem.numa.util."

// The metrics of -p, in the order of the rows.
const (
	pidMetric     = "proc.psinfo.pid"
	commandMetric = "proc.psinfo.cmd"
	argsMetric    = "proc.psinfo.psargs"
	mapsPrefix    = "proc.numa_maps."
)

var (
	uses       = []string{"hugepage", "heap", "stack", "private"}
	titlesUses = []string{"Huge", "Heap", "Stack", "Private"}
)

// report prints the selected reports of one sample.
func (s *selection) report(ctx context.Context, m *pmcc.Manager) int {
	names := append(pmcc.MachineMetrics(), metrics[0])
	optional := []string{"hinv.node.online"}
	if s.allocations {
		names = append(names, metrics[1:]...)
	}
	if s.memory {
		for _, name := range memory {
			optional = append(optional, memPrefix+name)
		}
	}
	if s.processes {
		names = append(names, pidMetric, commandMetric, argsMetric)
		for _, use := range uses {
			names = append(names, mapsPrefix+use)
		}
	}
	missing := m.Missing(ctx, optional...)
	for _, name := range optional {
		if !slices.Contains(missing, name) {
			names = append(names, name)
		}
	}
	if !m.Lookup(ctx, names...) {
		return 1
	}
	nodes, ok := m.Nodes(ctx, metrics[0])
	if !ok || !m.Once(ctx) {
		return 1
	}
	nodes = s.online(m, nodes, !slices.Contains(missing, optional[0]))
	slices.SortFunc(nodes, func(a, b pcp.Instance) int { return cmp.Compare(a.Inst, b.Inst) })
	fmt.Fprintln(m.Out, m.Machine())
	fmt.Fprintf(m.Out, "%-20s : %s\n", "Timestamp", m.Clock("%m/%d/%Y %H:%M:%S", m.Now()))
	if s.memory {
		rows := make([]string, len(memory))
		for i, name := range memory {
			rows[i] = memPrefix + name
		}
		s.table(m, "Per-node system memory usage (KB)", nodes, rows, missing)
	}
	if s.allocations {
		s.table(m, "NUMA memory allocation statistics (pages)", nodes, metrics, nil)
	}
	if s.processes {
		return s.processTables(m, nodes)
	}
	return 0
}

// online returns the nodes that are online, all if that is unknown.
func (s *selection) online(m *pmcc.Manager, nodes []pcp.Instance, known bool) []pcp.Instance {
	if !known {
		return nodes
	}
	values, err := m.As("hinv.node.online", pcp.TypeU32)
	if err != nil || len(values) == 0 {
		return nodes
	}
	return slices.DeleteFunc(nodes, func(n pcp.Instance) bool {
		i := slices.IndexFunc(values, func(v pcp.Value) bool { return v.Inst == n.Inst })
		return i >= 0 && values[i].Uint64() == 0
	})
}

// table prints a row for each metric, with as many nodes in a line as there is room for.
func (s *selection) table(m *pmcc.Manager, title string, nodes []pcp.Instance, rows, missing []string) {
	w := m.Out
	fmt.Fprintln(w, title)
	perLine := (s.width - column) / column
	once := perLine > len(nodes) // one heading
	heading := func(list []pcp.Instance) {
		fmt.Fprintf(w, "%-30s", "")
		for _, n := range list {
			fmt.Fprintf(w, "%-12s", n.Name)
		}
		fmt.Fprintln(w)
	}
	if once {
		heading(nodes)
	}
	for _, name := range rows {
		var values []pcp.Value
		if !slices.Contains(missing, name) {
			values, _ = m.As(name, pcp.TypeU64)
		}
		short := name[strings.LastIndexByte(name, '.')+1:]
		for list := range slices.Chunk(nodes, perLine) {
			if !once {
				heading(list)
			}
			fmt.Fprintf(w, "%-20s : ", strings.ToUpper(short[:1])+short[1:])
			for _, n := range list {
				text := "NA"
				if i := slices.IndexFunc(values, func(v pcp.Value) bool { return v.Inst == n.Inst }); i >= 0 {
					text = strconv.FormatUint(values[i].Uint64(), 10)
				}
				fmt.Fprintf(w, "%12s", text)
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintln(w)
}

// A process is the memory of a process.
type process struct {
	pid   int64
	name  string
	maps  [4]map[int]float64 // Mbytes by use and node
	total map[int]float64    // by node
}

func (p *process) label() string { return fmt.Sprintf("%d (%s)", p.pid, p.name) }

// processTables prints the processes, and returns the exit status.
func (s *selection) processTables(m *pmcc.Manager, online []pcp.Instance) int {
	list, err := s.find(m)
	if err != nil {
		m.Failed(err)
		return 1
	}
	nodes := nodesOf(online, list)
	if len(s.matches) == 0 { // in the order of the arguments
		var chosen []process
		for _, pid := range s.pids {
			i := slices.IndexFunc(list, func(p process) bool { return p.pid == pid })
			if i < 0 {
				fmt.Fprintf(m.Out, "No matching process with NUMA maps data for PID %d.\n\n", pid)
				continue
			}
			chosen = append(chosen, list[i])
		}
		list = chosen
	} else if len(list) == 0 {
		fmt.Fprintf(m.Out, "No matching processes with NUMA maps data.\n\n")
	}
	switch {
	case len(list) == 0:
	case len(s.pids)+len(s.matches) == 1 && len(list) == 1:
		s.detail(m.Out, &list[0], nodes)
	default:
		s.processTable(m.Out, list, nodes)
	}
	return 0
}

// find returns the processes that the arguments select, by number. Those that are selected by a pattern have maps.
func (s *selection) find(m *pmcc.Manager) ([]process, error) {
	text := func(name string) (map[int32]string, error) {
		values, err := m.As(name, pcp.TypeString)
		byInst := make(map[int32]string, len(values))
		for _, v := range values {
			byInst[v.Inst], _ = v.Text()
		}
		return byInst, err
	}
	pids, err := m.As(pidMetric, pcp.Type64)
	if err != nil {
		return nil, err
	}
	commands, err := text(commandMetric)
	if err != nil {
		return nil, err
	}
	args, err := text(argsMetric)
	if err != nil {
		return nil, err
	}
	var maps [4]map[int32]string
	for i, use := range uses {
		if maps[i], err = text(mapsPrefix + use); err != nil {
			return nil, err
		}
	}
	var list []process
	for _, v := range pids {
		p := process{pid: v.Int64(), name: cmp.Or(commands[v.Inst], "unknown"), total: make(map[int]float64)}
		if !s.selects(p.pid, p.name+" "+args[v.Inst]) {
			continue
		}
		known := false
		for i := range uses {
			value, ok := maps[i][v.Inst]
			known = known || ok
			p.maps[i] = parseNodes(value)
			for node, mb := range p.maps[i] {
				p.total[node] += mb
			}
		}
		if known || slices.Contains(s.pids, p.pid) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b process) int { return cmp.Compare(a.pid, b.pid) })
	return list, nil
}

// selects reports whether the arguments select a process. This one is selected only by its number.
func (s *selection) selects(pid int64, text string) bool {
	if slices.Contains(s.pids, pid) {
		return true
	}
	if s.local && pid == int64(os.Getpid()) {
		return false
	}
	return slices.ContainsFunc(s.matches, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}

// parseNodes reads a value of proc.numa_maps, such as "node0:12.50,node1:0.00". It skips other text.
func parseNodes(text string) map[int]float64 {
	nodes := make(map[int]float64)
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, ":")
		digits, ok := strings.CutPrefix(strings.TrimSpace(name), "node")
		n, err := strconv.Atoi(digits)
		mb, err2 := strconv.ParseFloat(value, 64)
		if ok && err == nil && err2 == nil && n >= 0 {
			nodes[n] = mb
		}
	}
	return nodes
}

// nodesOf returns the numbers of the nodes that are online or have memory of a process.
func nodesOf(online []pcp.Instance, list []process) []int {
	var nodes []int
	for _, n := range online {
		nodes = append(nodes, int(n.Inst))
	}
	for i := range list {
		for node := range list[i].total {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// A block is the columns of some lines.
type block struct {
	nodes []int
	total bool
}

// blocks divides columns for nodes and their total into blocks that have room beside labels of a width.
func (s *selection) blocks(nodes []int, label int) []block {
	most := max(1, (s.width-label)/cellWidth)
	if most == 1 { // one node in each block, then the total
		var list []block
		for i := range nodes {
			list = append(list, block{nodes: nodes[i : i+1]})
		}
		return append(list, block{total: true})
	}
	var list []block
	for len(nodes) > most-1 {
		n := min(most, len(nodes)-1) // the last block also has a node
		list = append(list, block{nodes: nodes[:n]})
		nodes = nodes[n:]
	}
	return append(list, block{nodes, true})
}

const (
	cellWidth  = 17 // of a column, with the space before it
	labelWidth = 16
)

// sum returns the sum over nodes.
func sum(values map[int]float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// row prints a line of a block.
func row(w io.Writer, b block, width int, label string, values map[int]float64) {
	fmt.Fprintf(w, "%-*s", width, label)
	for _, node := range b.nodes {
		fmt.Fprintf(w, "%*.2f", cellWidth, values[node])
	}
	if b.total {
		fmt.Fprintf(w, "%*.2f", cellWidth, sum(values))
	}
	fmt.Fprintln(w)
}

// heading prints the titles of a block and a line below them, which begins with under.
func heading(w io.Writer, b block, width int, label, under string) {
	fmt.Fprintf(w, "%-*s", width, label)
	for _, node := range b.nodes {
		fmt.Fprintf(w, "%*s", cellWidth, "Node "+strconv.Itoa(node))
	}
	if b.total {
		fmt.Fprintf(w, "%*s", cellWidth, "Total")
	}
	fmt.Fprintln(w)
	rule(w, b, under)
}

// rule prints a line of hyphens below the columns of a block.
func rule(w io.Writer, b block, under string) {
	n := len(b.nodes)
	if b.total {
		n++
	}
	fmt.Fprintln(w, under+strings.Repeat("  "+strings.Repeat("-", cellWidth-2), n))
}

// processTable prints a line for each process, and their total.
func (s *selection) processTable(w io.Writer, list []process, nodes []int) {
	fmt.Fprintln(w, "Per-node process memory usage (in MBs)")
	width, all := labelWidth, make(map[int]float64)
	for i := range list {
		width = max(width, len(list[i].label()))
		for node, mb := range list[i].total {
			all[node] += mb
		}
	}
	under := strings.Repeat("-", width)
	for _, b := range s.blocks(nodes, width) {
		heading(w, b, width, "PID", under)
		for i := range list {
			row(w, b, width, list[i].label(), list[i].total)
		}
		rule(w, b, under)
		row(w, b, width, "Total", all)
		fmt.Fprintln(w)
	}
}

// detail prints a line for each use of the memory of a process.
func (s *selection) detail(w io.Writer, p *process, nodes []int) {
	fmt.Fprintf(w, "Per-node process memory usage (in MBs) for PID %s\n", p.label())
	for _, b := range s.blocks(nodes, labelWidth) {
		heading(w, b, labelWidth, "", strings.Repeat(" ", labelWidth))
		for i, title := range titlesUses {
			row(w, b, labelWidth, title, p.maps[i])
		}
		rule(w, b, strings.Repeat("-", labelWidth))
		row(w, b, labelWidth, "Total", p.total)
		fmt.Fprintln(w)
	}
}
