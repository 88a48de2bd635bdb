package column

import (
	"bytes"
	"slices"
	"sort"

	"github.com/go-pcp/pcp"
)

// A Layout describes the rows and columns of a Block.
type Layout struct {
	// Cols is the number of columns in addition to those that metrics find by
	// key.
	Cols int
	// Keys are keys of columns that no metric has: parsers compute with them.
	Keys []string
	// InDom is what the rows are instances of; nil means a single row, of metrics
	// without instances.
	InDom *InDom
	// Lists means that the rows of this block, which then have names, are the
	// instances of InDom.
	Lists bool
}

// A Block holds what a source reported: a table with a row for each instance, and a
// column for each quantity. Metrics are columns of blocks.
type Block struct {
	metrics []Metric // whose From is number
	number  int
	inDom   *InDom
	keys    map[string]int // columns by key
	source  *Source        // that fills it; set by New, as place
	place   int            // in Agent.blocks

	cols  int
	insts []int32           // the instance of each row; nil for a single row
	names []string          // their external names; nil where another block has them
	cells []Cell            // row by row
	strs  [][]byte          // of string columns, parallel to cells; nil until one is set
	known map[string][]byte // strings that were set before, by themselves
	errs  []pcp.Error       // by column; nil until one is set
}

// A Cell is one number, or marks a string. It has no value unless OK is set.
type Cell struct {
	Bits uint64 // floating point numbers as IEEE 754 has them
	OK   bool
}

// Num returns a cell with a number.
func Num(v uint64) Cell { return Cell{v, true} }

// NewBlocks returns the blocks of a table of metrics, in the order of layouts, without
// values. Metric.From is the place of a metric's block among them. NewBlocks does not
// change the table: the blocks of several agents can share it.
func NewBlocks(metrics []Metric, layouts ...Layout) []*Block {
	blocks := make([]*Block, len(layouts))
	for i, l := range layouts {
		b := &Block{metrics: metrics, number: i, inDom: l.InDom, cols: l.Cols}
		for _, key := range l.Keys {
			b.addKey(key)
		}
		for j := range metrics {
			if m := &metrics[j]; m.From == i && m.Key != "" {
				b.addKey(m.Key)
			}
		}
		if l.InDom == nil {
			b.cells = make([]Cell, b.cols)
		} else if l.Lists {
			l.InDom.block = b
		}
		blocks[i] = b
	}
	return blocks
}

func (b *Block) addKey(key string) {
	if b.keys == nil {
		b.keys = make(map[string]int)
	}
	if _, ok := b.keys[key]; !ok {
		b.keys[key] = b.cols
		b.cols++
	}
}

// column returns the column of a metric of b.
func (b *Block) column(m *Metric) int {
	if m.Key != "" {
		return b.keys[m.Key]
	}
	return m.Col
}

// Column returns the column for a key. It panics if neither a metric nor
// Layout.Keys has the key: then the parser and the table of metrics disagree.
func (b *Block) Column(key string) int {
	col, ok := b.keys[key]
	if !ok {
		panic("column: no metric is made of " + key)
	}
	return col
}

// Keys returns the columns by key. The caller must not change the map.
func (b *Block) Keys() map[string]int { return b.keys }

// InDom returns what the rows are instances of, nil for a block without instances.
func (b *Block) InDom() *InDom { return b.inDom }

// Cols returns the number of columns.
func (b *Block) Cols() int { return b.cols }

// Rows returns how many instances there are; 0 for a block without instances.
func (b *Block) Rows() int { return len(b.insts) }

// Insts returns the instance of each row, nil for a block without instances. The
// slice is valid until the block changes.
func (b *Block) Insts() []int32 { return b.insts }

// Names returns the name of each row, nil if another block has them. The slice is
// valid until the block changes.
func (b *Block) Names() []string { return b.names }

// Has reports whether there is a row for inst.
func (b *Block) Has(inst int32) bool { return slices.Contains(b.insts, inst) }

// Clear forgets all rows of a block with instances, or the values of a single row.
func (b *Block) Clear() {
	clear(b.errs)
	if b.inDom == nil {
		clear(b.cells)
		return
	}
	b.insts = b.insts[:0]
	b.cells = b.cells[:0]
	if b.names != nil {
		b.names = b.names[:0]
	}
}

