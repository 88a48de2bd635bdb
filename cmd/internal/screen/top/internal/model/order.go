package model

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Column is a column by which processes are sorted.
type Column int

// Columns.
const (
	ByCPU Column = iota
	ByMemory
	ByTime
	ByPID
	ByOwner
	ByState
	ByNice
	ByThreads
	BySize
	ByRead
	ByWritten
	ByIn
	ByOut
	ByGPU
	ByGPUMemory
	ByStart
	ByCGroup
	ByCommand
	numColumns
)

// Descends reports whether the largest are first, unless the order is reversed.
func (c Column) Descends() bool {
	switch c {
	case ByCPU, ByMemory, ByTime, ByThreads, BySize, ByRead, ByWritten, ByIn, ByOut, ByGPU, ByGPUMemory, ByStart:
		return true
	}
	return false
}

// A Selection selects the processes shown, and their order.
type Selection struct {
	By       Column
	Reverse  bool
	Tree     bool
	Filter   string // in the command or equal to the PID; case is ignored
	Owner    string // "" for all
	CGroup   string // and the groups below it, "" for all
	NoKernel bool   // without threads of the kernel
	Threads  bool   // with those of processes
	Group    int32  // the process whose threads are selected, 0 for all processes
	Folded   map[int32]bool
}

// A Row is a process in its place.
type Row struct {
	Index int    // in Snapshot.Processes
	Depth int    // in a tree
	Last  uint64 // bit d: the ancestor of depth d+1 (the process itself for Depth-1) is the last child of its parent
	Below int    // folded processes below it
}

// An Order arranges processes, and reuses its memory.
type Order struct {
	rows     []Row
	chosen   []int32
	kids     []int32 // indexes, those of one parent together
	first    []int32 // by index of the parent, -1 being the last: where its children start in kids
	count    []int32
	parentOf []int32
}

// Rows returns the processes of a snapshot that sel selects, in its order. They are valid until
// the next call.
func (o *Order) Rows(s *Snapshot, sel *Selection) []Row {
	o.rows = o.rows[:0]
	o.chosen = o.chosen[:0]
	for i := range s.Processes {
		if sel.takes(&s.Processes[i]) {
			o.chosen = append(o.chosen, int32(i))
		}
	}
	compare := sel.compare(s.Processes)
	slices.SortFunc(o.chosen, compare)
	if !sel.Tree {
		for _, i := range o.chosen {
			o.rows = append(o.rows, Row{Index: int(i)})
		}
		return o.rows
	}
	o.tree(s.Processes, sel)
	return o.rows
}

func (sel *Selection) takes(p *Process) bool {
	return (!sel.NoKernel || !p.Kernel()) &&
		(sel.Threads || !p.Thread()) &&
		(sel.Group == 0 || p.Group == sel.Group) &&
		(sel.Owner == "" || p.Owner == sel.Owner) &&
		(sel.CGroup == "" || inside(p.CGroup, sel.CGroup)) &&
		(sel.Filter == "" || matches(p, sel.Filter))
}

// inside reports whether a group is another group or below it.
func inside(path, group string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(group, "/"))
	return ok && path != "" && (rest == "" || rest[0] == '/')
}

func matches(p *Process, filter string) bool {
	for rest := filter; ; {
		one, more, found := strings.Cut(rest, "|")
		if one != "" && (containsFold(p.Args, one) || containsFold(p.Name, one) || isPID(p.PID, one)) {
			return true
		}
		if !found {
			return false
		}
		rest = more
	}
}

