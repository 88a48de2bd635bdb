package rep

import (
	"bufio"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
)

// A line is a line of text that is being made, column by column.
type line struct {
	form  *form
	out   *bufio.Writer
	clock *metricset.Clock
	width int  // of the time
	cut   bool // longer times are truncated
	row   []byte
}

// newLine returns a line whose times are as wide as that of now.
func newLine(f *form, out *bufio.Writer, loc *time.Location, cut bool) *line {
	l := &line{form: f, out: out, clock: metricset.NewClock(f.timeFormat, loc), cut: cut}
	l.width = runes(l.clock.Format(pcp.TimestampOf(time.Now())))
	return l
}

// begin begins a line with blanks in place of the time.
func (l *line) begin() {
	l.row = l.row[:0]
	if l.form.stamps {
		l.row = appendLeft(l.row, "", l.width)
	}
}

// stamp begins a line with the time of a sample.
func (l *line) stamp(t pcp.Timestamp) {
	l.row = l.row[:0]
	if !l.form.stamps {
		return
	}
	l.row = l.clock.Append(l.row, t)
	n := len(l.row)
	for i := range n {
		if l.row[i] >= 0x80 {
			n = runes(string(l.row))
			break
		}
	}
	if n > l.width && l.cut {
		l.row = []byte(string([]rune(string(l.row))[:l.width]))
	}
	for ; n < l.width; n++ {
		l.row = append(l.row, ' ')
	}
}

// text adds a column of text.
func (l *line) text(s string, width int) {
	l.row = append(l.row, l.form.delim...)
	l.row = appendRight(l.row, s, width)
}

// cell adds a column with a value, of the width and with the precision of its metric.
func (l *line) cell(v pcp.Value, m *pmrep.Metric) {
	l.row = append(l.row, l.form.delim...)
	var room [32]byte
	switch v.Type() {
	case pcp.TypeString:
		s, _ := v.Text()
		l.row = appendRight(l.row, strings.ReplaceAll(l.form.withoutDelimiter(valid(s)), "\n", `\n`), m.Width)
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		l.row = appendFloat(l.row, f, m.Width, m.Precision)
	case pcp.Type32, pcp.Type64:
		l.row = appendNumber(l.row, strconv.AppendInt(room[:0], v.Int64(), 10), m.Width)
	default:
		l.row = appendNumber(l.row, strconv.AppendUint(room[:0], v.Uint64(), 10), m.Width)
	}
}

// nothing writes the line of a sample without values below a dynamic header, whose first column has a width. The time
// is not made as wide as others.
func (l *line) nothing(t pcp.Timestamp, width int) {
	l.row = l.row[:0]
	if l.form.stamps {
		l.row = l.clock.Append(l.row, t)
	}
	l.row = append(l.row, l.form.delim...)
	for n := len(noValue); n < width; n++ {
		l.row = append(l.row, ' ')
	}
	l.row = append(l.row, noValue...)
	l.end()
}

// end writes the line.
func (l *line) end() {
	l.row = append(l.row, '\n')
	l.out.Write(l.row)
}
