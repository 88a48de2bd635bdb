package exposition

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/internal/unitname"
	"github.com/go-pcp/pcp/internal/version"
)

// AppendBegin appends the text before the metrics in OTLP.
func AppendBegin(b []byte, sets []pcp.LabelSet) []byte {
	b = append(b, `{"resourceMetrics":[{"resource":{"attributes":[`...)
	b = appendAttributes(b, names.Merge(sets, nil, pcp.InNull, "", sameName))
	b = append(b, `]},"scopeMetrics":[{"scope":{"name":"performance-co-pilot","version":`...)
	b = append(b, names.Quote(version.Number)...)
	return append(b, `},"metrics":[`...)
}

func sameName(s string) string { return s }

// appendAttributes appends labels as attributes of OTLP.
func appendAttributes(b []byte, list []names.Pair) []byte {
	for i, l := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"key":`...)
		b = append(b, names.Quote(l.Name)...)
		b = append(b, `,"value":{`...)
		var n json.Number
		d := json.NewDecoder(bytes.NewReader([]byte(l.Value)))
		d.UseNumber()
		switch {
		case l.Value == "true" || l.Value == "false":
			b = append(b, `"boolValue":`+l.Value...)
		case d.Decode(&n) != nil || strings.HasPrefix(l.Value, `"`):
			b = append(b, `"stringValue":`...)
			b = append(b, names.Quote(l.Text())...)
		default:
			if _, err := strconv.ParseInt(l.Value, 10, 64); err == nil {
				b = append(b, `"intValue":"`+l.Value+`"`...)
			} else {
				b = append(b, `"doubleValue":`+l.Value...)
			}
		}
		b = append(b, "}}"...)
	}
	return b
}

// AppendHead appends the text before the data points of a metric.
func AppendHead(b []byte, d *pcp.Desc, name, help string) []byte {
	b = append(b, `{"name":`...)
	b = append(b, names.Quote(name)...)
	b = append(b, `,"description":`...)
	b = append(b, names.Quote(help)...)
	b = append(b, `,"unit":`...)
	b = append(b, names.Quote(unitname.UCUM(d.Units))...)
	if d.Sem == pcp.SemCounter {
		return append(b, `,"sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[`...)
	}
	return append(b, `,"gauge":{"dataPoints":[`...)
}

// AppendPoint appends a data point up to its time.
func AppendPoint(b []byte, d *pcp.Desc, sets []pcp.LabelSet, own *pcp.LabelSet, inst int32, instName string) []byte {
	b = append(b, `{"attributes":[`...)
	list := []names.Pair{
		{Name: "semantics", Value: names.Quote(d.Sem.String())},
		{Name: "type", Value: names.Quote(TypeName(d.Type))},
		{Name: "pmid", Value: names.Quote(d.PMID.String())},
	}
	if d.InDom != pcp.InDomNull {
		list = append(list, names.Pair{Name: "indom", Value: names.Quote(d.InDom.String())})
	}
	for len(sets) > 0 && len(sets[0].Index) > 0 && sets[0].Index[0].Flags.Level() == pcp.LabelContext {
		sets = sets[1:] // those are attributes of the resource
	}
	list = append(list, names.Merge(sets, own, inst, instName, sameName)...)
	b = appendAttributes(b, list)
	return append(b, `],"timeUnixNano":"`...)
}

// AppendValue appends a value and the end of its data point.
func AppendValue(b []byte, v pcp.Value) []byte {
	switch v.Type() {
	case pcp.Type32, pcp.Type64:
		b = append(b, `","asInt":"`...)
		b = strconv.AppendInt(b, v.Int64(), 10)
		return append(b, `"}`...)
	case pcp.TypeU32, pcp.TypeU64:
		n := v.Uint64()
		if n > math.MaxInt64 { // asInt has a sign
			b = append(b, `","asDouble":`...)
			b = AppendFloat(b, float64(n), pcp.TypeDouble)
			return append(b, '}')
		}
		b = append(b, `","asInt":"`...)
		b = strconv.AppendUint(b, n, 10)
		return append(b, `"}`...)
	}
	b = append(b, `","asDouble":`...)
	switch f := v.Double(); {
	case math.IsNaN(f):
		b = append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		b = append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		b = append(b, `"-Infinity"`...)
	default:
		b = AppendFloat(b, f, v.Type())
	}
	return append(b, '}')
}