func isPID(pid int32, s string) bool {
	n := int64(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > math.MaxInt32 {
			return false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return s != "" && n == int64(pid)
}

// containsFold is strings.Contains without regard to case. It does not allocate.
func containsFold(s, sub string) bool {
	for i := 0; len(s)-i >= len(sub); {
		if hasPrefixFold(s[i:], sub) {
			return true
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	for len(prefix) > 0 {
		if s == "" {
			return false
		}
		a, n := utf8.DecodeRuneInString(s)
		b, m := utf8.DecodeRuneInString(prefix)
		if a != b && unicode.ToLower(a) != unicode.ToLower(b) {
			return false
		}
		s, prefix = s[n:], prefix[m:]
	}
	return true
}

// compare returns the order of two processes; the PID decides between equal ones.
func (sel *Selection) compare(list []Process) func(a, b int32) int {
	sign := 1
	if sel.By.Descends() != sel.Reverse {
		sign = -1
	}
	return func(i, j int32) int {
		a, b := &list[i], &list[j]
		n := 0
		switch sel.By {
		case ByCPU:
			n = cmp.Compare(a.CPU, b.CPU)
		case ByMemory:
			n = cmp.Compare(a.RSS, b.RSS)
		case ByTime:
			n = cmp.Compare(a.Time, b.Time)
		case ByPID:
			n = cmp.Compare(a.PID, b.PID)
		case ByOwner:
			n = strings.Compare(a.Owner, b.Owner)
		case ByState:
			n = cmp.Compare(stateRank(a.State), stateRank(b.State))
		case ByNice:
			n = cmp.Compare(a.Nice, b.Nice)
		case ByThreads:
			n = cmp.Compare(a.Threads, b.Threads)
		case BySize:
			n = cmp.Compare(a.Size, b.Size)
		case ByRead:
			n = cmp.Compare(a.Read, b.Read)
		case ByWritten:
			n = cmp.Compare(a.Written, b.Written)
		case ByIn:
			n = cmp.Compare(a.In, b.In)
		case ByOut:
			n = cmp.Compare(a.Out, b.Out)
		case ByGPU:
			n = cmp.Compare(a.GPU, b.GPU)
		case ByGPUMemory:
			n = cmp.Compare(a.GPUMemory, b.GPUMemory)
		case ByStart:
			n = cmp.Compare(a.Start, b.Start)
		case ByCGroup:
			n = strings.Compare(a.CGroup, b.CGroup)
		case ByCommand:
			n = strings.Compare(a.Name, b.Name)
		}
		if n != 0 { // an unknown number is less than any other
			return sign * n
		}
		switch sel.By {
		case ByCPU, ByRead, ByWritten, ByIn, ByOut, ByGPU: // the idle ones
			if n = cmp.Compare(b.RSS, a.RSS); n != 0 {
				return n
			}
		}
		return cmp.Compare(a.PID, b.PID)
	}
}

// stateRank sorts the states of processes that work or hold up others first.
func stateRank(state byte) int {
	if i := strings.IndexByte("RDZTtSI", state); i >= 0 {
		return i
	}
	return 99
}

// tree arranges the chosen processes below their parents. A process whose parent is not chosen is at
// the top.
func (o *Order) tree(list []Process, sel *Selection) {
	n := len(list)
	resize := func(s []int32, n int) []int32 {
		s = slices.Grow(s[:0], n)[:n]
		clear(s)
		return s
	}
	o.parentOf, o.count, o.first = resize(o.parentOf, n), resize(o.count, n+1), resize(o.first, n+2)
	chosen := o.parentOf // first a mark, then the parent
	for i := range chosen {
		chosen[i] = -2
	}
	for _, i := range o.chosen {
		chosen[i] = -1
	}
	for _, i := range o.chosen {
		p, ok := slices.BinarySearchFunc(list, list[i].Parent, func(p Process, pid int32) int { return cmp.Compare(p.PID, pid) })
		if ok && p != int(i) && o.parentOf[p] != -2 {
			o.parentOf[i] = int32(p)
		}
	}
	o.breakCircles()
	slot := func(parent int32) int32 {
		if parent < 0 {
			return int32(n)
		}
		return parent
	}
	for _, i := range o.chosen {
		o.count[slot(o.parentOf[i])]++
	}
	at := int32(0)
	for i := range o.count {
		o.first[i] = at
		at += o.count[i]
	}
	o.first[n+1] = at
	o.kids = resize(o.kids, int(at))
	clear(o.count)
	for _, i := range o.chosen {
		k := slot(o.parentOf[i])
		o.kids[o.first[k]+o.count[k]] = i
		o.count[k]++
	}
	o.descend(list, sel, int32(n), 0, 0)
}

// breakCircles makes a process that is its own ancestor the top of its tree: archives are not trusted.
func (o *Order) breakCircles() {
	for _, i := range o.chosen {
		for up, steps := o.parentOf[i], 0; up >= 0; up = o.parentOf[up] {
			if steps++; up == i || steps > len(o.chosen) {
				o.parentOf[i] = -1
				break
			}
		}
	}
}

// maxDepth is how deep a tree is drawn.
const maxDepth = 60

func (o *Order) descend(list []Process, sel *Selection, parent int32, depth int, last uint64) {
	kids := o.kids[o.first[parent]:o.first[parent+1]]
	for k, i := range kids {
		row := Row{Index: int(i), Depth: depth, Last: last}
		if depth > 0 && k == len(kids)-1 {
			row.Last |= 1 << (depth - 1)
		}
		if sel.Folded[list[i].PID] {
			row.Below = o.below(i)
			o.rows = append(o.rows, row)
			continue
		}
		o.rows = append(o.rows, row)
		o.descend(list, sel, i, min(depth+1, maxDepth), row.Last)
	}
}

// below counts the descendants of a process.
func (o *Order) below(i int32) int {
	n := 0
	for _, kid := range o.kids[o.first[i]:o.first[i+1]] {
		n += 1 + o.below(kid)
	}
	return n
}

// Columns returns all columns in their order.
func Columns() []Column {
	list := make([]Column, numColumns)
	for i := range list {
		list[i] = Column(i)
	}
	return list
}
