package report

import (
	"strconv"

	"github.com/go-pcp/pcp"
)

// AppendDesc appends the two lines by which most tools describe a metric
// (pmPrintDesc(3)), or only the first one if the metric is not supported.
func AppendDesc(b []byte, d *pcp.Desc) []byte {
	if d.Type == pcp.TypeNoSupport {
		return append(b, "    Data Type: Not Supported\n"...)
	}
	return AppendFullDesc(b, d, false)
}

// AppendFullDesc is AppendDesc as pminfo has it: all metrics have two lines. With
// number it also shows the instance domain as a decimal number.
func AppendFullDesc(b []byte, d *pcp.Desc, number bool) []byte {
	b = append(append(b, "    Data Type: "...), typeText(d.Type)...)
	b = append(append(b, "  InDom: "...), d.InDom.String()...)
	if number {
		b = append(strconv.AppendUint(append(b, " = "...), uint64(d.InDom), 10), " ="...)
	}
	b = strconv.AppendUint(append(b, " 0x"...), uint64(d.InDom), 16)
	sem := d.Sem.String()
	if b = append(append(b, "\n    Semantics: "...), sem...); sem == "???" {
		b = append(strconv.AppendInt(append(b, " ("...), int64(d.Sem), 10), ')')
	}
	b = append(b, "  Units: "...)
	start := len(b)
	if b = d.Units.AppendText(b); len(b) == start {
		b = append(b, "none"...)
	}
	return append(b, '\n')
}

// typeText describes a type in words.
func typeText(t pcp.Type) string {
	switch t {
	case pcp.Type32:
		return "32-bit int"
	case pcp.TypeU32:
		return "32-bit unsigned int"
	case pcp.Type64:
		return "64-bit int"
	case pcp.TypeU64:
		return "64-bit unsigned int"
	case pcp.TypeFloat:
		return "float"
	case pcp.TypeDouble:
		return "double"
	case pcp.TypeString:
		return "string"
	case pcp.TypeAggregate:
		return "aggregate"
	case pcp.TypeAggregateStatic:
		return "static aggregate"
	case pcp.TypeEvent:
		return "event record array"
	case pcp.TypeHighResEvent:
		return "highres event record array"
	case pcp.TypeNoSupport:
		return "Not Supported"
	}
	return "??? (" + strconv.Itoa(int(t)) + ")"
}
