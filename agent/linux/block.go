package linux

import (
	"slices"
	"sort"
	"sync"

	"github.com/go-pcp/pcp"
)

// A block holds what one source reported: a table with a row for each instance
// and a column for each quantity. Metrics are columns of blocks.
type block struct {
	cols  int
	insts []int32           // the instance of each row; nil for the single row of PM_INDOM_NULL
	names []string          // their external names; nil where another block has them
	cells []cell            // row by row
	strs  [][]byte          // of string columns, parallel to cells; nil until one is set
	known map[string][]byte // strings that were set before, by themselves
}

// A cell is one number, or says that there is a string.
type cell struct {
	bits uint64
	ok   bool
}

// rows returns the number of rows.
func (b *block) rows() int { return len(b.insts) }

// clear forgets all rows of a block with instances, or the values of a single row.
func (b *block) clear() {
	if b.insts != nil {
		b.insts = b.insts[:0]
		b.cells = b.cells[:0]
		if b.names != nil {
			b.names = b.names[:0]
		}
		return
	}
	clear(b.cells)
}

// single makes the one row of a block without instances.
func (b *block) single() { b.cells = make([]cell, b.cols) }

// add appends a row without values and returns its number.
func (b *block) add(inst int32) int {
	if b.insts == nil {
		b.insts = make([]int32, 0, 8)
	}
	row := len(b.insts)
	b.insts = append(b.insts, inst)
	n := len(b.cells) + b.cols
	for cap(b.cells) < n {
		b.cells = append(b.cells[:cap(b.cells)], cell{})
	}
	b.cells = b.cells[:n]
	clear(b.cells[n-b.cols:])
	return row
}

// addNamed is add for a block that carries the names of its instances.
func (b *block) addNamed(inst int32, name string) int {
	b.names = append(b.names, name)
	return b.add(inst)
}

func (b *block) set(row, col int, v uint64) { b.cells[row*b.cols+col] = cell{v, true} }

func (b *block) get(row, col int) (v uint64, ok bool) {
	c := b.cells[row*b.cols+col]
	return c.bits, c.ok
}

// row returns the cells of one row.
func (b *block) row(row int) []cell { return b.cells[row*b.cols:][:b.cols] }

// maxKnown bounds how many strings a block remembers.
const maxKnown = 4096

// setString sets a string. Strings handed out stay as they are; one that was
// set before is found again and not made anew.
func (b *block) setString(row, col int, s []byte) {
	i := row*b.cols + col
	for len(b.strs) < (row+1)*b.cols {
		b.strs = append(b.strs, nil)
	}
	b.cells[i] = cell{0, true}
	if b.strs[i] != nil && string(b.strs[i]) == string(s) {
		return
	}
	kept, ok := b.known[string(s)]
	if !ok {
		if b.known == nil || len(b.known) >= maxKnown {
			b.known = make(map[string][]byte)
		}
		kept = append(make([]byte, 0, len(s)), s...)
		b.known[string(kept)] = kept
	}
	b.strs[i] = kept
}

// setText is setString for a string.
func (b *block) setText(row, col int, s string) {
	if i := row*b.cols + col; i < len(b.strs) && b.strs[i] != nil && string(b.strs[i]) == s {
		b.cells[i] = cell{0, true}
		return
	}
	if kept, ok := b.known[s]; ok {
		b.setString(row, col, kept)
		return
	}
	b.setString(row, col, []byte(s))
}

// sort orders the rows by instance, as clients of C agents find them. Files
// mostly have that order already.
func (b *block) sort() {
	for len(b.strs) > 0 && len(b.strs) < len(b.cells) {
		b.strs = append(b.strs, nil)
	}
	if !slices.IsSorted(b.insts) {
		sort.Sort((*byInst)(b))
	}
}

type byInst block

func (b *byInst) Len() int           { return len(b.insts) }
func (b *byInst) Less(i, j int) bool { return b.insts[i] < b.insts[j] }

func (b *byInst) Swap(i, j int) {
	b.insts[i], b.insts[j] = b.insts[j], b.insts[i]
	if len(b.names) > 0 {
		b.names[i], b.names[j] = b.names[j], b.names[i]
	}
	for c := range b.cols {
		i, j := i*b.cols+c, j*b.cols+c
		b.cells[i], b.cells[j] = b.cells[j], b.cells[i]
		if max(i, j) < len(b.strs) {
			b.strs[i], b.strs[j] = b.strs[j], b.strs[i]
		}
	}
}

// value returns the value in a cell as type t.
func (b *block) value(i int, t pcp.Type) pcp.Value {
	if t == pcp.TypeString {
		return pcp.BytesValue(t, b.strs[i])
	}
	bits := b.cells[i].bits
	if t == pcp.Type32 || t == pcp.TypeU32 || t == pcp.TypeFloat {
		bits = uint64(uint32(bits)) // wraps where the kernel's number is wider, as C does
	}
	return pcp.RawValue(t, bits)
}

// A registry gives names their instance numbers: 0, 1, 2, ... in the order in
// which they first appear. A name keeps its number when it goes and comes back.
type registry struct {
	ids   map[string]int32
	names []string
	last  []int32 // the numbers found in the last pass, by position
	pos   int
	pass  uint64
	seen  []uint64 // by number: the pass that found it last

	shared *numbers // gives numbers for several registries; nil: this one does
}

// begin starts a pass over the names in the order of a file.
func (r *registry) begin() {
	r.pos = 0
	r.pass++
}

// first tells whether it is the first time in this pass that this is asked for
// a number: what comes twice in a file is reported once.
func (r *registry) first(id int32) bool {
	for len(r.seen) <= int(id) {
		r.seen = append(r.seen, 0)
	}
	if r.seen[id] == r.pass {
		return false
	}
	r.seen[id] = r.pass
	return true
}

// id returns the number of name and the one string that is kept of it. In the
// common case, that the name stands where it stood in the last pass, it costs a
// comparison.
func (r *registry) id(name []byte) (int32, string) {
	at := r.pos
	r.pos++
	if at < len(r.last) {
		if id := r.last[at]; r.names[id] == string(name) {
			return id, r.names[id]
		}
	}
	id, ok := r.ids[string(name)]
	if !ok {
		if r.ids == nil {
			r.ids = make(map[string]int32)
		}
		if r.shared != nil {
			id, r.names = r.shared.id(name, r.names)
		} else {
			id = int32(len(r.names))
			r.names = append(r.names, string(name))
		}
		r.ids[r.names[id]] = id
	}
	if at >= len(r.last) {
		r.last = append(r.last, id)
	} else {
		r.last[at] = id
	}
	return id, r.names[id]
}

// numbers gives names their numbers for the registries of several agents.
type numbers struct {
	mu    sync.Mutex
	ids   map[string]int32
	names []string
}

// id returns the number of name, and adds to names what it lacks up to that.
func (n *numbers) id(name []byte, names []string) (int32, []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.ids[string(name)]
	if !ok {
		if n.ids == nil {
			n.ids = make(map[string]int32)
		}
		id = int32(len(n.names))
		n.names = append(n.names, string(name))
		n.ids[n.names[id]] = id
	}
	if len(names) <= int(id) {
		names = append(names, n.names[len(names):id+1]...)
	}
	return id, names
}
