package export

import (
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

// A sample is the input of an exporter at one time. It belongs to the engine and is valid
// during the call only.
type sample struct {
	time    pcp.Timestamp
	stamp   string // the time in the format of -f
	metrics []metric
}

// A metric has values in a sample: a metric without any is not in it.
type metric struct {
	*pmrep.Metric
	values []pmrep.Value
}

// single reports whether a value is the only one of its metric.
func single(v *pmrep.Value) bool { return v.Inst == pcp.InNull }

func isFloat(v pcp.Value) bool { return v.Type() == pcp.TypeFloat || v.Type() == pcp.TypeDouble }

// rounded is a value with precision digits after the point.
func rounded(v pcp.Value, precision int) pcp.Value {
	if !isFloat(v) {
		return v
	}
	f, _ := v.Float64()
	// The nearest decimal number, as Python's round has it; NaN and infinite ones stay.
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', precision, 64), 64)
	return pcp.DoubleValue(f)
}

// text is a value as text: numbers with a point have precision digits behind it.
func text(v pcp.Value, precision int) string {
	if f, _ := v.Float64(); isFloat(v) {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'f', precision, 64), "+"))
	}
	return str(v)
}

// str is a value as Python's str prints it.
func str(v pcp.Value) string {
	switch v.Type() {
	case pcp.Type32, pcp.Type64:
		return strconv.FormatInt(v.Int64(), 10)
	case pcp.TypeU32, pcp.TypeU64:
		return strconv.FormatUint(v.Uint64(), 10)
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		return pytext.Float(f)
	}
	s, _ := v.Text()
	return strings.ToValidUTF8(s, "\ufffd")
}

// seconds is a time as a number, as Python has it.
func seconds(t pcp.Timestamp) float64 { return float64(micros(t)) / 1e6 }

func micros(t pcp.Timestamp) int64 { return t.Sec*1e6 + int64(t.Nsec)/1000 }

// typeName is the type of a metric in the words of these programs.
func typeName(t pcp.Type) string {
	switch t {
	case pcp.Type32:
		return "32-bit signed"
	case pcp.TypeU32:
		return "32-bit unsigned"
	case pcp.Type64:
		return "64-bit signed"
	case pcp.TypeU64:
		return "64-bit unsigned"
	case pcp.TypeFloat:
		return "32-bit float"
	case pcp.TypeDouble:
		return "64-bit float"
	case pcp.TypeString:
		return "string"
	}
	return "unknown"
}
