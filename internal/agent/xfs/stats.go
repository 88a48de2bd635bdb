package xfs

import (
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
		text, b = ctext.CutLine(b, maxLine)
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
		if text, b = ctext.CutLine(b, maxQuotaLine); len(text) >= 2 && string(text[:2]) == p.quota.prefix {
			p.quota.read(text, row)
		}
	}
}

// read sets the numbers of a line, up to the first invalid one.
func (l *line) read(text []byte, row []column.Cell) {
	text = text[len(l.prefix):]
	for _, col := range l.cols {
		v, rest, ok := ctext.Strtoull(text, 10)
		if !ok {
			return
		}
		row[col] = column.Num(v)
		text = rest
	}
}
