package xfs

import (
	"bytes"
	"math"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmda/column"
)

// The C agent reads lines into buffers, and takes the rest of a long line for another
// line.
const (
	maxLine      = 4095
	maxQuotaLine = 1023
)

// A line describes a line of the file that the parser looks for.
type line struct {
	prefix string
	cols   []int // of its numbers
}

// A parser reads files of counters into a row of cells.
type parser struct {
	lines []line // in the order of the file
	quota line
	cols  int

	logWrites, logBlocks, logRatio int
}

// fileOrder are the lines as kernels write them, with the blank behind the word where the
// C agent wants one. Lines in other places are found, too.
var fileOrder = []string{
	"extent_alloc ", "abt ", "blk_map ", "bmbt ", "dir ", "trans ", "ig ", "log ", "push_ail ", "xstrat ", "rw ", "attr ",
	"icluster ", "vnodes ", "buf ", "abtb2 ", "abtc2 ", "bmbt2 ", "ibt2 ", "fibt2 ", "rmapbt ", "refcntbt ",
	"rmapbt_mem ", "rcbagbt ", "rtrmapbt ", "rtrmapbt_mem ", "rtrefcntbt ", "qm ", "zoned ", "metafile ", "xpc", "defer_relog ", "gc xpc ",
}

// newParser returns the parser for the columns of a block of statMetrics.
func newParser(b *column.Block) *parser {
	p := &parser{lines: make([]line, len(fileOrder)), cols: b.Cols()}
	keys := b.Keys()
	for i, prefix := range fileOrder {
		word := strings.TrimSuffix(prefix, " ") + " "
		l := line{prefix: prefix}
		for {
			col, ok := keys[word+digits[len(l.cols):len(l.cols)+1]]
			if !ok {
				break
			}
			l.cols = append(l.cols, col)
		}
		p.lines[i] = l
		if prefix == "qm " {
			p.quota = line{"qm", l.cols}
		}
	}
	p.logWrites, p.logBlocks, p.logRatio = keys["log 0"], keys["log 1"], keys["log.write_ratio"]
	return p
}

// parse fills a row from a file of counters. Values that the file lacks are 0. It accepts
// any bytes and reads them as the C agent does.
func (p *parser) parse(b []byte, row []column.Cell) {
	for i := range row {
		row[i] = column.Num(0)
	}
	next := 0
	for len(b) > 0 {
		var text []byte
		text, b = cutLine(b, maxLine)
		for range p.lines {
			l := &p.lines[next]
			if next++; next == len(p.lines) {
				next = 0
			}
			if len(text) >= len(l.prefix) && string(text[:len(l.prefix)]) == l.prefix {
				l.read(text, row)
				break
			}
		}
	}
	writes, blocks := uint32(row[p.logWrites].Bits), uint32(row[p.logBlocks].Bits)
	if writes > 0 {
		row[p.logRatio] = column.Num(uint64(math.Float32bits(float32(blocks / writes))))
	}
	row[p.logBlocks] = column.Num(uint64(blocks >> 1))
}

// parseQuota sets the numbers of a second file of old kernels.
func (p *parser) parseQuota(b []byte, row []column.Cell) {
	for len(b) > 0 {
		var text []byte
		if text, b = cutLine(b, maxQuotaLine); len(text) >= 2 && string(text[:2]) == p.quota.prefix {
			p.quota.read(text, row)
		}
	}
}

// read sets the numbers of a line, up to the first invalid one.
func (l *line) read(text []byte, row []column.Cell) {
	text = text[len(l.prefix):]
	for _, col := range l.cols {
		v, rest, ok := number(text)
		if !ok {
			return
		}
		row[col] = column.Num(v)
		text = rest
	}
}

// cutLine cuts off a line, or the part that fits C's buffer, up to a NUL.
func cutLine(b []byte, most int) (text, rest []byte) {
	n := min(len(b), most)
	if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
		n = i + 1
	}
	return ctext.Bytes(b[:n]), b[n:]
}

// number reads a number as scanf does: behind white space, with a sign or without. A
// number that is too large becomes the largest.
func number(b []byte) (v uint64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && ctext.IsSpace(b[i]) {
		i++
	}
	negative := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		negative = b[i] == '-'
		i++
	}
	start, over := i, false
	for ; i < len(b) && ctext.IsDigit(b[i]); i++ {
		d := uint64(b[i] - '0')
		if v > (math.MaxUint64-d)/10 {
			over = true
			continue
		}
		v = v*10 + d
	}
	switch {
	case i == start:
		return 0, b, false
	case over:
		v = math.MaxUint64
	case negative:
		v = -v
	}
	return v, b[i:], true
}
