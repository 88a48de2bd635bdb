package pcp

import "strconv"

// AppendPrint appends the two lines by which pminfo -d describes a metric
// (pmPrintDesc(3)), or only the first one if the metric is not supported.
func (d Desc) AppendPrint(b []byte) []byte {
	b = append(b, "    Data Type: "...)
	switch d.Type {
	case TypeNoSupport:
		return append(b, "Not Supported\n"...)
	case Type32:
		b = append(b, "32-bit int"...)
	case TypeU32:
		b = append(b, "32-bit unsigned int"...)
	case Type64:
		b = append(b, "64-bit int"...)
	case TypeU64:
		b = append(b, "64-bit unsigned int"...)
	case TypeFloat:
		b = append(b, "float"...)
	case TypeDouble:
		b = append(b, "double"...)
	case TypeString:
		b = append(b, "string"...)
	case TypeAggregate:
		b = append(b, "aggregate"...)
	case TypeAggregateStatic:
		b = append(b, "static aggregate"...)
	case TypeEvent:
		b = append(b, "event record array"...)
	case TypeHighResEvent:
		b = append(b, "highres event record array"...)
	default:
		b = append(strconv.AppendInt(append(b, "??? ("...), int64(d.Type), 10), ')')
	}
	b = append(append(b, "  InDom: "...), d.InDom.String()...)
	b = strconv.AppendUint(append(b, " 0x"...), uint64(d.InDom), 16)
	b = append(append(b, "\n    Semantics: "...), d.Sem.String()...)
	if s := d.Sem; s != SemCounter && s != SemInstant && s != SemDiscrete {
		b = append(strconv.AppendInt(append(b, " ("...), int64(s), 10), ')')
	}
	b = append(b, "  Units: "...)
	start := len(b)
	if b = d.Units.AppendText(b); len(b) == start {
		b = append(b, "none"...)
	}
	return append(b, '\n')
}
