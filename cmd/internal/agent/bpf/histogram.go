package bpf

import (
	"fmt"

	"github.com/go-pcp/pcp/pmda/column"
)

// numBuckets is the number of buckets of a histogram. Bucket i has the values from 2^i to 2^(i+1)-1, bucket 0 also the value 0.
const numBuckets = 63

// bucketName returns the name of the instance of a bucket, as upstream's agent names it.
func bucketName(i int) string {
	low := uint64(1) << i
	if i == 0 {
		low = 0
	}
	return fmt.Sprintf("%d-%d", low, uint64(1)<<(i+1)-1)
}

// buckets returns the instance domain of a histogram, whose numbers are those of the buckets.
func buckets(serial int, of string) *column.InDom {
	return &column.InDom{
		Serial: serial, Help: "Ranges of " + of,
		Long: "Each instance is a range of values, from one power of two to the next. Ranges below the smallest value that was seen and above the largest have no values.",
	}
}

// A histogram fills a block with a row for each bucket.
type histogram struct {
	block *column.Block
	names [numBuckets]string
}

// list adds the rows, without values.
func (h *histogram) list() {
	h.block.Clear()
	for i := range numBuckets {
		if h.names[i] == "" {
			h.names[i] = bucketName(i)
		}
		h.block.AddNamed(int32(i), h.names[i])
	}
}

// set sets a column to counts, one for each bucket, from the first to the last that is not 0.
func (h *histogram) set(col int, counts []uint64) {
	first, last := -1, -1
	for i, n := range counts[:numBuckets] {
		if n > 0 {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	for i := first; first >= 0 && i <= last; i++ {
		h.block.Set(i, col, counts[i])
	}
}

// Pairs fills a block whose instances are a thing and a range, as "sda::64-127".
type pairs struct {
	block *column.Block
	names column.Names
	rows  map[int32]int
}

// begin removes the rows.
func (p *pairs) begin() {
	p.block.Clear()
	p.names.Begin()
	p.rows = make(map[int32]int)
}

// add adds to the number of a thing and a bucket. It has to be in the range of buckets.
func (p *pairs) add(thing string, bucket, col int, n uint64) {
	p.addNamed(thing+"::"+bucketName(bucket), col, n)
}

// addNamed adds to the number of an instance.
func (p *pairs) addNamed(name string, col int, n uint64) {
	inst, kept := p.names.ID([]byte(name))
	row, ok := p.rows[inst]
	if !ok {
		row = p.block.AddNamed(inst, kept)
		p.rows[inst] = row
	}
	was, _ := p.block.Get(row, col)
	p.block.Set(row, col, was+n)
}
