package jbd2

import (
	"bytes"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmda/column"
)

// A journal has the numbers of its file. A number that the file lacks keeps its value.
type journal struct {
	counts   bool // the kernel counts requests: 3.x or later
	tid      uint64
	requests uint64
	most     uint64 // blocks of a transaction

	averages [numAverages]uint64
}

// The averages in the file.
const (
	avgWaiting = iota
	avgRequestDelay
	avgRunning
	avgLocked
	avgFlushing
	avgLogging
	avgCommit
	avgHandles
	avgBlocks
	avgLogged
	numAverages
)

// averageLines are the lines with averages, behind the number.
var averageLines = [numAverages]string{
	avgWaiting:      "ms waiting for transaction\n",
	avgRequestDelay: "ms request delay\n",
	avgRunning:      "ms running transaction\n",
	avgLocked:       "ms transaction was being locked\n",
	avgFlushing:     "ms flushing data (in ordered mode)\n",
	avgLogging:      "ms logging transaction\n",
	avgCommit:       "us average transaction commit time\n",
	avgHandles:      " handles per transaction\n",
	avgBlocks:       " blocks per transaction\n",
	avgLogged:       " logged blocks per transaction\n",
}

// maxLine is the length of the C agent's line buffer. The rest of a longer line counts as
// another line.
const maxLine = 4095

// parse reads a file, and reports whether it is the file of a journal: it has the line
// with the transactions and, below, the line before the averages. It accepts any bytes.
func (j *journal) parse(b []byte) bool {
	const (
		head = iota
		seek
		averages
	)
	state := head
	for len(b) > 0 {
		var l []byte
		l, b = ctext.CutLine(b, maxLine)
		switch state {
		case head:
			if j.head(l) {
				state = seek
			}
		case seek:
			if bytes.HasPrefix(l, []byte("average:")) {
				state = averages
			}
		case averages:
			v, rest, ok := ctext.Strtoull(l, 10)
			if !ok {
				continue
			}
			for i, text := range averageLines {
				if string(rest) == text {
					j.averages[i] = v
					break
				}
			}
		}
	}
	return state == averages
}

// head reads the line with the transactions, of a new kernel or of an old one. Numbers read
// before a line turns out not to match are kept, as with scanf.
func (j *journal) head(l []byte) bool {
	s := scanner{b: l}
	if s.number(&j.tid) && s.text(" transactions (") && s.number(&j.requests) && s.text(" requested), each up to ") && s.number32(&j.most) {
		j.counts = true
		return true
	}
	s = scanner{b: l}
	if s.number(&j.tid) && s.text(" transaction, each up to ") && s.number32(&j.most) {
		j.counts = false
		return true
	}
	return false
}

// A scanner reads a line as scanf does.
type scanner struct{ b []byte }

func (s *scanner) number(v *uint64) bool {
	n, rest, ok := ctext.Strtoull(s.b, 10)
	if ok {
		*v, s.b = n, rest
	}
	return ok
}

func (s *scanner) number32(v *uint64) bool {
	ok := s.number(v)
	*v = uint64(uint32(*v))
	return ok
}

// text skips a text, in which a blank matches any white space, even none.
func (s *scanner) text(t string) bool {
	for i := range len(t) {
		switch {
		case t[i] == ' ':
			for len(s.b) > 0 && ctext.IsSpace(s.b[0]) {
				s.b = s.b[1:]
			}
		case len(s.b) == 0 || s.b[0] != t[i]:
			return false
		default:
			s.b = s.b[1:]
		}
	}
	return true
}

// fill sets the cells of a row.
func (j *journal) fill(row []column.Cell) {
	row[colCount] = column.Num(j.tid)
	row[colMost] = column.Num(j.most)
	for i, v := range j.averages {
		row[colAverages+i] = column.Num(v)
		row[colTotals+i] = column.Num(v * j.tid)
	}
	row[colTotals+avgRequestDelay] = column.Num(j.averages[avgRequestDelay] * j.requests)
	row[colRequested] = column.Num(j.requests)
	if !j.counts {
		row[colRequested], row[colAverages+avgRequestDelay], row[colTotals+avgRequestDelay] = column.Cell{}, column.Cell{}, column.Cell{}
	}
}