// follow gives b the rows of the block that lists the instances, and room for their
// values, which are those of an earlier reading.
func (b *Block) follow(list *Block) {
	b.insts = append(b.insts[:0], list.insts...)
	n := len(b.insts) * b.cols
	if cap(b.cells) < n || cap(b.cells) > 4*n && cap(b.cells) > manyCells {
		b.cells, b.strs = make([]Cell, n, n+n/4), nil
	}
	b.cells = b.cells[:n]
}

// manyCells is how much room a block keeps, however few rows it has.
const manyCells = 1 << 16

// Zero sets all present cells to 0.
func (b *Block) Zero() {
	for i := range b.cells {
		b.cells[i] = Cell{0, true}
	}
}

// Add appends a row without values and returns its number.
func (b *Block) Add(inst int32) int {
	if b.insts == nil {
		b.insts = make([]int32, 0, 8)
	}
	row := len(b.insts)
	b.insts = append(b.insts, inst)
	n := len(b.cells) + b.cols
	for cap(b.cells) < n {
		b.cells = append(b.cells[:cap(b.cells)], Cell{})
	}
	b.cells = b.cells[:n]
	clear(b.cells[n-b.cols:])
	return row
}

// AddNamed is Add for a block that has the names of its instances.
func (b *Block) AddNamed(inst int32, name string) int {
	b.names = append(b.names, name)
	return b.Add(inst)
}

// Set sets a number.
func (b *Block) Set(row, col int, v uint64) { b.cells[row*b.cols+col] = Cell{v, true} }

// Get returns a number.
func (b *Block) Get(row, col int) (v uint64, ok bool) {
	c := b.cells[row*b.cols+col]
	return c.Bits, c.OK
}

// Row returns the cells of one row, valid until a row is added. The only row of a
// block without instances is row 0.
func (b *Block) Row(row int) []Cell { return b.cells[row*b.cols:][:b.cols] }

// Cells returns all cells, row by row, valid until a row is added.
func (b *Block) Cells() []Cell { return b.cells }

// SetError makes an error the answer to a fetch of the metrics of a column, until the
// block is cleared.
func (b *Block) SetError(col int, err pcp.Error) {
	if b.errs == nil {
		b.errs = make([]pcp.Error, b.cols)
	}
	b.errs[col] = err
}

// Bounds of the strings that a block remembers, besides those of its rows: their number, and the length of each.
const (
	maxKnown       = 4096
	maxKnownLength = 128
)

// SetString sets a string. Returned strings do not change; a short string that was set
// before and the present string of the row are not allocated again.
func (b *Block) SetString(row, col int, s []byte) {
	i := row*b.cols + col
	for len(b.strs) < (row+1)*b.cols {
		b.strs = append(b.strs, nil)
	}
	b.cells[i] = Cell{0, true}
	if b.strs[i] != nil && string(b.strs[i]) == string(s) {
		return
	}
	if len(s) > maxKnownLength {
		b.strs[i] = bytes.Clone(s)
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

// String returns a string that was set, nil if there is none. The caller must not change
// it.
func (b *Block) String(row, col int) []byte {
	i := row*b.cols + col
	if i >= len(b.strs) || !b.cells[i].OK {
		return nil
	}
	return b.strs[i]
}

// SetText is SetString for a string.
func (b *Block) SetText(row, col int, s string) {
	if i := row*b.cols + col; i < len(b.strs) && b.strs[i] != nil && string(b.strs[i]) == s {
		b.cells[i] = Cell{0, true}
		return
	}
	if kept, ok := b.known[s]; ok {
		b.SetString(row, col, kept)
		return
	}
	b.SetString(row, col, []byte(s))
}

// Sort orders the rows by instance, as clients of C agents find them. Files mostly
// have that order already. The agent calls it after each reading.
func (b *Block) Sort() {
	for len(b.strs) > 0 && len(b.strs) < len(b.cells) {
		b.strs = append(b.strs, nil)
	}
	if !slices.IsSorted(b.insts) {
		sort.Sort((*byInst)(b))
	}
}

type byInst Block

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
func (b *Block) value(i int, t pcp.Type) pcp.Value {
	if t == pcp.TypeString {
		return pcp.BytesValue(t, b.strs[i])
	}
	bits := b.cells[i].Bits
	if t == pcp.Type32 || t == pcp.TypeU32 || t == pcp.TypeFloat {
		bits = uint64(uint32(bits)) // wraps where the number is wider, as C does
	}
	return pcp.RawValue(t, bits)
}
