package series

import (
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// A Block is samples of a series, each with at least one value, which are read column by column. It has no gaps.
type Block struct {
	Type    pcp.Type
	Times   []int64 // nanoseconds since 1970, ascending; blocks of several series may share them
	Columns []BlockColumn
	Path    string // of the file, for errors
}

// A BlockColumn is the values of an instance in a block.
type BlockColumn struct {
	Instance sid.ID // zero if the metric has no instance domain
	Inst     int32
	Runs     []Run // ascending, not empty
	column   *columns.Column
}

// NewBlockColumn returns a column whose values are read from col.
func NewBlockColumn(id sid.ID, col *columns.Column, runs []Run) BlockColumn {
	return BlockColumn{Instance: id, Inst: col.Inst, Runs: runs, column: col}
}

// A Run is the samples From to To-1 of a block.
type Run struct {
	From, To int
	Value    int // number of the first value in the column
}

// A BlockReader reads the values of block columns. It is for one goroutine.
type BlockReader struct {
	columns.Reader
	path string
}

// Open begins to read a column of a block.
func (r *BlockReader) Open(b *Block, c *BlockColumn) {
	r.path = b.Path
	r.Reset(c.column)
}

// Chunk returns values from the one with a number on, as [columns.Reader.Chunk] does.
func (r *BlockReader) Chunk(at int) ([]int64, error) {
	list, err := r.Reader.Chunk(at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	return list, nil
}

// Samples yields the samples of a block one by one. A sample is valid until the next one.
func (b *Block) Samples(id sid.ID, yield func(*Sample, error) bool) {
	type cursor struct {
		BlockReader
		runs []Run
		list []int64
	}
	cursors := make([]cursor, len(b.Columns))
	for i := range cursors {
		cursors[i].Open(b, &b.Columns[i])
		cursors[i].runs = b.Columns[i].Runs
	}
	s := Sample{Series: id}
	for n, t := range b.Times {
		s.Time, s.Values = pcp.Timestamp{Sec: t / 1e9, Nsec: int32(t % 1e9)}, s.Values[:0]
		for i := range cursors {
			c := &cursors[i]
			if len(c.runs) == 0 || n < c.runs[0].From {
				continue
			}
			run := &c.runs[0]
			if len(c.list) == 0 || n == run.From {
				var err error
				if c.list, err = c.Chunk(run.Value + n - run.From); err != nil {
					yield(nil, err)
					return
				}
			}
			s.Values = append(s.Values, InstValue{b.Columns[i].Instance, columns.Value(c.list[0], b.Type).WithInst(b.Columns[i].Inst)})
			if c.list = c.list[1:]; n+1 == run.To {
				c.runs = c.runs[1:]
			}
		}
		if !yield(&s, nil) {
			return
		}
	}
}
