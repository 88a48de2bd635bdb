package export

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// xlsx writes samples as rows of a sheet: a head with host, source and zone, the names and units
// of the columns, and a row for each sample.
type xlsx struct {
	*run
	format string // of times, in the language of such sheets

	sheet *sheet
	cells []cell
	float []int // styles, by metric
}

// padding is the additional width of a column, compared with its name.
const padding = 5

// The styles, by their numbers in the file; those of floats with so many digits after the point come
// after them.
const (
	styleLeft = iota + 1
	styleRight
	styleLine
	styleTime
	styleInteger
	styleText
	styleFloat
)

// begin writes the head.
func (x *xlsx) begin() error {
	styles := []style{
		{bold: true, align: "left"}, {bold: true, align: "right"}, {line: true}, {number: x.format}, {number: "0", align: "right"}, {align: "right"},
	}
	head := func(name, value string) []cell { return []cell{{styleLeft, name, ""}, {styleLeft, value, ""}} }
	names, labels, units, line := []cell{{styleRight, "Time", ""}}, []cell{{}}, []cell{{}}, []cell{{style: styleLine}}
	widths := []int{max(utf8.RuneCountInString(x.format), len("Timezone")) + padding}
	byPrecision := make(map[int]int)
	for _, m := range x.set.Metrics {
		n, ok := byPrecision[m.Precision]
		if !ok {
			digits := "0"
			if m.Precision > 0 {
				digits += "." + strings.Repeat("0", m.Precision)
			}
			n = styleFloat + len(byPrecision)
			byPrecision[m.Precision] = n
			styles = append(styles, style{number: digits, align: "right"})
		}
		x.float = append(x.float, n)
		for _, in := range m.Instances {
			key := m.Name
			if m.Desc.InDom != pcp.InDomNull {
				key += "[" + in.Name + "]"
			}
			names = append(names, cell{styleRight, key, ""})
			labels = append(labels, cell{styleRight, m.LabelText(in.Inst), ""})
			units = append(units, cell{styleRight, m.Unit, ""})
			line = append(line, cell{style: styleLine})
			widths = append(widths, max(utf8.RuneCountInString(key), m.Width)+padding)
		}
	}
	if len(widths) > maxColumn {
		return fmt.Errorf("%d columns are more than the %d that a sheet can have; choose instances with -i", len(widths), maxColumn)
	}
	widths[1] = max(widths[1], padding+max(len(x.head.host), len(x.head.name), len(x.head.zone)))
	var err error
	if x.file, err = os.OpenFile(x.outfile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		return err
	}
	if x.sheet, err = newSheet(x.file, "PCP Metrics", time.Now(), styles, widths); err != nil {
		return err
	}
	rows := [][]cell{head("Host", x.head.host), head("Source", x.head.name), head("Timezone", x.head.zone), nil, names}
	if x.what.labels {
		rows = append(rows, labels)
	}
	for _, r := range append(rows, units, line) {
		if err := x.sheet.add(r); err != nil {
			return err
		}
	}
	return nil
}

// WriteSample is part of [pmrep.Writer].
func (x *xlsx) WriteSample(s *pmrep.Sample) error {
	if x.sheet == nil {
		if err := x.begin(); err != nil {
			return err
		}
	}
	x.cells = append(x.cells[:0], cell{styleTime, "", decimal(serial(s.Time, x.zoneOffset(s.Time)))})
	for i, m := range x.set.Metrics {
		byInst := make(map[int32]pcp.Value, len(s.Results[i]))
		for _, v := range s.Results[i] {
			byInst[v.Inst] = v.Value
		}
		for _, in := range m.Instances {
			c := cell{}
			if v, ok := byInst[in.Inst]; ok {
				c = x.cell(v, m.Precision, x.float[i])
			}
			x.cells = append(x.cells, c)
		}
	}
	return x.sheet.add(x.cells)
}

func (x *xlsx) cell(v pcp.Value, precision, float int) cell {
	switch {
	case isFloat(v):
		f, _ := rounded(v, precision).Float64()
		return cell{float, "", decimal(f)}
	case v.Type() == pcp.TypeString:
		return cell{styleText, str(v), ""}
	case v.Type() == pcp.TypeU32, v.Type() == pcp.TypeU64:
		return cell{styleInteger, "", strconv.FormatUint(v.Uint64(), 10)}
	}
	return cell{styleInteger, "", strconv.FormatInt(v.Int64(), 10)}
}

// serial is a time as sheets have it: days since the end of 1899, of the clock that is offset seconds from UTC.
func serial(t pcp.Timestamp, offset int) float64 {
	const epoch = 25569 // 1 January 1970
	return epoch + (float64(t.Sec+int64(offset))+float64(t.Nsec/1000)/1e6)/86400
}

func (x *xlsx) end(context.Context) bool {
	if x.sheet == nil {
		return true
	}
	if err := x.sheet.close(); err != nil {
		fmt.Fprintf(x.env.Stderr, "%s: %v\n", x.env.ProgName(), err)
		return false
	}
	return true
}
